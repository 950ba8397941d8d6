//! What a node tells Prometheus: its process, its sessions, and what became of those who wanted one.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto::{Amount, Metered, Real, Work};
use keytoll_engine::{Engine, Time};
use keytoll_hosts::Event;
use keytoll_live::{Driver, WakeClass, WakeSums, Wakes};
use keytoll_load::target;
use keytoll_native::clock::ticks_to_ns;
use keytoll_report::export::prometheus::{Kind, Metrics as Page, Sample};
use miette::Report;

use crate::args::MetricsArgs;
use crate::metrics::Exported;

/// How often the page is made anew.
const EVERY: Duration = Duration::from_millis(250);

/// The metrics of a node, if anybody wants them.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    exported: Option<Exported>,
    counts: Counts,
    next: Time,
}

/// What has happened. All reasons are words of ours.
#[derive(Debug, Default)]
struct Counts {
    established: u64,
    accepted: u64,
    answered: u64,
    failed: BTreeMap<&'static str, u64>,
    closed: BTreeMap<&'static str, u64>,
}

/// What there is now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Now<'a> {
    pub(crate) sessions: usize,
    pub(crate) under_way: usize,
    /// How long operations of cryptography took until now.
    pub(crate) crypto: Duration,
    /// Which they were.
    pub(crate) work: Option<&'a Work>,
    /// What it has taken to be woken by messages.
    pub(crate) wakes: Option<&'a Wakes>,
}

impl Metrics {
    /// Opens the page and the file.
    pub(crate) fn open(args: &MetricsArgs) -> Result<Self, Report> {
        let exported = args.are_wanted().then(|| Exported::open(args)).transpose()?;
        Ok(Self { exported, ..Self::default() })
    }

    /// Times the operations of a provider, and keeps which they were, if anybody wants to know.
    pub(crate) fn metered<C>(&self, provider: C) -> Metered<C> {
        if self.exported.is_none() {
            return Metered::count_only(provider);
        }
        let mut metered = Metered::new(provider);
        metered.keep_work();
        metered
    }

    /// Measures the wakes of a driver, if anybody wants to know.
    pub(crate) fn watched<E: Engine>(&self, driver: Driver<E, Metered<Real>>) -> Driver<E, Metered<Real>> {
        if self.exported.is_none() { driver } else { driver.measuring_wakes(crypto_ns) }
    }

    /// How long a node that nothing happens to may wait, when it would wait for so long: the page shows what has happened last, too.
    pub(crate) fn look_up(&self, limit: Duration) -> Duration {
        if self.exported.is_none() { limit } else { limit.min(EVERY) }
    }

    /// Counts an event.
    pub(crate) fn note(&mut self, event: &Event) {
        if self.exported.is_some() {
            self.counts.note(event);
        }
    }

    /// The next update is the last one, and shows everything.
    pub(crate) fn end(&mut self) {
        self.next = Time::ZERO;
    }

    /// Shows what there is, if it is time; whether it was.
    pub(crate) fn update<'a>(&mut self, now: Time, have: impl FnOnce() -> Now<'a>) -> bool {
        let Some(exported) = self.exported.as_mut().filter(|_| now >= self.next) else { return false };
        self.next = now + EVERY;
        exported.show(self.counts.page(have()));
        true
    }
}

impl Counts {
    fn note(&mut self, event: &Event) {
        match event {
            Event::Established(_) => self.established += 1,
            Event::Accepted(_) => self.accepted += 1,
            Event::Answered { .. } => self.answered += 1,
            Event::Failed(failure) => *self.failed.entry(failure.why.name).or_default() += 1,
            Event::Rejected { why, .. } => *self.failed.entry(why).or_default() += 1,
            Event::Closed { why, .. } => *self.closed.entry(why.name).or_default() += 1,
            _ => {}
        }
    }

    fn page(&self, now: Now<'_>) -> String {
        let mut page = Page::default();
        let usage = target::here();
        let cpu_s = usage.map(|usage| usage.cpu.as_secs_f64());
        let memory = usage.and_then(|usage| usage.memory_bytes).map(|bytes| bytes as f64);
        // What is not known is left out.
        for (name, about, kind, value) in [
            ("process_cpu_seconds_total", "CPU time of the process.", Kind::Counter, cpu_s),
            ("process_resident_memory_bytes", "Memory of the process.", Kind::Gauge, memory),
        ] {
            value.iter().for_each(|value| page.family(name, about, kind, [Sample::plain(*value)]));
        }
        for (name, about, kind, value) in [
            (
                target::CRYPTO,
                "CPU time in operations of cryptography.",
                Kind::Counter,
                now.crypto.as_secs_f64(),
            ),
            ("keytoll_sessions", "Sessions that are open.", Kind::Gauge, now.sessions as f64),
            ("keytoll_under_way", "Authentications without outcome.", Kind::Gauge, now.under_way as f64),
            (
                "keytoll_established_total",
                "Peers that were authenticated.",
                Kind::Counter,
                self.established as f64,
            ),
            (
                "keytoll_accepted_total",
                "Users that an AAA server accepted.",
                Kind::Counter,
                self.accepted as f64,
            ),
            (
                "keytoll_answered_total",
                "Questions that an HSS answered.",
                Kind::Counter,
                self.answered as f64,
            ),
        ] {
            page.family(name, about, kind, [Sample::plain(value)]);
        }
        for (name, about, reasons) in [
            ("keytoll_failed_total", "Authentications that failed.", &self.failed),
            ("keytoll_closed_total", "Sessions that were closed.", &self.closed),
        ] {
            let samples = reasons.iter().map(|(why, count)| Sample::labelled("reason", why, *count as f64));
            page.family(name, about, Kind::Counter, samples);
        }
        now.work.iter().for_each(|work| operations(&mut page, work));
        now.wakes.iter().for_each(|told| wakes(&mut page, told));
        page.text()
    }
}

