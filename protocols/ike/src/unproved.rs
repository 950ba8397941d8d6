//! The peer of an IKE SA that did not come up: where it was, who it said it was, and what the failure is most likely about.
//! Read RFC 2409 §5.4 (why a wrong key of main mode shows itself as nonsense) and RFC 7296 §2.21.2 first.

use std::fmt;

use keytoll_net::Socket;

use crate::config::Prove;
use crate::event::Reason;
use crate::number::NotifyType;
use crate::wire::Identity;

/// A peer with which no IKE SA came up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unproved {
    /// Where it is.
    pub remote: Socket,
    /// Who it says it is, if it came so far; nothing has proved that.
    pub claimed: Option<Identity>,
    /// What is most likely wrong, if the reason leaves that open.
    pub likely: Option<Likely>,
}

impl Unproved {
    /// A peer of which no more is known than where it is.
    pub(crate) const fn at(remote: Socket) -> Self {
        Self { remote, claimed: None, likely: None }
    }

    /// The same, if it says who it is.
    #[must_use]
    pub(crate) fn claiming(self, claimed: impl Into<Option<Identity>>) -> Self {
        Self { claimed: claimed.into(), ..self }
    }

    /// The same, with what is most likely wrong.
    #[must_use]
    pub(crate) fn because(self, likely: impl Into<Option<Likely>>) -> Self {
        Self { likely: likely.into(), ..self }
    }
}

// RFC 2408 §3.14.1: IKEv1 has more numbers for it.
const fn speaks_of_proofs(error: NotifyType) -> bool {
    matches!(
        error,
        NotifyType::AUTHENTICATION_FAILED
            | NotifyType::INVALID_HASH_INFORMATION
            | NotifyType::INVALID_SIGNATURE
    )
}

/// What a failure is most likely about. A guess: cryptography says only that something does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likely {
    /// Both sides have a pre-shared key, but not the same one.
    KeysDiffer,
    /// The same, or the peer has no key for our identity: it does not say which.
    KeysDifferOrUnknown,
    /// We have no pre-shared key for the identity.
    NoKey,
    /// Nobody of the identity is known here.
    UnknownIdentity,
    /// The peer proves itself by a signature where a pre-shared key is wanted, or the other way round.
    OtherMethod,
    /// The signature was made with another key than the one that is believed.
    OtherKey,
    /// The peer does not believe our signature or certificate, or does not know our identity.
    OurProof,
}

impl Likely {
    /// Of a refusal that the peer has told, which never says more than it must (RFC 7296 §2.21.2).
    pub(crate) fn of_refusal(reason: Reason, ours: &Prove) -> Option<Self> {
        match (reason, ours) {
            (Reason::Refused(error), _) if !speaks_of_proofs(NotifyType(error)) => None,
            (Reason::Refused(_), Prove::Psk(_)) => Some(Self::KeysDifferOrUnknown),
            (Reason::Refused(_), Prove::Certificate(_) | Prove::RawKey(_)) => Some(Self::OurProof),
            _ => None,
        }
    }

    /// As the rest of a sentence that begins with "most likely".
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
