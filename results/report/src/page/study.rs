//! A study: the paper's findings with their verdicts, then each of its figures as a chart and as a table, published beside measured.

use keytoll_analysis::study::{Account, Figure, Finding, Line, Table};
use keytoll_page::{self as page, Block, Cell, Chart, Column, Section};
use serde_json::{Value, json};

use super::anchor;
use super::figure::{along, columns, named, of_rows, of_sources, parts_of, source, spec};
use crate::number::printed;
use crate::study::{LEGEND, criterion, evidence, figure, headline, tally, title};

/// The section of a study.
pub fn study(account: &Account) -> Section {
    let id = format!("study-{}", anchor(&account.study));
    let about = [
        Block::Text(format!("{}. {}.", headline(account), account.source.trim_end_matches('.'))),
        Block::Text(tally(account)),
        Block::Note(LEGEND.to_owned()),
    ];
    let findings = Section {
        id: format!("{id}-findings"),
        title: "What the paper found, and whether it holds here".to_owned(),
        blocks: vec![Block::Meanings(account.findings.iter().map(judged).collect())],
        sections: Vec::new(),
    };
    let figures = account.tables.iter().enumerate().map(|(place, table)| figures(&id, place, table));
    let notes = Section {
        id: format!("{id}-notes"),
        title: "Notes of the study".to_owned(),
        blocks: account.notes.iter().cloned().map(Block::Note).collect(),
        sections: Vec::new(),
    };
    let is_told = |section: &Section| !section.blocks.is_empty();
    let sections = std::iter::once(findings).chain(figures).chain([notes]).filter(is_told).collect();
    Section { id, title: account.title.clone(), blocks: about.to_vec(), sections }
}

/// The verdict; the claim, and what it is judged by.
fn judged(finding: &Finding) -> (String, String) {
    let evidence = evidence(finding);
    let here = if evidence.is_empty() { String::new() } else { format!(" Here: {evidence}.") };
    (finding.verdict_words(), format!("{} {}{here}", finding.claim, criterion(finding)))
}

/// A figure or table of the paper.
fn figures(id: &str, place: usize, shown: &Table) -> Section {
    let id = format!("{id}-{}", place + 1);
    let chart = chart(&id, shown).map(Block::Chart);
    let blocks = chart.into_iter().chain([Block::Table(table(&id, shown))]).collect();
    Section { title: title(shown), blocks, id, sections: Vec::new() }
}

fn table(id: &str, shown: &Table) -> page::Table {
    let name = Column { head: "of".to_owned(), ..Column::default() };
    let column = |head: &String| Column {
        head: head.clone(),
        unit: shown.unit.clone(),
        meaning: String::new(),
        is_number: true,
    };
    let line = |line: &Line| {
        let label = super::tables::text(line.label.trim());
        std::iter::once(label).chain(line.cells.iter().map(|cell| self::cell(cell.as_ref()))).collect()
    };
    page::Table {
        id: format!("{id}-table"),
        caption: format!("All figures, {}", shown.unit),
        columns: std::iter::once(name).chain(shown.columns.iter().map(column)).collect(),
        lines: shown.lines.iter().map(line).collect(),
    }
}

fn cell(of: Option<&Figure>) -> Cell {
    let Some(of) = of else { return Cell { shown: "–".to_owned(), ..Cell::default() } };
    let written = printed(of.value, of.decimals);
    Cell { shown: figure(of), written, is_published: of.basis.is_published() }
}

/// A point of the chart: one of the columns of a line.
struct Point<'a> {
    line: &'a Line,
    column: &'a str,
    figure: &'a Figure,
}

/// The first column and whatever the paper has as points, those of the paper in a colour and a shape of their own. Figures of another time may be
/// far from ours: then the scale is logarithmic.
fn chart(id: &str, shown: &Table) -> Option<Chart> {
    let points: Vec<Point<'_>> = shown.lines.iter().flat_map(|line| points(shown, line)).collect();
    let ends = |it: &Figure| [Some(it.value), it.low, it.high];
    let values: Vec<f64> = points.iter().flat_map(|point| ends(point.figure)).flatten().collect();
    let has_published = points.iter().any(|point| point.figure.basis.is_published());
    let fields = ["value", "low", "high"].map(|name| named(name, &shown.unit));
    let [value, low, high] = &fields;
    let told =
        points.iter().map(|it| format!("{}, {}: {}", it.line.label.trim(), it.column, figure(it.figure)));
    let instead = told.collect::<Vec<_>>().join("; ");
    let columns_drawn = points.iter().map(|point| point.column);
    let drawn = parts_of(columns_drawn);
    let beside = if has_published { " beside what was published" } else { "" };
    (!points.is_empty()).then(|| Chart {
        id: format!("{id}-chart"),
        title: format!("This run ({}){beside}, {}", shown.columns.first().map_or("", String::as_str), shown.unit),
        description: format!("{}: {instead}.", title(shown)),
        note: "Lines: 95 % intervals of what this run measured. What the paper says has a colour and a shape of its own.".to_owned(),
        spec: spec(of_points(&fields, (&shown.unit, drawn.len()), &values, has_published)),
        columns: columns(&["row", "column", "source", "basis", value, low, high]),
        lines: points.iter().map(point_line).collect(),
        instead,
    })
}

fn points<'a>(shown: &'a Table, line: &'a Line) -> impl Iterator<Item = Point<'a>> {
    let cells = shown.columns.iter().zip(&line.cells);
    let is_drawn = |(place, point): &(usize, Point<'_>)| *place == 0 || point.figure.basis.is_published();
    let points = cells.enumerate().filter_map(move |(place, (column, cell))| {
        Some((place, Point { line, column, figure: cell.as_ref()? }))
    });
    points.filter(is_drawn).map(|(_, point)| point)
}

fn point_line(it: &Point<'_>) -> Vec<Value> {
    let Figure { value, low, high, basis, .. } = it.figure;
    let label = it.line.label.trim();
    vec![
        json!(label),
        json!(it.column),
        json!(source(basis.is_published())),
        json!(basis.name()),
        json!(value),
        json!(low),
        json!(high),
    ]
}

fn of_points(
    [value, low, high]: &[String; 3],
    (unit, columns): (&str, usize),
    values: &[f64],
    has_published: bool,
) -> Value {
    let x = |field: &str| along(field, unit, values);
    let tip = |field: &str| json!({ "field": field, "type": "quantitative" });
    let step = 12 * columns + 10;
    let legend = if has_published { json!({ "title": null }) } else { Value::Null };
    json!({
        "height": { "step": step, "for": "position" },
        "encoding": {
            "y": of_rows(),
            "yOffset": { "field": "column", "type": "nominal", "sort": null },
            "color": of_sources(has_published),
            "tooltip": [
                { "field": "row" }, { "field": "column" }, { "field": "basis" }, tip(value), tip(low), tip(high),
            ],
        },
        "layer": [
            { "mark": { "type": "rule", "strokeWidth": 2 }, "encoding": { "x": x(low), "x2": { "field": high } } },
            {
                "mark": { "type": "point", "filled": true, "opacity": 1, "size": 55 },
                "encoding": {
                    "x": x(value),
                    "shape": {
                        "field": "source", "type": "nominal", "legend": legend,
                        "scale": { "domain": ["measured", "published"], "range": ["circle", "diamond"] },
                    },
                },
            },
        ],
    })
}
