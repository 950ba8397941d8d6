//! Golden traces: what the same plan and seed leave behind is the same, byte for byte, on any machine. The digests are
//! committed, so that every machine that runs the tests is held to them; `UPDATE_GOLDEN=1` takes over those of this one, and
//! the commit says which facts changed and why.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use keytoll_crypto::{Prices, Real};
use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::Hash;
use keytoll_lab::{Credentials, Memory, Row, Stop};
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};
use keytoll_scenario::{Overrides, Source};
use keytoll_trace::Record;
use keytoll_trace::file::Writer;

/// Scenarios that together have every method, link impairment, topology and option that changes messages.
const SCENARIOS: [&str; 9] =
    ["quickstart", "lossy", "suites", "fragmentation", "eap", "eap-aka-topologies", "ikev1", "hip", "wlan"];
/// What every operation costs where a table is charged.
const OPERATION_NS: f64 = 100_000.0;
const CORE_HZ: f64 = 3e9;

fn plan(scenario: &str, crypto: CryptoMode) -> Plan {
    let overrides = Overrides::parse(&["samples=2", "seed=1"]).unwrap();
    let plan = Source::builtin(scenario).unwrap().plan(&overrides).unwrap();
    Plan { crypto, ..plan }
}

/// The trace file of a row.
fn trace(plan: &Plan, row: &RowPlan, credentials: &Credentials) -> Vec<u8> {
    let mut built = Row::new(plan, row, credentials, CORE_HZ);
    if plan.crypto == CryptoMode::Table {
        built.charge(&Arc::new(Prices::flat(OPERATION_NS)));
    }
    let mut memory = Memory::default();
    built.run(&mut memory, &|| {}, &Stop::new(false));
    let mut writer = Writer::<Record, _>::new(Vec::new()).unwrap();
    memory.records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap()
}

/// The first half of SHA-256.
fn digest(bytes: &[u8]) -> String {
    let digest = Real::default().hash(Hash::Sha256, &[bytes]);
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// A line for each row of the scenarios: its digest, and what it is.
fn lines(crypto: CryptoMode) -> String {
    let mut lines = String::new();
    for scenario in SCENARIOS {
        let plan = plan(scenario, crypto);
        let credentials = Credentials::prepare(&plan);
        for row in &plan.rows {
            let digest = digest(&trace(&plan, row, &credentials));
            let (method, network, topology) = (row.method.name(), &row.network.name, row.topology.name());
            let what = [scenario, method, network, topology, &row.variant].join(" ");
            writeln!(lines, "{digest} {}", what.trim_end()).unwrap();
        }
    }
    lines
}

fn check(crypto: CryptoMode, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let found = lines(crypto);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, found).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    let differing: Vec<_> = committed.lines().zip(found.lines()).filter(|(then, now)| then != now).collect();
    assert!(differing.is_empty(), "{} rows left other facts, first {:?}", differing.len(), differing[0]);
    assert_eq!(committed.lines().count(), found.lines().count(), "rows came or went");
}

#[test]
fn traces_without_cryptography_are_those_of_any_machine() {
    check(CryptoMode::Null, "null.txt");
}

#[test]
fn traces_with_charged_cryptography_are_those_of_any_machine() {
    check(CryptoMode::Table, "table.txt");
}
