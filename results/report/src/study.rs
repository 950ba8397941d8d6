//! A study on the screen and as `study.json`: the paper's figures as tables, its claims with their verdicts, the notes.
//! It is at most 80 columns wide and readable without colour; every published number has its source.

use std::io::{self, Write};

use keytoll_analysis::study::{Account, Basis, Bound, Evidence, Figure, Finding, Sheet, Table, Verdict};
use keytoll_analysis::summary::Median;

use crate::layout::{Head, Line, WIDTH_MIN, table, wrapped};
use crate::number::{counted, plain, printed, ranged};
use crate::words::UNFINISHED;

/// The longest line, however wide the screen is.
const WIDTH_MAX: usize = 80;

/// Writes `study.json`: indented, with a final newline.
///
/// # Errors
/// When it cannot be written.
pub fn write_json(account: &Account, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, account)?;
    writeln!(out)
}

/// Writes a study for a screen of so many columns.
///
/// # Errors
/// When it cannot be written.
pub fn write(account: &Account, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    wrapped(&headline(account), width, &mut out)?;
    wrapped(&account.source, width, &mut out)?;
    if !account.complete {
        writeln!(out, "{UNFINISHED}")?;
    }
    if !account.findings.is_empty() {
        wrapped(&tally(account), width, &mut out)?;
    }
    body(&account.tables, &account.findings, &account.notes, width, &mut out)
}

/// Writes a paper's table that needs no run.
///
/// # Errors
/// When it cannot be written.
pub fn write_sheet(sheet: &Sheet, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    wrapped(&sheet.title, width, &mut out)?;
    wrapped(&sheet.source, width, &mut out)?;
    body(&sheet.tables, &sheet.findings, &sheet.notes, width, &mut out)
}

fn body(
    tables: &[Table],
    findings: &[Finding],
    notes: &[String],
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    wrapped(LEGEND, width, out)?;
    tables.iter().try_for_each(|table| figures(table, width, out))?;
    if !findings.is_empty() {
        writeln!(out, "\nWhat the paper found, and whether it holds here")?;
    }
    findings.iter().try_for_each(|finding| judged(finding, width, out))?;
    writeln!(out)?;
    notes.iter().try_for_each(|note| wrapped(note, width, out))
}

/// How to read the numbers.
pub(crate) const LEGEND: &str = "In brackets the 95 % interval of what this run measured: of medians without an assumption on how they are \
     distributed. What the paper says is marked: printed by it, derived (follows from what it printed), or reconstructed \
     (follows with assumptions that it does not print).";

/// How many of a paper's findings hold, in one sentence.
pub(crate) fn tally(account: &Account) -> String {
    let all = counted(account.findings.len() as u64, "finding");
    format!("What becomes here of the paper's {all}: {}.", verdicts(&account.findings.iter()))
}

/// Every verdict, the best first.
const VERDICTS: [Verdict; 4] =
    [Verdict::Holds, Verdict::HoldsInPart, Verdict::DoesNotHold, Verdict::CannotBeJudged];

