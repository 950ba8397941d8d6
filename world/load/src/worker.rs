//! A worker: one thread that drives its devices on its sockets, and reports every second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Barrier, OnceLock};
use std::time::Duration;

use keytoll_crypto::{Metered, Real};
use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Revealed, Trace};
use keytoll_live::{Capture, Clock, Driver, Sockets, Waker};
use keytoll_native::clock::{self, thread_cpu_ns};

use crate::caller::{Caller, Calling, Course, Order};
use crate::run::EVERY;
use crate::tally::{Counts, Tally};

/// What a worker has counted in a second.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) worker: usize,
    /// The second, from 0.
    pub(crate) number: u64,
    pub(crate) tally: Tally,
    pub(crate) under_way: usize,
    pub(crate) standing: usize,
    pub(crate) standing_max: usize,
    /// CPU time of its thread in this second.
    pub(crate) cpu: Duration,
    /// The part of it in operations of cryptography.
    pub(crate) crypto: Duration,
    pub(crate) course: Course,
}

/// A worker before its thread begins.
pub(crate) struct Crew {
    pub(crate) number: usize,
    pub(crate) caller: Caller,
    pub(crate) sockets: Sockets,
    /// Time begins when all are ready.
    pub(crate) ready: Arc<(Barrier, OnceLock<Clock>)>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) reports: Sender<Report>,
    /// Of all workers.
    pub(crate) capture: Option<Capture>,
}

impl Crew {
    pub(crate) fn waker(&self) -> Waker {
        self.sockets.waker()
    }

    /// Works until everything is over. Nobody listening is the end, too.
    pub(crate) fn work(self) {
        keytoll_native::awslc::prepare_thread();
        wake_on_time();
        let (all, clock) = &*self.ready;
        all.wait();
        let clock = *clock.get_or_init(|| {
            let clock = Clock::start();
            self.capture.iter().for_each(|capture| capture.follow(&clock));
            clock
        });
        let driver = Driver::new(Calling::new(self.caller), Metered::new(Real::default()), self.sockets);
        let mut shift = Shift {
            driver: driver.with_clock(clock).with_tap(self.capture.clone()).surviving_panics(),
            facts: Facts { capture: self.capture, ..Facts::default() },
            cpu_ns: thread_cpu_ns(),
            crypto_ticks: 0,
            number: 0,
            worker: self.number,
            reports: self.reports,
        };
        shift.run(&self.stop);
    }
}

