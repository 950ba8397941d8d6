//! `summary.json` against its specification: names, order, and absent members.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use keytoll_analysis::metrics::measure;
use keytoll_analysis::{Findings, RowFindings};
use keytoll_trace::manifest::{FORMAT, KIND, Machine, Manifest, ManifestRow};
use keytoll_trace::provenance::Provenance;
use keytoll_trace::{Cost, Fact, Fate, Link, Node, Protocol, Record, SampleCost};
use serde_json::{Map, Value};

fn row() -> ManifestRow {
    ManifestRow {
        index: 0,
        method: "ikev2-psk".into(),
        variant: String::new(),
        network: "wifi-11g".into(),
        topology: "raw".into(),
        world: "sim".into(),
        crypto: "real".into(),
        samples_planned: 2,
        trace: "trace/000.trace".into(),
        costs: "costs/000.costs".into(),
        notes: Vec::new(),
    }
}

fn records(samples: u32) -> Vec<Record> {
    let facts = |sample: u32| {
        let start_ns = u64::from(sample) * 1_000_000_000;
        let carried = Fact::Carried {
            link: Link(Node::Ue, Node::Gw),
            protocol: Protocol::new(&"ike"),
            packets: 1,
            bytes: 300,
            transit_ns: 2_000_000,
            fate: Fate::Delivered,
        };
        let end_ns = start_ns + 2_000_000 + u64::from(sample) * 1_000_000;
        [(start_ns, Fact::Triggered), (start_ns, carried), (end_ns, Fact::Usable)]
            .map(|(at_ns, fact)| Record { at_ns, node: Node::Ue, sample, fact })
    };
    (0..samples).flat_map(facts).collect()
}

fn costs(samples: u32) -> Vec<Cost> {
    let clock = Cost::Clock { ticks_hz: 2e9, profile_hz: vec![(Node::Gw, 2e9)] };
    let sample = |sample| {
        [Node::Gw, Node::Ue].map(|node| {
            let idle_sa_bytes = (node == Node::Gw).then_some(2048);
            let heap_peak_bytes = 4096;
            Cost::Sample(SampleCost {
                sample,
                node,
                cpu_ns: 5000,
                crypto_ns: 4000,
                heap_peak_bytes,
                idle_sa_bytes,
            })
        })
    };
    std::iter::once(clock).chain((0..samples).flat_map(sample)).collect()
}

fn summary(samples: u32) -> Value {
    let machine = Machine { cpu: "c".into(), cores: 2, ticks_hz: 2e9, core_hz: 3e9, ..Machine::default() };
    let manifest = Manifest {
        kind: KIND.into(),
        format: FORMAT,
        provenance: Provenance { command: Some(vec!["keytoll".into()]), ..Provenance::of("0.1.0", machine) },
        title: "t".into(),
        study: None,
        seed: u64::MAX.to_string(),
        plan: String::new(),
        complete: true,
        traced: true,
        rows: vec![row()],
        files: Vec::new(),
    };
    let tally = measure(records(samples), costs(samples)).tally;
    let findings = Findings::new(manifest, vec![RowFindings { row: row(), tally }]);
    let text = serde_json::to_string(&findings.summary).unwrap();
    in_written_order(&text, &["\"ue\"", "\"gw\""]);
    serde_json::from_str(&text).unwrap()
}

fn in_written_order(text: &str, names: &[&str]) {
    let places: Vec<_> = names.iter().filter_map(|name| text.find(name)).collect();
    assert!(places.is_sorted(), "{names:?} stand at {places:?}");
}

fn object<'a>(value: &'a Value, name: &str) -> &'a Map<String, Value> {
    value.get(name).and_then(Value::as_object).unwrap_or_else(|| panic!("no object {name} in {value}"))
}

fn has(object: &Map<String, Value>, names: &[&str]) {
    for name in names {
        assert!(object.contains_key(*name), "{name} is not in {object:?}");
    }
}

#[test]
fn every_documented_key_is_there() {
    let summary = summary(2);
    has(summary.as_object().unwrap(), &["format", "title", "rows", "provenance"]);
    let provenance = object(&summary, "provenance");
    has(provenance, &["keytoll_version", "keytoll_commit", "command", "began_at", "load_at_end", "machine"]);
    assert!(provenance["command"] == Value::from(vec!["keytoll"]) && provenance["load_at_end"].is_null());
    assert_eq!(
        (&summary["format"], &summary["seed"]),
        (&Value::from(1), &Value::from("18446744073709551615"))
    );
    let row = &summary["rows"][0];
    let names = ["method", "variant", "network", "topology", "world", "crypto", "n", "succeeded", "failures"];
    has(row.as_object().unwrap(), &names);
    has(
        object(row, "delay_ms"),
        &["mean", "ci95_low", "ci95_high", "min", "p5", "p50", "p95", "p99", "max", "stddev"],
    );
    for split in ["delay_split_ms", "delay_split_p50_ms"] {
        has(object(row, split), &["network", "computation", "waiting"]);
    }
    has(object(&row["links"], "ue-gw"), &["messages", "packets", "bytes", "retransmissions"]);
    has(
        object(&row["cpu"], "gw"),
        &["ns", "ns_p5", "ns_p50", "ns_p95", "cycles", "cycles_p50", "crypto_ns", "crypto_ns_p50"],
    );
    has(object(&row["memory_bytes"], "gw"), &["peak", "idle_sa"]);
}

