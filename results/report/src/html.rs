//! One self-contained page: the tables, the delays and the CPU time as bars, the machine and the plan.
//! It has no script and loads nothing; it is readable in light and dark mode, and on a telephone.

mod profile;
mod study;

pub use profile::{packets, profiles};

use std::io::{self, Write};

use keytoll_analysis::Findings;
use keytoll_analysis::comparable::{Group, groups, shared};
use keytoll_analysis::summary::{Summary, SummaryRow};

use crate::chart::{Bar, Chart};
use crate::columns::{self, Medium, Table, authentication, links, moves, nodes, population, traffic};
use crate::notes::{discards, notes};
use crate::number::{known, ranged};
use crate::provenance::{self, seed};
use crate::{curve, terminal, words};

/// Writes the page of a run.
///
/// # Errors
/// When it cannot be written.
pub fn write(findings: &Findings, mut out: impl Write) -> io::Result<()> {
    let summary = &findings.summary;
    begin(&summary.title, &mut out)?;
    headline(findings, &mut out)?;
    glossary(words::of_run(summary), &mut out)?;
    if let Some(account) = &findings.study {
        study::section(account, &mut out)?;
    }
    let shared = shared(&summary.rows);
    for group in groups(&summary.rows) {
        section(&group, &shared, &mut out)?;
    }
    for (place, population) in findings.populations.iter().enumerate() {
        curve::draw(population, summary, place, &mut out)?;
    }
    failures(summary, &mut out)?;
    footnotes(summary, &mut out)?;
    machine(findings, &mut out)?;
    end(&mut out)
}

/// Everything above the first paragraph.
fn begin(title: &str, out: &mut impl Write) -> io::Result<()> {
    let title = escaped(title);
    writeln!(
        out,
        r#"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">"#
    )?;
    writeln!(out, "<title>{title} – keytoll</title>\n<style>{STYLE}</style></head>\n<body><h1>{title}</h1>")
}

fn end(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "</body></html>")
}

/// Text as HTML shows it, in elements and in quoted attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

fn headline(findings: &Findings, out: &mut impl Write) -> io::Result<()> {
    let n: u64 = findings.summary.rows.iter().map(|row| row.n).sum();
    let (seed, version) =
        (escaped(&seed(&findings.summary)), escaped(&findings.manifest.provenance.version()));
    writeln!(
        out,
        "<p>{n} authentications, {seed}, keytoll {version}, {}.</p>",
        escaped(&findings.manifest.provenance.machine.cpu)
    )?;
    if !findings.summary.complete {
        writeln!(out, r#"<p class="warning">The run is not complete: this is what was measured of it.</p>"#)?;
    }
    Ok(())
}

fn section(group: &Group<'_>, shared: &[&str], out: &mut impl Write) -> io::Result<()> {
    let heading = terminal::heading(group, shared);
    let heading = heading.split(", ").map(explained).collect::<Vec<_>>().join(", ");
    writeln!(out, "<h2>{heading}</h2>")?;
    delay_chart(group, out)?;
    cpu_chart(group, out)?;
    GROUP_TABLES.into_iter().try_for_each(|table| group_table(group, table, out))
}

/// The meaning of the whiskers in a run's charts.
const SPREAD: &str = "5th to 95th percentile";

fn delay_chart(group: &Group<'_>, out: &mut impl Write) -> io::Result<()> {
    let key = &[("network", "network"), ("computation", "computation"), ("waiting", "waiting")];
    let bars = group.rows.iter().filter_map(|row| delay_bar(row)).collect();
    let title = "Delay of an authentication, median, ms";
    Chart { title, unit: "ms", key, whiskers: SPREAD, bars }.write(out)
}

fn cpu_chart(group: &Group<'_>, out: &mut impl Write) -> io::Result<()> {
    let key = &[("crypto", "crypto"), ("rest", "everything else")];
    let bars = group.rows.iter().flat_map(|row| cpu_bars(row)).collect();
    let title = "CPU time of an authentication per node, median, µs";
    Chart { title, unit: "µs", key, whiskers: SPREAD, bars }.write(out)
}

fn delay_bar(row: &SummaryRow) -> Option<Bar<'static>> {
    let delay = row.delay_ms?;
    let split = row.delay_split_p50_ms?;
    let parts = [
        ("network", "network", split.network),
        ("computation", "computation", split.computation),
        ("waiting", "waiting", split.waiting),
    ];
    let sum: f64 = parts.iter().map(|(_, _, median)| median).sum();
    Some(Bar {
        label: row.subject().to_string(),
        parts: parts.map(|(class, name, median)| (class, name, median * delay.p50 / sum)).to_vec(),
        interval: Some((delay.p5, delay.p95)),
        text: ranged(delay.median()),
    })
}

