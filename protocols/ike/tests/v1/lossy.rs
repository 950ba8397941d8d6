//! Lost, duplicated and reordered messages: both sides end up with the same SAs, or with none.

use keytoll_crypto_api::Rng;
use keytoll_ike::config::{Config, Phase1};
use keytoll_ike::event::Command;

use super::configs::psk;
use crate::support::lab::{brisk, seconds};
use crate::support::{Bench, Fault, Side, Weather};

fn patient(phase1: Phase1) -> (Config, Config) {
    let (mut i, mut r) = psk(phase1);
    i.retransmission = brisk();
    r.retransmission = brisk();
    (i, r)
}

/// Main mode and quick mode have nine messages, aggressive mode six.
const MESSAGES: [(Phase1, usize); 2] = [(Phase1::Main, 9), (Phase1::Aggressive, 6)];

#[test]
fn any_one_message_may_be_lost() {
    for (phase1, messages) in MESSAGES {
        for n in 1..=messages {
            let mut bench = Bench::null(patient(phase1), 1).lose(n);
            bench.initiate();
            bench.run_for(seconds(30));
            assert_eq!(bench.disagreement(), None, "{phase1:?}, message {n} lost\n{}", bench.ladder);
            bench.assert_agreement();
        }
    }
}

#[test]
fn any_one_message_may_be_duplicated_or_delayed() {
    for (phase1, messages) in MESSAGES {
        for n in 1..=messages {
            for fault in [Fault::Twice, Fault::Late(seconds(2))] {
                let mut bench = Bench::null(patient(phase1), 1).fault(n, fault);
                bench.initiate();
                bench.run_for(seconds(60));
                bench.assert_agreement();
            }
        }
    }
}

#[test]
fn a_damaged_message_is_retransmitted() {
    for (phase1, messages) in MESSAGES {
        for n in 1..=messages {
            let mut bench = Bench::new(patient(phase1)).corrupt(n);
            bench.initiate();
            bench.run_for(seconds(60));
            let (failed, closed) = (bench.failures(Side::I), bench.closures(Side::I));
            let alike = bench.disagreement();
            // Only the hashes at the end of phase 1 protect its integrity: an alteration may cost the attempt, and the last block
            // is the IV of everything after it.
            assert!(
                alike.is_none() || failed.len() + closed.len() > 0,
                "{phase1:?} {n}: {alike:?}\n{}",
                bench.ladder
            );
        }
    }
}

#[test]
fn bad_weather() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        for seed in 0..200 {
            let mut bench = Bench::null(patient(phase1), seed);
            bench.keep_sent = false;
            bench.ladder.silent = true;
            let rng = Rng::named(seed, "weather");
            bench.weather =
                Some(Weather { rng, loss: 0.2, duplication: 0.1, corruption: 0.0, latency_max: seconds(1) });
            bench.initiate();
            bench.run_for(seconds(120));
            if let [sa] = bench.i.books.sas()[..] {
                bench.command(Side::I, Command::RekeyIke(sa));
                bench.run_for(seconds(120));
            }
            bench.weather = None;
            for side in Side::BOTH {
                for sa in bench.seat(side).books.sas() {
                    bench.command(side, Command::Delete(sa));
                }
            }
            bench.run_for(seconds(120));
            let left = [&bench.i, &bench.r].map(|seat| (seat.endpoint.sa_count(), seat.books.sa_count()));
            assert_eq!(left, [(0, 0), (0, 0)], "{phase1:?}, seed {seed}");
        }
    }
}

#[test]
fn one_seed_gives_one_conversation() {
    let run = || {
        let bench = Bench::null(psk(Phase1::Main), 7).established();
        bench.sent.into_iter().map(|(_, datagram)| datagram.bytes).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}
