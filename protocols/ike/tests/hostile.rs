//! Invalid messages at every moment of a conversation. Read RFC 7296 §2.1–§2.6 and §2.21 first.
//!
//! Outsiders have no keys: whatever they send leaves a `Discarded` fact, no event, and an unchanged conversation. Insiders have
//! them: what they send may cost them their SA, with a reason, but affects nobody else.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a test: it may fail and say why"
)]

use crate::support;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keytoll_crypto_api::Rng;
use keytoll_crypto_api::algorithm::{Encryption, KeyKind};
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Datagram, Input, Output};
use keytoll_ike::config::{Fragmentation, HalfOpen, Pool, Prove};
use keytoll_ike::{Command, Config, Event};
use keytoll_net::{Addr, Socket};
use support::conversation::{self, delete_all, of_sa, survived};
use support::lab::{Pki, both, only, psk, seconds};
use support::mistaken::Mistaken;
use support::mutants::{self, Mutant};
use support::{Bench, Side};

/// The steps of the conversation.
const STEPS: [fn(&mut Bench); 8] = [
    |bench| bench.initiate(),
    |bench| of_sa(bench, Side::R, Command::Probe),
    |bench| of_sa(bench, Side::I, Command::CreateChild),
    |bench| of_sa(bench, Side::I, Command::RekeyIke),
    |bench| of_child(bench, Side::R, Command::RekeyChild),
    |bench| of_sa(bench, Side::R, Command::RekeyIke),
    |bench| of_child(bench, Side::I, Command::DeleteChild),
    |bench| of_sa(bench, Side::R, Command::Delete),
];

fn of_child(bench: &mut Bench, side: Side, command: fn(keytoll_ike::SaId, u32) -> Command) {
    let children = bench.seat(side).books.all_children();
    if let Some((sa, spi)) = children.first().map(|(sa, child)| (*sa, child.pair.inbound_spi)) {
        bench.command(side, command(sa, spi));
    }
}

/// Unlimited half-open SAs, so that those created by damaged requests do not interfere.
fn generous((i, mut r): (Config, Config)) -> (Config, Config) {
    r.half_open =
        HalfOpen { cookies_from: usize::MAX, max: usize::MAX, per_address_max: usize::MAX, ..r.half_open };
    (i, r)
}

/// Runs the conversation, and passes every datagram to `meddle` before it is delivered.
fn converse(bench: &mut Bench, mut meddle: impl FnMut(&mut Bench, Side, &Datagram)) {
    conversation::converse(bench, &STEPS, |bench, side, datagram| {
        meddle(bench, side, datagram);
        bench.deliver(side, datagram);
    });
}

/// Delivers a datagram whose outputs are dropped; returns the discards and the events.
fn strike(bench: &mut Bench, side: Side, datagram: &Datagram, bytes: &[u8]) -> (usize, Vec<Event>) {
    let Datagram { from, to, .. } = *datagram;
    let (facts, outputs) = bench.handle(side, Input::Datagram { from, to, bytes });
    let discarded = facts.iter().filter(|fact| matches!(fact, Fact::Discarded { .. })).count();
    let event = |output| match output {
        // The owner is told of a stranger's refused proposal, and of nothing else.
        Output::Event(Event::ProposalRefused(_)) => None,
        Output::Event(event) => Some(event),
        Output::Datagram(_) | Output::Inner(_) | Output::Close { .. } => None,
    };
    (discarded, outputs.into_iter().filter_map(event).collect())
}

/// Whether a damaged message cannot be distinguished from a genuine one, because there are no keys yet.
fn is_first(datagram: &Datagram) -> bool {
    datagram.bytes[18] == 34
}

fn outsiders(message: &[u8]) -> Vec<Mutant> {
    let mut all = mutants::bytewise(message);
    all.extend(mutants::headers(message));
    all
}

