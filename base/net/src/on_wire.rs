//! Size of a datagram on the wire: its packets and their bytes. Read RFC 791 §3.2 and RFC 8200 §4.5 first.

use crate::Addr;
use crate::ip::{FRAGMENT_HEADER, HEADER_V4};

/// A datagram as packets on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnWire {
    /// How many.
    pub packets: u16,
    /// All their bytes, headers included.
    pub bytes: u32,
}

/// RFC 791 §3.2: every link carries 68 bytes without fragmentation.
const MTU_BYTES_MIN: usize = 68;

/// The largest length that the length fields of both IP versions can hold.
const IP_BYTES_MAX: usize = 65_535;

impl OnWire {
    /// Size of a datagram of so many bytes to this address on a link with this MTU (at least 68 bytes are assumed); `None` if it
    /// is too long for its transport.
    pub fn of(to: Addr, bytes: usize, mtu_bytes: u16) -> Option<Self> {
        let mtu = usize::from(mtu_bytes).max(MTU_BYTES_MIN);
        match to {
            Addr::Tcp(_) => segmented(to, bytes, mtu),
            Addr::Udp(_) | Addr::Sctp(_) | Addr::Ip { .. } => fragmented(to, bytes, mtu),
            // A frame includes its header in its bytes and is never fragmented below IP.
            Addr::Mac(_) => counted(1, bytes),
        }
    }
}

/// TCP cuts its stream so that no packet needs fragmenting; every segment has both headers.
fn segmented(to: Addr, bytes: usize, mtu: usize) -> Option<OnWire> {
    let headers = to.header_bytes();
    // The smallest MTU leaves 8 bytes of payload even with the longest headers, RFC 791 §3.2.
    let segments = bytes.div_ceil(mtu.saturating_sub(headers).max(8)).max(1);
    counted(segments, bytes + segments * headers)
}

/// The transport header is in the first fragment only, the IP header in all.
fn fragmented(to: Addr, bytes: usize, mtu: usize) -> Option<OnWire> {
    let ip = to.ip().map_or(0, crate::ip::header_bytes);
    let payload = to.header_bytes() - ip + bytes;
    if payload + if ip == HEADER_V4 { ip } else { 0 } > IP_BYTES_MAX {
        return None;
    }
    if ip + payload <= mtu {
        return counted(1, ip + payload);
    }
    // RFC 8200 §4.5: a fragment has a Fragment header; the IPv4 header has room for the offset.
    let headers = if ip == HEADER_V4 { ip } else { ip + FRAGMENT_HEADER };
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
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;

    const V4: &str = "10.0.0.1";
    const V6: &str = "fd00::1";

    /// Over UDP, over TCP, directly on IP.
    const KINDS: [fn(IpAddr) -> Addr; 3] = [udp, tcp, esp];

    fn udp(ip: IpAddr) -> Addr {
        Addr::udp(ip, 500)
    }

    fn tcp(ip: IpAddr) -> Addr {
        Addr::tcp(ip, 3868)
    }

    fn esp(ip: IpAddr) -> Addr {
        Addr::Ip { ip, protocol: 50 }
    }

    fn counts(ip: &str, kind: fn(IpAddr) -> Addr, bytes: usize, mtu: u16) -> Option<(u16, u32)> {
        OnWire::of(kind(ip.parse().unwrap()), bytes, mtu).map(|on_wire| (on_wire.packets, on_wire.bytes))
    }

    #[test]
    fn fragments_by_hand() {
        // 1472 + 8 + 20 = 1500 is the most one packet takes; one byte more needs a second header.
        assert_eq!(counts(V4, udp, 1472, 1500), Some((1, 1500)));
        assert_eq!(counts(V4, udp, 1473, 1500), Some((2, 1521)));
        assert_eq!(counts(V6, udp, 1452, 1500), Some((1, 1500)));
        // 1461 = 1448 + 13 with two times 48.
        assert_eq!(counts(V6, udp, 1453, 1500), Some((2, 1557)));
        assert_eq!(counts(V4, udp, 3000, 1500), Some((3, 3068)));
        assert_eq!(counts(V6, udp, 3000, 1500), Some((3, 3152)));
        assert_eq!(counts(V4, esp, 1480, 1500), Some((1, 1500)));
        // The last fragment need not end at a multiple of 8: 1448 + 1452 fit two, one more does not.
        assert_eq!(counts(V6, esp, 2900, 1500), Some((2, 2996)));
        assert_eq!(counts(V6, esp, 2901, 1500), Some((3, 3045)));
        // Segments of 1460, each with 40 bytes of headers.
        assert_eq!(counts(V4, tcp, 3000, 1500), Some((3, 3120)));
        assert_eq!(counts(V4, tcp, 0, 1500), Some((1, 40)));
    }

    #[test]
    fn a_frame_below_ip_is_what_it_is() {
        let on_wire = OnWire::of(Addr::Mac([2; 6]), 2304, 1500);
        assert_eq!(on_wire, Some(OnWire { packets: 1, bytes: 2304 }));
    }

    #[test]
    fn what_ip_cannot_carry() {
        assert!(counts(V4, udp, 65_507, 1500).is_some());
        assert_eq!(counts(V4, udp, 65_508, 1500), None);
        assert!(counts(V6, udp, 65_527, 1500).is_some());
        assert_eq!(counts(V6, udp, 65_528, 1500), None);
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
            prop_assert_eq!(counts(V4, udp, bytes, mtu), Some(cut(bytes + 8, 20, 0, mtu.into())));
            prop_assert_eq!(counts(V6, udp, bytes, mtu), Some(cut(bytes + 8, 40, 8, mtu.into())));
        }

        #[test]
        fn no_size_and_no_mtu_panics(bytes in 0_usize..70_000, mtu: u16) {
            for kind in KINDS {
                prop_assert!(counts(V4, kind, bytes, mtu).is_none_or(|(_, on_wire)| on_wire as usize > bytes));
                prop_assert!(counts(V6, kind, bytes, mtu).is_none_or(|(_, on_wire)| on_wire as usize > bytes));
            }
        }
    }
}
