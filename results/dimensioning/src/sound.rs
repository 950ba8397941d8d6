//! Numbers of a summary that no run can have measured: a search among them might not end.

use keytoll_analysis::summary::{Delay, SummaryRow};

use crate::SizingError;

/// No authentication takes longer, and none has more steps.
const WEEK_S: f64 = 7.0 * 86_400.0;
const STEPS_MAX: f64 = 1e6;

/// Every time of a row is one.
pub(crate) fn check(row: &SummaryRow) -> Result<(), SizingError> {
    let cpu = row.cpu.iter().map(|(node, cpu)| (format!("cpu.{node}.ns"), cpu.ns, 1e-9));
    let steps = row.steps.iter().flat_map(|(node, steps)| {
        [("busy_ns", steps.busy_ns), ("busy_ns_stddev", steps.busy_ns_stddev.unwrap_or(0.0))]
            .map(|(name, ns)| (format!("steps.{node}.{name}"), ns, 1e-9))
    });
    let operations = row.operations.iter().flat_map(|(node, all)| all.iter().map(move |one| (node, one)));
    let operations =
        operations.map(|(node, one)| (format!("operations.{node}.{}", one.operation), one.ns, 1e-9));
    let counts = row.steps.iter().map(|(node, steps)| {
        (format!("steps.{node}.per_authentication"), steps.per_authentication, WEEK_S / STEPS_MAX)
    });
    let delays = row.delay_ms.iter().flat_map(times);
    let mut all = delays.chain(cpu).chain(steps).chain(operations).chain(counts);
    match all.find(|(_, value, unit)| !(0.0..=WEEK_S).contains(&(value * unit))) {
        None => Ok(()),
        Some((name, value, _)) => {
            let message = format!(
                "the summary of the run has a `{name}` of `{}` that nobody measured: {value:e}",
                row.method
            );
            Err(SizingError::new(
                message,
                "times are from 0 to a week; `keytoll report DIR` writes summary.json anew",
            ))
        }
    }
}

/// The times of a delay in milliseconds.
fn times(delay: &Delay) -> impl Iterator<Item = (String, f64, f64)> {
    let Delay { mean, min, p5, p50, p95, p99, max, .. } = *delay;
    let named =
        [("mean", mean), ("min", min), ("p5", p5), ("p50", p50), ("p95", p95), ("p99", p99), ("max", max)];
    let ends = [("p95_ci95", delay.p95_interval()), ("p99_ci95", delay.p99_interval())];
    let ends = ends.into_iter().flat_map(|(name, ends)| ends.into_iter().flatten().map(move |ms| (name, ms)));
    named.into_iter().chain(ends).map(|(name, ms)| (format!("delay_ms.{name}"), ms, 1e-3))
}