fn cpu_bars(row: &SummaryRow) -> impl Iterator<Item = Bar<'static>> {
    row.cpu.iter().map(|(node, cpu)| Bar {
        label: format!("{}, {node}", row.subject()),
        parts: match cpu.crypto_ns_p50 {
            Some(crypto_ns) => vec![
                ("crypto", "crypto", crypto_ns / 1e3),
                ("rest", "everything else", (cpu.ns_p50 - crypto_ns).max(0.0) / 1e3),
            ],
            None => vec![("rest", "crypto and everything else", cpu.ns_p50 / 1e3)],
        },
        interval: Some((cpu.ns_p5 / 1e3, cpu.ns_p95 / 1e3)),
        text: ranged(cpu.median().times(1e-3)),
    })
}

/// The tables of a group, each with its caption, the head of its first column, and the tables that its columns are from.
const GROUP_TABLES: [(&str, &str, &[&Table]); 7] = [
    ("What became of a population", "devices of", &[&population::ATTEMPTS]),
    ("Delay from the intended start until established, ms", "devices of", &[&population::DELAYS]),
    ("Serving nodes", "devices of", &[&population::NODES]),
    ("Delay, and what went over each link", "method", &[&authentication::DELAY, &links::MESSAGES]),
    ("CPU time and memory of each node", "method", &[&nodes::CPU, &nodes::MEMORY]),
    ("Traffic through the SAs, or past them", "traffic of", &[&traffic::TRAFFIC]),
    ("Moves of the device to another address", "device of", &[&moves::MOVES]),
];

fn group_table(
    group: &Group<'_>,
    (caption, first, tables): (&str, &str, &[&'static Table]),
    out: &mut impl Write,
) -> io::Result<()> {
    if !tables.iter().any(|table| table.is_told(group.rows.iter().copied())) {
        return Ok(());
    }
    let heads = columns::columns(tables, Medium::Page).map(|column| column.head);
    let heads: Vec<&str> = std::iter::once(first).chain(heads).collect();
    let lines = group.rows.iter().flat_map(|row| {
        let lines = columns::lines(tables, row, Medium::Page).into_iter().enumerate();
        lines.map(|(place, cells)| {
            let label = if place == 0 { row.subject().to_string() } else { String::new() };
            std::iter::once(label).chain(cells).collect()
        })
    });
    let (heads, lines) = without_empty(&heads, &lines.collect::<Vec<_>>());
    table(caption, &heads, lines.into_iter(), out)
}

/// The columns of a table that are not empty.
fn without_empty<'a>(heads: &[&'a str], lines: &[Vec<String>]) -> (Vec<&'a str>, Vec<Vec<String>>) {
    let is_told = |place: &usize| lines.iter().any(|line| !line[*place].is_empty());
    let told: Vec<usize> = (0..heads.len()).filter(is_told).collect();
    let kept = |line: &Vec<String>| told.iter().map(|&place| line[place].clone()).collect();
    (told.iter().map(|&place| heads[place]).collect(), lines.iter().map(kept).collect())
}

