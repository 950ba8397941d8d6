//! Reads capture files, packet by packet: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), of either
//! byte order and any resolution of time.
//!
//! Files are untrusted: lengths are checked before any allocation, an error has the field and its offset in the file, and the
//! packets before it remain usable.

mod pcap;
mod pcapng;
mod source;

use std::io::{self, BufRead};

pub use source::Problem;
use source::Source;

/// The longest accepted packet in bytes; tcpdump's largest snap length is a quarter of it.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// Bytes as they were captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its number from 1, as in Wireshark.
    pub number: u64,
    /// Its time, in nanoseconds since 1970 or since the epoch of the writer.
    pub at_ns: u64,
    /// Its LINKTYPE_ value.
    pub link_type: u16,
    /// Its interface: a number in the file.
    pub interface: u32,
    /// Its bytes, possibly truncated.
    pub bytes: Vec<u8>,
    /// How many there were.
    pub original_bytes: u32,
    /// Its comment.
    pub comment: Option<String>,
}

/// Why a capture cannot be read (further).
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An error of the operating system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is not a capture.
    #[error("not a capture file: it begins with {found}")]
    NotACapture {
        /// The bytes in place of the magic number of pcap or pcapng.
        found: String,
    },
    /// A field that cannot be.
    #[error("{field} at offset {offset}: {problem}")]
    Malformed {
        /// The field.
        field: &'static str,
        /// Its offset from the start of the file.
        offset: u64,
        /// The problem.
        problem: Problem,
    },
}

impl ReadError {
    /// Whether the file is truncated, as after a killed capture.
    pub fn is_cut_short(&self) -> bool {
        matches!(self, Self::Malformed { problem: Problem::EndOfFile, .. })
    }
}

/// The packets of a capture file, up to the first error.
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
    /// Starts reading: checks the magic number and, in pcap, the file's header.
    ///
    /// # Errors
    /// When it is not a capture.
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

/// The first bytes of a file, and its format if it is a common one.
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
