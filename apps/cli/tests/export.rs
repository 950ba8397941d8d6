//! `keytoll export` with runs of every kind, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;

use super::scratch::{Scratch, keytoll, refused};

impl Scratch {
    fn export(&self, format: &str) -> String {
        let Output { status, stdout, stderr } = keytoll(&["export", &self.text("run"), "--format", format]);
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    fn refused(&self, sentence: &str, code: i32) {
        refused(&["export", &self.text("run"), "--format", "csv"], sentence, code);
    }
}

/// Every number of summary.json's delays is in the CSV with all its digits.
#[test]
fn a_run_is_exported_with_every_digit() {
    let scratch = Scratch::run("run", &["--set", "networks=wifi-11g"]);
    let csv = scratch.export("csv");
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.path("run/summary.json")).unwrap()).unwrap();
    let rows = summary["rows"].as_array().unwrap();
    assert!(rows.len() > 3);
    for row in rows {
        let (method, p95) = (row["method"].as_str().unwrap(), row["delay_ms"]["p95"].as_f64().unwrap());
        let line = csv.lines().find(|line| line.starts_with(method) && line.contains(",p95 ms,ms,")).unwrap();
        assert!(line.contains(&format!(",{p95},")), "{line} {p95}");
    }
    let columns = csv.lines().next().unwrap().split(',').count();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert!(reader.records().all(|record| record.unwrap().len() == columns));
    assert!(scratch.export("markdown").contains("| method | network | topology | ok/n | delay ms |"));
    let latex = scratch.export("latex");
    assert_eq!(latex.matches("\\begin{tabular}").count(), latex.matches("\\bottomrule").count());
    assert!(scratch.export("prometheus").contains("\n# TYPE keytoll_delay_p95_seconds gauge\n"));
    let junit = scratch.export("junit");
    assert!(junit.contains(&format!("tests=\"{}\" failures=\"0\"", rows.len())), "{junit}");
}

#[test]
fn a_file_has_what_stdout_would() {
    let scratch = Scratch::run("file", &["--set", "methods=ikev2-psk"]);
    let file = scratch.text("tables.md");
    for _ in 0..2 {
        let done = keytoll(&["export", &scratch.text("run"), "--format", "markdown", "--out", &file]);
        assert!(done.status.success() && done.stdout.is_empty());
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), scratch.export("markdown"));
    let nowhere = scratch.text("missing/tables.md");
    let refused = keytoll(&["export", &scratch.text("run"), "--format", "markdown", "--out", &nowhere]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
#[cfg(not(feature = "parquet"))]
fn who_cannot_write_parquet_files_says_who_can() {
    let arguments = ["export", "nothing", "--format", "parquet", "--out", "nowhere"];
    refused(&arguments, "`cargo install --path apps/cli --features parquet`", 2);
}

#[test]
#[cfg(not(feature = "svg"))]
fn who_cannot_draw_pictures_says_who_can() {
    let arguments = ["export", "nothing", "--format", "svg", "--out", "nowhere"];
    refused(&arguments, "`cargo install --path apps/cli --features svg`", 2);
}

#[test]
#[cfg(feature = "svg")]
fn every_picture_of_the_page_is_a_file() {
    let scratch = Scratch::run("pictures", &["--set", "methods=ikev2-psk"]);
    let (run, out) = (scratch.path("run"), scratch.path("pictures"));
    let [run, out] = [&run, &out].map(|path| path.to_str().unwrap());
    let refused = keytoll(&["export", run, "--format", "svg"]);
    assert_eq!(refused.status.code(), Some(2), "no directory for them");
    let written = keytoll(&["export", run, "--format", "svg", "--out", out]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let page = fs::read_to_string(scratch.path("run/report.html")).unwrap();
    let files: Vec<_> = fs::read_dir(out).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() > 5, "{files:?}");
    for file in files {
        let id = file.file_stem().unwrap().to_str().unwrap();
        assert!(page.contains(&format!("id=\"{id}\"")), "{id} is a figure of the page");
        assert!(fs::read_to_string(&file).unwrap().contains("-->\n<svg"), "{id}");
    }
}

/// A fault is expected to fail: its row passes, and one that loses everything does not.
#[test]
fn a_row_with_a_fault_passes_when_it_fails() {
    let scratch = Scratch::of("failures", &["run", "failures", "--samples", "1"]);
    let junit = scratch.export("junit");
    assert!(junit.contains("failures=\"0\"") && junit.matches("<testcase ").count() > 5, "{junit}");
    let reasons = scratch.export("prometheus");
    assert!(
        reasons.contains("\nkeytoll_failures{") && reasons.contains("AUTHENTICATION_FAILED"),
        "{reasons}"
    );
}

#[test]
fn populations_are_exported() {
    let few = ["--set", "population.devices=50", "--set", "population.arrivals=storm 50 in 1 s"];
    let more = ["--set", "methods=ikev2-psk", "--set", "networks=wifi-11g"];
    let scratch = Scratch::of("population", &[&["run", "storm"], &few[..], &more[..]].concat());
    let metrics = scratch.export("prometheus");
    assert!(
        metrics.contains("keytoll_population_established{") && metrics.contains("_p99_seconds{"),
        "{metrics}"
    );
    assert!(metrics.contains("node=\"gw\""), "{metrics}");
    assert!(scratch.export("latex").contains("Delay from the intended start until established, ms"));
    assert!(scratch.export("junit").contains("tests=\"1\" failures=\"0\""));
}

#[test]
fn a_study_is_exported_by_findings() {
    let study = ["study", "ikev2-wireless", "--samples", "1", "--crypto", "null"];
    let scratch = Scratch::of("study", &study);
    let junit = scratch.export("junit");
    assert!(junit.contains("keytoll study ikev2-wireless") && junit.contains("<skipped "), "{junit}");
    assert!(scratch.export("csv").contains(",derived,"));
    assert!(scratch.export("markdown").contains("| finding | verdict |"));
    let account = scratch.path("run/study.json");
    let text = fs::read_to_string(&account).unwrap();
    fs::write(&account, text.replacen("\"format\": 1", "\"format\": 2", 1)).unwrap();
    scratch.refused("study.json: it is damaged: its CRC-32 is", 3);
}

#[test]
fn what_cannot_be_exported_is_told_in_a_sentence() {
    let scratch = Scratch::run("refused", &["--set", "methods=ikev2-psk"]);
    let summary = scratch.path("run/summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, text.replacen("\"n\": 2", "\"n\": 3", 1)).unwrap();
    scratch.refused("summary.json: it is damaged: its CRC-32 is", 3);
    fs::remove_file(&summary).unwrap();
    scratch.refused("cannot use", 3);
    let manifest = scratch.path("run/manifest.json");
    let listed = fs::read_to_string(&manifest).unwrap();
    let other = listed.replacen("\"format\": 2", "\"format\": 3", 1);
    fs::write(&manifest, other).unwrap();
    scratch.refused("manifest of format 3, this keytoll reads format 2", 3);
    fs::write(&manifest, "{ \"kind\": \"of somebody\" }").unwrap();
    scratch.refused("is no run directory: keytoll did not write its manifest.json", 2);
    fs::remove_file(&manifest).unwrap();
    scratch.refused("has files of a run but no manifest.json", 2);
}

