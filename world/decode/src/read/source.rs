//! The bytes of a file with their offsets, in the byte order that the file turns out to have.

use std::fmt;
use std::io::{BufRead, ErrorKind, Read};

use super::ReadError;

/// What is wrong with a field of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The file ends before the field does.
    EndOfFile,
    /// A length that contradicts what surrounds it, or is beyond what is accepted.
    Length(u64),
    /// A value that is not allowed here.
    Value(u64),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfFile => f.write_str("the file ends here"),
            Self::Length(length) => write!(f, "length {length} does not fit"),
            Self::Value(value) => write!(f, "value {value} is not allowed"),
        }
    }
}

/// Which byte of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(super) fn i64(self, bytes: [u8; 8]) -> i64 {
        match self {
            Self::Little => i64::from_le_bytes(bytes),
            Self::Big => i64::from_be_bytes(bytes),
        }
    }
}

/// A file being read.
#[derive(Debug)]
pub(super) struct Source<R> {
    input: R,
    offset: u64,
}

impl<R: BufRead> Source<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input, offset: 0 }
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The first four bytes, which stay to be read.
    pub(super) fn magic(&mut self) -> Result<[u8; 4], ReadError> {
        let mut magic = [0; 4];
        let start = loop {
            match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        let len = start.len().min(4);
        magic[..len].copy_from_slice(&start[..len]);
        if len < 4 { Err(self.error("magic number", Problem::EndOfFile)) } else { Ok(magic) }
    }

    /// Whether the file ends here.
    pub(super) fn is_at_end(&mut self) -> Result<bool, ReadError> {
        loop {
            match self.input.fill_buf() {
                Ok(left) => return Ok(left.is_empty()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Fills `bytes`.
    pub(super) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => self.offset += N as u64,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Err(self.error(field, Problem::EndOfFile));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(bytes)
    }

    /// The next `len` bytes; memory is taken as they come, not as they are announced.
    pub(super) fn take(&mut self, len: usize, field: &'static str) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let taken = self.input.by_ref().take(len as u64).read_to_end(&mut bytes)?;
        if taken < len {
            return Err(self.error(field, Problem::EndOfFile));
        }
        self.offset += len as u64;
        Ok(bytes)
    }

    /// An error about the field that begins here.
    pub(super) const fn error(&self, field: &'static str, problem: Problem) -> ReadError {
        ReadError::Malformed { field, offset: self.offset, problem }
    }
}
