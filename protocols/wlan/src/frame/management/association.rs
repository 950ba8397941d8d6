//! Association and reassociation, 802.11-2020 §9.3.3.5 to §9.3.3.8.
//!
//!   request   Capability Information(2) Listen Interval(2) Current AP Address(6, of a reassociation) Elements(*)
//!   response  Capability Information(2) Status Code(2) AID(2) Elements(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use super::beacon::Capabilities;
use crate::MacAddr;
use crate::frame::element::Elements;
use crate::frame::number::StatusCode;

/// A station asks to associate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssociationRequest<'a> {
    /// What the station has.
    pub capabilities: Capabilities,
    /// How many beacons it may miss.
    pub listen_interval: u16,
    /// The access point that it moves from, in a reassociation.
    pub current_ap: Option<MacAddr>,
    /// The network's name, the station's rates, the RSNE that it has chosen and the like.
    pub elements: Elements<'a>,
}

impl<'a> AssociationRequest<'a> {
    pub(super) fn read(r: &mut Reader<'a>, is_reassociation: bool) -> Result<Self, DecodeError> {
        Ok(Self {
            capabilities: Capabilities(r.u16_le("capability information")?),
            listen_interval: r.u16_le("listen interval")?,
            current_ap: is_reassociation.then(|| r.array("current AP address")).transpose()?,
            elements: Elements::read(r)?,
        })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u16_le(self.capabilities.0);
        w.u16_le(self.listen_interval);
        if let Some(current_ap) = self.current_ap {
            w.bytes(&current_ap);
        }
        self.elements.write(w);
    }
}

/// The answer of an access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssociationResponse<'a> {
    /// Whether it answers a reassociation.
    pub reassociation: bool,
    /// What the network has.
    pub capabilities: Capabilities,
    /// Whether the station is associated.
    pub status: StatusCode,
    /// The association identifier, its two upper bits set.
    pub aid: u16,
    /// Rates and the like; in a fast transition RSNE, MDE and FTE.
    pub elements: Elements<'a>,
}

impl<'a> AssociationResponse<'a> {
    /// 802.11-2020 §9.4.1.8: the two upper bits of an association identifier.
    pub const AID_BITS: u16 = 0xc000;

    pub(super) fn read(r: &mut Reader<'a>, reassociation: bool) -> Result<Self, DecodeError> {
        Ok(Self {
            reassociation,
            capabilities: Capabilities(r.u16_le("capability information")?),
            status: StatusCode(r.u16_le("status code")?),
            aid: r.u16_le("AID")?,
            elements: Elements::read(r)?,
        })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u16_le(self.capabilities.0);
        w.u16_le(self.status.0);
        w.u16_le(self.aid);
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
        fn requests(capabilities: u16, listen_interval: u16, current_ap: Option<[u8; 6]>, bodies in bodies()) {
            let (capabilities, elements) = (Capabilities(capabilities), elements(&bodies));
            let fixed = if current_ap.is_some() { 10 } else { 4 };
            check(&Management::AssociationRequest(AssociationRequest { capabilities, listen_interval, current_ap, elements }), fixed);
        }

        #[test]
        fn responses(reassociation: bool, capabilities: u16, status: u16, aid: u16, bodies in bodies()) {
            let (capabilities, status, elements) = (Capabilities(capabilities), StatusCode(status), elements(&bodies));
            check(&Management::AssociationResponse(AssociationResponse { reassociation, capabilities, status, aid, elements }), 6);
        }
    }
}