/// Every message of the conversation damaged in every way, before the genuine one arrives.
fn damaged(configs: (Config, Config)) {
    let mut bench = Bench::new(generous(configs));
    let mut struck = 0;
    converse(&mut bench, |bench, side, datagram| {
        if is_first(datagram) && side == Side::I {
            // The answer of the responder: see `damaged_answers_to_ike_sa_init`.
            return;
        }
        for (what, bytes) in outsiders(&datagram.bytes) {
            let (discarded, events) = strike(bench, side, datagram, &bytes);
            assert!(events.is_empty(), "{what}: {events:?}\n{}", bench.ladder);
            assert!(discarded > 0 || is_first(datagram), "{what} leaves no trace\n{}", bench.ladder);
            struck += 1;
        }
    });
    assert!(struck > 20_000, "only {struck}");
    assert_eq!((bench.closures(Side::I), bench.closures(Side::R)), (vec!["deleted"], vec!["deleted"]));
    assert_eq!((bench.failures(Side::I), bench.failures(Side::R)), (vec![], vec![]), "{}", bench.ladder);
    bench.assert_nothing_remains();
}

#[test]
fn damaged_messages_change_nothing() {
    damaged(psk());
}

#[test]
fn damaged_fragments_change_nothing() {
    let (mut i, mut r) = Pki::new(KeyKind::EcdsaP256, 2).configs();
    i.fragmentation = Some(Fragmentation { packet_bytes_max: 600 });
    r.fragmentation = Some(Fragmentation { packet_bytes_max: 600 });
    damaged((i, r));
}

/// A suite of IKE for every cipher.
fn every_cipher() -> Vec<Suite> {
    let of = |encryption: &Encryption| {
        let integrity = if encryption.is_aead() { "prfsha256" } else { "sha256" };
        Suite::ike(&format!("{}-{integrity}-x25519", encryption.name()))
    };
    // GMAC is for ESP only.
    let suites: Vec<Suite> = Encryption::ALL.iter().filter_map(|encryption| of(encryption).ok()).collect();
    assert_eq!(suites.len() + 3, Encryption::ALL.len());
    suites
}

/// Datagrams of maximum size, with unencrypted payloads before the encrypted ones, at every moment and under every cipher: an
/// outsider can send them without keys.
#[test]
fn the_largest_datagrams_change_nothing_under_every_cipher() {
    for suite in every_cipher() {
        let configs = both(psk(), |connection| connection.suites = vec![suite]);
        let mut bench = Bench::new(generous(configs));
        bench.ladder.silent = true;
        converse(&mut bench, |bench, side, datagram| {
            for (what, bytes) in mutants::giants(&datagram.bytes) {
                if is_first(datagram) && side == Side::I {
                    continue;
                }
                let (discarded, events) = strike(bench, side, datagram, &bytes);
                assert!(events.is_empty(), "{suite}, {what}: {events:?}");
                assert!(discarded > 0 || is_first(datagram), "{suite}, {what} leaves no trace");
            }
        });
        assert_eq!((bench.closures(Side::I), bench.closures(Side::R)), (vec!["deleted"], vec!["deleted"]));
        bench.assert_nothing_remains();
    }
}

/// Handling the `n`th message of the conversation panics at the `nth` call of cryptography; false if there are not so many
/// calls.
fn survives(n: usize, nth: u32) -> bool {
    let (mut i, mut r) = psk();
    only(&mut i).request_address = true;
    only(&mut r).pool = Some(Pool { first: Ipv4Addr::new(10, 0, 0, 1).into(), size: 1 });
    let mut bench = Bench::with(i, r, || Box::new(Mistaken), 1);
    let (_, is_hit) = survived(&mut bench, &STEPS, n, nth);
    // Whatever was lost, its inner address is available again.
    let (up, mut bench) = (bench.i.events.len(), bench.established());
    assert!(
        bench.i.events[up..]
            .iter()
            .any(|event| matches!(event, Event::Established(new) if new.address.is_some()))
    );
    bench.assert_agreement();
    delete_all(&mut bench);
    is_hit
}

