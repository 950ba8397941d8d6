//! `keytoll load` of HIP against our own gateway: every exchange, what becomes of hosts that are not known, and a target that is
//! not there, or not any more.

use std::collections::BTreeSet;
use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::hip::{asking, gateway, hss, with_keys};
use super::load::{arrivals, count, failures, run};
use super::mistakes::screen;
use super::support::{CARD_K, CARD_OPC, Dir, Node};
use super::text;

/// A load on a gateway at this port; more is of its connection, or behind it.
fn load(port: u16, method: &str, more: &str) -> String {
    format!(
        "role = \"load\"\ntarget = \"127.0.0.1:{port}\"\nwithin = \"2 s\"\nretransmit_first = \"200 ms\"\n[connection]\n\
         method = {method:?}\n{more}\n"
    )
}

/// The same on a gateway that runs, whose HIT is known.
fn load_of(gateway: &Node, method: &str, more: &str) -> String {
    let hit = gateway.told[0]["identity"].as_str().unwrap();
    load(gateway.port(0), method, &format!("peer = {hit:?}\n{more}"))
}

const HOSTS: &str = "[identities]\npattern = \"ue%03d\"\ncount = 40\n";

/// Identities with one subscription that all have in common.
fn subscribers(k: &str) -> String {
    format!("[identities]\npattern = \"001010000000001\"\ncount = 20\nk = {k:?}\nopc = {CARD_OPC:?}\n")
}

/// The HITs that have been established at a gateway, and how many associations were closed there.
fn seen(gateway: &mut Node) -> (BTreeSet<String>, usize) {
    assert_eq!(gateway.stop(), Some(0));
    assert_eq!(gateway.told.last().unwrap()["open"], 0);
    let of = |name: &'static str| gateway.told.iter().filter(move |event| event["event"] == name);
    let hits = of("established").map(|event| event["peer"].as_str().unwrap().to_owned()).collect();
    (hits, of("closed").filter(|event| event["why"] == "deleted").count())
}

#[test]
fn devices_have_host_identities_of_their_own_and_leave() {
    let mut known = Vec::new();
    for (method, seed) in [("hip-bex", "1"), ("hip-dex", "1"), ("hip-bex", "1"), ("hip-bex", "2")] {
        let dir = with_keys();
        let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway(method, ""))]);
        let text = load_of(&gw, method, HOSTS) + &arrivals(40, "storm 40 in 500 ms");
        let (_, document) = run(&dir, &text, &["--workers", "2", "--seed", seed]);
        assert_eq!((count(&document, "established"), count(&document, "failed")), (40, 0), "{document}");
        assert_eq!((count(&document, "present_max"), &document["left_open"]), (40, &0.into()), "{document}");
        let (hits, closed) = seen(&mut gw);
        assert_eq!((hits.len(), closed), (40, 40));
        known.push(hits);
    }
    assert!(known[0].is_disjoint(&known[2]) && known[0].is_disjoint(&known[3]), "a seed makes no keys");
}

#[test]
fn subscriptions_are_proved_by_many_hosts_and_again_and_again() {
    let dir = with_keys();
    let hss = hss(&dir);
    let file = dir.write("gw.toml", &gateway("hip-dex-aka", &asking(&hss)));
    let mut gw = Node::start(&dir, &["gateway", &file]);
    let text = load_of(&gw, "hip-dex-aka", &subscribers(CARD_K)) + &arrivals(20, "storm 20 in 500 ms");
    let (_, document) = run(&dir, &text, &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (20, 0), "{document}");
    dir.write("cards.csv", &format!("imsi,k,opc\n001010000000001,{CARD_K},{CARD_OPC}\n"));
    let more = "[identities]\ncsv = \"cards.csv\"\n";
    let text = load_of(&gw, "hip-dex-aka", more) + &arrivals(6, "constant 3/s") + "stay = \"1 ms\"\n";
    let (_, document) = run(&dir, &text, &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (6, 0), "{document}");
    let (hits, closed) = seen(&mut gw);
    assert_eq!((hits.len(), closed), (21, 26));
}

#[test]
fn a_subscription_that_is_not_believed_is_counted_by_its_reason() {
    let dir = with_keys();
    let hss = hss(&dir);
    let file = dir.write("gw.toml", &gateway("hip-dex-aka", &asking(&hss)));
    let gw = Node::start(&dir, &["gateway", &file]);
    let reason = |identities: &str| {
        let text = load_of(&gw, "hip-dex-aka", identities) + &arrivals(3, "constant 50/s");
        failures(&run(&dir, &text, &[]).1).clone()
    };
    assert_eq!(reason(&subscribers(CARD_OPC)), serde_json::json!({ "AKA failure": 3 }));
    let unknown = subscribers(CARD_K).replace("001010000000001", "001010000000002");
    assert_eq!(reason(&unknown), serde_json::json!({ "AUTHENTICATION_FAILED": 3 }));
}

