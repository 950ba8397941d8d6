//! Writes a capture: a pcapng file with an interface for every link, streamed as datagrams pass.
//!
//! ```text
//!   section header (comment: the run)
//!   interface description (name: the link)          when its first datagram passes
//!   enhanced packet (comment: the remarks)          one for each IP packet of a datagram
//! ```
//!
//! A packet is captured when its sender passes it to the link, before the link's queue, delay and loss: lost packets are included,
//! and marked in their comments.

mod packets;
mod pcapng;

use std::io::{self, Write};

use keytoll_engine::Datagram;
use keytoll_net::Addr;

use packets::Packets;
use pcapng::{Block, LinkType};

/// A captured datagram.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Its time, in nanoseconds since 1970 or since the start of virtual time.
    pub at_ns: u64,
    /// The name of the link, `ue-gw`.
    pub link: &'a str,
    /// The MTU of the link in bytes; longer packets are fragmented.
    pub mtu_bytes: u16,
    /// The sender.
    pub from: Addr,
    /// The receiver.
    pub to: Addr,
    /// The payload after the headers that the addresses determine.
    pub bytes: &'a [u8],
    /// The comment; may be empty.
    pub comment: &'a str,
}

impl<'a> Seen<'a> {
    /// A datagram on a link that needs no fragmentation.
    pub fn of(datagram: &'a Datagram, link: &'a str) -> Self {
        let Datagram { from, to, ref bytes, .. } = *datagram;
        Self { at_ns: 0, link, mtu_bytes: u16::MAX, from, to, bytes, comment: "" }
    }

    const fn link_type(&self) -> LinkType {
        match self.to {
            Addr::Mac(_) => LinkType::Ieee80211,
            Addr::Udp(_) | Addr::Tcp(_) | Addr::Sctp(_) | Addr::Ip { .. } => LinkType::Raw,
        }
    }
}

/// A capture being written.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    /// A handful, in the order of their numbers.
    interfaces: Vec<(LinkType, String)>,
    packets: Packets,
}

impl<W: Write> Writer<W> {
    /// Starts a capture; `comment` describes it. The caller chooses the buffering of `out`.
    ///
    /// # Errors
    /// When the header cannot be written.
    pub fn new(mut out: W, comment: &str) -> io::Result<Self> {
        let application = concat!("keytoll ", env!("CARGO_PKG_VERSION"));
        Block::section(application, comment).write(&mut out)?;
        Ok(Self { out, interfaces: Vec::new(), packets: Packets::default() })
    }

    /// Writes the packets of a datagram; returns their number.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn datagram(&mut self, seen: &Seen<'_>) -> io::Result<usize> {
        let interface = self.interface(seen.link_type(), seen.link)?;
        let packets = self.packets.of(seen);
        let count = packets.len();
        for (index, packet) in packets.iter().enumerate() {
            let comment = numbered(seen.comment, index, count);
            Block::packet(interface, seen.at_ns, packet, &comment).write(&mut self.out)?;
        }
        Ok(count)
    }

    /// Passes everything to the operating system, for concurrent readers.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Flushes and returns the underlying writer.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// The number of a link's interface, which is declared at its first use.
    fn interface(&mut self, link_type: LinkType, link: &str) -> io::Result<u32> {
        let known = self.interfaces.iter().position(|(kind, name)| *kind == link_type && name == link);
        let number = known.unwrap_or(self.interfaces.len());
        if known.is_none() {
            Block::interface(link_type, link, DESCRIPTION).write(&mut self.out)?;
            self.interfaces.push((link_type, link.to_owned()));
        }
        Ok(u32::try_from(number).expect("a world has a handful of links"))
    }
}

const DESCRIPTION: &str = "packets as their senders hand them to the link";

/// The comment of one of several packets.
fn numbered(comment: &str, index: usize, count: usize) -> String {
    match (count, comment) {
        (0 | 1, comment) => comment.to_owned(),
        (_, "") => format!("packet {} of {count}", index + 1),
        (_, comment) => format!("{comment}, packet {} of {count}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use keytoll_trace::Protocol;

    use super::*;

    /// The link types of the interface descriptions of a file, in their order.
    fn link_types(mut file: &[u8]) -> Vec<u16> {
        let mut types = Vec::new();
        while let Some((head, _)) = file.split_first_chunk::<12>() {
            let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            types.extend((word(0) == 1).then_some(word(8) as u16));
            file = &file[word(4) as usize..];
        }
        types
    }

    #[test]
    fn frames_and_packets_of_a_link_have_interfaces_of_their_own() {
        let mut writer = Writer::new(Vec::new(), "").unwrap();
        let [a, b] = [Addr::Mac([2; 6]), Addr::udp("192.0.2.1".parse().unwrap(), 7)];
        for end in [a, b, a] {
            let datagram = Datagram { protocol: Protocol::IP, from: end, to: end, bytes: vec![0; 24] };
            writer.datagram(&Seen::of(&datagram, "ue-ap")).unwrap();
        }
        assert_eq!(link_types(&writer.finish().unwrap()), [105, 101]);
    }
}
