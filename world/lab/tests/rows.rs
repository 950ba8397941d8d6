//! Whole rows: what they leave behind, and that it is the same every time.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use keytoll_lab::{
    Credentials, Directory, Keeper, Memory, PlaceError, Program, Row, RunError, Stop, manifest, run,
};
use keytoll_rigs::DIAMETER;
use keytoll_rigs::IKE;
use keytoll_rigs::RADIUS;
use keytoll_scenario::catalogue::Impairments;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::quantity::Probability;
use keytoll_scenario::{Overrides, Source};
use keytoll_sim::Recorder;
use keytoll_trace::{BlockCost, Cost, Fact, Fate, Node, Part, Record};

fn plan(name: &str, overrides: &[&str]) -> Plan {
    let source = Source::builtin(name).unwrap();
    source.plan(&Overrides::parse(overrides).unwrap()).unwrap()
}

/// What the issue of an ISAKMP SA that ends under a quick mode showed: after 31 of 300 the device waited for ever.
#[test]
fn every_authentication_of_ikev1_over_a_lossy_link_ends() {
    for method in ["ikev1-main-psk", "ikev1-aggressive-psk"] {
        let mut plan =
            plan("quickstart", &[&format!("methods={method}"), "samples=300", "crypto=null", "networks=lte"]);
        let network = &mut plan.rows[0].network;
        let tenth = Probability::from_parts_per_billion(100_000_000);
        network.up.impairments = Impairments::NONE.with_loss(tenth);
        network.down.impairments = network.up.impairments.clone();
        let mut memory = Memory::default();
        let mut row = Row::new(&plan, &plan.rows[0], &Credentials::prepare(&plan), 3e9);
        let end = row.run(&mut memory, &|| {}, &Stop::new(false));
        assert!(end.is_whole() && end.samples == 300, "{method}: {end:?}");
        let of = |wanted: fn(&Fact) -> bool| count(&memory, Node::Ue, wanted);
        assert_eq!(of(|fact| *fact == Fact::Triggered), 300, "{method}");
        let ended = |fact: &Fact| matches!(fact, Fact::Usable | Fact::Failed { .. } | Fact::Refused { .. });
        assert_eq!(of(ended), 300, "{method}");
        // The case itself is among them: the lifetime ended while quick mode waited.
        assert!(of(|fact| matches!(fact, Fact::Failed { why } if why == "lifetime")) > 0, "{method}");
    }
}

