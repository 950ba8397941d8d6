//! The bound end-to-end tunnel of RFC 7402 appendix B: against itself, against transport mode with addresses changed outside of
//! it, and against packets that other programs made.

use crate::support;

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::{Secret, TrafficKey};
use keytoll_esp::sad::{Headers, Mode, OuterHeader, PairConfig, Path};
use keytoll_esp::selector::{Addresses, Ports, Selector, Selectors};
use keytoll_esp::{Dropped, Outbound, Sent};
use keytoll_net::Addr;
use proptest::prelude::*;
use support::{HITS, Host, OUTER, Room, beet, checksum, datagram, hex, ip, key, pair};

const GCM: Encryption = Encryption::Aes128Gcm16;
const V6: [&str; 2] = ["2001:db8::1", "2001:db8::2"];

/// Where ESP goes: HIP's port of UDP, or an address directly.
fn at(text: &str, in_udp: bool) -> Addr {
    if in_udp { Addr::udp(ip(text), 10_500) } else { Addr::Ip { ip: ip(text), protocol: 50 } }
}

fn path(end: usize, in_udp: bool, outer: [&str; 2]) -> Path {
    let headers = Headers::Here(OuterHeader::default());
    Path { local: at(outer[end], in_udp), remote: at(outer[1 - end], in_udp), headers }
}

/// Two hosts between their HITs, with headers of our own.
fn hosts(in_udp: bool, outer: [&str; 2]) -> [Host; 2] {
    let key = key(GCM, None);
    [0, 1].map(|end| Host::with(PairConfig { path: path(end, in_udp, outer), ..beet(end, &key) }))
}

/// Two hosts that leave headers to their sockets.
fn behind_sockets() -> [Host; 2] {
    let key = key(GCM, None);
    [0, 1].map(|end| Host::with(beet(end, &key)))
}

/// Traffic class, flow label and hop limit that are not the usual ones.
fn marked(mut packet: Vec<u8>) -> Vec<u8> {
    packet[..4].copy_from_slice(&[0x6b, 0x91, 0x23, 0x45]);
    packet[7] = 61;
    packet
}

/// An IPv6 packet with extension headers in front of its datagram.
fn with_extensions(first: u8, extensions: &[u8]) -> Vec<u8> {
    let mut packet = datagram(HITS[0], HITS[1], 80);
    packet.splice(40..40, extensions.iter().copied());
    (packet[5], packet[6]) = (40 + extensions.len() as u8, first);
    packet
}

#[test]
fn packets_come_back_between_their_hits() {
    for in_udp in [false, true] {
        for outer in [OUTER, V6] {
            let [mut a, mut b] = hosts(in_udp, outer);
            let packet = marked(datagram(HITS[0], HITS[1], 300));
            let (sent, outside) = a.send(&packet).unwrap();
            assert!(matches!(sent, Sent::Protected(path) if path.remote == at(outer[1], in_udp)));
            let (arrived, mut inside) = b.receive_packet(&outside).unwrap();
            assert_eq!((arrived.header_len, arrived.next_header), (40, 17));
            assert_eq!((arrived.flow.source(), arrived.flow.destination()), (ip(HITS[0]), ip(HITS[1])));
            assert_eq!(arrived.flow.ports(), Some((4000, 8080)));
            if outer == OUTER {
                // IPv4 has no flow label to carry it in.
                inside[1..4].copy_from_slice(&packet[1..4]);
            }
            assert_eq!(inside, packet, "{in_udp} {outer:?}");
        }
    }
}

/// RFC 7402 §B.1.2: on the way it is transport mode: nothing of the inner header, and the fields of the outer one are its.
#[test]
fn the_inner_header_is_not_sent() {
    for (outer, header_len) in [(OUTER, 20), (V6, 40)] {
        let [mut a, _] = hosts(false, outer);
        let outside = a.send(&marked(datagram(HITS[0], HITS[1], 300))).unwrap().1;
        // Sequence number and IV, payload with its trailer on a multiple of 4, check value.
        assert_eq!(outside.len(), header_len + 8 + 8 + (260 + 4) + 16);
        if header_len == 20 {
            let (class, flags, hops) = (outside[1], outside[6], outside[8]);
            assert_eq!((class, flags, hops, outside[9]), (0xb9, 0x40, 61, 50));
        } else {
            assert_eq!((&outside[..4], outside[6], outside[7]), (&[0x6b, 0x91, 0x23, 0x45][..], 50, 61));
        }
    }
}

