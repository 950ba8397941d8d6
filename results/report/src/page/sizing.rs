//! How many cores serving nodes need for more and more subscribers, for a question that is stated; `keytoll size` answers others.

use std::collections::BTreeMap;

use keytoll_analysis::Findings;
use keytoll_analysis::comparable::CRYPTOGRAPHY_ONLY;
use keytoll_analysis::summary::{Summary, SummaryRow};
use keytoll_dimensioning::outcome::{Needed, SizedNode, Verdict};
use keytoll_dimensioning::{Arrivals, Planned, Processor, Question, Run, assumptions, left_out, needed};
use keytoll_page::{Block, Cell, Chart, Section, Table};
use serde_json::{Value, json};

use super::anchor;
use super::figure::{SERIES_MAX, columns, spec};
use super::tables::{number, plain, text};
use crate::number::{self, counted};

/// How many subscribers are asked about.
const SUBSCRIBERS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// A working day.
const REAUTHENTICATE_S: f64 = 8.0 * 3600.0;

/// The delay that 99 % must not exceed.
const P99_S: f64 = 0.3;

/// The section; nothing where the run does not say what nodes did step by step, or no question can be answered. `planned` is that of
/// [`Run`].
pub(super) fn section(findings: &Findings, planned: &Planned) -> Option<Section> {
    let summary = &findings.summary;
    if summary.rows.iter().all(|row| row.steps.names().next().is_none()) {
        return None;
    }
    let place = |row: &SummaryRow| (row.network.clone(), row.topology.clone());
    let first = summary.rows.iter().find(|row| row.steps.names().next().is_some()).map(place)?;
    let rows = summary.rows.iter().filter(|row| place(row) == first).cloned().collect();
    let of_place = Summary { rows, ..summary.clone() };
    let run = Run { summary: &of_place, planned: planned.clone() };
    let sized = answers(&run);
    let last = question(*SUBSCRIBERS.last()?);
    let assumptions = assumptions(&run, &last).into_iter().map(Block::Note).collect();
    let left_out = left_out(&run, &last);
    let left_out =
        (!left_out.is_empty()).then(|| Block::Note(format!("Not sized: {}.", left_out.join("; "))));
    let charts = nodes(sized.first()?).into_iter().map(|node| Block::Chart(chart(node, &sized)));
    let (network, topology) = first;
    let asked = Block::Text(format!("Over {network}, {topology}: {QUESTION}"));
    let is_marked = of_place.rows.iter().any(SummaryRow::is_cryptography_only);
    let marked = is_marked.then(|| Block::Text(format!("Cores: {CRYPTOGRAPHY_ONLY}.")));
    let blocks = [asked]
        .into_iter()
        .chain(marked)
        .chain(charts)
        .chain([Block::Table(table(&sized))])
        .chain(left_out)
        .chain([
            Block::Text("Other questions, and other networks of this run, are answered by".to_owned()),
            Block::Code(COMMAND.to_owned()),
            Block::Details("What is assumed".to_owned(), assumptions),
        ]);
    Some(Section {
        id: "sizing".to_owned(),
        title: "Sizing".to_owned(),
        blocks: blocks.collect(),
        sections: Vec::new(),
    })
}

const QUESTION: &str = "the cores of each serving node, on the processors of this run, that subscribers keep busy who authenticate every 8 hours, at any \
                        time and independently of each other (Poisson); and how many are needed so that 99 % are in within 300 ms.";

const COMMAND: &str = "keytoll size RUN --subscribers 2M --reauth 8h --p99 300ms";

/// The answers, in the order of the subscribers.
fn answers(run: &Run<'_>) -> Vec<Answer> {
    let answer = |&devices: &u64| Some(Answer { devices, rows: needed(run, &question(devices)).ok()? });
    SUBSCRIBERS.iter().filter_map(answer).collect()
}

/// What so many subscribers need.
struct Answer {
    devices: u64,
    rows: Vec<Needed>,
}

