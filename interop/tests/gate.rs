//! `gate.txt`: the tests that `.ci/run` selects from this program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::process::Command;

use keytoll_interop::eap::Method;

/// The names in `gate.txt`.
fn selected() -> Vec<&'static str> {
    include_str!("../gate.txt").lines().filter(|line| !line.starts_with('#')).collect()
}

/// The names of all tests of this program.
fn all() -> String {
    let listed = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

#[test]
fn gate_selects_existing_tests_only() {
    let all = all();
    let all: BTreeSet<&str> = all.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let unknown: Vec<_> = selected().into_iter().filter(|name| !all.contains(name)).collect();
    assert!(all.len() > 600 && unknown.is_empty(), "not among {} tests: {unknown:?}", all.len());
}

#[test]
fn gate_covers_every_module_and_every_eap_method() {
    // `gate` itself needs no daemon.
    let modules = |name: &str| name.split("::").next().unwrap().to_owned();
    let all = all();
    let expected: BTreeSet<_> = all.lines().filter(|line| line.ends_with(": test")).map(modules).collect();
    let covered: BTreeSet<_> = selected().into_iter().map(modules).chain(["gate".to_owned()]).collect();
    assert_eq!(covered, expected);
    let chains = selected().into_iter().filter_map(|name| name.strip_prefix("eap_chains::"));
    let (chains, methods): (BTreeSet<_>, BTreeSet<_>) =
        chains.map(|name| name.split_once("::").unwrap()).unzip();
    assert_eq!(methods.len(), Method::all().len(), "{methods:?}");
    assert_eq!(chains.len(), 7, "every chain of daemons in RESULTS.md: {chains:?}");
}
