//! What the owner of a client may ask, and what it is told.

use keytoll_crypto_api::Secret;
use keytoll_net::Host;

use crate::number::AcctStatus;
use crate::protect::MppeKeys;
use crate::wire::{Attributes, State};

/// Names a conversation; the owner chooses it and may use it again when the conversation is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(pub u64);

/// What may be asked of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Send an Access-Request. What the conversation still waited for is not waited for any longer.
    Authenticate(Authenticate),
    /// Send an Accounting-Request.
    Account(Account),
    /// Nobody waits for the conversation's Access-Request any longer.
    Abandon(ConversationId),
}

/// One round of an authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticate {
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    /// The address of the peer it is for, of a station below IP where it has none: one peer gets an eighth of all identifiers at
    /// most, and a /64 of IPv6 is one peer.
    pub peer: Host,
    /// User-Name: for EAP the identity the peer gave, up to 253 bytes.
    pub user_name: Vec<u8>,
    /// What the user shows.
    pub credential: Credential,
    /// The State of the challenge this answers; none in the first round.
    pub state: Option<State>,
    /// What else the server may want to know.
    pub attributes: Attributes,
}

/// What a user shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// An EAP packet from the peer; empty for an EAP-Start.
    Eap(Vec<u8>),
    /// A password of up to 128 bytes (PAP).
    Password(Secret),
}

/// Usage to be reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The conversation the owner files it under.
    pub conversation: ConversationId,
    /// What happened.
    pub status: AcctStatus,
    /// Acct-Session-Id: the same in all reports of a session, up to 253 bytes.
    pub session_id: String,
    /// User-Name, up to 253 bytes; empty if there is no user (Accounting-On).
    pub user_name: Vec<u8>,
    /// Counters, and the Class of the Access-Accept.
    pub attributes: Attributes,
}

/// What a client tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The server wants one more round: give the EAP packet to the peer and the State to the next request.
    Challenge {
        /// The conversation.
        conversation: ConversationId,
        /// The EAP packet, for the peer: with Error-Cause 202 (RFC 3579 §2.2) the one it has seen, for the server ignored
        /// its response.
        eap: Vec<u8>,
        /// The server's handle, if it gave one.
        state: Option<State>,
    },
    /// The server grants access.
    Accept(Accept),
    /// The server denies access.
    Reject {
        /// The conversation.
        conversation: ConversationId,
        /// The EAP packet, for the peer.
        eap: Option<Vec<u8>>,
    },
    /// The server took note of a report.
    Accounted(ConversationId),
    /// A report is lost; nobody is refused for it.
    Unaccounted(ConversationId, Reason),
    /// There will be no answer to an Access-Request, or none that can be used.
    Failed(ConversationId, Reason),
}

/// Access granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// The conversation.
    pub conversation: ConversationId,
    /// The EAP packet, for the peer.
    pub eap: Option<Vec<u8>>,
    /// The MSK in halves, if the method made one.
    pub keys: Option<MppeKeys>,
    /// What else the server said: without State, EAP-Message, Message-Authenticator and Microsoft's attributes.
    pub attributes: Attributes,
}

/// Why a request has no answer; [`Reason::name`] is what analysis groups by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The server did not answer.
    Timeout,
    /// Every identifier of every source port is outstanding.
    Busy,
    /// The requests of one peer that are outstanding are as many as it may have.
    PeerBusy,
    /// The request does not fit a packet, or a part of it its attribute.
    TooLong,
    /// The server answered, authentically, what makes no sense.
    Malformed,
}

impl Reason {
    /// The name used in traces and summaries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "RADIUS timeout",
            Self::Busy => "RADIUS identifiers exhausted",
            Self::PeerBusy => "RADIUS requests of one peer exhausted",
            Self::TooLong => "RADIUS request too long",
            Self::Malformed => "RADIUS response malformed",
        }
    }
}