/// With p = 5 % and r = 25 % losses come in bursts whose mean length is 1 ÷ r, and p ÷ (p + r) of all packets are lost.
#[test]
fn losses_come_in_bursts_as_the_scenario_says() {
    let network =
        "networks=[{ name = \"bursty\", delay = \"1 ms\", loss_up = { p = \"5 %\", r = \"25 %\" } }]";
    let quick = "options.retransmit_first=50 ms";
    let plan = plan("quickstart", &["methods=ikev2-psk", "samples=3000", "crypto=null", network, quick]);
    let memory = first_row(&plan);
    let sent_up = memory.records.iter().filter(|record| record.node == Node::Ue);
    let fates = sent_up.filter_map(|record| match record.fact {
        Fact::Carried { packets: 1, fate, .. } => Some(fate == Fate::Lost),
        _ => None,
    });
    let is_lost: Vec<bool> = fates.collect();
    let lost = is_lost.iter().filter(|lost| **lost).count() as f64;
    let bursts = is_lost.chunk_by(|one, other| one == other).filter(|run| run[0]).count() as f64;
    let share = lost / is_lost.len() as f64;
    assert!(is_lost.len() > 8000 && (share - 0.05 / 0.3).abs() < 0.02, "{share} of {}", is_lost.len());
    assert!((lost / bursts - 4.0).abs() < 0.5, "{lost} in {bursts} bursts");
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

/// The distances between the triggers of a row without losses, in seconds.
fn between_triggers_s(mut plan: Plan) -> Vec<f64> {
    let network = &mut plan.rows[0].network;
    (network.up.impairments, network.down.impairments) = (Impairments::NONE, Impairments::NONE);
    let memory = first_row(&plan);
    let triggered = memory.records.iter().filter(|record| record.fact == Fact::Triggered);
    let times_ns: Vec<u64> = triggered.map(|record| record.at_ns).collect();
    times_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect()
}

/// Paper 000 triggers an authentication every 10 s; the SA lives for 8 s: the DELETE leaves shortly after, and is answered a round
/// trip later. Connections to the AAA server and the HSS are made before the first trigger.
#[test]
fn triggers_are_an_interval_apart() {
    for method in ["ikev1-main-psk", "ikev2-psk", "ikev2-eap-aka", "hip-bex"] {
        for network in ["loopback", "wifi-11g", "lte", "hspa-2010"] {
            let row = [format!("methods={method}"), format!("networks={network}")];
            let plan = plan("quickstart", &[&row[0], &row[1], "samples=4", "crypto=null"]);
            assert_eq!(between_triggers_s(plan), [10.0, 10.0, 10.0], "{method} over {network}");
        }
    }
}

/// The DELETE is answered 11 s after the trigger.
#[test]
fn a_trigger_before_the_end_of_the_previous_authentication_is_skipped() {
    let far = "networks=[{ name = \"far\", delay = \"500 ms\" }]";
    let plan = plan("quickstart", &["methods=ikev2-psk", "samples=3", "crypto=null", far]);
    assert_eq!(between_triggers_s(plan), [20.0, 20.0]);
}

#[test]
fn real_crypto_is_charged_metered_and_booked() {
    let memory = first_row(&plan("quickstart", &["samples=2", "methods=ikev2-psk", "networks=loopback"]));
    assert!(
        count(&memory, Node::Gw, |fact| matches!(fact, Fact::Computed { busy_ns } if *busy_ns > 1000)) >= 4
    );
    let agreements = memory.costs.iter().find_map(|cost| match cost {
        Cost::OperationIn(_, operation) if operation.operation == "agree" && operation.node == Node::Ue => {
            Some((operation.count, operation.ns))
        }
        _ => None,
    });
    let samples = memory.costs.iter().filter(|cost| matches!(cost, Cost::Sample(_))).count() as u64 / 2;
    let (count, ns) = agreements.expect("the device agrees on a key");
    assert_eq!(count, samples, "one agreement an authentication");
    assert!(ns > 1000 * count);
}

/// The sums of operations and the time of an authentication are corrected for preemption together.
#[test]
fn operations_of_authentications_add_up_to_their_crypto_time() {
    let memory =
        first_row(&plan("quickstart", &["samples=12", "methods=ikev2-ecdsa-p256", "networks=loopback"]));
    for node in [Node::Ue, Node::Gw] {
        let of_part = |wanted: Part| -> u64 {
            let ns = memory.costs.iter().filter_map(|cost| match cost {
                Cost::OperationIn(part, of) if of.node == node && *part == wanted => Some(of.ns),
                _ => None,
            });
            ns.sum()
        };
        let crypto_ns: u64 = memory
            .costs
            .iter()
            .filter_map(|cost| match cost {
                Cost::Sample(of) if of.node == node => Some(of.crypto_ns),
                _ => None,
            })
            .sum();
        // Each of some twenty sums, and of twelve authentications, is cut to a nanosecond.
        assert!(of_part(Part::Authentication).abs_diff(crypto_ns) < 100, "{node:?}: {crypto_ns}");
        assert!(of_part(Part::After) > 0, "the SA is deleted");
    }
}

/// Every authentication says when it was measured, in blocks of at least three, and how fast the machine was.
#[test]
fn authentications_with_real_crypto_are_measured_in_blocks() {
    let blocks = |crypto: &str| -> Vec<BlockCost> {
        let crypto = format!("crypto={crypto}");
        let memory =
            first_row(&plan("quickstart", &["samples=9", "methods=ikev2-psk", "networks=loopback", &crypto]));
        let of_block = |cost| if let Cost::Block(block) = cost { Some(block) } else { None };
        memory.costs.into_iter().filter_map(of_block).collect()
    };
    let real = blocks("real");
    let found: Vec<_> = real.iter().map(|it| (it.sample, it.block)).collect();
    assert_eq!(found, (0..9).map(|sample| (sample, sample / 3)).collect::<Vec<_>>());
    assert!(real.iter().all(|it| it.reference_ns > 500), "{real:?}");
    assert_eq!(blocks("null"), []);
}

/// A device of HIP needs a few kilobytes of heap. A table of a meter alone takes nine for each phase of a protocol.
#[test]
fn memory_of_nodes_has_their_stack_and_no_tables_of_meters() {
    let costs = |crypto: &str| {
        let sets = ["samples=1", "methods=hip-dex-aka", "networks=loopback", crypto];
        first_row(&plan("quickstart", &sets)).costs
    };
    let stacks = |costs: &[Cost]| -> BTreeMap<Node, u64> {
        let of_stack = |cost: &Cost| match cost {
            Cost::Stack(stack) => Some((stack.node, stack.peak_bytes)),
            _ => None,
        };
        costs.iter().filter_map(of_stack).collect()
    };
    let real = costs("crypto=real");
    let stack = stacks(&real);
    assert_eq!(stack.keys().copied().collect::<Vec<_>>(), [Node::Ue, Node::Gw, Node::Hss]);
    assert!(stack.values().all(|bytes| (2_048..200_000).contains(bytes)), "{stack:?}");
    assert_eq!(stacks(&costs("crypto=null")), BTreeMap::new());
    let heap = real.iter().find_map(|cost| match cost {
        Cost::Sample(sample) if sample.node == Node::Ue => Some(sample.heap_peak_bytes),
        _ => None,
    });
    assert!(heap.is_some_and(|bytes| (4_000..12_000).contains(&bytes)), "{heap:?}");
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
        let keepers = Directory::create(&directory.0, manifest(&plan, &Program::default()), false).unwrap();
        let ends = run(&plan, 2, &keepers, &|| {}, &AtomicBool::new(false)).unwrap();
        assert!(ends.iter().all(|end| end.is_some_and(|end| end.samples == 2)), "{name}: {ends:?}");
    }
}

