//! Two hosts against each other and against whoever is between them: RFC 4301 §5 from packet to packet.

use crate::support;

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_esp::lifetime::{Lifetime, Limit};
use keytoll_esp::sad::{DontFragment, Headers, Mode, OuterHeader, PairConfig, Path, Start};
use keytoll_esp::selector::{Addresses, Flow, Ports, Selector, Selectors};
use keytoll_esp::spd::{Action, Policy, Spd};
use keytoll_esp::{Dropped, Event, Ipsec, Original, Probe, Sent, Stage};
use keytoll_net::{Addr, ip::Fragment};
use proptest::prelude::*;
use support::{Host, INNER, OUTER, Room, checksum, datagram, ip, key, pair};

const GCM: Encryption = Encryption::Aes128Gcm16;

/// A pair as [`pair`] makes it, changed by both ends alike.
fn hosts(encryption: Encryption, change: impl Fn(usize, &mut PairConfig)) -> [Host; 2] {
    let key = key(encryption, Some(Integrity::HmacSha1_96));
    [0, 1].map(|end| {
        let mut pair = pair(end, &key);
        change(end, &mut pair);
        Host::with(pair)
    })
}

fn plain_hosts() -> [Host; 2] {
    hosts(GCM, |_, _| {})
}

/// Where ESP goes: port 4500 of UDP, or an address directly.
fn at(text: &str, in_udp: bool) -> Addr {
    if in_udp { Addr::udp(ip(text), 4500) } else { Addr::Ip { ip: ip(text), protocol: 50 } }
}

/// IPv6 inside, outside, or both; on IP or in UDP; in a tunnel or not; headers of our own.
fn with_headers(mode: Mode, in_udp: bool, inner: [&str; 2], outer: [&str; 2]) -> [Host; 2] {
    hosts(GCM, |end, pair| {
        let addresses = |text: &str| Addresses::one(ip(text));
        pair.mode = mode;
        pair.selectors = Selectors::between(addresses(inner[end]), addresses(inner[1 - end]));
        pair.path = Path {
            local: at(outer[end], in_udp),
            remote: at(outer[1 - end], in_udp),
            headers: Headers::Here(OuterHeader::default()),
        };
    })
}

const V6: [&str; 2] = ["2001:db8::1", "2001:db8::2"];

#[test]
fn packets_pass_in_every_mode_and_family() {
    for in_udp in [false, true] {
        for (inner, outer) in [(INNER, OUTER), (V6, OUTER), (INNER, V6), (V6, V6)] {
            let [mut a, mut b] = with_headers(Mode::Tunnel, in_udp, inner, outer);
            let packet = datagram(inner[0], inner[1], 300);
            let (sent, outside) = a.send(&packet).unwrap();
            assert!(
                matches!(sent, Sent::Protected(Path { remote, .. }) if remote.ip() == Some(ip(outer[1])))
            );
            check_outer(&outside, in_udp);
            let (arrived, inside) = b.receive_packet(&outside).unwrap();
            assert_eq!((inside, arrived.spi), (packet, 0x101), "{in_udp} {inner:?} {outer:?}");
            assert_eq!(arrived.flow.ports(), Some((4000, 8080)));
        }
        for ends in [OUTER, V6] {
            let [mut a, mut b] = with_headers(Mode::Transport, in_udp, ends, ends);
            let packet = datagram(ends[0], ends[1], 300);
            let (_, outside) = a.send(&packet).unwrap();
            check_outer(&outside, in_udp);
            let (arrived, inside) = b.receive_packet(&outside).unwrap();
            assert_eq!((inside, arrived.flow.source()), (packet, ip(ends[0])), "{in_udp} {ends:?}");
        }
    }
}

/// Lengths, protocol numbers and checksums of a packet that carries ESP.
fn check_outer(packet: &[u8], in_udp: bool) {
    let protocol = if in_udp { 17 } else { 50 };
    let header_len = if packet[0] >> 4 == 4 {
        assert_eq!(
            (usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet[9]),
            (packet.len(), protocol)
        );
        assert_eq!(checksum(&packet[..20]), 0, "the header's checksum");
        20
    } else {
        assert_eq!(
            (usize::from(u16::from_be_bytes([packet[4], packet[5]])), packet[6]),
            (packet.len() - 40, protocol)
        );
        40
    };
    if in_udp {
        let udp = &packet[header_len..];
        assert_eq!(
            udp[..6],
            [[4500_u16.to_be_bytes(); 2], [(udp.len() as u16).to_be_bytes(); 2]].concat().concat()[..6]
        );
        // RFC 8200 §8.1: over IPv6 the checksum must be there; over IPv4 it is zero.
        let pseudo = [&packet[8..40], &(udp.len() as u32).to_be_bytes(), &[0, 0, 0, 17]].concat();
        assert!(if header_len == 20 { udp[6..8] == [0, 0] } else { checksum(&[&pseudo, udp].concat()) == 0 });
    }
}

