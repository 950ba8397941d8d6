//! Whole rows: what they leave behind, and that it is the same every time.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::atomic::AtomicBool;

use keytoll_lab::{Credentials, Directory, Memory, Row, RunError, Stop, run};
use keytoll_scenario::plan::Plan;
use keytoll_scenario::{Overrides, Source};
use keytoll_trace::{Cost, Fact, Node, Record};

fn plan(name: &str, overrides: &[&str]) -> Plan {
    let source = Source::builtin(name).unwrap();
    source.plan(&Overrides::parse(overrides).unwrap()).unwrap()
}

/// Everything the first row of a plan leaves behind.
fn first_row(plan: &Plan) -> Memory {
    let (mut memory, stop) = (Memory::default(), Stop::new(false));
    let credentials = Credentials::prepare(plan);
    Row::new(plan, &plan.rows[0], &credentials, 3e9).run(&mut memory, &|| {}, &stop);
    memory
}

fn count(memory: &Memory, node: Node, wanted: impl Fn(&Fact) -> bool) -> usize {
    memory.records.iter().filter(|record| record.node == node && wanted(&record.fact)).count()
}

#[test]
fn each_authentication_is_triggered_established_used_and_closed() {
    let memory = first_row(&plan("quickstart", &["samples=4", "crypto=null", "networks=loopback"]));
    let of = |wanted: fn(&Fact) -> bool| count(&memory, Node::Ue, wanted);
    assert_eq!(of(|fact| *fact == Fact::Triggered), 4);
    assert_eq!(of(|fact| *fact == Fact::Usable), 4);
    assert_eq!(of(|fact| *fact == Fact::FirstPacket), 4);
    assert_eq!(of(|fact| matches!(fact, Fact::Closed { why } if why == "lifetime")), 4);
    assert_eq!(count(&memory, Node::Gw, |fact| matches!(fact, Fact::Closed { .. })), 4);
    assert_eq!(of(|fact| matches!(fact, Fact::Discarded { .. } | Fact::Failed { .. })), 0);
}

#[test]
fn the_trigger_comes_every_interval_while_nothing_takes_longer() {
    let memory = first_row(&plan("quickstart", &["samples=3", "crypto=null", "networks=loopback"]));
    let triggered = |record: &&Record| record.fact == Fact::Triggered;
    let times: Vec<u64> = memory.records.iter().filter(triggered).map(|record| record.at_ns).collect();
    assert_eq!(times, [0, 10_000_000_000, 20_000_000_000]);
}

#[test]
fn real_crypto_is_charged_metered_and_booked() {
    let memory = first_row(&plan("quickstart", &["samples=2", "networks=loopback"]));
    assert!(
        count(&memory, Node::Gw, |fact| matches!(fact, Fact::Computed { busy_ns } if *busy_ns > 1000)) >= 4
    );
    let agreements = memory.costs.iter().find_map(|cost| match cost {
        Cost::Operation(operation) if operation.operation == "agree" && operation.node == Node::Ue => {
            Some((operation.count, operation.ns))
        }
        _ => None,
    });
    let samples = memory.costs.iter().filter(|cost| matches!(cost, Cost::Sample(_))).count() as u64 / 2;
    let (count, ns) = agreements.expect("the device agrees on a key");
    assert_eq!(count, samples, "one agreement an authentication");
    assert!(ns > 1000 * count);
}

const BUILTIN: [&str; 6] = ["quickstart", "lossy", "suites", "fragmentation", "eap", "eap-aka-topologies"];

#[test]
fn every_builtin_scenario_runs() {
    // Null crypto would take the wrong keys of `failures` for the right ones.
    for (name, crypto) in
        BUILTIN.map(|name| (name, "crypto=null")).into_iter().chain([("failures", "crypto=real")])
    {
        let plan = plan(name, &["samples=2", crypto]);
        let directory = Scratch::new(name);
        let keepers = Directory::create(&directory.0, &plan).unwrap();
        let ends = run(&plan, 2, &keepers, &|| {}, &AtomicBool::new(false)).unwrap();
        assert!(ends.iter().all(|end| end.is_some_and(|end| end.samples == 2)), "{name}: {ends:?}");
    }
}

/// The promise: two runs with one seed and null crypto leave byte-identical traces, on one thread and on two.
#[test]
fn traces_do_not_depend_on_threads_or_on_when_they_were_made() {
    let plan = plan("lossy", &["samples=20", "crypto=null"]);
    let traces = |threads, name| {
        let directory = Scratch::new(name);
        let keepers = Directory::create(&directory.0, &plan).unwrap();
        run(&plan, threads, &keepers, &|| {}, &AtomicBool::new(false)).unwrap();
        let file = |index| std::fs::read(directory.0.join(format!("trace/{index:03}.trace"))).unwrap();
        (0..plan.rows.len()).map(file).collect::<Vec<_>>()
    };
    let once = traces(1, "once");
    assert!(once.iter().all(|trace| trace.len() > 1000));
    assert!(once == traces(1, "again"), "the same seed, the same bytes");
    assert!(once == traces(2, "threads"), "the same on two threads");
}