/// Wherever the handling of a message panics, at most one SA is lost, its owner is told, and no state is left.
#[test]
fn a_panic_costs_at_most_the_sa_concerned() {
    let mut messages = 0;
    converse(&mut Bench::null(psk(), 1), |_, _, _| messages += 1);
    let hits = |n| (0..).take_while(|nth| survives(n, *nth)).count();
    let hits: Vec<usize> = (0..messages).map(hits).collect();
    assert!(hits.iter().all(|count| *count > 0) && hits.iter().sum::<usize>() > 100, "{hits:?}");
}

/// An initiator cannot distinguish a forged answer to its first message from the genuine one; then either it is established
/// all the same, or there is a named failure and no state is left.
#[test]
fn damaged_answers_to_ike_sa_init() {
    let mut bench = Bench::new(psk());
    bench.initiate();
    let (_, request) = bench.intercept().unwrap();
    bench.deliver(Side::R, &request);
    let (_, answer) = bench.intercept().unwrap();
    let mut all = outsiders(&answer.bytes);
    all.extend(mutants::chains(&answer.bytes, &mut Rng::named(1, "hostile")));
    let mut came_up = 0;
    for (what, bytes) in &all {
        // The same seed gives the same SPIs, so this answer belongs to this request.
        let mut bench = Bench::new(psk());
        bench.ladder.silent = true;
        bench.initiate();
        let (_, request) = bench.intercept().unwrap();
        bench.deliver(Side::I, &Datagram { bytes: bytes.clone(), ..answer.clone() });
        bench.deliver(Side::R, &request);
        bench.run_for(seconds(200));
        if bench.i.books.sa_count() == 1 {
            came_up += 1;
            bench.assert_agreement();
        } else {
            let names = ["timeout", "AUTHENTICATION_FAILED", "INVALID_SYNTAX", "NO_PROPOSAL_CHOSEN"];
            let failures = bench.failures(Side::I);
            assert!(failures.len() == 1 && names.contains(&failures[0]), "{what}: {failures:?}");
            bench.assert_nothing_remains();
        }
    }
    assert!(came_up * 2 > all.len(), "{came_up} of {}", all.len());
}

/// Requests that no initiator would send: answered, refused or dropped, and the genuine one succeeds.
#[test]
fn rearranged_first_requests() {
    let mut bench = Bench::new(generous(psk()));
    bench.initiate();
    let (_, request) = bench.intercept().unwrap();
    for (what, bytes) in mutants::chains(&request.bytes, &mut Rng::named(1, "hostile")) {
        let (_, events) = strike(&mut bench, Side::R, &request, &bytes);
        assert!(events.is_empty(), "{what}: {events:?}");
    }
    bench.deliver(Side::R, &request);
    bench.settle();
    bench.i.books.only_child();
    bench.run_for(seconds(60));
    bench.assert_agreement();
}

/// An insider has the keys: every message rearranged in every way takes the place of the genuine one.
#[test]
fn rearranged_by_an_insider() {
    let mut messages = 0;
    let mut bench = Bench::null(psk(), 1);
    converse(&mut bench, |_, _, _| messages += 1);
    let mut reasons = BTreeSet::new();
    let mut tried = 0;
    for n in 0..messages {
        let of_nth = |index: Option<usize>| insider(n, index, &mut reasons);
        tried += of_nth_mutant(of_nth);
    }
    assert!(tried > 3_000, "only {tried}");
    for reason in ["INVALID_SYNTAX", "UNSUPPORTED_CRITICAL_PAYLOAD", "deleted"] {
        assert!(reasons.contains(reason), "{reason} is missing: {reasons:?}");
    }
}

fn of_nth_mutant(mut run: impl FnMut(Option<usize>) -> usize) -> usize {
    let count = run(None);
    for index in 0..count {
        run(Some(index));
    }
    count
}

