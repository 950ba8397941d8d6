//! The verbs on real sockets as people use them: programs on loopback, their exit codes and what they tell.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "programs take real time and real sockets"
)]

mod diameter_tls;
mod eap;
mod hip;
mod hip_load;
mod load;
mod load_targets;
mod mistakes;
mod office;
mod readme;
mod revocation;
mod secrecy;
mod support;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use support::{Dir, Node, PSK, device, gateway, keytoll};

use crate::schema;

/// What a program printed.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The first touch of a huge page takes longer than an authentication (proc_pid_status(5)).
#[test]
fn whoever_answers_in_real_time_has_no_huge_pages() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", gw.id())).unwrap();
    assert!(status.contains("THP_enabled:\t0\n"), "{status}");
}

/// Four a second, each of which takes longer than that: the gateway is silent for the first one.
#[test]
fn connections_at_a_rate_count_from_when_they_should_have_begun() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let file = dir.write("ue.toml", &device(&gw, PSK));
    gw.signal("STOP");
    let connecting = std::thread::spawn({
        let file = file.clone();
        move || keytoll(&["connect", &file, "--count", "3", "--rate", "4/s", "--json"])
    });
    std::thread::sleep(Duration::from_millis(1500));
    gw.signal("CONT");
    let connected = connecting.join().unwrap();
    let told = schema::read("connect", &connected.stdout);
    assert_eq!(told["succeeded"], 3, "{told}");
    let of = |number: usize, what: &str| told["attempts"][number][what].as_f64().unwrap();
    assert!(of(0, "late_ms") < 200.0 && of(0, "delay_ms") > 1000.0, "{told}");
    assert!(of(1, "late_ms") > 500.0 && of(1, "delay_ms") > of(1, "late_ms"), "{told}");
    let refused = keytoll(&["connect", &file, "--rate", "4/s"]);
    assert_eq!(refused.status.code(), Some(2), "without --count it has no effect");
    let shown = keytoll(&["connect", &file, "--count", "2", "--rate", "20/s"]);
    assert!(
        text(&shown.stdout).contains("delays count from the intended start; begun "),
        "{}",
        text(&shown.stdout)
    );
}

#[test]
fn a_device_connects_and_says_what_it_took() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let file = dir.write("ue.toml", &device(&gw, PSK));
    let connected = keytoll(&["connect", &file]);
    let told = text(&connected.stdout);
    assert_eq!(connected.status.code(), Some(0), "{told}{}", text(&connected.stderr));
    for words in [
        "gw.test at 127.0.0.1",
        "10.98.3.1",
        "IKE_SA_INIT request 0",
        "IKE_AUTH response 1",
        "ESP packet",
        "first echo reply after",
        "4 messages",
        "0 retransmissions",
    ] {
        assert!(told.contains(words), "no {words:?} in\n{told}");
    }
    assert_eq!(text(&connected.stderr), "", "nothing to warn of");
    let established = gw.expect("established");
    assert_eq!((&established["peer"], &established["address"]), (&"ue@test".into(), &"10.98.3.1".into()));
    gw.expect("closed");
    assert_eq!(gw.stop(), Some(0));
    let last = gw.told.last().unwrap();
    assert_eq!((&last["event"], &last["open"]), (&"stopped".into(), &0.into()));
}

/// The last page has the last connection, too.
#[test]
fn a_device_writes_metrics_of_its_connections() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let (file, page) = (dir.write("ue.toml", &device(&gw, PSK)), dir.path("ue.prom"));
    let arguments = ["--count", "2", "--interval", "10ms", "--prometheus-file", page.to_str().unwrap()];
    let connected = keytoll(&[&["connect", &file][..], &arguments].concat());
    assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stderr));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("\nkeytoll_established_total 2\n"), "{page}");
    let agreed = "keytoll_crypto_operations_total{operation=\"agree\",algorithm=\"x25519\"} 2\n";
    assert!(page.contains(agreed), "{page}");
    let seconds = page.lines().find_map(|line| line.strip_prefix("keytoll_crypto_seconds_total "));
    assert!(seconds.unwrap().parse::<f64>().unwrap() > 1e-5, "{page}");
}

