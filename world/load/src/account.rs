//! The account of a load, in the form that every population has: sums and a point a second.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_census::{Account, NodePoint, NodeSummary, Point, PopulationSummary, Repeated};

use crate::run::{Outcome, Second};

/// The generator, among the nodes.
const GENERATOR: &str = "generator";
/// The target, among the nodes.
const TARGET: &str = "target";

/// What a load with so many workers has come to.
pub fn account(outcome: &Outcome, workers: u32) -> Account {
    Account {
        summary: summary(outcome, &outcome.points, workers),
        points: outcome.points.clone(),
        delays_us: outcome.totals.tally.delays.counts(),
    }
}

fn summary(outcome: &Outcome, points: &[Point], workers: u32) -> PopulationSummary {
    let totals = &outcome.totals;
    let counts = &totals.tally.counts;
    let first = counts.messages.saturating_sub(counts.retransmissions).max(1);
    let last = points.iter().rev().find(|point| point.established > 0);
    let length = totals.seconds;
    let share =
        |cpu: Duration, cores: u32| cpu.as_secs_f64() / (length.max(1) as f64 * f64::from(cores.max(1)));
    let each = |cpu: Duration| (counts.usable > 0).then(|| cpu.as_secs_f64() * 1e9 / counts.usable as f64);
    let busiest = |name: &str| {
        let of = points.iter().flat_map(|point| &point.nodes).filter(|node| node.node == name);
        of.map(|node| node.utilisation).fold(0.0, f64::max)
    };
    let node = |name: &str, cpu: Duration, cores| NodeSummary {
        cores,
        utilisation: share(cpu, cores),
        utilisation_max: busiest(name),
        busy_ns_per_established: each(cpu),
        busy_s: cpu.as_secs_f64(),
        ..NodeSummary::default()
    };
    let mut nodes = BTreeMap::from([(GENERATOR.to_owned(), node(GENERATOR, totals.cpu, workers))]);
    nodes.extend(totals.target_cpu.map(|cpu| (TARGET.to_owned(), node(TARGET, cpu, 1))));
    PopulationSummary {
        devices: counts.begun,
        offered: counts.offered,
        begun: counts.begun,
        established: counts.usable,
        failed: counts.failed_sum(),
        failures: counts.failed.iter().map(|(why, count)| ((*why).to_owned(), *count)).collect(),
        in_flight: counts.offered.saturating_sub(counts.usable + counts.failed_sum()),
        in_flight_max: totals.under_way_max as u64,
        present_max: totals.standing_max as u64,
        duration_s: length as f64,
        last_established_s: last.map(|point| point.second + 1),
        offered_per_s: totals.tally.asked_per_s(),
        established_per_s: totals.tally.reached_per_s(),
        established_per_s_max: points.iter().map(|point| point.established).max().unwrap_or(0),
        delay_ms: totals.tally.delays.percentiles(),
        late_ms: totals.tally.lateness.percentiles(),
        messages: Repeated {
            sent: counts.messages,
            again: counts.retransmissions,
            amplification: counts.messages.max(1) as f64 / first as f64,
        },
        cookies: None,
        lost_packets: 0,
        discards: counts.discarded.sum(),
        nodes,
        loss: None,
        links: BTreeMap::new(),
        bytes_per_device: None,
    }
}

/// What is kept of a second.
pub(crate) fn point(second: &Second) -> Point {
    let counts = &second.tally.counts;
    let node = |name: &str, utilisation: f64| NodePoint {
        node: name.to_owned(),
        utilisation,
        ..NodePoint::default()
    };
    let target = second.target.map(|usage| node(TARGET, usage.cpu.as_secs_f64()));
    Point {
        second: second.number,
        offered: counts.offered,
        begun: counts.begun,
        established: counts.usable,
        failed: counts.failed_sum(),
        in_flight: second.under_way as u64,
        present: second.standing as u64,
        messages: counts.messages,
        retransmissions: counts.retransmissions,
        cookies_asked: 0,
        cookies_shown: 0,
        lost_packets: 0,
        discards: counts.discarded.sum(),
        delay_ms: second.tally.delays.percentiles().map(|delay| [delay.p50, delay.p99, delay.max]),
        nodes: [node(GENERATOR, second.cpu_share)].into_iter().chain(target).collect(),
    }
}
