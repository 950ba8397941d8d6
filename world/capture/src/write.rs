//! Writes a capture: a pcapng file with an interface for every link, streamed as datagrams pass.
//!
//! ```text
//!   section header (comment: what was run)
//!   interface description (name: the link)          when its first datagram passes
//!   enhanced packet (comment: what is known of it)  as many as IP makes of a datagram
//! ```
//!
//! A packet is seen where its sender hands it to the link, before the link's queue, delay and loss: what never arrives is
//! there, and its comment says so.

mod packets;
mod pcapng;

use std::collections::BTreeMap;
use std::io::{self, Write};

use keytoll_engine::Datagram;
use keytoll_net::Addr;

use packets::Packets;
use pcapng::Block;

/// A datagram where it is seen.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// When, in nanoseconds since 1970 or since the beginning of virtual time.
    pub at_ns: u64,
    /// The name of the link, `ue-gw`.
    pub link: &'a str,
    /// The longest IP packet on it; longer ones are fragments.
    pub mtu_bytes: u16,
    /// The sender.
    pub from: Addr,
    /// The receiver.
    pub to: Addr,
    /// What is behind the headers that the addresses stand for.
    pub bytes: &'a [u8],
    /// What is known of it beyond its bytes; may be empty.
    pub comment: &'a str,
}

impl<'a> Seen<'a> {
    /// A datagram on a link that takes it whole.
    pub fn of(datagram: &'a Datagram, link: &'a str) -> Self {
        let Datagram { from, to, ref bytes, .. } = *datagram;
        Self { at_ns: 0, link, mtu_bytes: u16::MAX, from, to, bytes, comment: "" }
    }
}

/// A capture being written.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    interfaces: BTreeMap<String, u32>,
    packets: Packets,
}

impl<W: Write> Writer<W> {
    /// Begins a capture; `comment` says of what. The caller chooses the buffering of `out`.
    pub fn new(mut out: W, comment: &str) -> io::Result<Self> {
        let application = concat!("keytoll ", env!("CARGO_PKG_VERSION"));
        Block::section(application, comment).write(&mut out)?;
        Ok(Self { out, interfaces: BTreeMap::new(), packets: Packets::default() })
    }

    /// Writes the packets of a datagram; gives how many.
    pub fn datagram(&mut self, seen: &Seen<'_>) -> io::Result<usize> {
        let interface = self.interface(seen.link)?;
        let packets = self.packets.of(seen);
        let count = packets.len();
        for (index, packet) in packets.iter().enumerate() {
            let comment = numbered(seen.comment, index, count);
            Block::packet(interface, seen.at_ns, packet, &comment).write(&mut self.out)?;
        }
        Ok(count)
    }

    /// Hands everything on to the operating system, for whoever reads along.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Flushes and gives the underlying writer back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// The number of a link's interface, which is announced when it is first used.
    fn interface(&mut self, link: &str) -> io::Result<u32> {
        if let Some(&number) = self.interfaces.get(link) {
            return Ok(number);
        }
        let number = u32::try_from(self.interfaces.len()).expect("a world has a handful of links");
        Block::interface(link, DESCRIPTION).write(&mut self.out)?;
        self.interfaces.insert(link.to_owned(), number);
        Ok(number)
    }
}

const DESCRIPTION: &str = "packets as their senders hand them to the link";

/// The comment of one packet of several.
fn numbered(comment: &str, index: usize, count: usize) -> String {
    match (count, comment) {
        (0 | 1, comment) => comment.to_owned(),
        (_, "") => format!("packet {} of {count}", index + 1),
        (_, comment) => format!("{comment}, packet {} of {count}", index + 1),
    }
}
