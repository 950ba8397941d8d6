//! Knock, the example of a protocol family, from end to end: simulated, live, captured, decoded, measured and profiled.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;

use crate::schema;

fn keytoll(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keytoll")).args(arguments).output().expect("the program is there")
}

/// What it prints, after success.
fn printed(arguments: &[&str]) -> String {
    let output = keytoll(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A directory of its own, removed when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("keytoll-knock-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory can be made");
        Self(path)
    }

    /// The example's scenario with more lines.
    fn scenario(&self, more: &str) -> String {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocols/knock/examples/knock.toml");
        let (text, file) = (fs::read_to_string(example).expect("the example"), self.0.join("knock.toml"));
        fs::write(&file, format!("{text}{more}\n")).expect("a file can be written");
        file.to_str().expect("UTF-8").to_owned()
    }

    /// Runs it, captures included; the summary's rows.
    fn run(&self, scenario: &str, more: &[&str]) -> Vec<Value> {
        let out = self.0.join("run");
        printed(&[&["run", scenario, "--pcap", "--out", out.to_str().expect("UTF-8")], more].concat());
        let summary = schema::file(&out.join("summary.json"));
        summary["rows"].as_array().expect("rows").clone()
    }

    fn capture(&self, name: &str) -> String {
        self.0.join("run/capture").join(name).to_str().expect("UTF-8").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn established(rows: &[Value]) -> Vec<(u64, u64)> {
    let count = |row: &Value, name: &str| row[name].as_u64().unwrap_or_else(|| panic!("{name}: {row}"));
    rows.iter().map(|row| (count(row, "n"), count(row, "succeeded"))).collect()
}

#[test]
fn the_simulator_runs_it_with_every_crypto() {
    let scratch = Scratch::new("sim");
    let costs = scratch.0.join("costs.json");
    let costs = costs.to_str().expect("UTF-8");
    printed(&["crypto", "--calibrate", costs, "--count", "1"]);
    for crypto in [&["--crypto", "real"][..], &["--crypto", "null"], &["--crypto", "table", "--costs", costs]]
    {
        let rows = scratch.run(&scratch.scenario(""), crypto);
        assert_eq!(established(&rows), [(20, 20), (20, 20)], "{crypto:?}");
    }
}

#[test]
fn a_wrong_key_is_a_timeout() {
    let scratch = Scratch::new("wrong");
    let scenario = scratch.scenario("[options]\nfault = \"wrong-psk\"");
    let rows = scratch.run(&scenario, &["--samples", "2"]);
    assert_eq!(established(&rows), [(2, 0), (2, 0)]);
}

#[test]
fn its_captures_are_decoded_and_measured() {
    let scratch = Scratch::new("capture");
    scratch.run(&scratch.scenario(""), &["--samples", "3"]);
    let capture = scratch.capture("000.pcapng");
    let ladder = printed(&["decode", &capture]);
    for (word, count) in [("KNOCK", 3), ("OPEN", 3)] {
        assert_eq!(ladder.lines().filter(|line| line.contains(word)).count(), count, "{word}\n{ladder}");
    }
    assert!(ladder.contains("3 conversations: 3 succeeded"), "{ladder}");
    assert!(printed(&["measure", &capture]).contains("knock-psk"));
}

#[test]
fn it_is_profiled() {
    let profile = printed(&["profile", "knock-psk", "--count", "10"]);
    assert!(profile.contains("OPEN") && profile.contains("integrity check"), "{profile}");
}

#[test]
fn raw_sockets_carry_it_between_namespaces() {
    let is_root = Command::new("id").arg("-u").output().expect("id").stdout == b"0\n";
    if !is_root {
        return;
    }
    let scratch = Scratch::new("live");
    let rows = scratch.run(&scratch.scenario("world = \"live\""), &["--samples", "2"]);
    assert_eq!(established(&rows), [(2, 2), (2, 2)]);
    assert!(printed(&["decode", &scratch.capture("000.gw.pcapng")]).contains("KNOCK"));
}
