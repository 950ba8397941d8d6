//! 802.11 and 802.1X as captures and observers know them: management frames, what frames of data carry, and EAPOL, whatever
//! carries it. What one station and one access point say to each other is one conversation.

mod air;
pub(crate) mod analyser;
mod data;
mod dialogues;
mod eap;
mod eapol;
mod management;

use keytoll_engine::trace::{Message, Protocol, Revealed};
use keytoll_family::{Analyser, Family, KeyLine, KeyTable, OnAir, OnLan, Tables};
use keytoll_net::wire::{DecodeError, Problem, Reader};

use crate::eapol::ETHER_TYPE;
use crate::frame::{Frame, llc};
use crate::names::{EAPOL, WLAN};

/// Wireless LANs.
#[derive(Debug)]
pub struct WlanFamily;

impl Family for WlanFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[WLAN, EAPOL, Protocol::FRAMES]
    }

    fn on_lan(&self) -> Option<OnLan> {
        Some(OnLan { name: "EAPOL", protocol: EAPOL, ether_type: ETHER_TYPE, length: eapol::length })
    }

    fn on_air(&self, tables: &mut Tables) -> Option<Box<dyn OnAir>> {
        Some(Box::new(air::Air::new(tables)))
    }

    fn key_tables(&self) -> &'static [KeyTable] {
        const TABLES: &[KeyTable] = &[KeyTable::new(air::keys::TABLE)];
        TABLES
    }

    fn key_line(&self, revealed: &Revealed) -> Option<KeyLine> {
        air::keys::line(revealed)
    }

    fn message(&self, protocol: Protocol, bytes: &[u8]) -> Result<Message, DecodeError> {
        match protocol {
            WLAN => management::message(bytes),
            EAPOL => eapol::message(pdu_of(bytes)?),
            _ => Err(Reader::new(bytes).error("802.11 data", Problem::Missing)),
        }
    }

    fn analyser(&self, tables: &mut Tables) -> Option<Box<dyn Analyser>> {
        Some(Box::new(analyser::WlanAnalyser::new(tables)))
    }
}

/// The PDU itself on a cable, or the one in a frame of data, which is what engines send through the air. No version of EAPOL is
/// written like the type of such a frame (IEEE 802.1X-2020 §11.3.1, 802.11-2020 §9.2.4.1.3).
fn pdu_of(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    const DATA: u8 = 0x08;
    if bytes.first().is_none_or(|first| first & 0x0f != DATA) {
        return Ok(bytes);
    }
    let mut r = Reader::new(Frame::read(bytes)?.body);
    let at = r;
    match llc::read(&mut r)? {
        ETHER_TYPE => Ok(r.rest()),
        other => Err(at.error("EtherType", Problem::Value(other.into()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 802.1X-2020 §11.3: version 2, EAPOL-Start, no body.
    const START: [u8; 4] = [2, 1, 0, 0];

    #[test]
    fn eapol_has_its_name_on_a_cable_and_in_the_air() {
        let header = [0x08, 0x01, 0, 0].into_iter().chain([2; 18]).chain([0; 2]);
        let frame: Vec<u8> = header.chain([0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e]).chain(START).collect();
        for bytes in [&START[..], &frame] {
            assert_eq!(WlanFamily.message(EAPOL, bytes).unwrap().name.as_str(), "EAPOL-Start request");
        }
        for cut in 0..frame.len() {
            assert!(WlanFamily.message(EAPOL, &frame[..cut]).is_err(), "{cut}");
        }
        let other = [&frame[..30], &[0x08, 0x00][..], &START].concat();
        let why = WlanFamily.message(EAPOL, &other).unwrap_err().to_string();
        assert!(why.contains("EtherType at offset 0"), "{why}");
    }
}
