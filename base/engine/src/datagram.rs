//! What engines send each other.

use keytoll_net::Addr;
use keytoll_trace::Protocol;

/// Bytes on their way from one address to another; what carries them, the addresses say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// What it belongs to, for the counters.
    pub protocol: Protocol,
    /// The sender.
    pub from: Addr,
    /// The receiver.
    pub to: Addr,
    /// What is behind the headers that the addresses stand for.
    pub bytes: Vec<u8>,
}
