//! From a datagram to the IP packets that carry it: headers with true lengths and checksums, cut as the link's MTU cuts.
//! Read RFC 791 §3.1 and §3.2, RFC 8200 §3, §4.5 and §8.1, RFC 768, RFC 9293 §3.1 first.
//!
//! A message over TCP is one or more segments of a connection whose numbers go on from message to message in both
//! directions. Its opening and the acknowledgements that carry nothing are not there: the simulator does not send them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use keytoll_engine::trace::Protocol;
use keytoll_engine::wire::Writer;
use keytoll_engine::{Addr, Transport, internet_checksum, transport_checksum};

use super::Seen;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// RFC 8200 §4.5: the next header value of the Fragment header.
const FRAGMENT: u8 = 44;
const HOPS: u8 = 64;
/// RFC 791 §3.2: every link carries 68 bytes unfragmented.
const MTU_BYTES_MIN: usize = 68;
/// Directions of TCP connections that are remembered; beyond that all are forgotten and their numbers begin anew.
const STREAMS_MAX: usize = 1 << 16;

/// Makes packets of datagrams and numbers them.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// The identification of the last datagram. Both IP versions want it to differ between datagrams that are under way
    /// together (RFC 6864 §4.2, RFC 8200 §4.5).
    identification: u32,
    /// The next sequence number of every direction of a connection.
    streams: BTreeMap<(Addr, Addr), u32>,
}

impl Packets {
    /// The packets of a datagram; none if IP cannot carry it.
    pub(super) fn of(&mut self, datagram: &Seen<'_>) -> Vec<Vec<u8>> {
        let mtu = usize::from(datagram.mtu_bytes).max(MTU_BYTES_MIN);
        match datagram.transport {
            Transport::Tcp => self.segments(datagram, mtu),
            Transport::Udp => self.fragments(datagram, UDP, udp(datagram), mtu),
            Transport::Ip => {
                let protocol = number(datagram.protocol, datagram.to);
                self.fragments(datagram, protocol, Some(datagram.bytes.to_vec()), mtu)
            }
        }
    }

    fn segments(&mut self, datagram: &Seen<'_>, mtu: usize) -> Vec<Vec<u8>> {
        let (from, to) = (datagram.from, datagram.to);
        let headers = header_bytes(to.ip) + Transport::Tcp.header_bytes();
        // The smallest MTU leaves 8 bytes of payload even with the longest headers.
        let pieces = datagram.bytes.chunks(mtu.saturating_sub(headers).max(8));
        let last = pieces.len().saturating_sub(1);
        let mut packets = Vec::new();
        for (index, piece) in pieces.enumerate() {
            let acknowledged = self.next_of(to, from);
            let sequence = self.next_of(from, to);
            let segment = tcp(from, to, [sequence, acknowledged], index == last, piece);
            let advance = u32::try_from(piece.len()).expect("a piece fits the MTU");
            self.streams.insert((from, to), sequence.wrapping_add(advance));
            packets.extend(self.fragments(datagram, TCP, Some(segment), usize::from(u16::MAX)));
        }
        packets
    }

    /// The next number of a direction; the first one is 1, as after a SYN with 0.
    fn next_of(&mut self, from: Addr, to: Addr) -> u32 {
        if self.streams.len() >= STREAMS_MAX {
            self.streams.clear();
        }
        *self.streams.entry((from, to)).or_insert(1)
    }

    /// An IP payload in as many fragments as it needs.
    fn fragments(
        &mut self,
        datagram: &Seen<'_>,
        protocol: u8,
        payload: Option<Vec<u8>>,
        mtu: usize,
    ) -> Vec<Vec<u8>> {
        let Some(payload) = payload else { return Vec::new() };
        self.identification = self.identification.wrapping_add(1);
        let header = Header {
            from: datagram.from.ip,
            to: datagram.to.ip,
            protocol,
            identification: self.identification,
        };
        if header_bytes(header.to) + payload.len() <= mtu {
            return header.packet(&payload, None).into_iter().collect();
        }
        let extension = if header.to.is_ipv4() { 0 } else { 8 };
        let room = mtu - header_bytes(header.to) - extension;
        let mut packets = Vec::new();
        let mut offset = 0;
        while payload.len() - offset > room {
            // RFC 791 §3.2: offsets count in units of 8 bytes, so all fragments but the last are multiples of it.
            let end = offset + room / 8 * 8;
            packets.extend(header.packet(&payload[offset..end], Some((offset, true))));
            offset = end;
        }
        packets.extend(header.packet(&payload[offset..], Some((offset, false))));
        packets
    }
}

fn header_bytes(ip: IpAddr) -> usize {
    if ip.is_ipv4() { 20 } else { 40 }
}

/// IP protocol numbers of what travels without a transport.
fn number(protocol: Protocol, to: Addr) -> u8 {
    match protocol {
        Protocol::Icmp if to.ip.is_ipv4() => 1,
        Protocol::Icmp => 58,
        Protocol::Hip => 139,
        // In place of a port stands what the users' packet carries.
        Protocol::Ip => u8::try_from(to.port).unwrap_or(RESERVED),
        // IPsec; nothing else goes directly over IP.
        _ => 50,
    }
}

