//! Trace and cost files: a magic line with the version, then length-prefixed postcard records.
//!
//! ```text
//! "keytoll trace 1\n"  { length: u16 LE, postcard(record) }*
//! ```

use std::io::{self, BufRead, Read, Write};
use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};

/// The format written and the only one read.
pub const FORMAT: u32 = 1;

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
    /// The operating system said no, or the file ends inside a record.
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
    /// A record that makes no sense.
    #[error("record {index} is damaged: {source}")]
    Damaged {
        /// Counted from 0.
        index: u64,
        /// What postcard said.
        source: postcard::Error,
    },
}

/// Writes records of one kind.
#[derive(Debug)]
pub struct Writer<R, W: Write> {
    out: W,
    scratch: Vec<u8>,
    kind: PhantomData<R>,
}

impl<R: Recorded, W: Write> Writer<R, W> {
    /// Writes the magic line. The caller chooses the buffering of `out`.
    pub fn new(mut out: W) -> io::Result<Self> {
        writeln!(out, "{} {FORMAT}", R::MAGIC)?;
        Ok(Self { out, scratch: Vec::with_capacity(128), kind: PhantomData })
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
        self.scratch = buffer;
        Ok(())
    }

    /// Flushes and gives the underlying writer back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Reads records of one kind, one at a time.
#[derive(Debug)]
pub struct Reader<R, I: Read> {
    input: I,
    index: u64,
    scratch: Vec<u8>,
    kind: PhantomData<R>,
}

impl<R: Recorded, I: BufRead> Reader<R, I> {
    /// Checks the magic line.
    pub fn new(mut input: I) -> Result<Self, ReadError> {
        let mut line = Vec::new();
        input.by_ref().take(64).read_until(b'\n', &mut line)?;
        let found = String::from_utf8_lossy(&line).trim_end().to_owned();
        if found != format!("{} {FORMAT}", R::MAGIC) {
            return Err(ReadError::Magic { wanted: R::MAGIC, found });
        }
        Ok(Self { input, index: 0, scratch: Vec::new(), kind: PhantomData })
    }

    fn read(&mut self) -> Result<Option<R>, ReadError> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut length = [0; 2];
        self.input.read_exact(&mut length)?;
        self.scratch.resize(usize::from(u16::from_le_bytes(length)), 0);
        self.input.read_exact(&mut self.scratch)?;
        let index = self.index;
        self.index += 1;
        postcard::from_bytes(&self.scratch).map(Some).map_err(|source| ReadError::Damaged { index, source })
    }
}

impl<R: Recorded, I: BufRead> Iterator for Reader<R, I> {
    type Item = Result<R, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
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

    #[test]
    fn what_was_written_is_read() {
        let bytes = written(3);
        let read: Result<Vec<_>, _> = Reader::<Record, _>::new(&bytes[..]).unwrap().collect();
        assert_eq!(read.unwrap(), vec![record(0), record(1), record(2)]);
    }

    #[test]
    fn a_file_cut_short_is_an_error_not_a_panic() {
        let bytes = written(2);
        for cut in 0..bytes.len() {
            let Ok(reader) = Reader::<Record, _>::new(&bytes[..cut]) else { continue };
            let _ = reader.collect::<Result<Vec<_>, _>>();
        }
        let mut reader = Reader::<Record, _>::new(&bytes[..bytes.len() - 1]).unwrap();
        assert!(reader.next().unwrap().is_ok());
        assert!(matches!(reader.next().unwrap(), Err(ReadError::Io(_))));
    }

    #[test]
    fn another_version_is_refused() {
        let error = Reader::<Record, _>::new(&b"keytoll trace 99\n"[..]).unwrap_err();
        assert!(error.to_string().contains("keytoll trace 99"));
    }
}
