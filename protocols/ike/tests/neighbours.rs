//! Peers that share a key, a name in another spelling, an address, or a gateway: each keeps its own SAs.
//! Read RFC 7296 §2.4 and RFC 4945 §3.1 first.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Datagram, Input, Output};
use keytoll_ike::config::{Believe, Config, HalfOpen, Phase1, Prove};
use keytoll_ike::event::{Command, Event};
use keytoll_ike::wire::Identity;
use keytoll_net::{Addr, Socket};

use crate::support::bench::{Rewriter, Weather};
use crate::support::lab::{self, DEVICE, id, ike, only, psk, seconds, secret};
use crate::support::{Bench, Side, mutants};
use crate::v1::configs;

/// A gateway with a key for the device and one for all others, and a member of the others that spells the device's name
/// differently: connections 0 and 1.
fn own_and_group((mut i, mut r): (Config, Config)) -> (Config, Config) {
    only(&mut r).remote_id = None;
    let Believe::Psk { by_identity, .. } = lab::keys_by_identity(&[(DEVICE, "key of the device")]) else {
        unreachable!("those are shared keys")
    };
    only(&mut r).remote = Believe::Psk { any: Some(secret("key of the group")), by_identity };
    for side in [&mut i, &mut r] {
        only(side).local = Prove::Psk(secret("key of the device"));
    }
    only(&mut i).remote = Believe::psk(secret("key of the device"));
    let mut group = only(&mut r).clone();
    group.local = Prove::Psk(secret("key of the group"));
    group.local_id = id("group.example.org");
    r.connections.push(group);
    let mut member = only(&mut i).clone();
    member.local_id = id(&DEVICE.to_ascii_uppercase());
    member.remote_id = Some(id("group.example.org"));
    (member.local, member.remote) =
        (Prove::Psk(secret("key of the group")), Believe::psk(secret("key of the group")));
    i.connections.push(member);
    (i, r)
}

/// Delivers all datagrams; in IKEv2 I sends INITIAL_CONTACT.
fn settle_as_initial_contact(bench: &mut Bench) {
    while let Some((side, mut datagram)) = bench.intercept() {
        if side == Side::R && datagram.bytes[18] == 35 {
            datagram.bytes = mutants::with_payload(&datagram.bytes, 41, &[0, 0, 0x40, 0]);
        }
        bench.deliver(side, &datagram);
    }
}

#[test]
fn a_peer_with_the_group_key_does_not_evict_one_with_its_own_key() {
    let mut bench = Bench::new(own_and_group(psk())).established();
    let genuine = bench.r.books.only_sa();
    bench.nat = Some(Rewriter { outside: IpAddr::from([203, 0, 113, 9]), port_offset: 0 });
    for _ in 0..4 {
        bench.initiate_from(Side::I, 1);
        bench.settle();
    }
    assert_eq!(bench.r.books.sa_count(), 5, "{}", bench.ladder);
    let mut bench = Bench::null(own_and_group(psk()), 1).established();
    let of_null = bench.r.books.only_sa();
    bench.initiate_from(Side::I, 1);
    settle_as_initial_contact(&mut bench);
    assert!(bench.r.books.sas().contains(&of_null), "{:?}", bench.closures(Side::R));
    assert_ne!(genuine, of_null);
}

#[test]
fn a_peer_with_the_group_key_does_not_inherit_from_one_with_its_own_key() {
    let (mut i, mut r) = own_and_group(configs::psk(Phase1::Aggressive));
    // In IKEv1 the key identifies both, and all is one connection.
    r.connections.truncate(1);
    i.connections[1].remote_id = i.connections[0].remote_id.clone();
    let mut bench = Bench::new((i, r)).established();
    bench.run_for(seconds(20));
    let (genuine, child) = (bench.r.books.only_sa(), bench.child(Side::R));
    bench.initiate_from(Side::I, 1);
    without_quick_mode(&mut bench);
    bench.cut.insert(Side::I, true);
    bench.run_for(seconds(6));
    bench.cut.insert(Side::I, false);
    bench.run_for(seconds(10));
    let children = bench.r.books.all_children();
    assert!(children.iter().any(|(sa, kept)| (*sa, kept.pair.inbound_spi) == (genuine, child)));
}

/// Delivers all datagrams except quick mode.
fn without_quick_mode(bench: &mut Bench) {
    while let Some((side, datagram)) = bench.intercept() {
        if datagram.bytes[18] != 32 {
            bench.deliver(side, &datagram);
        }
    }
}

/// One gateway under several names, as an access gateway with several networks behind it.
fn services(count: usize) -> (Config, Config) {
    let (mut i, mut r) = psk();
    let pair = (only(&mut i).clone(), only(&mut r).clone());
    let named = |n| {
        let (mut device, mut gateway) = pair.clone();
        gateway.local_id = id(&format!("network{n}.example.org"));
        device.remote_id = Some(gateway.local_id.clone());
        (device, gateway)
    };
    (i.connections, r.connections) = (0..count).map(named).unzip();
    (i, r)
}

