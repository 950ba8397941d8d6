//! A long conversation over a bad network while both owners send random commands; then the network recovers, and both sides
//! must hold the same. A failing seed is printed with the command that replays it alone.
#![allow(clippy::print_stderr, reason = "this is a test: it may fail and say why")]

use std::collections::BTreeSet;
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_ike::event::{Command, Event};

use super::lab::seconds;
use super::{Bench, Side};

/// How long the owners send commands over the bad network.
const STORM: Duration = seconds(400);
/// Long enough for every probe, retransmission and wait left by the storm.
pub(crate) const CALM: Duration = seconds(900);

/// Prints how to reproduce the run: the test's path and the seed.
struct Replay(&'static str, u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self(test, seed) = self;
            eprintln!(
                "replay: KEYTOLL_SEED={seed} cargo test -p keytoll-ike --test suite {test} -- --nocapture"
            );
        }
    }
}

/// Runs every seed, on all cores; or only the one in `KEYTOLL_SEED`, with a ladder.
pub(crate) fn for_each_seed(test: &'static str, seeds: u64, run: impl Fn(u64, bool) + Sync) {
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

/// Commands at random times from either side, and other events from `befalls`.
pub(crate) fn rage(bench: &mut Bench, rng: &mut Rng, mut befalls: impl FnMut(&mut Bench, &mut Rng)) {
    let until = bench.now + STORM;
    for _ in 0..rng.below(12) {
        let pause = Duration::from_nanos(rng.below(60_000_000_000) * rng.below(2));
        bench.run_for(pause.min(until - bench.now));
        let side = if rng.chance(0.5) { Side::I } else { Side::R };
        if let Some(command) = idea(bench, side, rng) {
            bench.command(side, command);
        }
        befalls(bench, rng);
    }
    bench.run_for(until - bench.now);
}

/// A random command that makes sense now.
fn idea(bench: &mut Bench, side: Side, rng: &mut Rng) -> Option<Command> {
    if side == Side::I && rng.chance(0.1) {
        return Some(Command::Initiate { connection: 0, local: Side::I.ip(), remote: Side::R.ip() });
    }
    let books = &bench.seat(side).books;
    let sas = books.sas();
    let sa = *sas.get(usize::try_from(rng.below(sas.len() as u64)).unwrap())?;
    let children = books.all_children();
    let child = children.get(usize::try_from(rng.below(children.len() as u64)).unwrap());
    let child = child.map(|(sa, child)| (*sa, child.pair.inbound_spi));
    match rng.below(12) {
        0..3 => Some(Command::RekeyIke(sa)),
        3..6 => child.map(|(sa, spi)| Command::RekeyChild(sa, spi)),
        6..8 => Some(Command::CreateChild(sa)),
        8 => child.map(|(sa, spi)| Command::DeleteChild(sa, spi)),
        9 => Some(Command::Delete(sa)),
        _ => Some(Command::Probe(sa)),
    }
}

/// Both owners rekey all their children, as if SAs had traffic limits: one side, the other, or both.
pub(crate) fn renew(bench: &mut Bench, rng: &mut Rng) {
    let until = bench.now + STORM;
    for _ in 0..1 + rng.below(20) {
        for side in Side::BOTH {
            let children = bench.seat(side).books.all_children();
            let wished = children.get(usize::try_from(rng.below(children.len() as u64 + 1)).unwrap());
            if let Some(command) = wished.map(|(sa, child)| Command::RekeyChild(*sa, child.pair.inbound_spi))
            {
                bench.command(side, command);
            }
        }
        let pause = Duration::from_nanos(rng.below(20_000_000_000) >> (4 * rng.below(4)));
        bench.run_for(pause.min(until - bench.now));
    }
}

/// From now on everything arrives.
pub(crate) fn clear(bench: &mut Bench) {
    let weather = bench.weather.as_mut().unwrap();
    (weather.loss, weather.duplication, weather.corruption) = (0.0, 0.0, 0.0);
}

/// The network recovers and there are no more commands; only timers continue.
pub(crate) fn calm(bench: &mut Bench, time: Duration) {
    clear(bench);
    bench.run_for(time);
    // Rekeying timers may have something in flight at any time: wait for a moment without.
    for _ in 0..100 {
        if bench.disagreement_of_books().is_none() {
            return;
        }
        bench.run_for(seconds(1));
    }
}

/// Every authentication ended in an SA or with a reason that starts like an expected one.
pub(crate) fn assert_named(bench: &mut Bench, expected: &[&str]) {
    for side in Side::BOTH {
        let failures = bench.failures(side);
        let is_expected = |why: &&str| expected.iter().any(|known| why.starts_with(known));
        assert!(failures.iter().all(is_expected), "{side:?} {failures:?}");
        let seat = bench.seat(side);
        let (mut known, mut came_up, mut ended, mut merged) = (BTreeSet::new(), 0, 0, 0);
        for event in &seat.events {
            match event {
                Event::Established(up) => came_up += usize::from(known.insert(up.sa)),
                // IKEv1: two known ones become one.
                Event::Rekeyed { new, .. } => merged += usize::from(!known.insert(*new)),
                Event::Closed(..) => ended += 1,
                _ => {}
            }
        }
        let left = seat.books.sa_count();
        assert_eq!(came_up, ended + merged + left, "every SA that came up is accounted for");
    }
}

/// Everything is closed, and then no timer is left. A replacement in progress may still come up after its SA.
pub(crate) fn close(bench: &mut Bench) {
    for _ in 0..2 {
        for side in Side::BOTH {
            for sa in bench.seat(side).books.sas() {
                bench.command(side, Command::Delete(sa));
            }
        }
        bench.run_for(seconds(60));
    }
    bench.assert_nothing_remains();
}
