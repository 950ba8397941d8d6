//! Authentications per second and core.

use std::cell::RefCell;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use keytoll_lab::keeper::Files;
use keytoll_lab::{Credentials, Discard, Keeper, Row, Stop};
use keytoll_native::clock;
use keytoll_scenario::Plan;

use crate::figures::{Spread, repetitions};

/// A plan with one row over a link without delay.
pub(crate) fn plan(method: &str, crypto: &str, samples: u32) -> Plan {
    let text = format!(
        "methods = ['{method}']\nnetworks = ['loopback']\nsuites = ['aes128gcm16-prfsha256-x25519']\n\
         crypto = '{crypto}'\nsamples = {samples}\n"
    );
    keytoll_scenario::parse("bench.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the row of a plan; `progress` is called after each authentication. Gives how many there were.
///
/// # Panics
/// If one of them fails.
pub(crate) fn run(plan: &Plan, keeper: &mut dyn Keeper, progress: &dyn Fn()) -> u32 {
    let credentials = Credentials::prepare(plan);
    let mut row = Row::new(plan, &plan.rows[0], &credentials, clock::core_hz());
    let end = row.run(keeper, progress, &Stop::new(false));
    assert_eq!(end.failed, 0, "nothing fails on a perfect link");
    end.samples
}

/// The shared key between two nodes, and EAP-AKA between four of which the gateway signs with RSA-2048; real and null
/// crypto, with and without files.
pub(crate) fn table() {
    println!("authentications per second of CPU time      min    median       max");
    for (method, real, null) in [("ikev2-psk", 4_000, 20_000), ("ikev2-eap-aka", 1_500, 8_000)] {
        for (crypto, samples) in [("real", real), ("null", null)] {
            let plan = plan(method, crypto, repetitions(samples, 10));
            line(&format!("{method}, {crypto}, discard"), &|| rate(&plan, &mut Discard));
            line(&format!("{method}, {crypto}, files"), &|| rate_with_files(&plan));
        }
    }
    println!();
}

fn line(what: &str, measure: &dyn Fn() -> f64) {
    let rates = (0..repetitions(9, 1)).map(|_| measure()).collect();
    println!("  {what:36}{:.0}", Spread::of(rates));
}

/// Only the authentications themselves count: from the end of the first (building and warming up come before it) to the
/// end of the last.
fn rate(plan: &Plan, keeper: &mut dyn Keeper) -> f64 {
    let ends = RefCell::new((0, 0));
    let samples = run(plan, keeper, &|| {
        let mut ends = ends.borrow_mut();
        let now = clock::thread_cpu_ns();
        *ends = if ends.0 == 0 { (now, now) } else { (ends.0, now) };
    });
    let (first, last) = ends.into_inner();
    f64::from(samples - 1) * 1e9 / (last - first) as f64
}

fn rate_with_files(plan: &Plan) -> f64 {
    let paths = ["trace", "costs"].map(|kind| directory().join(format!("bench.{kind}")));
    let [trace, costs] = paths.each_ref().map(|path| {
        BufWriter::with_capacity(
            1 << 16,
            File::create(path).unwrap_or_else(|error| panic!("{path:?}: {error}")),
        )
    });
    let mut files = Files::new(trace, costs).expect("the temporary directory takes files");
    let rate = rate(plan, &mut files);
    files.finish().expect("the temporary directory takes files");
    paths.iter().for_each(|path| std::fs::remove_file(path).expect("just written"));
    rate
}

/// Where cargo lets benchmarks write.
fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}
