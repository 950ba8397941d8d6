//! EAP and EAPOL as captures and observers know them: RFC 3748, IEEE 802.1X-2020. EAP itself has no packets on a wire: others
//! carry it, EAPOL among them.

pub mod eapol;
mod tls;
pub mod words;

use keytoll_engine::trace::{Message, Protocol};
use keytoll_family::{Analyser, Family, OnLan, Tables};
use keytoll_net::wire::DecodeError;

use eapol::WLAN;
use eapol::analyser::EapolAnalyser;

/// EAP in whatever carries it, and EAPOL.
#[derive(Debug)]
pub struct EapFamily;

impl Family for EapFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[WLAN]
    }

    fn on_lan(&self) -> Option<OnLan> {
        let (name, protocol, ether_type) = ("EAPOL", WLAN, eapol::ETHER_TYPE);
        Some(OnLan { name, protocol, ether_type, length: eapol::length })
    }

    fn message(&self, _: Protocol, bytes: &[u8]) -> Result<Message, DecodeError> {
        eapol::message(bytes)
    }

    fn analyser(&self, _: &mut Tables) -> Option<Box<dyn Analyser>> {
        Some(Box::new(EapolAnalyser::default()))
    }

    fn flow(&self) -> Option<Box<dyn keytoll_family::Flow>> {
        Some(Box::new(words::Flow::default()))
    }
}

#[cfg(test)]
mod tests;
