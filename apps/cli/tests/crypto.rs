//! `keytoll crypto` as people type it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Command, Output};

use serde_json::Value;

use crate::schema;

fn keytoll(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keytoll")).args(line.split(' ')).output().unwrap()
}

fn json(line: &str) -> Value {
    let Output { status, stdout, stderr } = keytoll(line);
    assert!(status.success(), "{line}: {}", String::from_utf8_lossy(&stderr));
    schema::read(if line.contains("--table") { "table" } else { "crypto" }, stdout)
}

fn refusal(line: &str) -> String {
    let Output { status, stdout, stderr } = keytoll(line);
    assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{line}");
    String::from_utf8(stderr).unwrap()
}

#[test]
fn primitives_are_chosen_by_name_and_counted_as_told() {
    let measured =
        json("crypto modp1024 sign/ed25519 hashes/sha256 --exponents short --size 100 --count 40 --json");
    let primitives = measured["primitives"].as_array().unwrap();
    let names: Vec<_> = primitives
        .iter()
        .map(|it| [it["operation"].as_str().unwrap(), it["algorithm"].as_str().unwrap()].join(" "))
        .collect();
    assert_eq!(names, ["generate modp1024", "agree modp1024", "sign ed25519", "hash sha256"]);
    for primitive in primitives {
        assert_eq!(
            primitive["n"].as_u64().unwrap() * primitive["batch"].as_u64().unwrap(),
            40,
            "{primitive}"
        );
        assert!(primitive["min_ns"].as_f64() <= primitive["mean_ns"].as_f64(), "{primitive}");
    }
    assert_eq!((&primitives[0]["standing"], &primitives[0]["exponent_bits"]), (&"weak".into(), &160.into()));
    assert_eq!(primitives[3]["bytes"], 100);
}

#[test]
fn full_exponents_cost_several_times_as_much() {
    let measured = json("crypto agree/modp2048 --count 10 --json");
    let mean = |index: usize| measured["primitives"][index]["mean_ns"].as_f64().unwrap();
    assert!(mean(1) > 3.0 * mean(0), "{measured}");
}

#[test]
fn a_wrong_name_is_told_with_the_nearest_one() {
    let told = refusal("crypto agree/x25519 mopd2048");
    assert!(
        told.contains("no primitive is named `mopd2048`") && told.contains("did you mean `modp2048`"),
        "{told}"
    );
    assert!(refusal("crypto kerberos").contains("families are groups, curves, signatures"));
    refusal("crypto --size 0");
    refusal("crypto --table rsa-rc4-sha1 modp2048");
}

#[test]
fn paper_001_stands_beside_ours() {
    let sheet = json("crypto --table rsa-rc4-sha1 --count 50 --json");
    let cells = |line: usize| sheet["tables"][0]["lines"][line]["cells"].as_array().unwrap().clone();
    assert_eq!((&cells(1)[2]["value"], &cells(1)[2]["basis"]), (&159_950.0.into(), &"printed".into()));
    let ratio = |line: usize| cells(line)[1]["value"].as_f64().unwrap();
    assert!(ratio(1) > ratio(0) && ratio(0) > ratio(2), "the order of the paper: {sheet}");
}

#[test]
fn a_calibration_prices_every_operation() {
    let path = std::env::temp_dir().join(format!("keytoll-costs-{:07}.json", std::process::id()));
    let Output { status, stderr, .. } = keytoll(&format!("crypto --calibrate {} --count 1", path.display()));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let table = schema::read("costs", text);
    assert_eq!(table["kind"], "keytoll cost table");
    let has = |operation: &str, algorithm: &str| {
        let costs = table["costs"].as_array().unwrap();
        costs.iter().any(|cost| cost["operation"] == operation && cost["algorithm"] == algorithm)
    };
    assert!(has("agree", "modp3072") && has("verify", "rsa2048-pss-sha384") && has("stream", "rc4"));
}

#[test]
fn what_messages_cost_comes_from_a_live_run_only() {
    let run = std::env::temp_dir().join(format!("keytoll-simulated-{:07}", std::process::id()));
    let dir = run.display();
    let simulated = keytoll(&format!(
        "run quickstart --samples 1 --set methods=\"ikev2-psk\" --set networks=\"wifi-11g\" --out {dir} --force"
    ));
    assert!(simulated.status.success(), "{}", String::from_utf8_lossy(&simulated.stderr));
    let refused = keytoll(&format!("crypto --calibrate costs.json --messages {dir}"));
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("has no row of the live world with real cryptography"), "{told}");
    let refused = keytoll(&format!("crypto --calibrate costs.json --messages {dir} --messages {dir}"));
    let told = String::from_utf8_lossy(&refused.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        refused.status.code() == Some(2) && told.contains("is no run of `keytoll load`"),
        "{told}: several runs are loads"
    );
    assert!(!std::path::Path::new("costs.json").exists());
    std::fs::remove_dir_all(&run).unwrap();
}

#[test]
fn a_calibration_that_cannot_be_written_is_told_at_once() {
    let Output { status, stderr, .. } = keytoll("crypto --calibrate /nowhere/costs.json");
    assert_eq!(status.code(), Some(2));
    assert!(String::from_utf8_lossy(&stderr).contains("`/nowhere/costs.json` cannot be created"));
}

#[test]
fn paper_002_stands_beside_ours_with_both_lengths_of_exponents() {
    let sheet = json("crypto --table dh-groups --count 6 --exponents short --json");
    let lines = sheet["tables"][0]["lines"].as_array().unwrap();
    let labels: Vec<_> = lines.iter().map(|line| line["label"].as_str().unwrap()).collect();
    let at = |label: &str| labels.iter().position(|found| found.starts_with(label)).unwrap();
    assert_eq!(labels[at("modp1024") + 1], "  modp1024, paper");
    let paper = &lines[at("modp1024") + 1]["cells"];
    assert!(paper[0].is_null() && paper[1]["value"] == 17_200.0, "no median, but a mean: {paper}");
    assert!(labels.contains(&"x25519") && labels[at("modp3072")] == "modp3072 256", "{labels:?}");
    let verdict = |name: &str| {
        let findings = sheet["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["name"] == name).unwrap()["verdict"].clone()
    };
    assert_eq!(verdict("larger-is-slower"), "holds");
}
