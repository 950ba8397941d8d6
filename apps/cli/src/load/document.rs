//! The result of a load: a document for `--json` and `load.json`, and a table for people.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use keytoll_analysis::handling::LoadCost;
use keytoll_analysis::summary::{
    Generator, LIVE, LateStarts, LoadCondition, LoadSummary, LoadVerdict, OperationCount, SummaryRow,
    TargetUsage, WakeCount,
};
use keytoll_census::{Percentiles, PopulationSummary};
use keytoll_crypto::{Amount, Place, Prices, Work};
use keytoll_live::{WakeClass, WakeSums, Wakes};
use keytoll_load::{Counts, Outcome, Totals};
use keytoll_scenario::node::load::{LoadPlan, counted};
use keytoll_trace::regular;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{gate, hints};
use crate::screen;

/// Of a generator that is busy for a smaller share of the time more than half of the starts find it asleep.
const MOSTLY_ASLEEP: f64 = 0.5;

/// The version of the format.
const FORMAT: u32 = 1;
/// The longest document that is read; one that is written has a few kilobytes.
const BYTES_MAX: u64 = 4 << 20;

/// What a load has come to. Fields are only ever added.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Document {
    /// The version of this format.
    pub(crate) format: u32,
    /// Whom the devices called.
    pub(crate) target: String,
    /// How they got access, like `RADIUS mschapv2`, `IKEv2 shared key` or `hip-dex`.
    pub(crate) access: String,
    /// When they arrived.
    pub(crate) arrivals: String,
    /// Whether it was a closed loop: devices waited for each other, and nobody asked for a rate.
    #[serde(default)]
    pub(crate) is_closed_loop: bool,
    /// How many identities there were.
    pub(crate) identities: u32,
    /// Threads of the generator.
    pub(crate) workers: u32,
    /// Whether it was stopped before its end.
    pub(crate) was_stopped: bool,
    /// How long it was to be, in seconds; absent in a closed loop without `duration`, whose length nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) planned_s: Option<f64>,
    /// Starts in a second that the schedule wanted, over its length, which ends where a device more would begin or its stages end;
    /// in a closed loop over the time until the last outcome.
    pub(crate) asked_per_s: f64,
    /// Authenticated devices in a second, over the length of the schedule, or until the last of them was authenticated if that is later.
    pub(crate) reached_per_s: f64,
    /// What became of the devices.
    pub(crate) population: PopulationSummary,
    /// Sessions that the target closed or lost, by reason.
    pub(crate) lost: BTreeMap<String, u64>,
    /// Datagrams that could not be used, by reason.
    pub(crate) discarded: BTreeMap<String, u64>,
    /// Sessions that were not closed in time at the end.
    pub(crate) left_open: u64,
    /// The generator itself.
    pub(crate) generator: Generator,
    /// What the target needed, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target_usage: Option<TargetUsage>,
    /// Whether it has passed.
    #[serde(flatten)]
    pub(crate) verdict: LoadVerdict,
}

/// How the cryptography of a target is told apart from the rest of its CPU time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Split<'a> {
    /// By its own clock.
    Timed,
    /// By these prices of its operations, whatever they took.
    Priced(&'a Prices),
}

/// Why a load does not tell what a message costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Untold {
    /// Something of it was not measured.
    #[error("does not tell what a message costs")]
    Nothing,
    /// Nothing is left for messages.
    #[error("took less CPU time than this machine's cryptography alone")]
    Dear,
    /// The table lacks an operation.
    #[error("has operations without a price in the table")]
    Unlisted,
}

