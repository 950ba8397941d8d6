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

use std::collections::BTreeMap;
use std::io::{self, Write};

use keytoll_engine::Datagram;
use keytoll_net::Addr;

use packets::Packets;
use pcapng::Block;

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
}

/// A capture being written.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    interfaces: BTreeMap<String, u32>,
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
        Ok(Self { out, interfaces: BTreeMap::new(), packets: Packets::default() })
    }

    /// Writes the packets of a datagram; returns their number.
    ///
    /// # Errors
    /// When they cannot be written.
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

/// The comment of one of several packets.
fn numbered(comment: &str, index: usize, count: usize) -> String {
    match (count, comment) {
        (0 | 1, comment) => comment.to_owned(),
        (_, "") => format!("packet {} of {count}", index + 1),
        (_, comment) => format!("{comment}, packet {} of {count}", index + 1),
    }
}
