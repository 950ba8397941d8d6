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

/// The same, but what does not fit beside the first `fixed` columns is a table of its own below, which begins with them, too.
pub(crate) fn folded(
    head: &[Head<'_>],
    fixed: usize,
    lines: &[Line],
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let widths: Vec<usize> = (0..head.len()).map(|column| width_of(lines, column)).collect();
    for (place, columns) in folds(&widths, fixed, width).iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        let head: Vec<Head<'_>> = columns.iter().map(|&column| head[column]).collect();
        let lines: Vec<Line> = lines.iter().map(|line| line.only(columns)).collect();
        table(&head, &lines, width, out)?;
    }
    Ok(())
}

/// Which columns stand beside each other.
fn folds(widths: &[usize], fixed: usize, width: usize) -> Vec<Vec<usize>> {
    let first: Vec<usize> = (0..fixed.min(widths.len())).collect();
    let taken = |columns: &[usize]| columns.iter().map(|&column| widths[column] + 2).sum::<usize>();
    let mut folds = vec![first.clone()];
    for (column, own) in widths.iter().enumerate().skip(first.len()) {
        let last = folds.last().expect("there is always one");
        if last.len() > first.len() && taken(last) + own > width {
            folds.push(first.clone());
        }
        folds.last_mut().expect("there is always one").push(column);
    }
    folds
}

impl Line {
    /// These cells of it.
    fn only(&self, columns: &[usize]) -> Self {
        match self {
            Self::Cells(cells) => {
                Self::Cells(columns.iter().filter_map(|&column| cells.get(column).cloned()).collect())
            }
            Self::Text(text) => Self::Text(text.clone()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_stand_below() {
        assert_eq!(folds(&[5, 10, 10, 10], 1, 31), [vec![0, 1, 2], vec![0, 3]]);
        assert_eq!(folds(&[5, 10, 10], 1, 29), [vec![0, 1, 2]]);
        // A column that fits nowhere stands alone.
        assert_eq!(folds(&[5, 40, 10], 1, 30), [vec![0, 1], vec![0, 2]]);
        let cells = |cells: [&str; 3]| Line::Cells(cells.map(str::to_owned).to_vec());
        let (head, lines) = ([("", false), ("a", true), ("b", true)], [cells(["x", "1234", "5678"])]);
        let mut out = Vec::new();
        folded(&head, 1, &lines, 8, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "x  1234\n\nx  5678\n");
    }
}
