//! What the owner of a server is told, and what it may answer.

use keytoll_crypto_api::Secret;
use keytoll_net::Socket;

use crate::number::AcctStatus;
use crate::wire::Attributes;

/// Names a conversation; the server chooses it and never uses it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(pub u64);

/// What a server tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A client asks for access, or goes on with a conversation; wants a [`Command`] for its conversation.
    Request(Request),
    /// A conversation ended without a verdict: forget what belongs to it.
    Expired(ConversationId),
    /// An answer did not fit a packet, so that the client was sent an Access-Reject.
    TooLong(ConversationId),
    /// A client reports usage; it has been answered.
    Accounting(Accounting),
}

/// One round of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The conversation.
    pub conversation: ConversationId,
    /// Whether the conversation begins with it.
    pub first: bool,
    /// The client.
    pub client: Socket,
    /// User-Name; not proven, and empty if there was none.
    pub user_name: Vec<u8>,
    /// What the user shows.
    pub credential: Credential,
    /// What else the client said: without State, Proxy-State, credentials and Message-Authenticator.
    pub attributes: Attributes,
}

/// What a user shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// An EAP packet from the peer: a response, or nothing for an EAP-Start.
    Eap(Vec<u8>),
    /// A password (PAP).
    Password(Secret),
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
    /// Everything the client said, without Proxy-State.
    pub attributes: Attributes,
}

/// The answer to a [`Request`]. For a conversation that has expired, or that waits for the client, it is ignored: the
/// owner could not know yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// One more round.
    Challenge {
        /// The conversation.
        conversation: ConversationId,
        /// The EAP packet, for the peer.
        eap: Vec<u8>,
    },
    /// The EAP packet was not valid and is ignored: the challenge before it once more (RFC 3579 §2.2).
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
        /// The MSK, if the method made one; 64 bytes of it are sent, and with less nobody gets access.
        msk: Option<Secret>,
        /// What else to say.
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