fn question(devices: u64) -> Question {
    Question {
        devices_registered: devices,
        devices_at_once: devices,
        reauthenticate_s: REAUTHENTICATE_S,
        rekey_s: None,
        arrivals: Arrivals::Poisson,
        p99_s: P99_S,
        cores: BTreeMap::new(),
        stores_s: BTreeMap::new(),
        processor: Processor::AsRun,
        sites: 2,
        devices_moved: 0,
        methods: Vec::new(),
    }
}

/// The serving nodes in order of appearance.
fn nodes(sizing: &Answer) -> Vec<&str> {
    let mut nodes: Vec<&str> = Vec::new();
    for name in sizing.rows.iter().flat_map(|row| row.nodes.names()) {
        if !nodes.contains(&name) {
            nodes.push(name);
        }
    }
    nodes
}

/// A row of a sizing as people name it.
fn label(row: &Needed) -> String {
    format!("{} {}", row.method, row.variant).trim_end().to_owned()
}

/// Something about a node with so many subscribers.
struct Point<'a> {
    label: String,
    devices: u64,
    row: &'a Needed,
    node: &'a SizedNode,
}

/// What the rows need of a node; of more rows than there are colours those that need most.
fn points<'a>(sized: &'a [Answer], node: &'a str) -> Vec<Point<'a>> {
    let most = greatest(sized, node);
    let of_sizing = |sizing: &'a Answer| {
        let rows = sizing.rows.iter().filter(|row| most.contains(&label(row)));
        let point = move |row: &'a Needed| {
            Some(Point { label: label(row), devices: sizing.devices, row, node: row.nodes.get(node)? })
        };
        rows.filter_map(point).collect::<Vec<_>>()
    };
    sized.iter().flat_map(of_sizing).collect()
}

/// The rows that keep most cores of a node busy, as many as there are colours.
fn greatest(sized: &[Answer], node: &str) -> Vec<String> {
    let rows = sized.first().into_iter().flat_map(|sizing| &sizing.rows);
    let mut all: Vec<(String, f64)> =
        rows.filter_map(|row| Some((label(row), row.nodes.get(node)?.busy_cores))).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    all.into_iter().take(SERIES_MAX).map(|(label, _)| label).collect()
}

fn chart(node: &str, sized: &[Answer]) -> Chart {
    let points = points(sized, node);
    let last = points.iter().filter(|point| Some(&point.devices) == SUBSCRIBERS.last());
    let needed = |point: &Point<'_>| {
        let (busy, cores) = (number::plain(point.node.busy_cores), u64::from(point.node.cores));
        format!("{}: {busy} busy, {} needed", point.label, counted(cores, "core"))
    };
    let instead = format!("for 10 million subscribers: {}", last.map(needed).collect::<Vec<_>>().join("; "));
    let title = format!("Busy cores of {node} by subscribers");
    let line = |it: &Point<'_>| {
        vec![
            json!(it.label),
            json!(it.devices),
            json!(it.node.busy_cores),
            json!(it.node.cores),
            json!(it.row.n),
        ]
    };
    let all = sized
        .first()
        .map_or(0, |sizing| sizing.rows.iter().filter(|row| row.nodes.get(node).is_some()).count());
    let left_out = match all {
        all if all > SERIES_MAX => {
            format!(" Drawn are the {SERIES_MAX} of {all} that need most; all are in the table.")
        }
        _ => String::new(),
    };
    Chart {
        id: format!("sizing-{}", anchor(node)),
        description: format!("{title}, {instead}."),
        title,
        note: format!(
            "Both scales are logarithmic; how many whole cores are needed is in the table, and with each point.{left_out}"
        ),
        spec: spec(of_cores()),
        columns: columns(&["row", "subscribers", "busy_cores", "cores", "n"]),
        lines: points.iter().map(line).collect(),
        instead,
    }
}

