//! A packet inside its buffer, with room before and behind it, so that headers and trailers need no copy.

use std::fmt;
use std::ops::Range;

/// Bytes in front of a packet that every SA can make do with: IPv6, UDP, ESP and the longest IV. So many that a packet behind
/// them, which is encrypted where it lies, begins on a multiple of a cipher's block if its buffer does.
pub const HEADROOM: usize = (40 + 8 + 8 + 16_usize).next_multiple_of(16);

/// Bytes behind a packet that every SA can make do with: padding to a block, its length, Next Header and the longest ICV.
pub const TAILROOM: usize = 15 + 2 + 32;

/// Part of a caller's buffer: what the packet is, and around it what it may grow into.
pub struct Frame<'a> {
    buffer: &'a mut [u8],
    start: usize,
    end: usize,
}

/// Where it is, without what it says: nobody is to read plaintext in a log.
impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("packet", &self.range())
            .field("buffer_len", &self.buffer.len())
            .finish()
    }
}

impl<'a> Frame<'a> {
    /// The packet at `packet` in `buffer`.
    ///
    /// # Panics
    /// If the range is not in the buffer.
    #[inline]
    pub fn new(buffer: &'a mut [u8], packet: Range<usize>) -> Self {
        assert!(packet.start <= packet.end && packet.end <= buffer.len(), "the packet lies in its buffer");
        Self { buffer, start: packet.start, end: packet.end }
    }

    /// A packet that fills its buffer: for what arrives, which only shrinks.
    #[inline]
    pub const fn whole(buffer: &'a mut [u8]) -> Self {
        let end = buffer.len();
        Self { buffer, start: 0, end }
    }

    /// The packet.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The packet, to change it.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.end]
    }

    /// Where in the buffer the packet is.
    #[inline]
    pub const fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Length of the packet in bytes.
    #[inline]
    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether nothing is left of the packet.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether it can grow by so many bytes in front and behind.
    #[inline]
    pub const fn has_room(&self, front: usize, behind: usize) -> bool {
        self.start >= front && self.buffer.len() - self.end >= behind
    }

    /// Grows in front and behind; what the new bytes are is up to the caller.
    ///
    /// # Panics
    /// If there is no room: ask [`Frame::has_room`].
    #[inline]
    pub(crate) fn grow(&mut self, front: usize, behind: usize) {
        assert!(self.has_room(front, behind), "a caller leaves HEADROOM and TAILROOM around a packet");
        self.start -= front;
        self.end += behind;
    }

    /// Grows in front by bytes whose values are up to the caller, and moves the packet if there is no room in front of it;
    /// nothing happens, and that is the answer, if its buffer is too short.
    #[inline]
    pub(crate) fn grow_front(&mut self, bytes: usize) -> Option<()> {
        if !self.has_room(bytes, 0) {
            let end = (self.buffer.len() >= bytes + self.len()).then_some(bytes + self.len())?;
            self.buffer.copy_within(self.range(), bytes);
            (self.start, self.end) = (bytes, end);
        }
        self.start -= bytes;
        Some(())
    }

    /// Cuts bytes off the front; all of them if there are fewer.
    #[inline]
    pub(crate) fn skip(&mut self, front: usize) {
        self.start = self.end.min(self.start + front);
    }

    /// Cuts bytes off the end until there are `len`.
    #[inline]
    pub(crate) fn truncate(&mut self, len: usize) {
        self.end = self.end.min(self.start + len);
    }

    /// Leaves nothing of the packet, and overwrites where it was.
    #[cold]
    pub(crate) fn wipe(&mut self, was: Range<usize>) {
        self.buffer[was].fill(0);
        self.end = self.start;
    }
}
