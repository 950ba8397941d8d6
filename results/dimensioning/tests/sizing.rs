//! Sizings of summaries whose figures are chosen so that the answers can be reckoned by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use keytoll_analysis::summary::{
    Cpu, Delay, FORMAT, LinkMeans, Memory, OperationMean, StepsSummary, SummaryRow,
};
use keytoll_analysis::trace::cost_table::{AuthenticationLoad, AuthenticationPrice, DaemonCosts};
use keytoll_analysis::{Named, Summary};
use keytoll_dimensioning::outcome::{SizedNode, SizedRow, Sizing, Verdict};
use keytoll_dimensioning::{
    Arrivals, Cookies, DaemonAt, Planned, Processor, Question, Run, SizingError, needed, size,
};
use proptest::prelude::*;

/// A machine of 2 GHz.
const CYCLES_PER_NS: f64 = 2.0;

fn named<T: Clone>(values: &[(&str, T)]) -> Named<T> {
    values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn delay(ms: f64) -> Delay {
    Delay { mean: ms, min: ms, p5: ms, p50: ms, p95: ms, p99: ms, max: ms, n: 1000, ..Delay::default() }
}

fn cpu(ns: f64) -> Cpu {
    Cpu {
        ns,
        ns_p5: ns,
        ns_p50: ns,
        ns_p50_ci95_low: None,
        ns_p50_ci95_high: None,
        ns_p95: ns,
        cycles: Some(ns * CYCLES_PER_NS),
        cycles_p50: None,
        crypto_ns: None,
        crypto_ns_p50: None,
        ns_ci95_low: Some(ns),
        ns_ci95_high: Some(ns),
        n: 1000,
        ..Cpu::default()
    }
}

fn steps(per_authentication: f64, busy_ns: f64) -> StepsSummary {
    StepsSummary { per_authentication, busy_ns, busy_ns_stddev: Some(0.0), n: 1000 }
}

/// 20 ms of delay; a gateway that works for so long in two equal steps, with 1000 bytes for an idle session.
fn row(method: &str, gw_ns: f64) -> SummaryRow {
    let means =
        LinkMeans { messages: 4.0, packets: 4.0, bytes: 1000.0, retransmissions: 0.0, lost_packets: 0.0 };
    let agree = OperationMean {
        part: None,
        phase: "first".into(),
        operation: "agree".into(),
        algorithm: "x25519".into(),
        count: 1.0,
        ns: gw_ns / 4.0,
    };
    SummaryRow {
        method: method.to_owned(),
        network: "lan".to_owned(),
        topology: "raw".to_owned(),
        world: "sim".to_owned(),
        crypto: "real".to_owned(),
        n: 1000,
        succeeded: 1000,
        delay_ms: Some(delay(20.0)),
        links: named(&[("ue-gw", means)]),
        cpu: named(&[("ue", cpu(5e6)), ("gw", cpu(gw_ns))]),
        steps: named(&[("ue", steps(3.0, 1e6)), ("gw", steps(2.0, gw_ns / 2.0))]),
        memory_bytes: named(&[(
            "gw",
            Memory { peak: Some(5000), stack_peak: None, idle_sa: Some(1000.0), resident_max: None },
        )]),
        operations: named(&[("gw", vec![agree])]),
        ..SummaryRow::default()
    }
}

fn summary(rows: Vec<SummaryRow>) -> Summary {
    Summary {
        format: FORMAT,
        title: "a run".into(),
        seed: "1".into(),
        complete: true,
        provenance: None,
        rows,
        beside: Vec::new(),
    }
}

/// A thousand authentications a second: 3.6 million devices, one an hour each.
fn question() -> Question {
    Question {
        devices_registered: 4_000_000,
        devices_at_once: 3_600_000,
        reauthenticate_s: 3600.0,
        rekey_s: None,
        arrivals: Arrivals::Poisson,
        p99_s: 0.03,
        cores: BTreeMap::new(),
        stores_s: BTreeMap::new(),
        processor: Processor::AsRun,
        sites: 2,
        devices_moved: 100_000,
        methods: Vec::new(),
    }
}

fn ask(rows: Vec<SummaryRow>, question: &Question) -> Result<Sizing, SizingError> {
    size(&Run { summary: &summary(rows), planned: Planned::default() }, question)
}

fn sized(row: SummaryRow, question: &Question) -> SizedRow {
    ask(vec![row], question).unwrap().rows.remove(0)
}

fn gw(row: &SizedRow) -> &SizedNode {
    row.nodes.get("gw").unwrap()
}

/// A daemon of the gateway on a machine of 2 GHz, with three responses to an authentication by `a`; its CPU time by utilisation.
fn daemon(loads: &[(f64, f64)]) -> DaemonAt {
    let load = |&(utilisation, cpu_us): &(f64, f64)| AuthenticationLoad {
        utilisation,
        rate_per_s: 1e6 * utilisation / cpu_us,
        cpu_us,
        cpu_us_ci95: None,
        kernel_share: 0.3,
        delay_ms_p50: 2.0,
        delay_ms_p99: 3.0,
        n: 100,
        rounds_count: 1,
    };
    let price = AuthenticationPrice {
        method: "a".into(),
        role: "gw".into(),
        protocol: "ike".into(),
        responses_count: 3.0,
        loads: loads.iter().map(load).collect(),
    };
    let costs = DaemonCosts {
        name: "charon".into(),
        version: "6".into(),
        configuration: "log off".into(),
        cores_count: 1,
        authentications: vec![price],
    };
    DaemonAt { node: "gw".into(), costs, core_hz: 2e9, cpu: "a cpu".into() }
}

fn ask_daemon(daemon: DaemonAt, question: &Question) -> Result<Sizing, SizingError> {
    let planned = Planned { daemons: vec![daemon], ..Planned::default() };
    size(&Run { summary: &summary(vec![row("a", 1.6e6), row("b", 1e6)]), planned }, question)
}

/// 2 ms for each of a thousand authentications a second, compared with the 1.6 ms of the run. There are two responses until the session can be used.
#[test]
fn a_daemon_is_sized_beside_the_run() {
    let sizing = ask_daemon(daemon(&[(0.1, 2000.0), (0.9, 2000.0)]), &question()).unwrap();
    let names: Vec<_> = sizing.rows.iter().map(|row| (&*row.method, &*row.variant)).collect();
    assert_eq!(names, [("a", ""), ("a", "gw=charon"), ("b", "")]);
    let node = gw(&sizing.rows[1]);
    assert!((node.busy_cores - 2.0).abs() < 1e-6 && node.cores == 3, "{node:?}");
    assert_eq!((node.work_per_authentication_us.round(), node.steps_per_authentication), (2000.0, 2.0));
    assert!((sizing.rows[1].unloaded_ms.p50 - (20.0 - 1.6 + 2.0 * 2.0 / 3.0)).abs() < 1e-6);
    let [share] = &sizing.daemons[..] else { panic!("{:?}", sizing.daemons) };
    assert!((share.ratio - 1.25).abs() < 1e-6 && share.software == "charon 6", "{share:?}");
    assert!(sizing.replacements.iter().all(|it| it.from == "a" && it.to == "b"), "a daemon is no method");
    let twice = Processor::Clock { name: "1 GHz".into(), hz: 1e9 };
    let slow = ask_daemon(daemon(&[(0.1, 2000.0)]), &Question { processor: twice, ..question() }).unwrap();
    assert!((gw(&slow.rows[1]).busy_cores - 4.0).abs() < 1e-6);
}

#[test]
fn a_busier_daemon_costs_less_of_each_authentication() {
    let sizing = ask_daemon(daemon(&[(0.1, 4000.0), (0.6, 2000.0)]), &question()).unwrap();
    let node = gw(&sizing.rows[1]);
    assert!((1.9..3.0).contains(&node.busy_cores), "{node:?}");
    let cores = f64::from(node.cores);
    let cpu_us = 4000.0 - 2000.0 * ((node.utilisation - 0.1) / 0.5).min(1.0);
    assert!((node.busy_cores / (cpu_us / 1000.0) - 1.0).abs() < 0.02, "{node:?} {cpu_us} {cores}");
}

#[test]
fn a_daemon_without_the_method_is_refused() {
    let of_gw = daemon(&[(0.1, 2000.0)]);
    let error = ask_daemon(DaemonAt { node: "aaa".into(), ..of_gw.clone() }, &question()).unwrap_err();
    assert_eq!(error.to_string(), "charon 6 has costs of no method of the run that is sized at `aaa`");
    let b = Question { methods: vec!["b".into()], ..question() };
    assert!(ask_daemon(of_gw.clone(), &b).unwrap_err().to_string().contains("costs of no method"));
    let rekey = Question { rekey_s: Some(900.0), ..question() };
    let error = ask_daemon(of_gw, &rekey).unwrap_err().to_string();
    assert_eq!(error, "a daemon's table has no price of a change of keys");
}

/// A thousand a second of 1.6 ms are 1.6 busy cores: two, which are 80 % busy.
#[test]
fn load_is_rate_times_work() {
    let row = sized(row("a", 1.6e6), &question());
    let node = gw(&row);
    assert_eq!((node.cores, row.verdict), (2, Verdict::Kept));
    assert!((node.busy_cores - 1.6).abs() < 1e-9 && (node.utilisation - 0.8).abs() < 1e-9);
    assert_eq!((node.work_per_authentication_us, node.steps_per_authentication), (1600.0, 2.0));
    // M/D/2 at 80 % by Crommelin: 0.9033 services of 0.8 ms.
    assert!((node.wait_mean_us.unwrap() / (0.9033 * 800.0) - 1.0).abs() < 0.01, "{node:?}");
    assert_eq!(node.memory_bytes, Some(5000.0 + 3.6e9));
    assert!((row.keeps_up_ratio - 1.25).abs() < 1e-9, "{}", row.keeps_up_ratio);
    let head_room = row.head_room_ratio.unwrap();
    assert!(head_room > 1.0 && head_room < 1.25, "{head_room}");
    assert!(row.delay_ms.unwrap().p99 < 30.0 && row.delay_ms.unwrap().p50 > 20.0);
    assert_eq!((row.unloaded_ms.p50, row.back_end_ms, row.storm), (20.0, None, None));
}

#[test]
fn a_tighter_delay_takes_more_cores_and_a_looser_one_no_fewer_than_are_calm() {
    let of = |p99_s| gw(&sized(row("a", 1.6e6), &Question { p99_s, ..question() })).cores;
    assert_eq!((of(0.03), of(1.0)), (2, 2));
    assert!(of(0.022) > 2, "{}", of(0.022));
    assert_eq!(
        sized(row("a", 1.6e6), &Question { p99_s: 0.02, ..question() }).verdict,
        Verdict::SlowWithoutLoad
    );
}

/// Whoever asks for cores alone is told the same.
#[test]
fn cores_alone_are_those_of_a_sizing() {
    for devices in [10_000, 1_000_000, 100_000_000] {
        let question = Question { devices_registered: devices, devices_at_once: devices, ..question() };
        let rows = vec![row("ikev2-psk", 1e6), row("ikev2-rsa2048", 9e6)];
        let summary = summary(rows.clone());
        let run = Run { summary: &summary, planned: Planned::default() };
        let (whole, alone) = (ask(rows, &question).unwrap(), needed(&run, &question).unwrap());
        assert_eq!(whole.rows.len(), alone.len());
        for (whole, alone) in whole.rows.iter().zip(&alone) {
            assert_eq!(
                (&whole.method, whole.verdict, &whole.nodes),
                (&alone.method, alone.verdict, &alone.nodes)
            );
        }
    }
}

#[test]
fn given_cores_are_judged() {
    let given = |cores| Question { cores: BTreeMap::from([("gw".to_owned(), cores)]), ..question() };
    let slow = sized(row("a", 1.6e6), &Question { p99_s: 0.022, ..given(2) });
    assert_eq!((slow.verdict, gw(&slow).cores), (Verdict::TooSlow, 2));
    assert!(gw(&slow).needed_cores.unwrap() > 2 && slow.head_room_ratio.is_none());
    let error = ask(vec![row("a", 1.6e6)], &given(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`gw` with 1 core cannot keep up: 1000.0 authentications a second with `a` keep 1.60 cores busy"
    );
    assert!(error.hint().starts_with("with 2 cores it is busy"), "{}", error.hint());
    // One method of two keeps up: the other is told as it is.
    let both = ask(vec![row("a", 1.6e6), row("b", 1e5)], &given(1)).unwrap();
    assert_eq!((both.rows[0].verdict, both.rows[1].verdict), (Verdict::TooFewCores, Verdict::Kept));
    assert!(both.rows[0].delay_ms.is_none() && gw(&both.rows[0]).needed_cores == Some(2));
}

#[test]
fn another_processor_changes_work_and_delay() {
    let slower = Processor::Clock { name: "1GHz".to_owned(), hz: 1e9 };
    let row_at_1_ghz = sized(row("a", 4e5), &Question { processor: slower, ..question() });
    let node = gw(&row_at_1_ghz);
    assert!((node.work_per_authentication_us - 800.0).abs() < 1e-9 && node.clock_hz == Some(1e9));
    // 0.4 ms more at the gateway; the device keeps its own.
    assert!((row_at_1_ghz.unloaded_ms.p50 - 20.4).abs() < 1e-9, "{:?}", row_at_1_ghz.unloaded_ms);
    // Steps and delay of a run that was charged for 500 MHz were four times as long as the machine's.
    let mut charged = row("a", 4e5);
    charged.steps = named(&[("gw", steps(2.0, 8e5))]);
    let summary = summary(vec![charged]);
    let run = Run {
        summary: &summary,
        planned: Planned { clocks_hz: BTreeMap::from([("gw".to_owned(), 5e8)]), ..Planned::default() },
    };
    let of = |processor| size(&run, &Question { processor, ..question() }).unwrap().rows.remove(0);
    let (as_run, host) = (of(Processor::AsRun), of(Processor::Host));
    assert_eq!(
        (gw(&as_run).work_per_authentication_us, gw(&host).work_per_authentication_us),
        (1600.0, 400.0)
    );
    assert_eq!((as_run.unloaded_ms.p50, host.unloaded_ms.p50), (20.0, 20.0 - 1.2));
    assert_eq!((gw(&as_run).clock_hz, gw(&host).clock_hz), (Some(5e8), Some(2e9)));
}

#[test]
fn a_store_keeps_a_core_waiting() {
    let mut with_aaa = row("a", 1e5);
    with_aaa.cpu = named(&[("gw", cpu(1e5)), ("aaa", cpu(1e5))]);
    with_aaa.steps = named(&[("gw", steps(2.0, 5e4)), ("aaa", steps(4.0, 2.5e4))]);
    let bare = sized(with_aaa.clone(), &question());
    let stores_s = BTreeMap::from([("aaa".to_owned(), 0.002)]);
    let stored = sized(with_aaa, &Question { stores_s: stores_s.clone(), ..question() });
    let busy = |row: &SizedRow| row.nodes.get("aaa").unwrap().busy_cores;
    assert!((busy(&bare) - 0.1).abs() < 1e-9 && (busy(&stored) - 2.1).abs() < 1e-9);
    assert!((stored.unloaded_ms.p50 - 22.0).abs() < 1e-9 && stored.back_end_ms.unwrap() > 2.1, "{stored:?}");
    // Steps of 25 µs, of which one takes 2025 µs: E S² ÷ (E S)² - 1.
    let (mean, square) = (525.0_f64, (3.0 * 25.0_f64.powi(2) + 2025.0_f64.powi(2)) / 4.0);
    let variation = stored.nodes.get("aaa").unwrap().squared_variation_ratio;
    assert!((variation - (square / mean.powi(2) - 1.0)).abs() < 1e-9, "{variation}");
    let error = ask(vec![row("a", 1e5)], &Question { stores_s, ..question() }).unwrap_err();
    assert_eq!(error.to_string(), "no method of the run that is sized uses the node `aaa`");
}

#[test]
fn a_storm_leaves_a_queue_that_drains() {
    // 10 000 in 10 s of 1 ms, and 1000 a second at any time: two busy cores, of which one is the storm's.
    let storm = Arrivals::Storm { devices: 10_000, within_s: 10.0 };
    let question = Question { arrivals: storm, p99_s: 100.0, ..question() };
    let of = |cores: Option<u32>| {
        let cores = cores.map(|cores| ("gw".to_owned(), cores)).into_iter().collect();
        sized(row("a", 5e5), &Question { cores, ..question.clone() })
    };
    let one = of(Some(1));
    assert!((gw(&one).busy_cores - 1.0).abs() < 1e-9);
    assert_eq!(one.storm.as_ref().unwrap().wait_max_s, 0.0);
    let heavy =
        sized(row("a", 8e5), &Question { cores: BTreeMap::from([("gw".to_owned(), 1)]), ..question.clone() });
    let storm = heavy.storm.unwrap();
    // 1.6 busy cores for 10 s leave 6 s of work, which drains at a fifth of a core.
    assert!(
        (storm.wait_max_s - 6.0).abs() < 1e-9 && (storm.last_in_after_s.unwrap() - 40.0).abs() < 1e-6,
        "{storm:?}"
    );
    assert!((heavy.delay_ms.unwrap().p99 / 1e3 - 6.0).abs() < 0.1 && !heavy.notes.is_empty());
    // With less patience as many cores as leave no such queue.
    let quick = sized(row("a", 8e5), &Question { p99_s: 0.1, ..question });
    assert!(gw(&quick).cores == 2 && quick.verdict == Verdict::Kept, "{quick:?}");
}

#[test]
fn what_if() {
    let question = Question { sites: 3, p99_s: 1.0, ..question() };
    let both = ask(vec![row("dear", 8e6), row("cheap", 2e6)], &question).unwrap();
    let dear = &both.rows[0];
    // Two of three sites carry half of the load each: 4 busy cores.
    assert_eq!((dear.site_lost.sites_count, dear.site_lost.cores_per_site.get("gw")), (3, Some(&5)));
    assert_eq!((gw(dear).cores, dear.outage.bottleneck.as_str()), (10, "gw"));
    assert!((dear.outage.last_in_after_s.unwrap() - 3.6e6 * 8e-3 / 10.0).abs() < 1e-6);
    let [replacement] = &both.replacements[..] else { panic!("one") };
    // 27.8 a second of 6 ms.
    assert_eq!((replacement.from.as_str(), replacement.to.as_str()), ("dear", "cheap"));
    assert!((replacement.saved_busy_cores.get("gw").unwrap() - 1e5 / 3600.0 * 6e-3).abs() < 1e-9);
    assert_eq!(replacement.saved_bytes.get("gw"), Some(&0.0));
}

/// 3.6 million devices of 2 ms each at two cores take an hour: they send again, and give up before.
#[test]
fn an_outage_that_outlasts_patience_is_told() {
    let given =
        |cores| Question { cores: BTreeMap::from([("gw".to_owned(), cores)]), p99_s: 1.0, ..question() };
    let long = sized(row("a", 2e5), &given(2)).outage;
    assert!(
        (long.last_in_after_s.unwrap() - 360.0).abs() < 1e-6 && long.gives_up_after_s == Some(165.0),
        "{long:?}"
    );
    assert_eq!(
        long.notes[0],
        "waits of 360.0 s make devices send again, which adds load that no formula here counts: `--simulate` does"
    );
    assert!(
        long.notes[1].starts_with("devices give up after 165 s") && long.notes[1].contains("half_open_max")
    );
    let short = sized(row("a", 2e5), &given(10)).outage;
    assert!(short.gives_up_after_s.is_none() && short.notes.len() == 1, "{short:?}");
    let few = Question { devices_registered: 1000, devices_at_once: 1000, devices_moved: 1, ..given(1) };
    assert_eq!(sized(row("a", 2e5), &few).outage.notes, [""; 0]);
    let storm = Arrivals::Storm { devices: 1_000_000, within_s: 1.0 };
    let storm = sized(row("a", 8e5), &Question { arrivals: storm, p99_s: 1e4, ..given(1) }).storm.unwrap();
    assert!(storm.gives_up_after_s == Some(165.0) && storm.notes.len() == 1, "{storm:?}");
}

#[test]
fn few_samples_have_no_99th_percentile() {
    let of = |n: u64, ms: f64| {
        let delay_ms = Some(Delay { n, ..delay(ms) });
        sized(SummaryRow { n, succeeded: n, delay_ms, ..row("a", 1e5) }, &question())
    };
    let few = of(8, 20.0);
    assert!(few.verdict == Verdict::Kept && !few.is_certain, "{few:?}");
    assert!(few.notes[0].starts_with("a 99th percentile cannot be said from 8 samples"), "{:?}", few.notes);
    assert!(of(299, 20.0).is_certain && of(299, 20.0).notes.is_empty());
    // Half of them are too slow: that is no matter of the slowest.
    let slow = of(8, 40.0);
    assert!(slow.verdict == Verdict::SlowWithoutLoad && slow.is_certain, "{slow:?}");
}

#[test]
fn waiting_for_lost_packets_is_told_from_queueing() {
    let lossy = |lost_packets: f64, p99: f64| {
        let means = LinkMeans {
            messages: 4.0,
            packets: 4.0,
            bytes: 1000.0,
            retransmissions: lost_packets,
            lost_packets,
        };
        let delay_ms = Some(Delay { p99, max: p99, ..delay(20.0) });
        sized(SummaryRow { delay_ms, links: named(&[("ue-gw", means)]), ..row("a", 1e5) }, &question())
    };
    let told = lossy(0.04, 4020.0);
    assert!(told.verdict == Verdict::SlowWithoutLoad, "{told:?}");
    assert!(
        told.notes[0].starts_with("lost packets, 0.04 in an authentication")
            && told.notes[0].contains("more cores do not help"),
        "{:?}",
        told.notes
    );
    assert!(lossy(0.0, 4020.0).notes.is_empty() && lossy(0.04, 25.0).notes.is_empty());
}

/// A search among such numbers takes a thousand doublings, or never ends.
#[test]
fn numbers_that_nobody_measured_are_refused() {
    let with = |change: &dyn Fn(&mut SummaryRow)| {
        let mut row = row("a", 1e5);
        change(&mut row);
        ask(vec![row], &question()).unwrap_err().to_string()
    };
    let max = with(&|row| row.delay_ms.as_mut().unwrap().max = 1e308);
    assert_eq!(max, "the summary of the run has a `delay_ms.max` of `a` that nobody measured: 1e308");
    assert!(with(&|row| row.delay_ms.as_mut().unwrap().p99 = f64::INFINITY).contains("delay_ms.p99"));
    assert!(with(&|row| row.delay_ms.as_mut().unwrap().min = -1.0).contains("delay_ms.min"));
    assert!(with(&|row| row.cpu = named(&[("gw", cpu(1e300))])).contains("cpu.gw.ns"));
    assert!(
        with(&|row| row.steps = named(&[("gw", steps(1e300, 1.0))])).contains("steps.gw.per_authentication")
    );
    let week = |ms: f64| ask(vec![SummaryRow { delay_ms: Some(delay(ms)), ..row("a", 1e5) }], &question());
    assert!(week(6e8).is_ok() && week(6.1e8).is_err());
}

#[test]
fn more_cores_than_a_node_can_have_are_no_advice() {
    let often = Question { reauthenticate_s: 1e-9, ..question() };
    let hint = ask(vec![row("a", 1.6e6)], &often).unwrap_err().hint().to_owned();
    assert!(
        hint.starts_with("it would take 72") && hint.contains("cores, and a node has at most 1000000"),
        "{hint}"
    );
}

#[test]
fn changes_of_keys_are_load() {
    let question = Question { rekey_s: Some(900.0), ..question() };
    let row = sized(row("a", 8e5), &question);
    // Three in an hour, each a quarter of the work.
    assert!((gw(&row).busy_cores - (0.8 + 3000.0 * 2e-4)).abs() < 1e-9, "{row:?}");
    let mut silent = self::row("a", 8e5);
    silent.operations = Named::default();
    let error = ask(vec![silent], &question).unwrap_err();
    assert_eq!(error.to_string(), "the run of `a` does not say what an agreement on keys costs `gw`");
}

#[test]
fn what_was_not_measured_is_told() {
    let refused = |row: SummaryRow, question: &Question| ask(vec![row], question).unwrap_err().to_string();
    let null = SummaryRow { crypto: "null".into(), ..row("a", 1e5) };
    assert!(refused(null, &question()).starts_with("the run was made without cryptography"));
    let captured = SummaryRow { crypto: "captured".into(), ..row("a", 1e5) };
    assert_eq!(refused(captured, &question()), "a capture has no CPU times");
    let failed = SummaryRow { delay_ms: None, ..row("a", 1e5) };
    assert!(refused(failed.clone(), &question()).starts_with("no row of the run has"));
    let only = Question { methods: vec!["b".into()], ..question() };
    assert_eq!(refused(row("a", 1e5), &only), "the run has no row of `b`");
    let left = ask(vec![row("a", 1e5), SummaryRow { method: "b".into(), ..failed }], &question()).unwrap();
    assert_eq!(left.left_out, ["b over lan, raw: nobody was authenticated"]);
    let clockless = SummaryRow { cpu: named(&[("gw", Cpu { cycles: None, ..cpu(1e5) })]), ..row("a", 1e5) };
    let clock = Processor::Clock { name: "1GHz".to_owned(), hz: 1e9 };
    assert!(refused(clockless, &Question { processor: clock, ..question() }).contains("at what frequency"));
    let stepless = SummaryRow { steps: Named::default(), ..row("a", 1e6) };
    let guessed = sized(stepless, &question());
    assert!(
        guessed.notes[0].contains("steps of gw were not measured")
            && gw(&guessed).steps_per_authentication == 1.0
    );
}

#[test]
fn many_steps_at_a_busy_node_are_not_independent() {
    let with_steps =
        |count: f64| SummaryRow { steps: named(&[("gw", steps(count, 1.6e6 / count))]), ..row("a", 1.6e6) };
    let notes = |count| sized(with_steps(count), &question()).notes;
    assert!(notes(2.0).is_empty(), "{:?}", notes(2.0));
    assert!(notes(6.0)[0].contains("real waits are longer than computed"), "{:?}", notes(6.0));
}

proptest! {
    /// More devices need more cores, never fewer, and what is found keeps the delay.
    #[test]
    fn cores_follow_the_load(gw_us in 10.0..5000.0_f64, devices in 10_000..20_000_000_u64, p99_ms in 20.5..500.0_f64) {
        let of = |devices: u64| {
            let question = Question { devices_registered: devices, devices_at_once: devices, p99_s: p99_ms / 1e3, ..question() };
            sized(row("a", gw_us * 1e3), &Question { devices_moved: 1, ..question })
        };
        let (few, many) = (of(devices), of(devices * 2));
        prop_assert!(gw(&few).cores <= gw(&many).cores);
        for row in [few, many] {
            prop_assert!(row.verdict == Verdict::Kept && gw(&row).utilisation <= 0.8 + 1e-9, "{row:?}");
            prop_assert!(row.delay_ms.unwrap().p99 <= p99_ms * (1.0 + 1e-6) && row.head_room_ratio.unwrap() >= 1.0);
        }
    }
}

const COOKIES: Cookies = Cookies {
    half_open: 125,
    half_open_max: 1000,
    round_trip_s: 0.1,
    jitter_s: 0.0,
    lost_share: 0.0,
    retransmit_after_s: 4.0,
    retransmit_base: 1.8,
    retransmissions_max: 5,
};

/// 1000 a second are half open for 400 of 500 ms: three times as many as the gateway takes without cookies.
#[test]
fn cookies_are_a_round_trip_more_from_their_rate_on() {
    let cookies = COOKIES;
    let of = |cookies: Cookies, per_s: f64, p99_s: f64| {
        let slow = SummaryRow { delay_ms: Some(delay(500.0)), ..row("a", 1e5) };
        let name = ["a", "", "lan", "raw"].map(str::to_owned);
        let planned = Planned { cookies: BTreeMap::from([(name, cookies)]), ..Planned::default() };
        let summary = summary(vec![slow]);
        let question = Question { reauthenticate_s: 3.6e6 / per_s, p99_s, ..question() };
        size(&Run { summary: &summary, planned }, &question).unwrap().rows.remove(0)
    };
    let busy = of(cookies, 1000.0, 1.0);
    let load = busy.cookies.unwrap();
    assert!((load.half_open_mean - 400.0).abs() < 1.0 && load.asked_share > 0.999, "{load:?}");
    let p50 = |row: &SizedRow| row.delay_ms.unwrap().p50;
    assert!((p50(&busy) - 600.0).abs() < 1.0 && busy.verdict == Verdict::Kept, "{busy:?}");
    assert!(busy.notes[0].starts_with("the gateway asks 100 % of devices for a cookie"), "{:?}", busy.notes);
    // Half of the load would do without cookies: their delay is not kept at the whole.
    let slow = of(cookies, 1000.0, 0.55);
    assert!(slow.verdict == Verdict::SlowWithCookies && slow.is_certain, "{slow:?}");
    let quiet = of(cookies, 100.0, 1.0);
    assert!((p50(&quiet) - 500.0).abs() < 1.0 && quiet.notes.is_empty(), "{quiet:?}");
    assert!(quiet.cookies.unwrap().asked_share < 1e-9);
    // A gateway that keeps fewer than there are refuses some.
    let is_full = |row: &SizedRow| row.notes.iter().any(|note| note.contains("`half_open_max`): it drops"));
    let full = of(Cookies { half_open_max: 410, ..cookies }, 1000.0, 1.0);
    assert!(is_full(&full) && !is_full(&busy) && full.notes.iter().any(|note| note.contains("keeps 410")));
    // Measured with cookies: their round trip is in the delay.
    let always = of(Cookies { half_open: 0, ..cookies }, 1000.0, 1.0);
    assert!((p50(&always) - 500.0).abs() < 1.0 && always.notes.is_empty(), "{always:?}");
    // The load at which the delay is just kept is that at which one in a hundred needs a cookie.
    let head_room = of(cookies, 100.0, 0.55).head_room_ratio.unwrap();
    assert!((2.4..2.6).contains(&head_room), "{head_room}");
}

/// Delays that vary, with a quantile above the limit's share for every wait.
fn spread() -> SummaryRow {
    let delay_ms = Delay {
        min: 3000.0,
        p5: 3100.0,
        p50: 3500.0,
        p95: 4000.0,
        p99: 4900.0,
        max: 5500.0,
        ..delay(3500.0)
    };
    SummaryRow { delay_ms: Some(delay_ms), ..row("a", 1e5) }
}

/// With far more cores than are needed a wait is shorter than the last digit of the delay, and the search for its quantile has an end.
#[test]
fn waits_shorter_than_the_last_digit_of_a_delay_do_not_keep_the_search_going() {
    for cores in [4, 8, 16, 64] {
        let cores = BTreeMap::from([("gw".to_owned(), cores)]);
        let row = sized(spread(), &Question { cores, reauthenticate_s: 3.6e4, p99_s: 9.0, ..question() });
        assert_eq!(row.verdict, Verdict::Kept);
        assert!((row.delay_ms.unwrap().p99 - 4900.0).abs() < 1.0, "{row:?}");
    }
}

/// One in a hundred waits for a lost packet: any wait for a core would be one too many, and no number of cores changes that.
#[test]
fn cores_do_not_replace_lost_packets() {
    let waited = Delay { n: 10, min: 4000.0, ..delay(4000.0) };
    let delay_ms = Delay { max: 4020.0, ..delay(20.0) };
    let lossy = SummaryRow { delay_ms: Some(delay_ms), waited_for_lost_ms: Some(waited), ..row("a", 1e5) };
    let told = sized(lossy, &question());
    assert_eq!((told.verdict, gw(&told).cores), (Verdict::SlowWithoutLoad, 1));
    let fewer = Delay { n: 9, min: 4000.0, ..delay(4000.0) };
    let lossy = SummaryRow { delay_ms: Some(delay_ms), waited_for_lost_ms: Some(fewer), ..row("a", 1e5) };
    assert_eq!(sized(lossy, &question()).verdict, Verdict::Kept);
}

/// The samples leave open whether it is fast without load, but not whether a queue of 16 s is.
#[test]
fn a_queue_that_grows_is_decided() {
    let waited = Delay { n: 10, min: 4000.0, ..delay(4000.0) };
    let delay_ms = Some(Delay { max: 4020.0, ..delay(20.0) });
    let lossy = || SummaryRow { delay_ms, waited_for_lost_ms: Some(waited), ..row("a", 1.6e6) };
    let (storm, cores) =
        (Arrivals::Storm { devices: 10_000, within_s: 1.0 }, BTreeMap::from([("gw".to_owned(), 1)]));
    let calm = Question { reauthenticate_s: 3.6e7, ..question() };
    let swamped = sized(lossy(), &Question { arrivals: storm, cores, ..calm.clone() });
    assert_eq!((swamped.verdict, swamped.is_certain), (Verdict::TooSlow, true));
    assert!(gw(&swamped).needed_cores.is_some_and(|needed| needed > 1), "{swamped:?}");
    let alone = sized(lossy(), &calm);
    assert_eq!((alone.verdict, alone.is_certain), (Verdict::SlowWithoutLoad, false));
}

/// A failed authentication is not fast.
#[test]
fn a_failure_is_too_slow() {
    let of = |succeeded: u64| {
        let delay_ms = Delay { n: succeeded, ..delay(20.0) };
        sized(SummaryRow { succeeded, delay_ms: Some(delay_ms), ..row("a", 1e5) }, &question())
    };
    let some = of(980);
    assert_eq!((some.verdict, some.delays_count), (Verdict::SlowWithoutLoad, 980));
    assert!(some.notes[0].starts_with("20 of 1000 authentications of the run failed"), "{:?}", some.notes);
    assert_eq!(of(995).verdict, Verdict::Kept, "fewer than one in a hundred");
}

/// One core that is too few is not made good by cores of others.
#[test]
fn other_nodes_get_no_cores_for_one_that_is_too_slow() {
    let mut two = row("a", 1.5e6);
    two.cpu = named(&[("gw", cpu(1.5e6)), ("aaa", cpu(1e5))]);
    two.steps = named(&[("gw", steps(2.0, 7.5e5)), ("aaa", steps(1.0, 1e5))]);
    let cores = BTreeMap::from([("gw".to_owned(), 1)]);
    let told = sized(two, &Question { cores, reauthenticate_s: 6000.0, p99_s: 0.022, ..question() });
    let aaa = told.nodes.get("aaa").unwrap();
    assert_eq!((told.verdict, aaa.cores), (Verdict::TooSlow, 1));
    assert!(gw(&told).needed_cores.is_some_and(|cores| cores > 1), "{told:?}");
}

/// So many are never half open at a time.
#[test]
fn a_storm_has_no_more_half_open_sas_than_devices() {
    let of = |devices: u64, within_s: f64| {
        let slow = SummaryRow { delay_ms: Some(delay(500.0)), ..row("a", 1e5) };
        let name = ["a", "", "lan", "raw"].map(str::to_owned);
        let planned = Planned { cookies: BTreeMap::from([(name, COOKIES)]), ..Planned::default() };
        let arrivals = Arrivals::Storm { devices, within_s };
        let question = Question { arrivals, reauthenticate_s: 3.6e9, p99_s: 1.0, ..question() };
        size(&Run { summary: &summary(vec![slow]), planned }, &question)
            .unwrap()
            .rows
            .remove(0)
            .cookies
            .unwrap()
    };
    let one = of(1, 1e-3);
    assert!(one.half_open_mean <= 1.01 && one.asked_share < 1e-9, "{one:?}");
    assert!(of(2000, 1.0).half_open_mean <= 2000.0 && of(2000, 1.0).asked_share > 0.99);
}
