//! The messages of each row: as a ladder of one authentication, and as a table of their kinds.

use keytoll_analysis::RowFindings;
use keytoll_analysis::metrics::{Hop, Ladder as Kept, MessageKind, Outcome};
use keytoll_analysis::trace::Node;
use keytoll_page::{Block, Cell, Ladder, Section, Table};

use super::rows::{Row, Rows};
use super::tables::{cell, field, text};
use crate::columns::kinds::MESSAGES;
use crate::number::counted;

/// So many ladders are open at once; more are folded, each under the name of its row.
const OPEN_MAX: usize = 3;

/// The section; nothing without messages.
pub(super) fn section(rows: &Rows<'_>) -> Option<Section> {
    let ladders: Vec<(&Row<'_>, Ladder)> =
        rows.rows.iter().filter_map(|row| Some((row, ladder(rows, row)?))).collect();
    let is_open = ladders.len() <= OPEN_MAX;
    let block = |(row, ladder): (&Row<'_>, Ladder)| match is_open {
        true => Block::Ladder(ladder),
        false => Block::Details(row.label.clone(), vec![Block::Ladder(ladder)]),
    };
    let table = kinds(rows)
        .map(|table| Block::Details("Every kind of message".to_owned(), vec![Block::Table(table)]));
    let blocks: Vec<Block> = ladders.into_iter().map(block).chain(table).collect();
    let section =
        Section { id: rows.id("messages"), title: "Messages".to_owned(), blocks, sections: Vec::new() };
    (!section.blocks.is_empty()).then_some(section)
}

fn ladder(rows: &Rows<'_>, row: &Row<'_>) -> Option<Ladder> {
    let kept = row.found?.tally.ladder.as_ref()?;
    let nodes: Vec<Node> = Node::ALL
        .into_iter()
        .filter(|node| kept.hops.iter().any(|hop| hop.from == *node || hop.to == *node))
        .collect();
    (!kept.hops.is_empty()).then(|| Ladder {
        id: rows.id(&format!("ladder-{}", row.label)),
        title: format!("Messages of {}", row.label),
        nodes: nodes.iter().map(|node| node.name().to_owned()).collect(),
        hops: kept.hops.iter().map(|hop| step(hop, &nodes)).collect(),
        note: note(kept),
    })
}

fn step(hop: &Hop, nodes: &[Node]) -> keytoll_page::Hop {
    let place = |node: Node| nodes.iter().position(|known| *known == node).unwrap_or_default();
    let ms = |ns: u64| ns as f64 / 1e6;
    keytoll_page::Hop {
        from: place(hop.from),
        to: place(hop.to),
        sent_ms: ms(hop.sent_ns),
        arrived_ms: hop.arrived_ns.map(ms),
        label: hop.name(),
        bytes: hop.bytes,
        is_repeated: hop.is_repeated(),
    }
}

fn note(kept: &Kept) -> String {
    let which = match &kept.outcome {
        Outcome::Established => format!("Authentication {}, the first that was established", kept.sample),
        Outcome::Failed { why } => {
            format!("Authentication {}, which failed, as all did ({why})", kept.sample)
        }
        Outcome::Unfinished => format!("Authentication {}, which has no outcome, as all", kept.sample),
    };
    let more = match kept.left_out {
        0 => String::new(),
        more => format!(" {} more are not drawn.", counted(more, "datagram")),
    };
    format!(
        "{which}: what went over each link until its outcome. Times are from the trigger on, bytes are those on the link.{more}"
    )
}

/// The kinds of messages of all rows.
fn kinds(rows: &Rows<'_>) -> Option<Table> {
    let found = rows.rows.iter().filter_map(|row| Some((row.label.as_str(), row.found?)));
    let lines: Vec<Vec<Cell>> = found.flat_map(|(label, found)| of_row(label, found)).collect();
    let method = super::tables::plain("method", "", "");
    let columns = std::iter::once(method).chain(MESSAGES.iter().map(field)).collect();
    let caption = "Messages by kind, as in messages.csv".to_owned();
    (!lines.is_empty()).then(|| Table { id: rows.id("kinds"), caption, columns, lines })
}

fn of_row<'a>(label: &'a str, found: &'a RowFindings) -> impl Iterator<Item = Vec<Cell>> + 'a {
    let line = move |(order, kind): (u64, &MessageKind)| {
        let cells = MESSAGES.iter().map(|field| cell(&(field.of)(found, order, kind)));
        std::iter::once(text(label)).chain(cells).collect()
    };
    (1..).zip(found.tally.messages.kinds()).map(line)
}
