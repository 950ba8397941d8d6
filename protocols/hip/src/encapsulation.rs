//! HIP and ESP through one UDP port, which NATs and firewalls let pass: RFC 9028 §4.7.1 (nothing is negotiated: whoever is
//! asked in UDP answers in UDP), §5.1, §5.11. Of its other modes, with relays and connectivity checks, there is none here.
//!
//!   HIP   zero(4) HIP packet, its checksum zero
//!   ESP   SPI(4) …

use keytoll_net::Addr;
use keytoll_net::ip::protocol::ESP;

/// RFC 9028 §5.1: where responders listen.
pub const PORT: u16 = 10_500;

/// Zeros where ESP has its SPI.
const MARKER: [u8; 4] = [0; 4];

/// A packet as UDP carries it.
pub(crate) fn encapsulated(packet: &[u8]) -> Vec<u8> {
    [&MARKER, packet].concat()
}

/// The HIP packet in the payload of a UDP datagram, if it is none of ESP.
pub fn hip_in_udp(payload: &[u8]) -> Option<&[u8]> {
    payload.strip_prefix(&MARKER)
}

/// The ESP packet in a datagram that has come to a port of HIP or directly on IP, if it is one.
pub fn esp_packet(to: Addr, payload: &[u8]) -> Option<&[u8]> {
    let is_esp = match to {
        Addr::Ip { protocol, .. } => protocol == ESP,
        Addr::Udp(_) => payload.len() > MARKER.len() && !payload.starts_with(&MARKER),
        Addr::Tcp(_) | Addr::Sctp(_) | Addr::Mac(_) => false,
    };
    is_esp.then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_tell_hip_from_esp() {
        let ip = std::net::Ipv4Addr::LOCALHOST.into();
        let (in_udp, on_ip) = (Addr::udp(ip, PORT), Addr::Ip { ip, protocol: ESP });
        let packet = [0, 0, 0, 7, 9, 9, 9, 9];
        assert_eq!((hip_in_udp(&packet), esp_packet(in_udp, &packet)), (None, Some(&packet[..])));
        let hip = encapsulated(&packet);
        assert_eq!((hip_in_udp(&hip), esp_packet(in_udp, &hip)), (Some(&packet[..]), None));
        assert_eq!(esp_packet(on_ip, &hip), Some(&hip[..]), "what it is says its protocol number");
        assert_eq!(esp_packet(Addr::Ip { ip, protocol: 139 }, &packet), None);
        for short in [&[][..], &[0xff], &[0; 3], &[1; 4]] {
            assert_eq!((hip_in_udp(short), esp_packet(in_udp, short)), (None, None), "{short:?}");
        }
    }
}
