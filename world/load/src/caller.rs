//! When devices begin, give up and leave: an engine around the callers of a protocol. It knows the schedule and no protocol.
//!
//! ```text
//!   Starting --schedule at its end, or Order::Stop--> Finishing --nothing under way--> Holding --the end--> Closing
//!                                                                                 Closing --nothing open--> Over
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use keytoll_engine::map::FastMap;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_hosts::callers::{Call, Callers, Command, DeviceIndex, Event};

use crate::agenda::Agenda;
use crate::starts::{Due, Starts};
use crate::tally::Tally;

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
    /// The end, from the beginning on: none begins later, and until then sessions are held. Without it the load ends when the last
    /// device has its outcome.
    pub length: Option<Duration>,
    /// How long sessions may take to close in the end.
    pub farewell: Duration,
}

impl Visits {
    /// How long they are meant to be.
    pub(crate) fn planned(&self) -> Option<Duration> {
        self.length.or(match self.starts {
            Starts::Open { span, .. } => Some(span),
            Starts::Closed { .. } => None,
        })
    }
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
    /// Sessions are held until the end.
    Holding,
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
    /// The end, if there is one and nobody stopped it.
    ends_at: Option<Time>,
    stopped_at: Time,
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
    /// The callers have refused a start; a closed loop makes none until then.
    refused_until: Time,
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

/// A device took longer than it may.
pub const TOO_LATE: &str = "no outcome in time";
/// More devices are to begin at once than there are identities.
pub const NO_DEVICE: &str = "every identity is in use";
/// It was meant to begin before the end, and the generator had not come to it.
const NOT_BEGUN: &str = "not begun by the end";
/// It was under way, or was meant to be, when the load was stopped.
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
            starts: Due::new(visits.starts, visits.length),
            free: visits.devices.into(),
            stay: visits.stay,
            within: visits.within,
            ends_at: visits.length.map(|length| Time::ZERO + length),
            stopped_at: Time::MAX,
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
            refused_until: Time::ZERO,
            tally: Tally::default(),
        }
    }

    /// How far it is.
    pub const fn course(&self) -> Course {
        self.course
    }

    /// What was counted since this was last asked; of the schedule, what it wanted before this time, or all if the load is over.
    pub fn take_tally(&mut self, until: Time) -> Tally {
        self.take_tally_of(if self.course == Course::Over { Time::MAX } else { until })
    }

    /// What was counted since this was last asked; of the schedule, what it wanted before this time.
    pub(crate) fn take_tally_of(&mut self, until: Time) -> Tally {
        self.tally.counts.offered += self.starts.count_until(until);
        if let Some(span) = self.starts.span() {
            self.tally.asked_span = until.min(self.stopped_at).since(Time::ZERO).min(span);
        }
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
        let at = self.starts.next(self.under_way.len())?;
        self.ends_at.is_none_or(|end| at < end || at == Time::MAX).then_some(at)
    }

    fn begin_due(&mut self, cx: &mut Ctx<'_>) {
        if cx.now < self.pause_ends() {
            return;
        }
        for _ in 0..BATCH {
            if self.next_start().is_none_or(|at| at > cx.now) {
                return;
            }
            let intended = self.starts.take(cx.now);
            self.begin(intended, cx);
        }
        self.no_start_before = cx.now + BREATH;
    }

    /// Before this time no start is made, whatever is due.
    fn pause_ends(&self) -> Time {
        self.no_start_before.max(self.refused_until)
    }

    fn begin(&mut self, intended: Time, cx: &mut Ctx<'_>) {
        // A closed loop wants one when it can be.
        self.tally.counts.offered += u64::from(self.starts.span().is_none());
        self.tally.lateness.record(cx.now.since(intended));
        let Some(device) = self.free.pop_front() else { return self.count_failed(NO_DEVICE, 1, cx.now) };
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

    fn count_failed(&mut self, why: &'static str, count: u64, now: Time) {
        if count > 0 {
            *self.tally.counts.failed.entry(why).or_default() += count;
            self.has_outcome(now);
        }
    }

    /// A closed loop is as long as outcomes take. Each makes room for another start.
    fn has_outcome(&mut self, now: Time) {
        self.refused_until = Time::ZERO;
        if self.starts.span().is_none() {
            self.tally.asked_span = now.since(Time::ZERO);
        }
    }

    /// Gives a call up.
    fn fail(&mut self, call: Call, why: &'static str, cx: &mut Ctx<'_>) {
        self.under_way.remove(&call);
        self.count_failed(why, 1, cx.now);
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
                    self.count_failed(why, 1, cx.now);
                } else {
                    self.leaving = self.leaving.saturating_sub(1);
                }
                self.forget(call);
            }
            Event::Refused(call, why, until) => self.refused(call, why, until, cx.now),
            Event::Ended(call, why) => self.ended(call, why, cx.now),
        }
    }

    /// Nothing was sent. A schedule goes on; a closed loop makes the start when it can be made.
    fn refused(&mut self, call: Call, why: &'static str, until: Time, now: Time) {
        if self.under_way.remove(&call) {
            *self.tally.counts.refused.entry(why).or_default() += 1;
            if self.course == Course::Starting && self.starts.give_back() {
                self.tally.counts.offered -= 1;
                self.tally.counts.begun -= 1;
                self.refused_until = until;
            } else {
                self.count_failed(why, 1, now);
            }
        }
        self.forget(call);
    }

    fn usable(&mut self, call: Call, cx: &mut Ctx<'_>) {
        // One that was given up may still have come through: it is closed already.
        if !self.under_way.remove(&call) {
            return;
        }
        self.cross_out(call);
        self.tally.counts.usable += 1;
        self.tally.usable_span = cx.now.since(Time::ZERO);
        self.has_outcome(cx.now);
        let Some(held) = self.calls.get_mut(&call.0) else { return };
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

    fn ended(&mut self, call: Call, why: Option<&'static str>, now: Time) {
        if self.under_way.remove(&call) {
            self.count_failed(why.unwrap_or(STOPPED), 1, now);
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
        let is_at_end = self.ends_at.is_some_and(|end| cx.now >= end);
        if self.course == Course::Starting && (self.next_start().is_none() || is_at_end) {
            self.begin_no_more(NOT_BEGUN, cx.now);
        }
        if self.course == Course::Finishing && self.under_way.is_empty() {
            self.course = Course::Holding;
        }
        if self.course == Course::Holding && (is_at_end || self.ends_at.is_none() || self.standing.is_empty())
        {
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

    /// Those that were meant to begin and have not are failures, too.
    fn begin_no_more(&mut self, why: &'static str, now: Time) {
        let count = self.starts.give_up(now);
        self.count_failed(why, count, now);
        self.course = Course::Finishing;
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
            self.begin_no_more(STOPPED, cx.now);
            (self.ends_at, self.stopped_at) = (None, cx.now);
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
        self.start_at = self.caller.next_start().map(|at| at.max(self.caller.pause_ends()));
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
                    // Before calls are given up: some may have their outcome.
                    caller.settle(cx, &mut self.out);
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
        let start = start.map(|start| at(start.min(caller.ends_at.unwrap_or(Time::MAX)), "next start"));
        let held = caller.ends_at.filter(|_| caller.course == Course::Holding).map(|end| at(end, "the end"));
        let due = caller.agenda.next().map(|due| at(due, "a call is to leave"));
        let closed = (caller.course == Course::Closing).then(|| at(caller.closed_by, "farewell"));
        [caller.callers.deadline(), start, due, held, closed].into_iter().flatten().min()
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
mod tests;
