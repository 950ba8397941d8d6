//! Tables as GitHub shows them: GitHub Flavored Markdown §4.10.

use super::{Line, Table};

/// The first line, which no reader of the table sees.
const HEAD: &str = "<!-- Written by keytoll export. -->\n";

/// Whether a file that begins like this is ours.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    beginning.starts_with(HEAD.as_bytes())
}

/// The whole file.
pub(super) fn text(title: &str, tables: &[Table]) -> String {
    let tables: Vec<String> = tables.iter().map(table).collect();
    format!("{HEAD}\n# {}\n\n{}", escaped(title), tables.join("\n"))
}

fn table(shown: &Table) -> String {
    let heads = shown.names.iter().copied().chain(shown.columns.iter().map(|column| column.head.as_str()));
    let rules = shown.names.iter().map(|_| "---");
    let rules =
        rules.chain(shown.columns.iter().map(|column| if column.unit.is_empty() { "---" } else { "---:" }));
    let lines: String = shown.lines.iter().map(line).collect();
    let note = if shown.note.is_empty() { String::new() } else { format!("\n{}\n", escaped(&shown.note)) };
    format!(
        "## {}\n\n{}{}{lines}{note}",
        heading(shown),
        row(heads.map(escaped)),
        row(rules.map(str::to_owned))
    )
}

/// The unit, where all columns have the same and no head says it.
fn heading(shown: &Table) -> String {
    match super::common_unit(shown) {
        Some(unit) => format!("{}, {}", escaped(&shown.title), escaped(unit)),
        None => escaped(&shown.title),
    }
}

fn line(line: &Line) -> String {
    let cells = line.cells.iter().map(|cell| cell.shown.as_str());
    row(line.names.iter().map(String::as_str).chain(cells).map(escaped))
}

fn row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// What would be read as markup, or end a cell.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '|' | '#' | '~' => out.extend(['\\', letter]),
            '&' => out.push_str("&amp;"),
            letter if super::is_unfit(letter) => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