/// RFC 7402 §B.1.6: a host whose socket has kept the outer header gets the inner addresses beside the payload.
#[test]
fn a_payload_without_a_header_is_of_the_flow_between_the_hits() {
    let [mut a, mut b] = behind_sockets();
    let packet = datagram(HITS[0], HITS[1], 120);
    let outside = a.send(&packet).unwrap().1;
    assert_eq!(outside.len(), 8 + 8 + (80 + 4) + 16);
    let (arrived, inside) = b.receive(1, &outside).unwrap();
    assert_eq!((arrived.header_len, arrived.next_header, &inside[..]), (0, 17, &packet[40..]));
    assert_eq!((arrived.flow.source(), arrived.flow.destination()), (ip(HITS[0]), ip(HITS[1])));
    assert_eq!(arrived.flow.ports(), Some((4000, 8080)));
    assert_eq!(b.receive(1, &outside), Err(Dropped::Replay));
}

/// RFC 7402 §B.1.5: the addresses are exactly those of the SA, whatever its selectors say.
#[test]
fn only_packets_between_the_hits_leave() {
    let [mut a, _] = behind_sockets();
    let [ours, peers] = HITS;
    for (source, destination) in [(peers, ours), (ours, ours), ("2001:20::9", peers), (ours, "2001:20::9")] {
        assert_eq!(a.send(&datagram(source, destination, 80)), Err(Dropped::NoSa), "{source} {destination}");
    }
    assert_eq!(a.send(&datagram(OUTER[0], OUTER[1], 80)), Err(Dropped::NoSa));
    let all = |first, last| Addresses::new(ip(first), ip(last)).unwrap();
    for all in [all("::", "ffff::"), all("0.0.0.0", "255.255.255.255")] {
        let selectors = Selectors::between(all, all);
        let mut wide = Host::with(PairConfig { selectors, ..beet(0, &key(GCM, None)) });
        assert_eq!(wide.send(&datagram("2001:20::9", peers, 80)), Err(Dropped::NoSa));
        assert_eq!(wide.send(&datagram(OUTER[0], OUTER[1], 80)), Err(Dropped::NoSa));
    }
}

/// RFC 4301 §5.2 holds for the packet that comes out: protocol and ports are looked at.
#[test]
fn selectors_narrow_what_is_between_the_hits() {
    let [mut a, _] = behind_sockets();
    let web = |text| Selector { addresses: Addresses::one(ip(text)), protocol: 6, ports: Ports::ANY };
    let selectors = Selectors { local: [web(HITS[1])].into(), remote: [web(HITS[0])].into() };
    let mut b = Host::with(PairConfig { selectors, ..beet(1, &key(GCM, None)) });
    let outside = a.send(&datagram(HITS[0], HITS[1], 80)).unwrap().1;
    assert_eq!(b.receive(1, &outside), Err(Dropped::Selectors));
}

/// RFC 7402 §B.1.5: extension headers are behind the IP header, so they travel inside; ports are found behind them.
#[test]
fn extension_headers_travel_inside() {
    // Router alert, a routing header that is used up, padding as a destination option, a fragment of a whole packet.
    let (alert, routing) = ([17, 0, 5, 2, 0, 0, 1, 0], [17, 0, 4, 0, 0, 0, 0, 0]);
    let (options, whole) = ([17, 0, 1, 4, 0, 0, 0, 0], [17, 0, 0, 0, 0, 0, 0, 9]);
    let chain = [&[43][..], &alert[1..], &[44], &routing[1..], &[60], &whole[1..], &options].concat();
    let cases = [(0, &alert[..]), (43, &routing), (60, &options), (44, &whole), (0, &chain)];
    for (first, extensions) in cases {
        let packet = with_extensions(first, extensions);
        let [mut a, mut b] = hosts(false, V6);
        let (arrived, inside) = b.receive_packet(&a.send(&packet).unwrap().1).unwrap();
        assert_eq!((arrived.next_header, inside), (first, packet.clone()));
        assert_eq!((arrived.flow.protocol(), arrived.flow.ports()), (17, Some((4000, 8080))));
        let [mut a, mut b] = behind_sockets();
        let (arrived, inside) = b.receive(1, &a.send(&packet).unwrap().1).unwrap();
        assert_eq!((arrived.next_header, &inside[..]), (first, &packet[40..]));
        assert_eq!((arrived.flow.protocol(), arrived.flow.ports()), (17, Some((4000, 8080))));
    }
}

/// RFC 4303 §3.3.4: as in transport mode, a fragment is neither protected nor taken.
#[test]
fn fragments_do_not_pass() {
    for fragment in [[17, 0, 0, 1, 0, 0, 0, 9], [17, 0, 0, 8, 0, 0, 0, 9], [17, 0, 1, 0, 0, 0, 0, 9]] {
        let [mut a, _] = behind_sockets();
        assert_eq!(a.send(&with_extensions(44, &fragment)), Err(Dropped::Fragment), "{fragment:?}");
        let mut payload = fragment.to_vec();
        payload.resize(40, 0);
        assert_eq!(received(44, &payload), Err(Dropped::Fragment), "{fragment:?}");
    }
}

