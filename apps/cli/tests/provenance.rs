//! Figures say where they come from: which keytoll, told what, when, on what machine; and go on to say it wherever they are
//! reported again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::schema;

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-provenance-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn keytoll(&self, line: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
        let Output { status, stdout, stderr } =
            command.args(line.split(' ')).current_dir(&self.0).output().unwrap();
        assert!(status.success(), "{line}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    fn json(&self, file: &str) -> Value {
        schema::file(&self.0.join(file))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn profiles_and_primitives_say_where_they_come_from() {
    let scratch = Scratch::new("verbs");
    for (line, name) in [
        ("profile ikev2-psk --count 2 --json", "profile"),
        ("profile esp --suite aes128gcm16 --count 20 --json", "packets"),
        ("crypto sha1 --count 2 --json", "crypto"),
        ("crypto --table rsa-rc4-sha1 --count 1 --json", "table"),
    ] {
        let provenance = schema::read(name, scratch.keytoll(line))["provenance"].clone();
        assert_complete(&provenance, line);
        assert!(provenance["crypto_library"].as_str().unwrap().starts_with("AWS-LC "), "{provenance}");
    }
}

const RUN: &str = "run quickstart --samples 2 --set networks=loopback --set methods=ikev2-psk --out run";

/// The members of a manifest that are its provenance: as many as the object of a summary has.
fn of_manifest(manifest: &Value, summary: &Value) -> Value {
    let names = summary["provenance"].as_object().unwrap().keys();
    names.map(|name| (name.clone(), manifest[name].clone())).collect()
}

fn assert_complete(provenance: &Value, line: &str) {
    let text = |name: &str| provenance[name].as_str().unwrap_or_else(|| panic!("no {name}: {provenance}"));
    assert_eq!((text("keytoll_version"), text("keytoll_build")), (env!("CARGO_PKG_VERSION"), build()));
    let words = provenance["command"].as_array().unwrap().iter().skip(1);
    assert_eq!(words.map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" "), line);
    let (began, ended) = (text("began_at"), text("ended_at"));
    assert!(began <= ended && began.starts_with("20") && ended.ends_with('Z'), "{began} {ended}");
    for load in ["load_at_begin", "load_at_end"] {
        let there = Path::new("/proc/loadavg").exists();
        assert_eq!(provenance[load]["over_1_min"].as_f64().is_some(), there, "{provenance}");
    }
    let machine = &provenance["machine"];
    let governor = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok();
    assert_eq!(machine["governor"].as_str(), governor.as_deref().map(str::trim));
    assert!(
        machine["kernel"].as_str().unwrap().starts_with("Linux ") && machine["core_hz"].as_f64() > Some(1e8)
    );
}

/// The folder in which cargo put the program: that of its profile.
fn build() -> &'static str {
    let folder = Path::new(env!("CARGO_BIN_EXE_keytoll")).parent().and_then(Path::file_name);
    folder.and_then(|name| name.to_str()).unwrap()
}

#[test]
fn a_run_says_where_it_comes_from_with_a_trace_and_without() {
    let scratch = Scratch::new("run");
    for (more, library) in [("", true), (" --no-trace", true), (" --crypto null", false)] {
        let line = format!("{RUN}{more}");
        let screen = scratch.keytoll(&line);
        let (manifest, summary) = (scratch.json("run/manifest.json"), scratch.json("run/summary.json"));
        assert_complete(&summary["provenance"], &line);
        assert_eq!(of_manifest(&manifest, &summary), summary["provenance"]);
        let named = summary["provenance"]["crypto_library"].as_str();
        assert_eq!(named.map(|name| name.starts_with("AWS-LC ")), library.then_some(true));
        assert!(screen.contains(&format!("Measured by keytoll {}", env!("CARGO_PKG_VERSION"))), "{screen}");
        let page = fs::read_to_string(scratch.0.join("run/report.html")).unwrap();
        assert!(page.contains(&format!("{line}</dd>")), "{line}");
    }
}

/// Whoever reports a run measures nothing: what the manifest says stays, and what it does not say nobody makes up.
#[test]
fn a_report_has_the_provenance_of_the_run() {
    let scratch = Scratch::new("report");
    scratch.keytoll(RUN);
    let before = scratch.json("run/summary.json");
    let mut manifest = scratch.json("run/manifest.json");
    manifest["machine"]["cpu"] = "a CPU of long ago".into();
    manifest["began_at"] = "1999-12-31T23:59:59Z".into();
    let old = ["keytoll_commit", "keytoll_build", "crypto_library", "command", "ended_at", "load_at_end"];
    old.into_iter().for_each(|name| {
        manifest.as_object_mut().unwrap().remove(name).unwrap();
    });
    manifest["machine"].as_object_mut().unwrap().remove("governor").unwrap();
    fs::write(scratch.0.join("run/manifest.json"), manifest.to_string()).unwrap();
    let screen = scratch.keytoll("report run");
    assert!(screen.contains("a CPU of long ago") && screen.contains("1999-12-31T23:59:59Z"), "{screen}");
    let after = scratch.json("run/summary.json");
    for name in old {
        assert!(after["provenance"].get(name).is_some_and(Value::is_null), "{name} in {after}");
    }
    assert_eq!(after["provenance"]["load_at_begin"], before["provenance"]["load_at_begin"]);
    assert_eq!(after["rows"], before["rows"]);
    let page = fs::read_to_string(scratch.0.join("run/report.html")).unwrap();
    assert!(page.contains("<dt>command</dt><dd>not noted</dd>"));
}

#[test]
fn the_version_comes_with_its_commit_and_libraries() {
    let scratch = Scratch::new("version");
    let long = scratch.keytoll("--version");
    let lines: Vec<&str> = long.lines().collect();
    let first = format!("keytoll {} (", env!("CARGO_PKG_VERSION"));
    assert!(lines[0].starts_with(&first) && lines[0].ends_with(&format!(", {} build)", build())), "{long}");
    assert!(lines[1].starts_with("AWS-LC "), "{long}");
    assert_eq!(lines.len(), 2 + usize::from(cfg!(feature = "ossl")), "{long}");
    assert_eq!(scratch.keytoll("-V").lines().collect::<Vec<_>>(), lines[..1]);
    scratch.keytoll(RUN);
    let commit = scratch.json("run/manifest.json")["keytoll_commit"].clone();
    let shown = commit.as_str().map_or("built outside its repository", |commit| &commit[..12]);
    assert!(lines[0].contains(shown), "{commit} in {long}");
}
