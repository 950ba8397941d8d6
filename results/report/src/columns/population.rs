//! Columns of populations: what became of the attempts, their delays, the nodes; and those of `series.csv`.

use keytoll_analysis::census::{
    CookieSummary, LinkSummary, LossSummary, NodePoint, NodeSummary, Percentiles, Point, PopulationSummary,
};
use keytoll_analysis::summary::SummaryRow;

use super::field::{Field, number, text, whole};
use super::{Column, OfLine, Table, Value, column, cpu_time, wide};
use crate::number::plain;

/// A cell about a second of a population.
pub(crate) type OfPoint = fn(&Point) -> Value;
/// A cell about a node in a second.
pub(crate) type OfNode = fn(&NodePoint) -> Value;

/// The nodes with columns in `series.csv`: those that serve, and both sides of a load.
pub(crate) const SERVING: [&str; 6] = ["gw", "aaa", "hss", "ap", "generator", "target"];

/// The columns of a second.
pub(crate) const POINT: [Field<OfPoint>; 14] = [
    whole("start_s", "s", "the beginning of the second, from the start of the load", |point| {
        point.second.into()
    }),
    whole("offered_attempts", "attempts", "meant to begin in it", |point| point.offered.into()),
    whole("begun_attempts", "attempts", "that began in it", |point| point.begun.into()),
    whole("established_attempts", "attempts", "that succeeded in it", |point| point.established.into()),
    whole("failed_attempts", "attempts", "that failed in it", |point| point.failed.into()),
    whole("in_flight_attempts", "attempts", "offered and without an outcome at its end", |point| {
        point.in_flight.into()
    }),
    whole("present_devices", "devices", "that are established at its end", |point| point.present.into()),
    whole("messages", "messages", "sent in it, those sent again included", |point| point.messages.into()),
    whole("retransmissions", "messages", "of these, sent again", |point| point.retransmissions.into()),
    whole("lost_packets", "packets", "lost on links, damaged, or refused by full queues", |point| {
        point.lost_packets.into()
    }),
    whole("discards", "messages", "that arrived and could not be used", |point| point.discards.into()),
    number(
        "delay_p50_ms",
        "ms",
        "median delay from the intended start of those that succeeded in it",
        |point| point.delay_ms.map(|[p50, _, _]| p50).into(),
    ),
    number("delay_p99_ms", "ms", "99th percentile of these delays", |point| {
        point.delay_ms.map(|[_, p99, _]| p99).into()
    }),
    number("delay_max_ms", "ms", "the longest of these delays", |point| {
        point.delay_ms.map(|[_, _, max]| max).into()
    }),
];

/// The columns of a node in a second.
pub(crate) const POINT_NODE: [Field<OfNode>; 3] = [
    number("utilisation", "", "the share of its cores' time that it was busy", |node| {
        node.utilisation.into()
    }),
    number("queue_mean_inputs", "inputs", "the mean length of its queue", |node| node.queue_mean.into()),
    whole("queue_max_inputs", "inputs", "the greatest length of its queue", |node| node.queue_max.into()),
];

/// Columns of a second that came later.
pub(crate) const POINT_ADDED: [Field<OfPoint>; 2] = [
    whole(
        "cookie_request_messages",
        "messages",
        "in which a gateway asked for a cookie (RFC 7296 §2.6)",
        |point| point.cookies_asked.into(),
    ),
    whole(
        "cookie_attempts",
        "attempts",
        "that began once more with the cookie that they were asked for, a round trip more each",
        |point| point.cookies_shown.into(),
    ),
];

/// Columns of a node in a second that came later.
pub(crate) const POINT_NODE_ADDED: [Field<OfNode>; 1] =
    [whole("discards", "messages", "that arrived at it and could not be used", |node| node.discards.into())];

/// The columns of one of several gateways in a second, after that second and those that every node has.
pub(crate) const POINT_GATEWAY: [Field<OfNode>; 2] = [
    text("gateway", "the name of the gateway", |node| node.node.as_str().into()),
    whole("established_attempts", "attempts", "that succeeded at it", |node| {
        node.established.map_or(Value::Nothing, Value::Whole)
    }),
];

/// What became of the attempts of a population.
pub(crate) const ATTEMPTS: Table = Table {
    title: "Population",
    columns: &ATTEMPT_COLUMNS,
    lines: |row| usize::from(row.population.is_some()),
    note: "Population: attempts are first authentications, repeated ones and those at another address; in progress: offered, and without \
           outcome at the end. cookies: attempts that began once more with a cookie that the gateway asked for. last in: when the last attempt succeeded, from the start of the load, to the second. sent ×: messages \
           sent, ÷ those sent for the first time.",
};

