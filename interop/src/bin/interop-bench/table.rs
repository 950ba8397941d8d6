//! Rounds to figures: the mean over rounds with its 95 % interval, for people as a table and for programs as JSON.

use std::fmt::Write as _;

use keytoll_analysis::stats::{Welford, interval95};
use serde::Serialize;

use crate::load::Outcome;

/// What somebody cost in each round.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    cpu_us: Welford,
    per_second: Welford,
    count: u64,
    retransmissions: u64,
}

impl Measured {
    /// A round: CPU time of whom is measured, and what the load came to.
    pub(crate) fn add(&mut self, cpu_ns: u64, outcome: &Outcome) {
        let count = outcome.done as f64;
        self.cpu_us.add(cpu_ns as f64 / 1e3 / count);
        self.per_second.add(count / (outcome.wall_ns as f64 / 1e9));
        self.count += outcome.done;
        self.retransmissions += outcome.retransmissions;
    }
}

/// A mean and its interval.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Figure {
    pub(crate) mean: f64,
    pub(crate) ci95_low: f64,
    pub(crate) ci95_high: f64,
}

impl Figure {
    pub(crate) fn of(values: &Welford) -> Self {
        let mean = values.mean().unwrap_or(f64::NAN);
        let interval =
            interval95(values).map_or((f64::NAN, f64::NAN), |interval| (interval.low, interval.high));
        Self { mean, ci95_low: interval.0, ci95_high: interval.1 }
    }

    pub(crate) fn half(&self) -> f64 {
        (self.ci95_high - self.ci95_low) / 2.0
    }
}

/// One program in one measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) who: String,
    /// Handshakes or authentications in all.
    pub(crate) n: u64,
    pub(crate) rounds: u64,
    pub(crate) cpu_us: Figure,
    /// With the other side on the other CPU.
    pub(crate) per_second: Figure,
    pub(crate) retransmissions: u64,
    pub(crate) peak_bytes: u64,
}

impl Row {
    pub(crate) fn new(who: &str, measured: &Measured, peak_bytes: u64) -> Self {
        Self {
            who: who.to_owned(),
            n: measured.count,
            rounds: measured.cpu_us.n(),
            cpu_us: Figure::of(&measured.cpu_us),
            per_second: Figure::of(&measured.per_second),
            retransmissions: measured.retransmissions,
            peak_bytes,
        }
    }
}

/// A measurement: ours comes first.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    /// What was measured.
    pub(crate) what: String,
    /// Whose CPU time.
    pub(crate) side: &'static str,
    /// At most this part of everybody else's.
    pub(crate) aim: f64,
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    /// Ours as a part of another one's.
    fn ratio(&self, row: &Row) -> f64 {
        self.rows[0].cpu_us.mean / row.cpu_us.mean
    }

    /// Rows of a Markdown table, see [`HEAD`].
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let ratio = self.ratio(row);
            let verdict = match (index, row.who.starts_with("keytoll")) {
                (0, _) => "1".to_owned(),
                (_, true) => format!("{ratio:.2}"),
                (_, false) if ratio <= self.aim => format!("{ratio:.2} (aim met: {:.2})", self.aim),
                (_, false) => format!("{ratio:.2} (aim missed: {:.2})", self.aim),
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.1} ± {:.1} | {:.0} ± {:.0} | {:.0} | {verdict} | {} | {} |",
                self.what,
                self.side,
                row.who,
                row.cpu_us.mean,
                row.cpu_us.half(),
                row.per_second.mean,
                row.per_second.half(),
                1e6 / row.cpu_us.mean,
                row.n,
                row.retransmissions,
            );
        }
        text
    }
}

/// The head of the table.
pub(crate) const HEAD: &str = "\
| what | side | program | CPU µs each | a second, measured | a second and core, by CPU | keytoll / it | n | repeated |
|---|---|---|---|---|---|---|---|---|
";
