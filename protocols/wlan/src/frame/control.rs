//! The Frame Control field, 802.11-2020 §9.2.4.1.
//!
//!   Protocol Version(2 bits) Type(2) Subtype(4) To DS(1) From DS(1) More Fragments(1) Retry(1) Power Management(1) More Data(1)
//!   Protected Frame(1) +HTC(1)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::bits::bits;

/// The second octet of a Frame Control field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Flags(pub u8);

bits!(Flags);

impl Flags {
    /// To the distribution system.
    pub const TO_DS: Self = Self(1 << 0);
    /// From the distribution system.
    pub const FROM_DS: Self = Self(1 << 1);
    /// Another fragment follows.
    pub const MORE_FRAGMENTS: Self = Self(1 << 2);
    /// The frame was sent before.
    pub const RETRY: Self = Self(1 << 3);
    /// The station will sleep.
    pub const POWER_MANAGEMENT: Self = Self(1 << 4);
    /// The access point has more for the station.
    pub const MORE_DATA: Self = Self(1 << 5);
    /// The body is encrypted.
    pub const PROTECTED: Self = Self(1 << 6);
    /// There is an HT Control field; of data frames without QoS, that they are strictly ordered.
    pub const HTC: Self = Self(1 << 7);

    /// The same with these bits clear.
    #[must_use]
    pub const fn without(self, bits: Self) -> Self {
        Self(self.0 & !bits.0)
    }
}

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameType {
    /// Authentication, association and the like.
    Management,
    /// Acknowledgements and the like.
    Control,
    /// Data.
    Data,
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameControl {
    /// Its kind.
    pub frame_type: FrameType,
    /// Its kind among those, at most 15.
    pub subtype: u8,
    /// What else is said of it.
    pub flags: Flags,
}

impl FrameControl {
    /// Reads the field.
    ///
    /// # Errors
    /// If it is cut short, or is of another version or type.
    pub fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = *r;
        let [kind, flags] = r.array("frame control")?;
        // 802.11-2020 §9.2.4.1.2: version 0 is that of all frames but those of S1G.
        if kind & 3 != 0 {
            return Err(at.error("frame control version", Problem::Value((kind & 3).into())));
        }
        let frame_type = match kind >> 2 & 3 {
            0 => FrameType::Management,
            1 => FrameType::Control,
            2 => FrameType::Data,
            // 802.11-2020 table 9-1: the extensions are of DMG and S1G.
            other => return Err(at.error("frame control type", Problem::Value(other.into()))),
        };
        Ok(Self { frame_type, subtype: kind >> 4, flags: Flags(flags) })
    }

    /// Writes the field.
    pub fn write(&self, w: &mut Writer) {
        w.bytes(&[self.subtype << 4 | (self.frame_type as u8) << 2, self.flags.0]);
    }
}
