//! What a server method must be told from outside before it can go on: vectors of a subscriber whose key it does not
//! have. Read RFC 4186 §3, RFC 4187 §3 and 3GPP TS 33.402 §6.2 first.
//!
//! The method yields a [`Question`], the server hands it out, and whoever reaches the subscriber database (the same
//! host, or Diameter) comes back with an [`Answer`].

use crate::simaka::vector::{Quintuplet, Triplet};

/// Authentication vectors of a subscriber are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The permanent identity, as the peer or the server's own table gave it.
    pub identity: Vec<u8>,
    /// Which vectors.
    pub wanted: Wanted,
}

/// Kinds of vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// This many GSM triplets, for EAP-SIM.
    Triplets(u8),
    /// A UMTS quintuplet, for EAP-AKA and EAP-AKA′.
    Quintuplet {
        /// The access network's name, to which CK′ and IK′ are bound; none for EAP-AKA.
        network: Option<Vec<u8>>,
        /// The card's sequence number has to be taken over first.
        resynchronisation: Option<Resynchronisation>,
    },
}

/// What a card sent that saw a sequence number out of its range (TS 33.102 §6.3.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resynchronisation {
    /// The challenge it was given.
    pub rand: [u8; 16],
    /// Its own sequence number, concealed, and the proof that it is the card's.
    pub auts: [u8; 14],
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// As many triplets as were asked for.
    Triplets(Vec<Triplet>),
    /// A quintuplet, bound to the access network if that was asked.
    Quintuplet(Box<Quintuplet>),
    /// The AUTS is not this subscriber's card's.
    WrongAuts,
    /// Nobody has this identity.
    UnknownSubscriber,
    /// The database gave no answer in time, or refused.
    Unavailable,
}
