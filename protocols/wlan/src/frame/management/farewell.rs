//! Disassociation and deauthentication, 802.11-2020 §9.3.3.4, §9.3.3.12.
//!
//!   Reason Code(2) Elements(*), last of them the Management MIC of one that is sent to a group

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::frame::element::Elements;
use crate::frame::number::ReasonCode;

/// The end of an association or authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Farewell<'a> {
    /// Why.
    pub reason: ReasonCode,
    /// Vendor-specific elements and the MIC.
    pub elements: Elements<'a>,
}

impl<'a> Farewell<'a> {
    /// An end for this reason.
    pub fn new(reason: ReasonCode) -> Self {
        Self { reason, elements: Elements::default() }
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { reason: ReasonCode(r.u16_le("reason code")?), elements: Elements::read(r)? })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u16_le(self.reason.0);
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
        fn round_trip(reason: u16, bodies in bodies()) {
            let farewell = Farewell { reason: ReasonCode(reason), elements: elements(&bodies) };
            check(&Management::Disassociation(farewell.clone()), 2);
            check(&Management::Deauthentication(farewell), 2);
        }
    }
}
