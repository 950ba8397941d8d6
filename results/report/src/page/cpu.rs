//! The CPU time of each node, stacked by operation.

use keytoll_analysis::composition::{OTHERS, Part, cpu_by_operation, names};
use keytoll_analysis::summary::SummaryRow;
use keytoll_page::{Block, Cell, Chart, Section, Table};

use super::figure::{self, Bar, Frame};
use super::rows::{Rows, counts};
use super::tables::{self, Of, number, text};
use crate::columns::nodes;
use crate::number;

const TABLE: Of = ("CPU time and memory of each node", &[&nodes::CPU, &nodes::MEMORY]);

/// Operations with a colour of their own.
const NAMED_MAX: usize = 7;

/// The section; nothing where no CPU time was measured.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let summaries: Vec<&SummaryRow> = rows.summaries().collect();
    let parts = cpu_by_operation(&summaries, NAMED_MAX);
    let names = names(&parts);
    let charts =
        nodes(&parts).into_iter().filter_map(|node| chart(rows, node, &parts, &names)).map(Block::Chart);
    let table = tables::of_rows(rows, "cpu-table", TABLE)?;
    let operations = operations(rows).map(Block::Table);
    let operations =
        operations.map(|table| Block::Details("Every operation of every node".to_owned(), vec![table]));
    let blocks = charts.chain([Block::Table(table)]).chain(operations).collect();
    Some(Section { id: rows.id("cpu"), title: "CPU time".to_owned(), blocks, sections: Vec::new() })
}

/// The nodes in order of appearance.
fn nodes<'a>(parts: &[Part<'a>]) -> Vec<&'a str> {
    let mut nodes: Vec<&str> = Vec::new();
    for part in parts {
        if !nodes.contains(&part.node) {
            nodes.push(part.node);
        }
    }
    nodes
}

fn chart(rows: &Rows<'_>, node: &str, parts: &[Part<'_>], names: &[String]) -> Option<Chart> {
    let of_node = parts.iter().filter(|part| part.node == node);
    let bar = |part: &Part<'_>| Bar {
        label: rows.label(part.row).to_owned(),
        part: part.name.clone(),
        value: part.ns / 1e3,
        interval: None,
        n: Some(part.n),
    };
    let bars: Vec<Bar> = of_node.map(bar).collect();
    let disturbed: u64 = rows.summaries().map(|row| row.disturbed).sum();
    let disturbed = match disturbed {
        0 => String::new(),
        count => format!(" Operations are also those of {count} during which the driver lost the CPU."),
    };
    let merged = if bars.iter().any(|bar| bar.part == OTHERS) {
        format!(" {OTHERS} are those that take least; the table of every operation has each.")
    } else {
        String::new()
    };
    let note = format!(
        "CPU time of this machine, means, so that the parts add up, and whose outliers they have; medians with their intervals are in the table. \
         {}.{disturbed}{merged}",
        counts(bars.iter().filter_map(|bar| bar.n))
    );
    let title = format!("CPU time of an authentication at {node}, by operation, µs");
    figure::stacked(Frame { id: rows.id(&format!("cpu-{node}")), title, note, unit: "µs" }, &bars, names)
}

/// The operations as they were counted.
fn operations(rows: &Rows<'_>) -> Option<Table> {
    let columns = [
        ("method", "", ""),
        ("node", "", ""),
        ("part", "", "of the authentication, or after its outcome"),
        ("phase", "", "the phase of the protocol"),
        ("operation", "", ""),
        ("algorithm", "", ""),
        ("times", "operations", "how often in one authentication, mean"),
        ("µs", "µs", "their time on this machine together, mean"),
    ];
    let lines: Vec<Vec<Cell>> = rows.rows.iter().flat_map(|row| of_row(&row.label, row.summary)).collect();
    let columns = columns.map(|(head, unit, meaning)| tables::plain(head, unit, meaning)).to_vec();
    let caption = "Operations of each node, means of an authentication".to_owned();
    (!lines.is_empty()).then(|| Table { id: rows.id("operations"), caption, columns, lines })
}

fn of_row<'a>(label: &'a str, row: &'a SummaryRow) -> impl Iterator<Item = Vec<Cell>> + 'a {
    row.operations.iter().flat_map(move |(node, operations)| {
        operations.iter().map(move |it| {
            let names = [
                label,
                node,
                it.part.as_deref().unwrap_or_default(),
                &it.phase,
                &it.operation,
                &it.algorithm,
            ]
            .map(text);
            let us = it.ns / 1e3;
            let numbers = [number(number::plain(it.count), it.count), number(number::plain(us), us)];
            names.into_iter().chain(numbers).collect()
        })
    })
}