/// The promise: two runs with one seed and null crypto leave byte-identical traces, on one thread and on two.
#[test]
fn traces_do_not_depend_on_threads_or_on_when_they_were_made() {
    let plan = plan("lossy", &["samples=20", "crypto=null"]);
    let once = traces(&plan, 1, "once");
    assert!(once.iter().all(|trace| trace.len() > 1000));
    assert!(once == traces(&plan, 1, "again"), "the same seed, the same bytes");
    assert!(once == traces(&plan, 2, "threads"), "the same on two threads");
}

/// The trace of every row, as it lies on disk.
fn traces(plan: &Plan, threads: usize, name: &str) -> Vec<Vec<u8>> {
    let directory = Scratch::new(name);
    let keepers = Directory::create(&directory.0, manifest(plan, &Program::default()), false).unwrap();
    run(plan, threads, &keepers, &|| {}, &AtomicBool::new(false)).unwrap();
    let file = |index| std::fs::read(keepers.path().join(format!("trace/{index:03}.trace"))).unwrap();
    (0..plan.rows.len()).map(file).collect()
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
    let keepers = Directory::create(&directory.0, manifest(&plan, &Program::default()), false).unwrap();
    let (stop, seen) = (AtomicBool::new(false), std::sync::atomic::AtomicU32::new(0));
    let progress = || {
        if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 10 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let ends = run(&plan, 1, &keepers, &progress, &stop).unwrap();
    let first = ends[0].unwrap();
    assert!(first.stopped && first.samples == 11, "{first:?}");
    let trace = std::fs::File::open(keepers.path().join("trace/000.trace")).unwrap();
    let reader = keytoll_trace::file::Reader::<Record, _>::new(std::io::BufReader::new(trace)).unwrap();
    let triggers = reader.map(Result::unwrap).filter(|record| record.fact == Fact::Triggered).count();
    assert_eq!(triggers, 11, "an authentication that never came to its end must not be on record");
}

/// Ctrl-C in the middle of an authentication.
struct StopsAt<'a> {
    memory: Memory,
    trigger: usize,
    stop: &'a Stop,
}

