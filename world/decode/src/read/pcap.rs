//! The classic format, draft-ietf-opsawg-pcap §4 and §5.
//!
//! ```text
//!   file    Magic(4) Major(2) Minor(2) Reserved(4) Reserved(4) SnapLen(4) LinkType(4)
//!   packet  Seconds(4) Microseconds or nanoseconds(4) Captured Length(4) Original Length(4) data
//! ```

use std::io::BufRead;

use super::source::{Order, Problem, Source};
use super::{FRAME_BYTES_MAX, Frame, ReadError};

/// What the magic number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    order: Order,
    /// How many nanoseconds one unit of the fraction is.
    unit_ns: u64,
}

impl Layout {
    /// Of a file with this magic number, if it is one of ours.
    pub(super) const fn of(magic: [u8; 4]) -> Option<Self> {
        let (order, unit_ns) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1000),
            [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1000),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1),
            _ => return None,
        };
        Some(Self { order, unit_ns })
    }
}

/// A file of which the header was read.
#[derive(Debug)]
pub(super) struct File {
    layout: Layout,
    link_type: u16,
}

const MAGIC_BYTES: usize = 4;

impl File {
    pub(super) fn begin<R: BufRead>(layout: Layout, source: &mut Source<R>) -> Result<Self, ReadError> {
        source.take(MAGIC_BYTES, "magic number")?;
        let version = layout.order.u16(source.array("major version")?);
        if version != 2 {
            return Err(source.error("major version", Problem::Value(version.into())));
        }
        source.take(14, "minor version, reserved fields and snap length")?;
        // draft-ietf-opsawg-pcap §4: the upper half of this field is about frame check sequences.
        let link_type = (layout.order.u32(source.array("link type")?) & 0xffff) as u16;
        Ok(Self { layout, link_type })
    }

    /// The next packet, unless the file ends here.
    pub(super) fn next<R: BufRead>(&mut self, source: &mut Source<R>) -> Result<Option<Frame>, ReadError> {
        if source.is_at_end()? {
            return Ok(None);
        }
        let Layout { order, unit_ns } = self.layout;
        let mut number = |field| source.array(field).map(|bytes| order.u32(bytes));
        let seconds = u64::from(number("seconds")?);
        let fraction = u64::from(number("fraction of a second")?);
        let captured = number("captured length")?;
        let original_bytes = number("original length")?;
        let bytes = take_frame(source, captured)?;
        Ok(Some(Frame {
            number: 0,
            at_ns: seconds * 1_000_000_000 + fraction * unit_ns,
            link_type: self.link_type,
            interface: 0,
            bytes,
            original_bytes,
            comment: None,
        }))
    }
}

fn take_frame<R: BufRead>(source: &mut Source<R>, captured: u32) -> Result<Vec<u8>, ReadError> {
    match usize::try_from(captured) {
        Ok(len) if len <= FRAME_BYTES_MAX => source.take(len, "packet data"),
        _ => Err(source.error("captured length", Problem::Length(captured.into()))),
    }
}
