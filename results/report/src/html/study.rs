//! A study on the page: its findings first, then each of the paper's figures as bars and as a table.

use std::io::{self, Write};

use keytoll_analysis::study::{Account, Figure, Table};

use super::{escaped, legend, table};
use crate::study::{cells, evidence, figure, headline, title};
use crate::svg::{Bar, Chart};

/// Writes the whole study.
pub(super) fn section(account: &Account, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>{}</h2>\n<p>{}</p>", escaped(&headline(account)), escaped(&account.source))?;
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

/// The first column as bars, all of them as a table.
fn figures(shown: &Table, out: &mut impl Write) -> io::Result<()> {
    let title = title(shown);
    let bars = shown.lines.iter().filter_map(|line| Some(bar(&line.label, line.cells.first()?.as_ref()?)));
    let bars: Vec<_> = bars.collect();
    legend(&[], &title, bars.iter().any(|bar| bar.interval.is_some()), out)?;
    Chart { title: &title, unit: &shown.unit, bars }.write(out)?;
    let head: Vec<&str> = std::iter::once("").chain(shown.columns.iter().map(String::as_str)).collect();
    let lines = cells(shown).map(|(label, cells)| std::iter::once(label.to_owned()).chain(cells).collect());
    table(&head, lines, out)
}

fn bar(label: &str, measured: &Figure) -> Bar<'static> {
    Bar {
        label: label.to_owned(),
        parts: vec![("network", "measured", measured.value)],
        interval: measured.low.zip(measured.high),
        text: figure(measured),
    }
}
