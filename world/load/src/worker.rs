//! A worker: one thread that drives its devices on its sockets, and reports every second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Barrier, OnceLock};
use std::time::Duration;

use keytoll_crypto::{Metered, Real};
use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Trace};
use keytoll_live::{Clock, Driver, Sockets, Waker};
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
}

impl Crew {
    pub(crate) fn waker(&self) -> Waker {
        self.sockets.waker()
    }

    /// Works until everything is over. Nobody listening is the end, too.
    pub(crate) fn work(self) {
        keytoll_native::awslc::prepare_thread();
        let (all, clock) = &*self.ready;
        all.wait();
        let clock = *clock.get_or_init(Clock::start);
        let driver = Driver::new(Calling::new(self.caller), Metered::new(Real::default()), self.sockets);
        let mut shift = Shift {
            driver: driver.with_clock(clock).surviving_panics(),
            facts: Facts::default(),
            cpu_ns: thread_cpu_ns(),
            crypto_ticks: 0,
            number: 0,
            worker: self.number,
            reports: self.reports,
        };
        shift.run(&self.stop);
    }
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
            if is_due && !self.report() || is_over {
                return;
            }
        }
    }

    /// When the second ends.
    fn ends(&self) -> Time {
        Time::ZERO + EVERY.saturating_mul(u32::try_from(self.number + 1).unwrap_or(u32::MAX))
    }

    /// Reports a second; false if nobody listens any more.
    fn report(&mut self) -> bool {
        let (cpu_ns, ends) = (thread_cpu_ns(), self.ends());
        let crypto_ticks = self.driver.crypto().crypto_ticks_total();
        let crypto_ns = clock::ticks_to_ns(crypto_ticks - self.crypto_ticks) as u64;
        let caller = &mut self.driver.engine_mut().caller;
        let mut tally = caller.take_tally(ends);
        tally.counts.add(&std::mem::take(&mut self.facts.counts));
        let report = Report {
            worker: self.worker,
            number: self.number,
            tally,
            under_way: caller.under_way(),
            standing: caller.standing(),
            standing_max: caller.take_standing_max(),
            cpu: Duration::from_nanos(cpu_ns.saturating_sub(self.cpu_ns)),
            crypto: Duration::from_nanos(crypto_ns),
            course: caller.course(),
        };
        (self.cpu_ns, self.crypto_ticks) = (cpu_ns, crypto_ticks);
        self.number += 1;
        if let Some(panics) = self.driver.take_panics() {
            let why = format!("a mistake of keytoll at {}", panics.place);
            self.facts.counts.discarded.add_some(&why, panics.count);
        }
        self.reports.send(report).is_ok()
    }
}

/// Counts messages and what could not be used.
#[derive(Debug, Default)]
struct Facts {
    counts: Counts,
}

impl Trace for Facts {
    fn record(&mut self, fact: Fact) {
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