/// RFC 7296 §2.4: INITIAL_CONTACT concerns a pair of identities, the responder's included.
#[test]
fn each_name_of_a_gateway_counts_separately() {
    let mut bench = Bench::null(services(2), 1).established();
    let first = bench.r.books.only_sa();
    bench.initiate_from(Side::I, 1);
    settle_as_initial_contact(&mut bench);
    assert!(bench.r.books.sas().contains(&first), "{:?}\n{}", bench.closures(Side::R), bench.ladder);
    let mut bench = Bench::new(services(5));
    for connection in 0..5 {
        bench.initiate_from(Side::I, connection);
        bench.run_for(seconds(1));
    }
    assert_eq!(bench.r.books.sa_count(), 5, "{:?}", bench.closures(Side::R));
}

/// A key belongs to the address of a NAT: all devices behind it have it, with different names.
#[test]
fn two_devices_behind_one_address_with_a_key_are_distinguished() {
    for is_named in [false, true] {
        let (i, mut r) = configs::psk(Phase1::Main);
        let by_identity = [(Identity::from(Side::I.ip()), secret("correct horse battery staple"))];
        only(&mut r).remote = Believe::Psk { any: None, by_identity: by_identity.into() };
        if is_named {
            let mut second = only(&mut r).clone();
            second.remote_id = Some(id("neighbour.example.org"));
            r.connections.push(second);
        } else {
            only(&mut r).remote_id = None;
        }
        let mut neighbour = i.clone();
        only(&mut neighbour).local_id = id("neighbour.example.org");
        let mut bench = Bench::new((i, r)).established();
        bench.run_for(seconds(20));
        let first = bench.r.books.only_sa();
        bench.restart(Side::I, neighbour, 9);
        bench.initiate();
        bench.settle();
        assert!(bench.r.books.sas().contains(&first), "{:?}\n{}", bench.closures(Side::R), bench.ladder);
        assert_eq!(bench.r.books.sa_count(), 2);
    }
}

fn two_connections() -> (Config, Config) {
    let (mut i, mut r) = configs::psk(Phase1::Main);
    for side in [&mut i, &mut r] {
        let mut second = only(side).clone();
        second.suites = ike("aes256-sha256-modp2048");
        side.connections.push(second);
    }
    (i, r)
}

fn children(bench: &Bench) -> (usize, usize) {
    (bench.i.books.all_children().len(), bench.r.books.all_children().len())
}

#[test]
fn a_second_connection_of_the_same_peers_coexists_with_the_first() {
    let mut bench = Bench::new(two_connections()).established();
    bench.run_for(seconds(30));
    bench.initiate_from(Side::I, 1);
    without_quick_mode(&mut bench);
    bench.cut.insert(Side::I, true);
    bench.run_for(Duration::from_millis(5500));
    bench.cut.insert(Side::I, false);
    bench.run_for(seconds(60));
    assert_eq!(children(&bench), (2, 2), "late: {:?}\n{}", bench.disagreement(), bench.ladder);
    let mut bench = Bench::new(two_connections());
    bench.initiate_from(Side::I, 0);
    bench.initiate_from(Side::I, 1);
    bench.run_for(seconds(60));
    assert_eq!(children(&bench), (2, 2), "at once: {:?}\n{}", bench.disagreement(), bench.ladder);
}

fn knock(bench: &mut Bench, first: &Datagram, n: u32, from: u32) -> bool {
    let from = Socket::new(Ipv4Addr::from(from).into(), 500);
    let bytes = [&n.to_be_bytes()[..], &first.bytes[4..]].concat();
    let (facts, outputs) =
        bench.handle(Side::R, Input::Datagram { from: Addr::Udp(from), to: first.to, bytes: &bytes });
    let is_answered = outputs.iter().any(|output| matches!(output, Output::Datagram(_)));
    is_answered && !facts.iter().any(|fact| format!("{fact:?}").contains("made room"))
}

/// A table with so many of a thousand places taken, by as many origins; with a message that takes one more.
fn nearly_full((i, mut r): (Config, Config), taken: u32) -> (Bench, Datagram) {
    r.half_open = HalfOpen { max: 1000, per_address_max: 125, cookies_from: usize::MAX, ..r.half_open };
    let mut bench = Bench::null((i, r), 1);
    bench.ladder.silent = true;
    bench.initiate();
    let (_, first) = bench.intercept().unwrap();
    for n in 0x0a00_0000..0x0a00_0000 + taken {
        knock(&mut bench, &first, n, n);
    }
    (bench, first)
}