/// By default the kernel lets a timer of a thread be late by 50 µs. Where it does not allow another slack, starts are late by as much.
fn wake_on_time() {
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// A worker at work.
struct Shift {
    driver: Driver<Calling, Metered<Real>>,
    facts: Facts,
    cpu_ns: u64,
    crypto_ticks: u64,
    number: u64,
    worker: usize,
    reports: Sender<Report>,
}

impl Shift {
    fn run(&mut self, stop: &AtomicBool) {
        let mut is_stopped = false;
        loop {
            let ends = self.ends();
            let limit = ends.since(self.driver.now());
            let is_over = self.driver.next_event(limit, &mut self.facts).is_some();
            if !is_stopped && stop.load(Ordering::Relaxed) {
                is_stopped = true;
                self.driver.command(Order::Stop, &mut self.facts);
            }
            let is_over = is_over || self.driver.engine().caller.course() == Course::Over;
            let is_due = is_over || self.driver.now() >= ends;
            if is_due && !(self.catch_up() && self.report(is_over)) || is_over {
                return;
            }
        }
    }

    /// When the second ends.
    fn ends(&self) -> Time {
        Time::ZERO + EVERY.saturating_mul(u32::try_from(self.number + 1).unwrap_or(u32::MAX))
    }

    /// Reports what was counted before a stall in the second in which it began, and those that it lasted as empty: what comes is
    /// counted when it comes. False if nobody listens any more.
    fn catch_up(&mut self) -> bool {
        while self.driver.now() >= self.ends() + EVERY {
            if !self.report(false) {
                return false;
            }
        }
        true
    }

    /// Reports a second; false if nobody listens any more.
    fn report(&mut self, is_last: bool) -> bool {
        let ends = self.ends();
        let cpu = self.take_cpu(is_last);
        let crypto_ticks = self.driver.crypto().crypto_ticks_total();
        let crypto_ns = clock::ticks_to_ns(crypto_ticks - self.crypto_ticks) as u64;
        self.crypto_ticks = crypto_ticks;
        self.note_panics();
        let caller = &mut self.driver.engine_mut().caller;
        let mut tally = if is_last { caller.take_tally(ends) } else { caller.take_tally_of(ends) };
        tally.counts.add(&std::mem::take(&mut self.facts.counts));
        let course = caller.course();
        let report = Report {
            worker: self.worker,
            number: self.number,
            tally,
            under_way: caller.under_way(),
            standing: caller.standing(),
            standing_max: caller.take_standing_max(),
            cpu,
            crypto: Duration::from_nanos(crypto_ns),
            // Nothing is over before the last report of it.
            course: if is_last { course } else { course.min(Course::Closing) },
        };
        self.number += 1;
        self.reports.send(report).is_ok()
    }

    /// CPU time since the last report. A second has no more than one; what a late report has beyond it belongs to the next.
    fn take_cpu(&mut self, is_last: bool) -> Duration {
        let used = Duration::from_nanos(thread_cpu_ns().saturating_sub(self.cpu_ns));
        let cpu = if is_last { used } else { used.min(EVERY) };
        self.cpu_ns += cpu.as_nanos() as u64;
        cpu
    }

    fn note_panics(&mut self) {
        if let Some(panics) = self.driver.take_panics() {
            let why = format!("a mistake of keytoll at {}", panics.place);
            self.facts.counts.discarded.add_some(&why, panics.count);
        }
    }
}

/// Counts messages and what could not be used.
#[derive(Debug, Default)]
struct Facts {
    counts: Counts,
    /// Hears everything, keys as well.
    capture: Option<Capture>,
}

impl Trace for Facts {
    fn wants_keys(&self) -> bool {
        self.capture.is_some()
    }

    fn reveal(&mut self, revealed: Revealed) {
        self.capture.iter().for_each(|capture| capture.reveal(&revealed));
    }

    fn record(&mut self, fact: Fact) {
        self.capture.iter().for_each(|capture| capture.record(&fact));
        match fact {
            Fact::Sent(message) if message.fragment == 0 => {
                self.counts.messages += 1;
                self.counts.retransmissions += u64::from(message.retransmission);
            }
            Fact::Discarded { why, .. } => {
                self.counts.discarded.count(&why);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::mpsc::{self, Receiver};

    use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
    use keytoll_hosts::callers::{Callers, Command, Event};

    use super::*;
    use crate::caller::{Stay, Visits};
    use crate::starts::Starts;

    /// Callers of which every call is usable at once, but those that panic.
    #[derive(Debug, Default)]
    struct Fake {
        panics: bool,
        out: VecDeque<Output<Event>>,
    }

    impl Callers for Fake {
        fn sessions(&self) -> Option<&'static str> {
            None
        }
    }

    impl Engine for Fake {
        type Command = Command;
        type Event = Event;

        fn handle(&mut self, input: Input<'_, Command>, _: &mut Ctx<'_>) {
            if let Input::Command(Command::Begin(call, _)) = input {
                self.out.push_back(Output::Event(Event::Usable(call)));
                assert!(!self.panics, "as it is meant to");
            }
        }

        fn poll(&mut self) -> Option<Output<Event>> {
            self.out.pop_front()
        }

        fn deadline(&self) -> Option<Deadline> {
            None
        }
    }

    /// A worker whose clock began so long ago, with starts at these milliseconds.
    fn shift(ago: Duration, starts_ms: &[u64], fake: Fake) -> (Shift, Receiver<Report>) {
        let times: Vec<_> = starts_ms.iter().copied().map(Duration::from_millis).collect();
        let span = times.last().copied().unwrap_or_default();
        let visits = Visits {
            starts: Starts::Open { times: Box::new(times.into_iter()), span },
            devices: (0..8).collect(),
            stay: Stay::Always,
            within: Duration::from_secs(1),
            length: None,
            farewell: Duration::ZERO,
        };
        let (reports, reported) = mpsc::channel();
        let origin_ns = clock::monotonic_ns() - ago.as_nanos() as u64;
        let calling = Calling::new(Caller::new(Box::new(fake), visits));
        let driver = Driver::new(calling, Metered::new(Real::default()), Sockets::bind(&[]).unwrap());
        let shift = Shift {
            driver: driver.with_clock(Clock::at(origin_ns)).surviving_panics(),
            facts: Facts::default(),
            cpu_ns: thread_cpu_ns(),
            crypto_ticks: 0,
            number: 0,
            worker: 0,
            reports,
        };
        (shift, reported)
    }

    #[test]
    fn a_worker_that_stalled_reports_the_second_that_the_clock_shows() {
        let (mut shift, reported) =
            shift(Duration::from_millis(3500), &[100, 1100, 2100, 5100], Fake::default());
        shift.run(&AtomicBool::new(false));
        let reports: Vec<_> = reported.try_iter().collect();
        let of = |pick: fn(&Report) -> u64| reports.iter().map(pick).collect::<Vec<_>>();
        assert_eq!(of(|report| report.number), [0, 1, 2, 3, 4, 5]);
        assert_eq!(of(|report| report.tally.counts.offered), [1, 1, 1, 0, 0, 1]);
        // Three were late, one was not; none is counted before it began by more than the second of the stall.
        assert_eq!(of(|report| report.tally.counts.usable).iter().sum::<u64>(), 4);
        assert_eq!(reports[5].tally.counts.usable, 1);
        assert_eq!(of(|report| u64::from(report.course == Course::Over)), [0, 0, 0, 0, 0, 1]);
        assert!(reports.iter().all(|report| report.cpu <= EVERY), "{reports:?}");
    }

    #[test]
    fn a_panic_in_the_last_second_is_told() {
        let fake = Fake { panics: true, out: VecDeque::new() };
        let (mut shift, reported) = shift(Duration::ZERO, &[0], fake);
        shift.run(&AtomicBool::new(false));
        let told: u64 = reported.try_iter().map(|report| report.tally.counts.discarded.sum()).sum();
        assert_eq!(told, 1);
    }
}