/// The conversation with the `n`th message replaced by one of its mutants; returns how many there are.
fn insider(n: usize, index: Option<usize>, reasons: &mut BTreeSet<&'static str>) -> usize {
    let mut bench = Bench::null(psk(), 1);
    bench.ladder.silent = true;
    let (mut seen, mut count) = (0, 0);
    let mut done = String::new();
    for step in STEPS {
        step(&mut bench);
        while let Some((side, mut datagram)) = bench.intercept() {
            if seen == n {
                let all = mutants::inner_chains(&datagram.bytes, &mut Rng::named(n as u64, "hostile"));
                count = all.len();
                if let Some((what, bytes)) = index.and_then(|index| all.into_iter().nth(index)) {
                    done = format!("message {n}, {what}");
                    datagram.bytes = bytes;
                }
            }
            seen += 1;
            bench.deliver(side, &datagram);
        }
    }
    bench.run_for(seconds(400));
    for side in Side::BOTH {
        of_sa(&mut bench, side, Command::Delete);
        reasons.extend(bench.closures(side));
        reasons.extend(bench.failures(side));
    }
    let replay = Replay(done);
    bench.assert_nothing_remains();
    drop(replay);
    count
}

/// Prints what was done when it went wrong.
struct Replay(String);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("it was {}", self.0);
        }
    }
}

/// Every message is replayed at every later moment, to its receiver and back to its sender.
#[test]
fn replays_and_reflections_change_nothing() {
    let mut bench = Bench::new(generous(psk()));
    let mut old: Vec<(Side, Datagram)> = Vec::new();
    converse(&mut bench, |bench, side, datagram| {
        for (receiver, replayed) in &old {
            let (_, events) = strike(bench, *receiver, replayed, &replayed.bytes);
            assert!(events.is_empty(), "replayed: {events:?}\n{}", bench.ladder);
        }
        old.push((side, datagram.clone()));
        for (receiver, reflected) in &old {
            let Datagram { from: to, to: from, .. } = *reflected;
            let reflected = Datagram { from, to, ..reflected.clone() };
            let (_, events) = strike(bench, receiver.peer(), &reflected, &reflected.bytes);
            assert!(events.is_empty(), "reflected: {events:?}\n{}", bench.ladder);
        }
    });
    assert_eq!((bench.closures(Side::I), bench.closures(Side::R)), (vec!["deleted"], vec!["deleted"]));
    bench.assert_nothing_remains();
}

#[test]
fn garbage_is_discarded() {
    let mut rng = Rng::named(1, "garbage");
    let mut bench = Bench::new(psk()).established();
    let from = Socket::new(Ipv4Addr::new(203, 0, 113, 1).into(), 500);
    for n in 0..20_000_usize {
        let mut bytes = vec![0; n % 700];
        rng.fill(&mut bytes);
        if n % 3 == 0 && bytes.len() >= 28 {
            // A header that passes the first checks.
            bytes[17] = 0x20;
            bytes[18] = 34 + (n % 4) as u8;
            let length = u32::try_from(bytes.len()).unwrap();
            bytes[24..28].copy_from_slice(&length.to_be_bytes());
        }
        for side in Side::BOTH {
            let to = Socket::new(side.ip(), if n % 2 == 0 { 500 } else { 4500 });
            let (facts, outputs) = bench
                .handle(side, Input::Datagram { from: Addr::Udp(from), to: Addr::Udp(to), bytes: &bytes });
            assert!(facts.iter().any(|fact| matches!(fact, Fact::Discarded { .. })), "{bytes:02x?}");
            assert!(outputs.iter().all(|output| matches!(output, Output::Datagram(_))));
        }
    }
    bench.run_for(seconds(60));
    bench.assert_agreement();
}

/// The first request of a genuine initiator, as a flood varies it: other SPI, other source.
fn template() -> Datagram {
    let mut bench = Bench::new(psk());
    bench.initiate();
    bench.intercept().unwrap().1
}

