//! Trace and cost files: a magic line with the version, then records with their lengths, then the end, which says how much
//! there was. A file without its end was cut off, or is still being written. What is in a record, [`stored`](mod@crate::stored)
//! says; the same records give the same bytes.
//!
//! ```text
//! "keytoll trace 3\n"  { length: u16 LE > 0, record }*
//!                      0: u16, records: u64 LE, bytes before the end: u64 LE, their CRC-32: u32 LE
//! ```

use std::io::{self, BufRead, Read, Write};
use std::marker::PhantomData;

use crc32fast::Hasher;

use crate::name::Name;
use crate::stored::{DecodeError, Decoder, Encoder, Stored, WrittenNames};

/// The format written and the only one read.
pub const FORMAT: u32 = 3;

/// How long the end is.
const END_BYTES: usize = 22;

/// A kind of record that has a file of its own.
pub trait Recorded: Stored {
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
        /// Why.
        source: DecodeError,
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

    /// A record whose bytes are in the checksum later.
    fn count(&mut self, bytes: usize) {
        self.records += 1;
        self.bytes += bytes as u64;
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
    names: WrittenNames,
    passed: Passed,
    kind: PhantomData<R>,
}

impl<R: Recorded, W: Write> Writer<R, W> {
    /// Writes the magic line. The caller chooses the buffering of `out`.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn new(mut out: W) -> io::Result<Self> {
        let line = format!("{} {FORMAT}\n", R::MAGIC);
        out.write_all(line.as_bytes())?;
        let passed = Passed::magic(line.as_bytes());
        let (scratch, names) = (Vec::with_capacity(128), WrittenNames::default());
        Ok(Self { out, scratch, names, passed, kind: PhantomData })
    }

    /// Appends a record. After an error nothing more can be appended that could be read.
    ///
    /// # Errors
    /// When it cannot be written, is longer than 65,535 bytes, or has a name that is too long or one too many.
    pub fn write(&mut self, record: &R) -> io::Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(&[0, 0]);
        let mut encoder = Encoder::new(&mut self.scratch, &mut self.names);
        record.store(&mut encoder);
        encoder.finish().map_err(io::Error::other)?;
        let length = u16::try_from(self.scratch.len() - 2).map_err(io::Error::other)?;
        self.scratch[..2].copy_from_slice(&length.to_le_bytes());
        self.out.write_all(&self.scratch)?;
        self.passed.add(&self.scratch);
        self.passed.records += 1;
        Ok(())
    }

    /// Writes the end, flushes and gives the underlying writer back. A file that is only dropped says that it was cut off.
    ///
    /// # Errors
    /// When the underlying writer does not take it.
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

/// So many bytes of records at least are in the checksum at once: that of a single short one takes as long as reading it.
const CHECKED_BYTES: usize = 1 << 14;

/// Reads records of one kind, one at a time. After the last one comes nothing if the file is whole, else an error.
#[derive(Debug)]
pub struct Reader<R, I: Read> {
    input: I,
    /// Records with their lengths: those that are not in the checksum yet, and behind them the newest.
    records: Vec<u8>,
    /// Where the newest begins.
    newest: usize,
    names: Vec<Name>,
    passed: Passed,
    ended: bool,
    kind: PhantomData<R>,
}

