//! `keytoll run` in the live world with IKEv1: strongSwan is device and gateway in every combination with keytoll, in both
//! modes of phase 1 and with both proofs. Read RFC 2409 §5 first.

use std::fs;
use std::path::Path;
use std::process::Command;

use keytoll_interop::lab_or_skip;
use keytoll_interop::run::finish;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");
const SAMPLES: u64 = 2;

/// RFC 2409 §5: main mode is six messages, aggressive mode three, quick mode three more.
fn messages(method: &str) -> f64 {
    if method.starts_with("ikev1-main-") { 9.0 } else { 6.0 }
}

/// The nodes of ours in this row.
fn ours(row: &Value) -> impl Iterator<Item = &'static str> {
    let variant = row["variant"].as_str().unwrap_or_default().to_owned();
    ["ue", "gw"].into_iter().filter(move |node| !variant.contains(&format!("{node}=strongswan")))
}

/// What `keytoll measure` makes of what each node of ours captured is what became of the row.
fn check_captures(out: &Path, number: usize, row: &Value) {
    for node in ours(row) {
        let capture = out.join(format!("capture/{number:03}.{node}.pcapng"));
        let mut command = Command::new(PROGRAM);
        command.args(["measure", "--json", "--keys"]).arg(capture.with_extension("keys")).arg(&capture);
        let measured = finish(&mut command).unwrap_or_else(|why| panic!("{why}"));
        let measured: Value = serde_json::from_str(&measured).unwrap_or_else(|why| panic!("{why}"));
        let [seen] = members(&measured["rows"]) else { panic!("{row}: {measured}") };
        for field in ["method", "n", "succeeded"] {
            assert_eq!(seen[field], row[field], "{node}: {row}: {seen}");
        }
    }
}

fn members(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn check(row: &Value) {
    assert_eq!(row["succeeded"].as_u64(), Some(SAMPLES), "{row}");
    let is_seen = ours(row).count() > 0;
    let seen = row["links"]["ue-gw"]["messages"].as_f64();
    assert_eq!(seen, is_seen.then(|| messages(row["method"].as_str().unwrap_or_default())), "{row}");
}

#[test]
fn strongswan_is_device_and_gateway_of_every_method() {
    let Some(lab) = lab_or_skip() else { return };
    let out = lab.shared_dir().join("run");
    let mut command = Command::new(PROGRAM);
    command.args(["run", "strongswan-ikev1", "--samples", &SAMPLES.to_string(), "--pcap", "--out"]).arg(&out);
    finish(&mut command).unwrap_or_else(|why| panic!("{why}"));
    let summary = fs::read(out.join("summary.json")).unwrap_or_else(|why| panic!("{why}"));
    let summary: Value = serde_json::from_slice(&summary).unwrap_or_else(|why| panic!("{why}"));
    let rows = members(&summary["rows"]);
    // Four methods, each with two devices at two gateways.
    assert_eq!(rows.len(), 16, "{summary}");
    rows.iter().for_each(check);
    rows.iter().enumerate().for_each(|(number, row)| check_captures(&out, number, row));
}