/// RFC 5237's registry: nobody's protocol.
const RESERVED: u8 = 255;

/// Where a fragment begins, and whether more follow.
type Part = Option<(usize, bool)>;

/// What all fragments of a datagram share.
struct Header {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    identification: u32,
}

impl Header {
    /// A packet; none if the addresses are of different versions or it is too long.
    fn packet(&self, payload: &[u8], part: Part) -> Option<Vec<u8>> {
        let mut w = Writer::with_capacity(48 + payload.len());
        match (self.from, self.to) {
            (IpAddr::V4(_), IpAddr::V4(_)) => self.v4(&mut w, payload.len(), part)?,
            (IpAddr::V6(_), IpAddr::V6(_)) => self.v6(&mut w, payload.len(), part)?,
            _ => return None,
        }
        w.bytes(payload);
        Some(w.finish())
    }

    /// RFC 791 §3.1: Version, IHL, TOS, Total Length(2) Identification(2) Flags, Offset(2) TTL Protocol Checksum(2)
    /// Source(4) Destination(4).
    fn v4(&self, w: &mut Writer, payload_len: usize, part: Part) -> Option<()> {
        const MORE_FRAGMENTS: u16 = 0x2000;
        w.u16(0x4500);
        w.u16(u16::try_from(20 + payload_len).ok()?);
        // The low half: IPv4 has room for no more.
        w.u16(self.identification as u16);
        let (offset, more) = part.unwrap_or((0, false));
        w.u16(u16::try_from(offset / 8).ok()? | if more { MORE_FRAGMENTS } else { 0 });
        w.u8(HOPS);
        w.u8(self.protocol);
        w.u16(0);
        address(w, self.from);
        address(w, self.to);
        let checksum = internet_checksum(w.as_slice());
        w.patch_u16(10, checksum);
        Some(())
    }

    /// RFC 8200 §3: Version, Class, Flow(4) Payload Length(2) Next Header Hop Limit Source(16) Destination(16); §4.5:
    /// Next Header Reserved Offset, M(2) Identification(4).
    fn v6(&self, w: &mut Writer, payload_len: usize, part: Part) -> Option<()> {
        let extension = if part.is_some() { 8 } else { 0 };
        w.u32(0x6000_0000);
        w.u16(u16::try_from(payload_len + extension).ok()?);
        w.u8(if part.is_some() { FRAGMENT } else { self.protocol });
        w.u8(HOPS);
        address(w, self.from);
        address(w, self.to);
        if let Some((offset, more)) = part {
            w.u8(self.protocol);
            w.u8(0);
            // The offset in units of 8 bytes stands 3 bits to the left, which makes it the offset in bytes.
            w.u16(u16::try_from(offset).ok()? | u16::from(more));
            w.u32(self.identification);
        }
        Some(())
    }
}

fn address(w: &mut Writer, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => w.bytes(&ip.octets()),
        IpAddr::V6(ip) => w.bytes(&ip.octets()),
    }
}

/// RFC 768: Source Port(2) Destination Port(2) Length(2) Checksum(2); none if it is too long.
fn udp(datagram: &Seen<'_>) -> Option<Vec<u8>> {
    let length = u16::try_from(8 + datagram.bytes.len()).ok()?;
    let mut w = Writer::with_capacity(length.into());
    w.u16(datagram.from.port);
    w.u16(datagram.to.port);
    w.u16(length);
    w.u16(0);
    w.bytes(datagram.bytes);
    let checksum = transport_checksum((datagram.from.ip, datagram.to.ip), UDP, w.as_slice());
    // RFC 768: a sum of zero is sent as all ones, because zero means that there is none.
    w.patch_u16(6, if checksum == 0 { u16::MAX } else { checksum });
    Some(w.finish())
}

/// RFC 9293 §3.1: Source Port(2) Destination Port(2) Sequence(4) Acknowledgment(4) Offset, Flags(2) Window(2) Checksum(2)
/// Urgent(2).
fn tcp(from: Addr, to: Addr, [sequence, acknowledged]: [u32; 2], last: bool, data: &[u8]) -> Vec<u8> {
    const FIVE_WORDS_ACK: u16 = 0x5010;
    const PSH: u16 = 0x0008;
    let mut w = Writer::with_capacity(20 + data.len());
    w.u16(from.port);
    w.u16(to.port);
    w.u32(sequence);
    w.u32(acknowledged);
    w.u16(FIVE_WORDS_ACK | if last { PSH } else { 0 });
    w.u16(u16::MAX);
    w.u16(0);
    w.u16(0);
    w.bytes(data);
    let checksum = transport_checksum((from.ip, to.ip), TCP, w.as_slice());
    w.patch_u16(16, checksum);
    w.finish()
}

#[cfg(test)]
mod tests {
    use keytoll_engine::{Datagram, OnWire};
    use proptest::prelude::*;

    use super::*;

