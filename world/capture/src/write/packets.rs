//! From a datagram to its IP packets: headers with correct lengths and checksums, fragmented according to the link's MTU.
//! Read RFC 791 §3.1 and §3.2, RFC 8200 §3, §4.5 and §8.1, RFC 768, RFC 9293 §3.1 first.
//!
//! A message over TCP is one or more segments of a connection with continuous sequence numbers in both directions. The handshake and
//! pure acknowledgements are missing: the simulator does not send them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use keytoll_net::ip::{Fields, Part, protocol};
use keytoll_net::tcp::{self, flag};
use keytoll_net::{Addr, Socket, udp};

use super::Seen;

// RFC 791 §3.2: every link carries 68 bytes unfragmented.
const MTU_BYTES_MIN: usize = 68;
/// The limit on directions of TCP connections; beyond it all are dropped and numbers start anew.
const STREAMS_MAX: usize = 1 << 16;

/// Builds and numbers the packets of datagrams.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// The identification of the last datagram, which must differ between datagrams in transit at the same time
    /// (RFC 6864 §4.2, RFC 8200 §4.5).
    identification: u32,
    /// The next sequence number of every direction of a connection.
    streams: BTreeMap<(Socket, Socket), u32>,
}

impl Packets {
    /// The packets of a datagram, none if IP cannot carry it; a frame below IP is itself.
    pub(super) fn of(&mut self, datagram: &Seen<'_>) -> Vec<Vec<u8>> {
        let mtu = usize::from(datagram.mtu_bytes).max(MTU_BYTES_MIN);
        match (datagram.from, datagram.to) {
            (Addr::Tcp(from), Addr::Tcp(to)) => self.segments(from, to, datagram.bytes, mtu),
            (Addr::Udp(from), Addr::Udp(to)) => {
                let mut payload = vec![0; udp::HEADER + datagram.bytes.len()];
                payload[udp::HEADER..].copy_from_slice(datagram.bytes);
                match udp::write((from.ip, to.ip), (from.port, to.port), &mut payload) {
                    Some(()) => self.fragments((from.ip, to.ip), protocol::UDP, &payload, mtu),
                    None => Vec::new(),
                }
            }
            (Addr::Ip { ip: from, .. }, Addr::Ip { ip: to, protocol }) => {
                self.fragments((from, to), protocol, datagram.bytes, mtu)
            }
            (Addr::Mac(_), Addr::Mac(_)) => vec![datagram.bytes.to_vec()],
            // No node of ours uses SCTP.
            _ => Vec::new(),
        }
    }

    fn segments(&mut self, from: Socket, to: Socket, message: &[u8], mtu: usize) -> Vec<Vec<u8>> {
        let headers = Addr::Tcp(to).header_bytes();
        // The smallest MTU leaves 8 bytes of payload even with the longest headers.
        let pieces = message.chunks(mtu.saturating_sub(headers).max(8));
        let last = pieces.len().saturating_sub(1);
        let mut packets = Vec::new();
        for (index, piece) in pieces.enumerate() {
            let acknowledged = self.next_of(to, from);
            let sequence = self.next_of(from, to);
            let segment = tcp_segment(from, to, [sequence, acknowledged], index == last, piece);
            let advance = u32::try_from(piece.len()).expect("a piece fits the MTU");
            self.streams.insert((from, to), sequence.wrapping_add(advance));
            packets.extend(self.fragments((from.ip, to.ip), protocol::TCP, &segment, usize::from(u16::MAX)));
        }
        packets
    }

    /// The next number of a direction; the first one is 1, as after a SYN with 0.
    fn next_of(&mut self, from: Socket, to: Socket) -> u32 {
        if self.streams.len() >= STREAMS_MAX {
            self.streams.clear();
        }
        *self.streams.entry((from, to)).or_insert(1)
    }

