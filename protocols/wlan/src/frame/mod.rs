//! 802.11 frames on the air, 802.11-2020 §9: MPDUs without their frame check sequence. An A-MSDU is told by
//! [`header::Qos::is_aggregate`] and not taken apart.

pub mod control;
pub mod element;
pub mod header;
pub mod hidden;
pub mod llc;
pub mod management;
pub mod number;
pub mod rsn;
pub mod timeout;

pub use control::{Flags, FrameControl};
pub use element::{Element, ElementId, Elements};
pub use header::{Addresses, ControlHeader, DataHeader, Header, ManagementHeader, Qos, SequenceControl};
pub use hidden::Hidden;
pub use management::Management;
pub use number::{AuthenticationAlgorithm, ReasonCode, StatusCode};
pub use timeout::Comeback;

use keytoll_net::wire::{DecodeError, Reader, Writer};

/// A frame: its MAC header and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The MAC header.
    pub header: Header,
    /// The frame body, encrypted if the header says so.
    pub body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads a frame without its frame check sequence.
    ///
    /// # Errors
    /// If its header is cut short, or is of a version or type that does not exist.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        Ok(Self { header: Header::read(&mut r)?, body: r.rest() })
    }

    /// The frame as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(header::LEN_MAX + self.body.len());
        self.header.write(&mut w);
        w.bytes(self.body);
        w.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(frame) = Frame::read(&bytes) {
                prop_assert_eq!(frame.to_bytes(), bytes);
            }
        }
    }
}
