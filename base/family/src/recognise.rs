//! How the packets of a family are recognised: by their registered port, number or type, and otherwise by their contents,
//! because laboratories use any port.

use std::collections::BTreeSet;

use keytoll_net::Socket;
use keytoll_trace::Protocol;

/// A UDP datagram to be recognised.
#[derive(Debug, Clone, Copy)]
pub struct Udp<'a> {
    /// The sender.
    pub from: Socket,
    /// The receiver.
    pub to: Socket,
    /// Its payload.
    pub payload: &'a [u8],
}

impl Udp<'_> {
    /// Whether one of its ports is this one.
    pub const fn is_at(&self, port: u16) -> bool {
        self.from.port == port || self.to.port == port
    }
}

/// Recognises the UDP datagrams of a family. It may learn ports.
pub trait Recogniser {
    /// The protocol of a datagram to or from a port of the family, or the kind of one that is of no interest; `None` for other
    /// ports.
    fn by_port(&mut self, udp: &Udp<'_>) -> Option<Result<Protocol, String>>;

    /// The protocol of a datagram at any other ports, if its contents are unambiguous. The datagram is complete.
    fn by_looks(&mut self, udp: &Udp<'_>) -> Option<Protocol>;
}

/// More ports than this are not learnt.
const LEARNT_MAX: usize = 4096;

/// Ports, none of them registered, at which a protocol was recognised by its looks: what else passes there is of its family, too.
#[derive(Debug, Default)]
pub struct LearntPorts(BTreeSet<Socket>);

impl LearntPorts {
    /// Whether a datagram comes from or goes to one of them.
    pub fn has(&self, udp: &Udp<'_>) -> bool {
        self.0.contains(&udp.from) || self.0.contains(&udp.to)
    }

    /// Learns both ends of a datagram.
    pub fn learn(&mut self, udp: &Udp<'_>) {
        if self.0.len() < LEARNT_MAX {
            self.0.extend([udp.from, udp.to]);
        }
    }
}

/// One protocol at registered ports.
#[derive(Debug, Clone, Copy)]
pub struct ByPort {
    /// The protocol.
    pub protocol: Protocol,
    /// Its ports.
    pub ports: &'static [u16],
    /// Whether a payload at other ports is unambiguous.
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
    /// The protocol's name.
    pub name: &'static str,
    /// The protocol.
    pub protocol: Protocol,
    /// Its ports.
    pub ports: &'static [u16],
    /// How many bytes suffice to recognise a message and its length.
    pub header_len: usize,
    /// How many bytes are needed at other ports than the protocol's.
    pub sure_len: usize,
    /// Whether bytes, at least [`Self::header_len`], start a message.
    pub begins: fn(&[u8]) -> bool,
    /// Whether bytes unambiguously start a message; there may be fewer than [`Self::sure_len`].
    pub is_surely: fn(&[u8]) -> bool,
    /// The length of a message.
    pub length: fn(&[u8]) -> usize,
}

/// Messages of a protocol in SCTP associations: one DATA chunk, or several consecutive ones.
#[derive(Debug, Clone, Copy)]
pub struct Chunks {
    /// The protocol.
    pub protocol: Protocol,
    /// The payload protocol identifier.
    pub ppid: u32,
    /// The port at which chunks without an identifier (RFC 9260 §3.3.1: 0) are of the protocol, too.
    pub port: u16,
    /// The identifier and name of messages inside DTLS, which cannot be decrypted.
    pub sealed: Option<(u32, &'static str)>,
    /// No message is longer.
    pub bytes_max: usize,
}

/// PDUs of a protocol directly in the frames of a LAN.
#[derive(Debug, Clone, Copy)]
pub struct OnLan {
    /// The protocol's name.
    pub name: &'static str,
    /// The protocol.
    pub protocol: Protocol,
    /// The EtherType.
    pub ether_type: u16,
    /// The length of a PDU, which may be followed by padding; or its kind if it is of no interest.
    pub length: fn(&[u8]) -> Result<usize, String>,
}
