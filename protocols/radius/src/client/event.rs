//! Commands and events of a client.

use keytoll_crypto_api::Secret;
use keytoll_net::Host;

use crate::number::AcctStatus;
use crate::protect::MppeKeys;
use crate::wire::{Attributes, State};

/// Identifies a conversation; the owner chooses it and may reuse it when the conversation is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(pub u64);

/// A command to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Send an Access-Request. An outstanding request of the conversation is abandoned.
    Authenticate(Authenticate),
    /// Send an Accounting-Request.
    Account(Account),
    /// Abandon the conversation's outstanding Access-Request.
    Abandon(ConversationId),
}

/// One round of an authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticate {
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    /// The peer's address: IP, or layer 2 for a station without one. One peer may use at most an eighth of all identifiers, and an
    /// IPv6 /64 counts as one peer.
    pub peer: Host,
    /// User-Name: for EAP the identity claimed by the peer, up to 253 bytes.
    pub user_name: Vec<u8>,
    /// The user's credential.
    pub credential: Credential,
    /// The State of the challenge that this answers; `None` in the first round.
    pub state: Option<State>,
    /// Further attributes for the server.
    pub attributes: Attributes,
}

/// The credential of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// An EAP packet from the peer; empty for an EAP-Start.
    Eap(Vec<u8>),
    /// A password of up to 128 bytes (PAP).
    Password(Secret),
    /// A password that is proved and not sent (CHAP).
    Chap(Secret),
}

/// Usage to be reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The owner's id of the conversation.
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

/// An event of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The server requires another round: pass the EAP packet to the peer, and return the State with the next request.
    Challenge {
        /// The conversation.
        conversation: ConversationId,
        /// The EAP packet for the peer: with Error-Cause 202 (RFC 3579 §2.2) the previous one, because the server ignored
        /// its response.
        eap: Vec<u8>,
        /// The server's State, if there is one.
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
    /// An accounting report is lost; no user is refused because of it.
    Unaccounted(ConversationId, Reason),
    /// There will be no answer to an Access-Request, or no usable one.
    Failed(ConversationId, Reason),
}

/// Access granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// The conversation.
    pub conversation: ConversationId,
    /// The EAP packet, for the peer.
    pub eap: Option<Vec<u8>>,
    /// The MSK in halves, if the method derived one.
    pub keys: Option<MppeKeys>,
    /// Further attributes of the server: without State, EAP-Message, Message-Authenticator and Microsoft's attributes.
    pub attributes: Attributes,
}

/// Why a request failed; analysis groups by [`Reason::name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The server did not answer.
    Timeout,
    /// The connection ended before the answer came.
    Lost,
    /// No connection is there, and none is attempted yet.
    Unconnected,
    /// Every identifier of every source port is outstanding.
    Busy,
    /// The peer has the maximum number of outstanding requests.
    PeerBusy,
    /// The request does not fit in a packet, or a value in its attribute.
    TooLong,
    /// The server's answer is authentic but malformed.
    Malformed,
}

impl Reason {
    /// The name used in traces and summaries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "RADIUS timeout",
            Self::Lost => "RADIUS connection lost",
            Self::Unconnected => "RADIUS server not connected",
            Self::Busy => "RADIUS identifiers exhausted",
            Self::PeerBusy => "RADIUS requests of one peer exhausted",
            Self::TooLong => "RADIUS request too long",
            Self::Malformed => "RADIUS response malformed",
        }
    }
}
