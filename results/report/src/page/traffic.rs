//! User traffic after the authentication: goodput in both directions, and what it costs.

use keytoll_page::{Block, Chart, Section};

use super::figure::{self, Bar, Frame};
use super::rows::{Row, Rows, counts};
use super::tables::{self, Of};
use crate::columns::traffic;

const TABLE: Of = ("Traffic through the SAs, or past them", &[&traffic::TRAFFIC]);

/// The section; nothing without traffic.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let table = tables::of_rows(rows, "traffic-table", TABLE)?;
    let blocks = goodput(rows).map(Block::Chart).into_iter().chain([Block::Table(table)]);
    let blocks = blocks.chain([Block::Note(traffic::TRAFFIC.note.to_owned())]).collect();
    Some(Section { id: rows.id("traffic"), title: "Traffic".to_owned(), blocks, sections: Vec::new() })
}

fn goodput(rows: &Rows<'_>) -> Option<Chart> {
    let bars: Vec<Bar> = rows.rows.iter().flat_map(of_row).collect();
    let note = format!(
        "New data of users that arrived: up at the gateway or access point, down at the device. Means with their 95 % intervals \
         (Student t). {}.",
        counts(bars.iter().filter_map(|bar| bar.n))
    );
    let title = "Goodput, Mbit/s".to_owned();
    figure::grouped(Frame { id: rows.id("goodput"), title, note, unit: "Mbit/s" }, &bars)
}

fn of_row<'a>(row: &'a Row<'_>) -> impl Iterator<Item = Bar> + 'a {
    let ways = row.summary.traffic.iter().flat_map(|traffic| traffic.goodput_mbit_s.iter());
    ways.map(|(way, measure)| Bar {
        label: row.label.clone(),
        part: way.to_owned(),
        value: measure.mean,
        interval: measure.ci95_low.zip(measure.ci95_high),
        n: Some(measure.n),
    })
}