/// How many findings have which verdict.
pub(crate) fn verdicts<'a>(findings: &(impl Iterator<Item = &'a Finding> + Clone)) -> String {
    let told = VERDICTS.into_iter().filter_map(|verdict| {
        let count = findings.clone().filter(|finding| finding.verdict == verdict).count();
        (count > 0).then(|| format!("“{}” {count}", verdict.words()))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The title, how many authentications, and the seed.
pub(crate) fn headline(account: &Account) -> String {
    let Account { title, authentications, seed, .. } = account;
    format!("{title}: {authentications} authentications, seed {seed}")
}

fn figures(shown: &Table, width: usize, out: &mut impl Write) -> io::Result<()> {
    let columns = shown.columns.iter().map(|column| (column.as_str(), true));
    let head: Vec<Head<'_>> = std::iter::once(("", false)).chain(columns).collect();
    let lines = cells(shown)
        .map(|(label, cells)| Line::Cells(std::iter::once(format!("  {label}")).chain(cells).collect()));
    writeln!(out)?;
    wrapped(&title(shown), width, out)?;
    table(&head, 1, &lines.collect::<Vec<_>>(), width, out)
}

/// The title with the unit.
pub(crate) fn title(table: &Table) -> String {
    match table.title.contains(&table.unit) {
        true => table.title.clone(),
        false => format!("{}, {}", table.title, table.unit),
    }
}

/// The label and the cells of each line.
pub(crate) fn cells(table: &Table) -> impl Iterator<Item = (&str, Vec<String>)> {
    table.lines.iter().map(|line| {
        let cells = line.cells.iter().map(|cell| cell.as_ref().map_or_else(|| "–".to_owned(), figure));
        (line.label.as_str(), cells.collect())
    })
}

/// A number of this run with its interval, a published one with its origin; a printed one is not rounded.
pub(crate) fn figure(figure: &Figure) -> String {
    let bound = match figure.bound {
        None => "",
        Some(Bound::About) => "≈ ",
        Some(Bound::Above) => "> ",
        Some(Bound::AtMost) => "≤ ",
    };
    let number = match figure.basis {
        Basis::Printed => format!("{} printed", printed(figure.value, figure.decimals)),
        basis if basis.is_published() => format!("{} {}", plain(figure.value), basis.name()),
        _ => ranged(Median { value: figure.value, interval: figure.low.zip(figure.high) }),
    };
    format!("{bound}{number}")
}

fn judged(finding: &Finding, width: usize, out: &mut impl Write) -> io::Result<()> {
    wrapped(&format!("{}: {}", finding.verdict_words(), finding.claim), width, out)?;
    wrapped(&format!("  {}", criterion(finding)), width, out)?;
    let evidence = evidence(finding);
    if evidence.is_empty() { Ok(()) } else { wrapped(&format!("  Here: {evidence}."), width, out) }
}

/// The place in the paper, the criterion, and the fitted input that the verdict rests on.
pub(crate) fn criterion(finding: &Finding) -> String {
    let Finding { source, taken_as, fitted, .. } = finding;
    let fitted = fitted.as_ref().map(|input| format!(" Fitted input: {input}."));
    format!("Paper {source}. Taken as: {taken_as}.{}", fitted.unwrap_or_default())
}

/// The evidence, in one line.
pub(crate) fn evidence(finding: &Finding) -> String {
    let one = |Evidence { what, value, low, high, unit }: &Evidence| {
        let number = ranged(Median { value: *value, interval: low.zip(*high) });
        format!("{what} {number} {unit}").trim_end().to_owned()
    };
    finding.evidence.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
pub(crate) mod tests {
    use keytoll_analysis::study::{Basis, FORMAT, Line, Verdict};
    use proptest::prelude::*;

    use super::*;

    /// One table with every kind of number, a finding with evidence and one without.
    pub(crate) fn account() -> Account {
        let cells = |value, half: Option<f64>, bound, basis| {
            let measured = Figure::of_run(Basis::Measured, value, half);
            let decimals = (basis == Basis::Printed).then_some(1);
            let source = Some("§IV <B>".to_owned());
            let published = Figure { decimals, bound, source, ..Figure::of_run(basis, 100.0, None) };
            vec![Some(measured), Some(published)]
        };
        let line = |label: &str, cells| Line { label: label.to_owned(), cells };
        let finding = |verdict, evidence| Finding {
            name: "one-is-slower".into(),
            claim: "One method is slower than another, at least on average.".into(),
            source: "§IV-B".into(),
            taken_as: "its mean is greater".into(),
            verdict,
            evidence,
            fitted: None,
        };
        let evidence = |what: &str, value, unit: &str| Evidence {
            what: what.into(),
            value,
            low: None,
            high: None,
            unit: unit.into(),
        };
        Account {
            format: FORMAT,
            study: "example".into(),
            title: "Two methods <compared>".into(),
            source: "paper 9".into(),
            authentications: 200,
            seed: "7".into(),
            complete: false,
            tables: vec![Table {
                title: "Figure 1: delay of an authentication".into(),
                unit: "ms".into(),
                columns: vec!["measured".into(), "paper".into()],
                lines: vec![
                    line("PSK", cells(12.345, Some(0.678), None, Basis::Printed)),
                    line("TLS-2-2", cells(123.45, None, Some(Bound::Above), Basis::Derived)),
                    line("TLS-4-4", cells(234.5, Some(1.5), Some(Bound::About), Basis::Reconstructed)),
                    line("PEAP", vec![None, None]),
                ],
            }],
            findings: vec![
                finding(
                    Verdict::HoldsInPart,
                    vec![evidence("PSK", 12.345, "ms"), evidence("ratio", 10.0, "")],
                ),
                finding(Verdict::CannotBeJudged, Vec::new()).resting_on("processors as slow as the paper's"),
            ],
            notes: vec![
                "A note that is longer than a line of the screen has room for, and so is broken.".into(),
            ],
        }
    }

    fn shown(account: &Account) -> String {
        let mut out = Vec::new();
        write(account, WIDTH_MAX, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_screen_of_an_example() {
        insta::assert_snapshot!(shown(&account()));
    }

    #[test]
    fn verdicts_are_counted_from_the_best_to_the_worst() {
        let finding = account().findings[0].clone();
        let of = |verdict| Finding { verdict, ..finding.clone() };
        let three = [Verdict::DoesNotHold, Verdict::Holds, Verdict::DoesNotHold].map(of);
        assert_eq!(verdicts(&three.iter()), "“holds” 1, “does not hold” 2");
        assert_eq!(verdicts(&[].iter()), "");
    }

    #[test]
    fn json_reads_back() {
        let mut out = Vec::new();
        write_json(&account(), &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<Account>(&out).unwrap(), account());
        assert!(out.ends_with(b"}\n"));
    }

    proptest! {
        #[test]
        fn no_line_is_longer_than_the_screen(label in "[A-Za-z0-9-]{1,90}", value in 0.0..1e12f64, word in "[a-z]{1,120}") {
            let mut account = account();
            account.tables[0].lines[0].label = label;
            account.tables[0].lines[0].cells[0].as_mut().unwrap().value = value;
            (account.title, account.findings[0].claim) = (word.clone(), word);
            for line in shown(&account).lines() {
                prop_assert!(line.chars().count() <= WIDTH_MAX, "{}", line);
            }
        }
    }
}