impl Recorder for StopsAt<'_> {
    fn record(&mut self, record: Record) {
        self.trigger -= usize::from(record.fact == Fact::Triggered && self.trigger > 0);
        if self.trigger == 0 {
            self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        self.memory.record(record);
    }
}

impl Keeper for StopsAt<'_> {
    fn cost(&mut self, cost: Cost) {
        self.memory.cost(cost);
    }
}

#[test]
fn an_authentication_that_was_begun_is_brought_to_its_end() {
    let plan = plan("quickstart", &["samples=100", "crypto=null"]);
    let (credentials, stop) = (Credentials::prepare(&plan), Stop::new(false));
    let mut keeper = StopsAt { memory: Memory::default(), trigger: 4, stop: &stop };
    let end = Row::new(&plan, &plan.rows[0], &credentials, 3e9).run(&mut keeper, &|| {}, &stop);
    assert!(end.stopped && end.samples == 4, "{end:?}");
    let of = |wanted: Fact| count(&keeper.memory, Node::Ue, |fact| *fact == wanted);
    assert_eq!((of(Fact::Triggered), of(Fact::Usable), of(Fact::FirstPacket)), (4, 4, 4));
}

#[test]
fn a_directory_with_something_else_in_it_is_left_alone() {
    let directory = Scratch::new("occupied");
    std::fs::create_dir_all(&directory.0).unwrap();
    std::fs::write(directory.0.join("thesis.tex"), "years of work").unwrap();
    let manifest = || manifest(&plan("quickstart", &[]), &Program::default());
    let error = Directory::create(&directory.0, manifest(), true).unwrap_err();
    assert!(matches!(error, RunError::Place(PlaceError::Occupied { .. })), "{error}");
    assert!(directory.0.join("thesis.tex").exists());
}

#[test]
fn an_algorithm_that_is_not_there_is_one_sentence() {
    let plan = plan("quickstart", &["suites=[\"aes128gcm16-prfsha256-x448\"]", "samples=1"]);
    let directory = Scratch::new("x448");
    let keepers = Directory::create(&directory.0, manifest(&plan, &Program::default()), false).unwrap();
    let error = run(&plan, 1, &keepers, &|| {}, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.to_string(), "row ikev2-psk asks for x448, which this build cannot compute");
}

#[test]
fn a_run_that_measured_nothing_leaves_nothing_and_another_what_it_has() {
    let plan = plan("lossy", &["samples=2", "crypto=null"]);
    let directory = Scratch::new("given-up");
    let begin = || Directory::create(&directory.0, manifest(&plan, &Program::default()), false).unwrap();
    let nothing = begin();
    let path = nothing.path().to_owned();
    assert!(path.exists() && nothing.give_up().is_none() && !path.exists());
    let something = begin();
    run(&plan, 1, &something, &|| {}, &AtomicBool::new(false)).unwrap();
    let kept = something.give_up().unwrap();
    assert!(
        kept.join("trace/000.trace").exists()
            && !keytoll_analysis::directory::manifest(&kept).unwrap().complete
    );
}

/// A place of this test's own, removed at its end with what is beside it.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-lab-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path.join("run"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

