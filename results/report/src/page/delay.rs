//! How long an authentication takes: medians, the whole distribution, and what the time is made of.

use keytoll_analysis::metrics::Tally;
use keytoll_analysis::metrics::times::{DELAY, DELAY_WITHOUT_REPEATS, Time};
use keytoll_page::{Block, Chart, Section};
use serde_json::{Value, json};

use super::figure::{self, Bar, Frame, SERIES_MAX, Spread, along, columns, spec};
use super::rows::{Row, Rows, counts};
use super::tables::{self, Of};
use crate::columns::authentication;
use crate::number::plain;

const TABLE: Of = ("Delay of an authentication", &[&authentication::DELAY]);

/// Points of the distribution of a row.
const POINTS_MAX: usize = 400;

/// Nanoseconds.
const MS: f64 = 1e6;

/// The section; nothing without any delay.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let charts = [medians(rows), distribution(rows), split(rows)];
    let table = tables::of_rows(rows, "delay-table", TABLE);
    let blocks = charts.into_iter().flatten().map(Block::Chart).chain(table.map(Block::Table));
    let blocks: Vec<Block> = blocks.collect();
    let section = Section { id: rows.id("delay"), title: "Delay".to_owned(), blocks, sections: Vec::new() };
    (!section.blocks.is_empty()).then_some(section)
}

fn medians(rows: &Rows<'_>) -> Option<Chart> {
    let of_row = |row: &Row<'_>| {
        let delay = row.summary.delay_ms?;
        let (median, spread) = (delay.median(), Some((delay.p5, delay.p95)));
        Some(Spread { label: row.label.clone(), median, spread, n: delay.n, is_published: false })
    };
    let all: Vec<Spread> = rows.rows.iter().filter_map(of_row).collect();
    let note = format!(
        "From the trigger to a usable SA, of those established. Point: median; thick: its distribution-free 95 % interval; thin: 5th to 95th \
         percentile. {}.",
        counts(all.iter().map(|it| it.n))
    );
    let title = "Delay of an authentication, ms".to_owned();
    figure::spreads(Frame { id: rows.id("delay-medians"), title, note, unit: "ms" }, &all)
}

/// The words of the legend.
const ALL: &str = "all";
const PROMPT: &str = "of those alone that did not wait for a repeated message";

/// The distribution functions of all rows; where some waited until a message was sent again, also without these.
fn distribution(rows: &Rows<'_>) -> Option<Chart> {
    let lines: Vec<Vec<Value>> = rows.rows.iter().flat_map(of_row).collect();
    let values: Vec<f64> = lines.iter().filter_map(|line| line[2].as_f64()).collect();
    let has_waits = lines.iter().any(|line| line[1] == PROMPT);
    let established = rows.rows.iter().filter_map(|row| row.summary.delay_ms);
    let instead = rows.rows.iter().filter_map(|row| {
        let delay = row.summary.delay_ms?;
        Some(format!(
            "{}: p5 {}, p50 {}, p95 {} ms",
            row.label,
            plain(delay.p5),
            plain(delay.p50),
            plain(delay.p95)
        ))
    });
    let instead = instead.collect::<Vec<_>>().join("; ");
    (!lines.is_empty()).then(|| Chart {
        id: rows.id("delay-distribution"),
        title: "Distribution of the delay: the share of authentications established within so many ms"
            .to_owned(),
        description: format!("Distribution functions of the delay. {instead}."),
        note: format!("{} {}.", about_waits(rows), counts(established.map(|delay| delay.n))),
        spec: spec(curves(&values, has_waits, rows)),
        columns: columns(&["row", "which", "delay_ms", "share"]),
        lines,
        instead,
    })
}

/// How many waited until a message was sent again, and how they are told apart.
fn about_waits(rows: &Rows<'_>) -> String {
    let tallies = || rows.rows.iter().filter_map(|row| row.found).map(|found| &found.tally);
    let n = |time: &Time| tallies().map(|tally| tally.times.get(time).moments().n()).sum::<u64>();
    let (all, prompt) = (n(&DELAY), n(&DELAY_WITHOUT_REPEATS));
    match all - prompt {
        0 => "Nobody waited until a message was sent again.".to_owned(),
        waited => format!(
            "{waited} of all {all} waited until a message was sent again, because a packet was lost or nobody had answered. Dashed: the \
             distribution of the others alone; the distance between the two lines is what these waits do."
        ),
    }
}

