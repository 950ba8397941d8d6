//! `keytoll calibrate` with strongSwan, for short: a table, and a gateway of the simulator that is charged with it.

#![allow(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

use std::path::Path;
use std::process::{Command, Output};

use keytoll_interop::lab_or_skip;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

fn keytoll(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// The number after a key in a text of JSON.
fn number(text: &str, key: &str) -> f64 {
    let after = text.split_once(&format!("\"{key}\": ")).unwrap_or_else(|| panic!("{key} in {text}")).1;
    after.split([',', '\n', ']']).next().unwrap().trim().parse().unwrap()
}

#[test]
fn a_gateway_is_charged_what_strongswan_takes() {
    let Some(lab) = lab_or_skip() else { return };
    let [table, scenario, run] =
        ["table.json", "scenario.toml", "run"].map(|name| lab.shared_dir().join(name));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let arguments = [
        "calibrate",
        "strongswan",
        "--method",
        "ikev2-psk",
        "--busy",
        "5",
        "--rounds",
        "1",
        "--seconds",
        "2",
    ];
    let calibrate = || keytoll(&[&arguments[..], &["--out", &text(&table)]].concat());
    let words = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    // Other tests compute at the same time, and what began too late is refused.
    let calibrated = (0..9).map(|_| calibrate()).find(|done| !words(done).contains("began too late,"));
    let calibrated = calibrated.unwrap();
    assert!(calibrated.status.success(), "{}", words(&calibrated));
    let costs = std::fs::read_to_string(&table).unwrap();
    let cpu_us = number(&costs, "cpu_us");
    // Three responses, with the one that closes the session; charon has never been seen to take less than 0.2 ms.
    assert_eq!(number(&costs, "responses_count"), 3.0);
    assert!((200.0..50_000.0).contains(&cpu_us) && costs.contains("\"name\": \"strongswan\""), "{costs}");
    let file = format!(
        "methods = [\"ikev2-psk\"]\nnetworks = [\"lte\"]\nsamples = 2\ncrypto = \"table\"\ncosts = \"reference\"\n\
         [cpus]\ngw = {{ costs = {:?} }}\n",
        text(&table)
    );
    std::fs::write(&scenario, file).unwrap();
    let done = keytoll(&["run", &text(&scenario), "--out", &text(&run), "--json"]);
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && told.contains("cpu of gw is that of strongswan"), "{told}");
    // Two responses until the SA can be used.
    let charged_us = cpu_us * 2.0 / 3.0;
    let of_gateway = told.split_once("\"gw\": {").unwrap().1;
    let found_us = number(of_gateway, "ns_p50") / 1000.0;
    assert!((found_us / charged_us - 1.0).abs() < 0.01, "{found_us} {charged_us}");
}
