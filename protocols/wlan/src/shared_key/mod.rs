//! Shared key authentication of IEEE 802.11: a station proves that it knows the WEP key by encrypting what the access point sends in
//! the clear. 802.11-2020 §12.3.3.3.
//!
//! ```text
//!   station                                                access point
//!     1  algorithm 1, sequence 1                       -->
//!     2  sequence 2, challenge text(128)               <--
//!     3  WEP { sequence 3, challenge text(128) }       -->    one WEP on each side
//!     4  sequence 4, status                            <--
//! ```
//!
//! The access point proves nothing, and a listener who combines frames 2 and 3 has 136 octets of key stream with which to
//! authenticate itself.
//!
//! A wait is a type of its own; how long it lasts is its owner's matter. What is refused leaves a wait as it is: its owner may wait
//! on, or end it and answer with [`refusal`]. A frame that comes again is answered again, with the same octets.

pub mod access_point;
pub(crate) mod message;
pub mod station;

use keytoll_crypto_api::Phase;
use keytoll_net::wire::DecodeError;

pub use message::{Answered, refusal};

use crate::cipher::{Refused, WepKey};
use crate::frame::StatusCode;

/// The phase that its operations are counted under.
pub(crate) const PHASE: Phase = Phase::new(10, "shared-key");

/// What one side knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The key.
    pub key: WepKey,
    /// Its ID.
    pub key_id: u8,
}

/// Why an authentication frame is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It cannot be read: which field, and where.
    #[error("{0}")]
    Unreadable(DecodeError),
    /// No key is known that it shares with us.
    #[error("no key for this station")]
    NoKey,
    /// It is of another algorithm.
    #[error("another authentication algorithm")]
    Algorithm,
    /// It is not the one that is waited for.
    #[error("authentication frame out of sequence")]
    Sequence,
    /// It is not encrypted with the key.
    #[error("not encrypted with the key: {0}")]
    Encryption(Refused),
    /// Another challenge came back, or none of this algorithm was sent.
    #[error("wrong challenge")]
    Challenge,
    /// It came back under the IV it was sent with, and so possibly as it was sent.
    #[error("the IV of the challenge again")]
    RepeatedIv,
    /// The other side does not prove that it knows the key.
    #[error("wrong signature")]
    Signature,
    /// There was no answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The other side refuses.
    #[error("refused: {0}")]
    Refused(StatusCode),
}

impl Failure {
    /// The status code that tells the other side.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Algorithm => StatusCode::UNSUPPORTED_AUTH_ALGORITHM,
            Self::Sequence => StatusCode::TRANSACTION_SEQUENCE_ERROR,
            Self::Encryption(_) | Self::Challenge | Self::RepeatedIv | Self::Signature => {
                StatusCode::CHALLENGE_FAILURE
            }
            Self::Timeout => StatusCode::REJECTED_SEQUENCE_TIMEOUT,
            Self::Refused(status) => status,
            Self::NoKey | Self::Unreadable(_) => StatusCode::REFUSED,
        }
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error)
    }
}

#[cfg(test)]
mod tests;
