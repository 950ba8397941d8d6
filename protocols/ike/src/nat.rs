//! The result of NAT detection, for both versions of IKE.

/// Which peers are behind a NAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Nat {
    /// We are: the peer sees another source address than we use.
    pub(crate) here: bool,
    /// The peer is.
    pub(crate) there: bool,
    /// We are behind a real NAT, not a pretended one: its mapping expires without traffic.
    pub(crate) forgets: bool,
    /// The peer takes part in NAT detection, so that it receives at port 4500.
    pub(crate) detects: bool,
}

/// RFC 3948 §2.3: the keepalive of a peer behind a NAT, which needs no reaction.
pub(crate) fn is_keepalive(marked_port: bool, bytes: &[u8]) -> bool {
    marked_port && bytes == [0xff]
}

impl Nat {
    pub(crate) const fn found(self) -> bool {
        self.here || self.there
    }
}