fn forged(template: &Datagram, n: u32, from: Ipv4Addr) -> Datagram {
    let mut forged = Datagram { from: Addr::udp(from.into(), 500), ..template.clone() };
    forged.bytes[..4].copy_from_slice(&n.to_be_bytes());
    forged
}

#[test]
fn a_flood_from_forged_sources_does_not_lock_peers_out() {
    let template = template();
    let mut bench = Bench::new(psk());
    let limit = bench_limits().cookies_from;
    for n in 0..100_000_u32 {
        let datagram = forged(&template, n, Ipv4Addr::from(0x0a00_0000 + n));
        let (_, events) = strike(&mut bench, Side::R, &datagram, &datagram.bytes);
        assert!(events.is_empty());
        assert!(bench.r.endpoint.half_open_count() <= limit, "cookies hold what cannot prove its address");
        assert!(bench.r.endpoint.sa_count() <= limit + 1);
        if n == 50_000 {
            bench.initiate();
            bench.settle();
            support::books::assert_crosswise(bench.i.books.only_child(), bench.r.books.only_child());
        }
    }
    bench.run_for(seconds(31));
    assert_eq!(bench.r.endpoint.half_open_count(), 0, "half-open SAs expire");
    bench.assert_agreement();
}

fn bench_limits() -> HalfOpen {
    HalfOpen::default()
}

/// The limits hold even if all sources receive.
#[test]
fn half_open_sas_are_limited_in_all_and_for_each_source() {
    let template = template();
    let (i, mut r) = psk();
    r.half_open = HalfOpen { cookies_from: usize::MAX, max: 100, per_address_max: 7, ..r.half_open };
    let mut bench = Bench::null((i, r), 1);
    for n in 0..1000 {
        let datagram = forged(&template, n, Ipv4Addr::new(10, 0, 0, 1));
        strike(&mut bench, Side::R, &datagram, &datagram.bytes);
    }
    assert_eq!(bench.r.endpoint.half_open_count(), 7);
    for n in 0..1000 {
        let datagram = forged(&template, 2000 + n, Ipv4Addr::from(0x0a01_0000 + n));
        strike(&mut bench, Side::R, &datagram, &datagram.bytes);
    }
    assert_eq!((bench.r.endpoint.half_open_count(), bench.r.endpoint.sa_count()), (100, 100));
    bench.run_for(seconds(31));
    assert_eq!((bench.r.endpoint.half_open_count(), bench.r.endpoint.sa_count()), (0, 0));
}

/// The limits of a gateway with a thousand half-open SAs, as node files set them.
fn of_a_thousand(half_open: HalfOpen) -> HalfOpen {
    HalfOpen { cookies_from: 125, max: 1000, per_address_max: 125, ..half_open }
}

/// A first request from an address that receives: a request for a cookie is answered.
fn knock(bench: &mut Bench, request: &Datagram) {
    let Datagram { from, to, ref bytes, .. } = *request;
    let (_, outputs) = bench.handle(Side::R, Input::Datagram { from, to, bytes });
    let Some(Output::Datagram(answer)) = outputs.first() else { return };
    if answer.bytes[16] != 41 {
        return;
    }
    // RFC 7296 §2.6: HDR, N(COOKIE), and everything that was there before.
    let mut with_cookie = [&bytes[..28], &answer.bytes[28..], &bytes[28..]].concat();
    (with_cookie[28], with_cookie[16]) = (bytes[16], 41);
    let length = u32::try_from(with_cookie.len()).unwrap();
    with_cookie[24..28].copy_from_slice(&length.to_be_bytes());
    bench.handle(Side::R, Input::Datagram { from, to, bytes: &with_cookie });
}

