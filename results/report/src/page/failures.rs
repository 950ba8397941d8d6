//! Authentications that were not established: how many by each reason, and what each has cost.

use keytoll_analysis::Findings;
use keytoll_analysis::metrics::FailureTally;
use keytoll_analysis::summary::{Median, SummaryRow};
use keytoll_page::{Block, Cell, Chart, Column, Section, Table};

use super::figure::{self, Bar, Frame};
use super::rows::{Row, Rows, counts};
use super::tables::{self, number, text};
use crate::notes::discards;
use crate::number::{known, plain, ranged};

/// The section; nothing if all were established.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let groups = Rows::groups(findings);
    let failed: Vec<&Row<'_>> = groups.iter().flat_map(|rows| &rows.rows).filter(has_failed).collect();
    let blocks = chart(&failed).map(Block::Chart).into_iter().chain([Block::Table(table(&failed))]);
    let note = Block::Note(NOTE.to_owned());
    let section = |blocks| Section {
        id: "failures".to_owned(),
        title: "Not established".to_owned(),
        blocks,
        sections: Vec::new(),
    };
    (!failed.is_empty()).then(|| section(blocks.chain([note]).collect()))
}

const NOTE: &str = "A failure is counted at the node that found it, with its reason. after: from the trigger until the device knew, median with its \
                    distribution-free 95 % interval. messages, bytes, CPU: what such an authentication has cost until then over all links and at all \
                    nodes, means.";

fn has_failed(row: &&Row<'_>) -> bool {
    !row.summary.failures.is_empty()
}

fn chart(failed: &[&Row<'_>]) -> Option<Chart> {
    let bars: Vec<Bar> = failed.iter().flat_map(|row| of_row(row)).collect();
    let note = format!(
        "By the node that found out and its reason, of all authentications of the row. {}.",
        counts(failed.iter().map(|row| row.summary.n))
    );
    let title = "Authentications that were not established, %".to_owned();
    figure::single(Frame { id: "failures-share".to_owned(), title, note, unit: "%" }, &bars)
}

fn of_row<'a>(row: &'a Row<'_>) -> impl Iterator<Item = Bar> + 'a {
    row.summary.failures.iter().map(|(why, &count)| Bar {
        label: format!("{}, {}: {why}", row.label, row.summary.network),
        part: "not established".to_owned(),
        value: 100.0 * count as f64 / row.summary.n as f64,
        interval: None,
        n: Some(row.summary.n),
    })
}

fn table(failed: &[&Row<'_>]) -> Table {
    let columns = [
        ("method", "", ""),
        ("network", "", ""),
        ("found by: why", "", "the node that found the failure, and its reason"),
        ("failed", "authentications", "for this reason"),
        ("n", "authentications", "all of the row"),
        (
            "after ms",
            "ms",
            "from the trigger until the device knew: median, in brackets its distribution-free 95 % interval",
        ),
        ("messages", "messages", "over all links until then, mean"),
        ("bytes", "bytes", "of their packets, mean"),
        ("CPU µs", "µs", "of all nodes until then, mean"),
        ("discarded meanwhile", "", "messages of the row that arrived and could not be used, by reason"),
    ];
    let columns: Vec<Column> =
        columns.map(|(head, unit, meaning)| tables::plain(head, unit, meaning)).to_vec();
    let caption = "What was not established, why, and what it cost".to_owned();
    Table {
        id: "failures-table".to_owned(),
        caption,
        columns,
        lines: failed.iter().flat_map(|row| lines(row)).collect(),
    }
}

fn lines(row: &Row<'_>) -> Vec<Vec<Cell>> {
    let line = |(why, &count): (&String, &u64)| {
        let names = [row.label.as_str(), &row.summary.network, why].map(text);
        let counts = [count, row.summary.n].map(|count| number(count.to_string(), count as f64));
        let costs = costs(row.found.and_then(|found| found.tally.failed.get(why)), row.summary);
        let discarded = text(&discards(row.summary).unwrap_or_default());
        names.into_iter().chain(counts).chain(costs).chain([discarded]).collect()
    };
    row.summary.failures.iter().map(line).collect()
}

/// Time, messages, bytes and CPU time. Where they are not known by reason, as of populations, the time is that of the row.
fn costs(tally: Option<&FailureTally>, row: &SummaryRow) -> [Cell; 4] {
    let of_row = row.failed_after_ms.map(|delay| delay.median());
    let after = tally.map_or(of_row, after_ms);
    let mean =
        |value: Option<f64>| value.map_or_else(|| text(&known(None)), |value| number(plain(value), value));
    [
        after.map_or_else(|| text(&known(None)), |median| number(ranged(median), median.value)),
        mean(tally.and_then(|tally| tally.messages.mean())),
        mean(tally.and_then(|tally| tally.bytes.mean())),
        mean(tally.and_then(FailureTally::cpu_ns_mean).map(|ns| ns / 1e3)),
    ]
}

fn after_ms(tally: &FailureTally) -> Option<Median> {
    let [p50] = tally.after_ns.quantiles([0.5])?;
    let interval = tally.after_ns.quantile_interval95(0.5).map(|interval| (interval.low, interval.high));
    Some(Median { value: p50, interval }.times(1e-6))
}
