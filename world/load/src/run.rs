//! All workers together: their seconds, put together and shown to who watches, until everything is over.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use keytoll_census::Point;
use keytoll_crypto::Work;
use keytoll_hosts::callers::Callers;
use keytoll_live::{BindError, Capture, Sockets, Streaming, Waker, Wakes};
use keytoll_net::Socket;

use crate::account;
use crate::caller::{Caller, Course, TOO_LATE, Visits};
use crate::tally::{LATE_MAX, Tally};
use crate::target::{Meter, Usage};
use crate::worker::{Crew, Report};

/// How often workers report.
pub(crate) const EVERY: Duration = Duration::from_secs(1);
/// How often somebody looks whether it is to be stopped.
const LOOK: Duration = Duration::from_millis(50);
/// Beyond this share of a core a worker limits what it offers.
const BUSY: f64 = 0.9;

/// Makes the callers of a worker, whose sockets are bound at these addresses.
pub type Build = Box<dyn FnOnce(&[Socket]) -> Box<dyn Callers> + Send>;

/// A worker that has not begun.
pub struct Worker {
    /// The local addresses of its sockets; a port of 0 is any free one. With streams each is the name of our end of one, whose
    /// port is whichever is free, and none is 0.
    pub sockets: Vec<SocketAddr>,
    /// What is spoken over streams; `None`: it sends datagrams.
    pub streaming: Option<Streaming>,
    /// Its callers, given the addresses that were bound.
    pub build: Build,
    /// What they do when.
    pub visits: Visits,
}

/// A load that has not begun.
pub struct Load {
    /// One for each thread, at least one.
    pub workers: Vec<Worker>,
    /// Whether starts wait for the outcome of others, so that none can be late.
    pub is_closed_loop: bool,
    /// Where all call: the first is where devices begin, and where the others are they go on when it has answered.
    pub called: Vec<SocketAddr>,
    /// What measures the target.
    pub meter: Option<Meter>,
    /// The quantile of the lateness of each second that is kept.
    pub lateness_quantile: f64,
    /// The packets of all workers, if they are wanted.
    pub capture: Option<Capture>,
}

/// A second of all workers.
#[derive(Debug, Clone)]
pub struct Second {
    /// Its number, from 0.
    pub number: u64,
    /// What was counted.
    pub tally: Tally,
    /// Calls without outcome at its end.
    pub under_way: usize,
    /// Sessions open at its end.
    pub standing: usize,
    /// The most sessions open in it: at most, for workers may have had their most at different times.
    pub standing_max: usize,
    /// The largest share of a core that a worker needed.
    pub cpu_share: f64,
    /// Whether the generator limited what it offered: starts were late, or a worker was busy.
    pub is_limited: bool,
    /// What the target needed.
    pub target: Option<Usage>,
    /// How far the worker is that is furthest behind.
    pub course: Course,
}

/// Everything up to now.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// What was counted.
    pub tally: Tally,
    /// The number of seconds.
    pub seconds: u64,
    /// The most calls under way at the end of a second.
    pub under_way_max: usize,
    /// The most sessions open in a second.
    pub standing_max: usize,
    /// The sum of the CPU time of all workers.
    pub cpu: Duration,
    /// The part of it in operations of cryptography.
    pub crypto: Duration,
    /// Seconds in which the generator limited what it offered.
    pub limited_seconds: u64,
    /// Those of them in which a worker had no time left.
    pub busy_seconds: u64,
    /// Seconds in which devices began or were meant to.
    pub starting_seconds: u64,
    /// CPU time of the target.
    pub target_cpu: Option<Duration>,
    /// The part of it in operations of cryptography, if the target tells.
    pub target_crypto: Option<Duration>,
    /// The operations of it, if the target tells; known at the end.
    pub target_work: Option<Work>,
    /// What it took the target to be woken by messages, if it tells; known at the end.
    pub target_wakes: Option<Wakes>,
    /// The second from which on the target could not be measured, to the end or until it was begun anew.
    pub target_gone_in: Option<u64>,
    /// The most memory of the target at the end of a second, in bytes.
    pub target_memory_max: Option<u64>,
}

/// Looks on, and may stop it.
pub trait Watch {
    /// A second is over.
    fn second(&mut self, second: &Second, totals: &Totals);

    /// Whether it is to end now, in an orderly way.
    fn is_to_stop(&mut self) -> bool;

    /// Something is known now that was not.
    fn note(&mut self, _note: &str) {}
}

