//! What the protocol adds to its cryptography: `cargo bench -p keytoll-lab --bench handshake`.
//!
//! One authentication between two IKEv2 endpoints (IKE_SA_INIT and IKE_AUTH, RFC 7296 §1.2; datagrams passed by hand: no
//! simulator, no ESP, no meter) beside the operations it consists of, replayed with the same arguments on the bare
//! library. The operations are those a recorder saw under a `Metered` provider, and the meter must agree on their number.
//!
//! Both are timed in turns, A B A B …, in one process, and with them the same authentication with null crypto: what there
//! is besides the primitives. A round is the median of each over its turns, and the ratio of
//! the two medians; the table shows minimum, median and maximum over the rounds. An interruption spoils a turn, not a
//! median.
//!
//! Methods with EAP and TLS follow, see `eap`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "../common/cases.rs"]
mod cases;
mod eap;
#[path = "../common/figures.rs"]
mod figures;
#[path = "../common/pair.rs"]
mod pair;
mod raw;
mod recorder;

use std::collections::BTreeMap;
use std::sync::PoisonError;

use keytoll_crypto::{Metered, Null, Real};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_native::{clock, machine};

use cases::Case;
use figures::{Spread, repetitions};
use pair::Pair;
use raw::Primitive;
use recorder::{Recorder, Tape};

const CASES: [Case; 3] = [
    cases::PSK,
    Case { method: "ikev2-rsa2048", suite: "aes128gcm16-prfsha256-ecp256", key: Some(KeyKind::Rsa2048) },
    Case { method: "ikev2-ecdsa-p256", suite: "aes128gcm16-prfsha256-ecp256", key: Some(KeyKind::EcdsaP256) },
];

fn main() {
    println!("{}; microseconds, initiator and responder together\n", machine::cpu_model());
    println!("{:42}{:>27}{:>30}", "", "min      median      max", "");
    for case in &CASES {
        measure(case);
    }
    eap::measure_all();
}

fn measure(case: &Case) {
    let configs = case.configs();
    let (mut primitives, operations) = record(configs.clone());
    let mut pairs = (Pair::new(configs.clone(), Real::default), Pair::new(configs, || Null));
    let turns = if case.key == Some(KeyKind::Rsa2048) { 40 } else { 200 };
    let (rounds, turns) = (repetitions(31, 1), repetitions(turns, 2));
    round(&mut pairs, &mut primitives, turns);
    let rounds: Vec<_> = (0..rounds).map(|_| round(&mut pairs, &mut primitives, turns)).collect();
    let column = |of: fn(&Round) -> f64| Spread::of(rounds.iter().map(of).collect());
    println!("{} with {}, {} rounds of {turns}", case.method, case.suite, rounds.len());
    println!("  {:40}{}", "whole authentication", column(|round| round.whole_us));
    println!("  {:40}{}", "its primitives alone", column(|round| round.raw_us));
    println!("  {:40}{}", "ratio", column(|round| round.whole_us / round.raw_us));
    println!("  {:40}{}", "whole authentication, null crypto", column(|round| round.null_us));
    println!("  {operations}\n  {}\n", shares(&mut primitives, turns));
}

/// The operations of one authentication, and how the meter names and counts them.
fn record(configs: (keytoll_ike::Config, keytoll_ike::Config)) -> (Vec<Primitive>, String) {
    let tape = Tape::default();
    let mut pair = Pair::new(configs, || Metered::count_only(Recorder::onto(&tape)));
    pair.authenticate();
    let mut counts = BTreeMap::new();
    for row in [&pair.initiator, &pair.responder].into_iter().flat_map(|seat| seat.crypto.snapshot()) {
        *counts.entry((row.operation, row.algorithm)).or_insert(0) += row.count;
    }
    let primitives = std::mem::take(&mut *tape.lock().unwrap_or_else(PoisonError::into_inner));
    assert_eq!(primitives.len() as u64, counts.values().sum::<u64>(), "meter and recorder saw the same");
    let words =
        counts.iter().map(|((operation, algorithm), count)| format!("{count} {operation} {algorithm}"));
    (primitives, words.collect::<Vec<_>>().join(", "))
}

/// How much of the primitives' time is whose, each timed for itself.
fn shares(primitives: &mut [Primitive], turns: u32) -> String {
    let mut shares = BTreeMap::new();
    for primitive in primitives {
        let times = (0..turns).map(|_| timed(|| primitive.run())).collect();
        *shares.entry(primitive.name()).or_insert(0.0) += Spread::of(times).median;
    }
    let words = shares.iter().map(|(name, us)| format!("{name} {us:.1}"));
    words.collect::<Vec<_>>().join(", ")
}

/// Medians of one round.
struct Round {
    whole_us: f64,
    raw_us: f64,
    null_us: f64,
}

fn round((real, null): &mut (Pair<Real>, Pair<Null>), primitives: &mut [Primitive], turns: u32) -> Round {
    let [mut whole, mut raw, mut skeleton] = [const { Vec::new() }; 3];
    for _ in 0..turns {
        whole.push(timed(|| real.authenticate()));
        real.close();
        raw.push(timed(|| primitives.iter_mut().for_each(Primitive::run)));
        skeleton.push(timed(|| null.authenticate()));
        null.close();
    }
    let [whole_us, raw_us, null_us] = [whole, raw, skeleton].map(|values| Spread::of(values).median);
    Round { whole_us, raw_us, null_us }
}

/// Microseconds, without those of the clock itself.
fn timed(work: impl FnOnce()) -> f64 {
    let start = clock::ticks();
    work();
    clock::ticks_to_ns((clock::ticks() - start).saturating_sub(clock::empty_span_ticks())) / 1e3
}
