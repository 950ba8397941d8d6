//! What the owner of an endpoint may ask, and what it is told.

use std::fmt;

use keytoll_crypto_api::Secret;
use keytoll_engine::sa::SaPair;
use keytoll_net::Addr;

use crate::hit::Hit;
use crate::number::NotifyType;
use crate::wire::aka::{Challenge, Response};

/// Names an association at its endpoint. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(pub u64);

/// What may be asked of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Make R1s for every identity and group, before anybody asks for one.
    Prepare,
    /// Set up an association with a pair of SAs.
    Initiate {
        /// Index into [`crate::config::Config::identities`].
        identity: usize,
        /// Whom with; none: whoever answers there (RFC 7401 §4.1.8, opportunistic mode).
        peer: Option<Hit>,
        /// Our address.
        local: Addr,
        /// The responder's address.
        remote: Addr,
    },
    /// Replace the keys of the SAs.
    Rekey(AssociationId),
    /// We are at another address now (RFC 8046).
    Readdress(AssociationId, Addr),
    /// The SAs carried traffic of the peer, which its keys protect. The first packet is news; after that, now and then.
    Heard(AssociationId),
    /// End an association.
    Close(AssociationId),
    /// Responder: what the HSS says to [`Event::VectorWanted`].
    Vector(AssociationId, Result<Box<Vector>, Refused>),
    /// Initiator: what the card says to [`Event::Challenged`].
    Answer(AssociationId, Box<Answer>),
}

/// An authentication vector, as an HSS hands it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// RAND and AUTN.
    pub challenge: Challenge,
    /// XRES.
    pub expected: Secret,
    /// KASME of EPS AKA, or CK ‖ IK of UMTS AKA.
    pub key: Secret,
}

/// The HSS gives no vector: it does not know the subscriber, or does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// What a card says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// To the network.
    pub response: Response,
    /// With RES, the key that the vector of the HSS has.
    pub key: Secret,
}

/// What an endpoint tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// An association is up, and both Host Identities are proved.
    Established(Box<Established>),
    /// A pair of SAs can be used.
    ChildUp(AssociationId, Box<ChildSa>),
    /// A pair of SAs replaces the one that received on `old`, which still receives until it is down.
    ChildRekeyed {
        /// The association.
        association: AssociationId,
        /// SPI that the replaced SA receives on.
        old: u32,
        /// The new pair.
        new: Box<ChildSa>,
    },
    /// A pair of SAs is gone; its inbound SPI.
    ChildDown(AssociationId, u32),
    /// The peer knows our new address.
    Readdressed(AssociationId, Addr),
    /// The peer is at another address, which has been verified.
    PeerMoved(AssociationId, Addr),
    /// The peer tells something that nothing has proved.
    Notified(AssociationId, NotifyType),
    /// Responder: the peer has shown that it has the key of the vector. Who subscribes is known from here on, and not before: a right
    /// RES may be somebody else's, who was asked for it.
    SubscriberProved(AssociationId, Vec<u8>),
    /// Responder: a subscriber wants to prove itself; the answer is [`Command::Vector`].
    VectorWanted {
        /// The association, not established yet.
        association: AssociationId,
        /// Who the initiator says subscribes.
        subscriber: Vec<u8>,
        /// RAND and AUTS, if the card wants another sequence number.
        resynchronise: Option<([u8; 16], [u8; 14])>,
    },
    /// Initiator: the network's challenge for the card; the answer is [`Command::Answer`].
    Challenged(AssociationId, Challenge),
    /// An established association is gone, with its SAs.
    Closed(AssociationId, Reason),
    /// The CLOSE that an association has ended with has its answer; with a reason, there will be none.
    CloseEnded(AssociationId, Option<Reason>),
    /// An association did not come up.
    Failed(AssociationId, Reason),
}

/// An association that came up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Established {
    /// Its name.
    pub association: AssociationId,
    /// Whether we were the initiator.
    pub initiator: bool,
    /// Who we are in it.
    pub local: Hit,
    /// Who the peer is, as it was proved.
    pub peer: Hit,
    /// Where the peer is.
    pub remote: Addr,
}

/// A pair of ESP SAs in BEET mode, with keys (RFC 7402 §3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSa {
    /// SPIs, algorithms and keys.
    pub pair: SaPair,
    /// The inner address of ours.
    pub local: Hit,
    /// The inner address of the peer's.
    pub remote: Hit,
    /// Our outer address.
    pub local_at: Addr,
    /// The peer's outer address.
    pub remote_at: Addr,
    /// The peer is known to receive on it. Otherwise it is not sent with before the peer has used it: until then the one that it
    /// replaces serves.
    pub is_peer_ready: bool,
}

/// Why something ended or did not begin; [`Reason::name`] is what analysis groups by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The peer did not answer.
    Timeout,
    /// The peer did not answer, but somebody told this error in its name.
    Refused(NotifyType),
    /// The peer's MAC, signature or HIT is wrong.
    AuthenticationFailed,
    /// The puzzle is harder than we solve.
    PuzzleTooHard,
    /// No common group, cipher or suite.
    NoProposalChosen,
    /// The responder does not take HITs of our suite.
    UnsupportedHitSuite,
    /// Not one of those that we associate with.
    BlockedByPolicy,
    /// The HSS gave no vector.
    NoVector,
    /// The card did not believe the network, or said something wrong.
    AkaFailed,
    /// Either side closed it in good order.
    Closed,
    /// Nobody used it.
    Unused,
    /// A new one took its place.
    Replaced,
    /// No more keys can be drawn from the exchange; another one is due.
    KeysUsedUp,
    /// A mistake in this program: it was given up in the middle of a packet.
    Internal,
}

impl Reason {
    /// Whether somebody else found it.
    pub const fn is_hearsay(self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// The name used in traces and summaries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Refused(notify) => match notify.name() {
                Some(name) => name,
                None => "unknown notification",
            },
            Self::AuthenticationFailed => "AUTHENTICATION_FAILED",
            Self::PuzzleTooHard => "puzzle too hard",
            Self::NoProposalChosen => "NO_PROPOSAL_CHOSEN",
            Self::UnsupportedHitSuite => "UNSUPPORTED_HIT_SUITE",
            Self::BlockedByPolicy => "BLOCKED_BY_POLICY",
            Self::NoVector => "no authentication vector",
            Self::AkaFailed => "AKA failure",
            Self::Closed => "deleted",
            Self::Unused => "unused",
            Self::Replaced => "replaced",
            Self::KeysUsedUp => "keying material used up",
            Self::Internal => "internal error",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
