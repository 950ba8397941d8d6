//! Bad input at 50 000 datagrams a second from a second process: the gateway and the AAA server stay up, their memory stays
//! bounded, and genuine devices get in. Read RFC 7296 §2.6, RFC 3579 §3.2, RFC 5080 §2.2.2.
//!
//! Five seconds each, or as many as `KEYTOLL_FLOOD_SECONDS` says.

use std::process::Command;

use keytoll_interop::lab_or_skip;
use serde_json::Value;

/// What a flood may leave in memory: tables of half-open SAs, conversations, duplicates, all of them bounded.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

fn flooded(victim: &str) {
    if lab_or_skip().is_none() {
        return;
    }
    let seconds = std::env::var("KEYTOLL_FLOOD_SECONDS").unwrap_or_else(|_| "5".into());
    let mut command = Command::new(env!("CARGO_BIN_EXE_interop-bench"));
    let output = command.args(["flood", victim, "--seconds", &seconds]).output().expect("it is built");
    let (told, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{why}");
    let report: Value = serde_json::from_str(&told).expect("a report");
    let number = |path: &str| report.pointer(path).and_then(Value::as_f64).expect(path);
    assert!(number("/flood/datagrams") > 1000.0 * number("/flood/seconds"), "hardly a flood: {told}");
    assert!(number("/during/n") >= 5.0 && number("/during/failed") == 0.0, "not everybody got in: {told}");
    let grown = number("/resident_after_bytes") - number("/resident_before_bytes");
    assert!(grown < MEMORY_BYTES_MAX as f64, "memory grew by {grown} bytes: {told}");
}

#[test]
fn a_gateway_stands_a_flood() {
    flooded("gateway");
}

#[test]
fn an_aaa_server_stands_a_flood() {
    flooded("aaa");
}
