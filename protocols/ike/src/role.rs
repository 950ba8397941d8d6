//! The two ends of an IKE SA.

/// Which end of an IKE SA: the one that began it, or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It sent the first message.
    Initiator,
    /// It answered.
    Responder,
}

impl Role {
    /// The other end.
    pub const fn peer(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }

    /// Whether it is the initiator.
    pub const fn is_initiator(self) -> bool {
        matches!(self, Self::Initiator)
    }
}
