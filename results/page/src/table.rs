//! Tables. What a cell's CSV file has is written beside what is shown wherever they differ.

use std::io::{self, Write};

use crate::blocks::{meanings, remark};
use crate::model::{Cell, Column, Hop, Ladder, Table};
use crate::text::{Escaped, anchor};

pub(crate) fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let (id, caption) = (anchor(&table.id), Escaped(&table.caption));
    writeln!(out, r#"<div class="table" id="{id}"><p class="caption" id="{id}-caption">{caption}</p>"#)?;
    writeln!(out, r#"<div class="scroll" role="group" aria-labelledby="{id}-caption" tabindex="0">"#)?;
    writeln!(out, r#"<table aria-labelledby="{id}-caption">"#)?;
    writeln!(out, "<thead><tr>")?;
    table.columns.iter().try_for_each(|column| head(column, out))?;
    writeln!(out, "</tr></thead><tbody>")?;
    table.lines.iter().try_for_each(|cells| line(&table.columns, cells, out))?;
    writeln!(out, "</tbody></table></div>")?;
    key(&table.lines, out)?;
    legend(&table.columns, out)?;
    writeln!(out, "</div>")
}

/// What the colour of published values means, where there are any.
fn key(lines: &[Vec<Cell>], out: &mut dyn Write) -> io::Result<()> {
    if !lines.iter().flatten().any(|cell| cell.is_published) {
        return Ok(());
    }
    writeln!(
        out,
        r#"<p class="note"><span class="p">Slanted and in this colour</span>: published values.</p>"#
    )
}

fn head(column: &Column, out: &mut dyn Write) -> io::Result<()> {
    let class = if column.is_number { r#" class="n""# } else { "" };
    write!(out, r#"<th scope="col"{class}>{}"#, Escaped(&column.head))?;
    if !column.unit.is_empty() {
        write!(out, r#" <span class="unit">{}</span>"#, Escaped(&column.unit))?;
    }
    writeln!(out, "</th>")
}

/// The first cell of a line is its head.
fn line(columns: &[Column], cells: &[Cell], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<tr>")?;
    for (place, cell) in cells.iter().enumerate() {
        let (begin, end) = if place == 0 { (r#"th scope="row""#, "th") } else { ("td", "td") };
        write!(out, "<{begin}")?;
        attributes(columns.get(place), cell, out)?;
        write!(out, ">{}</{end}>", Escaped(&cell.shown))?;
    }
    writeln!(out, "</tr>")
}

fn attributes(column: Option<&Column>, cell: &Cell, out: &mut dyn Write) -> io::Result<()> {
    match (column.is_some_and(|column| column.is_number), cell.is_published) {
        (true, true) => write!(out, r#" class="n p""#)?,
        (true, false) => write!(out, r#" class="n""#)?,
        (false, true) => write!(out, r#" class="p""#)?,
        (false, false) => {}
    }
    if cell.written == cell.shown {
        return Ok(());
    }
    write!(out, r#" data-written="{}""#, Escaped(&cell.written))
}

/// The meanings of the columns that have one.
fn legend(columns: &[Column], out: &mut dyn Write) -> io::Result<()> {
    let meant = columns.iter().filter(|column| !column.meaning.is_empty());
    let meant: Vec<_> = meant.map(|column| (column.head.clone(), column.meaning.clone())).collect();
    if meant.is_empty() {
        return Ok(());
    }
    writeln!(out, r#"<details class="legend"><summary>What the columns mean</summary>"#)?;
    meanings("meanings", &meant, out)?;
    writeln!(out, "</details>")
}

/// The messages of a ladder, for those who cannot see it, and as its CSV file.
pub(crate) fn of_ladder(ladder: &Ladder) -> Table {
    let column = |head: &str, unit: &str, is_number| Column {
        head: head.to_owned(),
        unit: unit.to_owned(),
        meaning: String::new(),
        is_number,
    };
    Table {
        id: format!("{}-table", ladder.id),
        caption: ladder.title.clone(),
        columns: vec![
            column("message", "", false),
            column("from", "", false),
            column("to", "", false),
            column("sent", "ms", true),
            column("arrived", "ms", true),
            column("size", "bytes", true),
            column("remark", "", false),
        ],
        lines: ladder.hops.iter().map(|hop| of_hop(&ladder.nodes, hop)).collect(),
    }
}

fn of_hop(nodes: &[String], hop: &Hop) -> Vec<Cell> {
    let text = |text: &str| Cell { shown: text.to_owned(), written: text.to_owned(), is_published: false };
    let time = |ms: Option<f64>| Cell {
        shown: ms.map(|ms| format!("{ms:.2}")).unwrap_or_default(),
        written: ms.map(|ms| ms.to_string()).unwrap_or_default(),
        is_published: false,
    };
    let node = |place: usize| text(nodes.get(place).map_or("", String::as_str));
    vec![
        text(&hop.label),
        node(hop.from),
        node(hop.to),
        time(Some(hop.sent_ms)),
        time(hop.arrived_ms),
        text(&hop.bytes.to_string()),
        text(remark(hop)),
    ]
}
