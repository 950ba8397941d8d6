//! Trace and cost files: a magic line with the version, then length-prefixed postcard records, then the end, which says how
//! much there was. A file without its end was cut off, or is still being written.
//!
//! ```text
//! "keytoll trace 2\n"  { length: u16 LE > 0, postcard(record) }*
//!                      0: u16, records: u64 LE, bytes before the end: u64 LE, their CRC-32: u32 LE
//! ```

use std::io::{self, BufRead, Read, Write};
use std::marker::PhantomData;

use crc32fast::Hasher;
use serde::{Serialize, de::DeserializeOwned};

/// The format written and the only one read.
pub const FORMAT: u32 = 2;

/// How long the end is.
const END_BYTES: usize = 22;

/// A kind of record that has a file of its own.
pub trait Recorded: Serialize + DeserializeOwned {
    /// The first word of the file's magic line.
    const MAGIC: &'static str;
}

impl Recorded for crate::Record {
    const MAGIC: &'static str = "keytoll trace";
}

impl Recorded for crate::Cost {
    const MAGIC: &'static str = "keytoll costs";
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system said no.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// Not such a file, or of another version.
    #[error("not a `{wanted} {FORMAT}` file: it begins with {found:?}")]
    Magic {
        /// What was wanted.
        wanted: &'static str,
        /// What stood there.
        found: String,
    },
    /// The file was cut off, or is still being written.
    #[error("it breaks off after record {records}, at byte {bytes}, without saying that it ended")]
    Unfinished {
        /// How many whole records there are.
        records: u64,
        /// How long these are, the magic line included.
        bytes: u64,
    },
    /// A record that makes no sense.
    #[error("record {index} is damaged: {source}")]
    Damaged {
        /// Counted from 0.
        index: u64,
        /// What postcard said.
        source: postcard::Error,
    },
    /// The end speaks of other records than there are.
    #[error("it is damaged: its end says {said}, and there are {found}")]
    Altered {
        /// What was written.
        said: Extent,
        /// What is there.
        found: Extent,
    },
    /// Something stands behind the end.
    #[error("it is damaged: there is more behind its end at byte {bytes}")]
    Grown {
        /// How long the file was when it ended.
        bytes: u64,
    },
}

/// How much a file holds up to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Records.
    pub records: u64,
    /// Bytes, the magic line included.
    pub bytes: u64,
    /// CRC-32 of these bytes.
    pub crc32: u32,
}

impl std::fmt::Display for Extent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { records, bytes, crc32 } = self;
        write!(f, "{records} records in {bytes} bytes (CRC-32 {crc32:08x})")
    }
}

/// What has passed so far.
#[derive(Debug, Clone, Default)]
struct Passed {
    records: u64,
    bytes: u64,
    hasher: Hasher,
}

impl Passed {
    /// After the magic line.
    fn magic(line: &[u8]) -> Self {
        let mut passed = Self::default();
        passed.add(line);
        passed
    }

    fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    fn extent(&self) -> Extent {
        Extent { records: self.records, bytes: self.bytes, crc32: self.hasher.clone().finalize() }
    }
}

/// Writes records of one kind.
#[derive(Debug)]
pub struct Writer<R, W: Write> {
    out: W,
    scratch: Vec<u8>,
    passed: Passed,
    kind: PhantomData<R>,
}

impl<R: Recorded, W: Write> Writer<R, W> {
    /// Writes the magic line. The caller chooses the buffering of `out`.
    pub fn new(mut out: W) -> io::Result<Self> {
        let line = format!("{} {FORMAT}\n", R::MAGIC);
        out.write_all(line.as_bytes())?;
        let passed = Passed::magic(line.as_bytes());
        Ok(Self { out, scratch: Vec::with_capacity(128), passed, kind: PhantomData })
    }

