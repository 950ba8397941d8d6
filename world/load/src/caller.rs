//! When devices begin, give up and leave: an engine around the callers of a protocol. It knows the schedule and no protocol.
//!
//! ```text
//!   Starting --schedule at its end, or Order::Stop--> Finishing --nothing under way--> Closing --nothing open--> Over
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::iter::Peekable;
use std::time::Duration;

use keytoll_engine::map::FastMap;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_hosts::callers::{Call, Callers, Command, DeviceIndex, Event};

use crate::agenda::Agenda;
use crate::tally::Tally;

/// When devices are meant to begin.
pub enum Starts {
    /// At these times from the beginning, which never decrease, whatever becomes of those before.
    Open(Box<dyn Iterator<Item = Duration> + Send>),
    /// So many at a time, and so many in all: when one has its outcome the next one begins.
    Closed {
        /// At a time.
        at_a_time: u32,
        /// In all.
        total: u64,
    },
}

/// How long a device stays once it is authenticated.
pub enum Stay {
    /// Until the end.
    Always,
    /// So long.
    For(Box<dyn FnMut() -> Duration + Send>),
}

/// The load of one worker.
pub struct Visits {
    /// When devices begin.
    pub starts: Starts,
    /// Its devices, which take turns; no two workers have one in common.
    pub devices: Vec<u32>,
    /// How long each stays.
    pub stay: Stay,
    /// How long an authentication may take.
    pub within: Duration,
    /// From the beginning on; none begins later.
    pub length: Duration,
    /// How long sessions may take to close in the end.
    pub farewell: Duration,
}

/// A request of the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Nobody begins any more: finish, close, and be over.
    Stop,
}

/// How far the load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Course {
    /// Devices begin.
    Starting,
    /// Those under way get their outcome.
    Finishing,
    /// Sessions are closed.
    Closing,
    /// Nothing is open.
    Over,
}

/// Devices with a schedule.
pub struct Caller {
    callers: Box<dyn Callers>,
    starts: Due,
    free: VecDeque<u32>,
    stay: Stay,
    within: Duration,
    ends_at: Time,
    farewell: Duration,
    calls: FastMap<u64, Held>,
    under_way: BTreeSet<Call>,
    standing: BTreeSet<Call>,
    leaving: usize,
    agenda: Agenda,
    course: Course,
    /// When closing ends, whatever is left.
    closed_by: Time,
    /// The most sessions since this was last asked.
    standing_max: usize,
    next: u64,
    /// Between two batches of starts what has arrived is handled.
    no_start_before: Time,
    tally: Tally,
}

/// A call.
#[derive(Debug, Clone, Copy)]
struct Held {
    device: u32,
    intended: Time,
    /// Its entry in the agenda.
    due: Option<Time>,
}

/// Starts that are still to come.
enum Due {
    Open(Peekable<Box<dyn Iterator<Item = Duration> + Send>>),
    Closed { at_a_time: usize, left: u64 },
}

/// A device took longer than it may.
pub const TOO_LATE: &str = "no outcome in time";
/// More devices are to begin at once than there are identities.
pub const NO_DEVICE: &str = "every identity is in use";
/// It was under way when the load was stopped.
const STOPPED: &str = "stopped";

/// Starts at a time; more than this are due only when the generator is late.
const BATCH: usize = 8;
/// How long what has arrived is handled between two batches of starts that are late.
const BREATH: Duration = Duration::from_micros(100);
/// Sessions that are closed at a time.
const LEAVING_MAX: usize = 128;

impl Caller {
    /// Devices that begin when told so.
    pub fn new(callers: Box<dyn Callers>, visits: Visits) -> Self {
        Self {
            callers,
            starts: match visits.starts {
                Starts::Open(times) => Due::Open(times.peekable()),
                Starts::Closed { at_a_time, total } => {
                    Due::Closed { at_a_time: at_a_time as usize, left: total }
                }
            },
            free: visits.devices.into(),
            stay: visits.stay,
            within: visits.within,
            ends_at: Time::ZERO + visits.length,
            farewell: visits.farewell,
            calls: FastMap::default(),
            under_way: BTreeSet::new(),
            standing: BTreeSet::new(),
            leaving: 0,
            agenda: Agenda::default(),
            course: Course::Starting,
            closed_by: Time::MAX,
            standing_max: 0,
            next: 0,
            no_start_before: Time::ZERO,
            tally: Tally::default(),
        }
    }

    /// How far it is.
    pub const fn course(&self) -> Course {
        self.course
    }

