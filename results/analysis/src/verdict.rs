//! What follows from a run as a whole: who is quickest and who slowest, and whether that may be chance; who takes most CPU time, and where;
//! what failed.

use crate::comparable::{Setting, groups};
use crate::summary::{Median, Summary, SummaryRow};

/// What follows from a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict<'a> {
    /// Delays in each setting where anybody was authenticated, in the order of the run.
    pub delays: Vec<Delays<'a>>,
    /// CPU time in the first setting where it was measured.
    pub cpu: Option<CpuTimes<'a>>,
    /// Authentications.
    pub n: u64,
    /// Those that were established.
    pub succeeded: u64,
    /// What failed most often.
    pub failed_most: Option<Failed<'a>>,
    /// Authentications that retransmitted because a packet was lost.
    pub waited: u64,
}

/// The ends of a ranking by delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Delays<'a> {
    /// Where.
    pub setting: Setting<'a>,
    /// The row with the least median.
    pub least: Placed<'a>,
    /// Others whose interval overlaps with that of the least, so that they cannot be told apart from it.
    pub like_the_least: Vec<&'a SummaryRow>,
    /// The row with the greatest median; none if there is only one row.
    pub greatest: Option<Placed<'a>>,
}

/// A row with its median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed<'a> {
    /// The row.
    pub row: &'a SummaryRow,
    /// Its median in milliseconds.
    pub median_ms: Median,
}

/// The ends of a ranking by CPU time.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuTimes<'a> {
    /// Where.
    pub setting: Setting<'a>,
    /// The row that takes least.
    pub least: Spent<'a>,
    /// The row that takes most; none if there is only one row.
    pub greatest: Option<Spent<'a>>,
}

/// The CPU time of a row at all nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent<'a> {
    /// The row.
    pub row: &'a SummaryRow,
    /// Mean of an authentication, at all nodes together.
    pub ns: f64,
    /// The node that takes most of it.
    pub node: &'a str,
    /// Its share of all.
    pub share: f64,
}

/// The most frequent reason of failures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failed<'a> {
    /// The row in which it is most frequent.
    pub row: &'a SummaryRow,
    /// The node that found it, and the reason.
    pub why: &'a str,
    /// How often it was.
    pub count: u64,
}

impl<'a> Verdict<'a> {
    /// Judges a run.
    pub fn of(summary: &'a Summary) -> Self {
        let groups = groups(&summary.rows);
        let rows = || summary.rows.iter();
        let failures = rows().flat_map(|row| row.failures.iter().map(move |(why, &count)| (row, why, count)));
        // Of several the first.
        let most = failures.min_by_key(|(.., count)| std::cmp::Reverse(*count));
        Self {
            delays: groups.iter().filter_map(|group| delays(group.setting, &group.rows)).collect(),
            cpu: groups.iter().find_map(|group| cpu(group.setting, &group.rows)),
            n: rows().map(|row| row.n).fold(0, u64::saturating_add),
            succeeded: rows().map(|row| row.succeeded).fold(0, u64::saturating_add),
            failed_most: most.map(|(row, why, count)| Failed { row, why, count }),
            waited: rows().filter_map(|row| row.waited_for_lost_ms.as_ref()).map(|wait| wait.n).sum(),
        }
    }
}