/// What comes of a payload that an authentic peer sends.
fn received(next_header: u8, payload: &[u8]) -> Result<Vec<u8>, Dropped> {
    let [mut a, mut b] = behind_sockets();
    let mut out = Outbound::new(0x101, key(GCM, None));
    let mut room = Room::around(payload);
    let mut frame = room.frame();
    out.seal(&mut frame, next_header, &mut a.rng, &mut a.crypto, &mut ()).expect("its numbers begin");
    b.receive(1, frame.bytes()).map(|(_, inside)| inside)
}

/// RFC 7402 §B.1.7: a pseudo-header carries options of IPv4, which no HIT has.
#[test]
fn options_of_ipv4_do_not_come_between_hits() {
    assert_eq!(received(94, &[17, 0, 0, 0, 1, 1, 1, 1]), Err(Dropped::NextHeader));
    assert_eq!(received(59, &[0; 8]), Err(Dropped::Dummy));
    // Shorter than any header of its kind: the stack behind will see that.
    for (next_header, payload) in [(17, &[][..]), (60, &[17]), (60, &[17, 9, 1, 4, 0, 0, 0, 0]), (0, &[])] {
        assert_eq!(received(next_header, payload), Ok(payload.to_vec()), "{next_header}");
    }
}

/// RFC 6040: marks of congestion pass, for the outer header's field becomes the inner one's.
#[test]
fn congestion_marks_come_through() {
    let [mut a, mut b] = hosts(false, OUTER);
    let mut outside = a.send(&marked(datagram(HITS[0], HITS[1], 80))).unwrap().1;
    outside[1] |= 3;
    outside[8] -= 7;
    let inside = b.receive_packet(&outside).unwrap().1;
    assert_eq!((inside[0] & 15) << 4 | inside[1] >> 4, 0xbb);
    assert_eq!(inside[7], 61 - 7, "RFC 7402 §B.1.4: the hop limit is the outer one, too");
}

/// RFC 7402 §3.2: the peer may have transport mode, and change addresses and checksums outside of it.
#[test]
fn a_peer_in_transport_mode_is_understood() {
    let packet = datagram(HITS[0], HITS[1], 200);
    let outer = datagram(V6[0], V6[1], 200);
    let [mut a, mut b] = [0, 1].map(|end| {
        let addresses = |end: usize| Addresses::one(ip(V6[end]));
        let selectors = Selectors::between(addresses(end), addresses(1 - end));
        let path = path(end, false, V6);
        Host::with(PairConfig { selectors, mode: Mode::Transport, path, ..pair(end, &key(GCM, None)) })
    });
    let [mut bound_a, mut bound_b] = hosts(false, V6);
    assert_eq!(bound_b.receive_packet(&a.send(&outer).unwrap().1).unwrap().1, packet);
    assert_eq!(b.receive_packet(&bound_a.send(&packet).unwrap().1).unwrap().1, outer);
}

/// A NAT may change the outer addresses: nothing inside counts them.
#[test]
fn a_nat_changes_nothing_inside() {
    let key = key(GCM, None);
    let [mut a, mut b] = [0, 1].map(|end| {
        let path = path(end, true, OUTER);
        Host::with(PairConfig { path, follows_peer: true, ..beet(end, &key) })
    });
    let packet = datagram(HITS[0], HITS[1], 90);
    let mut outside = a.send(&packet).unwrap().1;
    outside[12..16].copy_from_slice(&[198, 51, 100, 7]);
    outside[10..12].fill(0);
    let sum = checksum(&outside[..20]);
    outside[10..12].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(b.receive_packet(&outside).unwrap().1, packet);
    let Sent::Protected(path) = b.send(&datagram(HITS[1], HITS[0], 90)).unwrap().0 else { panic!() };
    assert_eq!(path.remote, at("198.51.100.7", true));
}

#[test]
fn room_is_what_a_packet_of_the_mtu_carries() {
    const MTU_BYTES: usize = 1400;
    for in_udp in [false, true] {
        for outer in [OUTER, V6] {
            let [mut a, _] = hosts(in_udp, outer);
            let room_bytes = a.ipsec.room_bytes(ip(HITS[1]), MTU_BYTES).expect("there is a pair");
            let mut outside = |len| a.send(&datagram(HITS[0], HITS[1], len)).unwrap().1.len();
            let (fits, not) = (outside(room_bytes), outside(room_bytes + 1));
            assert!((MTU_BYTES - 3..=MTU_BYTES).contains(&fits) && not > MTU_BYTES, "{fits} {not}");
        }
    }
}