impl Document {
    /// That of a load that has ended.
    pub(crate) fn of(plan: &LoadPlan, workers: u32, outcome: &Outcome) -> Self {
        let totals = &outcome.totals;
        let counts = &totals.tally.counts;
        let named = |map: &BTreeMap<&'static str, u64>| {
            map.iter().map(|(why, count)| ((*why).to_owned(), *count)).collect()
        };
        let population = keytoll_load::account(outcome, workers).summary;
        Self {
            format: FORMAT,
            target: plan.target.to_string(),
            access: plan.access_name(),
            arrivals: plan.population.value.arrivals.to_string(),
            is_closed_loop: plan.population.value.arrivals.is_closed_loop(),
            identities: plan.identities.value.count(),
            workers,
            was_stopped: outcome.was_stopped,
            planned_s: outcome.planned.map(|planned| planned.as_secs_f64()),
            asked_per_s: totals.tally.asked_per_s().unwrap_or(0.0),
            reached_per_s: totals.tally.reached_per_s().unwrap_or(0.0),
            verdict: verdict(plan, outcome, &population),
            population,
            lost: named(&counts.lost),
            discarded: counts.discarded.by_reason().clone(),
            left_open: outcome.left_open as u64,
            generator: Generator {
                cpu_s: totals.cpu.as_secs_f64(),
                cpu_us_per_established: each(totals.cpu, counts),
                crypto_us_per_established: part(totals.crypto, totals.cpu)
                    .and_then(|crypto| each(crypto, counts)),
                refused: named(&counts.refused),
                limited_s: totals.limited_seconds,
                starting_s: totals.starting_seconds,
            },
            target_usage: target_usage(totals),
        }
    }

    /// Reads one that was written.
    pub(crate) fn read(path: &Path) -> std::io::Result<Self> {
        Ok(serde_json::from_str(&regular::read_text(path, BYTES_MAX)?)?)
    }

    /// As a row of a run.
    pub(crate) fn row(&self) -> SummaryRow {
        SummaryRow {
            method: self.access.clone(),
            network: self.target.clone(),
            world: LIVE.to_owned(),
            failures: self.population.failures.clone(),
            population: Some(self.population.clone()),
            load: Some(self.summary()),
            ..SummaryRow::default()
        }
    }

    /// What it tells besides its population.
    fn summary(&self) -> LoadSummary {
        LoadSummary {
            asked_per_s: self.asked_per_s,
            reached_per_s: self.reached_per_s,
            workers: self.workers,
            lost: self.lost.clone(),
            discarded: self.discarded.clone(),
            left_open: self.left_open,
            generator: self.generator.clone(),
            target_usage: self.target_usage.clone(),
            verdict: self.verdict.clone(),
        }
    }

    /// Whether it tells how much of its target's time was cryptography.
    pub(crate) fn tells_cryptography(&self) -> bool {
        self.target().is_some_and(|usage| usage.crypto_us_per_established.is_some())
    }

    /// Whether it tells which operations of cryptography its target ran.
    pub(crate) fn tells_operations(&self) -> bool {
        self.target().and_then(work).is_some_and(|work| !work.is_empty())
    }

    /// What a message has cost besides cryptography: the target if it tells what its cryptography took, else the generator. Counted
    /// are the devices' messages and the answers to those that were not sent again.
    ///
    /// # Errors
    /// Nobody was authenticated, several threads shared the work, an older keytoll did not tell, or prices are too high.
    pub(crate) fn message_cost(&self, crypto: Split<'_>) -> Result<LoadCost, Untold> {
        let Generator { starting_s, .. } = self.generator;
        let (messages, n) = (self.population.messages, self.population.established);
        let answered = messages.sent.checked_sub(messages.again).filter(|answered| *answered > 0);
        let (Some(answered), 1.., 1..) = (answered, n, starting_s) else { return Err(Untold::Nothing) };
        let target = self.target().map(|usage| self.target_cost(usage, crypto)).transpose()?.flatten();
        let cost = target.or_else(|| generator_cost(&self.generator, self.workers));
        let cost = cost.filter(|cost| cost.cpu_s > 0.0).ok_or(Untold::Nothing)?;
        let received = answered as f64 / n as f64;
        if cost.besides_us <= 0.0 {
            return Err(Untold::Dear);
        }
        Ok(LoadCost {
            utilisation: cost.cpu_s / starting_s as f64,
            ns: 1000.0 * cost.besides_us / (2.0 * received),
            received_per_s: answered as f64 / starting_s as f64,
            n,
            wake_us: self.wake_us(),
            wakes: cost.wakes.to_vec(),
            crypto_scale: cost.crypto_scale,
        })
    }

    /// How late half of the starts were at least, in microseconds: as long as it takes to wake up, of a generator that slept more than half
    /// of the time. Starts of a closed loop are never late, and tell nothing.
    fn wake_us(&self) -> Option<f64> {
        let Generator { cpu_s, starting_s, .. } = self.generator;
        let late = self.population.late_ms.as_ref().filter(|_| cpu_s < MOSTLY_ASLEEP * starting_s as f64)?;
        (late.p50 > 0.0).then_some(1000.0 * late.p50)
    }

    /// What the target has used, if it was there to the end.
    fn target(&self) -> Option<&TargetUsage> {
        self.target_usage.as_ref().filter(|usage| usage.gone_from_s.is_none())
    }

    /// What the target has needed, if it tells its cryptography apart.
    fn target_cost<'a>(
        &self,
        usage: &'a TargetUsage,
        crypto: Split<'_>,
    ) -> Result<Option<ProcessCost<'a>>, Untold> {
        let timed_us = usage.crypto_us_per_established;
        let crypto_us = match crypto {
            Split::Timed => timed_us,
            Split::Priced(prices) => {
                let ps = work(usage).and_then(|work| work.ps(prices)).ok_or(Untold::Unlisted)?;
                Some(ps as f64 / 1e6 / self.population.established as f64)
            }
        };
        let scale = crypto_us.zip(timed_us.filter(|us| *us > 0.0)).map(|(charged, timed)| charged / timed);
        let scale = scale.filter(|scale| scale.is_finite());
        Ok(usage.cpu_us_per_established.zip(crypto_us).map(|(cpu_us, crypto_us)| ProcessCost {
            cpu_s: usage.cpu_s,
            besides_us: cpu_us - crypto_us,
            wakes: &usage.wakes,
            crypto_scale: scale.unwrap_or(1.0),
        }))
    }

    /// How far it came before it was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<String> {
        let done_s = self.population.duration_s;
        let of = self.planned_s.filter(|planned_s| *planned_s > done_s);
        let of = of.map_or_else(String::new, |planned_s| format!(" of {} s", decimal(planned_s)));
        self.was_stopped.then(|| format!("stopped after {done_s} s{of}"))
    }

    /// A closed loop asks for no rate, and a single device has none.
    fn rate(&self) -> String {
        let established = format!("{:.1}/s established", self.reached_per_s);
        match self.population.offered {
            _ if self.is_closed_loop => established,
            1 => "none: one device arrived".to_owned(),
            _ => format!("{:.1}/s offered, {established}", self.asked_per_s),
        }
    }

    /// The table for people.
    pub(crate) fn text(&self) -> String {
        let population = &self.population;
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let mut rows = vec![
            row("target", format!("{}, {}", self.target, self.access)),
            row("arrivals", format!("{}, {}", self.arrivals, counted(self.identities))),
            row("rate", self.rate()),
            row(
                "devices",
                format!(
                    "{} offered, {} begun, {} established, {} failed",
                    population.offered, population.begun, population.established, population.failed
                ),
            ),
        ];
        rows.extend(
            population.failures.iter().map(|(why, count)| row("  failed", format!("{count}  {why}"))),
        );
        rows.extend(self.lost.iter().map(|(why, count)| row("  lost", format!("{count}  {why}"))));
        rows.push(row("delay", percentiles(population.delay_ms.as_ref())));
        rows.push(row("lateness", percentiles(population.late_ms.as_ref())));
        let messages = &population.messages;
        rows.push(row("messages", format!("{} sent, {} of them again", messages.sent, messages.again)));
        rows.extend(self.discarded.iter().map(|(why, count)| row("  discarded", format!("{count}  {why}"))));
        if population.present_max > 0 {
            rows.push(row(
                "sessions",
                format!("{} at once at most, {} left open", population.present_max, self.left_open),
            ));
        }
        rows.push(row("generator", generator_text(&self.generator, self.workers)));
        let refused = self.generator.refused.iter();
        rows.extend(refused.map(|(why, count)| row("  not sent", format!("{count}  {why}"))));
        rows.extend(self.target_usage.iter().map(|usage| row("target used", target_text(usage))));
        let scope = if self.was_stopped { " until it was stopped" } else { "" };
        let verdict = &self.verdict;
        rows.extend(
            verdict.conditions.iter().map(|condition| row("fail if", tested(verdict, condition, scope))),
        );
        rows.extend(verdict.late_starts.iter().map(|late| row("late starts", late.rule())));
        let hints: String = verdict.hints.iter().map(|hint| screen::paragraph(hint)).collect();
        let stopped = self.stopped().map_or_else(String::new, |stopped| stopped + "\n");
        stopped + &screen::paragraph(&verdict.headline()) + &screen::table(&rows) + &hints
    }
}

