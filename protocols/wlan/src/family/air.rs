//! Frames taken apart: management frames are messages of this family, data frames carry PDUs behind LLC and SNAP.

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::Protocol;
use keytoll_family::{Aired, OnAir};
use keytoll_net::wire::Reader;

use crate::frame::management::{Action, subtype};
use crate::frame::{DataHeader, Flags, Frame, Header, Management, ManagementHeader, Qos, llc};
use crate::names::WLAN;

/// Takes frames apart.
#[derive(Debug, Default)]
pub(super) struct Air;

impl OnAir for Air {
    fn protocol(&self) -> Protocol {
        WLAN
    }

    fn take(&mut self, bytes: &[u8], _: &mut dyn Crypto) -> Result<Aired, &'static str> {
        let frame = Frame::read(bytes).map_err(|_| "802.11 frame that cannot be read")?;
        match frame.header {
            Header::Control(_) => Err("802.11 control frame"),
            Header::Management(header) => management(&header, bytes, frame.body),
            Header::Data(header) => data(&header, frame.body),
        }
    }
}

/// A management frame is a message from its header on, unless it is of no interest.
fn management(header: &ManagementHeader, bytes: &[u8], body: &[u8]) -> Result<Aired, &'static str> {
    match header.subtype {
        subtype::BEACON => return Err("802.11 beacon"),
        subtype::PROBE_REQUEST | subtype::PROBE_RESPONSE => return Err("802.11 probe"),
        subtype::ACTION if !header.flags.has(Flags::PROTECTED) && is_other_action(body) => {
            return Err("802.11 action frame");
        }
        subtype::ASSOCIATION_REQUEST
        | subtype::ASSOCIATION_RESPONSE
        | subtype::REASSOCIATION_REQUEST
        | subtype::REASSOCIATION_RESPONSE
        | subtype::DISASSOCIATION
        | subtype::AUTHENTICATION
        | subtype::DEAUTHENTICATION
        | subtype::ACTION => {}
        _ => return Err("802.11 management frame of another kind"),
    }
    Ok(Aired::Message { from: header.source, to: header.destination, bytes: bytes.to_vec() })
}

/// Whether an action is neither an SA Query nor a fast transition: most are about block acknowledgements and radio measurements.
fn is_other_action(body: &[u8]) -> bool {
    matches!(Management::read(subtype::ACTION, body), Ok(Management::Action(Action::Other { .. })))
}

fn data(header: &DataHeader, body: &[u8]) -> Result<Aired, &'static str> {
    if header.is_null() || body.is_empty() {
        return Err("802.11 frame without data");
    }
    if header.flags.has(Flags::MORE_FRAGMENTS) || header.sequence.fragment() != 0 {
        return Err("802.11 fragment");
    }
    if header.flags.has(Flags::PROTECTED) {
        return Err("802.11 data, encrypted");
    }
    if header.qos.is_some_and(Qos::is_aggregate) {
        return Err("802.11 A-MSDU");
    }
    let mut r = Reader::new(body);
    let ether_type = llc::read(&mut r).map_err(|_| "802.2 LLC")?;
    let (from, to) = (header.addresses.source(), header.addresses.destination());
    Ok(Aired::Pdu { ether_type, from, to, pdu: r.rest().to_vec() })
}