/// How long its operations of cryptography have taken until now, in nanoseconds.
pub(super) fn crypto_ns(crypto: &Metered<Real>) -> u64 {
    ticks_to_ns(crypto.crypto_ticks_total()) as u64
}

/// Operations of cryptography as a cost table has them.
fn operations(page: &mut Page, work: &Work) {
    let count: fn(Amount) -> u64 = |amount| amount.count;
    let families = [
        (target::OPERATIONS, "Operations of cryptography.", count),
        (target::BYTES, "Bytes that operations of cryptography worked on.", |amount| amount.bytes),
    ];
    for (name, about, of) in families {
        let samples = work.amounts().map(|(place, amount)| {
            let (operation, algorithm) = place.name();
            let labels = target::LABELS.into_iter().zip([operation, algorithm]);
            let labels = labels.map(|(label, value)| (label.to_owned(), value.to_owned()));
            Sample { labels: labels.collect(), ..Sample::plain(of(amount) as f64) }
        });
        page.family(name, about, Kind::Counter, samples);
    }
}

/// What it has taken to be woken by messages, by class.
fn wakes(page: &mut Page, wakes: &Wakes) {
    for (family, (name, about)) in target::WAKES.into_iter().enumerate() {
        let samples = wakes.classes().map(|(class, sums): (WakeClass, WakeSums)| {
            let labels = target::labels(class).map(|(name, value)| (name.to_owned(), value));
            Sample { labels: labels.into(), ..Sample::plain(sums.numbers()[family] as f64) }
        });
        page.family(name, about, Kind::Counter, samples);
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Place;
    use keytoll_hosts::event::{Failure, Reason};

    use super::*;

    #[test]
    fn the_page_tells_cpu_cryptography_sessions_and_reasons() {
        let mut counts = Counts::default();
        let failure =
            Failure { session: None, why: Reason::new("AUTHENTICATION_FAILED"), likely: None, peer: None };
        counts.note(&Event::Failed(Box::new(failure)));
        counts.note(&Event::Accepted(b"alice".to_vec()));
        let mut work = Work::default();
        work.add(Place::named("hash", "sha1").unwrap(), Amount { count: 3, bytes: 400 });
        let mut wakes = Wakes::default();
        let class = WakeClass { pause_us: 200, is_several: false };
        wakes.add(class, WakeSums::of([5, 4, 10, 1500, 700, 1200, 90]));
        let (crypto, work, wakes) = (Duration::from_millis(1500), Some(&work), Some(&wakes));
        let now = Now { sessions: 3, under_way: 2, crypto, work, wakes };
        let page = counts.page(now);
        for line in [
            "keytoll_crypto_seconds_total 1.5",
            "keytoll_crypto_operations_total{operation=\"hash\",algorithm=\"sha1\"} 3",
            "keytoll_crypto_bytes_total{operation=\"hash\",algorithm=\"sha1\"} 400",
            "keytoll_wakes_total{pause_us=\"200\",received=\"one\"} 5",
            "keytoll_wakes_timed_total{pause_us=\"200\",received=\"one\"} 4",
            "keytoll_wake_answered_nanoseconds_total{pause_us=\"200\",received=\"one\"} 1200",
            "keytoll_sessions 3",
            "keytoll_under_way 2",
            "keytoll_accepted_total 1",
            "keytoll_failed_total{reason=\"AUTHENTICATION_FAILED\"} 1",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}: {page}");
        }
        assert!(page.contains("\nprocess_cpu_seconds_total ") && !page.contains("alice"), "{page}");
    }

    #[test]
    fn nothing_is_counted_that_nobody_wants() {
        let mut metrics = Metrics::open(&MetricsArgs::default()).unwrap();
        metrics.note(&Event::Accepted(b"alice".to_vec()));
        assert!(!metrics.update(Time::ZERO, || unreachable!("nobody looks")));
        assert_eq!(metrics.counts.accepted, 0);
    }
}
