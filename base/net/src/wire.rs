//! Reading and writing wire formats: a cursor that reports which field it could not read, and a growing buffer.

use std::fmt;

/// Why bytes could not be decoded: which field, where, and what was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    /// The field, as the standard calls it.
    pub field: &'static str,
    /// Its offset from the start of the message.
    pub offset: usize,
    /// What was wrong.
    pub problem: Problem,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: {}", self.field, self.offset, self.problem)
    }
}

/// What was wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The message ends before the field does.
    Short {
        /// Bytes the field needs.
        needed: usize,
        /// Bytes there are.
        left: usize,
    },
    /// Bytes left over where the structure should end.
    Trailing {
        /// How many.
        left: usize,
    },
    /// A length that contradicts its context.
    Length(u64),
    /// A value that the standard does not allow here.
    Value(u64),
    /// A structure that may occur only once occurs again.
    Repeated,
    /// A mandatory structure is missing.
    Missing,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { needed, left } => write!(f, "needs {needed} bytes, {left} are left"),
            Self::Trailing { left } => write!(f, "{left} bytes left over"),
            Self::Length(length) => write!(f, "length {length} does not fit"),
            Self::Value(value) => write!(f, "value {value} is not allowed"),
            Self::Repeated => f.write_str("occurs twice"),
            Self::Missing => f.write_str("is missing"),
        }
    }
}

/// A cursor over received bytes.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// Offset of their end in the message; reading only moves the start.
    end: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of a message.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, end: bytes.len() }
    }

    /// Offset of the next byte from the start of the message.
    #[inline]
    pub const fn offset(&self) -> usize {
        // Never negative: `new` and `sub` take the end from the bytes, and reading shortens them.
        self.end.wrapping_sub(self.bytes.len())
    }

    /// Bytes left.
    #[inline]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is left.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// An error about the field that begins here.
    pub const fn error(&self, field: &'static str, problem: Problem) -> DecodeError {
        DecodeError { field, offset: self.offset(), problem }
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    pub fn take(&mut self, n: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let Some((head, tail)) = self.bytes.split_at_checked(n) else {
            return Err(self.error(field, Problem::Short { needed: n, left: self.bytes.len() }));
        };
        self.bytes = tail;
        Ok(head)
    }

    /// A reader over the next `n` bytes that keeps counting offsets from the start of the message.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    pub fn sub(&mut self, n: usize, field: &'static str) -> Result<Self, DecodeError> {
        let bytes = self.take(n, field)?;
        Ok(Self { bytes, end: self.offset() })
    }

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        Ok(self.take(N, field)?.try_into().expect("take gave N bytes"))
    }

    /// One byte.
    ///
    /// # Errors
    /// No byte is left.
    #[inline]
    pub fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        Ok(self.array::<1>(field)?[0])
    }

    /// Two bytes, network order.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    pub fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.array(field)?))
    }

    /// Four bytes, network order.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array(field)?))
    }

    /// Eight bytes, network order.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    pub fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(self.array(field)?))
    }

    /// Two bytes, the least significant first.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    pub fn u16_le(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    /// Skips `n` bytes.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    pub fn skip(&mut self, n: usize, field: &'static str) -> Result<(), DecodeError> {
        self.take(n, field).map(drop)
    }

    /// Everything that is left.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// Bytes are left.
    #[inline]
    pub fn end(&self, field: &'static str) -> Result<(), DecodeError> {
        if self.is_empty() { Ok(()) } else { Err(self.error(field, Problem::Trailing { left: self.len() })) }
    }
}

/// A message being written.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// An empty message with room for `capacity` bytes.
    #[inline]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// Bytes written so far.
    #[inline]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was written yet.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Two bytes, network order.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    /// Four bytes, network order.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    /// Eight bytes, network order.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_be_bytes());
    }

    /// Two bytes, the least significant first.
    #[inline]
    pub fn u16_le(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Bytes as they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// `n` zero bytes.
    #[inline]
    pub fn zeros(&mut self, n: usize) {
        self.0.resize(self.0.len() + n, 0);
    }

    /// Overwrites two bytes written before.
    ///
    /// # Panics
    /// If they were not written before, which is a bug in the caller.
    #[inline]
    pub fn patch_u16(&mut self, at: usize, value: u16) {
        self.0[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    /// Overwrites four bytes written before; panics like [`Writer::patch_u16`].
    #[inline]
    pub fn patch_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Overwrites one byte written before; panics like [`Writer::patch_u16`].
    #[inline]
    pub fn patch_u8(&mut self, at: usize, value: u8) {
        self.0[at] = value;
    }

    /// What was written so far.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// What was written so far, to encrypt it in place.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// The finished message.
    #[inline]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_field_is_named_with_its_offset() {
        let mut r = Reader::new(&[1, 2, 3]);
        r.skip(1, "version").unwrap();
        let error = r.u32("length").unwrap_err();
        assert_eq!(error.to_string(), "length at offset 1: needs 4 bytes, 2 are left");
    }

    #[test]
    fn a_sub_reader_counts_from_the_start_of_the_message() {
        let mut r = Reader::new(&[0, 0, 7, 8]);
        r.skip(2, "header").unwrap();
        let mut sub = r.sub(2, "body").unwrap();
        sub.skip(1, "x").unwrap();
        assert_eq!(sub.u16("y").unwrap_err().offset, 3);
        assert_eq!(sub.end("body").unwrap_err().problem, Problem::Trailing { left: 1 });
    }
}