    /// What was counted since this was last asked.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Calls that have no outcome yet.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Sessions that are open.
    pub fn standing(&self) -> usize {
        self.standing.len() + self.leaving
    }

    /// The most sessions that were open at once since this was last asked.
    pub fn take_standing_max(&mut self) -> usize {
        let now = self.standing();
        std::mem::replace(&mut self.standing_max, now)
    }

    /// What sessions are called, if there are any.
    pub fn sessions(&self) -> Option<&'static str> {
        self.callers.sessions()
    }

    /// When the next device is meant to begin.
    fn next_start(&mut self) -> Option<Time> {
        if self.course != Course::Starting {
            return None;
        }
        let at = match &mut self.starts {
            Due::Open(times) => Time::ZERO + *times.peek()?,
            Due::Closed { at_a_time, left } if *left > 0 && self.under_way.len() < *at_a_time => Time::ZERO,
            // The next one begins when another has its outcome.
            Due::Closed { left: 1.., .. } => return Some(Time::MAX),
            Due::Closed { .. } => return None,
        };
        (at < self.ends_at).then_some(at)
    }

    fn take_start(&mut self, now: Time) -> Time {
        match &mut self.starts {
            Due::Open(times) => times.next().map_or(now, |at| Time::ZERO + at),
            Due::Closed { left, .. } => {
                *left = left.saturating_sub(1);
                now
            }
        }
    }

    fn begin_due(&mut self, cx: &mut Ctx<'_>) {
        if cx.now < self.no_start_before {
            return;
        }
        for _ in 0..BATCH {
            if self.next_start().is_none_or(|at| at > cx.now) {
                return;
            }
            let intended = self.take_start(cx.now);
            self.begin(intended, cx);
        }
        self.no_start_before = cx.now + BREATH;
    }

    fn begin(&mut self, intended: Time, cx: &mut Ctx<'_>) {
        self.tally.counts.offered += 1;
        self.tally.lateness.record(cx.now.since(intended));
        let Some(device) = self.free.pop_front() else {
            *self.tally.counts.failed.entry(NO_DEVICE).or_default() += 1;
            return;
        };
        self.tally.counts.begun += 1;
        let call = Call(self.next);
        self.next += 1;
        // A start that was late has no less time than others.
        let due = cx.now + self.within;
        self.calls.insert(call.0, Held { device, intended, due: Some(due) });
        self.agenda.put(due, call);
        self.under_way.insert(call);
        self.callers.handle(Input::Command(Command::Begin(call, DeviceIndex(device))), cx);
    }

    fn on_due(&mut self, call: Call, cx: &mut Ctx<'_>) {
        if let Some(held) = self.calls.get_mut(&call.0) {
            held.due = None;
        }
        if self.under_way.contains(&call) {
            let why = self.callers.hearsay(call).unwrap_or(TOO_LATE);
            self.fail(call, why, cx);
        } else {
            self.leave(call, cx);
        }
    }

    /// Gives a call up.
    fn fail(&mut self, call: Call, why: &'static str, cx: &mut Ctx<'_>) {
        self.under_way.remove(&call);
        *self.tally.counts.failed.entry(why).or_default() += 1;
        self.leaving += 1;
        self.callers.handle(Input::Command(Command::Leave(call)), cx);
    }

    fn leave(&mut self, call: Call, cx: &mut Ctx<'_>) {
        if self.standing.remove(&call) {
            self.cross_out(call);
            self.leaving += 1;
            self.callers.handle(Input::Command(Command::Leave(call)), cx);
        }
    }

    fn cross_out(&mut self, call: Call) {
        if let Some(held) = self.calls.get_mut(&call.0)
            && let Some(due) = held.due.take()
        {
            self.agenda.strike(due, call);
        }
    }

    fn on_event(&mut self, event: &Event, cx: &mut Ctx<'_>) {
        match *event {
            Event::Usable(call) => self.usable(call, cx),
            Event::Failed(call, why) => {
                if self.under_way.remove(&call) {
                    *self.tally.counts.failed.entry(why).or_default() += 1;
                } else {
                    self.leaving = self.leaving.saturating_sub(1);
                }
                self.forget(call);
            }
            Event::Ended(call, why) => self.ended(call, why),
        }
    }

    fn usable(&mut self, call: Call, cx: &mut Ctx<'_>) {
        // One that was given up may still have come through: it is closed already.
        if !self.under_way.remove(&call) {
            return;
        }
        self.cross_out(call);
        let Some(held) = self.calls.get_mut(&call.0) else { return };
        self.tally.counts.usable += 1;
        self.tally.delays.record(cx.now.since(held.intended));
        if self.callers.sessions().is_none() {
            return self.forget(call);
        }
        self.standing.insert(call);
        self.standing_max = self.standing_max.max(self.standing.len() + self.leaving);
        if let Stay::For(draw) = &mut self.stay {
            let due = cx.now + draw();
            held.due = Some(due);
            self.agenda.put(due, call);
        }
    }

    fn ended(&mut self, call: Call, why: Option<&'static str>) {
        if self.under_way.remove(&call) {
            *self.tally.counts.failed.entry(why.unwrap_or(STOPPED)).or_default() += 1;
        } else if self.standing.remove(&call) {
            *self.tally.counts.lost.entry(why.unwrap_or(STOPPED)).or_default() += 1;
        } else {
            self.leaving = self.leaving.saturating_sub(1);
        }
        self.forget(call);
    }

    fn forget(&mut self, call: Call) {
        self.cross_out(call);
        if let Some(held) = self.calls.remove(&call.0) {
            self.free.push_back(held.device);
        }
    }

    /// Passes on what the callers say, and goes on in the course of the load.
    fn settle(&mut self, cx: &mut Ctx<'_>, out: &mut VecDeque<Output<()>>) {
        while let Some(output) = self.callers.poll() {
            match output.event() {
                Ok(event) => self.on_event(&event, cx),
                Err(output) => out.push_back(output),
            }
        }
    }

    fn go_on(&mut self, cx: &mut Ctx<'_>) {
        if self.course == Course::Starting && (self.next_start().is_none() || cx.now >= self.ends_at) {
            self.course = Course::Finishing;
        }
        if self.course == Course::Finishing && self.under_way.is_empty() {
            self.course = Course::Closing;
            self.closed_by = cx.now + self.farewell;
        }
        if self.course == Course::Closing {
            self.close_some(cx);
            if self.standing.is_empty() && self.leaving == 0 || cx.now >= self.closed_by {
                self.course = Course::Over;
            }
        }
    }

    fn close_some(&mut self, cx: &mut Ctx<'_>) {
        while self.leaving < LEAVING_MAX
            && let Some(&call) = self.standing.first()
        {
            self.leave(call, cx);
        }
    }

    fn stop(&mut self, cx: &mut Ctx<'_>) {
        if self.course < Course::Closing {
            self.course = Course::Finishing;
            for call in std::mem::take(&mut self.under_way) {
                self.cross_out(call);
                self.fail(call, STOPPED, cx);
            }
        }
    }
}