/// The operations that a target has run; none if no table of ours can have one of them.
fn work(usage: &TargetUsage) -> Option<Work> {
    let mut work = Work::default();
    for OperationCount { operation, algorithm, count, bytes } in &usage.operations {
        work.add(Place::named(operation, algorithm)?, Amount { count: *count, bytes: *bytes });
    }
    Some(work)
}

/// What a process has needed.
struct ProcessCost<'a> {
    cpu_s: f64,
    /// An authentication, besides cryptography, in microseconds.
    besides_us: f64,
    wakes: &'a [WakeCount],
    /// What cryptography is taken to cost, for each second that it took.
    crypto_scale: f64,
}

/// That of the generator's thread.
fn generator_cost(generator: &Generator, workers: u32) -> Option<ProcessCost<'static>> {
    let besides_us = generator.cpu_us_per_established? - generator.crypto_us_per_established?;
    let cpu_s = generator.cpu_s;
    (workers == 1).then_some(ProcessCost { cpu_s, besides_us, wakes: &[], crypto_scale: 1.0 })
}

fn generator_text(generator: &Generator, workers: u32) -> String {
    let each = each_text(generator.cpu_us_per_established, generator.crypto_us_per_established);
    let threads = if workers == 1 { "1 thread".to_owned() } else { format!("{workers} threads") };
    let limited = match generator.limited_s {
        0 => "never late".to_owned(),
        count => format!("late or busy in {count} of {} seconds", generator.starting_s),
    };
    format!("{threads}, {:.2} s of CPU{each}; {limited}", generator.cpu_s)
}

