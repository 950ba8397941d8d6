//! A study on the page: its findings first, then each of the paper's figures as bars and as a table.

use std::io::{self, Write};

use keytoll_analysis::study::{Account, Figure, Line, Table};

use super::{escaped, table};
use crate::chart::{Bar, Chart};
use crate::study::{LEGEND, cells, evidence, figure, headline, title};

/// Writes the whole study.
pub(super) fn section(account: &Account, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>\n<p>{}</p>", escaped(&headline(account)), escaped(&account.source))?;
    writeln!(out, r#"<p class="words">{}</p>"#, escaped(LEGEND))?;
    findings(account, out)?;
    account.tables.iter().try_for_each(|table| figures(table, out))?;
    writeln!(out, r#"<div class="notes">"#)?;
    for note in &account.notes {
        writeln!(out, "<p>{}</p>", escaped(note))?;
    }
    writeln!(out, "</div>")
}

fn findings(account: &Account, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, r#"<dl class="findings">"#)?;
    for finding in &account.findings {
        let (verdict, claim) = (finding.verdict.words(), escaped(&finding.claim));
        writeln!(out, "<dt><b>{verdict}</b> {claim}</dt>")?;
        let (source, taken_as) = (escaped(&finding.source), escaped(&finding.taken_as));
        writeln!(out, "<dd>Paper {source}. Taken as: {taken_as}.<br>{}</dd>", escaped(&evidence(finding)))?;
    }
    writeln!(out, "</dl>")
}

/// The first column as bars, the paper's values below it, and all columns as a table.
fn figures(shown: &Table, out: &mut impl Write) -> io::Result<()> {
    let title = title(shown);
    let bars = if is_one_scale(shown) { beside(shown) } else { measured(shown) };
    let note = if is_one_scale(shown) { "" } else { OUT_OF_SCALE };
    Chart { title: &format!("{title}{note}"), unit: &shown.unit, key: &KEY, whiskers: "95 % interval", bars }
        .write(out)?;
    let head: Vec<&str> = std::iter::once("").chain(shown.columns.iter().map(String::as_str)).collect();
    let lines =
        cells(shown).map(|(label, cells)| std::iter::once(label.trim().to_owned()).chain(cells).collect());
    table(&title, &head, lines, out)
}

const KEY: [(&str, &str); 2] = [("measured", "this run"), ("published", "the paper")];

const OUT_OF_SCALE: &str = " (the paper's are far out of this scale, and in the table below)";

/// The greatest ratio of the paper's greatest number to ours, or inversely; beyond it one of them would have no visible bar.
const SCALE: f64 = 20.0;

fn is_one_scale(shown: &Table) -> bool {
    let greatest = |is_published: bool| {
        let figures = shown.lines.iter().flat_map(charted).flatten();
        figures
            .filter(|figure| figure.basis.is_published() == is_published)
            .map(|figure| figure.value)
            .fold(0.0, f64::max)
    };
    let (ours, theirs) = (greatest(false), greatest(true));
    theirs <= SCALE * ours && ours <= SCALE * theirs.max(f64::MIN_POSITIVE) || theirs == 0.0 || ours == 0.0
}

/// The bar of a line: its first cell, and the first published one.
fn charted(line: &Line) -> [Option<&Figure>; 2] {
    let first = line.cells.first().and_then(Option::as_ref);
    let mut others = line.cells.iter().skip(1).flatten();
    let is_published = |figure: &&Figure| figure.basis.is_published();
    [first, if first.as_ref().is_some_and(is_published) { None } else { others.find(is_published) }]
}

fn beside(shown: &Table) -> Vec<Bar<'static>> {
    let bars = shown.lines.iter().flat_map(|line| {
        let label = line.label.trim();
        let [first, published] = charted(line);
        let theirs = match first {
            Some(_) => published.map(|figure| bar(format!("{label}, paper"), figure)),
            None => published.map(|figure| published_alone(shown, line, figure)),
        };
        first.map(|figure| bar(label.to_owned(), figure)).into_iter().chain(theirs)
    });
    bars.collect()
}

/// The paper's figure where it has not what the first column has: which of its figures it is, is said.
fn published_alone(shown: &Table, line: &Line, figure: &Figure) -> Bar<'static> {
    let is_it = |cell: &Option<Figure>| cell.as_ref().is_some_and(|other| std::ptr::eq(other, figure));
    let column = line.cells.iter().position(is_it).and_then(|column| shown.columns.get(column));
    let mut bar = bar(line.label.trim().to_owned(), figure);
    bar.text = column.map_or_else(String::new, |column| format!("{column} ")) + &bar.text;
    bar
}

fn measured(shown: &Table) -> Vec<Bar<'static>> {
    let of_line = |line: &Line| {
        let first = charted(line)[0].filter(|figure| !figure.basis.is_published())?;
        Some(bar(line.label.trim().to_owned(), first))
    };
    shown.lines.iter().filter_map(of_line).collect()
}

/// Ours and the paper's differ in colour, in pattern, and in what their labels say.
fn bar(label: String, shown: &Figure) -> Bar<'static> {
    let (class, name) = if shown.basis.is_published() { KEY[1] } else { KEY[0] };
    Bar {
        label,
        parts: vec![(class, name, shown.value)],
        interval: shown.low.zip(shown.high),
        text: figure(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::account;

    fn page(account: &Account) -> String {
        let mut out = Vec::new();
        section(account, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_papers_bars_are_of_another_class_and_say_so() {
        let page = page(&account());
        // PSK, TLS-2-2 and TLS-4-4, each measured and published.
        let count = |class: &str| page.matches(&format!(r#"<i class="{class}" style="#)).count();
        assert_eq!((count("measured"), count("published")), (3, 3));
        for text in ["this run</span>", "the paper</span>", ">PSK, paper</span>", "≈ 100 reconstructed"] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn ours_are_not_squashed_by_a_paper_from_another_time() {
        let mut account = account();
        for figure in account.tables[0].lines.iter_mut().filter_map(|line| line.cells[1].as_mut()) {
            figure.value = 1e6;
        }
        let page = page(&account);
        assert!(
            !page.contains(r#"<i class="published" style="#) && page.contains("out of this scale"),
            "{page}"
        );
        assert!(page.contains("1000000 printed"), "{page}");
    }
}