    /// The fragments of an IP payload.
    fn fragments(
        &mut self,
        ends: (IpAddr, IpAddr),
        protocol: u8,
        payload: &[u8],
        mtu: usize,
    ) -> Vec<Vec<u8>> {
        self.identification = self.identification.wrapping_add(1);
        let identification = self.identification;
        let whole = Fields { identification, dont_fragment: false, ..Fields::new(ends, protocol) };
        if whole.header_bytes() + payload.len() <= mtu {
            return packet(&whole, payload).into_iter().collect();
        }
        let part = |offset: usize, more| {
            let part = Some(Part { offset: u16::try_from(offset).ok()?, more });
            Some(Fields { part, ..whole })
        };
        let room = mtu - part(0, true).map_or(0, |first| first.header_bytes());
        let mut packets = Vec::new();
        let mut offset = 0;
        while payload.len() - offset > room {
            // RFC 791 §3.2: offsets count in units of 8 bytes, so all fragments but the last are multiples of it.
            let end = offset + room / 8 * 8;
            packets.extend(part(offset, true).and_then(|fields| packet(&fields, &payload[offset..end])));
            offset = end;
        }
        packets.extend(part(offset, false).and_then(|fields| packet(&fields, &payload[offset..])));
        packets
    }
}

/// A packet; `None` if the addresses are of different versions or it is too long.
fn packet(fields: &Fields, payload: &[u8]) -> Option<Vec<u8>> {
    let mut packet = vec![0; fields.header_bytes() + payload.len()];
    packet[fields.header_bytes()..].copy_from_slice(payload);
    fields.write(&mut packet)?;
    Some(packet)
}

fn tcp_segment(
    from: Socket,
    to: Socket,
    [sequence, acknowledged]: [u32; 2],
    last: bool,
    data: &[u8],
) -> Vec<u8> {
    let flags = flag::ACK | if last { flag::PSH } else { 0 };
    let mut segment = vec![0; tcp::HEADER + data.len()];
    segment[tcp::HEADER..].copy_from_slice(data);
    let header = tcp::Header::new((from.port, to.port), sequence, acknowledged, flags);
    header.write((from.ip, to.ip), &mut segment).expect("there is room for it");
    segment
}

#[cfg(test)]
mod tests {
    use keytoll_engine::Datagram;
    use keytoll_net::OnWire;
    use keytoll_net::ip::{extension, header_bytes};
    use keytoll_net::{internet_checksum, transport_checksum};
    use keytoll_trace::Protocol;
    use proptest::prelude::*;

    use super::*;

    fn udp_at(ip: IpAddr) -> Addr {
        Addr::udp(ip, 500)
    }

    fn tcp_at(ip: IpAddr) -> Addr {
        Addr::tcp(ip, 500)
    }

    fn esp_at(ip: IpAddr) -> Addr {
        Addr::Ip { ip, protocol: protocol::ESP }
    }

    fn datagram(ip: [&str; 2], at: fn(IpAddr) -> Addr, bytes: Vec<u8>) -> Datagram {
        let [from, to] = ip.map(|ip| at(ip.parse().unwrap()));
        Datagram { protocol: Protocol::ESP, from, to, bytes }
    }

    fn packets(datagram: &Datagram, mtu_bytes: u16) -> Vec<Vec<u8>> {
        Packets::default().of(&Seen { mtu_bytes, ..Seen::of(datagram, "ue-gw") })
    }

    const V4: [&str; 2] = ["192.0.2.2", "192.0.2.1"];
    const V6: [&str; 2] = ["2001:db8::2", "2001:db8::1"];

    /// Reassembles the fragments of one datagram, according to RFC 791 §3.2 and RFC 8200 §4.5.
    fn reassembled(packets: &[Vec<u8>]) -> Vec<u8> {
        let mut payload = Vec::new();
        for packet in packets {
            let (offset, from) = if packet[0] >> 4 == 4 {
                (usize::from(u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff) * 8, 20)
            } else if packet[6] == extension::FRAGMENT {
                (usize::from(u16::from_be_bytes([packet[42], packet[43]]) & 0xfff8), 48)
            } else {
                (0, 40)
            };
            assert_eq!(offset, payload.len(), "no gap, no overlap");
            payload.extend(&packet[from..]);
        }
        payload
    }

