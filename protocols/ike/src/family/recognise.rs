//! Which UDP datagrams are IKE, and which are the ESP that goes through the same ports: by the registered ones, and elsewhere by
//! what they look like.

use keytoll_engine::trace::Protocol;
use keytoll_family::{LearntPorts, Recogniser, Udp};
use keytoll_net::wire::Reader;

use super::NON_ESP_MARKER;
use crate::IKE;
use crate::wire::Header;

const PORT: u16 = 500;
/// RFC 7296 §2.23: IKE and ESP behind NAT.
const NAT_PORT: u16 = 4500;

/// What was learnt about ports.
#[derive(Debug, Default)]
pub(super) struct Ports {
    /// Where marked IKE messages were seen, so that what has no marker there is ESP.
    nat: LearntPorts,
}

impl Recogniser for Ports {
    fn by_port(&mut self, udp: &Udp<'_>) -> Option<Result<Protocol, String>> {
        if udp.is_at(NAT_PORT) || self.nat.has(udp) {
            return Some(behind_nat(udp.payload));
        }
        udp.is_at(PORT).then_some(Ok(IKE))
    }

    fn by_looks(&mut self, udp: &Udp<'_>) -> Option<Protocol> {
        if is_ike(udp.payload) {
            return Some(IKE);
        }
        udp.payload.strip_prefix(&NON_ESP_MARKER).filter(|message| is_ike(message))?;
        self.nat.learn(udp);
        Some(IKE)
    }
}

/// RFC 3948 §2: a marker and IKE, one byte to keep the NAT's mapping, or ESP.
fn behind_nat(payload: &[u8]) -> Result<Protocol, String> {
    match payload {
        [0xff] => Err("NAT keepalive".to_owned()),
        _ if payload.starts_with(&NON_ESP_MARKER) => Ok(IKE),
        _ if payload.len() >= 8 => Ok(Protocol::ESP),
        _ => Err("UDP port 4500, too short".to_owned()),
    }
}

/// RFC 7296 §3.1 and RFC 2408 §3.1: an SPI, a known version and exchange, the datagram's length.
fn is_ike(payload: &[u8]) -> bool {
    Header::read(&mut Reader::new(payload)).is_ok_and(|header| {
        let known = match header.major() {
            1 => matches!(header.exchange.0, 2 | 4 | 5 | 32),
            2 => matches!(header.exchange.0, 34..=43),
            _ => false,
        };
        header.initiator_spi != 0 && known
    })
}
