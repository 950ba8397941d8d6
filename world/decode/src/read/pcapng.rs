//! The block format, draft-ietf-opsawg-pcapng §3 and §4.
//!
//! ```text
//!   block   Type(4) Total Length(4) body Total Length(4)
//!   option  Code(2) Length(2) value, padded to 4 bytes
//! ```
//!
//! Section headers change the byte order and forget the interfaces; blocks of other types are passed over.

use std::io::BufRead;

use super::source::{Order, Problem, Source};
use super::{FRAME_BYTES_MAX, Frame, ReadError};

/// The type of a section header block, the same in both byte orders.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const OPTION_COMMENT: u16 = 1;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;

/// Type and both lengths.
const FRAME_LEN: usize = 12;

/// Longest block accepted, in bytes: a packet and generous options.
const BLOCK_BYTES_MAX: usize = FRAME_BYTES_MAX + (1 << 20);

/// More interfaces than this in a section are refused.
const INTERFACES_MAX: usize = 65_536;

/// A file being read, between two blocks.
#[derive(Debug, Default)]
pub(super) struct File {
    order: Order,
    interfaces: Vec<Interface>,
    /// Interfaces of earlier sections, so that numbers stay apart.
    interfaces_before: usize,
    /// Simple packet blocks have no time of their own.
    last_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: u16,
    snap_bytes: u32,
    resolution: u8,
    offset_s: i64,
}

