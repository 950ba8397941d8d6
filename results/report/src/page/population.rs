//! Populations: what became of their attempts, and the load over time.

use keytoll_analysis::Findings;
use keytoll_analysis::census::{LossSummary, Point};
use keytoll_analysis::comparable::shared;
use keytoll_analysis::directory::Population;
use keytoll_analysis::stats::stretches;
use keytoll_page::{Block, Chart, Section};
use serde_json::{Value, json};

use super::figure::{along, columns, spec};
use super::rows::Rows;
use super::{OfPlan, anchor, tables};
use crate::columns::load::{CPU, RATES, REASONS};
use crate::columns::population::{ATTEMPTS, DELAYS, LINKS, LOSS, NODES};
use crate::curve::{Curve, curves};
use crate::number::{counted, plain};

/// Points of a curve.
const POINTS_MAX: usize = 400;

/// The tables of a setting with populations: id, caption, and where the columns are from.
const TABLES: [(&str, tables::Of); 8] = [
    ("load", ("What was asked for and reached", &[&RATES])),
    ("attempts", ("What became of a population", &[&ATTEMPTS])),
    ("population-delays", ("Delay from the intended start until established, ms", &[&DELAYS])),
    ("serving", ("Serving nodes", &[&NODES])),
    ("loss", ("Loss of a gateway", &[&LOSS])),
    ("links", ("Links", &[&LINKS])),
    ("load-cpu", ("CPU of the generator and of the target", &[&CPU])),
    ("reasons", ("Why attempts, sessions and datagrams came to nothing", &[&REASONS])),
];

/// What was counted of the populations of a setting; nothing without.
pub(super) fn counts(rows: &Rows<'_>) -> Option<Section> {
    let told = TABLES.into_iter().filter_map(|(id, of)| tables::of_rows(rows, id, of));
    let all =
        TABLES.iter().flat_map(|(_, (_, tables))| *tables).filter(|table| table.is_told(rows.summaries()));
    let notes = all.map(|table| Block::Note(table.note.to_owned()));
    let tables: Vec<Block> = told.map(Block::Table).collect();
    (!tables.is_empty()).then(|| Section {
        id: rows.id("population"),
        title: "Population".to_owned(),
        blocks: tables.into_iter().chain(notes).collect(),
        sections: Vec::new(),
    })
}

