//! A profile as a page: the operations of a node as bars in the order of the messages, the skeleton beside the full run.

use keytoll_analysis::composition::REST;
use keytoll_analysis::profile::{Cell, Column, Estimate, Line, NodeTotal, Profile, Skeleton};
use keytoll_analysis::summary::Median;
use keytoll_page::{self as page, Block, Chart, Page, Section, Table};

use super::anchor;
use super::figure::{self, Bar, Frame};
use super::tables::{number, plain, text};
use crate::number::{plain as shown, ranged};
use crate::profile::{TOTALS, TotalsLine, headline, operation, suite};
use crate::{provenance, words};

/// The page of profiles, one for each method.
pub fn profiles(profiles: &[Profile]) -> Page {
    let names: Vec<String> =
        profiles.iter().map(|profile| format!("{} at {}", profile.method, profile.node)).collect();
    let machine = profiles.iter().find_map(|profile| profile.provenance.as_ref());
    Page {
        title: names.join(", "),
        verdict: profiles.iter().flat_map(verdict).collect(),
        facts: machine.map(provenance::facts).unwrap_or_default(),
        warnings: Vec::new(),
        sections: profiles.iter().map(of_profile).collect(),
    }
}

/// What follows from each suite of a profile.
fn verdict(profile: &Profile) -> impl Iterator<Item = String> {
    profile.columns.iter().filter_map(|column| {
        let node = column.node(&profile.node)?;
        let (total, share) = (ranged(us(&node.total_ms)), percent(node.crypto_share));
        let (method, suite, name) = (&profile.method, suite(column), &profile.node);
        Some(format!("An authentication by {method} with {suite} costs {name} {total} µs, {share} of it in crypto operations."))
    })
}

fn of_profile(profile: &Profile) -> Section {
    let id = format!("{}-{}", anchor(&profile.method), anchor(&profile.node));
    let about = [Block::Text(headline(profile))];
    let words = words::of_profile(profile).map(Block::Note);
    let suites =
        profile.columns.iter().enumerate().map(|(place, column)| of_suite(&id, profile, place, column));
    let last = [of_nodes(&id, profile), notes(&id, &profile.notes)];
    Section {
        title: format!("{} at {}", profile.method, profile.node),
        blocks: about.into_iter().chain(words).collect(),
        sections: suites.chain(last).collect(),
        id,
    }
}

/// The notes of a profile.
pub(super) fn notes(id: &str, notes: &[String]) -> Section {
    Section {
        id: format!("{id}-notes"),
        title: "How it was measured".to_owned(),
        blocks: notes.iter().cloned().map(Block::Note).collect(),
        sections: Vec::new(),
    }
}

