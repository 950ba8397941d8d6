//! From the traces of a run directory to its files, as `keytoll run` and `keytoll report` do it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../src/example.rs"]
mod example;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use keytoll_analysis::Summary;
use keytoll_report::directory::render;
use keytoll_report::page::OfPlan;
use keytoll_trace::file::{Recorded, Writer};
use keytoll_trace::manifest::Manifest;

/// A fresh directory under `target/tmp`, where the files can be looked at afterwards.
fn fresh(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}"));
    _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(directory.join("trace")).unwrap();
    fs::create_dir_all(directory.join("costs")).unwrap();
    directory
}

fn write<R: Recorded>(path: &Path, records: &[R]) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    fs::write(path, writer.finish().unwrap()).unwrap();
}

fn leave_a_run(directory: &Path, manifest: &Manifest) {
    manifest.write(File::create(directory.join("manifest.json")).unwrap()).unwrap();
    for (index, row) in manifest.rows.iter().enumerate() {
        write(&directory.join(&row.trace), &example::records_of(index));
        write(&directory.join(&row.costs), &example::costs_of(index));
    }
}

#[test]
fn a_run_directory_gets_all_its_files() {
    let directory = fresh("whole");
    let wanted = example::findings();
    leave_a_run(&directory, &wanted.manifest);
    let found = render(&directory, |_| OfPlan::default()).unwrap();
    assert_eq!(found.summary, wanted.summary);
    let summary: Summary =
        serde_json::from_str(&fs::read_to_string(directory.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary, wanted.summary);
    let lines = |name: &str| fs::read_to_string(directory.join(name)).unwrap().lines().count();
    assert_eq!(
        (lines("samples.csv"), lines("operations.csv"), lines("messages.csv")),
        (1 + 16, 1 + 4, 1 + 20)
    );
    assert!(lines("report.html") > 50);
}

/// Rows are measured at the same time, and a row alone is read in another thread than it is measured in.
#[test]
fn a_row_is_the_same_alone_and_among_others() {
    let samples_of = |directory: &Path| fs::read_to_string(directory.join("samples.csv")).unwrap();
    let (among, alone) = (fresh("among"), fresh("alone"));
    let manifest = example::findings().manifest;
    leave_a_run(&among, &manifest);
    let all = render(&among, |_| OfPlan::default()).unwrap();
    let first = Manifest { rows: vec![manifest.rows[0].clone()], ..manifest };
    leave_a_run(&alone, &first);
    let found = render(&alone, |_| OfPlan::default()).unwrap();
    assert_eq!(found.summary.rows, all.summary.rows[..1]);
    let (among, text) = (samples_of(&among), samples_of(&alone));
    assert_eq!(text.lines().count(), 1 + 4);
    assert!(among.starts_with(&text), "{among}");
    let trace = alone.join(&first.rows[0].trace);
    let mut bytes = fs::read(&trace).unwrap();
    let last_record = bytes.len() - 30;
    bytes[last_record] ^= 1;
    fs::write(&trace, bytes).unwrap();
    let message = render(&alone, |_| OfPlan::default()).unwrap_err().to_string();
    assert!(message.contains("000.trace") && message.contains("damaged"), "{message}");
    assert_eq!(samples_of(&alone), text, "what was there before stays");
}

/// What a run belongs to is in its manifest, so that `keytoll report` shows it as a study again.
#[test]
fn the_directory_of_a_study_gets_its_account() {
    let directory = fresh("study");
    let name = keytoll_studies::STUDIES[0].name;
    let manifest = Manifest { study: Some(name.to_owned()), ..example::findings().manifest };
    leave_a_run(&directory, &manifest);
    let found = render(&directory, |_| OfPlan::default()).unwrap().study.unwrap();
    let text = fs::read_to_string(directory.join("study.json")).unwrap();
    let written: keytoll_analysis::study::Account = serde_json::from_str(&text).unwrap();
    assert_eq!((written.study.as_str(), written.tables.len()), (name, 7));
    assert_eq!(written, found);
    let page = fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("What the paper found, and whether it holds here"));
}

#[test]
fn an_interrupted_run_shows_what_it_has() {
    let directory = fresh("interrupted");
    let manifest = Manifest { complete: false, ..example::findings().manifest };
    leave_a_run(&directory, &manifest);
    fs::remove_file(directory.join(&manifest.rows[3].trace)).unwrap();
    fs::write(directory.join(&manifest.rows[1].costs), []).unwrap();
    let torn = directory.join(&manifest.rows[2].trace);
    let bytes = fs::read(&torn).unwrap();
    fs::write(&torn, &bytes[..bytes.len() - 3]).unwrap();
    let found = render(&directory, |_| OfPlan::default()).unwrap();
    assert_eq!(found.summary.rows.iter().map(|row| row.n).collect::<Vec<_>>(), [4, 3]);
    assert!(!found.summary.complete);
    let notes = &found.summary.rows[1].notes;
    assert_eq!(notes[0], "3 of 4 authentications were measured: this row is not complete");
}