fn delays<'a>(setting: Setting<'a>, rows: &[&'a SummaryRow]) -> Option<Delays<'a>> {
    let placed = |row: &&'a SummaryRow| Some(Placed { row, median_ms: row.delay_ms?.median() });
    let mut all: Vec<Placed<'a>> = rows.iter().filter_map(placed).collect();
    all.sort_by(|one, other| one.median_ms.value.total_cmp(&other.median_ms.value));
    let (least, others) = all.split_first()?;
    let alike = others.iter().filter(|other| overlap(&least.median_ms, &other.median_ms));
    Some(Delays {
        setting,
        least: *least,
        like_the_least: alike.map(|placed| placed.row).collect(),
        greatest: others.last().copied(),
    })
}

/// Whether two medians cannot be told apart: their intervals overlap, or are not known.
fn overlap(less: &Median, more: &Median) -> bool {
    match (less.interval, more.interval) {
        (Some((_, high)), Some((low, _))) => high >= low,
        _ => true,
    }
}

fn cpu<'a>(setting: Setting<'a>, rows: &[&'a SummaryRow]) -> Option<CpuTimes<'a>> {
    let mut all: Vec<Spent<'a>> = rows.iter().filter_map(|row| spent(row)).collect();
    all.sort_by(|one, other| one.ns.total_cmp(&other.ns));
    let (least, others) = all.split_first()?;
    Some(CpuTimes { setting, least: *least, greatest: others.last().copied() })
}

fn spent(row: &SummaryRow) -> Option<Spent<'_>> {
    let ns: f64 = row.cpu.iter().map(|(_, cpu)| cpu.ns).sum();
    let (node, most) = row.cpu.iter().max_by(|one, other| one.1.ns.total_cmp(&other.1.ns))?;
    (ns > 0.0).then(|| Spent { row, ns, node, share: most.ns / ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Cpu, Delay};

    fn row(method: &str, p50: f64, half: Option<f64>) -> SummaryRow {
        let delay = Delay {
            p50,
            p50_ci95_low: half.map(|half| p50 - half),
            p50_ci95_high: half.map(|half| p50 + half),
            ..Delay::default()
        };
        SummaryRow {
            method: method.into(),
            n: 10,
            succeeded: 10,
            delay_ms: Some(delay),
            ..SummaryRow::default()
        }
    }

    fn summary(rows: Vec<SummaryRow>) -> Summary {
        Summary {
            format: 1,
            title: String::new(),
            seed: String::new(),
            complete: true,
            provenance: None,
            rows,
            beside: Vec::new(),
        }
    }

    #[test]
    fn who_overlaps_with_the_quickest_is_not_told_apart() {
        let summary = summary(vec![
            row("slow", 9.0, Some(0.5)),
            row("quick", 1.0, Some(0.5)),
            row("alike", 1.8, Some(0.3)),
            row("apart", 2.1, Some(0.5)),
        ]);
        let verdict = Verdict::of(&summary);
        let delays = &verdict.delays[0];
        assert_eq!(
            (delays.least.row.method.as_str(), delays.greatest.unwrap().median_ms.value),
            ("quick", 9.0)
        );
        assert_eq!(
            delays.like_the_least.iter().map(|row| row.method.as_str()).collect::<Vec<_>>(),
            ["alike"]
        );
    }

    #[test]
    fn without_intervals_nobody_is_told_apart() {
        let rows = summary(vec![row("one", 1.0, None), row("other", 100.0, None)]);
        assert_eq!(Verdict::of(&rows).delays[0].like_the_least.len(), 1);
        assert_eq!(Verdict::of(&summary(Vec::new())).delays, []);
    }

    #[test]
    fn the_greatest_failure_and_the_node_that_works_most_are_named() {
        let cpu =
            [("ue", 100.0), ("gw", 300.0)].map(|(node, ns)| (node.to_owned(), Cpu { ns, ..Cpu::default() }));
        let failures = [("aaa: wrong", 2), ("gw: timeout", 5)].map(|(why, count)| (why.to_owned(), count));
        let rows = summary(vec![SummaryRow {
            n: 10,
            succeeded: 3,
            failures: failures.into_iter().collect(),
            cpu: cpu.into_iter().collect(),
            ..SummaryRow::default()
        }]);
        let verdict = Verdict::of(&rows);
        let spent = verdict.cpu.unwrap().least;
        assert_eq!((spent.ns, spent.node, spent.share), (400.0, "gw", 0.75));
        assert_eq!((verdict.failed_most.unwrap().why, verdict.n - verdict.succeeded), ("gw: timeout", 7));
    }
}
