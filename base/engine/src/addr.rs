//! Where datagrams come from and go to.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use keytoll_trace::Protocol;

/// An IP address and, where the transport has them, a port (otherwise 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr {
    /// The IP address.
    pub ip: IpAddr,
    /// The port; 0 where the transport has none, or the number of what users' packets outside IPsec carry.
    pub port: u16,
}

impl Addr {
    /// An address.
    pub const fn new(ip: IpAddr, port: u16) -> Self {
        Self { ip, port }
    }

    /// The same host at another port.
    pub const fn at_port(self, port: u16) -> Self {
        Self { ip: self.ip, port }
    }
}

impl From<SocketAddr> for Addr {
    fn from(socket: SocketAddr) -> Self {
        Self { ip: socket.ip(), port: socket.port() }
    }
}

impl From<Addr> for SocketAddr {
    fn from(addr: Addr) -> Self {
        Self::new(addr.ip, addr.port)
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}

/// What carries a datagram over IP; decides the header bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// UDP, 8 bytes of header.
    Udp,
    /// TCP, counted as 20 bytes of header a message.
    Tcp,
    /// Directly on IP (ESP, HIP, ICMP), no further header.
    Ip,
}

impl Transport {
    /// Bytes of transport header.
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::Udp => 8,
            Self::Tcp => 20,
            Self::Ip => 0,
        }
    }
}

/// Bytes on their way from one address to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// What it belongs to, for the counters.
    pub protocol: Protocol,
    /// What carries it.
    pub transport: Transport,
    /// The sender.
    pub from: Addr,
    /// The receiver.
    pub to: Addr,
    /// The transport's payload.
    pub bytes: Vec<u8>,
}