#[test]
fn another_seed_leaves_another_trace() {
    let run = |seed| first_row(&plan("lossy", &["samples=3", "crypto=null", seed])).records;
    assert_ne!(run("seed=1"), run("seed=2"));
}

#[test]
fn a_stopped_run_keeps_what_it_measured() {
    let plan = plan("quickstart", &["samples=1000", "crypto=null"]);
    let directory = Scratch::new("stopped");
    let keepers = Directory::create(&directory.0, &plan).unwrap();
    let (stop, seen) = (AtomicBool::new(false), std::sync::atomic::AtomicU32::new(0));
    let progress = || {
        if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 10 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let ends = run(&plan, 1, &keepers, &progress, &stop).unwrap();
    let first = ends[0].unwrap();
    assert!(first.stopped && first.samples == 11, "{first:?}");
    let trace = std::fs::File::open(directory.0.join("trace/000.trace")).unwrap();
    let reader = keytoll_trace::file::Reader::<Record, _>::new(std::io::BufReader::new(trace)).unwrap();
    assert!(reader.map(Result::unwrap).count() > 11 * 8);
}

#[test]
fn a_directory_with_something_else_in_it_is_left_alone() {
    let directory = Scratch::new("occupied");
    std::fs::create_dir_all(&directory.0).unwrap();
    std::fs::write(directory.0.join("thesis.tex"), "years of work").unwrap();
    let error = Directory::create(&directory.0, &plan("quickstart", &[])).unwrap_err();
    assert!(matches!(error, RunError::Occupied(_)), "{error}");
    assert!(directory.0.join("thesis.tex").exists());
}

#[test]
fn an_algorithm_that_is_not_there_is_one_sentence() {
    let plan = plan("quickstart", &["suites=[\"aes128gcm16-prfsha256-x448\"]", "samples=1"]);
    let directory = Scratch::new("x448");
    let keepers = Directory::create(&directory.0, &plan).unwrap();
    let error = run(&plan, 1, &keepers, &|| {}, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.to_string(), "row ikev2-psk asks for x448, which this build cannot compute");
}

/// A directory of this test's own, removed at its end.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-lab-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Messages an authentication takes in IKE and in RADIUS, as sent by both sides.
fn messages(memory: &Memory) -> (usize, usize) {
    let of = |protocol| {
        let sent = memory.records.iter().filter(|record| match &record.fact {
            // 37 is INFORMATIONAL: the deletion at the end is not part of the authentication.
            Fact::Sent(message) => {
                message.protocol == protocol && message.kind != 37 && message.fragment <= 1
            }
            _ => false,
        });
        sent.count()
    };
    (of(keytoll_trace::Protocol::Ike), of(keytoll_trace::Protocol::Radius))
}

/// The arithmetic of reference/protocols.md §2.2, identity not asked over the air: N_IKE = 2 + 2·(2 + R), N_RADIUS =
/// 2·(R + 1), R the round trips of the method.
#[test]
fn every_eap_method_takes_the_messages_it_must() {
    let rounds = [
        ("ikev2-eap-md5", 1),
        ("ikev2-eap-mschapv2", 2),
        ("ikev2-eap-sim", 2),
        ("ikev2-eap-aka", 1),
        ("ikev2-eap-aka-prime", 1),
    ];
    for crypto in ["crypto=null", "crypto=real"] {
        for (method, rounds) in rounds {
            let method = format!("methods={method}");
            let memory = first_row(&plan("quickstart", &["samples=1", crypto, "networks=loopback", &method]));
            let expected = (2 + 2 * (2 + rounds), 2 * (rounds + 1));
            assert_eq!(messages(&memory), expected, "{method} {crypto}");
            assert_eq!(count(&memory, Node::Ue, |fact| *fact == Fact::FirstPacket), 1, "{method} {crypto}");
        }
    }
}

#[test]
fn asking_the_identity_over_the_air_costs_two_messages_more() {
    let overrides = ["samples=1", "crypto=null", "networks=loopback", "methods=ikev2-eap-md5"];
    let without = messages(&first_row(&plan("quickstart", &overrides)));
    let asked = [&overrides[..], &["options.eap_identity=true"]].concat();
    assert_eq!(messages(&first_row(&plan("quickstart", &asked))), (without.0 + 2, without.1));
}

#[test]
fn tunnelled_methods_authenticate_with_real_and_with_null_crypto() {
    for method in ["methods=ikev2-eap-tls", "methods=ikev2-eap-ttls-md5"] {
        let of = |crypto| {
            let memory = first_row(&plan("quickstart", &["samples=2", crypto, "networks=loopback", method]));
            assert_eq!(count(&memory, Node::Ue, |fact| *fact == Fact::FirstPacket), 2, "{method} {crypto}");
            messages(&memory)
        };
        assert_eq!(of("crypto=null"), of("crypto=real"), "null crypto changes no message count");
    }
}

#[test]
fn traces_with_eap_do_not_depend_on_when_they_were_made() {
    let run = || first_row(&plan("eap", &["samples=3", "crypto=null", "methods=ikev2-eap-tls"])).records;
    assert!(run() == run());
}