/// One half-open SA for each of a thousand prefixes, all of which receive: no origin is crowded, and the table is full.
#[test]
fn a_flood_from_many_prefixes_locks_nobody_out() {
    let template = template();
    let (i, mut r) = psk();
    r.half_open = of_a_thousand(r.half_open);
    let mut bench = Bench::new((i, r));
    let mut sources = (0x0a00_0000..).map(Ipv4Addr::from);
    let mut flood = |bench: &mut Bench, count| {
        for (n, source) in sources.by_ref().take(count).enumerate() {
            knock(bench, &forged(&template, n as u32, source));
        }
    };
    flood(&mut bench, 1000);
    assert_eq!(bench.r.endpoint.half_open_count(), 1000);
    bench.initiate();
    for _ in 0..10 {
        bench.run_for(seconds(1));
        flood(&mut bench, 300);
    }
    assert_eq!(bench.disagreement_of_books(), None, "{}", bench.ladder);
    assert_eq!((bench.r.books.sa_count(), bench.r.endpoint.half_open_count()), (1, 1000));
}

/// One address, or one IPv6 prefix with all its addresses, starts as often as it can and never continues: others succeed.
#[test]
fn a_flood_from_one_origin_does_not_lock_out_others() {
    let v4 = |_| IpAddr::from(Ipv4Addr::new(203, 0, 113, 1));
    let v6 = |n: u32| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, (n >> 16) as u16, n as u16));
    for (origin, of) in [("an address", &v4 as &dyn Fn(u32) -> IpAddr), ("a prefix", &v6)] {
        let template = template();
        let (i, mut r) = psk();
        r.half_open = of_a_thousand(r.half_open);
        let mut bench = Bench::new((i, r));
        for n in 0..2000 {
            let mut request = forged(&template, n, Ipv4Addr::UNSPECIFIED);
            request.from = Addr::udp(of(n), request.from.port().unwrap());
            knock(&mut bench, &request);
        }
        assert_eq!(bench.r.endpoint.half_open_count(), 125, "{origin}");
        bench.initiate();
        bench.settle();
        bench.i.books.only_child();
        bench.run_for(seconds(31));
        assert_eq!(bench.r.endpoint.half_open_count(), 0, "{origin}");
    }
}

/// A flood with a forged source address does not lock out its owner: cookies go there.
#[test]
fn a_flood_with_a_forged_address_does_not_lock_out_its_owner() {
    let template = template();
    let (i, mut r) = psk();
    r.half_open = of_a_thousand(r.half_open);
    let mut bench = Bench::new((i, r));
    for n in 0..2000 {
        let datagram = forged(&template, n, Ipv4Addr::new(192, 0, 2, 10));
        strike(&mut bench, Side::R, &datagram, &datagram.bytes);
    }
    assert_eq!(bench.r.endpoint.half_open_count(), 63, "half of what one address may have");
    bench.initiate();
    bench.settle();
    bench.i.books.only_child();
}

/// A refused initiator counts as half open as long as its SA retransmits the refusal, and no longer.
#[test]
fn refused_initiators_keep_their_places_and_no_more() {
    let (mut i, mut r) = psk();
    only(&mut i).local = Prove::Psk(support::lab::secret("wrong"));
    r.half_open = HalfOpen { per_address_max: 10, ..r.half_open };
    let mut bench = Bench::new((i, r));
    for _ in 0..40 {
        bench.initiate();
        bench.settle();
    }
    let endpoint = &bench.r.endpoint;
    assert_eq!((endpoint.half_open_count(), endpoint.sa_count(), endpoint.lingering_count()), (10, 10, 10));
    assert_eq!(bench.failures(Side::R).len(), 10);
    bench.run_for(seconds(31));
    assert_eq!((bench.r.endpoint.half_open_count(), bench.r.endpoint.sa_count()), (0, 0));
}

