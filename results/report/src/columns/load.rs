//! Columns of loads of real targets: rates, how late the generator was, CPU of both sides, and why attempts came to nothing.

use keytoll_analysis::census::Percentiles;
use keytoll_analysis::summary::{LoadSummary, SummaryRow};

use super::{Column, OfLine, Table, Value, column};

/// What was asked for and reached.
pub(crate) const RATES: Table = Table {
    title: "Load",
    columns: &RATE_COLUMNS,
    lines: |row| usize::from(row.load.is_some()),
    note: "Load: rates are over the length of the schedule, or until the last success if that is later; late: from the intended start of \
           a device until it began; limited: seconds in which the generator was late, refused, or had no time left.",
};

const RATE_COLUMNS: [Column<OfLine>; 9] = [
    column("asked/s", "devices", "starts in a second that the schedule wanted", |row, _| {
        of(row, |it| it.asked_per_s.into())
    }),
    column("reached/s", "devices", "authenticated in a second", |row, _| {
        of(row, |it| it.reached_per_s.into())
    }),
    column("late p50", "ms", "median time by which a start was late", |row, _| late(row, |it| it.p50)),
    column("late p99", "ms", "its 99th percentile", |row, _| late(row, |it| it.p99)),
    column("late p99.9", "ms", "its 99.9th percentile", |row, _| late(row, |it| it.p99_9)),
    column("late max", "ms", "the longest", |row, _| late(row, |it| it.max)),
    column("threads", "threads", "of the generator", |row, _| of(row, |it| u64::from(it.workers).into())),
    column("limited", "s", "seconds that the generator limited", |row, _| {
        of(row, |it| (it.generator.limited_s as f64).into())
    }),
    column("left open", "sessions", "not closed in time at the end", |row, _| {
        of(row, |it| it.left_open.into())
    }),
];

/// What both sides needed.
pub(crate) const CPU: Table = Table {
    title: "CPU of a load",
    columns: &CPU_COLUMNS,
    lines: |row| row.load.as_ref().map_or(0, |it| 1 + usize::from(it.target_usage.is_some())),
    note: "CPU of a load: of the generator with all its threads, and of the target where it was measured.",
};

const CPU_COLUMNS: [Column<OfLine>; 5] = [
    column("node", "", "", |row, line| of(row, |_| if line == 0 { "generator" } else { "target" }.into())),
    column("cpu s", "s", "CPU time", |row, line| {
        either(row, line, |it| Some(it.generator.cpu_s), |it| Some(it.target_usage.as_ref()?.cpu_s))
    }),
    column("cpu µs/device", "µs", "CPU time for each device that was authenticated", |row, line| {
        let generator = |it: &LoadSummary| it.generator.cpu_us_per_established;
        either(row, line, generator, |it| it.target_usage.as_ref()?.cpu_us_per_established)
    }),
    column("crypto µs/device", "µs", "the part of it in cryptography", |row, line| {
        let target = |it: &LoadSummary| it.target_usage.as_ref()?.crypto_us_per_established;
        either(row, line, |it| it.generator.crypto_us_per_established, target)
    }),
    column("memory MiB", "MiB", "the most memory", |row, line| {
        let most = |it: &LoadSummary| Some(it.target_usage.as_ref()?.memory_bytes_max? as f64 / 1_048_576.0);
        either(row, line, |_| None, most)
    }),
];

/// Why attempts, sessions and datagrams came to nothing.
pub(crate) const REASONS: Table = Table {
    title: "Reasons",
    columns: &REASON_COLUMNS,
    lines: |row| if row.load.is_some() { reasons(row).count() } else { 0 },
    note: "Reasons: failed: attempts; lost: sessions that the target closed or lost; discarded: datagrams that could not be used; not \
           sent: starts that the generator could not make, among the failed on a schedule.",
};

const REASON_COLUMNS: [Column<OfLine>; 3] = [
    column("what", "", "", |row, line| reason(row, line, |(what, ..)| what.into())),
    column("why", "", "", |row, line| reason(row, line, |(_, why, _)| why.into())),
    column("count", "events", "how often", |row, line| reason(row, line, |(.., count)| count.into())),
];

/// What came to nothing, why, and how often.
type Reason<'a> = (&'static str, &'a str, u64);

fn reasons(row: &SummaryRow) -> impl Iterator<Item = Reason<'_>> {
    let failed = row.failures.iter().map(|(why, count)| ("failed", why.as_str(), *count));
    let of_load = row.load.iter().flat_map(|it| {
        let all = [("lost", &it.lost), ("discarded", &it.discarded), ("not sent", &it.generator.refused)];
        all.into_iter()
            .flat_map(|(what, map)| map.iter().map(move |(why, count)| (what, why.as_str(), *count)))
    });
    failed.chain(of_load)
}

fn reason(row: &SummaryRow, line: usize, of: fn(Reason<'_>) -> Value) -> Value {
    reasons(row).nth(line).map_or(Value::Nothing, of)
}

fn of(row: &SummaryRow, of: impl Fn(&LoadSummary) -> Value) -> Value {
    row.load.as_ref().map_or(Value::Nothing, of)
}

fn late(row: &SummaryRow, of: fn(&Percentiles) -> f64) -> Value {
    let late = row.population.as_ref().and_then(|it| it.late_ms.as_ref());
    late.map(of).into()
}

/// A number of the generator, or of the target.
fn either(
    row: &SummaryRow,
    line: usize,
    generator: impl Fn(&LoadSummary) -> Option<f64>,
    target: impl Fn(&LoadSummary) -> Option<f64>,
) -> Value {
    let value = row.load.as_ref().and_then(|it| if line == 0 { generator(it) } else { target(it) });
    value.map_or(Value::Nothing, Value::Number)
}