fn of_cores() -> Value {
    json!({
        "mark": { "type": "line", "point": true, "strokeWidth": 1.5 },
        "encoding": {
            "x": { "field": "subscribers", "type": "quantitative", "scale": { "type": "log" }, "axis": { "format": "~s" } },
            "y": {
                "field": "busy_cores", "type": "quantitative", "title": "busy cores", "scale": { "type": "log" },
                "axis": { "tickCount": 5, "format": "~g" },
            },
            "color": { "field": "row", "type": "nominal", "sort": null, "title": null },
            "tooltip": [
                { "field": "row" }, { "field": "subscribers", "type": "quantitative", "format": "~s" },
                { "field": "busy_cores", "type": "quantitative", "format": ".3g" },
                { "field": "cores", "type": "quantitative" },
            ],
        },
    })
}

/// A line for each node of each method: cores for each number of subscribers, the rest for the greatest of them.
fn table(sized: &[Answer]) -> Table {
    let last = sized.last().map_or(0, |sizing| sizing.devices);
    let of_last = format!("for {} subscribers", short(last));
    let head = |sizing: &Answer| {
        let devices = short(sizing.devices);
        plain(
            &format!("cores, {devices}"),
            "cores",
            &format!("that the node needs for {devices} subscribers"),
        )
    };
    let names = [plain("method", "", ""), plain("node", "", ""), plain("n", "authentications", "measured")];
    let rest = [
        plain("busy cores", "cores", &of_last),
        plain("99 % in 300 ms", "", &format!("whether the delay is kept {of_last}")),
        plain("memory GB", "GB", &format!("heap of the node and its idle sessions {of_last}")),
    ];
    let rows = sized.last().into_iter().flat_map(|sizing| &sizing.rows);
    Table {
        id: "sizing-table".to_owned(),
        caption: "Cores and memory of each node by subscribers".to_owned(),
        columns: names.into_iter().chain(sized.iter().map(head)).chain(rest).collect(),
        lines: rows.flat_map(|row| lines(sized, row)).collect(),
    }
}

/// `10k`, `3M`.
fn short(devices: u64) -> String {
    if devices >= 1_000_000 { format!("{}M", devices / 1_000_000) } else { format!("{}k", devices / 1000) }
}

fn lines<'a>(sized: &'a [Answer], row: &'a Needed) -> impl Iterator<Item = Vec<Cell>> + 'a {
    let known =
        |value: Option<f64>| value.map_or_else(|| text("–"), |value| number(number::plain(value), value));
    row.nodes.iter().map(move |(node, it)| {
        let names = [text(&label(row)), text(node), number(row.n.to_string(), row.n as f64)];
        let cores = sized.iter().map(move |sizing| known(cores(sizing, row, node).map(f64::from)));
        let rest = [
            number(number::plain(it.busy_cores), it.busy_cores),
            text(&kept(row)),
            known(it.memory_bytes.map(|bytes| bytes / 1e9)),
        ];
        names.into_iter().chain(cores).chain(rest).collect()
    })
}

/// The cores of a node for another number of subscribers.
fn cores(sizing: &Answer, row: &Needed, node: &str) -> Option<u32> {
    let same = sizing.rows.iter().find(|other| label(other) == label(row))?;
    Some(same.nodes.get(node)?.cores)
}

/// Whether the delay is kept, if so few samples say it.
fn kept(row: &Needed) -> String {
    let told = match row.verdict {
        _ if !row.is_certain => return format!("cannot be said from {}", counted(row.n, "sample")),
        Verdict::Kept => "yes",
        Verdict::TooSlow | Verdict::TooFewCores | Verdict::Contradicted => "no",
        Verdict::SlowWithoutLoad => "never: slower without load",
        Verdict::SlowWithCookies => "never: slower with cookies",
        Verdict::HalfOpenFull => "not decided: too many half-open SAs",
    };
    told.to_owned()
}
