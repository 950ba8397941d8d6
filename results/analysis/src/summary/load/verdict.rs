//! The verdict on a load: passed, failed or inconclusive, and why. It is computed once, when the load has ended; the terminal, the page,
//! JUnit's XML and the exit code show this one.
//!
//! A load has failed if no authentication succeeded, if a condition was met, or if an authentication failed and no condition concerns
//! failures. It is inconclusive if its generator started devices too late: then a delay is the generator's as much as the target's.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use keytoll_census::PopulationSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of a second's starts that may be late.
const LATE_SHARE: f64 = 0.01;
/// A start is in time if it is no later than this.
const LATE_MS: f64 = 10.0;
/// A start is in time as well if it is no later than this share of the median delay.
const LATE_SHARE_OF_P50: f64 = 0.1;
/// So many reasons of failures are named in a sentence.
const REASONS_MAX: usize = 3;

/// Whether a load has passed, and why not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadVerdict {
    /// The verdict; `inconclusive` in results of a keytoll that did not judge loads.
    #[serde(default)]
    pub verdict: LoadOutcome,
    /// Why it is this one, a sentence each.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The conditions under which the load has failed.
    pub conditions: Vec<LoadCondition>,
    /// How late starts were; absent in a closed loop, where no start can be late, and if none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_starts: Option<LateStarts>,
    /// What may be wrong, a sentence each.
    pub hints: Vec<String>,
}

/// The result of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadOutcome {
    /// Authentications succeeded, and no condition was met.
    Passed,
    /// The target is too slow, or refuses devices.
    Failed,
    /// The generator was too slow to judge the target.
    #[default]
    Inconclusive,
}

/// A condition, and whether it was met, which is a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCondition {
    /// Like `delay.p99 > 300 ms`.
    pub condition: String,
    /// The measured value; absent if there was nothing to measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// Whether it was met.
    pub failed: bool,
    /// What follows: late starts leave open whether a delay met it. `inconclusive` in results of a keytoll that did not keep it.
    #[serde(default)]
    pub outcome: LoadOutcome,
    /// The subject of the condition.
    #[serde(default)]
    pub concerns: Concern,
}

/// The subject of a condition. Late starts affect some subjects only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Concern {
    /// Delays, or authentications in a second: late starts of the generator change them.
    Delay,
    /// Failed or successful authentications.
    Failures,
    /// Something else.
    #[default]
    Other,
}

/// How late the generator started devices, and how late it may have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateStarts {
    /// Starts later than this are late, in milliseconds: 10 ms, or 10 % of the median delay if that is more.
    pub limit_ms: f64,
    /// The median delay, in milliseconds; absent if no authentication succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// Seconds in which devices started.
    pub starting_s: u64,
    /// Those of them in which more than 1 % of the starts were late.
    pub late_s: u64,
    /// The second, from 1, with the greatest 99th percentile of lateness.
    pub worst_at_s: u64,
    /// This percentile, in milliseconds.
    pub worst_p99_ms: f64,
}

impl LoadVerdict {
    /// Judges a load.
    pub fn new(
        conditions: Vec<LoadCondition>,
        late_starts: Option<LateStarts>,
        hints: Vec<String>,
        population: &PopulationSummary,
    ) -> Self {
        let late = late_starts.as_ref().filter(|late| late.late_s > 0);
        let failures = failures(&conditions, late.is_some(), population);
        let (verdict, reasons) = match late {
            _ if !failures.is_empty() => (LoadOutcome::Failed, failures),
            Some(late) => (LoadOutcome::Inconclusive, vec![late.reason()]),
            None => (LoadOutcome::Passed, Vec::new()),
        };
        let mut judged = Self { verdict, reasons, conditions, late_starts, hints };
        let outcomes: Vec<_> = judged.conditions.iter().map(|condition| judged.of(condition)).collect();
        judged
            .conditions
            .iter_mut()
            .zip(outcomes)
            .for_each(|(condition, outcome)| condition.outcome = outcome);
        judged
    }

    /// The verdict and its reasons, such as `FAILED: no authentication succeeded: all 40 failed (port closed (ICMP) 40).`
    pub fn headline(&self) -> String {
        match self.reasons.as_slice() {
            [] => format!("{}.", self.verdict),
            reasons => format!("{}: {}.", self.verdict, reasons.join("; ")),
        }
    }

    /// Whether late starts leave open whether the load has failed by this condition.
    pub fn leaves_open(&self, condition: &LoadCondition) -> bool {
        let is_late = self.late_starts.as_ref().is_some_and(|late| late.late_s > 0);
        is_late && condition.concerns == Concern::Delay
    }

