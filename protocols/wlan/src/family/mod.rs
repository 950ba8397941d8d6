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
            EAPOL => eapol::message(bytes),
            _ => Err(Reader::new(bytes).error("802.11 data", Problem::Missing)),
        }
    }

    fn analyser(&self, tables: &mut Tables) -> Option<Box<dyn Analyser>> {
        Some(Box::new(analyser::WlanAnalyser::new(tables)))
    }
}