/// Whoever adds records to a whole file, or takes some away, finds no complete run.
#[test]
fn a_row_that_lacks_authentications_is_not_complete() {
    let directory = fresh("short");
    let manifest = example::findings().manifest;
    leave_a_run(&directory, &manifest);
    let records = example::records_of(0);
    let less: Vec<_> = records.into_iter().filter(|record| record.sample < 2).collect();
    write(&directory.join(&manifest.rows[0].trace), &less);
    let summary = render(&directory, |_| OfPlan::default()).unwrap().summary;
    assert!(!summary.complete && summary.rows[0].n == 2);
    assert_eq!(summary.rows[0].notes, ["2 of 4 authentications were measured: this row is not complete"]);
}

#[test]
fn a_run_of_somebody_else_gets_no_file() {
    let directory = fresh("foreign");
    fs::write(directory.join("manifest.json"), r#"{ "manifest_version": 3 }"#).unwrap();
    let message = render(&directory, |_| OfPlan::default()).unwrap_err().to_string();
    assert!(message.contains("was not written by keytoll"), "{message}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 3, "the manifest, and two empty folders");
}

/// A run out of somebody's archive: nothing is written through its links, and nothing is waited for.
#[test]
fn a_link_or_a_pipe_in_place_of_a_file_of_the_run_is_refused() {
    let directory = fresh("links");
    let name = keytoll_studies::STUDIES[0].name;
    let manifest = Manifest { study: Some(name.to_owned()), ..example::findings().manifest };
    leave_a_run(&directory, &manifest);
    let victim = directory.join("trace/victim");
    fs::write(&victim, "precious").unwrap();
    let files =
        ["samples.csv", "operations.csv", "messages.csv", "summary.json", "study.json", "report.html"];
    for name in files {
        std::os::unix::fs::symlink(&victim, directory.join(name)).unwrap();
        let message = render(&directory, |_| OfPlan::default()).unwrap_err().to_string();
        assert!(message.contains(name) && message.ends_with("it is no regular file"), "{name}: {message}");
        fs::remove_file(directory.join(name)).unwrap();
    }
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    for name in ["manifest.json", "trace/000.trace", "costs/000.costs"] {
        let (path, moved) = (directory.join(name), directory.join("costs/moved"));
        fs::rename(&path, &moved).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let message = render(&directory, |_| OfPlan::default()).unwrap_err().to_string();
        assert!(message.contains(name) && message.ends_with("it is no regular file"), "{name}: {message}");
        fs::rename(&moved, &path).unwrap();
    }
    render(&directory, |_| OfPlan::default()).unwrap();
}

#[test]
fn counts_without_end_are_not_read() {
    let directory = fresh("endless");
    let manifest = Manifest { traced: false, ..example::findings().manifest };
    leave_a_run(&directory, &manifest);
    let counts = directory.join("population.json");
    let refused = || render(&directory, |_| OfPlan::default()).unwrap_err().to_string();
    File::create(&counts).unwrap().set_len((1 << 28) + 1).unwrap();
    let told = format!("cannot use {}: ", counts.display());
    assert_eq!(refused(), format!("{told}it has more than 268435456 bytes"));
    fs::write(&counts, format!("{{\"rows\":[{}null]}}", "null,".repeat(10_000))).unwrap();
    assert!(refused().starts_with(&format!("{told}a list of more than 10000 at line 1")), "{}", refused());
}

#[test]
fn what_is_wrong_is_named_with_its_file() {
    let directory = fresh("damaged");
    let message = render(&directory, |_| OfPlan::default()).unwrap_err().to_string();
    assert!(message.contains("cannot open") && message.contains("manifest.json"), "{message}");

    let manifest = example::findings().manifest;
    leave_a_run(&directory, &manifest);
    let torn = directory.join(&manifest.rows[1].trace);
    let bytes = fs::read(&torn).unwrap();
    fs::write(&torn, &bytes[..bytes.len() - 3]).unwrap();
    let message = render(&directory, |_| OfPlan::default()).unwrap_err().to_string();
    assert!(message.contains("001.trace"), "{message}");
}
