//! Where a NAT stands between two peers, as both versions of IKE find out.

/// Where a NAT stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Nat {
    /// We are behind one: what the peer saw us send from is not what we sent from.
    pub(crate) here: bool,
    /// The peer is behind one.
    pub(crate) there: bool,
    /// We are behind one that we have not made up: it forgets us when nothing passes.
    pub(crate) forgets: bool,
}

/// RFC 3948 §2.3: what a peer behind a NAT sends on the NAT port so that the NAT remembers it; there is nothing to do about it.
pub(crate) fn is_keepalive(marked_port: bool, bytes: &[u8]) -> bool {
    marked_port && bytes == [0xff]
}

impl Nat {
    pub(crate) const fn found(self) -> bool {
        self.here || self.there
    }
}