#[test]
fn a_document_for_programs_has_every_attempt() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let file = dir.write("ue.toml", &device(&gw, PSK));
    let connected = keytoll(&["connect", &file, "--json", "--count", "3", "--interval", "10ms"]);
    let document = schema::read("connect", &connected.stdout);
    assert_eq!((&document["format"], &document["succeeded"]), (&1.into(), &3.into()), "{document}");
    let attempts = document["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3);
    for attempt in attempts {
        assert_eq!(attempt["outcome"], "connected");
        assert_eq!(attempt["messages"], 4);
        let ms = |key: &str| attempt[key].as_f64().unwrap();
        assert!(0.0 < ms("delay_ms") && ms("delay_ms") < ms("first_packet_ms"), "{attempt}");
        let steps = attempt["steps"].as_array().unwrap();
        let names: Vec<_> = steps.iter().map(|step| step["message"].as_str().unwrap()).collect();
        let ike = ["IKE_SA_INIT request", "IKE_SA_INIT response", "IKE_AUTH request", "IKE_AUTH response"];
        assert_eq!(names, [&ike[..], &["ESP packet"; 2]].concat());
        let bytes: u64 = steps[..4].iter().map(|step| step["bytes"].as_u64().unwrap()).sum();
        assert_eq!(attempt["bytes"], bytes);
    }
}

#[test]
fn a_gateway_that_is_told_to_stop_closes_its_sas() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let file = dir.write("ue.toml", &device(&gw, PSK));
    let mut ue = Node::start(&dir, &["connect", &file, "--control"]);
    ue.say("echo");
    ue.expect("echo-reply");
    let begun = Instant::now();
    assert_eq!(gw.stop(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(3), "the device answered");
    assert_eq!(ue.expect("closed")["why"], "deleted");
    assert_eq!(gw.told.last().unwrap()["open"], 0);
    assert_eq!(ue.stop(), Some(0));
}

#[test]
fn whoever_waits_for_a_silent_peer_can_be_ended_at_once() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let mut ue = Node::start(&dir, &["connect", &dir.write("ue.toml", &device(&gw, PSK)), "--control"]);
    ue.say("echo");
    ue.expect("echo-reply");
    gw.signal("KILL");
    ue.signal("INT");
    ue.expect("draining");
    let begun = Instant::now();
    ue.signal("INT");
    assert_eq!(ue.ended_within(Duration::from_secs(2)).code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_node_obeys_its_tester() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let mut ue = Node::start(&dir, &["connect", &dir.write("ue.toml", &device(&gw, PSK)), "--control"]);
    ue.say("delete");
    assert_eq!(ue.expect("refused")["why"], "no SA to delete");
    ue.say("dance");
    assert_eq!(ue.expect("refused")["why"], "unknown command `dance`");
    ue.say("echo");
    ue.expect("echo-reply");
    let old = gw.expect("child-up")["inbound_spi"].clone();
    ue.say("rekey-child");
    ue.expect("child-rekeyed");
    assert_eq!(gw.expect("child-rekeyed")["old_spi"], old);
    ue.say("rekey-ike");
    ue.expect("rekeyed");
    ue.say("echo");
    ue.expect("echo-reply");
    ue.say("probe");
    ue.say("quit");
    assert_eq!(ue.ended_within(Duration::from_secs(10)).code(), Some(0));
    assert_eq!(gw.expect("closed")["why"], "deleted");
}

#[test]
fn a_device_that_stays_answers_until_it_is_told_to_go() {
    let dir = Dir::new();
    let mut gw = Node::start(
        &dir,
        &["gateway", &dir.write("gw.toml", &format!("{}liveness = \"200 ms\"\n", gateway()))],
    );
    let file = dir.write("ue.toml", &device(&gw, PSK));
    let ue = std::process::Command::new(support::PROGRAM)
        .args(["connect", &file, "--stay"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    gw.expect("established");
    std::thread::sleep(Duration::from_secs(1));
    let id = ue.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(gw.expect("closed")["why"], "deleted", "it lived until then");
    let output = ue.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("usable after"), "{}", text(&output.stdout));
}

#[test]
fn a_flood_is_a_few_lines_of_the_log() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..2000 {
        socket.send_to(b"no message of IKE", ("127.0.0.1", gw.port(0))).unwrap();
    }
    let connected = keytoll(&["connect", &dir.write("ue.toml", &device(&gw, PSK))]);
    assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stdout));
    assert_eq!(gw.stop(), Some(0));
    let log = gw.log();
    let lines = log.lines().filter(|line| line.contains("malformed header")).count();
    assert_eq!(lines, 2, "one at once, and the number of the others\n{log}");
    assert!(log.contains("discarded more within a minute") && log.contains("more=1999"), "{log}");
}

#[test]
fn what_passes_is_captured_with_its_keys() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let (file, pcap) = (dir.write("ue.toml", &device(&gw, PSK)), dir.path("ue.pcapng"));
    let connected = keytoll(&["connect", &file, "--pcap", pcap.to_str().unwrap()]);
    let said = text(&connected.stderr);
    assert!(said.starts_with("8 datagrams in "), "{said}");
    assert!(std::fs::read(&pcap).unwrap().starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]), "a section header block");
    let table = std::fs::read_to_string(dir.path("ue.keys/ikev2_decryption_table")).unwrap();
    assert_eq!(table.lines().count(), 1, "one IKE SA: {table}");
}
