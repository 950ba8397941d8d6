//! Events and commands of a server.

use keytoll_crypto_api::Secret;
use keytoll_net::Socket;

use crate::number::AcctStatus;
use crate::protect::chap;
use crate::wire::Attributes;

/// Identifies a conversation; the server chooses it and never reuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(pub u64);

/// An event of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A client requests access, or continues a conversation; requires a [`Command`] for its conversation.
    Request(Request),
    /// A conversation ended without a result: drop its state.
    Expired(ConversationId),
    /// The queued password attempt of this conversation may be answered now; requires a [`Command`].
    Turn(ConversationId),
    /// The server ended a conversation, for this reason: its answer was too long, so that the client was sent an Access-Reject, or it was one
    /// of too many password attempts, and got no answer.
    Refused(ConversationId, &'static str),
    /// A request came from an address without a shared secret, or was not made with it; it got no answer.
    Stranger(Socket, &'static str),
    /// A client reported usage, and was answered.
    Accounting(Accounting),
}

/// One round of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The conversation.
    pub conversation: ConversationId,
    /// Whether it starts the conversation.
    pub first: bool,
    /// The client.
    pub client: Socket,
    /// User-Name; unauthenticated, and empty if there was none.
    pub user_name: Vec<u8>,
    /// The user's credential.
    pub credential: Credential,
    /// Further attributes of the client: without State, Proxy-State, credentials and Message-Authenticator.
    pub attributes: Attributes,
}

/// The credential of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// An EAP packet from the peer: a response, or nothing for an EAP-Start.
    Eap(Vec<u8>),
    /// A password (PAP).
    Password(Secret),
    /// The proof of a password (CHAP).
    Chap(chap::Answer),
}

/// A report of usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accounting {
    /// The client.
    pub client: Socket,
    /// What happened.
    pub status: AcctStatus,
    /// Which session.
    pub session_id: Vec<u8>,
    /// User-Name; empty if there was none.
    pub user_name: Vec<u8>,
    /// All attributes of the client, without Proxy-State.
    pub attributes: Attributes,
}

/// A password attempt of a conversation, right or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried<'a> {
    /// The user name.
    pub user: &'a [u8],
    /// Whether inside a tunnel.
    pub is_inside: bool,
}

/// The answer to a [`Request`]. Ignored if the conversation has expired or waits for the client, which the owner could not
/// know yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Another round.
    Challenge {
        /// The conversation.
        conversation: ConversationId,
        /// The EAP packet, for the peer.
        eap: Vec<u8>,
    },
    /// The EAP packet was invalid and is ignored: repeat the previous challenge (RFC 3579 §2.2).
    Ignored {
        /// The conversation.
        conversation: ConversationId,
        /// The EAP packet of the last challenge, for the peer.
        eap: Vec<u8>,
    },
    /// Access granted.
    Accept {
        /// The conversation.
        conversation: ConversationId,
        /// The EAP packet, for the peer.
        eap: Option<Vec<u8>>,
        /// The MSK, if the method derived one; 64 bytes of it are sent, and with fewer access is refused.
        msk: Option<Secret>,
        /// Further attributes.
        attributes: Attributes,
    },
    /// Access denied.
    Reject {
        /// The conversation.
        conversation: ConversationId,
        /// The EAP packet, for the peer.
        eap: Option<Vec<u8>>,
    },
}

impl Command {
    /// The conversation it answers.
    pub const fn conversation(&self) -> ConversationId {
        match self {
            Self::Challenge { conversation, .. }
            | Self::Ignored { conversation, .. }
            | Self::Accept { conversation, .. }
            | Self::Reject { conversation, .. } => *conversation,
        }
    }
}