/// docs/columns.md: a link without packets has an empty cell, and the means of summary.json count it as 0.
#[test]
fn an_empty_cell_of_a_link_counts_as_zero() {
    let options =
        ["--set", "methods=ikev2-eap-aka", "--set", "networks=lte", "--set", "options.vector_batch=3"];
    let scratch = Scratch::of(
        "links",
        &[&["run", "quickstart", "--samples", "6", "--crypto", "null"], &options[..]].concat(),
    );
    let mut samples = csv::Reader::from_path(scratch.path("run/samples.csv")).unwrap();
    let lines: Vec<BTreeMap<String, String>> = samples.deserialize().map(Result::unwrap).collect();
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.path("run/summary.json")).unwrap()).unwrap();
    for (link, empty) in [("aaa-hss", 4), ("ue-gw", 0)] {
        let column = format!("{}_bytes", link.replace('-', "_"));
        let cells: Vec<&str> = lines.iter().map(|line| line[&column].as_str()).collect();
        assert_eq!(cells.iter().filter(|cell| cell.is_empty()).count(), empty, "{cells:?}");
        let sum: f64 = cells.iter().map(|cell| cell.parse().unwrap_or(0.0)).sum();
        let mean = summary["rows"][0]["links"][link]["bytes"].as_f64().unwrap();
        assert!(sum > 0.0 && (mean - sum / 6.0).abs() < 1e-9, "{link}: {mean} {cells:?}");
    }
}

/// Both hosts sign and verify with the hash of the option, also of SHA-384 with keys of P-256.
#[test]
fn hip_signs_with_the_hash_of_the_option() {
    let options = ["--set", "methods=hip-bex", "--set", "networks=loopback", "--set"];
    let run = ["run", "quickstart", "--samples", "1"];
    let identity = "options={host_identity=\"ecdsa-p256\"}";
    let with_hash = "options={host_identity=\"ecdsa-p256\", ecdsa_p256_hash=\"sha384\"}";
    for (name, options_of, used, unused) in [
        ("p256", identity, "ecdsa-p256-raw-sha256", "ecdsa-p256-raw-sha384"),
        ("p256-sha384", with_hash, "ecdsa-p256-raw-sha384", "ecdsa-p256-raw-sha256"),
    ] {
        let scratch = Scratch::of(name, &[&run[..], &options[..], &[options_of]].concat());
        let operations = fs::read_to_string(scratch.path("run/operations.csv")).unwrap();
        for operation in ["ue,i2,sign", "ue,r2,verify", "gw,i2,verify", "gw,r2,sign"] {
            assert!(operations.contains(&format!(",{operation},{used},")), "{operation}: {operations}");
        }
        assert!(!operations.contains(unused), "{operations}");
    }
}
