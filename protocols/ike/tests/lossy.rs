//! Ten thousand conversations over a network that loses three datagrams in ten, doubles some and lets them overtake
//! each other, while both owners ask for whatever comes to their minds. Read RFC 7296 §2.1–§2.4 and §2.25 first.
//!
//! In the end both sides hold the same SAs, or each has a named failure; then everything is closed, and nothing remains
//! and nothing is waited for. A seed that fails is printed with the command that replays it alone.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a test: it may fail and say why"
)]

mod support;

use std::time::Duration;

use keytoll_crypto::{Null, Real};
use keytoll_engine::algorithm::KeyKind;
use keytoll_engine::{Crypto, Rng};
use keytoll_ike::v2::config::{Connection, Mode, Reauthenticate};
use keytoll_ike::v2::{Command, Config, Event};
use support::lab::{Pki, both, esp, ike, only, pool, psk, seconds};
use support::{Bench, Side, Weather};

const SEEDS: u64 = 10_000;
const REAL_SEEDS: u64 = 300;
const LOSS: f64 = 0.3;
/// How long the owners have ideas, and what the network is like meanwhile.
const STORM: Duration = seconds(400);
/// Long enough for every probe, repetition and wait that the storm has left.
const CALM: Duration = seconds(900);

/// Says how to get here again.
struct Replay(&'static str, u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self(test, seed) = self;
            eprintln!(
                "replay: KEYTOLL_SEED={seed} cargo test -p keytoll-ike --test lossy {test} -- --nocapture"
            );
        }
    }
}

#[test]
fn null_crypto() {
    for_each_seed("null_crypto", SEEDS, |seed, drawn| {
        let configs = configs(&mut Rng::named(seed, "configs"), psk());
        conversation(configs, seed, drawn, || Box::new(Null));
    });
}

#[test]
fn real_crypto() {
    let pki = Pki::new(KeyKind::EcdsaP256, 3);
    for_each_seed("real_crypto", REAL_SEEDS, |seed, drawn| {
        let base = if seed % 2 == 0 { psk() } else { pki.configs() };
        let configs = configs(&mut Rng::named(seed, "configs"), base);
        conversation(configs, seed, drawn, || Box::new(Real::default()));
    });
}

/// Every seed, on all cores; or the one in `KEYTOLL_SEED`, drawn.
fn for_each_seed(test: &'static str, seeds: u64, run: impl Fn(u64, bool) + Sync) {
    if let Ok(seed) = std::env::var("KEYTOLL_SEED") {
        return run(seed.parse().unwrap(), true);
    }
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let run = &run;
            scope.spawn(move || {
                for seed in (thread..seeds).step_by(threads as usize) {
                    let replay = Replay(test, seed);
                    run(seed, false);
                    drop(replay);
                }
            });
        }
    });
}

/// Some of everything that changes what is said.
fn configs(rng: &mut Rng, base: (Config, Config)) -> (Config, Config) {
    let (mut i, mut r) = both(base, |connection| {
        // Without it, whoever missed the end of the other would never know.
        connection.liveness_after = Some(seconds(60));
    });
    let mut maybe = |probability| rng.chance(probability);
    if maybe(0.3) {
        r.half_open.cookies_from = 0;
    }
    if maybe(0.3) {
        only(&mut i).suites = ike("aes128gcm16-prfsha256-x25519 aes256-sha256-ecp256");
        only(&mut r).suites = ike("aes256-sha256-ecp256");
    }
    if maybe(0.3) {
        (i, r) = both((i, r), |connection| child(connection).suites = esp("aes128gcm16-x25519"));
    }
    if maybe(0.2) {
        (i, r) = both((i, r), |connection| child(connection).mode = Mode::Transport);
    }
    if maybe(0.2) {
        // Both, because the hashes of null crypto betray no NAT to the peer.
        (i.force_encapsulation, r.force_encapsulation) = (true, true);
    }
    if maybe(0.3) {
        only(&mut i).request_address = true;
        only(&mut r).pool = Some(pool());
    }
    if maybe(0.3) {
        only(&mut r).auth_lifetime = Some(seconds(200));
        only(&mut i).reauthenticate = Reauthenticate::Ahead(seconds(50));
    }
    if maybe(0.3) {
        (i, r) = both((i, r), |connection| connection.rekey_after = Some(seconds(90)));
    }
    if maybe(0.3) {
        (i, r) = both((i, r), |connection| child(connection).rekey_after = Some(seconds(45)));
    }
    (i, r)
}

