//! Bad input at 50 000 datagrams a second from a second process, and attacks that use up what there is little of: gateway, AAA
//! server and HSS stay up, their memory stays bounded, and genuine devices get in. Read RFC 7296 §2.6, RFC 8019 §4 and §5,
//! RFC 3579 §3.2, RFC 5080 §2.2.2.
//!
//! Five seconds each, or as many as `KEYTOLL_FLOOD_SECONDS` says.

use std::process::Command;

use keytoll_interop::lab_or_skip;
use serde_json::Value;

/// What an attack may leave in memory: tables of half-open SAs, conversations, duplicates, all of them bounded.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

/// What the bench says.
struct Report {
    told: String,
    value: Value,
}

impl Report {
    /// Of one of its verbs; none where the tests were not asked for.
    fn of(verb: &str, what: &str) -> Option<Self> {
        drop(lab_or_skip()?);
        let seconds = std::env::var("KEYTOLL_FLOOD_SECONDS").unwrap_or_else(|_| "5".into());
        let mut command = Command::new(env!("CARGO_BIN_EXE_interop-bench"));
        let output = command.args([verb, what, "--seconds", &seconds]).output().expect("it is built");
        let (told, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{why}");
        let value = serde_json::from_str(&told).expect("a report");
        Some(Self { told: told.into_owned(), value })
    }

    fn number(&self, path: &str) -> f64 {
        self.value.pointer(path).and_then(Value::as_f64).expect(path)
    }

    /// That everybody who is genuine got in meanwhile, and memory has an end.
    fn check(&self) {
        let told = &self.told;
        for phase in ["before", "during", "after"] {
            let count = |of: &str| self.number(&format!("/{phase}/{of}"));
            assert!(count("n") >= 5.0 && count("failed") == 0.0, "{phase}: not everybody got in: {told}");
        }
        let grown = self.number("/resident_after_bytes") - self.number("/resident_before_bytes");
        assert!(grown < MEMORY_BYTES_MAX as f64, "memory grew by {grown} bytes: {told}");
    }
}

fn flooded(victim: &str) {
    let Some(report) = Report::of("flood", victim) else { return };
    let (sent, seconds) = (report.number("/flood/datagrams"), report.number("/flood/seconds"));
    assert!(sent > 1000.0 * seconds, "hardly a flood: {}", report.told);
    report.check();
}

/// What an attack has of its victim at a time is what the victim means to give, no more, and no less: otherwise it was none.
fn exhausted(case: &str) -> Option<Report> {
    let report = Report::of("exhaust", case)?;
    let (tried, held) = (report.number("/attack/tried"), report.number("/attack/held_max"));
    let limit = report.number("/limit");
    assert!(tried > 2.0 * limit, "hardly an attack: {}", report.told);
    assert!(held <= limit, "more than the limit: {}", report.told);
    assert!(held >= 0.9 * limit, "the limit was not reached: {}", report.told);
    report.check();
    Some(report)
}

/// What is kept for 30 seconds is given once in 30 seconds.
fn exhausted_for_half_a_minute(case: &str) {
    let Some(report) = exhausted(case) else { return };
    let times = 1.0 + (report.number("/attack/seconds") / 30.0).floor();
    assert!(report.number("/attack/given") <= times * report.number("/limit"), "{}", report.told);
}

#[test]
fn one_address_does_not_lock_others_out() {
    exhausted_for_half_a_minute("cookies");
}

#[test]
fn who_is_refused_does_not_lock_others_out() {
    exhausted_for_half_a_minute("refused");
}

#[test]
fn a_peer_makes_no_children_without_end() {
    exhausted("children");
}

#[test]
fn one_address_does_not_hold_every_radius_identifier() {
    exhausted("identifiers");
}

#[test]
fn strangers_do_not_hold_every_connection_of_an_hss() {
    exhausted("connections");
}

#[test]
fn a_gateway_stands_a_flood() {
    flooded("gateway");
}

#[test]
fn an_aaa_server_stands_a_flood() {
    flooded("aaa");
}
