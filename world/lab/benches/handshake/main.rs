//! What the protocol adds to its cryptography: `cargo bench -p keytoll-lab --bench handshake`.
//!
//! One authentication between two endpoints of IKEv2 (IKE_SA_INIT and IKE_AUTH, RFC 7296 §1.2) or HIP (see `hip`; datagrams
//! passed by hand: no simulator, no ESP, no meter) beside the operations it consists of, replayed with the same arguments on
//! the bare library. The operations are those a recorder saw under a `Metered` provider, and the meter must agree on their
//! number.
//!
//! Both are timed in turns, A B A B …, in one process, and with them the same authentication with null crypto: what there
//! is besides the primitives. A round is the median of each over its turns, and the ratio of
//! the two medians; the table shows minimum, median and maximum over the rounds. An interruption spoils a turn, not a
//! median.
//!
//! I1s of strangers (see `strangers`) and methods with EAP and TLS (see `eap`) follow. A word behind `--` selects the
//! authentications of the first two parts whose names have it: `cargo bench -p keytoll-lab --bench handshake -- hip`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "../common/cases.rs"]
mod cases;
mod eap;
#[path = "../common/figures.rs"]
mod figures;
mod hip;
mod ike;
#[path = "../common/pair.rs"]
mod pair;
mod raw;
mod recorder;
mod strangers;

use std::collections::BTreeMap;
use std::sync::PoisonError;

use keytoll_crypto::Metered;
use keytoll_crypto_api::Phase;
use keytoll_native::{clock, machine};

use figures::{Spread, repetitions};
use raw::Primitive;
use recorder::{Recorder, Tape};

fn main() {
    println!("{}; microseconds, initiator and responder together\n", machine::cpu_model());
    println!("{:42}{:>27}{:>30}", "", "min      median      max", "");
    ike::measure_all();
    hip::measure_all();
    if selection().is_none() {
        strangers::measure_all();
        eap::measure_all();
    }
}

/// The word that names must have, if not all are measured.
fn selection() -> Option<String> {
    std::env::args().skip(1).find(|argument| !argument.starts_with('-'))
}

/// Two endpoints that authenticate each other as often as they are asked.
trait Authenticate {
    /// One authentication.
    fn authenticate(&mut self);

    /// Both sides forget it, and are ready for another one.
    fn close(&mut self);
}

/// An authentication to be measured.
struct Subject {
    title: String,
    real: Box<dyn Authenticate>,
    null: Box<dyn Authenticate>,
    /// The operations of `real`, and how the meter names and counts them.
    recorded: (Vec<Primitive>, String),
    /// Turns in a round.
    turns: u32,
}

impl Subject {
    fn measure(mut self) {
        if selection().is_some_and(|word| !self.title.contains(&word)) {
            return;
        }
        let (rounds, turns) = (repetitions(31, 1), repetitions(self.turns, 2));
        self.round(turns);
        let rounds: Vec<_> = (0..rounds).map(|_| self.round(turns)).collect();
        let column = |of: fn(&Round) -> f64| Spread::of(rounds.iter().map(of).collect());
        println!("{}, {} rounds of {turns}", self.title, rounds.len());
        println!("  {:40}{}", "whole authentication", column(|round| round.whole_us));
        println!("  {:40}{}", "its primitives alone", column(|round| round.raw_us));
        println!("  {:40}{}", "ratio", column(|round| round.whole_us / round.raw_us));
        println!("  {:40}{}", "whole authentication, null crypto", column(|round| round.null_us));
        let (primitives, operations) = &mut self.recorded;
        println!("  {operations}\n  {}\n", shares(primitives, turns));
    }

    fn round(&mut self, turns: u32) -> Round {
        let [mut whole, mut raw, mut skeleton] = [const { Vec::new() }; 3];
        let primitives = &mut self.recorded.0;
        for _ in 0..turns {
            whole.push(timed(|| self.real.authenticate()));
            self.real.close();
            raw.push(timed(|| primitives.iter_mut().for_each(Primitive::run)));
            skeleton.push(timed(|| self.null.authenticate()));
            self.null.close();
        }
        let [whole_us, raw_us, null_us] = [whole, raw, skeleton].map(|values| Spread::of(values).median);
        Round { whole_us, raw_us, null_us }
    }
}

/// Medians of one round.
struct Round {
    whole_us: f64,
    raw_us: f64,
    null_us: f64,
}

/// The operations of one authentication, without what was computed before the first one, and how the meters name and count
/// them.
fn record<P: Authenticate>(
    make: impl FnOnce(&dyn Fn() -> Metered<Recorder>) -> P,
    meters: impl Fn(&P) -> [&Metered<Recorder>; 2],
) -> (Vec<Primitive>, String) {
    let tape = Tape::default();
    let mut pair = make(&|| Metered::count_only(Recorder::onto(&tape)));
    let take = || std::mem::take(&mut *tape.lock().unwrap_or_else(PoisonError::into_inner));
    take();
    pair.authenticate();
    let primitives = take();
    let mut counts = BTreeMap::new();
    let rows = meters(&pair).into_iter().flat_map(Metered::snapshot);
    for row in rows.filter(|row| row.phase != Phase::SETUP) {
        *counts.entry((row.operation, row.algorithm)).or_insert(0) += row.count;
    }
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

/// Microseconds, without those of the clock itself.
fn timed(work: impl FnOnce()) -> f64 {
    let start = clock::ticks();
    work();
    clock::ticks_to_ns((clock::ticks() - start).saturating_sub(clock::empty_span_ticks())) / 1e3
}
