//! Source and destination of datagrams. The kind of an address says what carries the datagram, and so which headers it has.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::ip::{self, protocol};

/// RFC 9293 §4: an address that specifically includes a port identifier. Half the size of [`SocketAddr`], because every SA
/// keeps several, and without the flow labels and scopes that would give one peer two names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Socket {
    /// The IP address.
    pub ip: IpAddr,
    /// The port.
    pub port: u16,
}

impl Socket {
    /// A socket.
    pub const fn new(ip: IpAddr, port: u16) -> Self {
        Self { ip, port }
    }

    /// The same host at another port.
    #[must_use]
    pub const fn at_port(self, port: u16) -> Self {
        Self { ip: self.ip, port }
    }
}

impl From<SocketAddr> for Socket {
    fn from(socket: SocketAddr) -> Self {
        Self { ip: socket.ip(), port: socket.port() }
    }
}

impl From<Socket> for SocketAddr {
    fn from(socket: Socket) -> Self {
        Self::new(socket.ip, socket.port)
    }
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}

/// One end of a datagram's path. Both ends of a datagram are of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Addr {
    /// A port of UDP.
    Udp(Socket),
    /// A TCP port; every datagram is a message of the stream.
    Tcp(Socket),
    /// An SCTP port, as found in captures; no host here speaks SCTP.
    Sctp(Socket),
    /// Directly over IP: ESP, ICMP, HIP, and users' packets.
    Ip {
        /// The IP address.
        ip: IpAddr,
        /// The IP protocol number.
        protocol: u8,
    },
    /// A station of a network below IP.
    Mac([u8; 6]),
}

impl Addr {
    /// A port of UDP.
    pub const fn udp(ip: IpAddr, port: u16) -> Self {
        Self::Udp(Socket::new(ip, port))
    }

    /// A port of TCP.
    pub const fn tcp(ip: IpAddr, port: u16) -> Self {
        Self::Tcp(Socket::new(ip, port))
    }

    /// The host of this end.
    pub const fn host(self) -> Host {
        match self {
            Self::Udp(socket) | Self::Tcp(socket) | Self::Sctp(socket) => Host::Ip(socket.ip),
            Self::Ip { ip, .. } => Host::Ip(ip),
            Self::Mac(station) => Host::Mac(station),
        }
    }

    /// The IP address, if there is one.
    pub const fn ip(self) -> Option<IpAddr> {
        match self.host() {
            Host::Ip(ip) => Some(ip),
            Host::Mac(_) => None,
        }
    }

    /// IP address and port, if there are both.
    pub const fn socket(self) -> Option<Socket> {
        match self {
            Self::Udp(socket) | Self::Tcp(socket) | Self::Sctp(socket) => Some(socket),
            Self::Ip { .. } | Self::Mac(_) => None,
        }
    }

    /// The port, if there is one.
    pub const fn port(self) -> Option<u16> {
        match self.socket() {
            Some(socket) => Some(socket.port),
            None => None,
        }
    }

    /// The UDP port, if it is one.
    pub const fn udp_port(self) -> Option<u16> {
        match self {
            Self::Udp(socket) => Some(socket.port),
            Self::Tcp(_) | Self::Sctp(_) | Self::Ip { .. } | Self::Mac(_) => None,
        }
    }

    /// The IP protocol number, if it is directly over IP or above.
    pub const fn ip_protocol(self) -> Option<u8> {
        match self {
            Self::Udp(_) => Some(protocol::UDP),
            Self::Tcp(_) => Some(protocol::TCP),
            Self::Sctp(_) => Some(protocol::SCTP),
            Self::Ip { protocol, .. } => Some(protocol),
            Self::Mac(_) => None,
        }
    }

    /// Bytes of the headers between link layer and datagram. TCP counts its 20 bytes once a message, SCTP its common header and
    /// the header of one DATA chunk (RFC 9260 §3). A layer 2 frame includes its header in its own bytes.
    pub const fn header_bytes(self) -> usize {
        let transport = match self {
            Self::Udp(_) => 8,
            Self::Tcp(_) => 20,
            Self::Sctp(_) => 12 + 16,
            Self::Ip { .. } | Self::Mac(_) => 0,
        };
        match self.ip() {
            Some(ip) => ip::header_bytes(ip) + transport,
            None => transport,
        }
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(socket) | Self::Tcp(socket) | Self::Sctp(socket) => socket.fmt(f),
            Self::Ip { ip, .. } => ip.fmt(f),
            Self::Mac(station) => Host::Mac(*station).fmt(f),
        }
    }
}

/// A host or station, whatever protocol it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// By its IP address.
    Ip(IpAddr),
    /// By its address below IP.
    Mac([u8; 6]),
}

impl From<IpAddr> for Host {
    fn from(ip: IpAddr) -> Self {
        Self::Ip(ip)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Mac([a, b, c, d, e, g]) => write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"),
        }
    }
}

/// An address of a LAN as IEEE Std 802-2014 §8.1 writes it: `02-00-00-00-00-AB`.
pub fn hyphenated(address: [u8; 6]) -> String {
    address.map(|octet| format!("{octet:02X}")).join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_it_is_in_little_room() {
        let ip: IpAddr = "2001:db8::1".parse().unwrap();
        assert_eq!(Addr::udp(ip, 500).to_string(), "[2001:db8::1]:500");
        assert_eq!(Addr::Ip { ip, protocol: protocol::ESP }.to_string(), "2001:db8::1");
        assert_eq!(Addr::Mac([2, 0, 0, 0, 0, 0xab]).to_string(), "02:00:00:00:00:ab");
        assert_eq!(hyphenated([2, 0, 0, 0, 0, 0xab]), "02-00-00-00-00-AB");
        assert_eq!(Addr::tcp(ip, 3868).header_bytes(), 60);
        assert_eq!((size_of::<Socket>(), size_of::<Addr>()), (20, 22));
    }
}