#[test]
fn a_gateway_knows_the_keys_of_files_and_refuses_others_by_a_reason() {
    let dir = with_keys();
    let file = dir.write("gw.toml", &gateway("hip-bex", "admits = { public_key = \"ue.pub\" }"));
    let gw = Node::start(&dir, &["gateway", &file]);
    dir.write("hosts.csv", "user,key\nknown,ue.key\nunknown,other.key\n");
    let text = load_of(&gw, "hip-bex", "[identities]\ncsv = \"hosts.csv\"\n") + &arrivals(2, "constant 50/s");
    let (_, document) = run(&dir, &text, &[]);
    assert_eq!(count(&document, "established"), 1, "{document}");
    assert_eq!(failures(&document), &serde_json::json!({ "BLOCKED_BY_POLICY": 1 }));
}

#[test]
fn a_silent_target_and_one_where_nobody_listens_are_told_apart() {
    let dir = Dir::new();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let text = load(port, "hip-dex", HOSTS) + &arrivals(4, "constant 4/s");
    let reasons = || failures(&run(&dir, &text, &[]).1).clone();
    assert_eq!(reasons(), serde_json::json!({ "no outcome in time": 4 }));
    drop(silent);
    assert_eq!(reasons(), serde_json::json!({ "port closed (ICMP)": 4 }));
}

/// Those that stand are left open when nobody answers their CLOSE.
#[test]
fn a_target_that_dies_ends_the_run_in_time_and_the_results_are_kept() {
    let dir = with_keys();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway("hip-bex", ""))]);
    let text = load_of(&gw, "hip-bex", HOSTS) + &arrivals(40, "constant 20/s");
    let begun = Instant::now();
    let (output, document) = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&dir, &text, &["--fail-if", "failed > 0"]));
        (0..5).for_each(|_| drop(gw.expect("established")));
        gw.signal("KILL");
        running.join().unwrap()
    });
    // Two seconds of arrivals, two for the last one, five for the farewell.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let established = count(&document, "established");
    assert!((5..40).contains(&established), "{document}");
    assert_eq!(count(&document, "failed"), 40 - established, "{document}");
    assert_eq!((output.status.code(), &document["left_open"]), (Some(1), &established.into()), "{document}");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(dir.path("results/load.json")).unwrap()).unwrap();
    assert_eq!(kept, document);
}

#[test]
fn mistakes_of_loads_of_hip_are_told_with_their_place() {
    let dir = with_keys();
    let good = load(10_500, "hip-bex", HOSTS) + &arrivals(5, "constant 50/s");
    dir.write("some.csv", "user,key\nann,ue.key\nbob,\n");
    dir.write("diet.csv", "user,key\nann,ue-x25519.key\n");
    let load = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        screen(&dir, "load", "load.toml", &good.replacen(from, to, 1), &["--out", "never"])
    };
    let identities = |to: &str| load("pattern = \"ue%03d\"\ncount = 40\n", to);
    let screens = [
        load("method = \"hip-bex\"", "method = \"hip-bux\""),
        load("method = \"hip-bex\"", "method = \"hip-bex\"\nauth = { key = \"ue.key\" }"),
        load("method = \"hip-bex\"", "method = \"hip-bex\"\naka = \"eps\""),
        load("method = \"hip-bex\"", "method = \"hip-dex-aka\""),
        load("method = \"hip-bex\"", "method = \"hip-bex\"\npeer = \"2001:24:18bb:916c:ef66:475:a853:498d\""),
        load("within", "method = \"md5\"\nwithin"),
        load("within", "transport = \"raw\"\nwithin"),
        load("within", "replay_window = 32\nwithin"),
        load("within", "gateway_nat_port = 4500\nwithin"),
        load("within", "card = { realm = \"test\" }\nwithin"),
        identities("pattern = \"ue%03d\"\ncount = 40\npassword = \"a password of the test\"\n"),
        identities("csv = \"some.csv\"\n"),
        identities("csv = \"diet.csv\"\n"),
    ];
    insta::assert_snapshot!(screens.join("\n"));
    let checked = super::keytoll(&["check", &dir.write("good.toml", &good)]);
    assert!(
        text(&checked.stdout).contains("access   hip-bex"),
        "{}{}",
        text(&checked.stdout),
        text(&checked.stderr)
    );
}