/// The median in microseconds.
fn us(ms: &Estimate) -> Median {
    ms.median().times(1e3)
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A median as a number of a table.
pub(super) fn median(of: Median) -> page::Cell {
    number(ranged(of), of.value)
}

/// How intervals of a profile are meant.
pub(super) const INTERVAL: &str = "Medians with their distribution-free 95 % intervals.";

/// One suite: its operations, then the full run with its skeleton.
fn of_suite(id: &str, profile: &Profile, place: usize, column: &Column) -> Section {
    let id = format!("{id}-{}", place + 1);
    let skeleton = column.skeleton.as_ref().and_then(|skeleton| beside(&id, profile, skeleton));
    let charts = [operations(&id, profile, place, column), skeleton].into_iter().flatten();
    let table = Block::Table(table(&id, profile, place, column));
    let blocks = charts.map(Block::Chart).chain([table]).collect();
    Section { title: suite(column), blocks, id, sections: Vec::new() }
}

/// The operations with a suite.
fn cells(profile: &Profile, place: usize) -> impl Iterator<Item = (&Line, &Cell)> {
    profile.lines.iter().filter_map(move |line| Some((line, line.cells.get(place)?.as_ref()?)))
}

fn operations(id: &str, profile: &Profile, place: usize, column: &Column) -> Option<Chart> {
    let bars = cells(profile, place)
        .map(|(line, cell)| bar(&format!("{}, {}", line.message, operation(line)), "operations", &cell.ms));
    let rest = column.node(&profile.node).map(|node| bar("the rest", REST, &node.rest_ms));
    let title = format!("Operations of {} in the order of the messages, µs", profile.node);
    let note = format!("{INTERVAL} n = {}.", column.n);
    let frame = Frame { id: format!("{id}-operations"), title, note, unit: "µs" };
    figure::single(frame, &bars.chain(rest).collect::<Vec<_>>())
}

fn bar(label: &str, part: &str, ms: &Estimate) -> Bar {
    let time = us(ms);
    Bar {
        label: label.to_owned(),
        part: part.to_owned(),
        value: time.value,
        interval: time.interval,
        n: Some(ms.n),
    }
}

/// Paper 004's Table 2 as bars: full, skeleton, and the cost of cryptography by both methods.
fn beside(id: &str, profile: &Profile, skeleton: &Skeleton) -> Option<Chart> {
    let sides = &skeleton.node;
    let bars = [
        bar("full", "the run with cryptography", &sides.full_ms),
        bar("skeleton", "without", &sides.skeleton_ms),
        bar("crypto by subtraction", "what cryptography costs", &sides.by_subtraction_ms),
        bar("crypto by addition", "what cryptography costs", &sides.by_addition_ms),
    ];
    let title = format!("Full and skeleton at {}, µs", profile.node);
    let frame = Frame { id: format!("{id}-skeleton"), title, note: INTERVAL.to_owned(), unit: "µs" };
    figure::single(frame, &bars)
}

fn table(id: &str, profile: &Profile, place: usize, column: &Column) -> Table {
    let columns = [
        ("message", "", ""),
        ("operation", "", ""),
        ("algorithm", "", ""),
        ("times", "operations", "how often in one authentication"),
        ("µs", "µs", "median, in brackets its distribution-free 95 % interval"),
        ("n", "authentications", ""),
        ("kcycles", "kcycles", "thousands of cycles of the median"),
        ("share", "%", "part of the node's time, of medians"),
    ];
    let operations = cells(profile, place).map(|(line, cell)| {
        let names = [
            text(&line.message),
            text(&operation(line)),
            text(&cell.algorithm),
            number(shown(cell.count), cell.count),
        ];
        names.into_iter().chain(numbers(&cell.ms, cell.cycles, cell.share)).collect()
    });
    let node = column.node(&profile.node).into_iter();
    let sums = node.flat_map(|node| TOTALS.map(|total| sum_line(node, total)));
    Table {
        id: format!("{id}-table"),
        caption: format!("Operations of {} with {}", profile.node, suite(column)),
        columns: columns.map(|(head, unit, meaning)| plain(head, unit, meaning)).to_vec(),
        lines: operations.chain(sums).collect(),
    }
}

fn sum_line(node: &NodeTotal, (label, of): TotalsLine) -> Vec<page::Cell> {
    let (ms, share) = (of(node), of(node).p50 / node.total_ms.p50);
    let names = [label, "", "", ""].map(text).into_iter();
    names.chain(numbers(ms, node.total_cycles * share, share)).collect()
}

/// Time, n, cycles and share.
fn numbers(ms: &Estimate, cycles: f64, share: f64) -> [page::Cell; 4] {
    let (kilocycles, n) = (cycles / 1e3, ms.n);
    [
        median(us(ms)),
        number(n.to_string(), n as f64),
        number(shown(kilocycles), kilocycles),
        number(percent(share), 100.0 * share),
    ]
}

/// Every node's totals.
fn of_nodes(id: &str, profile: &Profile) -> Section {
    let columns = [
        ("suite", "", ""),
        ("node", "", ""),
        ("total µs", "µs", "the node's whole time"),
        ("operations µs", "µs", "in crypto operations"),
        ("rest µs", "µs", "outside of them"),
        ("n", "authentications", ""),
        ("crypto share", "%", "part of the node's time in crypto operations"),
    ];
    let line = |column: &Column, node: &NodeTotal| {
        let times = [&node.total_ms, &node.crypto_ms, &node.rest_ms].map(|ms| median(us(ms)));
        let n = node.total_ms.n;
        let last =
            [number(n.to_string(), n as f64), number(percent(node.crypto_share), 100.0 * node.crypto_share)];
        [text(&suite(column)), text(&node.node)].into_iter().chain(times).chain(last).collect()
    };
    let all =
        || profile.columns.iter().flat_map(|column| column.nodes.iter().map(move |node| (column, node)));
    let table = Table {
        id: format!("{id}-nodes-table"),
        caption: "What an authentication costs each node".to_owned(),
        columns: columns.map(|(head, unit, meaning)| plain(head, unit, meaning)).to_vec(),
        lines: all().map(|(column, node)| line(column, node)).collect(),
    };
    let parts = |(column, node): (&Column, &NodeTotal)| {
        let label = format!("{}, {}", node.node, suite(column));
        [bar(&label, "operations", &node.crypto_ms), bar(&label, REST, &node.rest_ms)]
    };
    let bars: Vec<Bar> = all().flat_map(parts).collect();
    let frame = Frame {
        id: format!("{id}-nodes-time"),
        title: "CPU time of an authentication at each node, medians of the parts, µs".to_owned(),
        note: format!("{INTERVAL} Those of the parts need not add up to that of the whole."),
        unit: "µs",
    };
    let chart = figure::stacked(frame, &bars, &["operations", REST].map(str::to_owned)).map(Block::Chart);
    Section {
        id: format!("{id}-nodes"),
        title: "Every node".to_owned(),
        blocks: chart.into_iter().chain([Block::Table(table)]).collect(),
        sections: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::{charts, text_of};
    use crate::profile::tests::{with_skeleton, without_skeleton};

    #[test]
    fn every_operation_has_a_bar_and_the_skeleton_stands_beside_the_whole() {
        let bars =
            |page: &Page| charts(page).map(|chart| (chart.id.clone(), chart.lines.len())).collect::<Vec<_>>();
        let one = profiles(&[with_skeleton()]);
        let found = bars(&one);
        // Four operations and the rest; full, skeleton and the cost of cryptography by two methods; two parts of two nodes.
        assert_eq!(found.iter().map(|(_, lines)| *lines).collect::<Vec<_>>(), [5, 4, 4], "{found:?}");
        let text = text_of(&one);
        assert!(
            text.contains("crypto by subtraction") && text.contains("A note on how it was measured."),
            "{text}"
        );
        let both = profiles(&[with_skeleton(), without_skeleton()]);
        assert_eq!(both.sections.len(), 2);
        assert!(both.verdict[0].contains("in crypto operations"), "{:?}", both.verdict);
    }
}