fn child(connection: &mut Connection) -> &mut keytoll_ike::v2::config::ChildConfig {
    connection.child.as_mut().unwrap()
}

fn conversation((i, r): (Config, Config), seed: u64, drawn: bool, crypto: impl Fn() -> Box<dyn Crypto>) {
    let mut rng = Rng::named(seed, "script");
    let mut bench = Bench::with(i, r, crypto, seed);
    bench.ladder.silent = !drawn;
    (bench.ladder.clock, bench.ladder.loud) = (true, drawn);
    bench.keep_sent = false;
    bench.weather = Some(Weather {
        rng: Rng::named(seed, "weather"),
        loss: LOSS,
        duplication: 0.2,
        latency_max: Duration::from_millis(1 + rng.below(3000)),
    });
    bench.initiate();
    storm(&mut bench, &mut rng);
    calm(&mut bench);
    assert_eq!(bench.disagreement_of_books(), None, "after the storm");
    assert_named(&mut bench);
    close(&mut bench);
}

/// Wishes at any time from either side.
fn storm(bench: &mut Bench, rng: &mut Rng) {
    let until = bench.now + STORM;
    for _ in 0..rng.below(12) {
        let pause = Duration::from_nanos(rng.below(60_000_000_000) * rng.below(2));
        bench.run_for(pause.min(until - bench.now));
        let side = if rng.chance(0.5) { Side::I } else { Side::R };
        if let Some(command) = idea(bench, side, rng) {
            bench.command(side, command);
        }
    }
    bench.run_for(until - bench.now);
}

/// What an owner may think of now.
fn idea(bench: &mut Bench, side: Side, rng: &mut Rng) -> Option<Command> {
    if side == Side::I && rng.chance(0.1) {
        return Some(Command::Initiate { connection: 0, local: Side::I.ip(), remote: Side::R.ip() });
    }
    let books = &bench.seat(side).books;
    let sas = books.sas();
    let sa = *sas.get(usize::try_from(rng.below(sas.len() as u64)).unwrap())?;
    let children = books.all_children();
    let child = children.get(usize::try_from(rng.below(children.len() as u64)).unwrap());
    let child = child.map(|(sa, child)| (*sa, child.inbound_spi));
    match rng.below(12) {
        0..3 => Some(Command::RekeyIke(sa)),
        3..6 => child.map(|(sa, spi)| Command::RekeyChild(sa, spi)),
        6..8 => Some(Command::CreateChild(sa)),
        8 => child.map(|(sa, spi)| Command::DeleteChild(sa, spi)),
        9 => Some(Command::Delete(sa)),
        _ => Some(Command::Probe(sa)),
    }
}

/// The network gets well and nobody has ideas any more; only timers go on.
fn calm(bench: &mut Bench) {
    let weather = bench.weather.as_mut().unwrap();
    (weather.loss, weather.duplication) = (0.0, 0.0);
    bench.run_for(CALM);
    // Timers of rekeying may have something in flight at any moment: wait for one at which nothing is.
    for _ in 0..100 {
        if bench.disagreement_of_books().is_none() {
            return;
        }
        bench.run_for(seconds(1));
    }
}

/// Every authentication ended in an SA or with a reason analysis has a name for.
fn assert_named(bench: &mut Bench) {
    let expected = ["timeout", "AUTHENTICATION_FAILED"];
    for side in Side::BOTH {
        let failures = bench.failures(side);
        assert!(failures.iter().all(|why| expected.contains(why)), "{side:?} {failures:?}");
        let ended = bench.seat(side).events.iter().filter(|event| matches!(event, Event::Closed(..))).count();
        let came_up = bench.seat(side).events.iter().filter(|event| matches!(event, Event::Established(_)));
        assert_eq!(
            came_up.count(),
            ended + bench.seat(side).books.sa_count(),
            "every SA that came up is accounted for"
        );
    }
}

/// Everything is closed, and then nothing is left to wait for.
fn close(bench: &mut Bench) {
    for side in Side::BOTH {
        for sa in bench.seat(side).books.sas() {
            bench.command(side, Command::Delete(sa));
        }
    }
    bench.assert_nothing_remains();
}