#[test]
fn the_numbers_have_the_units_of_their_names() {
    let row = &summary(2)["rows"][0];
    // 2 ms and 3 ms.
    assert_eq!((row["delay_ms"]["mean"].as_f64(), row["delay_ms"]["p50"].as_f64()), (Some(2.5), Some(2.5)));
    assert_eq!(row["delay_split_ms"]["network"].as_f64(), Some(2.0));
    assert_eq!(row["delay_split_ms"]["waiting"].as_f64(), Some(0.5));
    assert_eq!(row["links"]["ue-gw"]["bytes"].as_f64(), Some(300.0));
    // 5 µs at 2 GHz.
    assert!((row["cpu"]["gw"]["cycles"].as_f64().unwrap() - 10_000.0).abs() < 1e-6);
    assert_eq!(row["memory_bytes"]["gw"]["idle_sa"].as_f64(), Some(2048.0));
}

#[test]
fn six_values_and_more_have_an_interval_of_the_median() {
    let row = &summary(7)["rows"][0];
    // 2 to 8 ms: ranks 1 and 7 of 7.
    let delay = object(row, "delay_ms");
    assert_eq!([&delay["p50"], &delay["p50_ci95_low"], &delay["p50_ci95_high"]], [5.0, 2.0, 8.0]);
    assert!(object(&summary(5)["rows"][0], "delay_ms").get("p50_ci95_low").is_none());
    has(object(&row["cpu"], "gw"), &["ns_p50_ci95_low", "ns_p50_ci95_high"]);
}

#[test]
fn unknown_values_are_absent() {
    let row = &summary(2)["rows"][0];
    assert_eq!(object(row, "links").len(), 1, "links that were not used");
    assert_eq!(object(row, "cpu").len(), 2, "nodes that were not measured");
    assert!(row["cpu"]["ue"].get("cycles").is_none(), "the device's frequency is not known");
    assert!(row["memory_bytes"]["ue"].get("idle_sa").is_none());
    assert!(row.get("first_packet_ms").is_none());
}

#[test]
fn one_sample_has_no_spread_and_none_has_no_delay() {
    let one = &summary(1)["rows"][0];
    let delay = object(one, "delay_ms");
    assert!(["ci95_low", "ci95_high", "stddev"].iter().all(|name| !delay.contains_key(*name)), "{delay:?}");
    let none = &summary(0)["rows"][0];
    assert!(none.get("delay_ms").is_none() && none.get("delay_split_ms").is_none());
    assert_eq!((none["n"].as_u64(), object(none, "links").len()), (Some(0), 0));
}

/// A node that computes 0.4 ms of virtual time at 25 MHz: the timer finds it computing in about 400 of 1000 authentications.
#[test]
fn a_sampling_profiler_estimates_what_was_charged() {
    let computed = |sample: u32| {
        let start_ns = u64::from(sample) * 1_000_000_000;
        let facts =
            [(0, Fact::Triggered), (400_000, Fact::Computed { busy_ns: 400_000 }), (500_000, Fact::Usable)];
        let node = |fact: &Fact| if matches!(fact, Fact::Computed { .. }) { Node::Gw } else { Node::Ue };
        facts.map(|(at_ns, fact)| Record { at_ns: start_ns + at_ns, node: node(&fact), sample, fact })
    };
    let tally = measure((0..1000).flat_map(computed), costs(1000)).tally;
    let row = keytoll_analysis::summary::summarise_row(&row(), &tally);
    let cpu = row.cpu.get("gw").unwrap();
    let sampled = cpu.sampled.unwrap();
    assert!((cpu.cycles.unwrap() - 10_000.0).abs() < 1e-6);
    assert!((sampled.cpu_hz - 25e6).abs() < 1.0 && sampled.timer_hz == 1000.0 && sampled.n == 1000);
    assert!((396..=404).contains(&sampled.hits), "{sampled:?}");
    assert!((sampled.cycles - 10_000.0).abs() < 100.0, "{sampled:?}");
    assert!(sampled.cycles_ci95_low.unwrap() < 10_000.0 && sampled.cycles_ci95_high.unwrap() > 10_000.0);
    assert!(row.cpu.get("ue").unwrap().sampled.is_none(), "no frequency, no estimate");
    let steps = row.steps.get("gw").unwrap();
    assert_eq!((steps.per_authentication, steps.busy_ns, steps.busy_ns_stddev), (1.0, 400_000.0, Some(0.0)));
    assert_eq!((steps.n, row.steps.get("ue")), (1000, None));
}