/// If a refused initiator's SA is dropped because too many linger, its place becomes free no sooner for the same address.
#[test]
fn refused_initiators_keep_their_places_when_dropped() {
    let (mut i, mut r) = psk();
    only(&mut i).local = Prove::Psk(support::lab::secret("wrong"));
    r.half_open = HalfOpen { per_address_max: 10, lingering_max: 2, ..r.half_open };
    let mut bench = Bench::new((i, r));
    for refused in [10, 20] {
        for _ in 0..40 {
            bench.initiate();
            bench.settle();
        }
        assert_eq!(bench.failures(Side::R).len(), refused);
        let endpoint = &bench.r.endpoint;
        assert_eq!((endpoint.half_open_count(), endpoint.sa_count()), (2, 2), "what is held is no SA");
        bench.run_for(seconds(31));
    }
    assert_eq!((bench.r.endpoint.half_open_count(), bench.r.endpoint.sa_count()), (0, 0));
}

/// A peer that connects and disconnects endlessly leaves limited state behind.
#[test]
fn closed_sas_are_dropped_when_there_are_too_many() {
    let (i, mut r) = psk();
    r.half_open.lingering_max = 5;
    let mut bench = Bench::null((i, r), 1);
    for _ in 0..20 {
        bench.initiate();
        bench.settle();
        of_sa(&mut bench, Side::I, Command::Delete);
        bench.settle();
        assert!(bench.r.endpoint.sa_count() <= 5);
    }
    assert_eq!(bench.r.endpoint.lingering_count(), 5);
    // The latest still retransmits its last response.
    let (_, last) = bench.sent.iter().rev().find(|(side, _)| *side == Side::I).unwrap().clone();
    let before = bench.sent.len();
    bench.deliver(Side::R, &last);
    assert_eq!(bench.sent.len(), before + 1);
    bench.assert_nothing_remains();
}

/// RFC 8019 §5: a peer that creates children without limit gets NO_ADDITIONAL_SAS; its existing ones can still be rekeyed.
#[test]
fn children_beyond_the_limit_are_refused() {
    let (i, mut r) = psk();
    r.children_max = 3;
    let mut bench = Bench::new((i, r)).established();
    for _ in 0..20 {
        of_sa(&mut bench, Side::I, Command::CreateChild);
        bench.settle();
    }
    assert_eq!(bench.r.books.all_children().len(), 3);
    assert_eq!(bench.refusals(Side::I), vec!["NO_ADDITIONAL_SAS"; 18]);
    for _ in 0..10 {
        of_child(&mut bench, Side::I, Command::RekeyChild);
        bench.settle();
        assert_eq!(bench.disagreement_of_books(), None, "{}", bench.ladder);
        assert_eq!(bench.r.books.all_children().len(), 3);
    }
    // A peer that rekeys and never deletes is limited, too.
    while let Some((side, datagram)) = {
        of_child(&mut bench, Side::I, Command::RekeyChild);
        bench.intercept()
    } {
        let is_delete = side == Side::R && datagram.bytes[18] == 37;
        if is_delete {
            break;
        }
        bench.deliver(side, &datagram);
    }
    assert!(bench.r.books.all_children().len() <= 6);
}

/// RFC 7296 §2.19: an initiator that requested no address accepts none, whatever the responder sends; and never an invalid
/// host address.
#[test]
fn an_unrequested_address_is_not_accepted() {
    let cases: [(bool, [u8; 4], Option<&str>); 5] = [
        (false, [10, 9, 8, 7], None),
        (true, [10, 9, 8, 7], Some("10.9.8.7")),
        (true, [0, 0, 0, 0], None),
        (true, [127, 0, 0, 1], None),
        (true, [255, 255, 255, 255], None),
    ];
    for (asks, address, expected) in cases {
        let (mut i, r) = psk();
        only(&mut i).request_address = asks;
        let mut bench = Bench::null((i, r), 1);
        bench.initiate();
        while let Some((side, mut datagram)) = bench.intercept() {
            if side == Side::I && datagram.bytes[18] == 35 {
                // CP(CFG_REPLY): INTERNAL_IP4_ADDRESS of four octets.
                let body = [&[2, 0, 0, 0, 0, 1, 0, 4][..], &address].concat();
                datagram.bytes = mutants::with_payload(&datagram.bytes, 47, &body);
            }
            bench.deliver(side, &datagram);
        }
        let given = bench.i.events.iter().find_map(|event| match event {
            Event::Established(up) => Some(up.address),
            _ => None,
        });
        assert_eq!(given.unwrap(), expected.map(|text| text.parse().unwrap()), "{asks} {address:?}");
    }
}