    /// Appends a record.
    pub fn write(&mut self, record: &R) -> io::Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(&[0, 0]);
        let mut buffer =
            postcard::to_extend(record, std::mem::take(&mut self.scratch)).map_err(io::Error::other)?;
        let length = u16::try_from(buffer.len() - 2).map_err(io::Error::other)?;
        buffer[..2].copy_from_slice(&length.to_le_bytes());
        self.out.write_all(&buffer)?;
        self.passed.add(&buffer);
        self.passed.records += 1;
        self.scratch = buffer;
        Ok(())
    }

    /// Writes the end, flushes and gives the underlying writer back. A file that is only dropped says that it was cut off.
    pub fn finish(mut self) -> io::Result<W> {
        let Extent { records, bytes, crc32 } = self.passed.extent();
        self.out.write_all(&[0, 0])?;
        self.out.write_all(&records.to_le_bytes())?;
        self.out.write_all(&bytes.to_le_bytes())?;
        self.out.write_all(&crc32.to_le_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Reads records of one kind, one at a time. After the last one comes nothing if the file is whole, else an error.
#[derive(Debug)]
pub struct Reader<R, I: Read> {
    input: I,
    scratch: Vec<u8>,
    passed: Passed,
    ended: bool,
    kind: PhantomData<R>,
}

impl<R: Recorded, I: BufRead> Reader<R, I> {
    /// Checks the magic line.
    pub fn new(mut input: I) -> Result<Self, ReadError> {
        let mut line = Vec::new();
        input.by_ref().take(64).read_until(b'\n', &mut line)?;
        let wanted = format!("{} {FORMAT}\n", R::MAGIC);
        if line.len() < wanted.len() && wanted.as_bytes().starts_with(&line) {
            return Err(ReadError::Unfinished { records: 0, bytes: 0 });
        }
        if line != wanted.as_bytes() {
            let found = String::from_utf8_lossy(&line).trim_end().to_owned();
            return Err(ReadError::Magic { wanted: R::MAGIC, found });
        }
        let passed = Passed::magic(&line);
        Ok(Self { input, scratch: Vec::new(), passed, ended: false, kind: PhantomData })
    }

    fn read(&mut self) -> Result<Option<R>, ReadError> {
        let mut length = [0; 2];
        self.fill(&mut length)?;
        let bytes = usize::from(u16::from_le_bytes(length));
        if bytes == 0 {
            return self.end().map(|()| None);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(bytes, 0);
        self.fill(&mut scratch)?;
        let index = self.passed.records;
        let record = postcard::from_bytes(&scratch).map_err(|source| ReadError::Damaged { index, source })?;
        self.passed.add(&length);
        self.passed.add(&scratch);
        self.passed.records += 1;
        self.scratch = scratch;
        Ok(Some(record))
    }

    /// The end must say what was read, and nothing may follow it.
    fn end(&mut self) -> Result<(), ReadError> {
        let mut bytes = [0; END_BYTES - 2];
        self.fill(&mut bytes)?;
        let (records, rest) = bytes.split_first_chunk().expect("the end begins with 8 bytes of records");
        let (length, rest) = rest.split_first_chunk().expect("then 8 bytes of length");
        let crc32 = rest.first_chunk().expect("then 4 bytes of CRC-32");
        let said = Extent {
            records: u64::from_le_bytes(*records),
            bytes: u64::from_le_bytes(*length),
            crc32: u32::from_le_bytes(*crc32),
        };
        let found = self.passed.extent();
        if said != found {
            return Err(ReadError::Altered { said, found });
        }
        match self.input.fill_buf()?.is_empty() {
            true => Ok(()),
            false => Err(ReadError::Grown { bytes: found.bytes + END_BYTES as u64 }),
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.input.read_exact(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                ReadError::Unfinished { records: self.passed.records, bytes: self.passed.bytes }
            }
            _ => ReadError::Io(error),
        })
    }
}

impl<R: Recorded, I: BufRead> Iterator for Reader<R, I> {
    type Item = Result<R, ReadError>;

    /// Nothing comes after an error.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.read();
        self.ended = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fact, Node, Record};

    fn record(sample: u32) -> Record {
        Record { at_ns: 17, node: Node::Gw, sample, fact: Fact::Failed { why: "timeout".into() } }
    }

    fn written(n: u32) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        (0..n).for_each(|sample| writer.write(&record(sample)).unwrap());
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Record>, ReadError> {
        Reader::<Record, _>::new(bytes)?.collect()
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(read(&written(3)).unwrap(), vec![record(0), record(1), record(2)]);
        assert_eq!(read(&written(0)).unwrap(), vec![]);
    }

    #[test]
    fn a_file_cut_at_any_byte_says_so() {
        let bytes = written(3);
        for cut in 0..bytes.len() {
            let error = read(&bytes[..cut]).unwrap_err();
            assert!(matches!(error, ReadError::Unfinished { .. }), "{cut}: {error}");
        }
        let mut reader = Reader::<Record, _>::new(&bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(reader.by_ref().take(3).filter_map(Result::ok).count(), 3, "what is whole is there");
        assert!(matches!(reader.next(), Some(Err(ReadError::Unfinished { records: 3, .. }))));
        assert!(reader.next().is_none());
    }

    #[test]
    fn a_file_that_never_ended_says_so() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.write(&record(0)).unwrap();
        let Writer { out, .. } = writer;
        assert!(matches!(read(&out).unwrap_err(), ReadError::Unfinished { records: 1, .. }));
    }

    #[test]
    fn a_file_that_has_grown_says_so() {
        let whole = written(2);
        for more in [&[0][..], &whole] {
            let error = read(&[&whole, more].concat()).unwrap_err();
            assert!(matches!(error, ReadError::Grown { bytes } if bytes == whole.len() as u64), "{error}");
        }
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let whole = written(2);
        for at in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            assert!(read(&bytes).is_err(), "bit {at}");
        }
    }

    #[test]
    fn a_record_that_is_missing_is_noticed() {
        let (whole, shorter) = (written(2), written(1));
        let records = shorter.len() - END_BYTES;
        let bytes = [&whole[..records], &whole[whole.len() - END_BYTES..]].concat();
        assert!(matches!(read(&bytes).unwrap_err(), ReadError::Altered { .. }));
    }

    #[test]
    fn another_version_is_refused() {
        let error = Reader::<Record, _>::new(&b"keytoll trace 1\n"[..]).unwrap_err();
        assert!(error.to_string().contains("keytoll trace 1"));
    }
}