/// Messages an authentication takes in IKE and in RADIUS, as sent by both sides.
fn messages(memory: &Memory) -> (usize, usize) {
    let of = |protocol| {
        let sent = memory.records.iter().filter(|record| match &record.fact {
            // 37 is INFORMATIONAL: the deletion at the end is not part of the authentication.
            Fact::Sent(message) => {
                message.protocol == protocol
                    && !message.name.as_str().starts_with("INFORMATIONAL")
                    && message.fragment <= 1
            }
            _ => false,
        });
        sent.count()
    };
    (of(IKE), of(RADIUS))
}

/// Diameter messages of each sample.
fn diameter_messages(memory: &Memory) -> Vec<usize> {
    let is_diameter = |fact: &Fact| match fact {
        Fact::Sent(message) => message.protocol == DIAMETER,
        _ => false,
    };
    let samples = memory.records.iter().map(|record| record.sample).max().map_or(0, |last| last + 1);
    let of = |sample| move |record: &&Record| record.sample == sample && is_diameter(&record.fact);
    (0..samples).map(|sample| memory.records.iter().filter(of(sample)).count()).collect()
}

#[test]
fn the_hss_is_asked_once_for_a_batch_and_connected_to_before() {
    for crypto in ["crypto=null", "crypto=real"] {
        let of = |method, batch| {
            let row = ["samples=5", crypto, "networks=loopback", method, batch];
            diameter_messages(&first_row(&plan("quickstart", &row)))
        };
        for method in ["methods=ikev2-eap-aka", "methods=ikev2-eap-aka-prime", "methods=ikev2-eap-sim"] {
            assert_eq!(of(method, "options.vector_batch=1"), [2; 5], "{method}");
            assert_eq!(of(method, "options.vector_batch=3"), [2, 0, 0, 2, 0], "{method} {crypto}");
        }
        assert_eq!(of("methods=ikev2-eap-md5", "options.accounting=false"), [0; 5]);
    }
}

#[test]
fn a_fast_reauthentication_asks_no_hss() {
    for method in ["methods=ikev2-eap-sim", "methods=ikev2-eap-aka", "methods=ikev2-eap-aka-prime"] {
        for crypto in ["crypto=null", "crypto=real"] {
            let row = ["samples=6", crypto, "networks=loopback", method, "options.eap_identity=true"];
            let memory = first_row(&plan("quickstart", &[&row[..], &["options.fast_reauth=2"]].concat()));
            assert_eq!(count(&memory, Node::Ue, |fact| *fact == Fact::FirstPacket), 6, "{method} {crypto}");
            assert_eq!(diameter_messages(&memory), [2, 0, 0, 2, 0, 0], "{method} {crypto}");
        }
    }
}

#[test]
fn a_pseudonym_is_as_good_as_the_permanent_identity() {
    for method in ["methods=ikev2-eap-sim", "methods=ikev2-eap-aka", "methods=ikev2-eap-aka-prime"] {
        let row = ["samples=3", "networks=loopback", method, "options.eap_identity=true"];
        let memory = first_row(&plan("quickstart", &[&row[..], &["options.pseudonyms=true"]].concat()));
        assert_eq!(count(&memory, Node::Ue, |fact| *fact == Fact::FirstPacket), 3, "{method}");
        let radius_bytes = |sample| {
            let of = |record: &Record| match record.fact {
                Fact::Carried { protocol: RADIUS, bytes, .. } => bytes,
                _ => 0,
            };
            memory.records.iter().filter(|record| record.sample == sample).map(of).sum::<u32>()
        };
        // Only the first goes by the permanent identity, which is shorter.
        assert!(radius_bytes(0) < radius_bytes(1), "{method}");
        assert_eq!(radius_bytes(1), radius_bytes(2), "{method}");
    }
}

