//! Turns of iperf3 to figures: what came through, and what a gigabit of it cost the two daemons, each with its 95 %
//! interval over rounds.

use std::fmt::Write as _;

use keytoll_analysis::stats::Welford;
use serde::Serialize;

use crate::table::Figure;

/// One turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// What TCP delivered.
    pub(crate) bytes: u64,
    /// How long it took.
    pub(crate) seconds: f64,
    /// CPU time of both daemons meanwhile.
    pub(crate) cpu_ns: u64,
}

/// Somebody's turns.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    megabits_per_second: Welford,
    cpu_s_per_gigabit: Welford,
}

impl Measured {
    pub(crate) fn add(&mut self, turn: Turn) {
        let bits = turn.bytes as f64 * 8.0;
        self.megabits_per_second.add(bits / 1e6 / turn.seconds);
        self.cpu_s_per_gigabit.add(turn.cpu_ns as f64 / 1e9 / (bits / 1e9));
    }
}

/// One program with one suite.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    who: &'static str,
    /// Turns.
    n: u64,
    megabits_per_second: Figure,
    cpu_s_per_gigabit: Figure,
}

impl Row {
    pub(crate) fn new(who: &'static str, measured: &Measured) -> Self {
        Self {
            who,
            n: measured.megabits_per_second.n(),
            megabits_per_second: Figure::of(&measured.megabits_per_second),
            cpu_s_per_gigabit: Figure::of(&measured.cpu_s_per_gigabit),
        }
    }
}

/// A suite: ours comes first.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) suite: &'static str,
    pub(crate) rows: Vec<Row>,
}

impl Comparison {
    /// Rows of a Markdown table, see [`HEAD`].
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let (rate, cost) = (&row.megabits_per_second, &row.cpu_s_per_gigabit);
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} ± {:.0} | {:.2} ± {:.2} | {:.2} | {:.2} | {} |",
                self.suite,
                row.who,
                rate.mean,
                rate.half(),
                cost.mean,
                cost.half(),
                self.rows[0].megabits_per_second.mean / rate.mean,
                // More for the same CPU time is better, as in the column before.
                cost.mean / self.rows[0].cpu_s_per_gigabit.mean,
                row.n,
            );
        }
        text
    }
}

/// The head of the table.
pub(crate) const HEAD: &str = "\
| suite | program | Mbit/s, measured | CPU s a Gbit, both ends | keytoll / it, measured | keytoll / it, by CPU | n |
|---|---|---|---|---|---|---|
";
