//! `keytoll size` with a run of its own, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "a test waits for the program")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::schema;
use crate::scratch::{keytoll, refused};

/// A folder that is removed in the end, with a run whose costs are the same on every machine.
struct Scratch(PathBuf);

/// A network without jitter: under load an authentication takes longer only by its waits. The gateway is so slow that 8000 devices last for
/// at least fifty delays.
const STEADY: &str = r#"title = "no jitter"
samples = 8
crypto = "table"
methods = ["ikev2-psk", "ikev2-rsa2048", "ikev2-ecdsa-p256", "ikev2-eap-aka"]
topologies = "centralized"
networks = [{ name = "steady", delay = "5 ms" }]
options = { cookies = "never" }
cpus = { gw = { name = "slow", frequency = "100 MHz" } }
"#;

/// The number of simulated devices, unless a test has another.
const DEVICES: &str = "8000";

/// The table of operations and messages that keytoll comes with.
const REFERENCE: &str = include_str!("../../../world/lab/src/rehearsal/reference.json");

/// What is asked where nothing else is.
const ASKED: [&str; 6] = ["--subscribers", "2e6", "--reauth", "8h", "--p99", "300ms"];

impl Scratch {
    /// A folder of its own, even if two tests that run at the same time chose one name.
    fn folder(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let nth = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("keytoll-size-{name}-{}-{nth}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn new(name: &str, crypto: &[&str]) -> Self {
        let scratch = Self::folder(name);
        let methods = "methods=[\"ikev2-psk\", \"ikev2-eap-tls\"]";
        let run = ["run", "quickstart", "--samples", "8", "--set", methods, "--set", "networks=wifi-11g"];
        let done = keytoll(&[&run[..], crypto, &["--out", &scratch.text("run")]].concat());
        assert!(done.status.success(), "{done:?}");
        scratch
    }

    /// Costs are those of operations alone.
    fn steady(name: &str) -> Self {
        let mut costs: serde_json::Value = serde_json::from_str(REFERENCE).unwrap();
        costs.as_object_mut().unwrap().remove("message").unwrap();
        Self::with_costs(name, &costs.to_string(), "100 MHz")
    }

    /// With a gateway of this frequency.
    fn with_costs(name: &str, costs: &str, frequency: &str) -> Self {
        let scratch = Self::folder(name);
        fs::write(scratch.path("steady.toml"), STEADY.replace("100 MHz", frequency)).unwrap();
        fs::write(scratch.path("costs.json"), costs).unwrap();
        let texts = ["steady.toml", "costs.json", "run"].map(|name| scratch.text(name));
        let done = keytoll(&["run", &texts[0], "--costs", &texts[1], "--out", &texts[2]]);
        assert!(done.status.success(), "{done:?}");
        scratch
    }

    /// Formulas beside the simulator.
    fn simulated(&self, method: &str, gateways: &str, devices: &str, p99: &str, more: &[&str]) -> Output {
        let simulated = if more.contains(&"--devices") { [].as_slice() } else { &["--devices", DEVICES] };
        let asked = ["--subscribers", devices, "--reauth", "24h", "--p99", p99, "--method", method];
        let (cores, costs) = (format!("gw={gateways}"), self.text("costs.json"));
        let with = ["--cores", &cores, "--costs", &costs, "--simulate"];
        self.size(&[&asked[..], &with, simulated, more].concat())
    }

    /// Utilisation of the gateway and 99th percentile of waits, of formulas and simulator, and the whole answer.
    fn compared(&self, method: &str, gateways: &str, devices: &str) -> ([(f64, f64); 2], serde_json::Value) {
        self.compared_by(method, gateways, devices, DEVICES)
    }

    /// The same with so many simulated devices.
    fn compared_by(
        &self,
        method: &str,
        gateways: &str,
        devices: &str,
        simulated: &str,
    ) -> ([(f64, f64); 2], serde_json::Value) {
        let output = self.simulated(method, gateways, devices, "2s", &["--devices", simulated, "--json"]);
        let sizing = schema::read("sizing", output.stdout);
        let of = &sizing["simulations"][0];
        assert!(output.status.success() && sizing["rows"][0]["contradiction"].is_null(), "{of}");
        assert_eq!(
            (&of["simulated"]["succeeded_share"], &of["devices"]),
            (&1.0.into(), &simulated.parse::<u64>().unwrap().into()),
            "{of}"
        );
        let side = |side: &str| (&of[side]["utilisation"]["gw"], &of[side]["delay_ms"]["p99"]);
        let unloaded = of["unloaded_p99_ms"].as_f64().unwrap();
        let numbers = |(busy, p99): (&serde_json::Value, &serde_json::Value)| {
            (busy.as_f64().unwrap(), p99.as_f64().unwrap() - unloaded)
        };
        (["predicted", "simulated"].map(|of| numbers(side(of))), sizing.clone())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn size(&self, more: &[&str]) -> Output {
        keytoll(&[&["size", &self.text("run")], more].concat())
    }

    /// Refused in one sentence, with this exit code.
    fn refuses(&self, more: &[&str], sentence: &str, code: i32) {
        refused(&[&["size", &self.text("run")], more].concat(), sentence, code);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_simulation_without_prices_of_messages_says_so() {
    let priced = Scratch::with_costs("priced", REFERENCE, "100 MHz");
    for (scratch, is_marked) in [(Scratch::steady("unpriced"), true), (priced, false)] {
        let output = scratch.simulated("ikev2-psk", "1", "1e5", "2s", &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let note = "simulation: † CPU time of cryptography only (nodes need more), because the cost table";
        assert!(text.contains("ikev2-psk") && text.contains(note) == is_marked, "{text}");
    }
}

const TABLE: [&str; 4] = ["--crypto", "table", "--costs", "reference"];

#[test]
fn a_run_is_sized_in_words_and_in_json() {
    let scratch = Scratch::new("words", &TABLE);
    let output = scratch.size(&ASKED);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{text}");
    assert!(text.starts_with("Not decided: 8 samples are too few for what 99 % take"), "{text}");
    assert!(
        text.contains("2000000 devices are registered, 2000000 have a session at the same time"),
        "{text}"
    );
    assert!(text.contains("69.4 authentications a second"), "{text}");
    let line = one_line(text.clone().into_bytes());
    assert!(
        line.contains("By the formulas alone: For 99 % within 300 ms ikev2-psk needs 1 core of gw"),
        "{text}"
    );
    assert!(line.contains(", the least work of 2 rows that keep it, and ikev2-eap-tls needs"), "{text}");
    assert!(line.contains(" cannot be said from 8 ") && !line.contains(" yes "), "{text}");
    let given = one_line(scratch.size(&[&ASKED[..], &["--cores", "gw=1,aaa=1"]].concat()).stdout);
    assert!(
        given.contains("For 99 % within 300 ms ikev2-psk does with 1 core of gw (given: gw, busy "),
        "{given}"
    );
    assert!(given.contains("Cores that were not given are so many"), "{given}");
    // Every table has a head for each of its cells.
    let load = text.lines().find(|line| line.contains(" load ")).unwrap().split_whitespace().count();
    let gateway = text.lines().find(|line| line.trim_start().starts_with("ikev2-psk ")).unwrap();
    // `busy %`, `work µs` and `wait µs` are two words each, and so are bytes with their unit.
    assert_eq!(load - 3, gateway.split_whitespace().count() - 1, "{text}");
    let json =
        |more: &[&str]| schema::read("sizing", scratch.size(&[&ASKED, more, &["--json"]].concat()).stdout);
    let sizing = json(&[]);
    assert_eq!(sizing["devices_at_once"], 2_000_000);
    assert_eq!(sizing["rows"][0]["nodes"]["gw"]["cores"], 1);
    let busy = |sizing: &serde_json::Value| sizing["rows"][1]["nodes"]["aaa"]["busy_cores"].as_f64().unwrap();
    let share = json(&["--at-once", "50%"]);
    // Half the devices have about half the load: the table's price of a message depends on how busy the node is.
    let halves = busy(&share) * 2.0 / busy(&sizing);
    let noon = json(&["--arrivals", "diurnal"]);
    let doubled = busy(&noon) / busy(&sizing) / 2.0;
    assert!([halves, doubled].iter().all(|ratio| (0.95..1.05).contains(ratio)), "{halves} {doubled}");
    let slow = json(&["--cpu", "100MHz", "--store", "aaa=20ms"]);
    assert!(busy(&slow) > 1.38 + 5.0 * busy(&sizing), "{slow}");
    let keys = json(&["--rekey", "1h"]);
    assert!((keys["rekeys_per_s"].as_f64().unwrap() - 2e6 * 7.0 / 28_800.0).abs() < 1e-6);
    let gw = |sizing: &serde_json::Value| sizing["rows"][0]["nodes"]["gw"]["busy_cores"].as_f64().unwrap();
    assert!(gw(&keys) > 1.9 * gw(&sizing), "{} {}", gw(&keys), gw(&sizing));
    let storm = [
        "--subscribers",
        "2e6",
        "--reauth",
        "8h",
        "--p99",
        "30s",
        "--arrivals",
        "storm:200000/10s",
        "--json",
    ];
    let storm =
        schema::read("sizing", scratch.size(&[&storm[..], &["--cores", "gw=1,aaa=1"]].concat()).stdout);
    assert!(storm["rows"][1]["storm"]["last_in_after_s"].as_f64().unwrap() > 10.0, "{storm}");
    assert_eq!(json(&["--method", "ikev2-psk"])["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_sized_is_told_in_a_sentence() {
    let scratch = Scratch::new("refused", &TABLE);
    let refuses = |more: &[&str], sentence: &str| scratch.refuses(&[&ASKED, more].concat(), sentence, 2);
    refuses(&["--cores", "gw=1", "--reauth", "10s"], "cannot be used multiple times");
    scratch.refuses(
        &["--subscribers", "2e9", "--reauth", "1s", "--p99", "1s", "--cores", "gw=1"],
        "`gw` with 1 core cannot keep up: 2000000000.0 authentications a second with `ikev2-psk`",
        2,
    );
    refuses(&["--cores", "hss=2"], "no method of the run that is sized uses the node `hss`");
    refuses(&["--cores", "gw=1,gw=2"], "`--cores` names `gw` twice");
    refuses(&["--store", "gw=2ms"], "`gw` has no store: servers look devices up");
    refuses(
        &["--store", "aaa=10h", "--method", "ikev2-eap-tls"],
        "cores, and a node has at most 1000000: ask about fewer devices",
    );
    refuses(&["--method", "ikev2-psk", "--method", "ikev2-psk"], "`--method` names `ikev2-psk` twice");
    refuses(&["--costs", "reference"], "--simulate");
    refuses(&["--cores", "gw"], "expected a node and its value, like gw=4");
    refuses(&["--cpu", "fast"], "unknown processor `fast`");
    refuses(&["--method", "hip-bex"], "the run has no row of `hip-bex`");
    refuses(&["--rekey", "8h"], "leave `--rekey` out: it would change nothing");
    refuses(&["--at-once", "3e6"], "3000000 devices at the same time are not from 1 to the 2000000");
    refuses(&["--moved", "3e6"], "3000000 devices with another method are more than the 2000000");
    refuses(&["--moved", "5", "--method", "ikev2-psk"], "leave `--moved` out: it would change nothing");
    refuses(&["--arrivals", "storm:3e6/1s"], "a storm of 3000000 devices is more than the 2000000");
    refuses(
        &["--arrivals", "storm:2e6/10s", "--simulate"],
        "devices arrive during the storm, and a simulation has at most 2000000",
    );
    refuses(&["--arrivals", "often"], "expected `poisson`, `diurnal` or a storm like `storm:50000/10s`");

    let summary = scratch.path("run/summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, text.replacen("\"n\": 8", "\"n\": 9", 1)).unwrap();
    scratch.refuses(&ASKED, "summary.json: it is damaged: its CRC-32 is", 3);
    let manifest = fs::read_to_string(scratch.path("run/manifest.json")).unwrap();
    fs::write(scratch.path("run/manifest.json"), manifest.replacen("\"format\": 2", "\"format\": 3", 1))
        .unwrap();
    scratch.refuses(&ASKED, "manifest of format 3, this keytoll reads format 2", 3);
}

#[test]
fn a_run_without_cryptography_has_no_cpu_times() {
    let scratch = Scratch::new("null", &["--crypto", "null"]);
    scratch.refuses(&ASKED, "the run was made without cryptography", 2);
}

/// Costs are those of a table and the seed is given: the figures are the same on every machine. Seven loads from a third to 70 %: the
/// utilisation within a tenth, the 99th percentile of waits within a fifth. Where steps come back to a busy node again and again, and where
/// several cores serve very unequal ones, what is computed is too short, and it is said.
#[test]
fn formulas_and_simulator_agree_about_a_shared_key() {
    assert_agreement(
        "psk",
        &[("ikev2-psk", "1", "2.5e7"), ("ikev2-psk", "2", "6e7"), ("ikev2-psk", "4", "1.5e8")],
    );
}

/// As with a shared key; four tests, so that they run at the same time.
#[test]
fn formulas_and_simulator_agree_about_certificates() {
    let ecdsa = [("ikev2-ecdsa-p256", "1", "6e6"), ("ikev2-ecdsa-p256", "2", "1.4e7")];
    assert_agreement("certificates", &[&ecdsa[..], &[("ikev2-rsa2048", "1", "3e6")]].concat());
}

/// As with a shared key.
#[test]
fn formulas_and_simulator_agree_about_eap_aka() {
    assert_agreement("aka", &[("ikev2-eap-aka", "1", "3e6")]);
}

/// As with a shared key, with prices of messages, which fall with the load: with those of a single authentication the gateway would be
/// busier by a tenth and more. It is faster than that of the other tests, because the price follows how busy it was in the last tenth of a
/// second.
#[test]
fn formulas_and_simulator_agree_about_messages_whose_price_falls_with_the_load() {
    let scratch = Scratch::with_costs("priced", REFERENCE, "1 GHz");
    for (devices, load) in [("6.8e7", 0.6), ("9.8e7", 0.8)] {
        let (sides, sizing) = scratch.compared_by("ikev2-psk", "1", devices, "20000");
        let alone_us = sizing["rows"][0]["nodes"]["gw"]["work_per_authentication_us"].as_f64().unwrap();
        let by_single_ones = alone_us * 1e-6 * sizing["authentications_per_s"].as_f64().unwrap();
        assert!(
            (sides[0].0 - load).abs() < 0.02 && by_single_ones > 1.1 * sides[0].0,
            "{sides:?} {by_single_ones}"
        );
        assert_sides_agree("priced", sides);
    }
}

/// Cases are a method, the cores of the gateway, and the devices.
fn assert_agreement(name: &str, cases: &[(&str, &str, &str)]) {
    let scratch = Scratch::steady(name);
    for (method, gateways, devices) in cases {
        let (sides, _) = scratch.compared(method, gateways, devices);
        assert!((0.3..0.8).contains(&sides[0].0), "{method} {gateways}: {sides:?}");
        assert_sides_agree(&format!("{method} {gateways}"), sides);
    }
}

/// The utilisation within a tenth, and the 99th percentile of waits within a fifth.
fn assert_sides_agree(name: &str, [(busy, wait), (found_busy, found_wait)]: [(f64, f64); 2]) {
    let told = format!("{name}: {busy:.3} {found_busy:.3}, {wait:.3} ms {found_wait:.3} ms");
    assert!((found_busy / busy - 1.0).abs() < 0.1 && (found_wait / wait - 1.0).abs() < 0.2, "{told}");
}

/// With nearly twice the devices, steps return to a busy node, and the formulas give too short a wait.
#[test]
fn the_simulator_contradicts_formulas_that_are_too_short() {
    let scratch = Scratch::steady("contradicted");
    let ([(busy, wait), (found_busy, found_wait)], sizing) = scratch.compared("ikev2-eap-aka", "1", "5.5e6");
    assert!((found_busy / busy - 1.0).abs() < 0.1 && found_wait > 1.2 * wait, "{wait} {found_wait}");
    // Between both lies what the formulas keep and the simulator does not, with the whole interval of its percentile.
    let unloaded = sizing["simulations"][0]["unloaded_p99_ms"].as_f64().unwrap();
    let between = unloaded + wait + (found_wait - wait) / 5.0;
    let between = format!("{}us", (between * 1e3).round());
    let output = scratch.simulated("ikev2-eap-aka", "1", "5.5e6", &between, &[]);
    let text = one_line(output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.starts_with(
            "The simulator contradicts: with ikev2-eap-aka cookies=never (steady, centralized) 99 % take "
        ),
        "{text}"
    );
    assert!(
        text.contains("No method keeps 99 % within") && text.contains(" no: simulator contradicts "),
        "{text}"
    );
    let asked = [
        "--subscribers",
        "5.5e6",
        "--reauth",
        "24h",
        "--p99",
        "500ms",
        "--method",
        "ikev2-eap-aka",
        "--cores",
        "gw=1",
    ];
    let text = String::from_utf8(scratch.size(&asked).stdout).unwrap();
    assert!(
        text.split_whitespace().collect::<Vec<_>>().join(" ").contains("real waits are longer than computed"),
        "{text}"
    );
}

/// The text without its line ends.
fn one_line(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whatever the simulation was at.
#[test]
fn an_interrupted_simulation_says_so() {
    let scratch = Scratch::new("interrupted", &TABLE);
    let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
    let run = scratch.text("run");
    command.args(["size", &run]).args(ASKED).args(["--simulate", "--devices", "2000000"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // SIGINT is the second bit of the signals that are caught.
    let is_watching = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        u64::from_str_radix(mask, 16).unwrap() & 2 != 0
    };
    while !is_watching() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let told = one_line(stderr);
    assert!(stdout.is_empty() && told.contains("interrupted: the simulation has not ended"), "{told}");
    assert_eq!(status.code(), Some(130), "{told}");
}

/// A path in somebody's manifest.json is not opened: nobody ever writes into this pipe.
#[test]
fn a_cost_table_is_opened_only_if_the_command_line_names_it() {
    let scratch = Scratch::new("costs", &TABLE);
    let pipe = scratch.text("pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let path = scratch.path("run/manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    let foreign = manifest.replace("costs = \\\"reference\\\"", &format!("costs = \\\"{pipe}\\\""));
    assert_ne!(foreign, manifest);
    fs::write(&path, foreign).unwrap();
    let simulated = [&ASKED[..], &["--method", "ikev2-psk", "--simulate", "--devices", "368"]].concat();
    scratch.refuses(&simulated, "which is not opened unasked", 2);
    scratch.refuses(&[&simulated[..], &["--costs", &pipe]].concat(), "it is no regular file", 2);
    let reference = scratch.size(&[&simulated[..], &["--costs", "reference"]].concat());
    assert!(
        one_line(reference.stdout).contains("formulas | simulator: 368 devices each"),
        "{:?}",
        reference.stderr
    );
    // A thousand in the storm, and the usual 69.4 a second.
    let storm =
        ["--method", "ikev2-psk", "--simulate", "--costs", "reference", "--arrivals", "storm:1000/10s"];
    let told = one_line(scratch.size(&[&ASKED[..], &storm].concat()).stdout);
    assert!(told.contains("formulas | simulator: 1694 devices each"), "{told}");
}
