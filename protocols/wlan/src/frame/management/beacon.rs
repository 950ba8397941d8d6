//! Beacons and probe responses, 802.11-2020 §9.3.3.2, §9.3.3.10.
//!
//!   Timestamp(8) Beacon Interval(2) Capability Information(2) Elements(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::bits::bits;
use crate::frame::element::Elements;

/// Capability Information, 802.11-2020 §9.4.1.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Capabilities(pub u16);

bits!(Capabilities);

impl Capabilities {
    /// A network with an access point.
    pub const ESS: Self = Self(1 << 0);
    /// Data frames are encrypted.
    pub const PRIVACY: Self = Self(1 << 4);
}

/// What a network announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beacon<'a> {
    /// Whether it is a probe response.
    pub is_response: bool,
    /// The access point's clock, in microseconds.
    pub timestamp_us: u64,
    /// From one beacon to the next, in units of 1024 microseconds.
    pub interval_tu: u16,
    /// What the network has.
    pub capabilities: Capabilities,
    /// Its name, rates, RSNE and the like.
    pub elements: Elements<'a>,
}

impl<'a> Beacon<'a> {
    pub(super) fn read(r: &mut Reader<'a>, is_response: bool) -> Result<Self, DecodeError> {
        Ok(Self {
            is_response,
            timestamp_us: u64::from_le_bytes(r.array("timestamp")?),
            interval_tu: r.u16_le("beacon interval")?,
            capabilities: Capabilities(r.u16_le("capability information")?),
            elements: Elements::read(r)?,
        })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(&self.timestamp_us.to_le_bytes());
        w.u16_le(self.interval_tu);
        w.u16_le(self.capabilities.0);
        self.elements.write(w);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Management;
    use super::super::testing::{bodies, check, elements};
    use super::*;

    proptest! {
        #[test]
        fn round_trip(is_response: bool, timestamp_us: u64, interval_tu: u16, capabilities: u16, bodies in bodies()) {
            let (capabilities, elements) = (Capabilities(capabilities), elements(&bodies));
            check(&Management::Beacon(Beacon { is_response, timestamp_us, interval_tu, capabilities, elements }), 12);
        }
    }

    #[test]
    fn capabilities_are_bits() {
        let private = Capabilities::ESS.with(Capabilities::PRIVACY);
        assert_eq!((private.0, private.has(Capabilities::PRIVACY)), (0x11, true));
    }
}
