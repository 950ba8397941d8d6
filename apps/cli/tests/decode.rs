//! `keytoll decode` and `keytoll measure` on captures of charon with FreeRADIUS, and on captures of our own runs, whose
//! counts are known.
//!
//! `world/capture/tests/captures` was recorded with tcpdump at the gateway of /interop's chain: charon 5.9.8 (its
//! save-keys plugin wrote the tables), charon with eap-radius, FreeRADIUS 3.2.1. The keys are those of these SAs alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const CAPTURES: &str = "world/capture/tests/captures";

/// Runs `keytoll` in the root of the repository.
fn keytoll(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_keytoll")).args(arguments).current_dir(root).output().unwrap()
}

/// What a command writes to stdout, and its exit code.
fn stdout(line: &str) -> (String, i32) {
    let arguments = line.split(' ').collect::<Vec<_>>();
    let output = keytoll(&arguments);
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

fn json(line: &str) -> Value {
    let (text, _) = stdout(line);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"))
}

#[test]
fn a_handshake_of_charon_as_a_ladder() {
    let (ladder, code) = stdout(&format!("decode {CAPTURES}/charon-psk.pcapng --keys {CAPTURES}/keys"));
    insta::assert_snapshot!(ladder);
    assert_eq!(code, 0);
}

#[test]
fn eap_through_radius_is_one_conversation_also_without_keys() {
    let with_keys = stdout(&format!("decode {CAPTURES}/charon-ttls-md5.pcapng --keys {CAPTURES}/keys")).0;
    let without = stdout(&format!("decode {CAPTURES}/charon-ttls-md5.pcapng")).0;
    insta::assert_snapshot!("eap_with_keys", with_keys);
    insta::assert_snapshot!("eap_without_keys", without);
    for line in with_keys.lines().chain(without.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

/// `interop.md` §3 counted these flows with tshark: IKE and RADIUS messages, and bytes with IP headers.
#[test]
fn captures_of_charon_have_the_counts_that_tshark_found() {
    for (name, link, messages, bytes) in [
        ("charon-psk", "ue-gw", 4.0, 1641.0),
        ("charon-ttls-md5", "ue-gw", 16.0, 6025.0),
        ("charon-ttls-md5", "gw-aaa", 12.0, 3544.0),
    ] {
        for keys in ["", &format!(" --keys {CAPTURES}/keys")] {
            let summary = json(&format!("measure {CAPTURES}/{name}.pcapng --json{keys}"));
            let row = &summary["rows"][0];
            assert_eq!((&row["succeeded"], &row["world"]), (&1.into(), &"captured".into()), "{name}");
            let link = &row["links"][link];
            assert_eq!(
                (&link["messages"], &link["bytes"]),
                (&messages.into(), &bytes.into()),
                "{name}{keys}"
            );
            assert!(row["delay_ms"]["mean"].as_f64().unwrap() > 0.0 && row["cpu"] == serde_json::json!({}));
        }
    }
}

#[test]
fn the_document_names_every_message() {
    let document = json(&format!("decode {CAPTURES}/charon-ttls-md5.pcapng --keys {CAPTURES}/keys --json"));
    let conversation = &document["conversations"][0];
    assert_eq!(conversation["outcome"]["name"], "established");
    assert_eq!(conversation["messages"].as_array().unwrap().len(), 28);
    assert_eq!(conversation["messages"][2]["name"], "IKE_AUTH request 1");
    assert_eq!(
        conversation["messages"][2]["parts"][0],
        serde_json::json!({ "name": "IDi", "detail": "ue@lab" })
    );
}

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-decode-{:07}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a scenario with captures; each of its rows as the run counted it and as its capture tells it.
fn run_and_measure(scenario: &str, samples: u32, check: impl Fn(&Value, &Value, &str)) {
    let scratch = Scratch::new(scenario);
    let out = scratch.path("run");
    let run = json(&format!("run {scenario} --samples {samples} --pcap --out {out} --json"));
    for (index, row) in run["rows"].as_array().unwrap().iter().enumerate() {
        let capture = format!("{out}/capture/{index:03}");
        for keys in [String::new(), format!(" --keys {capture}.keys")] {
            let measured = json(&format!("measure {capture}.pcapng --json{keys}"));
            let rows = measured["rows"].as_array().unwrap();
            let name = format!("{} {} {}{keys}", row["method"], row["variant"], row["network"]);
            assert_eq!(rows.len(), 1, "{name}: {rows:?}");
            check(row, &rows[0], &name);
        }
    }
}

/// Messages, packets, bytes and retransmissions are the run's own, on every link and after the authentication.
fn same_counts(run: &Value, measured: &Value, name: &str) {
    for field in ["n", "succeeded", "links", "after"] {
        assert_eq!(run[field], measured[field], "{name}: {field}");
    }
}

#[test]
fn a_capture_of_a_run_gives_the_runs_own_counts_where_links_lose_packets() {
    run_and_measure("lossy", 6, |run, measured, name| {
        same_counts(run, measured, name);
        // The capture lacks what the device computes before its first packet.
        let mean = |row: &Value| row["delay_ms"]["mean"].as_f64().unwrap();
        let missing_ms = mean(run) - mean(measured);
        assert!((0.0..1.0).contains(&missing_ms), "{name}: {missing_ms} ms");
    });
}

#[test]
fn a_capture_of_a_run_gives_the_runs_own_counts_where_authentications_fail() {
    run_and_measure("failures", 1, |run, measured, name| {
        same_counts(run, measured, name);
        let failed = |row: &Value| row["failures"].as_object().unwrap().len();
        assert_eq!(failed(run), failed(measured), "{name}");
    });
}

#[test]
fn a_capture_of_a_run_gives_the_runs_own_counts_with_every_eap_method() {
    run_and_measure("eap", 1, same_counts);
}

#[test]
fn what_measure_keeps_can_be_reported_again() {
    let scratch = Scratch::new("kept");
    let out = scratch.path("kept");
    let (table, code) = stdout(&format!("measure {CAPTURES}/charon-psk.pcapng --out {out}"));
    assert_eq!(code, 0);
    assert_eq!(stdout(&format!("report {out}")).0, table);
    insta::assert_snapshot!(table);
}

#[test]
fn mistakes_are_told_in_a_sentence() {
    let told = |line: &str| {
        let arguments = line.split(' ').collect::<Vec<_>>();
        let output = keytoll(&arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        format!("$ keytoll {line}\n{}--- exit {}\n", text, output.status.code().unwrap())
    };
    let lines = [
        "decode nowhere.pcap",
        "decode Cargo.toml",
        &format!("decode {CAPTURES}/charon-psk.pcapng --keys scenarios"),
        &format!("decode {CAPTURES}/charon-psk.pcapng --conversation 2"),
        &format!("measure {CAPTURES}/keys/esp_sa"),
    ];
    insta::assert_snapshot!(lines.iter().map(|line| told(line)).collect::<Vec<_>>().join("\n"));
}