    /// The result of a condition: `passed`, `FAILED` or `INCONCLUSIVE`.
    pub fn of(&self, condition: &LoadCondition) -> LoadOutcome {
        match condition.failed {
            _ if self.leaves_open(condition) => LoadOutcome::Inconclusive,
            true => LoadOutcome::Failed,
            false => LoadOutcome::Passed,
        }
    }
}

/// Why a load has failed, whether its starts were late or not; empty if it has not.
fn failures(conditions: &[LoadCondition], is_late: bool, population: &PopulationSummary) -> Vec<String> {
    let counts =
        |condition: &&LoadCondition| condition.failed && !(is_late && condition.concerns == Concern::Delay);
    let none = (population.established == 0).then(|| no_success(population));
    let met = conditions.iter().filter(counts).map(LoadCondition::reason);
    let is_judged = conditions.iter().any(|condition| condition.concerns == Concern::Failures);
    let some = population.failed > 0 && population.established > 0 && !is_judged;
    let some = some.then(|| {
        let (failed, offered) = (population.failed, population.offered);
        format!(
            "{failed} of {offered} authentications failed ({}), and no condition concerns failures",
            reasons(&population.failures)
        )
    });
    none.into_iter().chain(met).chain(some).collect()
}

/// The reason if no authentication succeeded.
fn no_success(population: &PopulationSummary) -> String {
    match (population.offered, population.failed) {
        (0, _) => "no authentication began".to_owned(),
        (_, 0) => "no authentication succeeded, and none had failed when the load ended".to_owned(),
        (offered, failed) => {
            format!(
                "no authentication succeeded: {failed} of {offered} failed ({})",
                reasons(&population.failures)
            )
        }
    }
}