#[test]
fn two_triplets_take_fewer_bytes_than_three() {
    let of = |triplets| {
        let row = ["samples=1", "crypto=null", "networks=loopback", "methods=ikev2-eap-sim", triplets];
        let memory = first_row(&plan("quickstart", &row));
        let bytes = memory.records.iter().map(|record| match record.fact {
            Fact::Carried { protocol: RADIUS, bytes, .. } => bytes,
            _ => 0,
        });
        bytes.sum::<u32>()
    };
    // One RAND of 16 bytes in the challenge.
    assert_eq!(of("options.triplets=3"), of("options.triplets=2") + 16);
}

#[test]
fn accounting_reports_a_session_twice() {
    let of = |accounting| {
        let row = ["samples=2", "crypto=null", "networks=loopback", "methods=ikev2-eap-md5", accounting];
        messages(&first_row(&plan("quickstart", &row)))
    };
    let ((ike, radius), (_, without)) = (of("options.accounting=true"), of("options.accounting=false"));
    // Start and Stop, each with its answer, of two sessions.
    assert_eq!((ike, radius), (2 * 8, without + 2 * 4));
}

#[test]
fn the_gateway_proves_itself_in_three_ways() {
    let of = |way| {
        let row = ["samples=2", "networks=loopback", "methods=ikev2-eap-aka", way];
        first_row(&plan("quickstart", &row))
    };
    let signatures = |memory: &Memory| {
        let is = |cost: &&Cost| matches!(cost, Cost::OperationIn(_, of) if of.node == Node::Gw && of.operation == "sign");
        memory.costs.iter().filter(is).count()
    };
    let bytes = |memory: &Memory| -> u32 {
        let of = |record: &Record| match record.fact {
            Fact::Carried { protocol: IKE, bytes, .. } => bytes,
            _ => 0,
        };
        memory.records.iter().map(of).sum()
    };
    let certificate = of("options.gateway_auth=\"certificate\"");
    let (psk, eap_only) = (of("options.gateway_auth=\"psk\""), of("options.gateway_auth=\"eap-only\""));
    for memory in [&certificate, &psk, &eap_only] {
        assert_eq!(count(memory, Node::Ue, |fact| *fact == Fact::FirstPacket), 2);
    }
    assert_eq!([&certificate, &psk, &eap_only].map(signatures), [1, 0, 0]);
    assert!(bytes(&eap_only) < bytes(&psk) && bytes(&psk) + 2 * 500 < bytes(&certificate));
}

/// What a node does of an operation in a row with these settings.
fn operations(row: &[&str], node: Node, operation: &str) -> (u64, Vec<String>) {
    let memory = first_row(&plan("quickstart", row));
    assert_eq!(count(&memory, Node::Ue, |fact| *fact == Fact::FirstPacket), 1, "{row:?}");
    let found = memory.costs.iter().filter_map(|cost| match cost {
        Cost::OperationIn(_, of) if of.node == node && of.operation == operation => Some(of),
        _ => None,
    });
    let found: Vec<_> = found.collect();
    let algorithms = found.iter().map(|of| of.algorithm.to_string()).collect();
    (found.iter().map(|of| of.count).sum(), algorithms)
}

#[test]
fn the_gateways_certificate_has_any_key_of_the_catalogue() {
    for (key, signs) in [
        ("rsa2048", "rsa2048"),
        ("rsa4096", "rsa4096"),
        ("ecdsa-p256", "ecdsa-p256"),
        ("ecdsa-p384", "ecdsa-p384"),
        ("ed25519", "ed25519"),
    ] {
        let option = format!("options.certificate=\"{key}\"");
        let row = ["samples=1", "networks=loopback", "methods=ikev2-eap-aka", &option];
        let (count, algorithms) = operations(&row, Node::Gw, "sign");
        assert_eq!(count, 1, "{key}");
        assert!(algorithms[0].contains(signs), "{key}: {algorithms:?}");
    }
}