/// None if it was not to be measured.
fn target_usage(totals: &Totals) -> Option<TargetUsage> {
    let (cpu, gone_from_s) = (totals.target_cpu, totals.target_gone_in);
    let counts = &totals.tally.counts;
    (cpu.is_some() || gone_from_s.is_some()).then(|| TargetUsage {
        cpu_s: cpu.unwrap_or_default().as_secs_f64(),
        cpu_us_per_established: cpu.and_then(|cpu| each(cpu, counts)),
        crypto_us_per_established: totals
            .target_crypto
            .zip(cpu)
            .and_then(|(crypto, cpu)| each(part(crypto, cpu)?, counts)),
        operations: totals.target_work.as_ref().map_or_else(Vec::new, operations),
        wakes: totals.target_wakes.as_ref().map_or_else(Vec::new, wakes),
        memory_bytes_max: totals.target_memory_max,
        gone_from_s,
    })
}

fn operations(work: &Work) -> Vec<OperationCount> {
    let told = |(place, Amount { count, bytes }): (Place, Amount)| {
        let (operation, algorithm) = place.name();
        OperationCount { operation: operation.to_owned(), algorithm: algorithm.to_owned(), count, bytes }
    };
    work.amounts().map(told).collect()
}

fn wakes(wakes: &Wakes) -> Vec<WakeCount> {
    let told = |(class, sums): (WakeClass, WakeSums)| {
        let WakeSums { wakes, timed, messages, cpu_ns, crypto_ns, answered_ns, latency_ns } = sums;
        let WakeClass { pause_us, is_several } = class;
        WakeCount {
            pause_us,
            is_several,
            count: wakes,
            timed_count: timed,
            messages,
            cpu_ns,
            crypto_ns,
            answered_ns,
            latency_ns,
        }
    };
    wakes.classes().map(told).collect()
}

fn target_text(usage: &TargetUsage) -> String {
    let each = each_text(usage.cpu_us_per_established, usage.crypto_us_per_established);
    let memory =
        usage.memory_bytes_max.map_or_else(String::new, |bytes| format!(", {} MiB at most", bytes >> 20));
    let used = format!("{:.2} s of CPU{each}{memory}", usage.cpu_s);
    match usage.gone_from_s {
        None => used,
        Some(from) if usage.memory_bytes_max.is_none() && usage.cpu_s <= 0.0 => {
            format!("not known: gone from {from} s on")
        }
        Some(from) => format!("{used}; not all of it: gone, or begun anew, from {from} s on"),
    }
}

/// The verdict on a load with this plan.
fn verdict(plan: &LoadPlan, outcome: &Outcome, population: &PopulationSummary) -> LoadVerdict {
    let totals = &outcome.totals;
    let conditions = plan.fail_if.iter().map(|condition| gate::applied(condition, totals)).collect();
    let late = LateStarts::of(&outcome.lateness, totals.tally.delays.quantile(0.5));
    LoadVerdict::new(conditions, late, hints::of(plan, outcome), population)
}

/// `delay.p99 > 50 ms: FAILED, 445 ms`
fn tested(verdict: &LoadVerdict, condition: &LoadCondition, scope: &str) -> String {
    format!("{}: {}{scope}, {}", condition.condition, verdict.of(condition), condition.value())
}

