//! Strangers and authenticated peers that want more than they may have: an SA with a pure initiator, the traffic of another
//! address, unlimited SAs, answers sent to others. RFC 7296 §2.4, §2.23, §2.25, RFC 8019 §5.

use std::net::IpAddr;

use keytoll_engine::Datagram;
use keytoll_ike::config::HalfOpen;
use keytoll_ike::config::{Believe, Phase1, Prove, Responds};
use keytoll_ike::{Command, Config, Event, SaId};
use keytoll_net::Addr;

use crate::support::bench::Rewriter;
use crate::support::lab::{net, only, only_child, pool, psk, seconds, secret};
use crate::support::{Bench, Side, mutants};

/// Both sides use IKEv1.
fn psk_v1() -> (Config, Config) {
    crate::v1::configs::psk(Phase1::Main)
}

const OUTSIDE: &str = "198.51.100.7";
const ELSEWHERE: &str = "203.0.113.99";

fn seen_from(outside: &str) -> Option<Rewriter> {
    Some(Rewriter { outside: outside.parse().unwrap(), port_offset: 0 })
}

/// The same datagram with another source address.
fn forged(datagram: &Datagram) -> Datagram {
    let mut forged = datagram.clone();
    forged.from = Addr::udp(ELSEWHERE.parse::<IpAddr>().unwrap(), forged.from.port().unwrap());
    forged
}

/// A connection whose initiator accepts any address.
fn behind_nat() -> (Config, Config) {
    let (mut i, r) = psk();
    only_child(&mut i).local = vec![net("0.0.0.0/0")];
    (i, r)
}

/// Delivers the next datagrams unchanged.
fn pass(bench: &mut Bench, count: usize) {
    for _ in 0..count {
        let (side, datagram) = bench.intercept().unwrap();
        bench.deliver(side, &datagram);
    }
}

fn of_only(bench: &mut Bench, side: Side, command: fn(SaId) -> Command) {
    let sa = *bench.seat(side).books.sas().last().unwrap();
    bench.command(side, command(sa));
}

/// The peer's traffic selectors of the gateway's children.
fn theirs(bench: &Bench) -> Vec<String> {
    let children = bench.r.books.all_children();
    children.iter().flat_map(|(_, child)| child.remote.iter().map(|one| one.start().to_string())).collect()
}

#[test]
fn a_pure_initiator_does_not_answer_strangers() {
    let (mut i, r) = psk();
    i.responds = Responds::ToPeers;
    let mut bench = Bench::null((i.clone(), r.clone()), 1);
    bench.initiate_from(Side::R, 0);
    bench.settle();
    assert_eq!(bench.i.endpoint.sa_count(), 0);
    assert!(bench.sent.iter().all(|(sender, _)| *sender == Side::R), "{}", bench.ladder);

    // A known peer may reauthenticate.
    let mut bench = Bench::null((i, r), 1).established();
    bench.initiate_from(Side::R, 0);
    bench.settle();
    assert_eq!(bench.i.books.sa_count(), 2, "{}", bench.ladder);
}

#[test]
fn only_messages_of_its_peer_count_as_progress() {
    let mut bench = Bench::null(psk(), 1);
    let between = (Side::I.ip(), Side::R.ip());
    bench.initiate();
    let (_, request) = bench.sent[0].clone();
    let sa = SaId(u64::from_be_bytes(request.bytes[..8].try_into().unwrap()));
    let begun = bench.i.endpoint.went_on(sa);
    assert_eq!(begun, Some(bench.now), "{between:?}");
    bench.now += seconds(1);
    for junk in
        [vec![0; 28], request.bytes.clone(), [&request.bytes[..19], &[0x20], &request.bytes[20..]].concat()]
    {
        let datagram = Datagram { from: request.to, to: request.from, bytes: junk, ..request.clone() };
        bench.deliver(Side::I, &datagram);
    }
    assert_eq!(bench.i.endpoint.went_on(sa), begun);
    bench.settle();
    assert_eq!(bench.i.endpoint.went_on(sa), Some(bench.now));
}

