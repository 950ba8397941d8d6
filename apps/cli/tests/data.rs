//! Nobody's data is ever lost: earlier results, files that others put there, and what was measured before an interruption.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "a test waits for the program")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::schema;

/// A run that takes no time.
const QUICK: &str =
    "run quickstart --crypto null --samples 3 --set networks=loopback --set methods=ikev2-psk";
/// One that takes longer than anybody waits.
const LONG: &str =
    "run quickstart --crypto null --samples 3000000 --set networks=loopback --set methods=ikev2-psk";

/// A directory of a test's own, in which commands are run.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-data-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
        command.args(line.split_whitespace()).current_dir(&self.0);
        command
    }

    /// Exit code and stderr.
    fn says(&self, line: &str) -> (i32, String) {
        let Output { status, stderr, .. } = self.command(line).output().unwrap();
        (status.code().unwrap(), String::from_utf8(stderr).unwrap())
    }

    fn succeeds(&self, line: &str) -> String {
        let (code, said) = self.says(line);
        assert_eq!(code, 0, "{line}: {said}");
        said
    }

    fn start(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn json(&self, file: &str) -> Value {
        schema::file(&self.0.join(file))
    }

    /// Everything in it: contents of files, targets of links.
    fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.0.clone()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap();
                let contents = if kind.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else if kind.is_dir() {
                    waiting.push(path.clone());
                    Vec::new()
                } else {
                    fs::read(&path).unwrap()
                };
                found.insert(path.strip_prefix(&self.0).unwrap().to_owned(), contents);
            }
        }
        found
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn link(&self, name: &str) -> PathBuf {
        fs::read_link(self.0.join(name)).unwrap()
    }

    /// Starts a command, waits until it has written so much into a file, and sends it a signal; exit code and stderr.
    fn interrupted(&self, line: &str, signal: &str, measuring: &dyn Fn() -> bool) -> (Option<i32>, String) {
        let mut child = self.start(line);
        for _ in 0..3000 {
            if measuring() || child.try_wait().unwrap().is_some() {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success(), "it had not ended");
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        (status.code(), String::from_utf8(stderr).unwrap())
    }

    fn has_bytes(&self, file: &str) -> bool {
        fs::metadata(self.0.join(file)).is_ok_and(|file| file.len() > 100_000)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_second_run_keeps_the_first_and_the_place_leads_to_the_latest() {
    let scratch = Scratch::new("twice");
    let said = scratch.succeeds(&format!("{QUICK} --out a/run"));
    assert!(said.contains("results in a/run, which leads to run.1\n"), "{said}");
    fs::write(scratch.0.join("a/run/notes.txt"), "mine").unwrap();
    let before = scratch.tree();
    let said = scratch.succeeds(&format!("{QUICK} --seed 2 --out a/run"));
    assert!(said.contains("leads to run.2\nthe earlier run is in a/run.1\n"), "{said}");
    let after = scratch.tree();
    for (path, contents) in before.iter().filter(|(path, _)| *path != Path::new("a/run")) {
        assert_eq!(after.get(path), Some(contents), "{}", path.display());
    }
    assert_eq!(scratch.link("a/run"), Path::new("run.2"));
    assert_eq!(scratch.json("a/run/summary.json")["seed"], "2");
    assert_eq!(scratch.json("a/run.1/summary.json")["seed"], "1");
}

#[test]
fn force_replaces_a_run_but_never_what_keytoll_did_not_write() {
    let scratch = Scratch::new("force");
    let forced = format!("{QUICK} --out run --force");
    scratch.succeeds(&format!("{QUICK} --pcap --out run"));
    scratch.succeeds(&forced);
    assert_eq!(scratch.names(), ["run", "run.2"]);
    fs::create_dir(scratch.0.join("run/thoughts")).unwrap();
    fs::write(scratch.0.join("run/thoughts/first.txt"), "mine").unwrap();
    let said = scratch.succeeds(&forced);
    assert!(said.contains("kept because keytoll did not write all that is in it: thoughts"), "{said}");
    assert_eq!(scratch.names(), ["run", "run.2", "run.3"]);
    assert_eq!(fs::read(scratch.0.join("run.2/thoughts/first.txt")).unwrap(), b"mine");
    // A table that somebody has edited is theirs.
    fs::write(scratch.0.join("run/samples.csv"), "better figures\n").unwrap();
    let said = scratch.succeeds(&forced);
    assert!(said.contains("samples.csv"), "{said}");
    assert_eq!(fs::read(scratch.0.join("run.3/samples.csv")).unwrap(), b"better figures\n");
}

/// Somebody's run, out of an archive: what its manifest says of other places is no reason to remove anything.
#[test]
fn force_removes_nothing_that_a_manifest_names_outside_its_run() {
    let scratch = Scratch::new("outside");
    scratch.succeeds(&format!("{QUICK} --out run"));
    fs::rename(scratch.0.join("run/samples.csv"), scratch.0.join("precious.csv")).unwrap();
    let mut manifest = scratch.json("run/manifest.json");
    let files = manifest["files"].as_array().unwrap();
    let samples = files.iter().position(|file| file["path"] == "samples.csv").unwrap();
    for outside in ["../precious.csv", scratch.0.join("precious.csv").to_str().unwrap()] {
        manifest["files"][samples]["path"] = outside.into();
        fs::write(scratch.0.join("run/manifest.json"), manifest.to_string()).unwrap();
        let before = scratch.tree();
        let (code, said) = scratch.says(&format!("{QUICK} --out run --force"));
        assert!(code == 2 && said.contains("a manifest.json that keytoll cannot read"), "{code} {said}");
        let (code, said) = scratch.says("report run");
        assert!(code == 3 && said.contains("cannot use run/manifest.json: it names"), "{code} {said}");
        assert_eq!(scratch.tree(), before);
    }
}

#[test]
fn force_removes_the_run_that_was_there_when_it_began_and_no_other() {
    let scratch = Scratch::new("meanwhile");
    scratch.succeeds(&format!("{QUICK} --out run"));
    let forced = scratch.start(&format!("{} --out run --force", LONG.replace("3000000", "6000")));
    let has_begun = || scratch.has_bytes("run.2.unfinished/trace/000.trace");
    while !has_begun() {
        sleep(Duration::from_millis(10));
    }
    let said = scratch.succeeds(&format!("{QUICK} --out run"));
    assert!(said.contains("leads to run.3"), "{said}");
    assert!(scratch.0.join("run.2.unfinished").exists(), "it has not ended");
    let Output { status, stderr, .. } = forced.wait_with_output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success() && said.contains("the earlier run is in run.3\n"), "{said}");
    assert_eq!(scratch.names(), ["run", "run.1", "run.2", "run.3"]);
    scratch.succeeds(&format!("{QUICK} --out run --force"));
    assert_eq!(scratch.names(), ["run", "run.1", "run.3", "run.4"]);
}

#[test]
fn an_interrupted_run_removes_nothing_and_a_link_in_place_of_a_run_is_refused() {
    let scratch = Scratch::new("unfinished");
    for (number, force) in [(1, ""), (2, "--force")] {
        let trace = format!("run.{number}.unfinished/trace/000.trace");
        let line = format!("{LONG} --out run {force}");
        let (ended, said) = scratch.interrupted(&line, "-INT", &|| scratch.has_bytes(&trace));
        assert!(ended == Some(130) && said.contains("results in run,"), "{said}");
    }
    assert_eq!(scratch.names(), ["run", "run.1", "run.2"]);
    scratch.succeeds("report run.1");
    // A run that is kept elsewhere.
    scratch.succeeds(&format!("{QUICK} --out kept/q"));
    symlink("kept/q.1", scratch.0.join("q.1")).unwrap();
    symlink("q.1", scratch.0.join("q")).unwrap();
    let before = scratch.tree();
    let (code, said) = scratch.says(&format!("{QUICK} --out q --force"));
    assert!(code == 2 && said.contains("which keytoll did not make"), "{code} {said}");
    assert_eq!(scratch.tree(), before);
    scratch.succeeds("report q");
}

#[test]
fn whatever_else_is_in_the_place_is_refused_before_anything_is_done() {
    let scratch = Scratch::new("foreign");
    let make = |path: &str, text: &str| {
        let path = scratch.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    make("extension/manifest.json", r#"{ "manifest_version": 3, "name": "years of work" }"#);
    make("extension/.git/HEAD", "ref: refs/heads/main\n");
    make("thesis/thesis.tex", "years of work");
    make("broken/manifest.json", "{ \"kind\": \"keytoll run\", ");
    make("file", "years of work");
    symlink("thesis", scratch.0.join("link")).unwrap();
    symlink("dangling.1", scratch.0.join("loose")).unwrap();
    symlink("numbered.1", scratch.0.join("numbered")).unwrap();
    make("numbered.1/thesis.tex", "years of work");
    let before = scratch.tree();
    for (out, why) in [
        ("extension", "holds a manifest.json that keytoll did not write"),
        ("thesis", "is not empty and holds no run of keytoll: there is `thesis.tex` in it"),
        ("thesis/", "is not empty"),
        ("broken", "holds a manifest.json that keytoll cannot read"),
        ("file", "is a file"),
        ("link", "is a symbolic link to `thesis`, which keytoll did not make"),
        ("link/", "is a symbolic link"),
        ("loose", "is a symbolic link to `dangling.1`"),
        ("numbered", "is a symbolic link to `numbered.1`"),
        (".", "is no name for a new directory"),
        ("..", "is no name for a new directory"),
        ("thesis/..", "is no name for a new directory"),
    ] {
        for force in ["", "--force"] {
            let (code, said) = scratch.says(&format!("{LONG} --out {out} {force}"));
            assert!(code == 2 && said.contains(why) && said.contains("help: "), "{out}: {code} {said}");
            assert_eq!(scratch.tree(), before, "{out}");
        }
        let (code, said) = scratch.says(&format!("study ikev2-wireless --samples 1 --out {out}"));
        assert!(code == 2 && said.contains(why), "{out}: {code} {said}");
    }
    let (code, said) = scratch.says(&format!("{LONG} --out file/run"));
    assert!(code == 2 && said.contains("`file/run` cannot be created: `file` is a file"), "{code} {said}");
    for foreign in ["extension", "thesis", "broken"] {
        let (code, said) = scratch.says(&format!("report {foreign}"));
        assert!(code != 0 && said.contains(foreign), "{foreign}: {code} {said}");
    }
    assert_eq!(scratch.tree(), before, "report writes nothing either");
}

#[test]
fn a_run_from_within_a_run_or_an_empty_directory_touches_neither() {
    let scratch = Scratch::new("within");
    scratch.succeeds(&format!("{QUICK} --out run"));
    let before = scratch.tree();
    let here = |directory: &str, out: &str| {
        let mut command = scratch.command(&format!("{QUICK} --out {out}"));
        command.current_dir(scratch.0.join(directory)).output().unwrap().status.code()
    };
    assert_eq!(here("run", "."), Some(2));
    fs::create_dir(scratch.0.join("empty")).unwrap();
    assert_eq!(here("empty", scratch.0.join("empty").to_str().unwrap()), Some(2));
    fs::remove_dir(scratch.0.join("empty")).unwrap();
    assert_eq!(scratch.tree(), before);
    fs::create_dir(scratch.0.join("empty")).unwrap();
    scratch.succeeds(&format!("{QUICK} --out empty"));
    assert_eq!(scratch.link("empty"), Path::new("empty.1"));
}

#[test]
fn a_run_that_has_the_place_itself_gets_a_number_first() {
    let scratch = Scratch::new("moved");
    scratch.succeeds(&QUICK.replace("null", "real --pcap --out first"));
    fs::remove_file(scratch.0.join("first")).unwrap();
    fs::rename(scratch.0.join("first.1"), scratch.0.join("mine")).unwrap();
    let said = scratch.succeeds(&format!("{QUICK} --out mine"));
    assert!(said.contains("leads to mine.2\nthe earlier run is in mine.1\n"), "{said}");
    scratch.succeeds("report mine.1");
    let preferences = fs::read_to_string(scratch.0.join("mine.1/capture/000.keys/preferences")).unwrap();
    assert!(preferences.contains("mine.1/capture/000.keys/tls.keys\n"), "{preferences}");
    // One of the first format, whose files nobody can tell any more.
    let old = r#"{ "format": 1, "keytoll_version": "0.1.0", "machine": {}, "plan": "", "rows": [], "complete": true }"#;
    fs::create_dir(scratch.0.join("old")).unwrap();
    fs::write(scratch.0.join("old/manifest.json"), old).unwrap();
    scratch.succeeds(&format!("{QUICK} --out old --force"));
    assert_eq!(fs::read_to_string(scratch.0.join("old.1/manifest.json")).unwrap(), old);
}

#[test]
fn runs_at_once_to_the_same_place_all_stay() {
    let scratch = Scratch::new("at-once");
    let runs: Vec<Child> =
        (0..6).map(|seed| scratch.start(&format!("{QUICK} --seed {seed} --out run"))).collect();
    for run in runs {
        let Output { status, stderr, .. } = run.wait_with_output().unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    }
    assert_eq!(scratch.names(), ["run", "run.1", "run.2", "run.3", "run.4", "run.5", "run.6"]);
    let seed = |run: usize| scratch.json(&format!("run.{run}/summary.json"))["seed"].to_string();
    let seeds: std::collections::BTreeSet<String> = (1..=6).map(seed).collect();
    assert_eq!(seeds.len(), 6);
    scratch.succeeds("report run");
}

#[test]
fn an_interrupted_run_leaves_the_earlier_one_and_keeps_what_it_has() {
    let scratch = Scratch::new("interrupted");
    scratch.succeeds(&format!("{QUICK} --out run"));
    let before = scratch.tree();
    for (number, signal, code, more) in [(2, "-INT", 130, ""), (3, "-TERM", 143, "--force")] {
        let trace = format!("run.{number}.unfinished/trace/000.trace");
        let line = format!("{LONG} --out run {more}");
        let (ended, said) = scratch.interrupted(&line, signal, &|| scratch.has_bytes(&trace));
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains("interrupted: ") && said.contains("are kept"), "{said}");
        assert!(
            said.contains(&format!("results in run.{number}, and not in run: this run is not complete")),
            "{said}"
        );
        let after = scratch.tree();
        assert!(
            before.iter().all(|(path, contents)| after.get(path) == Some(contents)),
            "the earlier run stays"
        );
        let dir = format!("run.{number}");
        for file in ["manifest.json", "summary.json"] {
            assert_eq!(scratch.json(&format!("{dir}/{file}"))["complete"], false, "{file}");
        }
        let row = &scratch.json(&format!("{dir}/summary.json"))["rows"][0];
        assert!(row["n"].as_u64().unwrap() > 10 && row["n"] == row["succeeded"], "{row}");
        assert!(row["notes"].to_string().contains("of 3000000 authentications were measured"), "{row}");
        let page = fs::read_to_string(scratch.0.join(&dir).join("report.html")).unwrap();
        assert!(page.contains("The run is not complete"));
        scratch.succeeds(&format!("report {dir}"));
        assert_eq!(scratch.json(&format!("{dir}/summary.json"))["complete"], false);
    }
    assert_eq!(scratch.names(), ["run", "run.1", "run.2", "run.3"]);
}

/// `nohup keytoll run`: a hangup ends only what was started without it.
#[test]
fn a_hangup_ends_a_run_unless_it_was_to_be_ignored() {
    let scratch = Scratch::new("hangup");
    let line = format!("{LONG} --out run");
    let send = |child: &Child, signal: &str| {
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    };
    // The tests themselves may have been started with nohup.
    for (number, heard) in [(1, "--default-signal=HUP"), (2, "--ignore-signal=HUP")] {
        let mut started = Command::new("env");
        started.args([heard, env!("CARGO_BIN_EXE_keytoll")]).args(line.split_whitespace());
        started.current_dir(&scratch.0).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = started.spawn().unwrap();
        while !scratch.has_bytes(&format!("run.{number}.unfinished/trace/000.trace")) {
            sleep(Duration::from_millis(10));
        }
        send(&child, "-HUP");
        if number == 2 {
            sleep(Duration::from_millis(500));
            assert_eq!(child.try_wait().unwrap(), None, "it goes on");
            send(&child, "-INT");
        }
        assert_eq!(child.wait().unwrap().code(), Some(if number == 1 { 129 } else { 130 }));
    }
}

/// IKE repeats a lost message only after more time than a run waits for one authentication.
const TOO_PATIENT: &str = "title = \"patient\"\nseed = 1\nsamples = 20\ncrypto = \"null\"\nmethods = \"ikev2-psk\"\n\
    networks = { name = \"lossy\", loss = \"2 %\" }\n\
    [options]\nretransmit_first = \"600 s\"\nretransmit_base = 10.0\nretransmit_tries = 3\n";

#[test]
fn a_row_with_fewer_authentications_than_planned_says_so_and_why() {
    let scratch = Scratch::new("short");
    fs::write(scratch.0.join("patient.toml"), TOO_PATIENT).unwrap();
    for (out, more) in [("run", ""), ("streamed", "--no-trace")] {
        let (code, said) = scratch.says(&format!("run patient.toml {more} --out {out}"));
        assert!(code == 1 && !said.contains("interrupted"), "{code} {said}");
        let summary = scratch.json(&format!("{out}/summary.json"));
        let row = &summary["rows"][0];
        assert_eq!(summary["complete"], false, "{row}");
        let [n, succeeded] = ["n", "succeeded"].map(|key| row[key].as_u64().unwrap());
        assert!(0 < succeeded && succeeded < n && n < 20, "it is not that nothing succeeded: {row}");
        let notes = row["notes"].to_string();
        // One count: what was measured, some of it without an end, and what could not begin make what was planned.
        for note in [
            format!("{n} of 20 authentications were measured"),
            format!(
                "authentications that had no end, for the device was told nothing in 3600 s: {}",
                n - succeeded
            ),
            format!("the one before had not ended or its SA was still there: {}", 20 - n),
        ] {
            assert!(notes.contains(&note), "{note}: {notes}");
        }
    }
}

#[test]
fn an_interrupted_run_without_trace_says_so_too_and_a_whole_one_takes_its_place() {
    let scratch = Scratch::new("streamed");
    let begun = scratch.0.join("run.1.unfinished/manifest.json");
    let line = format!("{LONG} --no-trace --out run");
    let (ended, said) = scratch.interrupted(&line, "-INT", &|| {
        sleep(Duration::from_millis(500));
        begun.exists()
    });
    assert_eq!(ended, Some(130), "{said}");
    assert!(said.contains("results in run, which leads to run.1"), "nothing else was there: {said}");
    assert_eq!(scratch.json("run/summary.json")["complete"], false);
    let is_told = |scratch: &Scratch| {
        let (code, said) = scratch.says("export run --format markdown");
        assert_eq!(code, 0, "{said}");
        said.contains("`run` is not complete")
    };
    assert!(is_told(&scratch));
    scratch.succeeds(&format!("{QUICK} --no-trace --out run"));
    assert_eq!(scratch.json("run/summary.json")["complete"], true);
    assert!(!is_told(&scratch));
    let (code, said) = scratch.says("report run");
    assert!(code == 2 && said.contains("`--no-trace`"), "{code} {said}");
}

#[test]
fn of_a_killed_run_what_is_whole_can_be_shown() {
    let scratch = Scratch::new("killed");
    let trace = "run.1.unfinished/trace/000.trace";
    let (ended, _) = scratch.interrupted(&format!("{LONG} --out run"), "-KILL", &|| scratch.has_bytes(trace));
    assert_eq!((ended, scratch.names()), (None, vec!["run.1.unfinished".to_owned()]));
    let path = scratch.0.join(trace);
    let whole = fs::read(&path).unwrap();
    for cut in (1..=16).map(|part| whole.len().min(60_000) * part / 16) {
        fs::write(&path, &whole[..cut]).unwrap();
        scratch.succeeds("report run.1.unfinished");
        let summary = scratch.json("run.1.unfinished/summary.json");
        assert_eq!(summary["complete"], false);
        let row = &summary["rows"][0];
        assert_eq!(row["n"], row["succeeded"], "half an authentication is none: {row}");
    }
    scratch.succeeds(&format!("{QUICK} --out run"));
    assert_eq!(scratch.names(), ["run", "run.1.unfinished", "run.2"]);
}

#[test]
fn every_file_of_a_run_that_was_cut_or_has_grown_is_noticed() {
    let scratch = Scratch::new("cut");
    scratch.succeeds(&format!("{QUICK} --pcap --out run"));
    scratch.succeeds("report run");
    let summary = fs::read(scratch.0.join("run/summary.json")).unwrap();
    let manifest = scratch.json("run/manifest.json");
    let mut files: Vec<String> = manifest["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap().to_owned())
        .collect();
    for wanted in ["trace/000.trace", "costs/000.costs", "samples.csv", "summary.json", "capture/000.pcapng"]
    {
        assert!(files.iter().any(|file| file == wanted), "{files:?}");
    }
    files.push("manifest.json".to_owned());
    for file in files {
        let path = scratch.0.join("run").join(&file);
        let whole = fs::read(&path).unwrap();
        let cuts = (0..16).map(|part| whole[..whole.len() * part / 16].to_vec());
        let others = [[&whole[..], b"more"].concat(), whole[..whole.len() - 2].to_vec()];
        for other in cuts.chain(others) {
            fs::write(&path, &other).unwrap();
            let (code, said) = scratch.says("report run");
            if code == 0 {
                // It was computed again from what is whole.
                assert_eq!(fs::read(scratch.0.join("run/summary.json")).unwrap(), summary, "{file}");
                assert!(!file.contains('/') || file.contains(".keys/"), "{file}: {} bytes", other.len());
            } else {
                assert!(said.contains(path.file_name().unwrap().to_str().unwrap()), "{file}: {said}");
                assert!(said.trim().lines().count() <= 3, "{file}: {said}");
            }
        }
        fs::write(&path, &whole).unwrap();
        scratch.succeeds("report run");
    }
}

/// As somebody does who cuts a file and says in the manifest that all is well.
#[test]
fn a_trace_that_breaks_off_between_two_records_is_noticed_without_the_manifest() {
    let scratch = Scratch::new("records");
    scratch.succeeds(&format!("{QUICK} --out run"));
    let mut manifest = scratch.json("run/manifest.json");
    manifest["files"] = Value::Array(Vec::new());
    fs::write(scratch.0.join("run/manifest.json"), manifest.to_string()).unwrap();
    for file in ["run/trace/000.trace", "run/costs/000.costs"] {
        let path = scratch.0.join(file);
        let whole = fs::read(&path).unwrap();
        let mut at = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let mut cuts = 0;
        while whole[at..at + 2] != [0, 0] {
            fs::write(&path, &whole[..at]).unwrap();
            let (code, said) = scratch.says("report run");
            assert!(code == 3 && said.contains("breaks off"), "{file} at {at}: {code} {said}");
            at += 2 + usize::from(u16::from_le_bytes([whole[at], whole[at + 1]]));
            cuts += 1;
        }
        assert!(cuts > 5, "{file}");
        fs::write(&path, &whole).unwrap();
        scratch.succeeds("report run");
    }
}

#[test]
fn an_interrupted_calibration_leaves_the_earlier_table() {
    let scratch = Scratch::new("calibrate");
    let earlier = "{\n  \"kind\": \"keytoll cost table\", half a minute of work";
    fs::write(scratch.0.join("costs.json"), earlier).unwrap();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let begun = || {
            sleep(Duration::from_millis(300));
            scratch.names().len() > 1
        };
        let (ended, said) = scratch.interrupted("crypto --calibrate costs.json", signal, &begun);
        assert!(ended == Some(code) && said.contains("interrupted"), "{ended:?} {said}");
        assert_eq!(scratch.names(), ["costs.json"]);
        assert_eq!(fs::read_to_string(scratch.0.join("costs.json")).unwrap(), earlier);
    }
    let (code, said) = scratch.says("crypto --calibrate nowhere/costs.json");
    assert!(code == 2 && said.contains("`nowhere/costs.json` cannot be created"), "{code} {said}");
}

#[test]
fn an_interrupted_profile_shows_what_it_has_and_leaves_the_earlier_page() {
    let scratch = Scratch::new("profile");
    let earlier = "<!DOCTYPE html>\n<meta name=\"generator\" content=\"keytoll\">earlier";
    fs::write(scratch.0.join("page.html"), earlier).unwrap();
    for line in ["profile ikev2-psk --count 1000000", "profile esp --count 1000000"] {
        let begun = || {
            sleep(Duration::from_millis(700));
            scratch.names().len() > 1
        };
        let (ended, said) = scratch.interrupted(&format!("{line} --html page.html"), "-TERM", &begun);
        assert_eq!(ended, Some(143), "{said}");
        assert!(
            said.contains("what was measured until then is shown") && said.contains("left as it was"),
            "{said}"
        );
        assert_eq!(scratch.names(), ["page.html"]);
        assert_eq!(fs::read_to_string(scratch.0.join("page.html")).unwrap(), earlier);
    }
}

#[test]
fn what_measure_keeps_is_a_run_like_any_other() {
    let scratch = Scratch::new("measure");
    scratch.succeeds(&format!("{QUICK} --pcap --out run"));
    let measure = "measure run/capture/000.pcapng --out captured";
    scratch.succeeds(measure);
    let before = scratch.tree();
    let said = scratch.succeeds(measure);
    assert!(said.contains("results in captured, which leads to captured.2"), "{said}");
    let after = scratch.tree();
    let is_kept = |path: &&PathBuf| path.starts_with("captured.1");
    assert!(before.keys().filter(is_kept).all(|path| before.get(path) == after.get(path)));
    scratch.succeeds(&format!("{measure} --force"));
    assert_eq!(scratch.names(), ["captured", "captured.1", "captured.3", "run", "run.1"]);
    fs::write(scratch.0.join("mine"), "mine").unwrap();
    assert_eq!(scratch.says("measure run/capture/000.pcapng --out mine").0, 2);
}

#[test]
fn the_profile_beside_a_capture_names_the_keys_where_they_are() {
    let scratch = Scratch::new("keys");
    let line =
        "run quickstart --samples 1 --set networks=loopback --set methods=ikev2-eap-tls --pcap --out run";
    let said = scratch.succeeds(line);
    assert!(
        said.contains("WIRESHARK_CONFIG_DIR=run/capture/000.keys wireshark run/capture/000.pcapng"),
        "{said}"
    );
    let preferences = fs::read_to_string(scratch.0.join("run/capture/000.keys/preferences")).unwrap();
    let keys = preferences.lines().find_map(|line| line.strip_prefix("tls.keylog_file: ")).unwrap();
    assert!(Path::new(keys).is_absolute() && !fs::read(keys).unwrap().is_empty(), "{keys}");
}

/// Every option that names a file replaces an earlier output of its own, and nothing else.
#[test]
fn an_output_replaces_only_an_earlier_one_of_its_kind() {
    let scratch = Scratch::new("outputs");
    scratch.succeeds(&format!("{QUICK} --pcap --out run"));
    fs::copy(scratch.0.join("run/capture/000.pcapng"), scratch.0.join("mine.pcapng")).unwrap();
    let formats = ["csv", "latex", "markdown", "junit", "prometheus"];
    let mut lines = formats.map(|format| format!("export run --format {format} --out")).to_vec();
    lines.extend(["compare run run --html", "decode mine.pcapng --html"].map(str::to_owned));
    lines.push("profile esp --count 1 --suite aes128gcm16 --html".to_owned());
    for line in &lines {
        let file = scratch.0.join("file");
        fs::write(&file, "precious").unwrap();
        let (code, said) = scratch.says(&format!("{line} file"));
        assert!(code == 2 && said.contains("`file` exists and is not a"), "{line}: {said}");
        assert!(said.contains("name another file"), "{line}: {said}");
        assert_eq!(fs::read(&file).unwrap(), b"precious", "{line}");
        fs::remove_file(&file).unwrap();
        for _ in 0..2 {
            scratch.succeeds(&format!("{line} file"));
        }
        let written = fs::read(&file).unwrap();
        for other in &lines {
            let is_like = |line: &str| line.contains("--html");
            if line != other && !(is_like(line) && is_like(other)) {
                assert_eq!(
                    scratch.says(&format!("{other} file")).0,
                    2,
                    "{other} replaces the output of {line}"
                );
            }
        }
        assert_eq!(fs::read(&file).unwrap(), written, "{line}");
        fs::remove_file(&file).unwrap();
        fs::write(&file, "").unwrap();
        scratch.succeeds(&format!("{line} file"));
    }
    let (code, said) = scratch.says("crypto --calibrate mine.pcapng");
    assert!(code == 2 && said.contains("`mine.pcapng` exists and is not a cost table"), "{said}");
    let (code, said) = scratch.says("decode mine.pcapng --html mine.pcapng");
    assert!(code == 2 && said.contains("`mine.pcapng` exists and is not a page"), "{said}");
    fs::create_dir(scratch.0.join("man")).unwrap();
    fs::write(scratch.0.join("man/keytoll-run.1"), "precious").unwrap();
    let (code, said) = scratch.says("man man");
    assert!(code == 2 && said.contains("exists and is not a manual page of keytoll"), "{said}");
    fs::remove_file(scratch.0.join("man/keytoll-run.1")).unwrap();
    for _ in 0..2 {
        scratch.succeeds("man man");
    }
}

#[test]
fn an_output_replaces_no_file_of_a_run() {
    let scratch = Scratch::new("of-runs");
    scratch.succeeds(&format!("{QUICK} --out run"));
    let before = scratch.tree();
    for file in ["report.html", "summary.json", "samples.csv", "manifest.json", "capture/000.pcapng"] {
        let (code, said) = scratch.says(&format!("compare run run --html run/{file}"));
        let sentence = format!("`run/{file}` is the name of a file of the run in `run`");
        assert!(code == 2 && said.contains(&sentence), "{said}");
    }
    assert_eq!(scratch.tree(), before);
    scratch.succeeds("compare run run --html run/mine.html");
    assert_ne!(scratch.tree(), before);
}

/// Messages about a run without a manifest, or with a damaged one, are true.
#[test]
fn a_run_without_its_manifest_is_called_so() {
    let scratch = Scratch::new("manifest");
    scratch.succeeds(&format!("{QUICK} --out run"));
    let manifest = scratch.0.join("run/manifest.json");
    let text = fs::read(&manifest).unwrap();
    let plain = |said: &str| {
        said.split_whitespace().filter(|word| *word != "│" && *word != "×").collect::<Vec<_>>().join(" ")
    };
    let says = |line: &str, sentence: &str| {
        let (code, said) = scratch.says(line);
        assert!(code == 2 && plain(&said).contains(sentence), "{line}: {said}");
    };
    fs::remove_file(&manifest).unwrap();
    for verb in ["report", "export --format csv", "compare"] {
        says(
            &format!("{verb} run"),
            "`run` has files of a run but no manifest.json, which says what was run",
        );
    }
    says(
        &format!("{QUICK} --out run"),
        "`run` leads to `run.1`, which holds files of a run but no manifest.json",
    );
    fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    says(
        &format!("{QUICK} --out run"),
        "`run` leads to `run.1`, which holds a manifest.json that keytoll cannot read",
    );
    fs::write(&manifest, &text).unwrap();
    scratch.succeeds("report run");
    for (line, sentence) in [
        ("report missing", "there is no run directory `missing`"),
        ("report run/summary.json", "`run/summary.json` is no directory"),
        ("report .", "`.` is no run directory: it has no manifest.json"),
    ] {
        says(line, sentence);
    }
}
