//! Tables and paragraphs in a fixed number of columns. A number is never cut: columns that do not fit beside the first ones
//! stand below, and where not even one fits, every line becomes a paragraph.

use std::io::{self, Write};

/// The head of a column, and whether it is right-aligned.
pub type Head<'a> = (&'a str, bool);

/// Nothing is laid out for less.
pub const WIDTH_MIN: usize = 40;

/// A line of a table: its cells, or a text across all columns.
#[derive(Debug, Clone)]
pub enum Line {
    /// One cell for each column.
    Cells(Vec<String>),
    /// Across all of them.
    Text(String),
}

/// Writes a table. Columns are as wide as their widest cell, with two blanks between them. Columns that do not fit beside the
/// first `fixed` ones form a table of their own below, which begins with these, too. Empty columns are left out.
///
/// # Errors
/// When it cannot be written.
pub fn table(
    head: &[Head<'_>],
    fixed: usize,
    lines: &[Line],
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let told: Vec<usize> =
        (0..head.len()).filter(|&column| column < fixed || width_of(lines, column) > 0).collect();
    if told.len() < head.len() && !lines.is_empty() {
        let head: Vec<Head<'_>> = told.iter().map(|&column| head[column]).collect();
        let lines: Vec<Line> = lines.iter().map(|line| line.only(&told)).collect();
        return table(&head, fixed, &lines, width, out);
    }
    let heads: Vec<String> = head.iter().map(|(name, _)| (*name).to_owned()).collect();
    let has_heads = heads.iter().any(|name| !name.is_empty());
    let all: Vec<Line> =
        has_heads.then_some(Line::Cells(heads)).into_iter().chain(lines.iter().cloned()).collect();
    let widths: Vec<usize> = (0..head.len()).map(|column| width_of(&all, column)).collect();
    let folds = folds(&widths, fixed, width);
    if folds.iter().any(|columns| taken(&widths, columns) > width) {
        return paragraphs(head, fixed, lines, width, out);
    }
    for (place, columns) in folds.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        let (head, widths): (Vec<Head<'_>>, Vec<usize>) =
            columns.iter().map(|&column| (head[column], widths[column])).unzip();
        all.iter().try_for_each(|line| line.only(columns).write(&head, &widths, width, out))?;
    }
    Ok(())
}

/// How much room some columns take.
fn taken(widths: &[usize], columns: &[usize]) -> usize {
    let blanks = 2 * columns.len().saturating_sub(1);
    columns.iter().map(|&column| widths[column]).sum::<usize>() + blanks
}

/// The columns that stand beside each other.
fn folds(widths: &[usize], fixed: usize, width: usize) -> Vec<Vec<usize>> {
    let first: Vec<usize> = (0..fixed.min(widths.len())).collect();
    let mut folds = vec![first.clone()];
    for column in first.len()..widths.len() {
        let last = folds.last_mut().expect("there is always one");
        last.push(column);
        if last.len() > first.len() + 1 && taken(widths, last) > width {
            last.pop();
            folds.push(first.iter().copied().chain([column]).collect());
        }
    }
    folds
}

/// Each line as a paragraph: the first cells, then each further one after the head of its column.
fn paragraphs(
    head: &[Head<'_>],
    fixed: usize,
    lines: &[Line],
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    for line in lines {
        let text = match line {
            Line::Text(text) => text.clone(),
            Line::Cells(cells) => paragraph(head, fixed, cells),
        };
        wrapped(&text, width, out)?;
    }
    Ok(())
}

fn paragraph(head: &[Head<'_>], fixed: usize, cells: &[String]) -> String {
    let indent = cells.first().map_or(0, |first| first.len() - first.trim_start().len());
    let named = |(place, (cell, (name, _))): (usize, (&String, &Head<'_>))| match *name {
        _ if cell.trim().is_empty() => None,
        name if place >= fixed && !name.is_empty() => Some(format!("{name} {}", cell.trim())),
        _ => Some(cell.trim().to_owned()),
    };
    let words: Vec<String> = cells.iter().zip(head).enumerate().filter_map(named).collect();
    format!("{}{}", " ".repeat(indent), words.join(", "))
}

impl Line {
    /// Selects these columns.
    fn only(&self, columns: &[usize]) -> Self {
        match self {
            Self::Cells(cells) => {
                Self::Cells(columns.iter().filter_map(|&column| cells.get(column).cloned()).collect())
            }
            Self::Text(text) => Self::Text(text.clone()),
        }
    }

    fn write(
        &self,
        head: &[Head<'_>],
        widths: &[usize],
        width: usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match self {
            Self::Cells(cells) => writeln!(out, "{}", aligned(head, widths, cells).trim_end()),
            Self::Text(text) => wrapped(text, width, out),
        }
    }
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

/// Cuts to at most `width` characters, marked by an ellipsis.
fn fitted(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

/// Wraps a text at blanks, with continued lines indented. Only a word longer than a line is cut.
///
/// # Errors
/// When it cannot be written.
pub fn wrapped(text: &str, width: usize, out: &mut impl Write) -> io::Result<()> {
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
        line.push_str(&fitted(word, width.saturating_sub(indent + 2).max(1)));
        empty = false;
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(head: &[Head<'_>], fixed: usize, cells: &[&str], width: usize) -> String {
        let lines = [Line::Cells(cells.iter().map(|&cell| cell.to_owned()).collect())];
        let mut out = Vec::new();
        table(head, fixed, &lines, width, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_screen_of_no_width_shows_the_beginnings_of_words() {
        for width in 0..4 {
            let mut out = Vec::new();
            wrapped("  some words", width, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap().lines().count(), 2, "{width}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_stand_below() {
        assert_eq!(folds(&[5, 10, 10, 10], 1, 31), [vec![0, 1, 2], vec![0, 3]]);
        assert_eq!(folds(&[5, 10, 10], 1, 29), [vec![0, 1, 2]]);
        // A column that fits nowhere stands alone.
        assert_eq!(folds(&[5, 40, 10], 1, 30), [vec![0, 1], vec![0, 2]]);
        let head = [("", false), ("a", true), ("b", true)];
        assert_eq!(shown(&head, 1, &["x", "1234", "5678"], 8), "      a\nx  1234\n\n      b\nx  5678\n");
    }

    #[test]
    fn a_line_becomes_a_paragraph_where_no_column_fits() {
        let head = [("message", false), ("algorithm", false), ("µs", true), ("share", true)];
        let cells = ["  IKE_AUTH request", "rsa2048-pkcs1-sha256", "46.12 [45.90, 46.31]", "10.4 %"];
        let text = shown(&head, 2, &cells, 44);
        assert_eq!(
            text,
            "  IKE_AUTH request, rsa2048-pkcs1-sha256, µs\n    46.12 [45.90, 46.31], share 10.4 %\n"
        );
    }
}