#[test]
fn an_initiator_keeps_its_traffic_address() {
    let mut bench = Bench::null(psk(), 1);
    bench.initiate();
    pass(&mut bench, 2);
    let (side, genuine) = bench.intercept().unwrap();
    let sent = bench.sent.len();
    bench.deliver(side, &forged(&genuine));
    assert_eq!((bench.r.events.len(), bench.sent.len()), (0, sent), "{}", bench.ladder);
    bench.deliver(side, &genuine);
    bench.settle();
    bench.assert_agreement();
    assert_eq!(theirs(&bench), [Side::I.ip().to_string()]);
}

/// RFC 7296 §2.23 has the gateway follow a device whose NAT mapping changed; the device's traffic selectors stay the same.
#[test]
fn a_moved_device_gets_no_traffic_of_the_new_address() {
    let mut bench = Bench::new(behind_nat());
    bench.nat = seen_from(OUTSIDE);
    let mut bench = bench.established();
    bench.nat = seen_from(ELSEWHERE);
    of_only(&mut bench, Side::I, Command::CreateChild);
    bench.settle();
    assert_eq!(theirs(&bench), [OUTSIDE; 2], "{}", bench.ladder);
    assert_eq!(bench.sent.last().unwrap().1.to.ip().unwrap().to_string(), ELSEWHERE, "it is followed");
    of_only(&mut bench, Side::I, Command::RekeyIke);
    bench.settle();
    of_only(&mut bench, Side::I, Command::CreateChild);
    bench.settle();
    assert_eq!(theirs(&bench), [OUTSIDE; 3], "{}", bench.ladder);
}

#[test]
fn a_device_that_requests_no_address_gets_only_configured_traffic() {
    let remote = |outside: &str, named: &[&str]| {
        let (i, mut r) = behind_nat();
        only(&mut r).pool = Some(pool());
        only_child(&mut r).remote = named.iter().map(|named| net(named)).collect();
        let mut bench = Bench::null((i, r), 1);
        bench.nat = seen_from(outside);
        theirs(&bench.established())
    };
    assert_eq!(remote(OUTSIDE, &[]), [""; 0]);
    assert_eq!(remote(OUTSIDE, &["198.51.100.0/24"]), [OUTSIDE]);
    assert_eq!(remote(OUTSIDE, &["192.0.2.0/24"]), [""; 0]);
    assert_eq!(remote("10.0.0.3", &["10.0.0.0/8"]), [""; 0], "it is of the pool");
    assert_eq!(remote("10.0.0.11", &["10.0.0.0/8"]), ["10.0.0.11"], "the first beyond the pool");
}

/// The number of answers to a message that is sent so often.
fn answers(bench: &mut Bench, datagram: &Datagram, times: usize) -> usize {
    let before = bench.sent.len();
    (0..times).for_each(|_| bench.deliver(Side::R, datagram));
    bench.sent.len() - before
}

#[test]
fn answers_are_limited() {
    let mut bench = Bench::null(psk(), 1);
    bench.initiate();
    let (_, first) = bench.sent[0].clone();
    pass(&mut bench, 1);
    assert_eq!(answers(&mut bench, &first, 40), 16);
    assert_eq!(bench.r.endpoint.half_open_count(), 1);
    bench.settle();
    let (_, proof) = bench.sent.iter().rfind(|(sender, _)| *sender == Side::I).unwrap().clone();
    assert_eq!(answers(&mut bench, &proof, 40), 16);
    // The next request has answers of its own.
    of_only(&mut bench, Side::I, Command::Probe);
    bench.settle();
    let (_, probe) = bench.sent.iter().rfind(|(sender, _)| *sender == Side::I).unwrap().clone();
    assert_eq!(answers(&mut bench, &probe, 1), 1);
}

#[test]
fn answers_before_authentication_go_only_to_the_initiator() {
    let (i, mut r) = psk();
    only(&mut r).remote = Believe::psk(secret("another"));
    let mut bench = Bench::new((i, r));
    bench.initiate();
    bench.settle();
    assert_eq!((bench.r.books.sa_count(), bench.r.endpoint.lingering_count()), (0, 1));
    let (_, proof) = bench.sent.iter().rfind(|(sender, _)| *sender == Side::I).unwrap().clone();
    assert_eq!(answers(&mut bench, &forged(&proof), 1), 0);
    assert_eq!(answers(&mut bench, &proof, 1), 1);
}

