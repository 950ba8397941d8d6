//! What goes over each link: bytes by direction, messages, packets.

use keytoll_analysis::metrics::Tally;
use keytoll_analysis::trace::{Link, Node};
use keytoll_page::{Block, Chart, Section};

use super::figure::{self, Bar, Frame};
use super::rows::{Rows, counts};
use super::tables::{self, Of};
use crate::columns::links;

const TABLE: Of =
    ("Messages, packets and bytes on each link, means of an authentication", &[&links::MESSAGES]);

/// The section; nothing without links.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let table = tables::of_rows(rows, "links-table", TABLE)?;
    let charts = links(rows).into_iter().filter_map(|link| chart(rows, link)).map(Block::Chart);
    let blocks = charts.chain([Block::Table(table)]).collect();
    Some(Section {
        id: rows.id("links"),
        title: "Bytes on the links".to_owned(),
        blocks,
        sections: Vec::new(),
    })
}

/// The links in their order from the device on.
fn links(rows: &Rows<'_>) -> Vec<Link> {
    let all = rows.rows.iter().filter_map(|row| row.found).flat_map(|found| found.tally.bytes_from.keys());
    let mut links: Vec<Link> = all.map(|(link, _)| *link).collect();
    links.sort();
    links.dedup();
    links
}

fn chart(rows: &Rows<'_>, link: Link) -> Option<Chart> {
    let found = rows.rows.iter().filter_map(|row| Some((&row.label, &row.found?.tally)));
    let bars: Vec<Bar> = found.flat_map(|(label, tally)| of_row(label, tally, link)).collect();
    let parts = [(link.0, link.1), (link.1, link.0)].map(way);
    let note = format!(
        "IP packets with their headers, retransmissions included, until the outcome; means. {}.",
        counts(bars.iter().filter_map(|bar| bar.n))
    );
    let title =
        format!("Bytes of an authentication between {} and {}, by direction", link.0.name(), link.1.name());
    figure::stacked(
        Frame { id: rows.id(&format!("bytes-{}", link.name())), title, note, unit: "bytes" },
        &bars,
        &parts,
    )
}

fn of_row(label: &str, tally: &Tally, link: Link) -> impl Iterator<Item = Bar> {
    let bar = |(from, to): (Node, Node)| {
        let bytes = tally.bytes_from_mean(link, from)?;
        let part = way((from, to));
        Some(Bar { label: label.to_owned(), part, value: bytes, interval: None, n: Some(tally.n) })
    };
    [(link.0, link.1), (link.1, link.0)].map(bar).into_iter().flatten()
}

/// `ue to gw`.
fn way((from, to): (Node, Node)) -> String {
    format!("{} to {}", from.name(), to.name())
}
