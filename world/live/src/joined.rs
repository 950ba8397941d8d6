//! Segments of TCP that came out of SAs one by one, joined so that this machine's kernel takes many as one, the way its
//! own GRO would have done. What cannot be taken apart again into the same segments is left as it is.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use keytoll_native::tun::{Large, Tun};
use keytoll_net::checksum::{Sum, internet_checksum, transport_checksum};
use keytoll_net::ip::protocol::TCP;
use keytoll_net::ip::{self, HEADER_V4, HEADER_V6};
use keytoll_net::tcp::{self, flag};

/// No IP packet is longer.
const BYTES_MAX: usize = 65_535;
/// One call takes them all: writev(2), IOV_MAX.
const SEGMENTS_MAX: usize = 512;

/// Lets packets arrive, those of one connection in their order; `lost` is told what the interface does not take.
pub(crate) fn deliver(tun: &Tun, packets: &[Vec<u8>], mut lost: impl FnMut(io::Error)) {
    if let [packet] = packets {
        return tun.send(packet).unwrap_or_else(lost);
    }
    for group in groups(packets) {
        if !group.send(tun) {
            // What it does not take together it may take one by one.
            let sent = group.members.iter().map(|packet| tun.send(packet));
            sent.for_each(|sent| sent.unwrap_or_else(&mut lost));
        }
    }
}

/// Puts together what belongs together.
fn groups(packets: &[Vec<u8>]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for packet in packets {
        let segment = Segment::read(packet);
        let ends = segment.as_ref().map_or_else(|| ends(packet), |segment| Some(segment.ends));
        let before = groups.iter_mut().rev().find(|group| group.is_open && group.ends == ends);
        match (before, segment) {
            (Some(group), Some(segment)) if group.goes_on_with(&segment) => group.push(packet, &segment),
            (before, segment) => {
                // What comes later of this connection must not overtake it.
                before.into_iter().for_each(|group| group.is_open = false);
                groups.push(Group::begin(packet, ends, segment));
            }
        }
    }
    groups
}

/// Who speaks to whom: addresses, and ports in one word.
type Ends = (IpAddr, IpAddr, u32);

/// Packets that arrive as one.
struct Group<'a> {
    members: Vec<&'a [u8]>,
    ends: Option<Ends>,
    /// What the others are like, where there may be others: all but the last have as much payload.
    first: Option<Segment<'a>>,
    /// Another may be added.
    is_open: bool,
    /// The last one asks for delivery.
    is_pushed: bool,
    next_sequence: u32,
    /// Headers, and all payloads.
    bytes: usize,
}

impl<'a> Group<'a> {
    fn begin(packet: &'a [u8], ends: Option<Ends>, first: Option<Segment<'a>>) -> Self {
        let is_pushed = first.as_ref().is_some_and(|first| first.is_pushed);
        Self {
            members: vec![packet],
            ends,
            is_open: first.is_some() && !is_pushed,
            is_pushed,
            next_sequence: first.as_ref().map_or(0, Segment::next_sequence),
            bytes: packet.len(),
            first,
        }
    }

    fn goes_on_with(&self, next: &Segment<'_>) -> bool {
        let fits = |first: &Segment<'_>| next.payload.len() <= first.payload.len() && first.is_like(next);
        next.sequence == self.next_sequence
            && self.bytes + next.payload.len() <= BYTES_MAX
            && self.members.len() < SEGMENTS_MAX
            && self.first.as_ref().is_some_and(fits)
    }

    fn push(&mut self, packet: &'a [u8], segment: &Segment<'_>) {
        let is_full = self.first.as_ref().is_some_and(|first| first.payload.len() == segment.payload.len());
        self.members.push(packet);
        self.bytes += segment.payload.len();
        self.next_sequence = segment.next_sequence();
        self.is_pushed = segment.is_pushed;
        self.is_open = is_full && !segment.is_pushed;
    }

    /// As one packet: what it is, its headers, its payloads. None of a packet that stands alone.
    fn large(&self) -> Option<(Large, Vec<u8>, impl Iterator<Item = &'a [u8]>)> {
        let first = self.first.as_ref().filter(|_| self.members.len() > 1)?;
        let headers = first.headers_of_all(self.bytes, self.is_pushed);
        let large = Large {
            segment_bytes: first.payload.len() as u16,
            ip_header_bytes: first.ip_header_len as u16,
            headers_bytes: headers.len() as u16,
            is_v6: first.ends.0.is_ipv6(),
        };
        // The headers of all are as long as the first one's.
        let headers_len = headers.len();
        let payloads = self.members.iter().map(move |packet| &packet[headers_len..]);
        Some((large, headers, payloads))
    }

