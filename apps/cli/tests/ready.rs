//! `check` says yes to what `run` will do, and no by the same sentence before any work has begun.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-ready-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
        command.args(arguments).current_dir(&self.0);
        command
    }

    fn keytoll(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What both verbs say of the same, who must leave nothing behind.
    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let before = fs::read_dir(&self.0).unwrap().count();
        let said = ["check", "run"].map(|verb| {
            let Output { status, stdout, stderr } = self.keytoll(&[&[verb], arguments].concat());
            assert!(stdout.is_empty(), "{verb} {arguments:?}: {}", String::from_utf8_lossy(&stdout));
            (status.code().unwrap(), without_estimates(&String::from_utf8(stderr).unwrap()))
        });
        assert_eq!(said[0], said[1], "{arguments:?}");
        assert_eq!(fs::read_dir(&self.0).unwrap().count(), before, "{arguments:?}");
        said[0].clone()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An estimate comes from a rehearsal, which takes another time and leaves a few other bytes whenever it is made.
fn without_estimates(said: &str) -> String {
    let mut words: Vec<&str> = said.split(' ').collect();
    for at in 1..words.len() {
        if matches!(words[at], "kB" | "MB" | "GB" | "TB") {
            words[at - 1] = "…";
        }
    }
    words.join(" ")
}

const ONE: [&str; 4] = ["--set", "methods=ikev2-psk", "--set", "networks=loopback"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["quickstart"].iter().chain(&ONE).chain(more).copied().collect()
}

#[test]
fn what_run_refuses_check_refuses_by_the_same_sentence() {
    let scratch = Scratch::new("refused");
    fs::write(scratch.0.join("other"), "neither a table nor a run\n").unwrap();
    fs::create_dir(scratch.0.join("mine")).unwrap();
    fs::write(scratch.0.join("mine/letter"), "of somebody\n").unwrap();
    let table = fs::read_to_string("../../world/lab/src/rehearsal/reference.json").unwrap();
    let poorer = table.lines().filter(|line| !line.contains("\"prfsha256\"")).collect::<Vec<_>>().join("\n");
    assert!(poorer.len() < table.len());
    fs::write(scratch.0.join("poorer.json"), poorer).unwrap();
    let cases: [(&[&str], i32, &str); 7] = [
        (
            &["--crypto", "table", "--costs", "missing.json"],
            2,
            "the cost table `missing.json` does not exist",
        ),
        (&["--crypto", "table", "--costs", "other"], 2, "`other` is no cost table"),
        (&["--crypto", "table", "--costs", "poorer.json"], 2, "`poorer.json` has no `"),
        (&["--set", "options.suite=aes128gcm16-prfsha256-x448"], 3, "ikev2-psk asks for x448"),
        (&["--out", "mine"], 2, "`mine` is not empty and holds no run of keytoll"),
        (&["--out", "other"], 2, "`other` is a file"),
        (&["--out", "other/run"], 2, "`other/run` cannot be created: `other` is a file"),
    ];
    for (arguments, code, sentence) in cases {
        let (seen, said) = scratch.refused(&with(arguments));
        let said = said.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(said.contains(sentence), "{arguments:?}: {said}");
        assert_eq!(seen, code, "{arguments:?}: {said}");
    }
    if cfg!(not(feature = "ossl")) {
        let (code, said) = scratch.refused(&with(&["--crypto", "openssl"]));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("needs a keytoll built with `--features ossl`"), "{said}");
    }
}

#[test]
fn what_the_disk_cannot_hold_is_refused_before_it_is_full() {
    let scratch = Scratch::new("room");
    let (code, said) = scratch.refused(&["quickstart", "--samples", "1000000000"]);
    assert_eq!(code, 3, "{said}");
    assert!(
        said.contains("34000000000 authentications leave about") && said.contains("`--no-trace`"),
        "{said}"
    );
    let asked = scratch.keytoll(&["check", "quickstart", "--samples", "1000000000", "--no-trace"]);
    let said = String::from_utf8(asked.stderr).unwrap();
    assert!(asked.status.success() && said.contains("no traces: as a rehearsal of "), "{said}");
}

#[test]
fn check_tells_about_how_much_work_it_is() {
    let scratch = Scratch::new("work");
    let said = |more: &[&str]| {
        let Output { status, stdout, stderr } = scratch.keytoll(&[&["check"], &with(more)[..]].concat());
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    };
    let (plan, work) = said(&["--samples", "12", "--threads", "3"]);
    assert!(plan.contains("= 12 authentications, one every 10 s (2 min of virtual time a row)"), "{plan}");
    assert!(work.contains("about a second or less on one thread besides making keys, and "), "{work}");
    assert!(work.contains(" of files: as a rehearsal of one row without cryptography took here"), "{work}");
    assert!(work.contains(", and cryptography as on "), "{work}");
    assert!(!said(&["--crypto", "null"]).1.contains("cryptography as on"));
}

#[test]
fn check_tells_how_much_memory_a_population_needs() {
    let scratch = Scratch::new("memory");
    let said = |scenario: &[&str]| {
        let Output { status, stderr, .. } = scratch.keytoll(&[&["check"], scenario].concat());
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stderr).unwrap()
    };
    let of_population = said(&[
        "storm",
        "--set",
        "methods=ikev2-psk",
        "--set",
        "population.devices=1000000",
        "--set",
        "population.arrivals=storm 1000000 in 5 min",
    ]);
    let words = of_population.lines().last().unwrap_or_default();
    // A device with a shared key takes between 2 and 8 kB at both ends.
    let (all, rest) =
        words.strip_prefix("about ").and_then(|words| words.split_once(" GB of memory")).expect(words);
    assert!((2.0..8.0).contains(&all.parse::<f64>().unwrap()), "{words}");
    let (without, each) = rest
        .strip_prefix(" when all devices are there: ")
        .and_then(|rest| rest.split_once(" MB without them, and "))
        .expect(words);
    // The program itself and one gateway.
    assert!((5.0..500.0).contains(&without.parse::<f64>().unwrap()), "{words}");
    assert!(each.ends_with(" kB of heap for each, as 800 of them took here"), "{words}");
    assert!(!said(&["quickstart"]).contains("of memory"));
}

#[test]
fn a_scenario_can_come_from_standard_input() {
    let scratch = Scratch::new("stdin");
    for (verb, expected) in
        [("check", "stdin\n1 row x 2 samples"), ("run", "stdin: 2 authentications, seed 1")]
    {
        let mut command = scratch.command(&[verb, "-", "--samples", "2", "--crypto", "null"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let text = b"methods = 'ikev2-psk'\nnetworks = 'lte'\n";
        child.stdin.take().unwrap().write_all(text).unwrap();
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        assert!(
            String::from_utf8_lossy(&stdout).starts_with(expected),
            "{}",
            String::from_utf8_lossy(&stdout)
        );
    }
    assert!(scratch.0.join("runs/stdin/summary.json").exists());
}

#[test]
fn the_file_of_a_node_is_no_scenario() {
    let scratch = Scratch::new("node");
    fs::write(scratch.0.join("gw.toml"), "role = \"gateway\"\n").unwrap();
    let run = scratch.keytoll(&["run", "gw.toml"]);
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("`gw.toml` is the file of a node, not a scenario"), "{said}");
    let check = scratch.keytoll(&["check", "gw.toml", "--no-trace"]);
    assert!(String::from_utf8(check.stderr).unwrap().contains("nothing in it can be replaced"));
}