#[test]
fn at_most_two_of_a_chain_of_rekeyed_ike_sas_are_kept() {
    let mut bench = Bench::null(psk(), 1).established();
    for _ in 0..50 {
        of_only(&mut bench, Side::I, Command::RekeyIke);
        // No DELETE arrives.
        while let Some((side, datagram)) = bench.intercept() {
            if datagram.bytes[18] != 37 {
                bench.deliver(side, &datagram);
            }
        }
    }
    assert_eq!((bench.i.endpoint.sa_count(), bench.r.endpoint.sa_count()), (2, 2));
    assert_eq!(bench.disagreement_of_books(), None);
    bench.run_for(seconds(600));
    bench.assert_agreement();
}

/// Both sides of a device that requests inner addresses.
fn with_pool() -> (Config, Config) {
    let (mut i, mut r) = psk();
    only(&mut i).request_address = true;
    only(&mut r).pool = Some(pool());
    (i, r)
}

#[test]
fn beyond_the_limit_the_oldest_ike_sa_of_a_name_is_closed() {
    let (i, mut r) = with_pool();
    r.ike_sas_max = 2;
    let mut bench = Bench::null((i, r), 1);
    for _ in 0..20 {
        bench.initiate();
        bench.settle();
    }
    let addresses = bench.r.events.iter().filter_map(|event| match event {
        Event::Established(up) => up.address,
        _ => None,
    });
    let mut addresses: Vec<IpAddr> = addresses.collect();
    assert_eq!(addresses.len(), 20, "each of them has an address");
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 3, "{addresses:?}");
    assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (2, 2));

    // A peer that does not confirm deletions gets no additional SAs.
    bench.cut.insert(Side::R, false);
    for _ in 0..20 {
        bench.initiate();
        while let Some((side, datagram)) = bench.intercept() {
            if datagram.bytes[18] != 37 {
                bench.deliver(side, &datagram);
            }
        }
    }
    assert_eq!((bench.r.books.sa_count(), bench.r.endpoint.closing_count()), (2, 1));
}

#[test]
fn an_initiator_that_lost_its_ike_sas_sends_initial_contact() {
    let (i, r) = with_pool();
    let mut bench = Bench::null((i.clone(), r), 1).established();
    bench.restart(Side::I, i, 2);
    bench.initiate();
    while let Some((side, mut datagram)) = bench.intercept() {
        if side == Side::R && datagram.bytes[18] == 35 {
            // N(INITIAL_CONTACT)
            datagram.bytes = mutants::with_payload(&datagram.bytes, 41, &[0, 0, 0x40, 0]);
        }
        bench.deliver(side, &datagram);
    }
    bench.assert_agreement();
}

/// First messages of other initiators, so many from each of the origins.
fn crowd(bench: &mut Bench, first: &Datagram, origins: u8, each: u8) {
    for (origin, n) in (1..=origins).flat_map(|origin| (1..=each).map(move |n| (origin, n))) {
        let mut datagram = first.clone();
        datagram.from = Addr::udp(IpAddr::from([198, 51, 100, origin]), datagram.from.port().unwrap());
        datagram.bytes[..2].copy_from_slice(&[origin, n]);
        bench.deliver(Side::R, &datagram);
    }
}