    /// Whether the interface took it as one.
    fn send(&self, tun: &Tun) -> bool {
        self.large()
            .is_some_and(|(large, headers, payloads)| tun.send_large(&large, &headers, payloads).is_ok())
    }
}

/// A segment that others may be joined to: nothing but an acknowledgement and some payload.
struct Segment<'a> {
    ip_header_len: usize,
    /// Of IP and TCP.
    headers: &'a [u8],
    payload: &'a [u8],
    ends: Ends,
    sequence: u32,
    is_pushed: bool,
}

/// RFC 791 §3.1: of flags and fragment offset, "don't fragment" alone.
const DONT_FRAGMENT: [u8; 2] = [0x40, 0];

impl<'a> Segment<'a> {
    /// A segment without fault: of one with a wrong checksum its receiver must hear, or rather not.
    fn read(packet: &'a [u8]) -> Option<Self> {
        let segment = Self::split(packet)?;
        let (source, destination, _) = segment.ends;
        let (ip, tcp) = packet.split_at(segment.ip_header_len);
        let is_sound = (source.is_ipv6() || internet_checksum(ip) == 0)
            && transport_checksum((source, destination), TCP, tcp) == 0;
        is_sound.then_some(segment)
    }

    fn split(packet: &'a [u8]) -> Option<Self> {
        let ends = ends(packet)?;
        let ip_header_len = if ends.0.is_ipv6() { HEADER_V6 } else { HEADER_V4 };
        // What may be fragmented has a number of its own (RFC 6864 §4), which would be lost.
        let is_plain = ends.0.is_ipv6() || packet[6..8] == DONT_FRAGMENT;
        let tcp::Header { header_len, flags, sequence, .. } =
            tcp::Header::read(&packet[ip_header_len..]).ok()?;
        let is_data = flags & !flag::PSH == flag::ACK;
        let (headers, payload) = packet.split_at(ip_header_len + header_len);
        let is_pushed = flags & flag::PSH != 0;
        (is_plain && is_data && !payload.is_empty()).then_some(Self {
            ip_header_len,
            headers,
            payload,
            ends,
            sequence,
            is_pushed,
        })
    }

    const fn next_sequence(&self) -> u32 {
        self.sequence.wrapping_add(self.payload.len() as u32)
    }

    /// Whether the headers say the same but for what tells segments apart: lengths, numbers, checksums, PSH.
    fn is_like(&self, other: &Self) -> bool {
        let ip: &[_] = if self.ends.0.is_ipv6() { &[0..4, 6..40] } else { &[0..2, 6..10, 12..20] };
        let (ours, theirs) = (self.headers, other.headers);
        if (self.ends, ours.len()) != (other.ends, theirs.len()) {
            return false;
        }
        // Ports; acknowledgement number and offset; window; urgent pointer and options.
        let tcp = [0..4, 8..13, 14..16, 18..ours.len() - self.ip_header_len];
        let alike = |a: &[u8], b: &[u8], ranges: &[Range<usize>]| {
            ranges.iter().all(|range| a[range.clone()] == b[range.clone()])
        };
        alike(ours, theirs, ip) && alike(&ours[self.ip_header_len..], &theirs[self.ip_header_len..], &tcp)
    }

    /// Headers for a packet of so many bytes that begins with this one.
    fn headers_of_all(&self, bytes: usize, is_pushed: bool) -> Vec<u8> {
        let mut headers = self.headers.to_vec();
        let tcp_len = bytes - self.ip_header_len;
        let (source, destination, _) = self.ends;
        let (ip_header, tcp) = headers.split_at_mut(self.ip_header_len);
        ip::set_length(ip_header, bytes);
        *tcp::flags_mut(tcp) |= if is_pushed { flag::PSH } else { 0 };
        tcp::set_checksum(tcp, Sum::default().pseudo_header((source, destination), TCP, tcp_len).folded());
        headers
    }
}

/// Who speaks to whom in a whole packet of TCP without options or extension headers of IP.
fn ends(packet: &[u8]) -> Option<Ends> {
    let number = |at: usize| Some(usize::from(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?)));
    let (source, destination, tcp): (IpAddr, IpAddr, _) = match *packet.first()? {
        0x45 if packet.get(9) == Some(&TCP) && number(2)? == packet.len() => {
            let address = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?).into());
            (address(12)?, address(16)?, HEADER_V4)
        }
        first if first >> 4 == 6 && packet.get(6) == Some(&TCP) && number(4)? + 40 == packet.len() => {
            let address = |at: usize| Some(Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?).into());
            (address(8)?, address(24)?, HEADER_V6)
        }
        _ => return None,
    };
    let ports = packet.get(tcp..)?.first_chunk()?;
    Some((source, destination, u32::from_be_bytes(*ports)))
}

