//! Columns of user traffic after the authentication.

use keytoll_analysis::metrics::Traffic;
use keytoll_analysis::summary::{SummaryRow, Times, TrafficNodeSummary, TrafficSummary};
use keytoll_analysis::trace::Node;

use super::field::{Field, whole};
use super::{Column, OfLine, Table, Value, column};
use crate::number::known;

/// A cell about the traffic after an authentication.
pub(crate) type OfTraffic = fn(&Traffic) -> Value;

/// The columns of the traffic after an authentication, in `samples.csv`.
pub(crate) const SAMPLE: [Field<OfTraffic>; 7] = [
    whole(
        "traffic_up_bits_per_s",
        "bits per second",
        "new data of users that arrived at the gateway or access point",
        |traffic| goodput(traffic, &Node::SERVING),
    ),
    whole(
        "traffic_down_bits_per_s",
        "bits per second",
        "the same at the device; of echoes the replies' data",
        |traffic| goodput(traffic, &[Node::Ue]),
    ),
    whole(
        "traffic_packets_sent",
        "packets",
        "packets with data that were sent, those sent again included",
        |traffic| traffic.sent().into(),
    ),
    whole("traffic_packets_repeated", "packets", "of these, sent again", |traffic| traffic.repeated().into()),
    whole(
        "traffic_packets_lost",
        "packets",
        "of these, not arrived; of echoes, without a reply",
        |traffic| traffic.lost().into(),
    ),
    whole("traffic_longest_gap_ns", "ns", "the longest time without new data", |traffic| {
        traffic.longest_gap_ns().into()
    }),
    whole("traffic_rekeys", "rekeyings", "rekeyings meanwhile", |traffic| traffic.rekeys.into()),
];

fn goodput(traffic: &Traffic, nodes: &[Node]) -> Value {
    let arrived = nodes.iter().find_map(|&node| traffic.goodput_bits_per_s(node));
    arrived.map(|bits| bits as u64).into()
}

/// A line for each node and each direction.
pub(crate) const TRAFFIC: Table = Table {
    title: "Traffic",
    columns: &COLUMNS,
    lines: |row| {
        let Some(traffic) = &row.traffic else { return 0 };
        traffic.goodput_mbit_s.names().count().max(traffic.nodes.names().count()).max(1)
    },
    note: "Traffic: Mbit/s of new data that arrived, mean ± half the 95 % interval; sent and lost: packets with data, those \
           sent again included. p50, p99: round trip of echoes and bulk data, one way of constant traffic. gap: longest time \
           without new data, median. +bytes: what IPsec, outer headers and fragmentation put around each packet. ns/pkt: CPU \
           time of this machine for each packet that either node sent, median over authentications; busy: share of the time in which the node computed, \
           in virtual time.",
};

const COLUMNS: [Column<OfLine>; 11] = [
    column("way", "", "up: from the device; down: to it", |row, line| {
        of(row, |traffic| told(traffic.goodput_mbit_s.names().nth(line)))
    }),
    column("Mbit/s", "Mbit/s", "", |row, line| {
        of(row, |traffic| match traffic.goodput_mbit_s.iter().nth(line) {
            Some((_, measure)) => Value::Mean(measure.mean, measure.half_width()),
            None => Value::Nothing,
        })
    }),
    column("sent", "packets", "", |row, line| once(row, line, |traffic| traffic.packets.sent.round().into())),
    column("lost", "packets", "", |row, line| once(row, line, |traffic| traffic.packets.lost.into())),
    column("p50 ms", "ms", "", |row, line| {
        once(row, line, |traffic| times(traffic).map(|times| times.p50).into())
    }),
    column("p99 ms", "ms", "", |row, line| {
        once(row, line, |traffic| times(traffic).map(|times| times.p99).into())
    }),
    column("gap ms", "ms", "longest time without new data, median", |row, line| {
        once(row, line, |traffic| traffic.longest_gap_ms.map(|gap| gap.p50).into())
    }),
    column(
        "+bytes",
        "bytes",
        "what IPsec, outer headers and fragmentation put around each packet",
        |row, line| once(row, line, |traffic| traffic.overhead_bytes.into()),
    ),
    column("rekeys", "rekeyings", "rekeyings meanwhile, mean", |row, line| {
        once(row, line, |traffic| traffic.rekeys.into())
    }),
    column("node", "", "", |row, line| of(row, |traffic| told(traffic.nodes.names().nth(line)))),
    column(
        "ns/pkt (busy)",
        "ns",
        "CPU time for each packet that either node sent; share of the time in which the node computed",
        |row, line| of(row, |traffic| told(traffic.nodes.iter().nth(line).map(|(_, node)| cost(node)))),
    ),
];

/// Something of the traffic.
fn of(row: &SummaryRow, of: impl FnOnce(&TrafficSummary) -> Value) -> Value {
    row.traffic.as_ref().map_or(Value::Nothing, of)
}

/// A value that stands in the first line of a row only.
fn once(row: &SummaryRow, line: usize, what: impl FnOnce(&TrafficSummary) -> Value) -> Value {
    if line == 0 { of(row, what) } else { Value::Nothing }
}

/// A cell that is empty where the direction or the node does not exist.
fn told(text: Option<impl Into<Value>>) -> Value {
    text.map_or(Value::Nothing, Into::into)
}

fn times(traffic: &TrafficSummary) -> Option<Times> {
    traffic.round_trip_ms.or(traffic.one_way_ms)
}

fn cost(node: &TrafficNodeSummary) -> String {
    let median = node.cpu_ns_per_packet.and_then(|measure| measure.median());
    let cpu = known(median.map(|median| median.value.round()));
    format!("{cpu} ({:.0} %)", node.busy_share * 100.0)
}