/// How it ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Everything.
    pub totals: Totals,
    /// A point for every second.
    pub points: Vec<Point>,
    /// The seconds in which starts of a schedule were made, each with its number and the lateness of its starts at the wanted quantile.
    pub lateness: Vec<(u64, Duration)>,
    /// Whether somebody stopped it.
    pub was_stopped: bool,
    /// How long it was to be; of a closed loop without an end nobody knows.
    pub planned: Option<Duration>,
    /// When and where the target's host said first that nobody listens.
    pub refused: Option<Refused>,
    /// Sessions that were not closed in time.
    pub left_open: usize,
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The second in which that was told.
    pub second: u64,
    /// Where.
    pub at: SocketAddr,
}

/// Runs a load to its end.
///
/// # Errors
/// An address cannot be bound.
///
/// # Panics
/// When a worker's thread panics.
pub fn run(load: Load, watch: &mut dyn Watch) -> Result<Outcome, BindError> {
    let Load { workers, is_closed_loop, called, mut meter, lateness_quantile, capture } = load;
    let count = workers.len();
    let planned = workers.iter().filter_map(|worker| worker.visits.planned()).max();
    let stop = Arc::new(AtomicBool::new(false));
    let (reports, reported) = mpsc::channel();
    let has_datagrams = workers.iter().all(|worker| worker.streaming.is_none());
    let bound: Vec<_> = workers.into_iter().map(bind).collect::<Result<_, _>>()?;
    let ready = Arc::new((Barrier::new(count), OnceLock::new()));
    let crews = bound.into_iter().enumerate().map(|(number, (caller, sockets))| {
        let (stop, ready, reports) = (Arc::clone(&stop), Arc::clone(&ready), reports.clone());
        Crew { number, caller, sockets, ready, stop, reports, capture: capture.clone() }
    });
    let (wakers, threads): (Vec<Waker>, Vec<JoinHandle<()>>) =
        crews.map(|crew| (crew.waker(), std::thread::spawn(move || crew.work()))).unzip();
    drop(reports);
    let probers = called.into_iter().filter(|_| has_datagrams).map(Prober::start).collect();
    let mut floor = Floor::new(count, is_closed_loop, probers);
    while let Some(report) = next(&reported, || {
        if !stop.load(Ordering::Relaxed) && watch.is_to_stop() {
            stop.store(true, Ordering::Relaxed);
            wakers.iter().for_each(Waker::wake);
        }
    }) {
        for second in floor.take(report, meter.as_mut()) {
            watch.second(&second, &floor.totals);
            // No more is kept of it: a load may last for days.
            floor.points.push(account::point(&second));
            let lateness = second.tally.lateness.quantile(lateness_quantile).filter(|_| !is_closed_loop);
            floor.lateness.extend(lateness.map(|lateness| (second.number, lateness)));
        }
    }
    for thread in threads {
        thread.join().expect("a worker's thread ends by itself");
    }
    let left_open = floor.standing();
    let refused = floor.refused;
    let Floor { mut totals, points, lateness, .. } = floor;
    meter.iter_mut().for_each(|meter| totals.end(meter));
    let was_stopped = stop.load(Ordering::Relaxed);
    Ok(Outcome { totals, points, lateness, was_stopped, planned, refused, left_open })
}

fn bind(worker: Worker) -> Result<(Caller, Sockets), BindError> {
    let (sockets, locals) = match worker.streaming {
        Some(streaming) => {
            let locals = worker.sockets.into_iter().map(Socket::from).collect();
            (Sockets::bind(&[])?.streaming(streaming, &[])?, locals)
        }
        None => {
            let sockets = Sockets::bind(&worker.sockets)?;
            let locals = sockets.locals();
            (sockets, locals)
        }
    };
    let callers = (worker.build)(&locals);
    Ok((Caller::new(callers, worker.visits), sockets))
}

