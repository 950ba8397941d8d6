//! Reads capture files, packet after packet: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), of either
//! byte order and any resolution of time.
//!
//! A file is hostile until it was read: lengths are checked before anything is allocated, what cannot be read is an error
//! that names the field and its offset in the file, and what came before it stays usable.

mod pcap;
mod pcapng;
mod source;

use std::io::{self, BufRead};

pub use source::Problem;
use source::Source;

/// Longest packet accepted, in bytes; tcpdump's largest snap length is a quarter of it.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// Bytes as they were captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Counted from 1, as Wireshark does.
    pub number: u64,
    /// When, in nanoseconds since 1970 or since whatever the writer counts from.
    pub at_ns: u64,
    /// How the bytes begin: a LINKTYPE_ value.
    pub link_type: u16,
    /// Where it was captured: the number of the interface in the file.
    pub interface: u32,
    /// The bytes, perhaps fewer than there were.
    pub bytes: Vec<u8>,
    /// How many there were.
    pub original_bytes: u32,
    /// What the file says about it.
    pub comment: Option<String>,
}

/// Why a capture cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("not a capture file: it begins with {found}")]
    NotACapture {
        /// What stands where pcap and pcapng have their magic number.
        found: String,
    },
    /// A field that cannot be.
    #[error("{field} at offset {offset}: {problem}")]
    Malformed {
        /// The field.
        field: &'static str,
        /// Its offset from the start of the file.
        offset: u64,
        /// What is wrong with it.
        problem: Problem,
    },
}

impl ReadError {
    /// Whether the file just ends too early, as captures do whose writer was killed.
    pub fn is_cut_short(&self) -> bool {
        matches!(self, Self::Malformed { problem: Problem::EndOfFile, .. })
    }
}

/// The packets of a capture file. After an error there are no more.
#[derive(Debug)]
pub struct Capture<R> {
    source: Source<R>,
    format: Format,
    next_number: u64,
    over: bool,
}

#[derive(Debug)]
enum Format {
    Pcap(pcap::File),
    Pcapng(pcapng::File),
}

impl<R: BufRead> Capture<R> {
    /// Begins to read: looks at the magic number and, in pcap, the file's header.
    pub fn new(input: R) -> Result<Self, ReadError> {
        let mut source = Source::new(input);
        let magic = source.magic()?;
        let format = if let Some(layout) = pcap::Layout::of(magic) {
            Format::Pcap(pcap::File::begin(layout, &mut source)?)
        } else if magic == pcapng::MAGIC {
            Format::Pcapng(pcapng::File::default())
        } else {
            return Err(ReadError::NotACapture { found: found(magic) });
        };
        Ok(Self { source, format, next_number: 1, over: false })
    }

    fn read(&mut self) -> Result<Option<Frame>, ReadError> {
        let frame = match &mut self.format {
            Format::Pcap(file) => file.next(&mut self.source)?,
            Format::Pcapng(file) => file.next(&mut self.source)?,
        };
        let number = self.next_number;
        self.next_number += u64::from(frame.is_some());
        Ok(frame.map(|frame| Frame { number, ..frame }))
    }
}

impl<R: BufRead> Iterator for Capture<R> {
    type Item = Result<Frame, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.read().transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// What a file begins with, and what that is if people often try it.
fn found(magic: [u8; 4]) -> String {
    let hex = magic.map(|byte| format!("{byte:02x}")).join(" ");
    match magic {
        [0x1f, 0x8b, ..] => format!("{hex}, compressed with gzip: unpack it first"),
        [0x28, 0xb5, 0x2f, 0xfd] => format!("{hex}, compressed with zstd: unpack it first"),
        [0x34, 0xcd, 0xb2, 0xa1] | [0xa1, 0xb2, 0xcd, 0x34] => {
            format!("{hex}, the modified pcap of old Linux systems: `editcap -F pcapng` converts it")
        }
        _ => hex,
    }
}

#[cfg(test)]
mod tests;
