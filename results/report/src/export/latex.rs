//! Tables for LaTeX with the rules of booktabs. Nothing else is needed; units stand in heads and captions.

use std::fmt::Write as _;

use super::{Column, Line, Table};

const HEAD: &str = "% Written by keytoll export. Needs \\usepackage{booktabs}; with pdflatex also \\usepackage[T1]{fontenc} and \\usepackage{textcomp}.\n";

/// Whether a file that begins like this is ours: the second line says so.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    beginning.split(|byte| *byte == b'\n').nth(1) == Some(HEAD.trim_end().as_bytes())
}

/// The whole file, to be read with `\input`.
pub(super) fn text(title: &str, tables: &[Table]) -> String {
    let title = super::fit(title);
    let tables: Vec<String> = tables.iter().map(table).collect();
    format!("% {title}\n{HEAD}\n{}", tables.join("\n"))
}

fn table(shown: &Table) -> String {
    let mut text = format!("\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n", caption(shown));
    let heads = shown.names.iter().copied().chain(shown.columns.iter().map(|column| column.head.as_str()));
    let heads: Vec<String> = heads.map(escaped).collect();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "  \\begin{{tabular}}{{{}}}\n    \\toprule\n    {}\n    \\midrule\n",
        alignment(shown),
        row(&heads)
    );
    for line in &shown.lines {
        let _ = writeln!(text, "    {}", row(&cells(line)));
    }
    text + "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n"
}

fn caption(shown: &Table) -> String {
    match super::common_unit(shown) {
        Some(unit) => format!("{}, {}", escaped(&shown.title), escaped(unit)),
        None => escaped(&shown.title),
    }
}

/// Names on the left, numbers on the right, sentences in a paragraph.
fn alignment(shown: &Table) -> String {
    let of_column = |(place, column): (usize, &Column)| {
        let longest =
            shown.lines.iter().map(|line| line.cells[place].shown.chars().count()).max().unwrap_or(0);
        match longest {
            _ if !column.unit.is_empty() => "r",
            0..=40 => "l",
            _ => "p{5cm}",
        }
    };
    let names = "l".repeat(shown.names.len());
    names + &shown.columns.iter().enumerate().map(of_column).collect::<String>()
}

fn cells(line: &Line) -> Vec<String> {
    let cells = line.cells.iter().map(|cell| cell.shown.as_str());
    line.names.iter().map(String::as_str).chain(cells).map(escaped).collect()
}

fn row(cells: &[String]) -> String {
    format!("{} \\\\", cells.join(" & "))
}

/// Letters with a meaning in LaTeX, and those that pdflatex's fonts lack.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match command(letter) {
            Some(command) => out.push_str(command),
            None if super::is_unfit(letter) => out.push(' '),
            // A bracket at the beginning of a line would be an argument of the line end before it.
            None if letter == '[' && out.is_empty() => out.push_str("{[}"),
            None => out.push(letter),
        }
    }
    out
}

const fn command(letter: char) -> Option<&'static str> {
    Some(match letter {
        '&' => "\\&",
        '%' => "\\%",
        '$' => "\\$",
        '#' => "\\#",
        '_' => "\\_",
        '{' => "\\{",
        '}' => "\\}",
        '~' => "\\textasciitilde{}",
        '^' => "\\textasciicircum{}",
        '\\' => "\\textbackslash{}",
        '<' => "\\textless{}",
        '>' => "\\textgreater{}",
        '|' => "\\textbar{}",
        '"' => "\\textquotedbl{}",
        'µ' | 'μ' => "\\textmu{}",
        '–' => "--",
        '—' => "---",
        '…' => "\\dots{}",
        '§' => "\\S{}",
        '±' => "$\\pm$",
        '×' => "$\\times$",
        '÷' => "$\\div$",
        '≈' => "$\\approx$",
        '≤' => "$\\leq$",
        '≥' => "$\\geq$",
        '→' => "$\\to$",
        'γ' => "$\\gamma$",
        '−' => "$-$",
        '²' => "$^2$",
        '³' => "$^3$",
        '⁶' => "$^6$",
        '⁸' => "$^8$",
        _ => return None,
    })
}
