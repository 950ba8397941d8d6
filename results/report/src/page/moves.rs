//! Moves of the device to another address: how long until it is verified there, and reached.

use keytoll_analysis::summary::Delay;
use keytoll_page::{Block, Chart, Section};

use super::figure::{self, Frame, Spread};
use super::rows::{Row, Rows, counts};
use super::tables::{self, Of};
use crate::columns::moves;

const TABLE: Of = ("Moves of the device to another address", &[&moves::MOVES]);

/// The section; nothing without moves.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let table = tables::of_rows(rows, "moves-table", TABLE)?;
    let blocks = chart(rows).map(Block::Chart).into_iter().chain([Block::Table(table)]);
    let blocks = blocks.chain([Block::Note(moves::MOVES.note.to_owned())]).collect();
    Some(Section { id: rows.id("moves"), title: "Moves".to_owned(), blocks, sections: Vec::new() })
}

fn chart(rows: &Rows<'_>) -> Option<Chart> {
    let all: Vec<Spread> = rows.rows.iter().flat_map(of_row).collect();
    let note = format!(
        "From the announcement of another address until it was verified, and until the first packet arrived there. Point: median; thick: its \
         distribution-free 95 % interval; thin: 5th to 95th percentile. {}.",
        counts(all.iter().map(|it| it.n))
    );
    let title = "Moves to another address, ms".to_owned();
    figure::spreads(Frame { id: rows.id("moves-medians"), title, note, unit: "ms" }, &all)
}

fn of_row<'a>(row: &'a Row<'_>) -> impl Iterator<Item = Spread> + 'a {
    let spread = |(what, delay): (&str, Option<Delay>)| {
        let delay = delay?;
        let label = format!("{}, {what}", row.label);
        let (median, spread) = (delay.median(), Some((delay.p5, delay.p95)));
        Some(Spread { label, median, spread, n: delay.n, is_published: false })
    };
    let moves = row.summary.moves.iter();
    moves
        .flat_map(|moves| [("verified", moves.verified_ms), ("reached", moves.reached_ms)])
        .filter_map(spread)
}