/// RFC 8200 §4.1: what the way of a packet needs stays in front of ESP, and comes back.
#[test]
fn transport_mode_keeps_options_and_extension_headers_in_front() {
    let [mut a, mut b] = with_headers(Mode::Transport, false, OUTER, OUTER);
    let mut packet = datagram(OUTER[0], OUTER[1], 60);
    // Router alert, RFC 2113.
    packet.splice(20..20, [0x94, 4, 0, 0]);
    (packet[0], packet[3]) = (0x46, 64);
    packet[10..12].fill(0);
    let sum = checksum(&packet[..24]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let (_, outside) = a.send(&packet).unwrap();
    assert_eq!((outside[0], outside[9], &outside[20..24]), (0x46, 50, &[0x94, 4, 0, 0][..]));
    assert_eq!(b.receive_packet(&outside).unwrap().1, packet);

    let [mut a, mut b] = with_headers(Mode::Transport, false, V6, V6);
    let mut packet = datagram(V6[0], V6[1], 80);
    // Hop-by-hop options with a router alert, RFC 2711.
    packet.splice(40..40, [17, 0, 5, 2, 0, 0, 1, 0]);
    (packet[5], packet[6]) = (48, 0);
    let (_, outside) = a.send(&packet).unwrap();
    assert_eq!((outside[6], &outside[40..48]), (0, &[50, 0, 5, 2, 0, 0, 1, 0][..]));
    assert_eq!(b.receive_packet(&outside).unwrap().1, packet);
}

#[test]
fn a_replay_at_every_position_of_the_window_is_dropped() {
    for replay_window in [32, 64, 200, 4096] {
        let [mut a, mut b] = hosts(GCM, |_, pair| pair.replay_window = replay_window);
        let packet = datagram(INNER[0], INNER[1], 64);
        let sent: Vec<_> = (0..replay_window + 20).map(|_| a.send(&packet).unwrap().1).collect();
        assert!(sent.iter().all(|packet| b.receive(1, packet).is_ok()));
        assert!(sent.iter().all(|packet| b.receive(1, packet) == Err(Dropped::Replay)));
        assert_eq!(b.ipsec.counters().of(Dropped::Replay), u64::from(replay_window) + 20);
    }
}

/// In whatever order packets come, each passes once, unless it comes later than the window is wide.
#[test]
fn reordered_packets_pass_within_the_window() {
    let [mut a, mut b] = plain_hosts();
    let packet = datagram(INNER[0], INNER[1], 64);
    let sent: Vec<_> = (0..130).map(|_| a.send(&packet).unwrap().1).collect();
    assert!(b.receive(1, &sent[100]).is_ok());
    let late: Vec<_> = (0..100).map(|n| b.receive(1, &sent[n]).is_ok()).collect();
    assert!(late.iter().enumerate().all(|(n, passed)| *passed == (n > 100 - 64)), "{late:?}");
}

#[test]
fn every_reason_to_drop_has_its_counter() {
    let [mut a, mut b] = plain_hosts();
    let good = a.send(&datagram(INNER[0], INNER[1], 100)).unwrap().1;
    let changed = |at: usize| {
        let mut bad = good.clone();
        bad[at] ^= 1;
        bad
    };
    assert_eq!(b.receive(1, &changed(3)), Err(Dropped::UnknownSpi));
    assert_eq!(b.receive(1, &changed(good.len() - 1)), Err(Dropped::Integrity));
    assert!(matches!(b.receive(1, &good[..3]), Err(Dropped::Malformed(_))));
    assert!(matches!(b.receive(1, &good[..30]), Err(Dropped::Malformed(_))));
    // A damaged number is checked before the packet is, and a packet that fails moves no window.
    assert_eq!(b.receive(1, &changed(4)), Err(Dropped::Integrity));
    assert!(b.receive(1, &good).is_ok());
    let counted: Vec<_> = b.ipsec.counters().all().collect();
    assert_eq!(
        counted,
        [("esp: malformed", 2), ("esp: no SA for this SPI", 1), ("esp: integrity check failed", 2)]
    );
    assert_eq!(a.send(&datagram(INNER[0], "10.0.0.3", 100)), Err(Dropped::NoSa));
    assert!(matches!(a.send(&good[..10]), Err(Dropped::Malformed(_))));
    assert!(matches!(a.send(&datagram(INNER[0], INNER[1], 100)[..99]), Err(Dropped::Malformed(_))));
}

/// RFC 4301 §5.2: what the sender put in does not have to be what the receiver wants out.
#[test]
fn what_comes_out_must_be_what_the_sa_is_for() {
    let wide = |end: usize, pair: &mut PairConfig| {
        if end == 0 {
            let all = Addresses::new(ip("0.0.0.0"), ip("255.255.255.255")).unwrap();
            pair.selectors = Selectors::between(all, all);
        }
    };
    let [mut a, mut b] = hosts(GCM, wide);
    for (source, destination) in [("10.0.0.9", INNER[1]), (INNER[0], "10.0.0.9"), (INNER[1], INNER[0])] {
        let sent = a.send(&datagram(source, destination, 80)).unwrap().1;
        assert_eq!(b.receive(1, &sent), Err(Dropped::Selectors), "{source} {destination}");
    }
    let sent = a.send(&datagram(INNER[0], INNER[1], 80)).unwrap().1;
    assert!(b.receive(1, &sent).is_ok());
}

#[test]
fn selectors_know_protocols_and_ports() {
    let web = |end: usize, pair: &mut PairConfig| {
        let side = |at: usize, ports| {
            [Selector { addresses: Addresses::one(ip(INNER[at])), protocol: 17, ports }].into()
        };
        let ports = [Ports::ANY, Ports::Range(8080, 8080)];
        pair.selectors = Selectors { local: side(end, ports[end]), remote: side(1 - end, ports[1 - end]) };
    };
    let [mut a, mut b] = hosts(GCM, web);
    let mut packet = datagram(INNER[0], INNER[1], 80);
    let sent = a.send(&packet).unwrap().1;
    assert!(b.receive(1, &sent).is_ok());
    packet[23] ^= 1;
    assert_eq!(a.send(&packet), Err(Dropped::NoSa), "another port");
    packet[9] = 6;
    assert_eq!(a.send(&packet), Err(Dropped::NoSa), "another protocol");
}

/// RFC 4301 §7: a tunnel for every port carries fragments; one for some ports, and transport mode, do not.
#[test]
fn fragments_pass_where_ports_do_not_matter() {
    let mut later = datagram(INNER[0], INNER[1], 80);
    // Offset 80 bytes, no more to come; and don't fragment is off.
    (later[6], later[7]) = (0, 10);
    let [mut a, mut b] = plain_hosts();
    let sent = a.send(&later).unwrap().1;
    assert_eq!(b.receive(1, &sent).unwrap().1, later);

    let [mut a, _] = hosts(GCM, |_, pair| pair.selectors.remote[0].ports = Ports::Range(8080, 8080));
    assert!(a.send(&datagram(INNER[0], INNER[1], 80)).is_ok());
    assert_eq!(a.send(&later), Err(Dropped::NoSa));

    let [mut a, mut b] = with_headers(Mode::Transport, false, INNER, INNER);
    assert_eq!(a.send(&later), Err(Dropped::Fragment));
    let mut outside = a.send(&datagram(INNER[0], INNER[1], 80)).unwrap().1;
    outside[6] = 0x20;
    assert_eq!(b.receive_packet(&outside), Err(Dropped::Fragment), "RFC 4303 §3.4.1");
}

/// RFC 4301 §8.1 and §5.1.2, RFC 6040 §4.1: what the outer header takes from the inner one.
#[test]
fn the_outer_header_copies_what_it_should() {
    for (dont_fragment, expected) in
        [(DontFragment::Copy, [0, 0x40]), (DontFragment::Set, [0x40; 2]), (DontFragment::Clear, [0; 2])]
    {
        let [mut a, _] = with_headers(Mode::Tunnel, false, INNER, OUTER);
        let key = key(GCM, None);
        let mut config = pair(0, &key);
        config.path.headers = Headers::Here(OuterHeader { hop_limit: 33, dont_fragment });
        a.ipsec.install(config);
        for (inner, outer) in [0, 0x40].into_iter().zip(expected) {
            let mut packet = datagram(INNER[0], INNER[1], 80);
            (packet[1], packet[6]) = (0xb9, inner);
            let outside = a.send(&packet).unwrap().1;
            assert_eq!((outside[1], outside[6], outside[8]), (0xb9, outer, 33), "{dont_fragment:?}");
        }
    }
}

/// RFC 6040 §4.2, figure 4: inner, outer, and what comes out.
#[test]
fn congestion_marks_come_through_the_tunnel() {
    for (inner, outer, expected) in [
        (0, 0, Ok(0)),
        (0, 1, Ok(0)),
        (0, 2, Ok(0)),
        (0, 3, Err(Dropped::Congestion)),
        (2, 0, Ok(2)),
        (2, 1, Ok(1)),
        (2, 2, Ok(2)),
        (2, 3, Ok(3)),
        (1, 0, Ok(1)),
        (1, 2, Ok(1)),
        (1, 3, Ok(3)),
        (3, 0, Ok(3)),
        (3, 2, Ok(3)),
    ] {
        for ends in [INNER, V6] {
            let [mut a, mut b] = with_headers(Mode::Tunnel, false, ends, OUTER);
            let mut packet = datagram(ends[0], ends[1], 80);
            let (at, shift) = if packet[0] >> 4 == 4 { (1, 0) } else { (1, 4) };
            packet[at] |= inner << shift;
            let mut outside = a.send(&packet).unwrap().1;
            assert_eq!(outside[1] & 3, inner);
            outside[1] = outside[1] & !3 | outer;
            let came = b.receive_packet(&outside).map(|(_, packet)| packet[at] >> shift & 3);
            assert_eq!(came, expected, "{inner} in {outer}");
        }
    }
}

/// RFC 4303 §2.7: bytes behind the inner packet hide its length; here the sender pretends to a longer payload.
#[test]
fn padding_for_confidentiality_of_traffic_is_cut_off() {
    let [_, mut b] = plain_hosts();
    let mut out = keytoll_esp::Outbound::new(0x101, key(GCM, None));
    let packet = datagram(INNER[0], INNER[1], 80);
    let mut a = Host::default();
    for extra in [1, 400] {
        let padded = [&packet[..], &vec![0; extra]].concat();
        let mut room = Room::around(&padded);
        let mut frame = room.frame();
        out.seal(&mut frame, 4, &mut a.rng, &mut a.crypto, &mut ()).unwrap();
        assert_eq!(b.receive(1, frame.bytes()).unwrap().1, packet);
    }
}

/// RFC 4303 §2.6: authentic, but of a kind that the SA does not carry.
#[test]
fn a_tunnel_carries_ip_of_the_version_it_says() {
    let [_, mut b] = plain_hosts();
    let mut out = keytoll_esp::Outbound::new(0x101, key(GCM, None));
    let mut a = Host::default();
    for (next_header, expected) in
        [(17, Dropped::NextHeader), (41, Dropped::NextHeader), (59, Dropped::Dummy)]
    {
        let mut room = Room::around(&datagram(INNER[0], INNER[1], 80));
        let mut frame = room.frame();
        out.seal(&mut frame, next_header, &mut a.rng, &mut a.crypto, &mut ()).unwrap();
        assert_eq!(b.receive(1, frame.bytes()), Err(expected), "{next_header}");
    }
}

#[test]
fn the_first_policy_that_fits_decides() {
    let side = |text: &str| Addresses::one(ip(text));
    let policy =
        |peer: &str, action| Policy { selectors: Selectors::between(side(INNER[0]), side(peer)), action };
    let spd = Spd::new(
        vec![
            policy("10.0.0.7", Action::Discard),
            policy("10.0.0.8", Action::Bypass),
            policy("10.0.0.8", Action::Discard),
        ],
        Action::Protect,
    );
    let mut host = Host { ipsec: Ipsec::new(spd), ..Host::default() };
    host.ipsec.install(pair(0, &key(GCM, None)));
    let mut to =
        |peer: &str| host.send(&datagram(INNER[0], peer, 80)).map(|(sent, _)| sent == Sent::Bypassed);
    assert_eq!([to("10.0.0.7"), to("10.0.0.8"), to(INNER[1])], [Err(Dropped::Policy), Ok(true), Ok(false)]);
    let mut from = |peer: &str| host.ipsec.inbound_unprotected(&datagram(peer, INNER[0], 80)).map(|_| ());
    assert_eq!(from("10.0.0.7"), Err(Dropped::Policy));
    assert_eq!(from("10.0.0.8"), Ok(()));
    assert_eq!(from(INNER[1]), Err(Dropped::Unprotected));
}

#[test]
fn a_soft_lifetime_asks_and_a_hard_one_ends() {
    let lifetime = Lifetime {
        soft: Limit { bytes: 250, packets: u64::MAX },
        hard: Limit { bytes: u64::MAX, packets: 5 },
    };
    let [mut a, mut b] = hosts(GCM, |_, pair| pair.lifetime = lifetime);
    let packet = datagram(INNER[0], INNER[1], 100);
    let sent: Vec<_> = (0..7).map(|_| a.send(&packet).map(|(_, packet)| packet)).collect();
    assert_eq!(sent.iter().filter(|sent| **sent == Err(Dropped::Lifetime)).count(), 2);
    assert_eq!(
        [a.ipsec.poll_event(), a.ipsec.poll_event(), a.ipsec.poll_event()],
        [Some(Event::RekeyWanted(0x100)), Some(Event::Expired(0x100)), None]
    );
    assert!(sent.iter().flatten().all(|packet| b.receive(1, packet).is_ok()));
    assert_eq!([b.ipsec.poll_event(), b.ipsec.poll_event()], [Some(Event::RekeyWanted(0x101)), None]);
    assert_eq!(b.ipsec.used(0x101), Some((Limit { bytes: 500, packets: 5 }, Limit { bytes: 0, packets: 0 })));
}

/// RFC 7296 §2.8: whatever is lost of a rekeying, some SA carries every packet.
#[test]
fn rekeying_loses_no_packet() {
    let [mut a, mut b] = plain_hosts();
    let packet = |from: usize| datagram(INNER[from], INNER[1 - from], 80);
    let old = a.send(&packet(0)).unwrap().1;
    let new_key = key(Encryption::Aes256Gcm16, None);
    let rekeyed = |end: usize, start| PairConfig {
        inbound_spi: 0x200 + end as u32,
        outbound_spi: 0x200 + 1 - end as u32,
        start,
        ..pair(end, &new_key)
    };
    // b answers the rekeying: it must hear before it speaks, for its answer may be lost.
    b.ipsec.install(rekeyed(1, Start::WhenHeard));
    let from_b = b.send(&packet(1)).unwrap().1;
    assert_eq!(from_b[..4], 0x100_u32.to_be_bytes(), "still on the old one");
    assert!(a.receive(0, &from_b).is_ok());
    // The answer arrives: a speaks on the new one at once, and b after it.
    a.ipsec.install(rekeyed(0, Start::Now));
    let from_a = [a.send(&packet(0)).unwrap().1, a.send(&packet(0)).unwrap().1];
    assert_eq!(from_a[0][..4], 0x201_u32.to_be_bytes());
    assert_eq!(b.ipsec.poll_event(), None);
    assert!(from_a.iter().all(|packet| b.receive(1, packet).is_ok()));
    assert_eq!([b.ipsec.poll_event(), b.ipsec.poll_event()], [Some(Event::Heard(0x201)), None], "told once");
    let from_b = b.send(&packet(1)).unwrap().1;
    assert_eq!(from_b[..4], 0x200_u32.to_be_bytes());
    assert!(a.receive(0, &from_b).is_ok());
    // What was under way on the old one still arrives, until it is deleted.
    assert!(b.receive(1, &old).is_ok());
    assert!(a.ipsec.remove(0x100) && b.ipsec.remove(0x101) && !b.ipsec.remove(0x101));
    assert_eq!(b.receive(1, &old), Err(Dropped::UnknownSpi));
    let from_b = b.send(&packet(1)).unwrap().1;
    assert!(a.receive(0, &from_b).is_ok());
}

/// Another pair replaces one if it is for the very same packets, and as long as it is not retired itself.
#[test]
fn a_pair_is_replaced_by_another_for_the_same_packets() {
    let mut ipsec = Ipsec::default();
    assert!(ipsec.is_empty());
    let under = |inbound_spi| PairConfig { inbound_spi, ..pair(0, &key(GCM, None)) };
    let addresses = |text| Addresses::one(ip(text));
    ipsec.install(under(0x100));
    assert!(!ipsec.is_empty() && !ipsec.is_replaced(0x100) && !ipsec.is_replaced(0x999));
    // To the same peer, from elsewhere.
    let selectors = Selectors::between(addresses("10.0.0.9"), addresses(INNER[1]));
    ipsec.install(PairConfig { selectors, ..under(0x200) });
    assert!(!ipsec.is_replaced(0x100) && !ipsec.is_replaced(0x200));
    ipsec.install(under(0x300));
    assert!(ipsec.is_replaced(0x100) && ipsec.is_replaced(0x300) && !ipsec.is_replaced(0x200));
    ipsec.retire(0x300);
    assert!(!ipsec.is_replaced(0x100) && ipsec.is_replaced(0x300));
}

/// What fits becomes a packet of the MTU or a little less, and one byte more than fits does not.
#[test]
fn room_is_what_a_packet_of_the_mtu_carries() {
    const MTU_BYTES: usize = 1400;
    for in_udp in [false, true] {
        for (mode, inner, outer) in
            [(Mode::Tunnel, INNER, OUTER), (Mode::Tunnel, INNER, V6), (Mode::Transport, OUTER, OUTER)]
        {
            let [mut a, _] = with_headers(mode, in_udp, inner, outer);
            let room_bytes = a.ipsec.room_bytes(ip(inner[1]), MTU_BYTES).expect("there is a pair");
            let mut outside = |len| a.send(&datagram(inner[0], inner[1], len)).unwrap().1.len();
            let (fits, not) = (outside(room_bytes), outside(room_bytes + 1));
            assert!((MTU_BYTES - 3..=MTU_BYTES).contains(&fits) && not > MTU_BYTES, "{mode:?} {fits} {not}");
            assert_eq!(a.ipsec.room_bytes(ip("198.51.100.1"), MTU_BYTES), None);
        }
    }
}

/// Whoever was to wait for a sign sends on the new SA when the old one is gone.
#[test]
fn a_pair_that_waits_serves_when_nothing_else_is_left() {
    let [_, mut b] = plain_hosts();
    let config = PairConfig {
        inbound_spi: 0x301,
        outbound_spi: 0x300,
        start: Start::WhenHeard,
        ..pair(1, &key(GCM, None))
    };
    b.ipsec.install(config);
    let spi = |b: &mut Host| b.send(&datagram(INNER[1], INNER[0], 80)).unwrap().1[2];
    assert_eq!(spi(&mut b), 1);
    b.ipsec.remove(0x101);
    assert_eq!(spi(&mut b), 3);
}

/// RFC 7296 §2.23: the peer behind a NAT is where its last authentic packet came from, and no other packet's.
#[test]
fn only_authentic_packets_move_the_peer() {
    let [mut a, mut b] = hosts(GCM, |_, pair| {
        pair.follows_peer = true;
        pair.path.remote = Addr::udp(ip(OUTER[0]), 4500);
    });
    let [early, good, later] = [(); 3].map(|()| a.send(&datagram(INNER[0], INNER[1], 80)).unwrap().1);
    let mut forged = good.clone();
    forged[20] ^= 1;
    let from = |b: &mut Host, packet: &[u8], port| {
        let mut packet = packet.to_vec();
        let mut frame = keytoll_esp::Frame::whole(&mut packet);
        let from = Addr::udp(ip("198.51.100.1"), port);
        let _ = b.ipsec.inbound(&mut frame, from, Addr::udp(ip(OUTER[1]), 4500), &mut b.crypto, &mut ());
        match b.send(&datagram(INNER[1], INNER[0], 80)).unwrap().0 {
            Sent::Protected(path) => path.remote.port(),
            Sent::Bypassed => panic!("it is protected"),
        }
    };
    assert_eq!(from(&mut b, &forged, 4501), Some(4500));
    assert_eq!(from(&mut b, &good, 4502), Some(4502));
    assert_eq!(from(&mut b, &good, 4503), Some(4502), "a replay");
    assert_eq!(from(&mut b, &early, 4504), Some(4502), "held back, and let go from elsewhere");
    assert_eq!(from(&mut b, &later, 0), Some(4502), "not in UDP, and no port to answer to");
}

/// The same where the packet brings its headers: address and port are those that it came from.
#[test]
fn a_packet_with_its_headers_tells_where_the_peer_is() {
    let [mut a, mut b] = hosts(GCM, |end, pair| {
        pair.follows_peer = true;
        pair.path = Path {
            local: Addr::udp(ip(OUTER[end]), 4500),
            remote: Addr::udp(ip(OUTER[1 - end]), 4500),
            headers: Headers::Here(OuterHeader::default()),
        };
    });
    let outside = a.send(&datagram(INNER[0], INNER[1], 80)).unwrap().1;
    let mut moved = translated(&outside, 12, "198.51.100.7");
    moved[20..22].copy_from_slice(&40_001_u16.to_be_bytes());
    b.receive_packet(&moved).unwrap();
    let Sent::Protected(path) = b.send(&datagram(INNER[1], INNER[0], 80)).unwrap().0 else { panic!() };
    assert_eq!(path.remote, Addr::udp(ip("198.51.100.7"), 40_001));
    // On IP itself there is no port to read, whatever the first bytes of ESP are.
    let [mut a, mut b] = with_headers(Mode::Tunnel, false, INNER, OUTER);
    b.receive_packet(&a.send(&datagram(INNER[0], INNER[1], 80)).unwrap().1).unwrap();
    let Sent::Protected(path) = b.send(&datagram(INNER[1], INNER[0], 80)).unwrap().0 else { panic!() };
    assert_eq!(path.remote, Addr::Ip { ip: ip(OUTER[0]), protocol: 50 });
}

/// RFC 3948 §3.1.2: the checksum inside counts addresses that a NAT has changed outside.
#[test]
fn transport_mode_behind_a_nat_leaves_right_checksums() {
    let (private, public, server) = ("10.0.0.2", "198.51.100.7", "192.0.2.1");
    for protocol in [6, 17] {
        for is_known in [false, true] {
            let original = |peer, us| is_known.then(|| Original { peer: ip(peer), us: ip(us) });
            let path = |local, remote| Path {
                local: Addr::udp(ip(local), 4500),
                remote: Addr::udp(ip(remote), 4500),
                headers: Headers::Here(OuterHeader::default()),
            };
            let [mut client, mut gateway] = hosts(GCM, |end, pair| {
                pair.mode = Mode::Transport;
                let (us, peer) = if end == 0 { (private, server) } else { (server, public) };
                pair.selectors = Selectors::between(Addresses::one(ip(us)), Addresses::one(ip(peer)));
                pair.path = path(us, peer);
                pair.original = if end == 0 { original(server, public) } else { original(private, server) };
            });
            let up = translated(&client.send(&segment(private, server, protocol)).unwrap().1, 12, public);
            let (arrived, inside) = gateway.receive_packet(&up).unwrap();
            assert_eq!(arrived.flow.source(), ip(public));
            assert_eq!(inside, segment(public, server, protocol), "{protocol} {is_known} up");
            let down = translated(&gateway.send(&segment(server, public, protocol)).unwrap().1, 16, private);
            let (_, inside) = client.receive_packet(&down).unwrap();
            assert_eq!(inside, segment(server, private, protocol), "{protocol} {is_known} down");
        }
    }
}

/// TCP or UDP with an odd number of bytes and a checksum of the tests' own.
fn segment(source: &str, destination: &str, protocol: u8) -> Vec<u8> {
    let mut packet = datagram(source, destination, 20 + 20 + 33);
    packet[9] = protocol;
    packet[10..12].fill(0);
    let sum = checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let at = if protocol == 6 { 36 } else { 26 };
    packet[at..at + 2].fill(0);
    let pseudo = [&packet[12..20], &[0, protocol, 0, 53], &packet[20..]].concat();
    packet[at..at + 2].copy_from_slice(&checksum(&pseudo).to_be_bytes());
    packet
}

/// What a NAT makes of a packet: another address, and the checksum of the header that goes with it.
fn translated(packet: &[u8], at: usize, address: &str) -> Vec<u8> {
    let std::net::IpAddr::V4(address) = ip(address) else { panic!("IPv4") };
    let mut packet = packet.to_vec();
    packet[at..at + 4].copy_from_slice(&address.octets());
    packet[10..12].fill(0);
    let sum = checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// RFC 8200 §4.5: what stands behind the header of a later fragment is from the middle of a packet, whatever it looks like.
#[test]
fn bytes_behind_a_later_fragments_header_are_no_headers() {
    // Each looks like a header that says: whole, and UDP to the port that the SA is for.
    for next_header in [0, 43, 44, 60] {
        let mut later = datagram(V6[0], V6[1], 96);
        later.splice(40..40, [next_header, 0, 2, 0x80, 0, 0, 0, 1, 17, 0, 0, 0, 0, 0, 0, 1]);
        (later[5], later[6]) = (72, 44);
        let (header, flow) = Flow::of(&later).unwrap();
        assert_eq!((header.fragment, header.header_len), (Fragment::Later, 48), "{next_header}");
        assert_eq!((flow.protocol(), flow.ports()), (next_header, None));

        let [mut a, _] = with_headers(Mode::Tunnel, false, V6, OUTER);
        let mut web = pair(0, &key(GCM, None));
        web.selectors = Selectors {
            local: [Selector::of(Addresses::one(ip(V6[0])))].into(),
            remote: [Selector { ports: Ports::Range(8080, 8080), ..Selector::of(Addresses::one(ip(V6[1]))) }]
                .into(),
        };
        a.ipsec.install(web);
        assert!(a.send(&datagram(V6[0], V6[1], 96)).is_ok());
        assert_eq!(a.send(&later), Err(Dropped::NoSa), "{next_header}");
    }
    // A first fragment stays one, even if a fragment of it says that it is whole.
    let mut first = datagram(V6[0], V6[1], 96);
    first.splice(40..40, [44, 0, 0, 1, 0, 0, 0, 1, 17, 0, 0, 0, 0, 0, 0, 1]);
    (first[5], first[6]) = (72, 44);
    assert_eq!(Flow::of(&first).unwrap().0.fragment, Fragment::First);
}

/// RFC 8200 §4.6: whoever sends behind options for the destination is told apart by the same ports as whoever receives.
#[test]
fn destination_options_hide_no_ports_from_either_end() {
    let [mut a, mut b] = with_headers(Mode::Transport, false, V6, V6);
    let mut packet = datagram(V6[0], V6[1], 80);
    packet.splice(40..40, [17, 0, 1, 4, 0, 0, 0, 0]);
    (packet[5], packet[6]) = (48, 60);
    let outside = a.send(&packet).unwrap().1;
    let (arrived, inside) = b.receive_packet(&outside).unwrap();
    assert_eq!((arrived.flow.protocol(), arrived.flow.ports()), (17, Some((4000, 8080))));
    assert_eq!(inside, packet);
}

/// RFC 6864 §4.2: fragments of two packets must not be taken for those of one.
#[test]
fn a_packet_that_may_be_fragmented_is_numbered() {
    for (dont_fragment, expected) in
        [(DontFragment::Clear, [[0, 1], [0, 2]]), (DontFragment::Set, [[0, 0], [0, 0]])]
    {
        let [mut a, _] = hosts(GCM, |_, pair| {
            pair.path.headers = Headers::Here(OuterHeader { dont_fragment, ..OuterHeader::default() });
        });
        let numbers = [(); 2].map(|()| {
            let outside = a.send(&datagram(INNER[0], INNER[1], 80)).unwrap().1;
            assert_eq!(checksum(&outside[..20]), 0);
            [outside[4], outside[5]]
        });
        assert_eq!(numbers, expected, "{dont_fragment:?}");
    }
}

/// What the SA is not for was decrypted all the same, also what hides its length: nothing of it stays.
#[test]
fn nothing_is_left_of_a_packet_that_the_sa_is_not_for() {
    let [_, mut b] = plain_hosts();
    let mut a = Host::default();
    let mut out = keytoll_esp::Outbound::new(0x101, key(GCM, None));
    let padded = [&datagram("10.0.0.9", INNER[1], 80)[..], &[0x5a; 200]].concat();
    let mut room = Room::around(&padded);
    let mut frame = room.frame();
    out.seal(&mut frame, 4, &mut a.rng, &mut a.crypto, &mut ()).unwrap();
    let mut packet = frame.bytes().to_vec();
    let mut frame = keytoll_esp::Frame::whole(&mut packet);
    let [from, to] = OUTER.map(|text| Addr::Ip { ip: ip(text), protocol: 50 });
    let opened = b.ipsec.inbound(&mut frame, from, to, &mut b.crypto, &mut ());
    assert_eq!((opened, frame.is_empty()), (Err(Dropped::Selectors), true));
    assert!(packet.iter().all(|&byte| byte == 0), "{packet:x?}");
}

/// Whoever deletes an SA need not hear of its lifetime, least of all under the SPI of another.
#[test]
fn what_is_removed_has_no_events_and_an_end_is_told_once() {
    let hard = Limit { packets: 1, ..Limit::NONE };
    let [mut a, _] = hosts(GCM, |_, pair| pair.lifetime = Lifetime { soft: hard, hard });
    let packet = datagram(INNER[0], INNER[1], 80);
    assert!(a.send(&packet).is_ok());
    for told in [vec![Event::RekeyWanted(0x100), Event::Expired(0x100)], vec![]] {
        assert_eq!(a.send(&packet), Err(Dropped::Lifetime));
        assert_eq!(std::iter::from_fn(|| a.ipsec.poll_event()).collect::<Vec<_>>(), told);
    }
    let [mut a, _] = hosts(GCM, |_, pair| pair.lifetime = Lifetime { soft: hard, hard });
    assert!(a.send(&packet).is_ok() && a.ipsec.remove(0x100));
    assert_eq!(a.ipsec.poll_event(), None);
}

/// A probe that keeps what it was told.
#[derive(Default)]
struct Told(Vec<Stage>);

impl Probe for Told {
    fn ended(&mut self, stage: Stage) {
        self.0.push(stage);
    }
}

#[test]
fn a_probe_is_told_every_stage_in_order() {
    for encryption in [GCM, Encryption::Aes128Cbc] {
        let [mut a, mut b] = hosts(encryption, |_, _| {});
        // The second packet finds its flow in the cache, and passes the same stages.
        for _ in 0..2 {
            let mut room = Room::around(&datagram(INNER[0], INNER[1], 80));
            let mut frame = room.frame();
            let mut told = Told::default();
            a.ipsec.outbound(&mut frame, &mut a.rng, &mut a.crypto, &mut told).unwrap();
            assert_eq!(told.0, Stage::OUTBOUND);
            let [from, to] = OUTER.map(|text| Addr::Ip { ip: ip(text), protocol: 50 });
            let mut told = Told::default();
            b.ipsec.inbound(&mut frame, from, to, &mut b.crypto, &mut told).unwrap();
            told.0.dedup();
            let mut expected = Stage::INBOUND.to_vec();
            // The window moves when the packet has proved authentic.
            expected.insert(4, Stage::ReplayCheck);
            assert_eq!(told.0, expected);
        }
    }
}

proptest! {
    /// Many pairs, many flows, changes between: a flow goes to the newest pair that is for it, cache or no cache.
    #[test]
    fn flows_find_the_newest_pair_for_them(steps in proptest::collection::vec((0..3_u8, 0..12_u32, 0..16_u8), 1..120)) {
        let mut host = Host::default();
        let key = key(GCM, None);
        let mut pairs: Vec<(u32, u8, u8)> = Vec::new();
        for (step, spi, to) in steps {
            let (first, last) = (to & 12, to | 3);
            // Every fourth is for one peer, the others for four.
            let (first, last) = if spi % 4 == 0 { (to, to) } else { (first, last) };
            let address = |last| ip(&format!("10.0.0.{last}"));
            match step {
                0 => {
                    let remote = Addresses::new(address(first), address(last)).unwrap();
                    let selectors = Selectors::between(Addresses::one(ip("10.9.9.9")), remote);
                    let inbound_spi = 0x100 + spi;
                    host.ipsec.install(PairConfig { inbound_spi, outbound_spi: inbound_spi, selectors, ..pair(0, &key) });
                    pairs.retain(|pair| pair.0 != inbound_spi);
                    pairs.push((inbound_spi, first, last));
                }
                1 => {
                    prop_assert_eq!(host.ipsec.remove(0x100 + spi), pairs.iter().any(|pair| pair.0 == 0x100 + spi));
                    pairs.retain(|pair| pair.0 != 0x100 + spi);
                }
                _ => {}
            }
            let covers = |pair: &&(u32, u8, u8)| (pair.1..=pair.2).contains(&to);
            // Pairs for one peer come before those for several.
            let one = pairs.iter().rev().filter(|pair| pair.1 == pair.2).find(covers);
            let expected = one.or_else(|| pairs.iter().rev().filter(|pair| pair.1 != pair.2).find(covers));
            let sent = host.send(&datagram("10.9.9.9", &format!("10.0.0.{to}"), 64));
            let spi = sent.ok().map(|(_, packet)| u32::from_be_bytes(*packet.first_chunk().unwrap()));
            prop_assert_eq!(spi, expected.map(|pair| pair.0));
            prop_assert_eq!(host.ipsec.reaches(address(to)), expected.is_some());
            prop_assert_eq!(host.ipsec.len(), pairs.len());
        }
    }
}
