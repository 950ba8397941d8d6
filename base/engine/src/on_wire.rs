//! How a datagram looks on the wire: IP packets and their bytes. Read RFC 791 §3.2 and RFC 8200 §4.5 first.

use std::net::IpAddr;

use crate::{Datagram, Transport};

/// A datagram in IP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnWire {
    /// How many.
    pub packets: u16,
    /// All their bytes, IP headers included.
    pub bytes: u32,
}

/// RFC 791 §3.2: every link carries 68 bytes unfragmented.
const MTU_BYTES_MIN: usize = 68;

/// The largest length that the length fields of both IP versions can say.
const IP_BYTES_MAX: usize = 65_535;

impl OnWire {
    /// How a datagram looks on a link with this MTU, taken as 68 bytes if less; None if it is too long for IP.
    pub fn of(datagram: &Datagram, mtu_bytes: u16) -> Option<Self> {
        let mtu = usize::from(mtu_bytes).max(MTU_BYTES_MIN);
        match datagram.transport {
            Transport::Tcp => segmented(datagram, mtu),
            Transport::Udp | Transport::Ip => fragmented(datagram, mtu),
        }
    }
}

fn header_bytes(ip: IpAddr) -> usize {
    if ip.is_ipv4() { 20 } else { 40 }
}

/// TCP cuts its stream so that no packet needs fragmenting; every segment has both headers.
fn segmented(datagram: &Datagram, mtu: usize) -> Option<OnWire> {
    let headers = header_bytes(datagram.to.ip) + datagram.transport.header_bytes();
    // The smallest MTU leaves 8 bytes of payload even with the longest headers, RFC 791 §3.2.
    let segments = datagram.bytes.len().div_ceil(mtu.saturating_sub(headers).max(8)).max(1);
    counted(segments, datagram.bytes.len() + segments * headers)
}

/// The transport header is in the first fragment only, the IP header in all.
fn fragmented(datagram: &Datagram, mtu: usize) -> Option<OnWire> {
    let ip = header_bytes(datagram.to.ip);
    let payload = datagram.transport.header_bytes() + datagram.bytes.len();
    if payload + if ip == 20 { ip } else { 0 } > IP_BYTES_MAX {
        return None;
    }
    if ip + payload <= mtu {
        return counted(1, ip + payload);
    }
    // RFC 8200 §4.5: a fragment has a Fragment header of 8 bytes; the IPv4 header has room for the offset.
    let headers = if ip == 20 { ip } else { ip + 8 };
    let last = mtu - headers;
    // RFC 791 §3.2, RFC 8200 §4.5: offsets count in units of 8 bytes, so all fragments but the last are multiples of it.
    let other = last / 8 * 8;
    let packets = 1 + payload.saturating_sub(last).div_ceil(other);
    counted(packets, payload + packets * headers)
}

fn counted(packets: usize, bytes: usize) -> Option<OnWire> {
    Some(OnWire { packets: u16::try_from(packets).ok()?, bytes: u32::try_from(bytes).ok()? })
}

#[cfg(test)]
mod tests {
    use keytoll_trace::Protocol;
    use proptest::prelude::*;

    use super::*;
    use crate::Addr;

    const V4: &str = "10.0.0.1";
    const V6: &str = "fd00::1";

    fn counts(ip: &str, transport: Transport, bytes: usize, mtu: u16) -> Option<(u16, u32)> {
        let addr = Addr::new(ip.parse().unwrap(), 0);
        let datagram =
            Datagram { protocol: Protocol::Ike, transport, from: addr, to: addr, bytes: vec![0; bytes] };
        OnWire::of(&datagram, mtu).map(|on_wire| (on_wire.packets, on_wire.bytes))
    }

    #[test]
    fn fragments_by_hand() {
        use Transport::{Ip, Tcp, Udp};
        // 1472 + 8 + 20 = 1500 is the most one packet takes; one byte more needs a second header.
        assert_eq!(counts(V4, Udp, 1472, 1500), Some((1, 1500)));
        assert_eq!(counts(V4, Udp, 1473, 1500), Some((2, 1521)));
        assert_eq!(counts(V6, Udp, 1452, 1500), Some((1, 1500)));
        // 1461 = 1448 + 13 with two times 48.
        assert_eq!(counts(V6, Udp, 1453, 1500), Some((2, 1557)));
        assert_eq!(counts(V4, Udp, 3000, 1500), Some((3, 3068)));
        assert_eq!(counts(V6, Udp, 3000, 1500), Some((3, 3152)));
        assert_eq!(counts(V4, Ip, 1480, 1500), Some((1, 1500)));
        // The last fragment need not end at a multiple of 8: 1448 + 1452 fit two, one more does not.
        assert_eq!(counts(V6, Ip, 2900, 1500), Some((2, 2996)));
        assert_eq!(counts(V6, Ip, 2901, 1500), Some((3, 3045)));
        // Segments of 1460, each with 40 bytes of headers.
        assert_eq!(counts(V4, Tcp, 3000, 1500), Some((3, 3120)));
        assert_eq!(counts(V4, Tcp, 0, 1500), Some((1, 40)));
    }

    #[test]
    fn what_ip_cannot_carry() {
        assert!(counts(V4, Transport::Udp, 65_507, 1500).is_some());
        assert_eq!(counts(V4, Transport::Udp, 65_508, 1500), None);
        assert!(counts(V6, Transport::Udp, 65_527, 1500).is_some());
        assert_eq!(counts(V6, Transport::Udp, 65_528, 1500), None);
    }

    /// Cuts off fragment after fragment, as RFC 791 §3.2 and RFC 8200 §4.5 tell it.
    fn cut(mut payload: usize, header: usize, fragment_header: usize, mtu: usize) -> (u16, u32) {
        if header + payload <= mtu {
            return (1, (header + payload) as u32);
        }
        let headers = header + fragment_header;
        let (mut packets, mut bytes) = (1, headers);
        while headers + payload > mtu {
            let taken = (mtu - headers) / 8 * 8;
            payload -= taken;
            packets += 1;
            bytes += headers + taken;
        }
        (packets, (bytes + payload) as u32)
    }

    proptest! {
        #[test]
        fn fragments_as_cut_off_one_by_one(bytes in 0_usize..20_000, mtu in 68_u16..9000) {
            let udp = Transport::Udp;
            prop_assert_eq!(counts(V4, udp, bytes, mtu), Some(cut(bytes + 8, 20, 0, mtu.into())));
            prop_assert_eq!(counts(V6, udp, bytes, mtu), Some(cut(bytes + 8, 40, 8, mtu.into())));
        }

        #[test]
        fn no_size_and_no_mtu_panics(bytes in 0_usize..70_000, mtu: u16) {
            for transport in [Transport::Udp, Transport::Tcp, Transport::Ip] {
                prop_assert!(counts(V4, transport, bytes, mtu).is_none_or(|(_, on_wire)| on_wire as usize > bytes));
                prop_assert!(counts(V6, transport, bytes, mtu).is_none_or(|(_, on_wire)| on_wire as usize > bytes));
            }
        }
    }
}
