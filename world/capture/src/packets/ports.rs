//! Which protocol a UDP datagram belongs to: by the registered ports, and elsewhere by what it looks like, because
//! laboratories use any port.

use std::collections::BTreeSet;

use keytoll_engine::trace::Protocol;
use keytoll_ike::wire::Header;
use keytoll_net::{Socket, wire::Reader};
use keytoll_radius::wire::Packet;

use crate::observe::NON_ESP_MARKER;

const IKE: u16 = 500;
/// RFC 7296 §2.23: IKE and ESP behind NAT.
const IKE_NAT: u16 = 4500;
/// RFC 2865 §3, RFC 2866 §3, the numbers before them, and RFC 5176 §2.1.
const RADIUS: [u16; 5] = [1812, 1813, 1645, 1646, 3799];

/// More ports than this are not remembered as being used for NAT traversal.
const LEARNT_MAX: usize = 4096;

/// What was learnt about ports.
#[derive(Debug, Default)]
pub(super) struct Ports {
    /// Where marked IKE messages were seen, so that what has no marker there is ESP.
    nat: BTreeSet<Socket>,
}

impl Ports {
    /// The protocol of a datagram, or what it is instead.
    pub(super) fn udp(
        &mut self,
        from: Socket,
        to: Socket,
        payload: &[u8],
        cut: bool,
    ) -> Result<Protocol, String> {
        let is_at = |port| from.port == port || to.port == port;
        if is_at(IKE_NAT) || self.nat.contains(&from) || self.nat.contains(&to) {
            return behind_nat(payload);
        }
        if is_at(IKE) {
            return Ok(keytoll_ike::IKE);
        }
        if RADIUS.into_iter().any(is_at) {
            return Ok(keytoll_radius::RADIUS);
        }
        let guess = if cut { None } else { self.guess(from, to, payload) };
        guess.ok_or_else(|| format!("UDP port {}", from.port.min(to.port)))
    }

    fn guess(&mut self, from: Socket, to: Socket, payload: &[u8]) -> Option<Protocol> {
        if is_ike(payload) {
            return Some(keytoll_ike::IKE);
        }
        if payload.strip_prefix(&NON_ESP_MARKER).is_some_and(is_ike) {
            if self.nat.len() < LEARNT_MAX {
                self.nat.extend([from, to]);
            }
            return Some(keytoll_ike::IKE);
        }
        is_radius(payload).then_some(keytoll_radius::RADIUS)
    }
}

/// RFC 3948 §2: a marker and IKE, one byte to keep the NAT's mapping, or ESP.
fn behind_nat(payload: &[u8]) -> Result<Protocol, String> {
    match payload {
        [0xff] => Err("NAT keepalive".to_owned()),
        _ if payload.starts_with(&NON_ESP_MARKER) => Ok(keytoll_ike::IKE),
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

fn is_radius(payload: &[u8]) -> bool {
    Packet::read(payload).is_ok_and(|packet| {
        let is_exact = packet.bytes().len() == payload.len();
        is_exact && matches!(packet.code.0, 1..=5 | 11..=13 | 40..=45)
    })
}