/// A cookie is valid for one initiator at one address, and for a limited time.
#[test]
fn foreign_and_expired_cookies_are_not_accepted() {
    let (i, mut r) = psk();
    r.half_open.cookies_from = 0;
    let mut bench = Bench::new((i, r));
    bench.initiate();
    let (_, request) = bench.intercept().unwrap();
    bench.deliver(Side::R, &request);
    let (_, cookie) = bench.intercept().unwrap();
    bench.deliver(Side::I, &cookie);
    let (_, with_cookie) = bench.intercept().unwrap();

    for changed in [
        Datagram { from: Addr::udp(Ipv4Addr::new(10, 0, 0, 1).into(), 500), ..with_cookie.clone() },
        forged(&with_cookie, 1, Ipv4Addr::new(192, 0, 2, 10)),
        mutated(&with_cookie, 40),
        // The number of the secret, which comes first in the notification: two later would be the same secret.
        altered(&with_cookie, 36, |number| number.wrapping_add(2)),
    ] {
        strike(&mut bench, Side::R, &changed, &changed.bytes);
        assert_eq!(bench.r.endpoint.half_open_count(), 0);
    }
    // Secrets are renewed every minute while cookies are made, and the previous one remains valid.
    for _ in 0..3 {
        bench.now += seconds(61);
        strike(&mut bench, Side::R, &request, &request.bytes);
    }
    strike(&mut bench, Side::R, &with_cookie, &with_cookie.bytes);
    assert_eq!(bench.r.endpoint.half_open_count(), 0, "yesterday's");
}

fn mutated(datagram: &Datagram, byte: usize) -> Datagram {
    altered(datagram, byte, |value| value ^ 1)
}

fn altered(datagram: &Datagram, byte: usize, change: fn(u8) -> u8) -> Datagram {
    let mut altered = datagram.clone();
    altered.bytes[byte] = change(altered.bytes[byte]);
    altered
}

/// A message of another major version is answered with ours, once, and changes nothing.
#[test]
fn higher_versions_are_answered_with_ours() {
    let mut bench = Bench::new(psk());
    let (mut request, to) = (template(), Socket::new(Side::R.ip(), 500));
    request.bytes[17] = 0x30;
    let input = Input::Datagram { from: request.from, to: Addr::Udp(to), bytes: &request.bytes };
    let (_, outputs) = bench.handle(Side::R, input);
    let [Output::Datagram(answer)] = &outputs[..] else { panic!("{outputs:?}") };
    assert_eq!(answer.bytes[17], 0x20, "ours");
    assert_eq!(answer.bytes[34..36], 5_u16.to_be_bytes(), "INVALID_MAJOR_VERSION");
    assert_eq!(bench.r.endpoint.sa_count(), 0);
}

/// Devices that never continue with IKE_AUTH, with SPIs that another device may use, too.
#[test]
fn two_initiators_with_one_spi_at_one_address() {
    let (mut i, r) = psk();
    only(&mut i).name = "first".to_owned();
    let mut bench = Bench::new((i, r));
    bench.initiate();
    let (_, request) = bench.intercept().unwrap();
    // The other device behind the same NAT: same address, same port, same SPI, another nonce.
    let last = request.bytes.len() - 1;
    let other = mutated(&request, last);
    strike(&mut bench, Side::R, &other, &other.bytes);
    assert_eq!(bench.r.endpoint.half_open_count(), 1);
    bench.deliver(Side::R, &request);
    bench.settle();
    bench.i.books.only_child();
    assert_eq!(bench.r.endpoint.half_open_count(), 1, "the other one still waits");
}
