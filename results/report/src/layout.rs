//! Tables and paragraphs in a fixed number of columns.

use std::io::{self, Write};

/// Head of a column, and whether it is aligned to the right.
pub(crate) type Head<'a> = (&'a str, bool);

/// A line of a table: its cells, or a text across all columns.
pub(crate) enum Line {
    /// One for each column.
    Cells(Vec<String>),
    /// Across all of them.
    Text(String),
}

/// Writes lines with columns as wide as their widest cell, two blanks apart.
pub(crate) fn table(head: &[Head<'_>], lines: &[Line], width: usize, out: &mut impl Write) -> io::Result<()> {
    let widths: Vec<usize> = (0..head.len()).map(|column| width_of(lines, column)).collect();
    for line in lines {
        let text = match line {
            Line::Cells(cells) => aligned(head, &widths, cells),
            Line::Text(text) => text.clone(),
        };
        writeln!(out, "{}", fitted(text.trim_end(), width))?;
    }
    Ok(())
}

fn width_of(lines: &[Line], column: usize) -> usize {
    let cells = lines.iter().filter_map(|line| match line {
        Line::Cells(cells) => cells.get(column),
        Line::Text(_) => None,
    });
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

fn aligned(head: &[Head<'_>], widths: &[usize], cells: &[String]) -> String {
    let cells = cells.iter().zip(head).zip(widths).map(|((cell, (_, right)), &width)| match right {
        true => format!("{cell:>width$}"),
        false => format!("{cell:<width$}"),
    });
    cells.collect::<Vec<_>>().join("  ")
}

/// At most `width` characters, the cut marked.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

/// Breaks a text into lines that fit, at blanks, continued lines indented.
pub(crate) fn wrapped(text: &str, width: usize, out: &mut impl Write) -> io::Result<()> {
    let indent = text.len() - text.trim_start().len();
    let mut line = " ".repeat(indent);
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            writeln!(out, "{line}")?;
            (line, empty) = (" ".repeat(indent + 2), true);
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(&fitted(word, width - indent - 2));
        empty = false;
    }
    writeln!(out, "{line}")
}
