//! Frames taken apart: management frames are messages of this family, data frames carry PDUs behind LLC and SNAP. What is encrypted
//! is opened with the keys of a table ([`keys`]), or with those that overheard handshakes made of them.

mod association;
pub(super) mod keys;
mod opener;
mod overheard;
mod recent;

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::Protocol;
use keytoll_family::{Aired, LinkSeal, OnAir, Tables};
use keytoll_net::wire::Reader;

use crate::eapol::ETHER_TYPE;
use crate::frame::management::{Action, subtype};
use crate::frame::{DataHeader, Flags, Frame, Header, Management, ManagementHeader, Qos, llc};
use crate::names::WLAN;
pub(super) use association::Pair;
use overheard::Overheard;

/// Takes frames apart.
#[derive(Debug)]
pub(super) struct Air {
    overheard: Overheard,
    opened: u64,
}

impl OnAir for Air {
    fn take(&mut self, bytes: &[u8], crypto: &mut dyn Crypto) -> Result<Vec<Aired>, &'static str> {
        let frame = Frame::read(bytes).map_err(|_| "802.11 frame that cannot be read")?;
        match frame.header {
            Header::Control(_) => Err("802.11 control frame"),
            Header::Management(header) => Ok(vec![self.management(&header, bytes, frame.body, crypto)?]),
            Header::Data(header) => self.data(&header, bytes, frame.body, crypto),
        }
    }

    fn keys(&self) -> usize {
        self.overheard.keys()
    }

    fn opened(&self) -> u64 {
        self.opened
    }
}

impl Air {
    /// With the keys of these tables.
    pub(super) fn new(tables: &mut Tables) -> Self {
        Self { overheard: Overheard::new(tables), opened: 0 }
    }

    /// A management frame is a message from its header on, unless it is of no interest.
    fn management(
        &mut self,
        header: &ManagementHeader,
        bytes: &[u8],
        body: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Result<Aired, &'static str> {
        let message = |bytes, seal| Aired::Message {
            protocol: WLAN,
            from: header.source,
            to: header.destination,
            bytes,
            seal,
        };
        if !header.flags.has(Flags::PROTECTED) {
            self.overheard.on_management(header, body, crypto);
            return is_of_interest(header.subtype, body).map(|()| message(bytes.to_vec(), LinkSeal::None));
        }
        let octets = &bytes[..bytes.len() - body.len()];
        let Some(opened) = self.overheard.open_management(header, octets, body, crypto) else {
            return Ok(message(bytes.to_vec(), LinkSeal::Closed));
        };
        self.opened += 1;
        is_of_interest(header.subtype, &opened)?;
        let header = ManagementHeader { flags: header.flags.without(Flags::PROTECTED), ..*header };
        let bytes = Frame { header: Header::Management(header), body: &opened }.to_bytes();
        Ok(message(bytes, LinkSeal::Opened))
    }

    fn data(
        &mut self,
        header: &DataHeader,
        bytes: &[u8],
        body: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Result<Vec<Aired>, &'static str> {
        if header.is_null() || body.is_empty() {
            return Err("802.11 frame without data");
        }
        if header.flags.has(Flags::MORE_FRAGMENTS) || header.sequence.fragment() != 0 {
            return Err("802.11 fragment");
        }
        if !header.flags.has(Flags::PROTECTED) {
            return Ok(vec![self.carried(header, body, LinkSeal::None, crypto)?]);
        }
        let octets = &bytes[..bytes.len() - body.len()];
        match self.overheard.open(header, octets, body, crypto) {
            Some(opened) => Ok(self.opened(header, &opened, crypto)),
            None if self.overheard.is_known(header) => {
                Ok(vec![frame(header, bytes.to_vec(), LinkSeal::Closed)])
            }
            None => Err("802.11 data, encrypted"),
        }
    }

    /// What was encrypted: EAPOL says itself what it is, everything else is a frame with data, too.
    fn opened(&mut self, header: &DataHeader, body: &[u8], crypto: &mut dyn Crypto) -> Vec<Aired> {
        self.opened += 1;
        let clear = DataHeader { flags: header.flags.without(Flags::PROTECTED), ..*header };
        let bytes = Frame { header: Header::Data(clear), body }.to_bytes();
        let whole = frame(header, bytes, LinkSeal::Opened);
        match self.carried(header, body, LinkSeal::Opened, crypto) {
            Ok(eapol @ Aired::Pdu { ether_type: ETHER_TYPE, .. }) => vec![eapol],
            Ok(pdu) => vec![whole, pdu],
            Err(_) => vec![whole],
        }
    }

    /// The PDU in a body that is not encrypted any more.
    fn carried(
        &mut self,
        header: &DataHeader,
        body: &[u8],
        seal: LinkSeal,
        crypto: &mut dyn Crypto,
    ) -> Result<Aired, &'static str> {
        if header.qos.is_some_and(Qos::is_aggregate) {
            return Err("802.11 A-MSDU");
        }
        let mut r = Reader::new(body);
        let ether_type = llc::read(&mut r).map_err(|_| "802.2 LLC")?;
        let pdu = r.rest().to_vec();
        if ether_type == ETHER_TYPE {
            self.overheard.on_eapol(header, &pdu, crypto);
        }
        let (from, to) = (header.addresses.source(), header.addresses.destination());
        Ok(Aired::Pdu { ether_type, from, to, pdu, seal })
    }
}

/// A frame with data, between the two that have its key.
const fn frame(header: &DataHeader, bytes: Vec<u8>, seal: LinkSeal) -> Aired {
    let (from, to) = (header.addresses.transmitter(), header.addresses.receiver());
    Aired::Message { protocol: Protocol::FRAMES, from, to, bytes, seal }
}

/// The kind of a management frame that is of no interest.
fn is_of_interest(kind: u8, body: &[u8]) -> Result<(), &'static str> {
    match kind {
        subtype::BEACON => Err("802.11 beacon"),
        subtype::PROBE_REQUEST | subtype::PROBE_RESPONSE => Err("802.11 probe"),
        subtype::ACTION if is_other_action(body) => Err("802.11 action frame"),
        subtype::ASSOCIATION_REQUEST
        | subtype::ASSOCIATION_RESPONSE
        | subtype::REASSOCIATION_REQUEST
        | subtype::REASSOCIATION_RESPONSE
        | subtype::DISASSOCIATION
        | subtype::AUTHENTICATION
        | subtype::DEAUTHENTICATION
        | subtype::ACTION => Ok(()),
        _ => Err("802.11 management frame of another kind"),
    }
}

/// Whether an action is neither an SA Query nor a fast transition: most are about block acknowledgements and radio measurements.
fn is_other_action(body: &[u8]) -> bool {
    matches!(Management::read(subtype::ACTION, body), Ok(Management::Action(Action::Other { .. })))
}