const ATTEMPT_COLUMNS: [Column<OfLine>; 13] = [
    column("devices", "devices", "that arrived", |row, _| of(row, |it| it.devices.into())),
    column("attempts", "attempts", "offered", |row, _| of(row, |it| it.offered.into())),
    column("established", "attempts", "that succeeded", |row, _| of(row, |it| it.established.into())),
    column("failed", "attempts", "that failed", |row, _| of(row, |it| it.failed.into())),
    column("in progress", "attempts", "without an outcome at the end", |row, _| {
        of(row, |it| it.in_flight.into())
    }),
    column("peak/s", "attempts", "the most that succeeded in one second", |row, _| {
        of(row, |it| it.established_per_s_max.into())
    }),
    column("last in s", "s", "when the last one succeeded, from the start of the load", |row, _| {
        of(row, |it| it.last_established_s.into())
    }),
    column("sent ×", "", "messages sent ÷ those sent for the first time", |row, _| {
        of(row, |it| Value::Text(format!("{:.3}", it.messages.amplification)))
    }),
    column(
        "cookies",
        "attempts",
        "that began once more with the cookie that they were asked for",
        |row, _| cookies(row, |it| it.repeated.into()),
    ),
    wide(column("cookies asked", "messages", "in which a gateway asked for a cookie", |row, _| {
        cookies(row, |it| it.messages.into())
    })),
    column("lost", "packets", "lost on links or refused by their queues", |row, _| {
        of(row, |it| it.lost_packets.into())
    }),
    column(
        "discards",
        "messages",
        "that arrived and could not be used, or found the queue of a node full",
        |row, _| of(row, |it| it.discards.into()),
    ),
    column("kB/device", "kB", "heap of a device in all nodes, when the most were there", |row, _| {
        of(row, |it| it.bytes_per_device.map_or(Value::Nothing, |bytes| (bytes / 1000.0).into()))
    }),
];

/// The delays of a population.
pub(crate) const DELAYS: Table = Table {
    title: "Delay from the intended start until established, ms",
    columns: &DELAY_COLUMNS,
    lines: |row| usize::from(row.population.as_ref().is_some_and(|it| it.delay_ms.is_some())),
    note: "Delays of a population count from the intended start, whoever had to wait for it included, and are exact to a thousandth.",
};

const DELAY_COLUMNS: [Column<OfLine>; 9] = [
    column("mean", "ms", "arithmetic mean", |row, _| delay(row, |it| it.mean)),
    column("p50", "ms", "median", |row, _| delay(row, |it| it.p50)),
    column("p90", "ms", "90th percentile", |row, _| delay(row, |it| it.p90)),
    column("p95", "ms", "95th percentile", |row, _| delay(row, |it| it.p95)),
    column("p99", "ms", "99th percentile", |row, _| delay(row, |it| it.p99)),
    column("p99.9", "ms", "99.9th percentile", |row, _| delay(row, |it| it.p99_9)),
    column("p99.99", "ms", "99.99th percentile", |row, _| delay(row, |it| it.p99_99)),
    column("max", "ms", "the longest", |row, _| delay(row, |it| it.max)),
    wide(column("min", "ms", "the shortest", |row, _| delay(row, |it| it.min))),
];

/// The nodes of a population.
pub(crate) const NODES: Table = Table {
    title: "Serving nodes",
    columns: &NODE_COLUMNS,
    lines: |row| row.population.as_ref().map_or(0, |it| it.nodes.len()),
    note: "Serving nodes: busy is the share of their cores' time, over the whole load and in the busiest second; queue: the mean of the \
           worst second, and the greatest; refused: inputs that found it full, and were dropped; busy µs: for each attempt that succeeded, at \
           one of several gateways of those that succeeded there; heap: when the most devices were there.",
};

const NODE_COLUMNS: [Column<OfLine>; 12] = [
    column("node", "", "", |row, line| {
        let name = row.population.as_ref().and_then(|it| it.nodes.keys().nth(line));
        name.map_or(Value::Nothing, |name| name.as_str().into())
    }),
    column("cores", "cores", "inputs that it handles at once", |row, line| {
        node(row, line, |it| u64::from(it.cores).into())
    }),
    cpu_time(
        "busy†",
        column("busy", "%", "share of its cores' time, over the whole load", |row, line| {
            node(row, line, |it| percent(it.utilisation))
        }),
    ),
    cpu_time(
        "busiest s†",
        column("busiest s", "%", "the same in its busiest second", |row, line| {
            node(row, line, |it| percent(it.utilisation_max))
        }),
    ),
    column("queue", "inputs", "the mean length of its queue in the worst second", |row, line| {
        node(row, line, |it| it.queue_mean_max.into())
    }),
    column("longest", "inputs", "the greatest length of its queue", |row, line| {
        node(row, line, |it| it.queue_max.into())
    }),
    column("refused", "inputs", "that found its queue full, and were dropped", |row, line| {
        node(row, line, |it| it.refused_inputs.into())
    }),
    cpu_time(
        "busy µs†",
        column("busy µs", "µs", "busy time for each attempt that succeeded", |row, line| {
            node(row, line, |it| it.busy_ns_per_established.map(|ns| ns / 1e3).into())
        }),
    ),
    cpu_time(
        "CPU s†",
        column("CPU s", "s", "for how long its cores were busy, all together", |row, line| {
            node(row, line, |it| it.busy_s.into())
        }),
    ),
    column("here", "attempts", "that succeeded at this one of several gateways", |row, line| {
        node(row, line, |it| it.established.map_or(Value::Nothing, Value::Whole))
    }),
    column("discards", "messages", "that arrived at it and could not be used", |row, line| {
        node(row, line, |it| it.discards.into())
    }),
    column("heap MB", "MB", "its heap when the most devices were there", |row, line| {
        node(row, line, |it| it.heap_bytes.map_or(Value::Nothing, |bytes| (bytes as f64 / 1e6).into()))
    }),
];

