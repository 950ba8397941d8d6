//! `keytoll run --world live` as people run it: that it measures what the simulator does, and that nothing of it is left
//! when it is interrupted or killed: no process, no directory, no network namespace.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed; other processes take real time"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;

use crate::schema;

const KEYTOLL: &str = env!("CARGO_BIN_EXE_keytoll");
/// How long anything may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A directory for results that is removed in the end.
struct Out(PathBuf);

impl Out {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("world-live-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(KEYTOLL);
        command.arg("run").args(arguments).arg("--out").arg(self.0.join("run"));
        command
    }

    fn summary(&self) -> Value {
        schema::file(&self.0.join("run/summary.json"))
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < end, "not within {LIMIT:?}: {what}");
        sleep(Duration::from_millis(20));
    }
}

/// Messages per link of every row.
fn messages(out: &Out) -> Vec<(String, Vec<(String, f64)>)> {
    let summary = out.summary();
    let links = |row: &Value| {
        let links = row["links"].as_object().unwrap().iter();
        links.map(|(link, means)| (link.clone(), means["messages"].as_f64().unwrap())).collect()
    };
    let rows = summary["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["method"].as_str().unwrap().to_owned(), links(row))).collect()
}

#[test]
fn live_and_simulated_rows_have_the_same_messages() {
    let methods = "methods=[\"ikev2-psk\", \"ikev2-eap-mschapv2\", \"ikev2-eap-aka\", \"ikev2-eap-tls\"]";
    let of = |world: &str| {
        let out = Out::new(world);
        let arguments = ["quickstart", "--samples", "2", "--world", world, "--set", "networks=loopback"];
        let done = out.run(&arguments).args(["--set", methods]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(out.summary()["rows"].as_array().unwrap().iter().all(|row| row["succeeded"] == 2));
        messages(&out)
    };
    let live = of("live");
    assert_eq!(live, of("sim"));
    let links = live.iter().map(|(_, links)| links.len()).collect::<Vec<_>>();
    assert_eq!(links, [1, 2, 3, 2]);
}

/// A long run, with strongSwan's charon in it where that can be.
fn start(out: &Out) -> Child {
    let scenario = if is_root() && Path::new("/usr/sbin/charon-systemd").exists() {
        ["strongswan-gateway", "--set", "sweep.gw=[\"strongswan\"]"]
    } else {
        ["quickstart", "--world", "live"]
    };
    let mut command = out.run(&scenario);
    command.args(["--samples", "1000000", "--set", "methods=ikev2-psk", "--set", "networks=loopback"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What belongs to a run.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    processes: Vec<u32>,
    directories: usize,
    namespaces: usize,
}

/// What there is of the run with this process id.
fn traces(id: u32) -> Traces {
    let prefix = format!("keytoll-{id}-");
    let count = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).count()
    };
    let (directories, namespaces) = (count(&env::temp_dir()), count(Path::new("/run/netns")));
    Traces { processes: children(id), directories, namespaces }
}

/// The processes that a process started, the dead apart.
fn children(id: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|child| stat(*child).is_some_and(|(parent, state)| parent == id && state != 'Z')).collect()
}

/// A process's parent and state.
fn stat(id: u32) -> Option<(u32, char)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

fn lives(id: u32) -> bool {
    stat(id).is_some_and(|(_, state)| state != 'Z')
}

/// Waits until a run measures; gives what there is of it then.
fn measuring(run: &Child) -> Traces {
    // The reaper, two nodes; a directory; with root namespaces.
    let is_there = |traces: &Traces| traces.processes.len() >= 3 && traces.directories == 1;
    until("a run under way", || is_there(&traces(run.id())));
    // Long enough for some authentications, and for charon to start.
    sleep(Duration::from_secs(3));
    let found = traces(run.id());
    assert!(is_there(&found) && (found.namespaces > 0) == is_root(), "{found:?}");
    found
}

/// That nothing of a run is left.
fn gone(id: u32, before: &Traces) {
    until("no process", || !before.processes.iter().any(|child| lives(*child)));
    let nothing = Traces { processes: Vec::new(), directories: 0, namespaces: 0 };
    until("no directory and no namespace", || traces(id) == nothing);
}

#[test]
fn a_killed_run_leaves_nothing_behind() {
    let out = Out::new("killed");
    let mut run = start(&out);
    let before = measuring(&run);
    run.kill().unwrap();
    run.wait().unwrap();
    gone(run.id(), &before);
}

#[test]
fn an_interrupted_run_keeps_what_it_measured_and_leaves_nothing_else() {
    let out = Out::new("interrupted");
    let run = start(&out);
    let (id, before) = (run.id(), measuring(&run));
    assert!(Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap().success());
    let Output { status, stderr, .. } = run.wait_with_output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.code() == Some(130) && said.contains("interrupted: "), "{status}: {said}");
    gone(id, &before);
    let row = &out.summary()["rows"][0];
    assert!(row["succeeded"].as_u64().unwrap() > 0 && row["n"] == row["succeeded"], "{row}");
}

#[test]
fn without_root_a_daemon_is_refused_with_a_sentence() {
    let out = Out::new("nobody");
    // The program may lie where nobody else may look.
    let program = out.0.join("keytoll");
    fs::copy(KEYTOLL, &program).unwrap();
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    }
    fs::set_permissions(&out.0, fs::Permissions::from_mode(0o777)).unwrap();
    command.arg(&program).args(["run", "strongswan-gateway", "--out"]).arg(out.0.join("run"));
    let done = command.current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let lacking = !Path::new("/usr/sbin/charon-systemd").exists();
    let expected =
        if lacking { "apt-get install charon-systemd" } else { "only root may make network namespaces" };
    assert!(said.contains(expected), "{said}");
    assert_eq!(done.status.code(), Some(3), "{said}");
}