/// A table that scrolls within itself where the page is too narrow for it.
fn table(
    caption: &str,
    head: &[&str],
    lines: impl Iterator<Item = Vec<String>>,
    out: &mut impl Write,
) -> io::Result<()> {
    let name = escaped(caption);
    write!(out, r#"<div class="wide" role="region" aria-label="{name}" tabindex="0"><table>"#)?;
    body(&name, head, lines, out)?;
    writeln!(out, "</div>")
}

/// A table of text, which wraps where the page is too narrow.
fn text_table(
    caption: &str,
    head: &[&str],
    lines: impl Iterator<Item = Vec<String>>,
    out: &mut impl Write,
) -> io::Result<()> {
    write!(out, r#"<table class="text">"#)?;
    body(&escaped(caption), head, lines, out)
}

/// The inside of `<table>` and its end tag. The first cell of a line is its head, also for the lines after it whose first cell
/// is empty.
fn body(
    caption: &str,
    head: &[&str],
    lines: impl Iterator<Item = Vec<String>>,
    out: &mut impl Write,
) -> io::Result<()> {
    write!(out, "<caption>{caption}</caption><thead><tr>")?;
    for name in head {
        match *name {
            "" => write!(out, "<td></td>")?,
            name => write!(out, r#"<th scope="col">{}</th>"#, explained(name))?,
        }
    }
    writeln!(out, "</tr></thead><tbody>")?;
    let lines: Vec<_> = lines.collect();
    let is_headed = |line: &Vec<String>| line.first().is_some_and(|cell| !cell.is_empty());
    for (place, line) in lines.iter().enumerate() {
        let below = lines[place + 1..].iter().take_while(|line| !is_headed(line)).count();
        let rows = (place == 0 || is_headed(line)).then_some(below + 1);
        table_row(line, rows, out)?;
    }
    writeln!(out, "</tbody></table>")
}

/// One line; `rows` is how many lines its first cell is the head of, if it is one.
fn table_row(line: &[String], rows: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let Some((first, cells)) = line.split_first() else { return Ok(()) };
    write!(out, "<tr>")?;
    match rows {
        Some(1) => write!(out, r#"<th scope="row">{}</th>"#, escaped(first))?,
        Some(rows) => write!(out, r#"<th scope="row" rowspan="{rows}">{}</th>"#, escaped(first))?,
        None => {}
    }
    cells.iter().try_for_each(|cell| write!(out, "<td>{}</td>", explained(cell)))?;
    writeln!(out, "</tr>")
}

/// A word, with an explanation if it is an abbreviation.
fn explained(word: &str) -> String {
    match words::meaning(word) {
        Some(meaning) => format!(r#"<abbr title="{}">{}</abbr>"#, escaped(meaning), escaped(word)),
        None => escaped(word),
    }
}

/// The abbreviations of a page.
fn glossary(words: Option<String>, out: &mut impl Write) -> io::Result<()> {
    words.map_or(Ok(()), |words| writeln!(out, r#"<p class="words">{}</p>"#, escaped(&words)))
}

fn failures(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let failed: Vec<&SummaryRow> = summary.rows.iter().filter(|row| !row.failures.is_empty()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2>Not established</h2>")?;
    let lines = failed.iter().flat_map(|row| failure_lines(row));
    table("Authentications that were not established, by reason", &FAILURE_HEAD, lines, out)
}

const FAILURE_HEAD: [&str; 6] =
    ["method", "network", "failed/n", "found by: why", "after ms", "discarded meanwhile"];

/// One line per reason; the first one has the time until the failure and the discarded messages.
fn failure_lines(row: &SummaryRow) -> Vec<Vec<String>> {
    let after = row.failed_after_ms.map(|delay| ranged(delay.median()));
    let mut of_row = [row.subject().to_string(), row.network.clone(), after.unwrap_or_else(|| known(None))];
    let mut discards = discards(row).unwrap_or_default();
    let mut lines = Vec::new();
    for (why, count) in &row.failures {
        let [method, network, after] = std::mem::take(&mut of_row);
        let failed = format!("{count}/{}", row.n);
        lines.push(vec![method, network, failed, why.clone(), after, std::mem::take(&mut discards)]);
    }
    lines
}

fn footnotes(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, r#"<div class="notes">"#)?;
    for note in notes(summary) {
        writeln!(out, "<p>{}</p>", escaped(&note))?;
    }
    writeln!(out, "<p>{}</p></div>", escaped(SPLIT))
}

const SPLIT: &str = "network: a datagram that arrived was under way; computation: none was, and a node was computing; \
                     waiting: neither, so timers ran or a datagram was lost. Bars end at the median; their parts are the medians of each, in \
                     proportion.";

fn machine(findings: &Findings, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>Machine and plan</h2>")?;
    let provenance = provenance::lines(&findings.manifest.provenance);
    let seed = ("seed", findings.manifest.seed.clone());
    let lines = provenance.into_iter().chain([seed]).map(|(what, value)| vec![what.to_owned(), value]);
    text_table("Where these figures come from", &["what", "value"], lines, out)?;
    let plan = escaped(&findings.manifest.plan);
    writeln!(
        out,
        "<details><summary>The resolved plan, which repeats this run</summary><pre>{plan}</pre></details>"
    )
}

/// Colours and patterns.
const STYLE: &str = include_str!("style.css");

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::example;

    fn page() -> String {
        let mut out = Vec::new();
        write(&example::findings(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn page_of_a_study() -> String {
        let mut out = Vec::new();
        let study = Some(crate::study::tests::account());
        write(&Findings { study, ..example::findings() }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_study_comes_with_its_verdicts_bars_and_tables() {
        let (page, without) = (page_of_a_study(), page());
        for text in
            ["<b>holds in part</b>", "&gt; 100 derived", "≈ 100 reconstructed", "12.35 [11.67, 13.02]"]
        {
            assert!(page.contains(text) && !without.contains(text), "{text}");
        }
        let whiskers = |page: &str| page.matches(r#"<i class="interval"#).count();
        assert_eq!(whiskers(&page), whiskers(&without) + 2);
        assert!(page.contains("&lt;compared&gt;") && !page.contains("<compared>"));
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = page();
        for word in ["http:", "https:", "<script", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }

    /// Asserts that every element of a page is closed, in order.
    pub(crate) fn assert_closed(page: &str) {
        let mut open = Vec::new();
        for tag in page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
            let name = tag.trim_start_matches('/').split_whitespace().next().unwrap();
            match tag {
                _ if tag.starts_with('!') || ["meta", "br"].contains(&name) || tag.ends_with('/') => {}
                _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name.to_owned())),
                _ => open.push(name.to_owned()),
            }
        }
        assert_eq!(open, Vec::<String>::new());
    }

    #[test]
    fn every_element_is_closed_in_order() {
        assert_closed(&page_of_a_study());
    }

    /// Asserts that every table has a caption, and that every head has a scope.
    pub(crate) fn assert_headed(page: &str) {
        let tables = page.matches("<table").count();
        assert!(tables > 0);
        let captioned = ["<table><caption>", "<table class=\"text\"><caption>"];
        assert_eq!(captioned.map(|begin| page.matches(begin).count()).iter().sum::<usize>(), tables);
        let heads: Vec<_> = page.split("<th").skip(1).filter(|rest| rest.starts_with([' ', '>'])).collect();
        let scoped = |head: &&&str| head.starts_with(" scope=\"col\">") || head.starts_with(" scope=\"row\"");
        assert_eq!(heads.iter().filter(scoped).count(), heads.len());
        for row in page
            .split("<tbody>")
            .skip(1)
            .flat_map(|body| body.split("</tbody>").next().unwrap().split("<tr>").skip(1))
        {
            assert!(row.starts_with("<th scope=\"row\"") || row.starts_with("<td>"), "{row}");
        }
    }

    #[test]
    fn every_table_has_a_caption_and_every_head_a_scope() {
        assert_headed(&page_of_a_study());
    }

    #[test]
    fn abbreviations_are_explained_where_they_stand() {
        let page = page();
        for text in
            ["<abbr title=\"nothing but the named network", ">raw</abbr>", "ue: the device (user equipment)"]
        {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn the_plan_is_escaped() {
        let page = page();
        assert!(page.contains("example &lt;one&gt;") && !page.contains("<one>"));
    }

    #[test]
    fn the_page_has_the_provenance_of_its_figures() {
        let page = page();
        for text in
            ["0.1.0 (1b27e3e1c1f1-dirty)", "keytoll run &lt;one&gt;.toml", "0.25, 0.50, 0.75", "bench"]
        {
            assert!(page.contains(text), "{text}");
        }
        assert!(page.contains(r#"<th scope="row">governor</th><td>not noted</td>"#));
    }

    #[test]
    fn one_bar_for_each_delay_and_each_node() {
        // Two rows in each of two groups: a whisker for each delay, and one for each of two nodes.
        assert_eq!(page().matches(r#"<i class="interval"#).count(), 4 + 8);
    }
}
