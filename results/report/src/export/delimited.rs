//! One CSV for all tables: a line for each number, so that tables with different columns stand in one file.

use super::{Cell, Column, Line, ROW, Table, in_cell};

/// What every line has besides what names the row.
const REST: [&str; 9] = ["line", "column", "unit", "value", "low", "high", "basis", "source", "table"];

/// Whether a file that begins like this has these columns.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    let names: Vec<&str> = ROW.iter().chain(&REST).copied().collect();
    beginning.starts_with((names.join(",") + "\n").as_bytes())
}

/// The whole file.
pub(super) fn text(tables: &[Table]) -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    // Memory takes everything that is written.
    let _ = csv.write_record(ROW.iter().chain(&REST));
    for table in tables {
        for line in &table.lines {
            let told = line.cells.iter().zip(&table.columns).filter(|(cell, _)| !cell.is_empty());
            told.for_each(|(cell, column)| drop(csv.write_record(record(table, line, column, cell))));
        }
    }
    String::from_utf8(csv.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn record(table: &Table, line: &Line, column: &Column, cell: &Cell) -> Vec<String> {
    let named = |head: &str| {
        let place = table.names.iter().position(|name| *name == head);
        place.map_or_else(String::new, |place| in_cell(&line.names[place]).into_owned())
    };
    let others = table.names.iter().zip(&line.names).filter(|(head, _)| !ROW.contains(*head));
    let others: Vec<&str> = others.map(|(_, name)| name.as_str()).collect();
    let (low, high) = cell.interval().map(|(low, high)| (low.to_string(), high.to_string())).unzip();
    let rest = [
        in_cell(&others.join(" ")).into_owned(),
        column.head.clone(),
        column.unit.clone(),
        cell.value.written(),
        low.unwrap_or_default(),
        high.unwrap_or_default(),
        cell.basis.to_owned(),
        in_cell(&cell.source).into_owned(),
        in_cell(&table.title).into_owned(),
    ];
    ROW.map(named).into_iter().chain(rest).collect()
}
