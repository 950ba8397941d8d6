//! What comes of an input: frames to send, events, and reasons to discard.

use keytoll_crypto_api::Secret;
use keytoll_net::wire::DecodeError;

use super::exchange::Pmkid;
use super::wire::CommitError;
use crate::MacAddr;
use crate::frame::StatusCode;

/// An authentication frame to send, of algorithm 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// To whom.
    pub peer: MacAddr,
    /// Which of both messages.
    pub transaction: Transaction,
    /// The status code.
    pub status: StatusCode,
    /// What follows.
    pub body: Vec<u8>,
}

/// Which of both messages; the numbers are authentication transaction sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transaction {
    /// The contribution.
    Commit = 1,
    /// The proof.
    Confirm = 2,
}

/// What comes of an input.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// A frame to send.
    Send(Message),
    /// The peer has proved that it knows the password.
    Accepted {
        /// The peer.
        peer: MacAddr,
        /// The pairwise master key.
        pmk: Secret,
        /// Its name.
        pmkid: Pmkid,
    },
    /// The authentication with a peer has ended.
    Failed {
        /// The peer.
        peer: MacAddr,
        /// Why.
        why: Failure,
    },
}

/// Why an authentication has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The peer does not answer.
    #[error("the peer does not answer")]
    NoAnswer,
    /// The peer's proof was wrong and no right one came: it has another password, or somebody invented the proof.
    #[error("the peer has another password")]
    WrongConfirm,
    /// The peer has answered with a status and with nothing better.
    #[error("the peer refuses with status {0}")]
    Refused(StatusCode),
    /// The peer supports none of our groups.
    #[error("the peer supports no group of ours")]
    NoGroup,
}

/// Why a frame is discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The body is malformed.
    #[error("malformed: {0}")]
    Malformed(#[from] DecodeError),
    /// It belongs to nothing that is open.
    #[error("nothing is open with this peer")]
    Unexpected,
    /// Something else is open with this peer.
    #[error("another commit of this peer is open")]
    Busy,
    /// It answers a commit of ours that was sent more than once.
    #[error("commit that answers ours once more")]
    Repeated,
    /// A group that is not supported, or not the one in use.
    #[error("group {0} is not in use")]
    Group(u16),
    /// A method that is not in use.
    #[error("the method is not in use")]
    Method,
    /// A status code that says nothing here.
    #[error("status {0} says nothing here")]
    Status(StatusCode),
    /// Our own commit.
    #[error("reflects our own commit")]
    Reflected,
    /// A commit that was used before, or a confirm that is not newer than the last.
    #[error("replayed")]
    Replayed,
    /// A scalar or element that is none.
    #[error("no valid scalar and element")]
    Invalid,
    /// A token that was not given to this station lately.
    #[error("no valid anti-clogging token")]
    Token,
    /// The table of open instances is full.
    #[error("too many instances are open")]
    Full,
    /// A password identifier that is not known here, or none where one is needed.
    #[error("no password of that identifier")]
    Identifier,
    /// The peer says that we refused a group which we have: somebody removed it from the choice.
    #[error("a group of ours is reported as refused")]
    Downgraded,
    /// A proof that is wrong.
    #[error("wrong confirm")]
    Confirm,
    /// As many frames were sent again as may be.
    #[error("sent again too often")]
    Sync,
}

/// A frame that is discarded, and what is answered nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub why: Why,
    /// The refusal to send.
    pub reply: Option<Message>,
}

impl From<Why> for Refused {
    fn from(why: Why) -> Self {
        Self { why, reply: None }
    }
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Why::Malformed(error).into()
    }
}

impl From<CommitError> for Why {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Malformed(error) => Self::Malformed(error),
            CommitError::Group(group) => Self::Group(group),
        }
    }
}
