//! Tables of the columns that the screen and the CSV files have, too.

use keytoll_analysis::summary::SummaryRow;
use keytoll_page::{Cell, Column, Table};

use super::rows::Rows;
use crate::columns::field::Field;
use crate::columns::{self, Medium, Value};

/// A table of the page about rows of a run: its caption, and the tables that its columns are from.
pub(super) type Of = (&'static str, &'static [&'static columns::Table]);

/// The table of a group; nothing if no row has a line in it. Columns that are empty in all rows are left out.
pub(super) fn of_rows(rows: &Rows<'_>, id: &str, (caption, tables): Of) -> Option<Table> {
    let is_told = |table: &&columns::Table| table.is_told(rows.summaries());
    if !tables.iter().any(is_told) {
        return None;
    }
    let is_cryptography_only = rows.summaries().any(SummaryRow::is_cryptography_only);
    let head =
        |of: &columns::Column<_>| plain(Medium::Page.head(of, is_cryptography_only), of.unit, of.meaning);
    let columns: Vec<Column> = columns::columns(tables, Medium::Page).map(head).collect();
    let lines: Vec<Vec<Cell>> =
        rows.rows.iter().flat_map(|row| lines(&row.label, row.summary, tables)).collect();
    let method = Column { head: "method".to_owned(), ..Column::default() };
    let columns = std::iter::once(method).chain(columns).collect();
    Some(without_empty(Table { id: rows.id(id), caption: caption.to_owned(), columns, lines }))
}

fn lines(label: &str, row: &SummaryRow, tables: &[&'static columns::Table]) -> Vec<Vec<Cell>> {
    let values = columns::values(tables, row, Medium::Page);
    values
        .into_iter()
        .map(|line| std::iter::once(text(label)).chain(line.iter().map(cell)).collect())
        .collect()
}

/// A column of a run as a column of the page.
pub(super) fn column<Of>(column: &columns::Column<Of>) -> Column {
    plain(column.head, column.unit, column.meaning)
}

/// A column of a CSV file as a column of the page.
pub(super) fn field<Of>(field: &Field<Of>) -> Column {
    plain(field.name, field.unit, field.meaning)
}

/// What is counted, which is no unit of measurement: its name is in the head or in the meaning.
const COUNTED: [&str; 11] = [
    "1",
    "attempts",
    "authentications",
    "cores",
    "devices",
    "inputs",
    "messages",
    "moves",
    "operations",
    "packets",
    "rekeyings",
];

/// A value as people and as programs read it.
pub(super) fn cell(value: &Value) -> Cell {
    Cell { shown: value.shown(), written: value.written(), is_published: false }
}

/// A name.
pub(super) fn text(text: &str) -> Cell {
    Cell { shown: text.to_owned(), written: text.to_owned(), is_published: false }
}

/// A number that is shown otherwise than it is written.
pub(super) fn number(shown: String, value: f64) -> Cell {
    Cell { shown, written: value.to_string(), is_published: false }
}

/// A column of names, or of numbers if it has a unit. A unit stands once, and what is counted beside no number.
pub(super) fn plain(head: &str, unit: &str, meaning: &str) -> Column {
    let shown = if COUNTED.contains(&unit) { "" } else { unit };
    let (head, shown) = match head.strip_suffix(shown).filter(|_| !shown.is_empty()) {
        Some(rest) if rest.ends_with(' ') => (rest.trim_end(), shown),
        Some(_) => (head, ""),
        None => (head, shown),
    };
    Column { head: head.into(), unit: shown.into(), meaning: meaning.into(), is_number: !unit.is_empty() }
}

/// The same table without columns that no line has anything in.
fn without_empty(table: Table) -> Table {
    let is_told = |place: &usize| table.lines.iter().any(|line| !line[*place].shown.is_empty());
    let told: Vec<usize> = (0..table.columns.len()).filter(is_told).collect();
    let kept = |line: &Vec<Cell>| told.iter().map(|&place| line[place].clone()).collect();
    let columns = told.iter().map(|&place| table.columns[place].clone()).collect();
    Table { columns, lines: table.lines.iter().map(kept).collect(), ..table }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_stands_once_and_what_is_counted_has_none() {
        let shown = |head, unit| {
            let column = plain(head, unit, "");
            (column.head, column.unit, column.is_number)
        };
        assert_eq!(shown("delay ms", "ms"), ("delay".into(), "ms".into(), true));
        assert_eq!(shown("ok/n", "authentications"), ("ok/n".into(), String::new(), true));
        assert_eq!(shown("µs", "µs"), ("µs".into(), String::new(), true));
        assert_eq!(shown("+bytes", "bytes"), ("+bytes".into(), String::new(), true));
        assert_eq!(shown("node", ""), ("node".into(), String::new(), false));
    }
}
