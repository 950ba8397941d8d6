//! How the packets of a family are found among others: by the port, the number or the type that a standard gives them, and
//! elsewhere by what they look like, because laboratories use any port.

use keytoll_net::Socket;
use keytoll_trace::Protocol;

/// A UDP datagram that somebody may know.
#[derive(Debug, Clone, Copy)]
pub struct Udp<'a> {
    /// The sender.
    pub from: Socket,
    /// The receiver.
    pub to: Socket,
    /// What it carries.
    pub payload: &'a [u8],
}

impl Udp<'_> {
    /// Whether one of its ports is this one.
    pub const fn is_at(&self, port: u16) -> bool {
        self.from.port == port || self.to.port == port
    }
}

/// Tells the UDP datagrams of a family from others. It may learn ports from what it sees.
pub trait Recogniser {
    /// The protocol of a datagram to or from a port of the family, or in words what it is that is of no use; none of ports
    /// that are not the family's.
    fn by_port(&mut self, udp: &Udp<'_>) -> Option<Result<Protocol, String>>;

    /// The protocol of a datagram at any other ports, if it can be nothing else. All of the datagram is there.
    fn by_looks(&mut self, udp: &Udp<'_>) -> Option<Protocol>;
}

/// One protocol at registered ports.
#[derive(Debug, Clone, Copy)]
pub struct ByPort {
    /// The protocol.
    pub protocol: Protocol,
    /// Its ports.
    pub ports: &'static [u16],
    /// Whether a payload at other ports can be nothing else.
    pub looks_like: fn(&[u8]) -> bool,
}

impl Recogniser for ByPort {
    fn by_port(&mut self, udp: &Udp<'_>) -> Option<Result<Protocol, String>> {
        self.ports.iter().any(|&port| udp.is_at(port)).then_some(Ok(self.protocol))
    }

    fn by_looks(&mut self, udp: &Udp<'_>) -> Option<Protocol> {
        (self.looks_like)(udp.payload).then_some(self.protocol)
    }
}

/// Messages of a protocol in TCP streams.
#[derive(Debug, Clone, Copy)]
pub struct Framing {
    /// The protocol, as people write it.
    pub name: &'static str,
    /// The protocol.
    pub protocol: Protocol,
    /// Its ports.
    pub ports: &'static [u16],
    /// So many bytes tell whether a message begins, and how long it is.
    pub header_len: usize,
    /// At ports that are not the protocol's, so many are needed to be sure.
    pub sure_len: usize,
    /// Whether bytes, [`Self::header_len`] of them at least, begin a message.
    pub begins: fn(&[u8]) -> bool,
    /// Whether bytes can be nothing else than the beginning of a message; they may be fewer than [`Self::sure_len`].
    pub is_surely: fn(&[u8]) -> bool,
    /// The length of a message that has begun.
    pub length: fn(&[u8]) -> usize,
}

/// Messages of a protocol in SCTP associations: a DATA chunk, or several in a row.
#[derive(Debug, Clone, Copy)]
pub struct Chunks {
    /// The protocol.
    pub protocol: Protocol,
    /// The payload protocol identifier.
    pub ppid: u32,
    /// That of messages inside DTLS, which cannot be read, and what these are called.
    pub sealed: Option<(u32, &'static str)>,
    /// No message is longer.
    pub bytes_max: usize,
}

/// PDUs of a protocol directly in the frames of a LAN.
#[derive(Debug, Clone, Copy)]
pub struct OnLan {
    /// The protocol, as people write it.
    pub name: &'static str,
    /// The protocol.
    pub protocol: Protocol,
    /// The EtherType.
    pub ether_type: u16,
    /// The length of a PDU, which the padding of a short frame may follow; in words what it is if that is of no use.
    pub length: fn(&[u8]) -> Result<usize, String>,
}
