//! Heap of each node: at its highest, and what an idle SA keeps.

use keytoll_analysis::summary::Memory;
use keytoll_page::{Block, Chart, Section};

use super::figure::{self, Bar, Frame};
use super::rows::Rows;

/// The section; nothing where no heap was measured. The figures are in the table of CPU time and memory.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let charts = [
        chart(rows, "memory-peak", PEAK, "KiB", |memory| Some(memory.peak? as f64 / 1024.0)),
        chart(rows, "memory-idle", IDLE, "bytes", |memory| memory.idle_sa),
    ];
    let blocks: Vec<Block> = charts.into_iter().flatten().map(Block::Chart).collect();
    let section = Section { id: rows.id("memory"), title: "Memory".to_owned(), blocks, sections: Vec::new() };
    (!section.blocks.is_empty()).then_some(section)
}

/// A title, and how it is measured.
type Of = (&'static str, &'static str);

const PEAK: Of = (
    "Heap of each node, KiB",
    "The highest use during start and the first authentication: one value a row, exact and without an interval.",
);
const IDLE: Of = (
    "Heap of an idle pair of SAs at each node, bytes",
    "What a pair of SAs keeps while nothing happens: the median of those measured, which differ little.",
);

fn chart(
    rows: &Rows<'_>,
    id: &str,
    (title, note): Of,
    unit: &'static str,
    of: fn(&Memory) -> Option<f64>,
) -> Option<Chart> {
    let nodes = rows.rows.iter().flat_map(|row| row.summary.memory_bytes.iter().map(move |node| (row, node)));
    let bars: Vec<Bar> = nodes
        .filter_map(|(row, (node, memory))| {
            let (label, part) = (row.label.clone(), node.to_owned());
            Some(Bar { label, part, value: of(memory)?, interval: None, n: None })
        })
        .collect();
    figure::grouped(Frame { id: rows.id(id), title: title.to_owned(), note: note.to_owned(), unit }, &bars)
}