/// A full table: silent initiators are evicted before two that have just come from one origin.
#[test]
fn silent_initiators_are_evicted_before_neighbours() {
    for version in [psk as fn() -> _, || configs::psk(Phase1::Main)] {
        let (mut bench, first) = nearly_full(version(), 1000);
        bench.run_for(seconds(10));
        let home = 0xcb00_7105;
        for n in 1..=10 {
            knock(&mut bench, &first, 0xee00_0000 + n, home);
        }
        for n in 0x0b00_0000..0x0b00_0009 {
            knock(&mut bench, &first, n, n);
            bench.now += Duration::from_millis(25);
        }
        // An existing one is answered again and takes no other place.
        let there = |n: &u32| knock(&mut bench, &first, 0xee00_0000 + n, home);
        assert_eq!((1..=10).filter(there).count(), 10);
    }
}

/// Two initiators behind one NAT pause, e.g. for a password: that is no crowd.
#[test]
fn longer_silent_initiators_are_evicted_before_two_that_pause() {
    for version in [psk as fn() -> _, || configs::psk(Phase1::Main)] {
        let (mut bench, first) = nearly_full(version(), 998);
        bench.run_for(seconds(5));
        let home = 0xcb00_7105;
        for n in 1..=2 {
            knock(&mut bench, &first, 0xee00_0000 + n, home);
        }
        bench.run_for(seconds(5));
        for n in 0x0b00_0000..0x0b00_0009 {
            knock(&mut bench, &first, n, n);
        }
        assert!((1..=2).all(|n| knock(&mut bench, &first, 0xee00_0000 + n, home)));
    }
}

/// The device's address is forged 20 times a second and others 40 times, against a thousand places.
#[test]
fn a_device_is_admitted_although_its_address_is_forged() {
    let (i, mut r) = configs::psk(Phase1::Main);
    (r.half_open.max, r.half_open.per_address_max) = (1000, 125);
    let mut bench = Bench::null((i, r), 1);
    bench.ladder.silent = true;
    bench.initiate();
    let (_, first) = bench.intercept().unwrap();
    let latency_max = Duration::from_millis(300);
    let rng = Rng::named(3, "weather");
    bench.weather = Some(Weather { rng, loss: 0.0, duplication: 0.0, corruption: 0.0, latency_max });
    let mut numbers = 0x0a00_0000_u32..;
    for n in numbers.by_ref().take(1000) {
        knock(&mut bench, &first, n, n);
    }
    bench.run_for(seconds(5));
    for step in 0..600 {
        if step % 100 == 0 {
            bench.initiate();
        }
        let forged = numbers.next().unwrap();
        knock(&mut bench, &first, forged, 0xc000_020a);
        for n in numbers.by_ref().take(2) {
            knock(&mut bench, &first, n, n);
        }
        bench.run_for(Duration::from_millis(50));
    }
    let established = bench.r.events.iter().filter(|event| matches!(event, Event::Established(_)));
    assert!(established.count() >= 6, "each that was begun, the first included whose message was taken away");
}

/// The peer uses a replaced child once more, which says nothing about the newest.
#[test]
fn a_child_on_which_the_peer_is_heard_is_not_deleted_because_of_it() {
    let mut bench = Bench::new(configs::psk(Phase1::Main)).established();
    let (sa, old) = (bench.r.books.only_sa(), bench.child(Side::R));
    bench.command(Side::R, Command::RekeyChild(sa, old));
    bench.settle();
    bench.run_for(seconds(70));
    let used = bench.child(Side::R);
    bench.command(Side::R, Command::RekeyChild(sa, used));
    let mut is_second = false;
    while let Some((side, datagram)) = bench.intercept() {
        // Message 3 is lost.
        if !(side == Side::I && datagram.bytes[18] == 32 && std::mem::replace(&mut is_second, true)) {
            bench.deliver(side, &datagram);
        }
    }
    bench.cut.insert(Side::R, true);
    bench.command(Side::R, Command::ChildHeard(sa, used));
    bench.run_for(seconds(7));
    assert!(bench.r.books.all_children().iter().any(|(_, child)| child.pair.inbound_spi == used));
}

#[test]
fn a_child_too_many_fails_with_its_reason() {
    let (mut i, mut r) = configs::psk(Phase1::Main);
    (i.children_max, r.children_max) = (1, 64);
    let mut bench = Bench::new((i, r)).established();
    let (sa, child) = (bench.i.books.only_sa(), bench.child(Side::I));
    bench.command(Side::I, Command::RekeyChild(sa, child));
    bench.settle();
    bench.command(Side::I, Command::CreateChild(sa));
    bench.settle();
    let told = bench.i.events.iter().filter(|event| matches!(event, Event::ChildFailed(..))).count();
    assert_eq!(told, 1, "{}", bench.ladder);
}