#[cfg(test)]
mod tests {
    use keytoll_native::tun::{Checksum, Undone};
    use proptest::prelude::*;

    use super::*;
    use crate::segments::{finish, put};

    /// A large packet as the kernel gives it, with an option of TCP, and what is left to be done.
    fn large(v6: bool, payload: &[u8], segment_bytes: u16) -> (Vec<u8>, Undone) {
        let tcp_len = 32 + payload.len();
        let mut packet = if v6 {
            let mut ip = vec![0x60, 0, 0, 0, 0, 0, TCP, 64];
            put(&mut ip, 4, tcp_len as u16);
            ip.extend((0..32).map(|n| n * 7));
            ip
        } else {
            let mut ip = vec![0x45, 0, 0, 0, 0, 9, 0x40, 0, 64, TCP, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
            put(&mut ip, 2, (20 + tcp_len) as u16);
            let sum = internet_checksum(&ip);
            put(&mut ip, 10, sum);
            ip
        };
        let from = packet.len();
        packet.extend([
            0x13,
            0x89,
            0x80,
            1,
            0xff,
            0xff,
            0xff,
            0,
            0,
            0,
            0,
            5,
            0x80,
            flag::ACK | flag::PSH,
            1,
            0,
            0,
            0,
            0,
            0,
        ]);
        packet.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        packet.extend(payload);
        let ends = ends(&packet).unwrap();
        let sum = Sum::default().pseudo_header((ends.0, ends.1), TCP, tcp_len).folded();
        put(&mut packet, from + 16, sum);
        let checksum = Some(Checksum { from: from as u16, at: from as u16 + 16 });
        (packet, Undone { checksum, segment_bytes: Some(segment_bytes) })
    }

    fn cut(mut packet: Vec<u8>, undone: Undone) -> Vec<Vec<u8>> {
        let mut segments = Vec::new();
        let count = finish(&mut packet, undone, |segment| segments.push(segment.to_vec()));
        assert_eq!(count, segments.len());
        segments
    }

    /// What arrives, each as the places of its members; packets have some bytes.
    fn members(packets: &[Vec<u8>]) -> Vec<Vec<usize>> {
        let place =
            |member: &&[u8]| packets.iter().position(|packet| std::ptr::eq(&packet[..], *member)).unwrap();
        groups(packets).iter().map(|group| group.members.iter().map(place).collect()).collect()
    }

    proptest! {
        /// Checksums are right, headers say what they should, nothing is lost; and joined again it is what it was.
        #[test]
        fn what_is_cut_can_be_joined(v6: bool, payload in proptest::collection::vec(any::<u8>(), 1..9000), size in 200_u16..1500) {
            let (packet, undone) = large(v6, &payload, size);
            let segments = cut(packet.clone(), undone);
            prop_assert_eq!(segments.len(), payload.len().div_ceil(size.into()));
            let read: Vec<_> = segments.iter().map(|segment| Segment::read(segment).unwrap()).collect();
            prop_assert_eq!(read.iter().flat_map(|one| one.payload).copied().collect::<Vec<_>>(), payload);
            prop_assert!(read.windows(2).all(|pair| pair[0].next_sequence() == pair[1].sequence && !pair[0].is_pushed));
            prop_assert!(read.last().unwrap().is_pushed);
            let groups = groups(&segments);
            prop_assert_eq!(groups.len(), 1);
            prop_assert_eq!(groups[0].large().is_some(), segments.len() > 1);
            if let Some((large, headers, payloads)) = groups[0].large() {
                prop_assert_eq!(large.segment_bytes, size);
                prop_assert_eq!([&[&headers[..]][..], &payloads.collect::<Vec<_>>()].concat().concat(), packet);
            }
        }

        #[test]
        fn arbitrary_bytes_do_no_harm(
            mut packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..120), 0..20),
            version in proptest::sample::select(vec![0x45_u8, 0x46, 0x60, 0]),
            checksum in proptest::option::of((0..130_u16, 0..130_u16)), size in proptest::option::of(0..50_u16),
        ) {
            for packet in &mut packets {
                let length = packet.len() as u16;
                if packet.len() > 40 {
                    (packet[0], packet[6], packet[9]) = (version, if version == 0x60 { TCP } else { 0x40 }, TCP);
                    put(packet, if version == 0x60 { 4 } else { 2 }, if version == 0x60 { length - 40 } else { length });
                }
                let undone = Undone { checksum: checksum.map(|(from, at)| Checksum { from, at }), segment_bytes: size };
                finish(&mut packet.clone(), undone, |_| ());
            }
            let mut members = members(&packets).concat();
            members.sort_unstable();
            prop_assert_eq!(members, (0..packets.len()).collect::<Vec<_>>());
        }
    }

    fn segments(v6: bool, count: usize) -> Vec<Vec<u8>> {
        let (packet, undone) = large(v6, &vec![7; count * 500], 500);
        cut(packet, undone)
    }

    /// The same with something in TCP's header changed, and the checksum made right again.
    fn changed(segment: &[u8], change: impl Fn(&mut [u8])) -> Vec<u8> {
        let mut segment = segment.to_vec();
        let ((source, destination, _), at) =
            (ends(&segment).unwrap(), if segment[0] == 0x45 { 20 } else { 40 });
        change(&mut segment[at..]);
        put(&mut segment, at + 16, 0);
        let sum = transport_checksum((source, destination), TCP, &segment[at..]);
        put(&mut segment, at + 16, sum);
        segment
    }

    #[test]
    fn two_connections_are_joined_each_by_itself() {
        let ours = segments(false, 3);
        let theirs: Vec<_> = ours.iter().map(|one| changed(one, |tcp| tcp[1] ^= 1)).collect();
        let mixed: Vec<_> = ours.into_iter().zip(theirs).flat_map(|(a, b)| [a, b]).collect();
        assert_eq!(members(&mixed), [[0, 2, 4], [1, 3, 5]]);
    }

    #[test]
    fn what_differs_or_is_not_in_order_stands_alone_and_nothing_overtakes_it() {
        let whole = segments(true, 4);
        let with = |place: usize, packet: Vec<u8>| {
            let mut packets = whole.clone();
            packets[place] = packet;
            members(&packets)
        };
        let change = |change: fn(&mut [u8])| with(1, changed(&whole[1], change));
        let alone = vec![vec![0], vec![1], vec![2, 3]];
        assert_eq!(members(&whole), [vec![0, 1, 2, 3]]);
        assert_eq!(change(|tcp| tcp[13] |= 1), alone, "FIN");
        assert_eq!(change(|tcp| tcp[13] |= 4), alone, "RST");
        assert_eq!(change(|tcp| tcp[13] |= 0x20), alone, "URG");
        assert_eq!(change(|tcp| tcp[15] ^= 1), alone, "window");
        assert_eq!(change(|tcp| tcp[11] ^= 1), alone, "acknowledgement");
        assert_eq!(change(|tcp| tcp[31] ^= 1), alone, "time stamp");
        assert_eq!(change(|tcp| tcp[7] ^= 1), alone, "sequence");
        assert_eq!(change(|tcp| tcp[13] |= flag::PSH), [[0, 1], [2, 3]]);
        let mut damaged = whole[1].clone();
        damaged[80] ^= 1;
        assert_eq!(with(1, damaged), alone, "its receiver is to see the wrong checksum");
        let mut marked = whole[1].clone();
        marked[1] |= 0x30;
        assert_eq!(with(1, marked), alone, "congestion experienced");
        assert_eq!(members(&[whole[1].clone(), whole[0].clone()]), [[0], [1]]);
        assert_eq!(members(&[whole[0].clone(), whole[0].clone()]), [[0], [1]], "a copy");
    }

    #[test]
    fn what_may_be_fragmented_stands_alone() {
        let mut packets = segments(false, 2);
        for packet in &mut packets {
            (packet[6], packet[10], packet[11]) = (0, 0, 0);
            let sum = internet_checksum(&packet[..20]);
            put(packet, 10, sum);
        }
        assert_eq!(members(&packets), [[0], [1]]);
    }

    #[test]
    fn a_packet_stays_below_the_longest() {
        let mut packets = segments(false, 130);
        let last = packets.pop().unwrap();
        packets.push(changed(&last, |tcp| tcp[13] &= !flag::PSH));
        packets.push(changed(&last, |tcp| {
            let next = u32::from_be_bytes(*tcp[4..].first_chunk().unwrap()).wrapping_add(500);
            tcp[4..8].copy_from_slice(&next.to_be_bytes());
        }));
        assert_eq!(members(&packets).iter().map(Vec::len).collect::<Vec<_>>(), [130, 1]);
    }

    #[test]
    fn a_checksum_is_filled_in() {
        let (mut packet, undone) = large(false, &[1, 2, 3], 500);
        let undone = Undone { segment_bytes: None, ..undone };
        assert_eq!(finish(&mut packet, undone, |packet| assert!(Segment::read(packet).is_some())), 1);
    }
}