/// What became of populations, in one sentence; nothing without.
pub(super) fn sentence(findings: &Findings) -> Option<String> {
    let told = findings.populations.iter().map(|population| {
        let (row, it) = (&population.row, &population.account.summary);
        let delays = it.delay_ms.as_ref().map(|delays| {
            format!(", half of them within {} ms and 99 % within {} ms", plain(delays.p50), plain(delays.p99))
        });
        let busiest =
            it.nodes.iter().max_by(|one, other| one.1.utilisation_max.total_cmp(&other.1.utilisation_max));
        let busiest = busiest.map(|(name, node)| {
            format!("; {name} was busy {} % of its busiest second", (100.0 * node.utilisation_max).round())
        });
        let loss = it.loss.as_ref().map(|loss| {
            let LossSummary { gateway, at_s, devices, devices_back, .. } = loss;
            let at = plain(*at_s);
            format!(
                "; {gateway} was lost after {at} s, and {devices_back} of its {} came back",
                counted(*devices, "device")
            )
        });
        format!(
            "Of {} with {}, {} succeeded{}{}{}.",
            counted(it.offered, "attempt"),
            row.method,
            it.established,
            delays.unwrap_or_default(),
            busiest.unwrap_or_default(),
            loss.unwrap_or_default()
        )
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// Why nobody is back from the loss of a gateway, where the plan has a reason for it.
pub fn nobody_back(findings: &Findings, of_plan: &OfPlan) -> Option<String> {
    let losses = findings.populations.iter().filter_map(|one| one.account.summary.loss.as_ref());
    let mut losses = losses.filter(|loss| loss.devices > 0).peekable();
    let is_nobody = losses.peek().is_some() && losses.all(|loss| loss.devices_back == 0);
    let why = of_plan.nobody_back.as_ref().filter(|_| is_nobody)?;
    Some(format!("Loss of a gateway: {why}."))
}

/// The load of every population over time.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let rows = &findings.summary.rows;
    let shared = shared(rows);
    let all = findings.populations.iter().zip(rows).enumerate();
    all.map(|(place, (population, row))| load(place, &row.subject().without(&shared), population)).collect()
}

fn load(place: usize, name: &str, population: &Population) -> Section {
    let (row, points) = (&population.row, &population.account.points);
    let id = format!("load-{}-{}", place + 1, anchor(name));
    let curves = curves(points);
    let charts = CHARTS.iter().filter_map(|of| chart(&id, of, points, &curves));
    Section {
        title: format!("Load over time: {name}, {}", row.network),
        blocks: charts.map(Block::Chart).collect(),
        id,
        sections: Vec::new(),
    }
}

/// A chart of curves that have an axis in common.
struct Of {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    has: fn(&str) -> bool,
}

const CHARTS: [Of; 5] = [
    Of {
        id: "rates",
        title: "Attempts offered, established and failed in a second",
        unit: "/s",
        has: |name| ["offered", "established", "failed"].contains(&name),
    },
    Of {
        id: "in-flight",
        title: "Attempts in progress at the end of a second",
        unit: "attempts",
        has: |name| name == "in progress",
    },
    Of {
        id: "delays",
        title: "Delay from the intended start, of those established in a second, ms",
        unit: "ms",
        has: |name| name.starts_with("delay"),
    },
    Of {
        id: "busy",
        title: "How busy the cores of each node are, %",
        unit: "%",
        has: |name| name.ends_with(" busy"),
    },
    Of {
        id: "again",
        title: "Messages sent again, and attempts begun again with a cookie, in a second",
        unit: "/s",
        has: |name| name == "sent again" || name == "cookies",
    },
];

fn chart(id: &str, of: &Of, points: &[Point], curves: &[Curve]) -> Option<Chart> {
    let shown: Vec<&Curve> = curves.iter().filter(|curve| (of.has)(&curve.name)).collect();
    let lines: Vec<Vec<Value>> = shown.iter().flat_map(|curve| of_curve(points, curve)).collect();
    let values: Vec<f64> = lines.iter().filter_map(|line| line[2].as_f64()).collect();
    let greatest = shown
        .iter()
        .map(|curve| format!("{} at most {} {}", curve.name, plain(curve.greatest()), curve.unit));
    let instead = greatest.collect::<Vec<_>>().join("; ");
    let is_thinned = points.len() > POINTS_MAX;
    let note = if is_thinned {
        "Of every stretch of seconds the greatest value; series.csv has each second."
    } else {
        "One value a second."
    };
    (!lines.is_empty()).then(|| Chart {
        id: format!("{id}-{}", of.id),
        title: of.title.to_owned(),
        description: format!("{}: {instead}.", of.title),
        note: note.to_owned(),
        spec: spec(over_time(of.unit, &values)),
        columns: columns(&["what", "second", "value"]),
        lines,
        instead,
    })
}

fn over_time(unit: &str, values: &[f64]) -> Value {
    json!({
        "height": 180,
        "mark": { "type": "line", "strokeWidth": 1.5 },
        "encoding": {
            "x": { "field": "second", "type": "quantitative", "title": "s from the start of the load" },
            "y": along("value", unit, values),
            "color": { "field": "what", "type": "nominal", "sort": null, "title": null },
            "tooltip": [
                { "field": "what" }, { "field": "second", "type": "quantitative" },
                { "field": "value", "type": "quantitative" },
            ],
        },
    })
}

/// The greatest value of each stretch of seconds; a stretch without any value has none.
fn of_curve(points: &[Point], curve: &Curve) -> Vec<Vec<Value>> {
    let line = |stretch: std::ops::Range<usize>| {
        let second = points[stretch.start].second;
        let is_told = |value: &f64| curve.unit != "ms" || *value > 0.0;
        vec![json!(curve.name), json!(second), json!(Some(curve.greatest_within(stretch)).filter(is_told))]
    };
    stretches(points.len(), POINTS_MAX).map(line).collect()
}
