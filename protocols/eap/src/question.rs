//! Questions of a server method to the subscriber database: vectors of a subscriber whose key it does not have. Read RFC 4186
//! §3, RFC 4187 §3 and 3GPP TS 33.402 §6.2 first.
//!
//! The method yields a [`Question`], the server returns it, and its owner, which reaches the subscriber database (locally or
//! over Diameter), comes back with an [`Answer`].

use crate::simaka::vector::{Quintuplet, Triplet};

/// A request for authentication vectors of a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The permanent identity, from the peer or the server's own table.
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
        /// The access network's name, to which CK′ and IK′ are bound; `None` for EAP-AKA.
        network: Option<Vec<u8>>,
        /// Resynchronise to the card's sequence number first.
        resynchronisation: Option<Resynchronisation>,
    },
}

/// A card's answer to a sequence number out of its range (TS 33.102 §6.3.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resynchronisation {
    /// The challenge that it answers.
    pub rand: [u8; 16],
    /// Its own concealed sequence number, and a MAC over it.
    pub auts: [u8; 14],
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// As many triplets as were asked for.
    Triplets(Vec<Triplet>),
    /// A quintuplet, bound to the access network if requested.
    Quintuplet(Box<Quintuplet>),
    /// The AUTS is not from this subscriber's card.
    WrongAuts,
    /// There is no subscriber with this identity.
    UnknownSubscriber,
    /// The database did not answer in time, or refused.
    Unavailable,
}