impl<R: Recorded, I: BufRead> Reader<R, I> {
    /// Checks the magic line.
    ///
    /// # Errors
    /// When it cannot be read, or is that of something else.
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
        let (records, names) = (Vec::new(), Vec::new());
        Ok(Self { input, records, newest: 0, names, passed, ended: false, kind: PhantomData })
    }

    /// Reads the next record, which then is the newest; whether there was one.
    fn advance(&mut self) -> Result<bool, ReadError> {
        let mut length = [0; 2];
        self.fill(&mut length)?;
        let bytes = usize::from(u16::from_le_bytes(length));
        if bytes == 0 {
            return self.end().map(|()| false);
        }
        if self.records.len() >= CHECKED_BYTES {
            self.check();
        }
        self.newest = self.records.len();
        let mut records = std::mem::take(&mut self.records);
        records.extend_from_slice(&length);
        records.resize(self.newest + 2 + bytes, 0);
        let filled = self.fill(&mut records[self.newest + 2..]);
        self.records = records;
        filled.map(|()| true)
    }

    /// Takes the records into the checksum.
    fn check(&mut self) {
        self.passed.hasher.update(&self.records);
        self.records.clear();
    }

    fn decode(&mut self) -> Result<R, ReadError> {
        let newest = &self.records[self.newest..];
        let mut decoder = Decoder::new(&newest[2..], &mut self.names);
        let record = R::read(&mut decoder);
        if let Err(source) = decoder.finish() {
            self.ended = true;
            return Err(ReadError::Damaged { index: self.passed.records, source });
        }
        self.passed.count(newest.len());
        Ok(record)
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
        self.check();
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
        match self.advance() {
            Ok(true) => Some(self.decode()),
            Ok(false) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::NameError;
    use crate::{Fact, Message, Node, Protocol, Record};

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
    fn other_versions_are_refused() {
        for found in ["keytoll trace 1", "keytoll trace 2", "keytoll trace 33", "keytoll costs 3"] {
            let error = Reader::<Record, _>::new(format!("{found}\n").as_bytes()).unwrap_err();
            assert!(error.to_string().contains(found), "{error}");
        }
    }

    fn failed(why: &str) -> Record {
        Record { fact: Fact::Failed { why: why.to_owned().into() }, ..record(0) }
    }

    fn written_of(records: &[Record]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        records.iter().for_each(|record| writer.write(record).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn a_name_stands_in_a_file_once_and_is_the_same_wherever_it_comes_from() {
        let message = |name| {
            let parts = [Name::new(&"SA"), Name::new(&"KE")].into_iter().collect();
            let message = Message { parts, ..Message::new(Protocol::new(&"ike"), name) };
            Record { fact: Fact::Sent(message), ..record(0) }
        };
        let [constant, interned] =
            [Name::new(&"IKE_AUTH request"), Name::intern("IKE_AUTH request").unwrap()];
        let bytes = written_of(&[message(constant), message(interned), failed("timeout"), record(0)]);
        for text in ["IKE_AUTH request", "ike", "SA", "timeout"] {
            let found = bytes.windows(text.len()).filter(|window| *window == text.as_bytes());
            assert_eq!(found.count(), 1, "{text}");
        }
        assert_eq!(bytes, written_of(&[message(interned), message(constant), record(0), failed("timeout")]));
        let expected = vec![message(constant), message(constant), record(0), record(0)];
        assert_eq!(read(&bytes).unwrap(), expected);
    }

    /// A whole file of records with these bytes.
    fn file_of(records: &[&[u8]]) -> Vec<u8> {
        let mut writer = Writer::<Record, _>::new(Vec::new()).unwrap();
        for record in records {
            let length = u16::try_from(record.len()).unwrap().to_le_bytes();
            for bytes in [&length[..], record] {
                writer.out.extend_from_slice(bytes);
                writer.passed.add(bytes);
            }
            writer.passed.records += 1;
        }
        writer.finish().unwrap()
    }

    /// At 17 ns, at the gateway, sample 0, `Failed`; then the name.
    const FAILED: [u8; 4] = [17, 1, 0, 9];

    fn damage(records: &[&[u8]]) -> DecodeError {
        match read(&file_of(records)).unwrap_err() {
            ReadError::Damaged { index, source } if index + 1 == records.len() as u64 => source,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn names_that_make_no_sense_are_refused() {
        let fact = |name: &[u8]| [&FAILED[..], name].concat();
        assert_eq!(
            read(&file_of(&[&fact(b"\x00\x02no"), &fact(b"\x00")])).unwrap(),
            [failed("no"), failed("no")]
        );
        let no = fact(b"\x00\x02no");
        assert_eq!(damage(&[&fact(b"\x01\x02no")]), DecodeError::UnknownName(1));
        assert_eq!(damage(&[&no, &fact(b"\x02\x02no")]), DecodeError::UnknownName(2));
        let huge = [&[0xFF; 9][..], &[1]].concat();
        assert_eq!(damage(&[&no, &fact(&huge)]), DecodeError::UnknownName(u64::MAX));
        assert_eq!(damage(&[&no, &fact(b"\x00\x02no")]), DecodeError::Long(3));
        assert_eq!(damage(&[&fact(b"\x00\x03no")]), DecodeError::Short);
        assert_eq!(damage(&[&fact(b"\x00")]), DecodeError::Short);
        assert_eq!(damage(&[&fact(b"\x00\x02n\xff")]), DecodeError::NotText);
        let long = [&[0, 0x81, 8][..], &[b'x'; 1025]].concat();
        assert_eq!(
            damage(&[&no, &fact(&[&[1][..], &long[1..]].concat())]),
            NameError::TooLong { bytes: 1025 }.into()
        );
    }

    #[test]
    fn a_value_that_no_field_takes_is_refused() {
        assert_eq!(damage(&[&[0, 5, 0, 0]]), DecodeError::Variant(5), "no such node");
        assert_eq!(damage(&[&[0, 1, 0, 99]]), DecodeError::Variant(99), "no such fact");
        assert_eq!(damage(&[&[0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x10]]), DecodeError::Range(0x1_0FFF_FFFF));
        assert_eq!(damage(&[&[0xFF; 11]]), DecodeError::Range(u64::MAX), "more than 64 bits");
        assert_eq!(damage(&[&[0xFF]]), DecodeError::Short);
    }

    #[test]
    fn a_file_has_no_more_names_than_are_kept() {
        let named = |number: usize| format!("one of very many names: {number}");
        let mut writer = Writer::new(Vec::new()).unwrap();
        let refused = (0..=Name::COUNT_MAX).find(|&number| writer.write(&failed(&named(number))).is_err());
        assert_eq!(refused, Some(Name::COUNT_MAX));
        let mut writer = Writer::new(Vec::new()).unwrap();
        assert!(writer.write(&failed(&"x".repeat(Name::BYTES_MAX + 1))).is_err());
    }
}