    #[test]
    fn a_frame_below_ip_is_itself_at_any_mtu() {
        let [from, to] = [1, 2].map(|last| Addr::Mac([2, 0, 0, 0, 0, last]));
        let frame = Datagram { protocol: Protocol::ESP, from, to, bytes: vec![7; 300] };
        assert_eq!(packets(&frame, 68), std::slice::from_ref(&frame.bytes));
    }

    proptest! {
        #[test]
        fn packets_are_as_many_and_as_long_as_the_engine_counts(
            bytes in proptest::collection::vec(any::<u8>(), 0..6000), mtu in 68_u16..2000, v6: bool, kind in 0..3_usize,
        ) {
            let at = [udp_at, tcp_at, esp_at][kind];
            let datagram = datagram(if v6 { V6 } else { V4 }, at, bytes);
            // RFC 8200 §5: IPv6 requires links of at least 1280 bytes.
            let mtu = if v6 { mtu.max(1280) } else { mtu };
            // A TCP segment without data says nothing that a message would.
            prop_assume!(kind != 1 || !datagram.bytes.is_empty());
            let packets = packets(&datagram, mtu);
            let counted = OnWire::of(datagram.to, datagram.bytes.len(), mtu).unwrap();
            prop_assert_eq!(packets.len(), usize::from(counted.packets));
            prop_assert_eq!(packets.iter().map(Vec::len).sum::<usize>(), counted.bytes as usize);
            prop_assert!(packets.iter().all(|packet| packet.len() <= usize::from(mtu)));
        }

        #[test]
        fn fragments_carry_the_whole_datagram(bytes in proptest::collection::vec(any::<u8>(), 0..6000), mtu in 68_u16..2000, v6: bool) {
            let datagram = datagram(if v6 { V6 } else { V4 }, esp_at, bytes);
            let packets = packets(&datagram, if v6 { mtu.max(1280) } else { mtu });
            prop_assert_eq!(reassembled(&packets), datagram.bytes);
        }

        /// RFC 1071 §1: over data and its checksum the sum is all ones.
        #[test]
        fn checksums_verify(bytes in proptest::collection::vec(any::<u8>(), 0..300), v6: bool, tcp: bool) {
            let (at, protocol): (fn(IpAddr) -> Addr, u8) = if tcp { (tcp_at, protocol::TCP) } else { (udp_at, protocol::UDP) };
            let datagram = datagram(if v6 { V6 } else { V4 }, at, bytes);
            for packet in packets(&datagram, 1500) {
                let segment = &packet[header_bytes(datagram.to.ip().unwrap())..];
                prop_assert_eq!(transport_checksum((datagram.from.ip().unwrap(), datagram.to.ip().unwrap()), protocol, segment), 0);
                if !v6 {
                    prop_assert_eq!(internet_checksum(&packet[..20]), 0);
                }
            }
        }
    }

    #[test]
    fn segments_have_sequence_and_acknowledgement_numbers() {
        let mut packets = Packets::default();
        let numbers =
            |packet: &[u8]| [24, 28].map(|at| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap()));
        let there = datagram(V4, tcp_at, vec![7; 2000]);
        let sent = packets.of(&Seen { mtu_bytes: 1500, ..Seen::of(&there, "aaa-hss") });
        assert_eq!([numbers(&sent[0]), numbers(&sent[1])], [[1, 1], [1461, 1]]);
        assert_eq!([sent[0][33], sent[1][33]], [0x10, 0x18], "the last segment is pushed");
        let back = Datagram { from: there.to, to: there.from, ..there };
        assert_eq!(numbers(&packets.of(&Seen::of(&back, "aaa-hss"))[0]), [1, 2001]);
    }

    #[test]
    fn a_datagram_that_ip_cannot_carry_makes_no_packet() {
        for ip in [V4, V6] {
            assert!(packets(&datagram(ip, udp_at, vec![0; 65_530]), 1500).is_empty());
        }
        let mixed = datagram([V4[0], V6[0]], esp_at, vec![1]);
        assert!(packets(&mixed, 1500).is_empty());
    }
}
