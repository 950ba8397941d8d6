//! What engines send to each other.

use keytoll_net::Addr;
use keytoll_trace::Protocol;

/// Bytes on their way from one address to another. The kind of the addresses says which headers carry them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The protocol it is counted under.
    pub protocol: Protocol,
    /// The sender.
    pub from: Addr,
    /// The receiver.
    pub to: Addr,
    /// The payload behind the headers that the addresses imply.
    pub bytes: Vec<u8>,
}