/// A [`Caller`] with what it has to send.
pub(crate) struct Calling {
    pub(crate) caller: Caller,
    out: VecDeque<Output<()>>,
    start_at: Option<Time>,
}

impl Calling {
    pub(crate) fn new(caller: Caller) -> Self {
        let mut calling = Self { caller, out: VecDeque::new(), start_at: None };
        calling.plan();
        calling
    }

    fn plan(&mut self) {
        self.start_at = self.caller.next_start().map(|at| at.max(self.caller.no_start_before));
    }
}

impl Engine for Calling {
    type Command = Order;
    type Event = ();

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        let caller = &mut self.caller;
        match input.command() {
            Ok(Order::Stop) => caller.stop(cx),
            Err(Input::Tick) => {
                if caller.callers.deadline().is_some_and(|due| due.at <= cx.now) {
                    caller.callers.handle(Input::Tick, cx);
                }
                while let Some(call) = caller.agenda.due(cx.now) {
                    caller.on_due(call, cx);
                }
                caller.begin_due(cx);
            }
            Err(input) => caller.callers.handle(input, cx),
        }
        let before = caller.course;
        // What ends at once may be what the next course waits for.
        for _ in 0..2 {
            caller.settle(cx, &mut self.out);
            caller.go_on(cx);
        }
        caller.settle(cx, &mut self.out);
        if caller.course != before && caller.course == Course::Over {
            self.out.push_back(Output::Event(()));
        }
        self.plan();
    }

    fn poll(&mut self) -> Option<Output<()>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let caller = &self.caller;
        let at = |at, why| Deadline { at, why };
        // Whom nothing is meant for is over at once.
        let start = if caller.course == Course::Starting { self.start_at.or(Some(Time::ZERO)) } else { None };
        let start = start.map(|start| at(start.min(caller.ends_at), "next start"));
        let due = caller.agenda.next().map(|due| at(due, "a call is to leave"));
        let closed = (caller.course == Course::Closing).then(|| at(caller.closed_by, "farewell"));
        [caller.callers.deadline(), start, due, closed].into_iter().flatten().min()
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("course", &self.course)
            .field("under_way", &self.under_way.len())
            .field("standing", &self.standing.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Calling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.caller.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keytoll_crypto::Null;
    use keytoll_engine::trace::NoTrace;
    use std::sync::{Arc, Mutex};

    /// What was asked of the callers, and what becomes of each call: `None` is silence.
    #[derive(Debug, Default)]
    struct Script {
        asked: Vec<(u64, Command)>,
        answers: Vec<Option<Result<(), &'static str>>>,
    }

    #[derive(Debug)]
    struct Fake {
        script: Arc<Mutex<Script>>,
        has_sessions: bool,
        out: VecDeque<Output<Event>>,
    }

    impl Callers for Fake {
        fn sessions(&self) -> Option<&'static str> {
            self.has_sessions.then_some("sessions")
        }
    }

    impl Engine for Fake {
        type Command = Command;
        type Event = Event;

        fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
            let Input::Command(command) = input else { return };
            let mut script = self.script.lock().unwrap();
            script.asked.push((cx.now.as_nanos() / 1_000_000, command));
            let event = match command {
                Command::Leave(call) => Some(Event::Ended(call, None)),
                Command::Begin(call, _) => {
                    match script.answers.get(call.0 as usize).copied().unwrap_or(Some(Ok(()))) {
                        Some(Ok(())) => Some(Event::Usable(call)),
                        Some(Err(why)) => Some(Event::Failed(call, why)),
                        None => None,
                    }
                }
            };
            self.out.extend(event.map(Output::Event));
        }

        fn poll(&mut self) -> Option<Output<Event>> {
            self.out.pop_front()
        }

        fn deadline(&self) -> Option<Deadline> {
            None
        }
    }

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn visits(starts: Starts, devices: u32) -> Visits {
        Visits {
            starts,
            devices: (0..devices).collect(),
            stay: Stay::Always,
            within: ms(100),
            length: Duration::from_secs(60),
            farewell: ms(50),
        }
    }

    fn every_10_ms(count: u64) -> Starts {
        Starts::Open(Box::new((0..count).map(|n| ms(10 * n))))
    }

    struct Bench {
        calling: Calling,
        script: Arc<Mutex<Script>>,
        now: Time,
    }

    impl Bench {
        fn new(visits: Visits, has_sessions: bool, answers: &[Option<Result<(), &'static str>>]) -> Self {
            let script = Arc::new(Mutex::new(Script { asked: Vec::new(), answers: answers.to_vec() }));
            let fake = Fake { script: Arc::clone(&script), has_sessions, out: VecDeque::new() };
            Self { calling: Calling::new(Caller::new(Box::new(fake), visits)), script, now: Time::ZERO }
        }

        /// Runs until nothing is due before this time.
        fn until(&mut self, end: Duration) {
            while let Some(due) = self.calling.deadline().filter(|due| due.at <= Time::ZERO + end) {
                self.at(due.at.max(self.now), Input::Tick);
                if self.calling.caller.course() == Course::Over {
                    return;
                }
            }
        }

        fn at(&mut self, now: Time, input: Input<'_, Order>) {
            self.now = now;
            self.calling.handle(input, &mut Ctx { now, crypto: &mut Null, trace: &mut NoTrace });
            while self.calling.poll().is_some() {}
        }

        /// When devices began, in milliseconds.
        fn begun(&self) -> Vec<u64> {
            let script = self.script.lock().unwrap();
            let is_begin = |(_, command): &&(u64, Command)| matches!(command, Command::Begin(..));
            script.asked.iter().filter(is_begin).map(|(at, _)| *at).collect()
        }
    }

    #[test]
    fn starts_follow_the_schedule_whatever_becomes_of_those_before() {
        let silence = [None; 5];
        let mut bench = Bench::new(visits(every_10_ms(5), 5), false, &silence);
        bench.until(ms(1000));
        assert_eq!(bench.begun(), [0, 10, 20, 30, 40]);
        let tally = bench.calling.caller.take_tally();
        assert_eq!((tally.counts.offered, tally.counts.begun, tally.counts.usable), (5, 5, 0));
        assert_eq!(tally.counts.failed, [(TOO_LATE, 5)].into());
        assert_eq!(bench.calling.caller.course(), Course::Over);
    }

    #[test]
    fn a_delay_counts_from_the_intended_start() {
        let mut bench = Bench::new(visits(every_10_ms(1), 1), false, &[]);
        bench.at(Time::ZERO + ms(30), Input::Tick);
        let tally = bench.calling.caller.take_tally();
        assert_eq!(tally.delays.quantile(1.0).map(|delay| delay.as_millis()), Some(30));
        assert_eq!(tally.lateness.quantile(1.0).map(|late| late.as_millis()), Some(30));
    }

    #[test]
    fn late_starts_leave_time_for_what_has_arrived() {
        let mut bench = Bench::new(visits(every_10_ms(20), 20), false, &[]);
        bench.at(Time::ZERO + ms(500), Input::Tick);
        assert_eq!(bench.begun().len(), BATCH);
        assert_eq!(bench.calling.deadline().map(|due| due.at), Some(Time::ZERO + ms(500) + BREATH));
        bench.until(ms(600));
        assert_eq!(bench.begun().len(), 20);
    }

    #[test]
    fn an_identity_is_used_by_one_call_at_a_time() {
        let mut bench = Bench::new(visits(every_10_ms(3), 2), true, &[]);
        bench.until(ms(20));
        let tally = bench.calling.caller.take_tally();
        assert_eq!((tally.counts.usable, tally.counts.failed), (2, [(NO_DEVICE, 1)].into()));
        // Without sessions it is free at once.
        let mut bench = Bench::new(visits(every_10_ms(3), 1), false, &[]);
        bench.until(ms(20));
        assert_eq!(bench.calling.caller.take_tally().counts.usable, 3);
    }

    #[test]
    fn devices_stay_as_long_as_they_are_to_and_leave_at_the_end() {
        let stay = Stay::For(Box::new(|| ms(15)));
        let mut bench = Bench::new(Visits { stay, ..visits(every_10_ms(4), 2) }, true, &[]);
        bench.until(ms(1000));
        let asked = bench.script.lock().unwrap().asked.clone();
        let left: Vec<_> =
            asked.iter().filter(|(_, it)| matches!(it, Command::Leave(_))).map(|(at, _)| *at).collect();
        // Two left after their time, the others when all had begun.
        assert_eq!(left, [15, 25, 30, 30]);
        assert_eq!(bench.calling.caller.course(), Course::Over);
        assert_eq!(bench.calling.caller.take_tally().counts.lost, [].into());
    }

    #[test]
    fn a_closed_loop_has_so_many_at_a_time_and_so_many_in_all() {
        let starts = Starts::Closed { at_a_time: 2, total: 5 };
        let mut bench = Bench::new(visits(starts, 5), false, &[None, None]);
        bench.until(ms(99));
        assert_eq!(bench.begun(), [0, 0]);
        bench.until(ms(1000));
        assert_eq!(bench.begun(), [0, 0, 100, 100, 100]);
        let counts = bench.calling.caller.take_tally().counts;
        assert_eq!((counts.usable, counts.failed_sum()), (3, 2));
    }

    #[test]
    fn stopping_gives_up_what_is_under_way_and_closes_what_is_open() {
        let mut bench = Bench::new(visits(every_10_ms(100), 100), true, &[Some(Ok(())), None]);
        bench.until(ms(15));
        bench.at(Time::ZERO + ms(16), Input::Command(Order::Stop));
        assert_eq!(bench.calling.caller.course(), Course::Over);
        let counts = bench.calling.caller.take_tally().counts;
        assert_eq!((counts.usable, counts.failed), (1, [(STOPPED, 1)].into()));
        assert_eq!((bench.begun().len(), bench.calling.caller.standing()), (2, 0));
    }

    #[test]
    fn a_worker_without_a_share_is_over_at_once() {
        for starts in [every_10_ms(0), Starts::Closed { at_a_time: 1, total: 0 }] {
            let mut bench = Bench::new(visits(starts, 0), true, &[]);
            bench.until(ms(1));
            assert_eq!(bench.calling.caller.course(), Course::Over);
        }
    }

    #[test]
    fn nobody_begins_after_the_end() {
        let mut bench = Bench::new(Visits { length: ms(25), ..visits(every_10_ms(100), 100) }, false, &[]);
        bench.until(ms(1000));
        assert_eq!(bench.begun(), [0, 10, 20]);
        assert_eq!(bench.calling.caller.course(), Course::Over);
    }
}