    fn datagram(ip: [&str; 2], transport: Transport, bytes: Vec<u8>) -> Datagram {
        let [from, to] = ip.map(|ip| Addr::new(ip.parse().unwrap(), 500));
        Datagram { protocol: Protocol::Esp, transport, from, to, bytes }
    }

    fn packets(datagram: &Datagram, mtu_bytes: u16) -> Vec<Vec<u8>> {
        Packets::default().of(&Seen { mtu_bytes, ..Seen::of(datagram, "ue-gw") })
    }

    const V4: [&str; 2] = ["192.0.2.2", "192.0.2.1"];
    const V6: [&str; 2] = ["2001:db8::2", "2001:db8::1"];

    /// Puts the fragments of one datagram together again, as RFC 791 §3.2 and RFC 8200 §4.5 tell the receiver to.
    fn reassembled(packets: &[Vec<u8>]) -> Vec<u8> {
        let mut payload = Vec::new();
        for packet in packets {
            let (offset, from) = if packet[0] >> 4 == 4 {
                (usize::from(u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff) * 8, 20)
            } else if packet[6] == FRAGMENT {
                (usize::from(u16::from_be_bytes([packet[42], packet[43]]) & 0xfff8), 48)
            } else {
                (0, 40)
            };
            assert_eq!(offset, payload.len(), "no gap, no overlap");
            payload.extend(&packet[from..]);
        }
        payload
    }

    proptest! {
        #[test]
        fn packets_are_as_many_and_as_long_as_the_engine_counts(
            bytes in proptest::collection::vec(any::<u8>(), 0..6000), mtu in 68_u16..2000, v6: bool, kind in 0..3_usize,
        ) {
            let transport = [Transport::Udp, Transport::Tcp, Transport::Ip][kind];
            let datagram = datagram(if v6 { V6 } else { V4 }, transport, bytes);
            // RFC 8200 §5: IPv6 needs links of 1280 bytes.
            let mtu = if v6 { mtu.max(1280) } else { mtu };
            // A TCP segment without data says nothing that a message would.
            prop_assume!(transport != Transport::Tcp || !datagram.bytes.is_empty());
            let packets = packets(&datagram, mtu);
            let counted = OnWire::of(&datagram, mtu).unwrap();
            prop_assert_eq!(packets.len(), usize::from(counted.packets));
            prop_assert_eq!(packets.iter().map(Vec::len).sum::<usize>(), counted.bytes as usize);
            prop_assert!(packets.iter().all(|packet| packet.len() <= usize::from(mtu)));
        }

        #[test]
        fn fragments_carry_the_whole_datagram(bytes in proptest::collection::vec(any::<u8>(), 0..6000), mtu in 68_u16..2000, v6: bool) {
            let datagram = datagram(if v6 { V6 } else { V4 }, Transport::Ip, bytes);
            let packets = packets(&datagram, if v6 { mtu.max(1280) } else { mtu });
            prop_assert_eq!(reassembled(&packets), datagram.bytes);
        }

        /// RFC 1071 §1: over data and its checksum the sum is all ones.
        #[test]
        fn checksums_verify(bytes in proptest::collection::vec(any::<u8>(), 0..300), v6: bool, tcp: bool) {
            let (transport, protocol) = if tcp { (Transport::Tcp, TCP) } else { (Transport::Udp, UDP) };
            let datagram = datagram(if v6 { V6 } else { V4 }, transport, bytes);
            for packet in packets(&datagram, 1500) {
                let segment = &packet[header_bytes(datagram.to.ip)..];
                prop_assert_eq!(transport_checksum((datagram.from.ip, datagram.to.ip), protocol, segment), 0);
                if !v6 {
                    prop_assert_eq!(internet_checksum(&packet[..20]), 0);
                }
            }
        }
    }

    #[test]
    fn segments_number_what_they_carry_and_acknowledge_what_came() {
        let mut packets = Packets::default();
        let numbers =
            |packet: &[u8]| [24, 28].map(|at| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap()));
        let there = datagram(V4, Transport::Tcp, vec![7; 2000]);
        let sent = packets.of(&Seen { mtu_bytes: 1500, ..Seen::of(&there, "aaa-hss") });
        assert_eq!([numbers(&sent[0]), numbers(&sent[1])], [[1, 1], [1461, 1]]);
        assert_eq!([sent[0][33], sent[1][33]], [0x10, 0x18], "the last segment is pushed");
        let back = Datagram { from: there.to, to: there.from, ..there };
        assert_eq!(numbers(&packets.of(&Seen::of(&back, "aaa-hss"))[0]), [1, 2001]);
    }

    #[test]
    fn what_ip_cannot_carry_makes_no_packet() {
        for (ip, transport) in [(V4, Transport::Udp), (V6, Transport::Udp)] {
            assert!(packets(&datagram(ip, transport, vec![0; 65_530]), 1500).is_empty());
        }
        let mixed = datagram([V4[0], V6[0]], Transport::Ip, vec![1]);
        assert!(packets(&mixed, 1500).is_empty());
    }
}