/// `, 98 us each (60 in cryptography)`
fn each_text(cpu_us: Option<f64>, crypto_us: Option<f64>) -> String {
    let crypto = crypto_us.map_or_else(String::new, |us| format!(" ({us:.0} in cryptography)"));
    cpu_us.map_or_else(String::new, |us| format!(", {us:.0} us each{crypto}"))
}

fn each(cpu: Duration, counts: &Counts) -> Option<f64> {
    (counts.usable > 0).then(|| cpu.as_secs_f64() * 1e6 / counts.usable as f64)
}

/// With three decimals at most.
fn decimal(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A part of a CPU time, as far as it can be one.
fn part(crypto: Duration, cpu: Duration) -> Option<Duration> {
    (crypto <= cpu).then_some(crypto)
}

fn percentiles(of: Option<&Percentiles>) -> String {
    of.map_or_else(
        || "none".to_owned(),
        |of| {
            format!(
                "p50 {:.3} ms, p90 {:.3}, p99 {:.3}, p99.9 {:.3}, max {:.3}",
                of.p50, of.p90, of.p99, of.p99_9, of.max
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use keytoll_census::Repeated;

    use super::*;

    #[test]
    fn a_message_costs_what_is_not_cryptography_shared_by_those_sent_and_their_answers() {
        let messages = Repeated { sent: 1210, again: 10, amplification: 1.0 };
        let late_ms = Some(Percentiles { p50: 0.045, ..Percentiles::default() });
        let mut document = Document {
            workers: 1,
            population: PopulationSummary {
                established: 400,
                messages,
                late_ms,
                ..PopulationSummary::default()
            },
            generator: Generator {
                cpu_s: 0.4,
                cpu_us_per_established: Some(100.0),
                crypto_us_per_established: Some(40.0),
                starting_s: 2,
                ..Generator::default()
            },
            ..Document::default()
        };
        let cost = document.message_cost(Split::Timed).unwrap();
        let of = |utilisation, ns, wakes: &[WakeCount]| {
            let (wake_us, wakes) = (Some(45.0), wakes.to_vec());
            LoadCost { utilisation, ns, received_per_s: 600.0, n: 400, wake_us, wakes, crypto_scale: 1.0 }
        };
        assert_eq!(cost, of(0.2, 10_000.0, &[]));
        let wakes = [WakeCount {
            pause_us: 50,
            is_several: true,
            count: 3,
            timed_count: 3,
            messages: 9,
            cpu_ns: 80,
            crypto_ns: 40,
            answered_ns: 70,
            latency_ns: 7,
        }];
        document.target_usage = Some(TargetUsage {
            cpu_s: 0.3,
            cpu_us_per_established: Some(75.0),
            crypto_us_per_established: Some(45.0),
            operations: Vec::new(),
            wakes: wakes.to_vec(),
            memory_bytes_max: None,
            gone_from_s: None,
        });
        let timed = |document: &Document| document.message_cost(Split::Timed);
        assert_eq!(timed(&document), Ok(of(0.15, 5000.0, &wakes)), "a target that tells knows better");
        what_prices_leave_of_the_target_is_for_messages(&document);
        document.target_usage.as_mut().unwrap().crypto_us_per_established = None;
        assert_eq!(timed(&document), Ok(cost), "the target's wakes are not the generator's");
        document.generator.cpu_s = 1.1;
        assert_eq!(timed(&document).unwrap().wake_us, None, "it was mostly awake");
        document.generator.cpu_s = 0.4;
        document.population.late_ms = Some(Percentiles::default());
        assert_eq!(timed(&document).unwrap().wake_us, None, "a closed loop has no schedule");
        document.workers = 2;
        assert_eq!(timed(&document), Err(Untold::Nothing), "nobody knows which thread was how busy");
        (document.workers, document.generator.crypto_us_per_established) = (1, None);
        assert_eq!(timed(&document), Err(Untold::Nothing), "an older keytoll's");
    }

    /// Of 75 microseconds each of 400 authentications.
    fn what_prices_leave_of_the_target_is_for_messages(document: &Document) {
        let count = |operation: &str, algorithm: &str, count| OperationCount {
            operation: operation.to_owned(),
            algorithm: algorithm.to_owned(),
            count,
            bytes: 100 * count,
        };
        let mut document = document.clone();
        assert!(!document.tells_operations());
        let usage = document.target_usage.as_mut().unwrap();
        usage.operations = vec![count("agree", "x25519", 400), count("prf", "prfsha256", 4000)];
        assert!(document.tells_operations());
        let priced = |agree_ns, per_byte_ns| {
            let prices = [("agree", "x25519", agree_ns, 0.0), ("prf", "prfsha256", 500.0, per_byte_ns)];
            document.message_cost(Split::Priced(&Prices::new(prices).unwrap()))
        };
        // 31 us and ten times 0.5 us, and a thousand bytes each.
        let ns = |cost: Result<LoadCost, Untold>| cost.map(|cost| cost.ns.round() as u64);
        assert_eq!(ns(priced(31_000.0, 0.0)), Ok((75_000 - 36_000) / 6));
        assert_eq!(priced(31_000.0, 0.0).unwrap().crypto_scale, 36.0 / 45.0);
        assert_eq!(ns(priced(31_000.0, 3.0)), Ok((75_000 - 39_000) / 6));
        assert_eq!(ns(priced(70_000.0, 0.0)), Err(Untold::Dear));
        let mut other = document.clone();
        other.target_usage.as_mut().unwrap().operations.push(count("xor", "x", 9));
        assert!(!other.tells_operations(), "no table of ours has it");
        let poor = Prices::new([("agree", "x25519", 31_000.0, 0.0)]).unwrap();
        assert_eq!(document.message_cost(Split::Priced(&poor)), Err(Untold::Unlisted));
        document.target_usage.as_mut().unwrap().gone_from_s = Some(1);
        assert!(!document.tells_operations(), "nobody knows what it did at the end");
    }

    #[test]
    fn a_rate_is_told_where_there_is_one() {
        let told = |is_closed_loop, offered| {
            let population = PopulationSummary { offered, ..PopulationSummary::default() };
            let document = Document { is_closed_loop, population, identities: 1, ..Document::default() };
            Document { asked_per_s: 0.5, ..document }.text()
        };
        let rates = told(false, 2);
        assert!(
            rates.contains("0.5/s offered, 0.0/s established") && rates.contains("1 identity\n"),
            "{rates}"
        );
        for (is_closed_loop, offered, rate) in [
            (false, 1, "none: one device arrived"),
            (true, 50, "0.0/s established"),
            (true, 1, "0.0/s established"),
        ] {
            let text = told(is_closed_loop, offered);
            let line = text.lines().find(|line| line.trim_start().starts_with("rate")).unwrap();
            assert_eq!(line.trim_start().strip_prefix("rate").unwrap().trim(), rate, "{text}");
        }
    }

    #[test]
    fn a_part_larger_than_the_whole_is_not_told() {
        let of = |ms| part(Duration::from_millis(ms), Duration::from_secs(1));
        assert_eq!((of(999), of(1001)), (Some(Duration::from_millis(999)), None));
    }

    #[test]
    fn a_load_that_was_stopped_says_so_first_and_of_its_conditions() {
        let condition = LoadCondition {
            condition: "failed > 0".to_owned(),
            measured: Some("0".to_owned()),
            ..LoadCondition::default()
        };
        let population =
            PopulationSummary { offered: 3, established: 3, duration_s: 3.0, ..Default::default() };
        let mut document = Document {
            verdict: LoadVerdict::new(vec![condition], None, Vec::new(), &population),
            population,
            planned_s: Some(10.0),
            ..Document::default()
        };
        let whole = document.text();
        assert!(whole.starts_with("passed.\n") && whole.contains("failed > 0: passed, 0"), "{whole}");
        document.was_stopped = true;
        let text = document.text();
        assert!(text.starts_with("stopped after 3 s of 10 s\n"), "{text}");
        assert!(text.contains("failed > 0: passed until it was stopped, 0"), "{text}");
        document.planned_s = None;
        assert_eq!(document.stopped().as_deref(), Some("stopped after 3 s"));
    }

    #[test]
    fn a_target_that_is_gone_says_from_when_on() {
        let mut totals = Totals { target_gone_in: Some(0), ..Totals::default() };
        assert_eq!(target_text(&target_usage(&totals).unwrap()), "not known: gone from 0 s on");
        totals.target_cpu = Some(Duration::from_millis(310));
        assert_eq!(
            target_text(&target_usage(&totals).unwrap()),
            "0.31 s of CPU; not all of it: gone, or begun anew, from 0 s on"
        );
        (totals.target_cpu, totals.target_memory_max) = (Some(Duration::from_millis(310)), Some(8 << 20));
        totals.target_gone_in = Some(2);
        assert_eq!(
            target_text(&target_usage(&totals).unwrap()),
            "0.31 s of CPU, 8 MiB at most; not all of it: gone, or begun anew, from 2 s on"
        );
    }
}