/// The loss of a gateway of a population.
pub(crate) const LOSS: Table = Table {
    title: "Loss of a gateway",
    columns: &LOSS_COLUMNS,
    lines: |row| usize::from(row.population.as_ref().is_some_and(|it| it.loss.is_some())),
    note: "Loss of a gateway: outages are from the loss until a device is established at another one, over those that were.",
};

const LOSS_COLUMNS: [Column<OfLine>; 7] = [
    column("gateway", "", "", |row, _| loss(row, |it| it.gateway.as_str().into())),
    column("lost at s", "s", "from the start of the load", |row, _| loss(row, |it| it.at_s.into())),
    column("had", "devices", "that were established at it", |row, _| loss(row, |it| it.devices.into())),
    column("back", "devices", "of these, established at another one", |row, _| {
        loss(row, |it| it.devices_back.into())
    }),
    column("outage p50 s", "s", "median outage", |row, _| outage(row, |it| it.p50)),
    column("p99 s", "s", "99th percentile", |row, _| outage(row, |it| it.p99)),
    column("max s", "s", "the longest", |row, _| outage(row, |it| it.max)),
];

/// The links of a population.
pub(crate) const LINKS: Table = Table {
    title: "Links",
    columns: &LINK_COLUMNS,
    lines: |row| row.population.as_ref().map_or(0, |it| it.links.len()),
    note: "Links: each direction by itself, access links all together; used is the share of their rates, over the whole load and in the \
           busiest second; transit: the longest time from being handed to a link until arrival.",
};

const LINK_COLUMNS: [Column<OfLine>; 8] = [
    column("link", "", "sender-receiver", |row, line| {
        let name = row.population.as_ref().and_then(|it| it.links.keys().nth(line));
        name.map_or(Value::Nothing, |name| name.as_str().into())
    }),
    column("links", "links", "how many there are", |row, line| link(row, line, |it| it.links.into())),
    column("kbit/s", "kbit/s", "the rate of each", |row, line| {
        link(row, line, |it| it.bits_per_s.map_or(Value::Nothing, |rate| (rate as f64 / 1e3).into()))
    }),
    column("MB", "MB", "what went over them", |row, line| {
        link(row, line, |it| (it.bytes as f64 / 1e6).into())
    }),
    column("used", "%", "share of their rates, over the whole load", |row, line| {
        link(row, line, |it| it.utilisation.map_or(Value::Nothing, percent))
    }),
    column("busiest s", "%", "the same in the busiest second", |row, line| {
        link(row, line, |it| it.utilisation_max.map_or(Value::Nothing, percent))
    }),
    column("transit ms", "ms", "the longest from being handed to a link until arrival", |row, line| {
        link(row, line, |it| it.transit_max_ms.into())
    }),
    column("refused", "packets", "that found a queue full", |row, line| {
        link(row, line, |it| it.refused_packets.into())
    }),
];

fn percent(share: f64) -> Value {
    Value::Text(format!("{} %", plain(100.0 * share)))
}

fn of(row: &SummaryRow, of: fn(&PopulationSummary) -> Value) -> Value {
    row.population.as_ref().map_or(Value::Nothing, of)
}

fn delay(row: &SummaryRow, of: fn(&Percentiles) -> f64) -> Value {
    row.population.as_ref().and_then(|it| it.delay_ms.as_ref()).map(of).into()
}

fn cookies(row: &SummaryRow, of: fn(&CookieSummary) -> Value) -> Value {
    row.population.as_ref().and_then(|it| it.cookies.as_ref()).map_or(Value::Nothing, of)
}

fn loss(row: &SummaryRow, of: fn(&LossSummary) -> Value) -> Value {
    row.population.as_ref().and_then(|it| it.loss.as_ref()).map_or(Value::Nothing, of)
}

/// In seconds.
fn outage(row: &SummaryRow, of: fn(&Percentiles) -> f64) -> Value {
    let loss = row.population.as_ref().and_then(|it| it.loss.as_ref());
    loss.and_then(|it| it.outage_ms.as_ref()).map_or(Value::Nothing, |outage| (of(outage) / 1e3).into())
}

fn link(row: &SummaryRow, line: usize, of: fn(&LinkSummary) -> Value) -> Value {
    let link = row.population.as_ref().and_then(|it| it.links.values().nth(line));
    link.map_or(Value::Nothing, of)
}

fn node(row: &SummaryRow, line: usize, of: fn(&NodeSummary) -> Value) -> Value {
    let node = row.population.as_ref().and_then(|it| it.nodes.values().nth(line));
    node.map_or(Value::Nothing, of)
}