impl File {
    /// The next packet, unless the file ends here.
    pub(super) fn next<R: BufRead>(&mut self, source: &mut Source<R>) -> Result<Option<Frame>, ReadError> {
        while !source.is_at_end()? {
            let block = self.block(source)?;
            let frame = match block.kind {
                INTERFACE_DESCRIPTION => self.interface(block).map(|()| None)?,
                ENHANCED_PACKET | OBSOLETE_PACKET => Some(self.packet(block)?),
                SIMPLE_PACKET => Some(self.simple_packet(block)?),
                _ => None,
            };
            if let Some(frame) = frame {
                self.last_ns = frame.at_ns;
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Reads a whole block.
    fn block<R: BufRead>(&mut self, source: &mut Source<R>) -> Result<Block, ReadError> {
        let kind = source.array("block type")?;
        let length = source.array("block length")?;
        if kind == MAGIC {
            self.begin_section(source)?;
        }
        let kind = self.order.u32(kind);
        let done = if kind == SECTION_HEADER { BYTE_ORDER_MAGIC.len() } else { 0 };
        let length = self.order.u32(length);
        let body_len = usize::try_from(length).ok().and_then(|length| length.checked_sub(FRAME_LEN + done));
        let body_len = body_len.filter(|len| length.is_multiple_of(4) && *len <= BLOCK_BYTES_MAX);
        let Some(body_len) = body_len else {
            return Err(source.error("block length", Problem::Length(length.into())));
        };
        let offset = source.offset();
        let body = source.take(body_len, "block")?;
        let again = self.order.u32(source.array("second block length")?);
        if again != length {
            return Err(source.error("second block length", Problem::Length(again.into())));
        }
        Ok(Block { kind, order: self.order, offset, body, at: 0 })
    }

    fn begin_section<R: BufRead>(&mut self, source: &mut Source<R>) -> Result<(), ReadError> {
        let magic = source.array("byte-order magic")?;
        self.order = match magic {
            BYTE_ORDER_MAGIC => Order::Big,
            [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
            other => {
                let value = u32::from_be_bytes(other);
                return Err(source.error("byte-order magic", Problem::Value(value.into())));
            }
        };
        self.interfaces_before += self.interfaces.len();
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, mut block: Block) -> Result<(), ReadError> {
        let link_type = block.u16("link type")?;
        block.skip(2, "reserved")?;
        let snap_bytes = block.u32("snap length")?;
        let mut interface = Interface { link_type, snap_bytes, resolution: MICROSECONDS, offset_s: 0 };
        let order = block.order;
        block.options(|code, value| match (code, value) {
            (OPTION_TIME_RESOLUTION, &[resolution]) => interface.resolution = resolution,
            (OPTION_TIME_OFFSET, &[a, b, c, d, e, f, g, h]) => {
                interface.offset_s = order.i64([a, b, c, d, e, f, g, h]);
            }
            _ => {}
        })?;
        if self.interfaces.len() >= INTERFACES_MAX {
            return Err(block.error("interface count", Problem::Length(INTERFACES_MAX as u64 + 1)));
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// An enhanced packet block (§4.3), or the packet block it replaced (appendix A), which differs in its first fields.
    fn packet(&self, mut block: Block) -> Result<Frame, ReadError> {
        let id = if block.kind == OBSOLETE_PACKET {
            let id = block.u16("interface ID")?;
            block.skip(2, "drops count")?;
            id.into()
        } else {
            block.u32("interface ID")?
        };
        let interface = self.known(id, &block)?;
        let (high, low) = (block.u32("timestamp")?, block.u32("timestamp")?);
        let captured = block.u32("captured length")?;
        let original_bytes = block.u32("original length")?;
        let bytes = block.take(captured, "packet data")?.to_vec();
        block.skip(padding(bytes.len()), "padding")?;
        let mut comment = None;
        block.options(|code, value| {
            if code == OPTION_COMMENT {
                comment = Some(String::from_utf8_lossy(value).into_owned());
            }
        })?;
        let at_ns = interface.nanoseconds(u64::from(high) << 32 | u64::from(low));
        Ok(Frame { comment, ..self.frame(id, interface, at_ns, bytes, original_bytes) })
    }

    /// §4.4: of the first interface, without time.
    fn simple_packet(&self, mut block: Block) -> Result<Frame, ReadError> {
        let interface = self.known(0, &block)?;
        let original_bytes = block.u32("original length")?;
        let snap = if interface.snap_bytes == 0 { u32::MAX } else { interface.snap_bytes };
        let left = u32::try_from(block.left()).unwrap_or(u32::MAX);
        let bytes = block.take(original_bytes.min(snap).min(left), "packet data")?.to_vec();
        Ok(self.frame(0, interface, self.last_ns, bytes, original_bytes))
    }

    fn frame(&self, id: u32, of: Interface, at_ns: u64, bytes: Vec<u8>, original_bytes: u32) -> Frame {
        let before = u32::try_from(self.interfaces_before).unwrap_or(u32::MAX);
        let (interface, link_type) = (before.saturating_add(id), of.link_type);
        Frame { number: 0, at_ns, link_type, interface, bytes, original_bytes, comment: None }
    }

    fn known(&self, id: u32, block: &Block) -> Result<Interface, ReadError> {
        let interface = usize::try_from(id).ok().and_then(|id| self.interfaces.get(id)).copied();
        interface.ok_or_else(|| block.error("interface ID", Problem::Value(id.into())))
    }
}

const BYTE_ORDER_MAGIC: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];

/// §4.2: if_tsresol where there is none.
const MICROSECONDS: u8 = 6;

impl Interface {
    /// §4.2, if_tsresol: units of 10^-n seconds, or of 2^-n if the highest bit is set; if_tsoffset in seconds.
    fn nanoseconds(&self, units: u64) -> u64 {
        const SECOND: u128 = 1_000_000_000;
        let exponent = u32::from(self.resolution & 0x7f);
        let units = u128::from(units) * SECOND;
        let ns = if self.resolution & 0x80 == 0 {
            10_u128.checked_pow(exponent).map_or(0, |per_second| units / per_second)
        } else {
            units >> exponent
        };
        let offset_ns = i128::from(self.offset_s) * SECOND as i128;
        let ns = i128::try_from(ns).unwrap_or(i128::MAX).saturating_add(offset_ns).max(0);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

const fn padding(len: usize) -> usize {
    len.next_multiple_of(4) - len
}

/// A block's body and how far it was read.
#[derive(Debug)]
struct Block {
    kind: u32,
    order: Order,
    /// Of the body in the file.
    offset: u64,
    body: Vec<u8>,
    at: usize,
}

impl Block {
    fn left(&self) -> usize {
        self.body.len() - self.at
    }

    fn error(&self, field: &'static str, problem: Problem) -> ReadError {
        ReadError::Malformed { field, offset: self.offset + self.at as u64, problem }
    }

    fn take(&mut self, len: u32, field: &'static str) -> Result<&[u8], ReadError> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        let Some(end) = end.filter(|&end| end <= self.body.len()) else {
            return Err(self.error(field, Problem::Length(len.into())));
        };
        let taken = &self.body[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], ReadError> {
        Ok(self.take(N as u32, field)?.try_into().expect("take gave N bytes"))
    }

    fn u16(&mut self, field: &'static str) -> Result<u16, ReadError> {
        Ok(self.order.u16(self.array(field)?))
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, ReadError> {
        Ok(self.order.u32(self.array(field)?))
    }

    /// Passes over bytes that may be missing at the end of the body.
    fn skip(&mut self, len: usize, field: &'static str) -> Result<(), ReadError> {
        let len = len.min(self.left());
        self.take(u32::try_from(len).unwrap_or(u32::MAX), field).map(drop)
    }

    /// Visits the options (§3.5) to the end of the body.
    fn options(&mut self, mut visit: impl FnMut(u16, &[u8])) -> Result<(), ReadError> {
        while self.left() >= 4 {
            let (code, len) = (self.u16("option code")?, self.u16("option length")?);
            if code == 0 {
                return Ok(());
            }
            visit(code, self.take(len.into(), "option")?);
            self.skip(padding(len.into()), "option padding")?;
        }
        Ok(())
    }
}
