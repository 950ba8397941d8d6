//! Both engines against each other, over a wire that loses, repeats and changes messages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret, Seed};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Addr, Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_knock::initiator::{Command, Event as Asked};
use keytoll_knock::responder::Event as Answered;
use keytoll_knock::{Config, Initiator, NUMBER, Responder};

const LIFETIME: Duration = Duration::from_secs(5);

fn at(last: u8) -> Addr {
    Addr::Ip { ip: [192, 0, 2, last].into(), protocol: NUMBER }
}

fn config(key: &[u8]) -> Config {
    Config { key: Secret::from(key), lifetime: LIFETIME }
}

fn responder() -> Responder {
    Responder::new(config(b"secret"), &Seed::from(1), "gw")
}

fn initiator(key: &[u8], seed: u64) -> Initiator {
    Initiator::new(config(key), &Seed::from(seed), "ue")
}

/// What an engine says and notes when something goes in.
fn handle<E: Engine>(
    engine: &mut E,
    at_s: u64,
    input: Input<'_, E::Command>,
) -> (Vec<Datagram>, Vec<E::Event>, Vec<Fact>) {
    let (mut crypto, mut facts) = (Real::default(), Vec::new());
    let now = Time::ZERO + Duration::from_secs(at_s);
    engine.handle(input, &mut Ctx { now, crypto: &mut crypto, trace: &mut facts });
    let (mut datagrams, mut events) = (Vec::new(), Vec::new());
    while let Some(output) = engine.poll() {
        match output {
            Output::Datagram(datagram) => datagrams.push(datagram),
            Output::Event(event) => events.push(event),
            other => panic!("{:?}", other.event::<()>().err()),
        }
    }
    (datagrams, events, facts)
}

fn knock(initiator: &mut Initiator) -> Datagram {
    let (mut sent, ..) = handle(initiator, 0, Input::Command(Command::Open { local: at(2), peer: at(1) }));
    sent.remove(0)
}

fn arrive<E: Engine>(engine: &mut E, datagram: &Datagram) -> (Vec<Datagram>, Vec<E::Event>, Vec<Fact>) {
    let Datagram { from, to, ref bytes, .. } = *datagram;
    handle(engine, 1, Input::Datagram { from, to, bytes })
}

#[test]
fn two_messages_open_a_session_for_its_lifetime() {
    let (mut ue, mut gw) = (initiator(b"secret", 2), responder());
    let question = knock(&mut ue);
    let (answers, events, _) = arrive(&mut gw, &question);
    assert!(matches!(events[..], [Answered::Opened(_, from)] if from == at(2)));
    let (_, events, _) = arrive(&mut ue, &answers[0]);
    assert!(matches!(events[..], [Asked::Opened(_)]));
    // Repeated, it opens nothing more and has the same answer.
    let (again, events, _) = arrive(&mut gw, &question);
    assert_eq!((&again[0].bytes, events), (&answers[0].bytes, vec![]));
    let ((_, asked, _), (_, answered, _)) =
        (handle(&mut ue, 6, Input::Tick), handle(&mut gw, 6, Input::Tick));
    assert!(matches!(asked[..], [Asked::Closed(_)]) && matches!(answered[..], [Answered::Closed(_)]));
    assert_eq!((ue.session_count(), gw.session_count()), (0, 0));
}

#[test]
fn another_key_gets_no_answer_and_leaves_nothing_behind() {
    let (mut ue, mut gw) = (initiator(b"other", 2), responder());
    let (answers, events, facts) = arrive(&mut gw, &knock(&mut ue));
    assert_eq!((answers, events, gw.session_count()), (vec![], vec![], 0));
    assert!(matches!(&facts[..], [Fact::Discarded { why, .. }] if why == "not authentic"));
    let mut ends = (1..100).flat_map(|at_s| handle(&mut ue, at_s, Input::Tick).1);
    assert_eq!(ends.next(), Some(Asked::TimedOut));
}

#[test]
fn no_host_has_sessions_without_end() {
    let mut gw = responder();
    for seed in 0..100 {
        arrive(&mut gw, &knock(&mut initiator(b"secret", seed)));
    }
    assert_eq!(gw.session_count(), 64);
}

#[test]
fn whatever_arrives_nothing_panics_and_nothing_opens_but_by_the_key() {
    let mut rng = Rng::named(1, "noise");
    let (mut ue, mut gw) = (initiator(b"secret", 2), responder());
    let question = knock(&mut ue);
    for _ in 0..10_000 {
        let mut noise = question.clone();
        let bit = usize::try_from(rng.below(noise.bytes.len() as u64 * 8)).unwrap();
        noise.bytes[bit / 8] ^= 1 << (bit % 8);
        noise.bytes.truncate(usize::try_from(rng.below(40)).unwrap().max(bit / 8 + 1));
        assert!(arrive(&mut gw, &noise).1.is_empty());
        let back = Datagram { from: noise.to, to: noise.from, ..noise };
        assert!(arrive(&mut ue, &back).1.is_empty());
    }
}