/// Lines of all rows in one chart, or a chart for each row where there are more rows than colours.
fn curves(values: &[f64], has_waits: bool, rows: &Rows<'_>) -> Value {
    let is_apart = rows.rows.len() > SERIES_MAX;
    // Small charts stand in the order of their names unless another is said.
    let order: Vec<&str> = rows.rows.iter().map(|row| row.label.as_str()).collect();
    let colour = json!({ "field": "row", "type": "nominal", "sort": null, "title": null });
    let facet = json!({ "field": "row", "type": "nominal", "sort": order, "title": null, "columns": 3 });
    let (channel, of_row) = if is_apart { ("facet", facet) } else { ("color", colour) };
    let legend = if has_waits { json!({ "title": null }) } else { Value::Null };
    json!({
        "height": if is_apart { 110 } else { 260 },
        "mark": { "type": "line", "interpolate": "step-after", "strokeWidth": 1.5 },
        "encoding": {
            "x": along("delay_ms", "ms", values),
            "y": { "field": "share", "type": "quantitative", "title": "share", "scale": { "domain": [0, 1] } },
            channel: of_row,
            "strokeDash": { "field": "which", "type": "nominal", "sort": [ALL, PROMPT], "legend": legend },
            "tooltip": [
                { "field": "row" }, { "field": "which" },
                { "field": "delay_ms", "type": "quantitative" }, { "field": "share", "type": "quantitative" },
            ],
        },
    })
}

fn of_row(row: &Row<'_>) -> Vec<Vec<Value>> {
    let Some(tally) = row.found.map(|found| &found.tally) else { return Vec::new() };
    let n = |time: &Time| tally.times.get(time).moments().n();
    let has_waits = n(&DELAY_WITHOUT_REPEATS) < n(&DELAY);
    let of = |which: &str, time: &Time| curve(&row.label, which, tally, time);
    let prompt = if has_waits { of(PROMPT, &DELAY_WITHOUT_REPEATS) } else { Vec::new() };
    of(ALL, &DELAY).into_iter().chain(prompt).collect()
}

fn curve(label: &str, which: &str, tally: &Tally, time: &Time) -> Vec<Vec<Value>> {
    let points = tally.times.get(time).curve(POINTS_MAX);
    let line = |(share, ns): (f64, f64)| vec![json!(label), json!(which), json!(ns / MS), json!(share)];
    points.into_iter().map(line).collect()
}

/// The parts of the delay.
fn split(rows: &Rows<'_>) -> Option<Chart> {
    let of_row = |row: &Row<'_>| {
        let split = row.summary.delay_split_p50_ms?;
        let n = row.summary.delay_ms.map(|delay| delay.n);
        let part = |(part, value): (&str, f64)| Bar {
            label: row.label.clone(),
            part: part.to_owned(),
            value,
            interval: None,
            n,
        };
        Some(
            [("network", split.network), ("computation", split.computation), ("waiting", split.waiting)]
                .map(part),
        )
    };
    let bars: Vec<Bar> = rows.rows.iter().filter_map(of_row).flatten().collect();
    let note = format!("{SPLIT} {}.", counts(bars.iter().filter_map(|bar| bar.n)));
    let title = "What the delay is made of, medians of each part, ms".to_owned();
    let parts = figure::parts_of(bars.iter().map(|bar| bar.part.as_str()));
    figure::stacked(Frame { id: rows.id("delay-parts"), title, note, unit: "ms" }, &bars, &parts)
}

/// What the parts mean.
pub(super) const SPLIT: &str = "network: a datagram that arrived was under way; computation: none was, and a node was computing; waiting: neither, \
                                so timers ran or a datagram was lost. Medians of the parts need not add up to the median of the delay.";