/// RFC 8019 §4.2: eight origins that take all places do not lock out a ninth one.
#[test]
fn an_origin_with_many_places_loses_one_to_an_origin_with_none() {
    for version in [psk, psk_v1] {
        let (i, mut r) = version();
        let limits = HalfOpen { cookies_from: usize::MAX, max: 32, per_address_max: 4, ..r.half_open };
        r.half_open = limits;
        let mut bench = Bench::null((i, r), 1);
        bench.initiate();
        let (_, first) = bench.sent[0].clone();
        bench.keep_sent = false;
        crowd(&mut bench, &first, 8, 4);
        assert_eq!(bench.r.endpoint.half_open_count(), 32);
        while let Some((side, datagram)) = bench.intercept() {
            if datagram.to.ip().unwrap() == side.ip() {
                bench.deliver(side, &datagram);
            }
        }
        assert_eq!(
            (bench.r.books.sa_count(), bench.r.endpoint.half_open_count()),
            (1, 31),
            "{}",
            bench.ladder
        );
        // As many origins as there are places, each with one: none is evicted for one more.
        let (i, mut r) = version();
        r.half_open = HalfOpen { max: 8, ..limits };
        let mut bench = Bench::null((i, r), 1);
        crowd(&mut bench, &first, 9, 1);
        assert_eq!(bench.r.endpoint.half_open_count(), 8);
        let mut oldest = first.clone();
        oldest.from = Addr::udp(IpAddr::from([198, 51, 100, 1]), oldest.from.port().unwrap());
        oldest.bytes[..2].copy_from_slice(&[1, 1]);
        assert_eq!(answers(&mut bench, &oldest, 1), 1, "it is still there");
    }
}

/// IKEv1 demands no cookies: a flood with the device's forged address evicts only SAs that have proved nothing yet, and the
/// device is fast.
#[test]
fn forged_first_messages_do_not_lock_an_address_out() {
    let (i, mut r) = psk_v1();
    r.half_open = HalfOpen { max: 32, per_address_max: 4, ..r.half_open };
    let mut bench = Bench::null((i, r), 1);
    bench.initiate();
    let (_, first) = bench.sent[0].clone();
    for n in 1..=20 {
        let mut forged = first.clone();
        forged.bytes[0] = n;
        bench.deliver(Side::R, &forged);
    }
    assert_eq!(bench.r.endpoint.half_open_count(), 4);
    // Their answers find nobody.
    while let Some((side, datagram)) = bench.intercept() {
        bench.deliver(side, &datagram);
    }
    assert_eq!(bench.r.books.sa_count(), 1, "{}", bench.ladder);
}

/// The memory that an unauthenticated initiator can occupy is limited.
#[test]
fn an_unauthenticated_initiator_is_limited_in_size() {
    let mut bench = Bench::null(psk(), 1);
    bench.initiate();
    pass(&mut bench, 2);
    let (side, mut proof) = bench.intercept().unwrap();
    let genuine = proof.clone();
    proof.bytes = mutants::with_payload(&proof.bytes, 43, &[7; 20_000]);
    bench.deliver(side, &proof);
    assert_eq!(bench.r.events.len(), 0, "{}", bench.ladder);
    bench.deliver(side, &genuine);
    bench.settle();
    bench.assert_agreement();
}

/// While the owner asks an AAA server, the device does not count as silent: newcomers do not evict it, unless that takes very
/// long.
#[test]
fn an_initiator_that_waits_for_our_answer_keeps_its_place() {
    let (mut i, mut r) = psk();
    only(&mut i).local = Prove::Eap;
    only(&mut r).remote = Believe::Eap;
    r.half_open.max = 3;
    let mut bench = Bench::null((i, r), 1);
    let come = |bench: &mut Bench, host: u8| {
        bench.nat = Some(Rewriter { outside: IpAddr::from([198, 51, 100, host]), port_offset: 0 });
        bench.initiate();
        bench.settle();
    };
    (1..=3).for_each(|host| come(&mut bench, host));
    let starts =
        |bench: &Bench| bench.r.events.iter().filter(|event| matches!(event, Event::EapStart { .. })).count();
    assert_eq!((starts(&bench), bench.r.endpoint.half_open_count()), (3, 3));
    bench.now += seconds(5);
    come(&mut bench, 4);
    assert_eq!((starts(&bench), bench.failures(Side::R).len()), (3, 0), "{}", bench.ladder);
    bench.now += seconds(6);
    come(&mut bench, 5);
    assert_eq!((starts(&bench), bench.failures(Side::R).len()), (4, 1), "{}", bench.ladder);
}
