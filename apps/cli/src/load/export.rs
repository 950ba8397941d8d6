//! What others read of a load: a page for Prometheus while it runs, and JUnit's XML afterwards.

use keytoll_analysis::summary::{LoadCondition, LoadOutcome, LoadVerdict};
use keytoll_load::{Second, Totals};
use keytoll_report::export::junit::{Case, Outcome, Suite};
use keytoll_report::export::prometheus::{Kind, Metrics, Sample};

use super::document::Document;

/// The page of a second.
pub(super) fn page(second: &Second, totals: &Totals) -> String {
    let counts = &totals.tally.counts;
    let mut metrics = Metrics::default();
    for (name, about, value) in [
        ("offered_total", "Starts that the schedule wanted.", counts.offered),
        ("begun_total", "Starts that were made.", counts.begun),
        ("established_total", "Devices that were authenticated.", counts.usable),
        ("retransmissions_total", "Messages sent again.", counts.retransmissions),
        ("messages_total", "Messages sent.", counts.messages),
        ("limited_seconds_total", "Seconds that the generator limited.", totals.limited_seconds),
    ] {
        metrics.family(&named(name), about, Kind::Counter, [Sample::plain(value as f64)]);
    }
    for (name, about, reasons) in [
        ("failed_total", "Calls that failed.", &counts.failed),
        ("lost_total", "Sessions that the target ended.", &counts.lost),
    ] {
        let samples = reasons.iter().map(|(why, count)| Sample::labelled("reason", why, *count as f64));
        metrics.family(&named(name), about, Kind::Counter, samples);
    }
    for (name, about, value) in [
        ("under_way", "Calls without outcome.", second.under_way as f64),
        ("sessions", "Sessions that are open.", second.standing as f64),
        ("cpu_share", "The share of a core that the busiest worker needs.", second.cpu_share),
    ] {
        metrics.family(&named(name), about, Kind::Gauge, [Sample::plain(value)]);
    }
    let about = "From the intended start until authenticated.";
    metrics.family(&named("delay_seconds"), about, Kind::Summary, delays(totals));
    metrics.text()
}

fn named(name: &str) -> String {
    format!("keytoll_load_{name}")
}

fn delays(totals: &Totals) -> impl Iterator<Item = Sample> {
    let delays = &totals.tally.delays;
    let quantiles = [0.5, 0.9, 0.99, 0.999].into_iter().filter_map(|quantile| {
        let delay = delays.quantile(quantile)?.as_secs_f64();
        Some(Sample::labelled("quantile", &quantile.to_string(), delay))
    });
    let sum_s = delays.percentiles().map_or(0.0, |all| all.mean / 1000.0 * all.n as f64);
    let whole = [("_sum", sum_s), ("_count", delays.count() as f64)];
    quantiles.chain(whole.map(|(suffix, value)| Sample { suffix, ..Sample::plain(value) }))
}

/// JUnit's XML: a case for the verdict, and one for each condition.
pub(crate) fn junit(name: &str, document: &Document) -> String {
    let verdict = &document.verdict;
    let conditions = verdict.conditions.iter().map(|condition| condition_case(verdict, condition));
    let cases = std::iter::once(verdict_case(verdict)).chain(conditions).collect();
    let stopped = document.stopped().map_or_else(String::new, |stopped| format!(", {stopped}"));
    let name = format!("keytoll load {name}{stopped}");
    Suite { name, time_s: Some(document.population.duration_s), cases }.text()
}

fn verdict_case(verdict: &LoadVerdict) -> Case {
    let why = std::iter::once(verdict.headline()).chain(verdict.hints.iter().cloned()).collect::<Vec<_>>();
    let rule =
        verdict.late_starts.as_ref().map_or_else(String::new, |late| format!("late starts: {}", late.rule()));
    Case {
        class: "load".to_owned(),
        name: "verdict".to_owned(),
        outcome: outcome(verdict.verdict, why.join(" ")),
        told: rule,
    }
}

fn condition_case(verdict: &LoadVerdict, condition: &LoadCondition) -> Case {
    let LoadCondition { condition: text, .. } = condition;
    let value = condition.value();
    Case {
        class: "load".to_owned(),
        name: format!("fail if {text}"),
        outcome: outcome(verdict.of(condition), format!("{text}: {value}")),
        told: format!("measured: {value}"),
    }
}

fn outcome(of: LoadOutcome, why: String) -> Outcome {
    match of {
        LoadOutcome::Passed => Outcome::Passed,
        LoadOutcome::Failed => Outcome::Failed(why),
        LoadOutcome::Inconclusive => Outcome::Error(why),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use keytoll_load::{Course, Tally};

    #[test]
    fn the_page_has_help_types_and_escaped_labels() {
        let mut totals = Totals::default();
        totals.tally.counts.failed.insert("a \"b\"", 2);
        totals.tally.delays.record(Duration::from_millis(5));
        let second = Second {
            number: 0,
            tally: Tally::default(),
            under_way: 3,
            standing: 0,
            standing_max: 0,
            cpu_share: 0.5,
            is_limited: false,
            target: None,
            course: Course::Starting,
        };
        let page = page(&second, &totals);
        assert!(page.contains("keytoll_load_failed_total{reason=\"a \\\"b\\\"\"} 2\n"), "{page}");
        assert!(
            page.contains("keytoll_load_under_way 3\n") && page.contains("{quantile=\"0.99\"} 0.00"),
            "{page}"
        );
        assert!(page.lines().all(|line| line.starts_with('#') || line.split(' ').count() >= 2), "{page}");
    }
}