/// Byte for byte, both ways: nothing in AES-GCM with the sequence number as its IV is drawn by lot.
#[test]
fn packets_put_together_by_hand() {
    let lines = include_str!("published/beet.txt").lines();
    let lines: Vec<_> = lines.filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(lines.len(), 8);
    let traffic_key = TrafficKey::new(GCM, None, Secret::new((0x30..0x44).collect()), Secret::default());
    for line in lines {
        let fields: Vec<_> = line.split(' ').collect();
        let &[_, way, inner, outer] = &fields[..] else { panic!("four fields: {line}") };
        let (addresses, in_udp) = (if way.contains("ipv4") { OUTER } else { V6 }, way.ends_with("udp"));
        let mut hosts = [0, 1].map(|end| {
            let (inbound_spi, outbound_spi) = (0x222, 0x222);
            let path = path(end, in_udp, addresses);
            let pair = beet(end, &traffic_key);
            Host::with(PairConfig { inbound_spi, outbound_spi, path, esn: true, ..pair })
        });
        let (inner, outer) = (hex(inner), hex(outer));
        // The numbers before it.
        (0..6).for_each(|_| drop(hosts[0].send(&datagram(HITS[0], HITS[1], 80)).unwrap()));
        assert_eq!(hosts[0].send(&inner).unwrap().1, outer, "{way}");
        let mut inside = hosts[1].receive_packet(&outer).unwrap_or_else(|why| panic!("{way}: {why}")).1;
        if addresses == OUTER {
            inside[1] |= inner[1] & 15;
            inside[2..4].copy_from_slice(&inner[2..4]);
        }
        assert_eq!(inside, inner, "{way}");
    }
}

/// Packets of Linux, and what it answers to ours: an ICMPv6 message counts the HITs in its checksum.
#[test]
fn linux() {
    let lines = include_str!("published/linux-beet.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    let lines: Vec<_> = lines.map(|line| line.split_once(' ').expect("two fields")).collect();
    assert_eq!(lines.len(), 16);
    let key = TrafficKey::new(GCM, None, Secret::new((0x30..0x44).collect()), Secret::default());
    let host = |end: usize, outer| {
        let (inbound_spi, outbound_spi) = if end == 0 { (0x223, 0x222) } else { (0x222, 0x223) };
        let path = path(end, false, outer);
        Host::with(PairConfig { inbound_spi, outbound_spi, path, ..beet(end, &key) })
    };
    for (name, outer) in [("v4", OUTER), ("v6", V6), ("asked", OUTER), ("answered", OUTER)] {
        let (mut hosts, mut ours) = ([0, 1].map(|end| host(end, outer)), host(0, outer));
        for packet in lines.iter().filter(|line| line.0 == name).map(|line| hex(line.1)) {
            let header_len = if outer == OUTER { 20 } else { 40 };
            let end = usize::from(packet[header_len + 3] == 0x22);
            let (arrived, inside) =
                hosts[end].receive_packet(&packet).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!((arrived.header_len, arrived.next_header, inside[40]), (40, 58, 129 - end as u8));
            let message = &inside[40..];
            let pseudo = [&inside[8..40], &(message.len() as u32).to_be_bytes(), &[0, 0, 0, 58]].concat();
            assert_eq!(checksum(&[&pseudo, message].concat()), 0, "{name}");
            if name == "asked" {
                assert_eq!(ours.send(&inside).unwrap().1, packet, "Linux has answered what we make");
            }
        }
    }
}

proptest! {
    /// With any cipher, over IPv4 and IPv6, in UDP and not, whether the receiver's buffer has room in front or not.
    #[test]
    fn what_was_sealed_comes_back(
        encryption in proptest::sample::select(Encryption::ALL), integrity in proptest::sample::select(Integrity::ALL),
        in_udp: bool, is_v4: bool, esn: bool, len in 48_usize..200,
    ) {
        let key = key(encryption, Some(integrity));
        let outer = if is_v4 { OUTER } else { V6 };
        let [mut a, mut b] =
            [0, 1].map(|end| Host::with(PairConfig { path: path(end, in_udp, outer), esn, ..beet(end, &key) }));
        let packet = datagram(HITS[0], HITS[1], len);
        for _ in 0..3 {
            let outside = a.send(&packet).unwrap().1;
            prop_assert_eq!(b.receive_packet(&outside).unwrap().1, packet.clone());
            prop_assert_eq!(b.receive_packet(&outside), Err(Dropped::Replay));
            let outside = a.send(&packet).unwrap().1;
            let mut room = Room::around(&outside);
            let mut frame = room.frame();
            b.ipsec.inbound_packet(&mut frame, &mut b.crypto, &mut ()).unwrap();
            prop_assert_eq!(frame.bytes(), &packet[..]);
        }
    }
}
