//! The two ends of an IKE SA.

/// A role in an IKE SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sent the first message.
    Initiator,
    /// Answered it.
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
