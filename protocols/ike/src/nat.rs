//! Where a NAT stands between two peers, as both versions of IKE find out.

/// Where a NAT stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Nat {
    /// We are behind one: what the peer saw us send from is not what we sent from.
    pub(crate) here: bool,
    /// The peer is behind one.
    pub(crate) there: bool,
}

impl Nat {
    pub(crate) const fn found(self) -> bool {
        self.here || self.there
    }
}
