//! What README shows is what the program printed: `readme/quickstart.json` has the rows of a run of the quickstart that README
//! has room for, README has their tables, and this program still finds the same where the machine does not matter.
//!
//! After a change: `keytoll run` (a release build), then `UPDATE_README=1 cargo test -p keytoll --test suite readme`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use keytoll_analysis::summary::{Summary, SummaryRow};
use keytoll_report::terminal;
use serde::{Deserialize, Serialize};

/// Columns of README's tables.
const WIDTH: usize = 80;

/// The rows that README has room for.
const SHOWN: [(&str, &str); 7] = [
    ("ikev2-psk", "wifi-11g"),
    ("ikev2-rsa2048", "wifi-11g"),
    ("ikev2-ecdsa-p256", "wifi-11g"),
    ("ikev2-eap-aka", "wifi-11g"),
    ("ikev2-eap-tls", "wifi-11g"),
    ("ikev2-psk", "umts-r99-64"),
    ("ikev2-eap-aka", "umts-r99-64"),
];

/// A run, cut to what README shows of it.
#[derive(Serialize, Deserialize)]
struct Recorded {
    /// In all rows.
    authentications: u64,
    summary: Summary,
}

impl Recorded {
    fn cut(mut summary: Summary) -> Self {
        let authentications = summary.rows.iter().map(|row| row.n).sum();
        summary.rows.retain(is_shown);
        Self { authentications, summary }
    }

    fn read() -> Self {
        serde_json::from_slice(&fs::read(recorded_path()).unwrap()).unwrap()
    }

    /// Where it ran, as README says above the tables.
    fn machine(&self) -> String {
        let provenance = self.summary.provenance.as_ref().unwrap();
        format!(
            "(of a shared virtual machine: {}, {} cores)",
            provenance.machine.cpu, provenance.machine.cores
        )
    }

    /// The tables without what is said below them, its headline being that of all rows.
    fn tables(&self) -> String {
        let mut out = Vec::new();
        terminal::write(&self.summary, WIDTH, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let shown: u64 = self.summary.rows.iter().map(|row| row.n).sum();
        let [of_shown, of_all] = [shown, self.authentications].map(|n| format!(": {n} authentications"));
        assert_eq!(text.matches(&of_shown).count(), 1, "the headline says how many");
        text.replace(&of_shown, &of_all).split("\n\nok/n:").next().unwrap().to_owned()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn recorded_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readme/quickstart.json")
}

fn is_shown(row: &SummaryRow) -> bool {
    SHOWN.contains(&(row.method.as_str(), row.network.as_str()))
}

/// Where README's example begins and ends.
fn block(readme: &str, first: &str) -> std::ops::Range<usize> {
    let fence = "```text\n";
    let begin = readme.find(&format!("{fence}{first}")).unwrap() + fence.len();
    begin..begin + readme[begin..].find("\n```").unwrap()
}

/// Takes over the latest run.
fn update(readme: &str) {
    let run = fs::read(root().join("runs/quickstart/summary.json")).unwrap();
    let recorded = Recorded::cut(serde_json::from_slice(&run).unwrap());
    let mut text = serde_json::to_string_pretty(&recorded).unwrap();
    text.push('\n');
    fs::create_dir_all(recorded_path().parent().unwrap()).unwrap();
    let mut readme = readme.replacen(&Recorded::read().machine(), &recorded.machine(), 1);
    fs::write(recorded_path(), text).unwrap();
    readme.replace_range(block(&readme, &recorded.summary.title), &recorded.tables());
    fs::write(root().join("README.md"), readme).unwrap();
}

#[test]
fn it_shows_the_tables_of_a_run() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    if std::env::var_os("UPDATE_README").is_some() {
        return update(&readme);
    }
    let recorded = Recorded::read();
    assert_eq!(&readme[block(&readme, &recorded.summary.title)], recorded.tables());
    assert!(readme.contains(&recorded.machine()), "README names another machine");
}

/// Messages of every link, and bytes of an idle SA within 5 %.
#[test]
fn this_program_still_finds_what_the_run_found() {
    let dir = std::env::temp_dir().join(format!("keytoll-readme-{}", std::process::id()));
    let run = Command::new(env!("CARGO_BIN_EXE_keytoll"))
        .args(["run", "--json", "--no-trace", "--samples", "30", "--set", "networks=wifi-11g", "--out"])
        .arg(dir.join("run"))
        .current_dir(root())
        .output()
        .unwrap();
    fs::remove_dir_all(&dir).unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let now = Recorded::cut(serde_json::from_slice(&run.stdout).unwrap()).summary;
    let then = Recorded::read().summary;
    assert_eq!(now.title, format!("{}, with networks = wifi-11g", then.title));
    let wifi: Vec<&SummaryRow> = then.rows.iter().filter(|row| row.network == "wifi-11g").collect();
    assert_eq!(now.rows.len(), wifi.len());
    for (now, then) in now.rows.iter().zip(wifi) {
        assert_eq!(now.method, then.method);
        assert_same_costs(now, then);
    }
}

fn assert_same_costs(now: &SummaryRow, then: &SummaryRow) {
    for (link, means) in now.links.iter() {
        let before = then.links.get(link).unwrap();
        assert_eq!(means.messages, before.messages, "{}: {link}", now.method);
    }
    for (node, memory) in now.memory_bytes.iter() {
        let idle = memory.idle_sa.zip(then.memory_bytes.get(node).unwrap().idle_sa);
        let is_near = |(now, then): (f64, f64)| (now / then - 1.0).abs() < 0.05;
        assert!(idle.is_none_or(is_near), "{}, {node}: {idle:?} bytes", now.method);
    }
}