/// The next report; none when all workers are gone.
fn next(reports: &Receiver<Report>, mut look: impl FnMut()) -> Option<Report> {
    loop {
        look();
        match reports.recv_timeout(LOOK) {
            Ok(report) => return Some(report),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Calls without an answer, in the words of protocols and in ours.
const UNANSWERED: [&str; 3] = [TOO_LATE, "timeout", "RADIUS timeout"];
/// The target's host says that nobody listens.
const REFUSED: &str = "port closed (ICMP)";
/// How often is asked.
const PROBE_EVERY: Duration = Duration::from_millis(500);

/// Asks the target's host whether anybody listens at an address, in a thread of its own, for the answer takes time.
// RFC 1122 §4.1.3.3: only a connected socket hears of ICMP, and those of the load are for many answers.
struct Prober {
    at: SocketAddr,
    answer: Arc<Answer>,
}

#[derive(Default)]
struct Answer {
    is_wanted: AtomicBool,
    is_closed: AtomicBool,
}

impl Prober {
    fn start(at: SocketAddr) -> Self {
        let answer = Arc::new(Answer::default());
        let theirs = Arc::downgrade(&answer);
        std::thread::spawn(move || {
            while let Some(answer) = theirs.upgrade() {
                if answer.is_wanted.load(Ordering::Relaxed) {
                    let is_closed = keytoll_live::is_closed(at).unwrap_or(false);
                    // What was asked before somebody answered tells nothing of a silence that came later.
                    let is_wanted = answer.is_wanted.load(Ordering::Relaxed);
                    answer.is_closed.store(is_closed && is_wanted, Ordering::Relaxed);
                }
                drop(answer);
                #[expect(clippy::disallowed_methods, reason = "a thread of its own, beside the load")]
                std::thread::sleep(PROBE_EVERY);
            }
        });
        Self { at, answer }
    }

    fn want(&self, is_wanted: bool) {
        self.answer.is_wanted.store(is_wanted, Ordering::Relaxed);
        if !is_wanted {
            self.answer.is_closed.store(false, Ordering::Relaxed);
        }
    }

    fn is_closed(&self) -> bool {
        self.answer.is_closed.load(Ordering::Relaxed)
    }
}

/// Reports, until those of a second are complete.
struct Floor {
    /// The last report of each worker, for those that are over.
    last: Vec<Option<Last>>,
    waiting: BTreeMap<u64, Vec<Report>>,
    next: u64,
    is_closed_loop: bool,
    /// One for each address that is called; none with streams, which tell themselves.
    probers: Vec<Prober>,
    refused: Option<Refused>,
    totals: Totals,
    points: Vec<Point>,
    lateness: Vec<(u64, Duration)>,
}

/// The end of a worker.
#[derive(Clone, Copy)]
struct Last {
    number: u64,
    standing: usize,
}

impl Floor {
    fn new(workers: usize, is_closed_loop: bool, probers: Vec<Prober>) -> Self {
        Self {
            last: vec![None; workers],
            waiting: BTreeMap::new(),
            next: 0,
            is_closed_loop,
            probers,
            refused: None,
            totals: Totals::default(),
            points: Vec::new(),
            lateness: Vec::new(),
        }
    }

    /// Sessions of workers that are over and were not closed.
    fn standing(&self) -> usize {
        self.last.iter().flatten().map(|last| last.standing).sum()
    }

    /// Takes a report; gives the seconds that it completes.
    fn take(&mut self, report: Report, mut meter: Option<&mut Meter>) -> Vec<Second> {
        if report.course == Course::Over {
            let Report { number, standing, worker, .. } = report;
            self.last[worker] = Some(Last { number, standing });
        }
        self.waiting.entry(report.number).or_default().push(report);
        let mut complete = Vec::new();
        while self.is_complete() {
            let reports = self.waiting.remove(&self.next).unwrap_or_default();
            complete.push(self.second(&reports, meter.as_deref_mut()));
            self.next += 1;
        }
        complete
    }

    /// Whether all workers that are not over have reported the next second.
    fn is_complete(&self) -> bool {
        let reported = self.waiting.get(&self.next).map_or(0, Vec::len);
        let is_gone = |last: &&Option<Last>| last.is_some_and(|last| last.number < self.next);
        reported > 0 && reported + self.last.iter().filter(is_gone).count() == self.last.len()
    }

    /// Asks, where nobody is authenticated, whether anybody listens at all. If not, that is why calls have no outcome.
    fn probe(&mut self, tally: &mut Tally, under_way: usize) {
        let is_silent = tally.counts.usable == 0 && (under_way > 0 || tally.counts.failed_sum() > 0);
        self.probers.iter().for_each(|prober| prober.want(is_silent));
        let closed = self.probers.iter().find(|prober| prober.is_closed());
        if let Some(Prober { at, .. }) = closed.filter(|_| is_silent) {
            // Where all begin may be known later.
            let second = self.refused.map_or(self.next, |refused| refused.second);
            self.refused = Some(Refused { second, at: *at });
            for why in UNANSWERED {
                if let Some(count) = tally.counts.failed.remove(why) {
                    *tally.counts.failed.entry(REFUSED).or_default() += count;
                }
            }
        }
    }

    fn second(&mut self, reports: &[Report], meter: Option<&mut Meter>) -> Second {
        let mut tally = Tally::default();
        reports.iter().for_each(|report| tally.add(&report.tally));
        let under_way: usize = reports.iter().map(|report| report.under_way).sum();
        self.probe(&mut tally, under_way);
        let cpu_share =
            reports.iter().map(|report| report.cpu.as_secs_f64() / EVERY.as_secs_f64()).fold(0.0, f64::max);
        let is_refused = !tally.counts.refused.is_empty();
        let is_late =
            !self.is_closed_loop && tally.lateness.quantile(0.999).is_some_and(|late| late > LATE_MAX);
        let target = meter.and_then(|meter| {
            let target = meter.read();
            self.totals.note_whether_gone(meter.is_gone() || meter.has_lost(), self.next);
            target
        });
        let second = Second {
            number: self.next,
            under_way,
            standing: reports.iter().map(|report| report.standing).sum(),
            standing_max: reports.iter().map(|report| report.standing_max).sum(),
            cpu_share,
            is_limited: has_starts(&tally) && (is_late || is_refused || cpu_share > BUSY),
            target,
            course: reports.iter().map(|report| report.course).min().unwrap_or(Course::Over),
            tally,
        };
        self.totals.add(&second);
        self.totals.cpu += reports.iter().map(|report| report.cpu).sum::<Duration>();
        self.totals.crypto += reports.iter().map(|report| report.crypto).sum::<Duration>();
        second
    }
}

/// Whether devices began, or were meant to.
fn has_starts(tally: &Tally) -> bool {
    tally.counts.offered > 0 || tally.counts.begun > 0 || !tally.counts.refused.is_empty()
}

impl Totals {
    fn add(&mut self, second: &Second) {
        self.tally.add(&second.tally);
        self.seconds += 1;
        self.under_way_max = self.under_way_max.max(second.under_way);
        self.standing_max = self.standing_max.max(second.standing_max);
        self.limited_seconds += u64::from(second.is_limited);
        self.busy_seconds += u64::from(second.is_limited && second.cpu_share > BUSY);
        self.starting_seconds += u64::from(has_starts(&second.tally));
        second.target.iter().for_each(|usage| self.add_usage(*usage));
    }

    /// What is back and has lost nothing was never gone.
    fn note_whether_gone(&mut self, is_gone: bool, second: u64) {
        self.target_gone_in = is_gone.then(|| self.target_gone_in.unwrap_or(second));
    }

    fn add_usage(&mut self, Usage { cpu, crypto, memory_bytes }: Usage) {
        if let Some(crypto) = crypto {
            self.target_crypto = Some(self.target_crypto.unwrap_or_default().saturating_add(crypto));
        }
        self.target_cpu = Some(self.target_cpu.unwrap_or_default().saturating_add(cpu));
        self.target_memory_max = self.target_memory_max.max(memory_bytes);
    }

    /// The work for the last devices is shown when they are gone. What a target has used that cannot be read then is not all.
    fn end(&mut self, meter: &mut Meter) {
        match meter.read_to_end() {
            Some(usage) => {
                self.add_usage(usage);
                self.note_whether_gone(meter.has_lost(), self.seconds);
            }
            None => self.note_whether_gone(true, self.seconds),
        }
        (self.target_work, self.target_wakes) = (meter.work(), meter.wakes());
    }
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;
    use crate::target::Source;

    #[test]
    fn a_target_that_cannot_be_read_at_the_end_is_gone() {
        let mut sleeper = process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut there = Meter::start(Source::Process(process::id())).unwrap();
        let mut gone = Meter::start(Source::Process(sleeper.id())).unwrap();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let ended = |meter: &mut Meter, target_gone_in| {
            let mut totals = Totals { seconds: 7, target_gone_in, ..Totals::default() };
            totals.end(meter);
            totals.target_gone_in
        };
        assert_eq!(ended(&mut there, Some(3)), None, "it is back");
        assert_eq!([None, Some(3)].map(|before| ended(&mut gone, before)), [Some(7), Some(3)]);
    }

    /// A node that shows this on its page, a reading later the next, until it is hung up.
    #[expect(clippy::disallowed_types, reason = "somebody who serves a page")]
    fn shown(cpu_s: [f64; 3]) -> String {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let pages = cpu_s.into_iter().chain(std::iter::repeat(cpu_s[2]));
        std::thread::spawn(move || {
            for (stream, cpu_s) in listener.incoming().zip(pages) {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\nprocess_cpu_seconds_total {cpu_s}\n");
            }
        });
        host
    }

    #[test]
    fn what_a_target_has_used_that_was_begun_anew_is_not_all() {
        let gone_in = |cpu_s: [f64; 3]| {
            let source = Source::Page(shown(cpu_s), "/metrics".to_owned());
            let mut meter = Meter::start(source).unwrap();
            let mut floor = Floor::new(1, true, Vec::new());
            while floor.totals.target_cpu.is_none() {
                floor.second(&[], Some(&mut meter));
                std::thread::yield_now();
            }
            floor.totals.end(&mut meter);
            floor.totals.target_gone_in
        };
        let [same, anew] =
            [[5.0, 6.0, 7.0], [5.0, 0.5, 0.75]].map(|cpu_s| std::thread::spawn(move || gone_in(cpu_s)));
        assert_eq!(same.join().unwrap(), None);
        assert_eq!(anew.join().unwrap(), Some(0), "and it is there again");
    }
}
