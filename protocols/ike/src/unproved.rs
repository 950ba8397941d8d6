//! The peer of a failed IKE SA: its address, the identity it claimed, and the most likely cause of the failure. Read RFC 2409
//! §5.4 (why a wrong key in main mode looks like a malformed message) and RFC 7296 §2.21.2 first.

use std::fmt;

use keytoll_net::Socket;

use crate::config::Prove;
use crate::event::Reason;
use crate::number::NotifyType;
use crate::wire::Identity;

/// A peer that was not authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproved {
    /// Its address.
    pub remote: Socket,
    /// The identity that it claimed, if it got that far; unauthenticated.
    pub claimed: Option<Identity>,
    /// The most likely cause, if the reason leaves it open.
    pub likely: Option<Likely>,
}

impl Unproved {
    /// A peer of which only the address is known.
    pub(crate) const fn at(remote: Socket) -> Self {
        Self { remote, claimed: None, likely: None }
    }

    /// The same with a claimed identity.
    #[must_use]
    pub(crate) fn claiming(self, claimed: impl Into<Option<Identity>>) -> Self {
        Self { claimed: claimed.into(), ..self }
    }

    /// The same with the most likely cause.
    #[must_use]
    pub(crate) fn because(self, likely: impl Into<Option<Likely>>) -> Self {
        Self { likely: likely.into(), ..self }
    }
}

// RFC 2408 §3.14.1: IKEv1 has several numbers for it.
const fn speaks_of_proofs(error: NotifyType) -> bool {
    matches!(
        error,
        NotifyType::AUTHENTICATION_FAILED
            | NotifyType::INVALID_HASH_INFORMATION
            | NotifyType::INVALID_SIGNATURE
    )
}

/// The most likely cause of a failure. A guess: cryptography only shows that something does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likely {
    /// Both sides have a pre-shared key, but not the same one.
    KeysDiffer,
    /// The same, or the peer has no key for our identity: it does not say which.
    KeysDifferOrUnknown,
    /// We have no pre-shared key for the identity.
    NoKey,
    /// The identity is unknown here.
    UnknownIdentity,
    /// The peer uses a signature where a pre-shared key is required, or the other way round.
    OtherMethod,
    /// The signature was made with another key than the trusted one.
    OtherKey,
    /// The peer does not accept our signature or certificate, or does not know our identity.
    OurProof,
}

impl Likely {
    /// The cause of a refusal by the peer, which never reveals more than necessary (RFC 7296 §2.21.2).
    pub(crate) fn of_refusal(reason: Reason, ours: &Prove) -> Option<Self> {
        match (reason, ours) {
            (Reason::Refused(error), _) if !speaks_of_proofs(NotifyType(error)) => None,
            (Reason::Refused(_), Prove::Psk(_)) => Some(Self::KeysDifferOrUnknown),
            (Reason::Refused(_), Prove::Certificate(_) | Prove::RawKey(_)) => Some(Self::OurProof),
            _ => None,
        }
    }

    /// The rest of a sentence that starts with "most likely".
    pub const fn words(self) -> &'static str {
        match self {
            Self::KeysDiffer => "the pre-shared keys differ",
            Self::KeysDifferOrUnknown => "the pre-shared keys differ, or the peer has none for our identity",
            Self::NoKey => "there is no pre-shared key for this identity",
            Self::UnknownIdentity => "no connection is for this identity",
            Self::OtherMethod => "the peer proves itself in another way than the connection wants",
            Self::OtherKey => "the signature is of another key than the one that we believe",
            Self::OurProof => {
                "the peer does not believe our key or certificate, or does not know our identity"
            }
        }
    }
}

impl fmt::Display for Likely {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