/// A list of every issuer of the path is checked beside the certificates: one signature for each certificate of a path, and
/// one for the list that speaks of it.
#[test]
fn revocation_lists_cost_a_signature_each() {
    for crypto in ["crypto=real", "crypto=null"] {
        for (method, node) in [
            ("ikev2-ecdsa-p256", Node::Ue),
            ("ikev2-ecdsa-p256", Node::Gw),
            ("ikev2-eap-tls", Node::Aaa),
            ("ikev2-eap-md5", Node::Ue),
        ] {
            let method = format!("methods={method}");
            let row = ["samples=1", "networks=loopback", crypto, &method];
            let of = |crls| operations(&[&row[..], &[crls]].concat(), node, "verify").0;
            let (without, with) = (of("options.crls=false"), of("options.crls=true"));
            assert!(with > without, "{method} {} {crypto}: {without} and {with}", node.name());
        }
    }
}

/// The arithmetic of reference/protocols.md §2.2, identity not asked over the air: N_IKE = 2 + 2·(2 + R), N_RADIUS =
/// 2·(R + 1), R the round trips of the method.
fn check_messages(method: &str, options: &[&str], rounds: usize) {
    let method = format!("methods={method}");
    for crypto in ["crypto=null", "crypto=real"] {
        let row = ["samples=1", crypto, "networks=loopback", &method];
        let memory = first_row(&plan("quickstart", &[&row[..], options].concat()));
        let expected = (2 + 2 * (2 + rounds), 2 * (rounds + 1));
        assert_eq!(messages(&memory), expected, "{method} {options:?} {crypto}");
        assert_eq!(count(&memory, Node::Ue, |fact| *fact == Fact::FirstPacket), 1, "{method} {crypto}");
    }
}

#[test]
fn every_eap_method_takes_the_messages_it_must() {
    check_messages("ikev2-eap-md5", &[], 1);
    check_messages("ikev2-eap-mschapv2", &[], 2);
    check_messages("ikev2-eap-sim", &[], 2);
    check_messages("ikev2-eap-aka", &[], 1);
    check_messages("ikev2-eap-aka-prime", &[], 1);
}

/// §2.2: TLS f_s + f_c + 1, TTLS-MD5 f_s + 3, PEAP f_s + 6, f the fragments of a side's flight with its certificates. TLS
/// 1.3 lets the server begin inside with what it answers the peer's Finished: one round less.
#[test]
fn the_methods_with_tls_take_a_round_a_fragment() {
    // With RSA-2048 a certificate has about 800 bytes, and the anchor's is not sent.
    for (chain, fragments) in [("options.chain=2", 2), ("options.chain=4", 3)] {
        check_messages("ikev2-eap-tls", &[chain, "options.tls=1.2"], 2 * fragments + 1);
        check_messages("ikev2-eap-ttls-md5", &[chain, "options.tls=1.2"], fragments + 3);
        check_messages("ikev2-eap-peap-mschapv2", &[chain, "options.tls=1.2"], fragments + 6);
    }
    let whole = "options.eap_fragment=3500";
    for (method, rounds_tls12, rounds_tls13) in
        [("ikev2-eap-tls", 3, 3), ("ikev2-eap-ttls-md5", 4, 3), ("ikev2-eap-peap-mschapv2", 7, 6)]
    {
        check_messages(method, &[whole, "options.tls=1.2"], rounds_tls12);
        check_messages(method, &[whole, "options.tls=1.3"], rounds_tls13);
    }
}

const WITH_TLS: [&str; 3] =
    ["methods=ikev2-eap-tls", "methods=ikev2-eap-ttls-md5", "methods=ikev2-eap-peap-mschapv2"];

/// A plan of the methods with TLS, with more in it.
fn plan_with_tls(more: &str) -> Plan {
    let methods = "methods = ['ikev2-eap-tls', 'ikev2-eap-ttls-md5', 'ikev2-eap-peap-mschapv2']";
    keytoll_scenario::parse("tls", &format!("{methods}\nnetworks = 'loopback'\n{more}")).unwrap()
}

