//! The cells of traffic, the same on the screen and on the page.

use keytoll_analysis::summary::{SummaryRow, TrafficSummary};

use crate::number::{known, plain, uncertain};

/// Heads of the columns, and whether they are aligned to the right.
pub(crate) const HEAD: [(&str, bool); 12] = [
    ("", false),
    ("way", false),
    ("Mbit/s", true),
    ("sent", true),
    ("lost", true),
    ("p50 ms", true),
    ("p99 ms", true),
    ("gap ms", true),
    ("+bytes", true),
    ("rekeys", true),
    ("node", false),
    ("ns/pkt (busy)", true),
];

/// What a reader must know of them.
pub(crate) const NOTE: &str = "Traffic: Mbit/s of new data that arrived, mean ± half the 95 % interval; sent and lost: packets with data, those \
     sent again included. p50, p99: round trip of echoes and bulk data, one way of constant traffic. gap: longest time \
     without new data, median. +bytes: what IPsec, outer headers and fragmentation put around each packet. ns/pkt: CPU \
     time of this machine for each packet that either node sent, median over authentications; busy: share of the time in which the node computed, \
     in virtual time.";

/// A line for each node and each way, without the first cell.
pub(crate) fn lines(row: &SummaryRow) -> Vec<Vec<String>> {
    let Some(traffic) = &row.traffic else { return Vec::new() };
    let ways: Vec<_> = traffic.goodput_mbit_s.iter().collect();
    let nodes: Vec<_> = traffic.nodes.iter().collect();
    let line = |place: usize| {
        let goodput = ways
            .get(place)
            .map(|(way, measure)| [(*way).to_owned(), uncertain(measure.mean, measure.half_width())]);
        let node = nodes.get(place).map(|(name, node)| {
            let median = node.cpu_ns_per_packet.and_then(|measure| measure.median());
            let cpu = known(median.map(|median| median.value.round()));
            [(*name).to_owned(), format!("{cpu} ({:.0} %)", node.busy_share * 100.0)]
        });
        let whole = if place == 0 { of_all(traffic) } else { Default::default() };
        let cells = goodput.unwrap_or_default().into_iter().chain(whole);
        cells.chain(node.unwrap_or_default()).collect()
    };
    (0..ways.len().max(nodes.len()).max(1)).map(line).collect()
}

/// What is said once a row.
fn of_all(traffic: &TrafficSummary) -> [String; 7] {
    let times = traffic.round_trip_ms.or(traffic.one_way_ms);
    [
        plain(traffic.packets.sent.round()),
        plain(traffic.packets.lost),
        known(times.map(|times| times.p50)),
        known(times.map(|times| times.p99)),
        known(traffic.longest_gap_ms.map(|gap| gap.p50)),
        known(traffic.overhead_bytes),
        plain(traffic.rekeys),
    ]
}