/// `EAP Failure 3, no outcome in time 1`, the most frequent first.
fn reasons(failures: &BTreeMap<String, u64>) -> String {
    let mut all: Vec<_> = failures.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named = all.iter().take(REASONS_MAX).map(|(why, count)| format!("{why}: {count}"));
    let more = all.len().saturating_sub(REASONS_MAX);
    let more = (more > 0).then(|| format!("{more} further reasons"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

impl LoadCondition {
    /// The measured value, or that there is none.
    pub fn value(&self) -> &str {
        self.measured.as_deref().unwrap_or("nothing to measure")
    }

    fn reason(&self) -> String {
        format!("the condition {} is met ({})", self.condition, self.value())
    }
}

impl LateStarts {
    /// Judges the 99th percentiles of lateness of a load's seconds, each with its number from 0; none without a second.
    pub fn of(seconds: &[(u64, Duration)], p50: Option<Duration>) -> Option<Self> {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        let p50_ms = p50.map(ms);
        let limit_ms = p50_ms.map_or(LATE_MS, |p50| LATE_MS.max(LATE_SHARE_OF_P50 * p50));
        let (worst, p99) = seconds.iter().max_by_key(|(_, p99)| p99)?;
        Some(Self {
            limit_ms,
            p50_ms,
            starting_s: seconds.len() as u64,
            late_s: seconds.iter().filter(|(_, p99)| ms(*p99) > limit_ms).count() as u64,
            worst_at_s: worst + 1,
            worst_p99_ms: ms(*p99),
        })
    }

    /// The quantile of the lateness of a second by which it is judged.
    pub const fn quantile() -> f64 {
        1.0 - LATE_SHARE
    }

    /// The rule with its values, and whether it is kept.
    pub fn rule(&self) -> String {
        let Self { limit_ms, starting_s, late_s, worst_at_s, worst_p99_ms, .. } = self;
        let p50 = match self.p50_ms {
            Some(p50_ms) => format!("10 % of p50 {p50_ms:.3} ms"),
            None => "10 % of p50, of which there is none".to_owned(),
        };
        let kept = match late_s {
            0 => format!("kept in {starting_s} of {starting_s} seconds"),
            late => format!("broken in {late} of {starting_s} seconds"),
        };
        format!(
            "at most 1 % of a second's starts later than {limit_ms:.3} ms, the larger of 10 ms and {p50}: {kept}; in second \
             {worst_at_s}, the worst, 99 % began within {worst_p99_ms:.3} ms"
        )
    }

    /// Why late starts make a load inconclusive.
    fn reason(&self) -> String {
        let Self { limit_ms, starting_s, late_s, .. } = self;
        format!(
            "this machine started devices too late to judge the target, in {late_s} of {starting_s} seconds more than 1 % of them \
             by over {limit_ms:.3} ms: repeat on an idle machine, with more `--workers` or at a lower rate"
        )
    }
}

impl fmt::Display for LoadOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Inconclusive => "INCONCLUSIVE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn population(established: u64, failed: u64) -> PopulationSummary {
        let failures = [("timeout".to_owned(), failed)].into_iter().filter(|(_, count)| *count > 0).collect();
        PopulationSummary {
            offered: established + failed,
            established,
            failed,
            failures,
            ..Default::default()
        }
    }

    fn condition(concerns: Concern, failed: bool) -> LoadCondition {
        let (condition, measured) = ("x > 1".to_owned(), Some("2".to_owned()));
        LoadCondition { condition, measured, failed, concerns, outcome: LoadOutcome::default() }
    }

    fn judged(conditions: &[LoadCondition], is_late: bool, (established, failed): (u64, u64)) -> LoadVerdict {
        let lateness = if is_late { ms(11) } else { ms(10) };
        let late = LateStarts::of(&[(0, lateness)], None);
        LoadVerdict::new(conditions.to_vec(), late, Vec::new(), &population(established, failed))
    }

    #[test]
    fn a_load_fails_by_its_conditions_and_failures_and_is_inconclusive_where_starts_were_late() {
        use LoadOutcome::{Failed, Inconclusive, Passed};
        let (delay, failures, other) = (
            |met| condition(Concern::Delay, met),
            |met| condition(Concern::Failures, met),
            |met| condition(Concern::Other, met),
        );
        for (conditions, counts, in_time, late) in [
            (vec![], (5, 0), Passed, Inconclusive),
            (vec![], (0, 5), Failed, Failed),
            (vec![], (0, 0), Failed, Failed),
            (vec![], (4, 1), Failed, Failed),
            (vec![failures(false)], (4, 1), Passed, Inconclusive),
            (vec![failures(true)], (4, 1), Failed, Failed),
            (vec![failures(false)], (0, 5), Failed, Failed),
            (vec![delay(false)], (4, 1), Failed, Failed),
            (vec![delay(true)], (5, 0), Failed, Inconclusive),
            (vec![delay(true)], (0, 5), Failed, Failed),
            (vec![delay(true), other(true)], (5, 0), Failed, Failed),
            (vec![delay(false), other(false)], (5, 0), Passed, Inconclusive),
        ] {
            let verdicts = [false, true].map(|is_late| judged(&conditions, is_late, counts).verdict);
            assert_eq!(verdicts, [in_time, late], "{conditions:?} {counts:?}");
        }
    }

    #[test]
    fn a_verdict_gives_its_reasons() {
        let told = judged(&[], false, (0, 5)).headline();
        assert_eq!(told, "FAILED: no authentication succeeded: 5 of 5 failed (timeout: 5).");
        let some = judged(&[condition(Concern::Delay, true)], false, (4, 1)).headline();
        assert_eq!(
            some,
            "FAILED: the condition x > 1 is met (2); 1 of 5 authentications failed (timeout: 1), and no condition concerns failures."
        );
        let late = judged(&[condition(Concern::Delay, true)], true, (5, 0));
        assert!(
            late.headline().starts_with("INCONCLUSIVE: this machine started devices too late"),
            "{late:?}"
        );
        assert_eq!(late.of(&late.conditions[0]), LoadOutcome::Inconclusive);
        assert_eq!(judged(&[], false, (5, 0)).headline(), "passed.");
    }

    #[test]
    fn a_second_is_late_above_ten_milliseconds_and_a_tenth_of_the_median_delay() {
        let of = |p50, p99s: &[u64]| {
            let seconds: Vec<_> = p99s.iter().enumerate().map(|(at, p99)| (at as u64, ms(*p99))).collect();
            LateStarts::of(&seconds, p50)
        };
        assert_eq!(of(None, &[]), None);
        for (p50, limit_ms, late_s) in
            [(None, 10.0, 2), (Some(ms(50)), 10.0, 2), (Some(ms(200)), 20.0, 1), (Some(ms(210)), 21.0, 0)]
        {
            let late = of(p50, &[10, 21, 11]).unwrap();
            assert_eq!((late.limit_ms, late.late_s, late.starting_s), (limit_ms, late_s, 3), "{late:?}");
            assert_eq!((late.worst_at_s, late.worst_p99_ms), (2, 21.0));
        }
        let rule = of(Some(ms(200)), &[10, 21, 11]).unwrap().rule();
        assert_eq!(
            rule,
            "at most 1 % of a second's starts later than 20.000 ms, the larger of 10 ms and 10 % of p50 200.000 ms: broken in 1 of 3 \
             seconds; in second 2, the worst, 99 % began within 21.000 ms"
        );
    }
}