/// What every row of a plan leaves behind.
fn every_row(plan: &Plan) -> Vec<(String, Memory)> {
    let (credentials, stop) = (Credentials::prepare(plan), Stop::new(false));
    let run = |row: &RowPlan| {
        let mut memory = Memory::default();
        Row::new(plan, row, &credentials, 3e9).run(&mut memory, &|| {}, &stop);
        (format!("{} {}", row.method.name(), row.variant), memory)
    };
    plan.rows.iter().map(run).collect()
}

#[test]
fn every_key_and_chain_of_tls_authenticates() {
    for crypto in ["null", "real"] {
        let plan = plan_with_tls(&format!(
            "samples = 1\ncrypto = '{crypto}'\n[sweep]\ntls_key = ['rsa2048', 'rsa3072', 'ecdsa-p256']\nchain = [[1, 3], [4, 1]]"
        ));
        for (row, memory) in every_row(&plan) {
            assert_eq!(count(&memory, Node::Ue, |fact| *fact == Fact::Usable), 1, "{row} {crypto}");
        }
    }
}

/// Bytes that IKE messages of an authentication put on the wire.
fn bytes_a_sample(memory: &Memory) -> Vec<u64> {
    let triggers = memory.records.iter().filter(|record| record.fact == Fact::Triggered);
    let starts: Vec<u64> = triggers.map(|record| record.at_ns).collect();
    let mut bytes = vec![0; starts.len()];
    for record in &memory.records {
        if let Fact::Sent(message) = &record.fact
            && message.protocol == IKE
        {
            let sample = starts.iter().rposition(|start| *start <= record.at_ns);
            bytes[sample.expect("nothing is sent before the first trigger")] += u64::from(message.bytes);
        }
    }
    bytes
}

#[test]
fn with_resumption_all_but_the_first_authentication_are_short() {
    for crypto in ["null", "real"] {
        let plan = plan_with_tls(&format!(
            "samples = 4\ncrypto = '{crypto}'\n[options]\nchain = 4\n[sweep]\ntls = ['1.2', '1.3']\nresumption = [false, true]"
        ));
        for pair in every_row(&plan).chunks(2) {
            let [(_, full), (row, resumed)] = pair else { panic!("an even number of rows") };
            assert_eq!(count(resumed, Node::Ue, |fact| *fact == Fact::Usable), 4, "{row}");
            let [full, resumed] = [full, resumed].map(bytes_a_sample);
            // A session identifier or a ticket more.
            assert!(resumed[0] >= full[0] && resumed[0] < full[0] + 400, "{row} {resumed:?} {full:?}");
            assert!(resumed[1..].iter().all(|bytes| 4 * bytes < 3 * full[1]), "{row} {resumed:?} {full:?}");
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
    for method in WITH_TLS {
        let of = |crypto| {
            let memory = first_row(&plan("quickstart", &["samples=2", crypto, "networks=loopback", method]));
            assert_eq!(count(&memory, Node::Ue, |fact| *fact == Fact::FirstPacket), 2, "{method} {crypto}");
            messages(&memory)
        };
        assert_eq!(of("crypto=null"), of("crypto=real"), "null crypto changes no message count");
    }
}

#[test]
fn traces_with_tls_do_not_depend_on_threads_or_on_when_they_were_made() {
    let plan = plan_with_tls(
        "samples = 4\ncrypto = 'null'\n[sweep]\ntls = ['1.2', '1.3']\nresumption = [true, false]",
    );
    let once = traces(&plan, 1, "tls-once");
    assert!(once.len() == 12 && once.iter().all(|trace| trace.len() > 1000));
    assert!(once == traces(&plan, 1, "tls-again"), "the same seed, the same bytes");
    assert!(once == traces(&plan, 2, "tls-threads"), "the same on two threads");
}
