//! What is asked of callers, when.

use super::*;
use keytoll_crypto::Null;
use keytoll_engine::trace::NoTrace;
use std::sync::{Arc, Mutex};

/// What was asked of the callers, and what becomes of each call: `None` is silence.
#[derive(Debug, Default)]
struct Script {
    asked: Vec<(u64, Command)>,
    answers: Vec<Option<Result<(), &'static str>>>,
    /// Nothing can begin before this time.
    refuses_until: Time,
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
            Command::Begin(call, _) if cx.now < script.refuses_until => {
                Some(Event::Refused(call, "busy", script.refuses_until))
            }
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
        length: None,
        farewell: ms(50),
    }
}

fn every_10_ms(count: u64) -> Starts {
    Starts::Open { times: Box::new((0..count).map(|n| ms(10 * n))), span: ms(10 * count) }
}

struct Bench {
    calling: Calling,
    script: Arc<Mutex<Script>>,
    now: Time,
}

impl Bench {
    fn new(visits: Visits, has_sessions: bool, answers: &[Option<Result<(), &'static str>>]) -> Self {
        let script = Arc::new(Mutex::new(Script { answers: answers.to_vec(), ..Script::default() }));
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

    fn tally(&mut self) -> Tally {
        self.calling.caller.take_tally(self.now + Duration::from_nanos(1))
    }

    /// When devices began, in milliseconds.
    fn begun(&self) -> Vec<u64> {
        self.asked(|command| matches!(command, Command::Begin(..)))
    }

    /// When devices were told to leave, in milliseconds.
    fn left(&self) -> Vec<u64> {
        self.asked(|command| matches!(command, Command::Leave(_)))
    }

    fn asked(&self, is_meant: fn(&Command) -> bool) -> Vec<u64> {
        let script = self.script.lock().unwrap();
        script.asked.iter().filter(|(_, command)| is_meant(command)).map(|(at, _)| *at).collect()
    }
}

#[test]
fn starts_follow_the_schedule_whatever_becomes_of_those_before() {
    let silence = [None; 5];
    let mut bench = Bench::new(visits(every_10_ms(5), 5), false, &silence);
    bench.until(ms(1000));
    assert_eq!(bench.begun(), [0, 10, 20, 30, 40]);
    let tally = bench.tally();
    assert_eq!((tally.counts.offered, tally.counts.begun, tally.counts.usable), (5, 5, 0));
    assert_eq!(tally.counts.failed, [(TOO_LATE, 5)].into());
    assert_eq!(bench.calling.caller.course(), Course::Over);
}

#[test]
fn a_delay_counts_from_the_intended_start() {
    let mut bench = Bench::new(visits(every_10_ms(1), 1), false, &[]);
    bench.at(Time::ZERO + ms(30), Input::Tick);
    let tally = bench.tally();
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
    let tally = bench.tally();
    assert_eq!((tally.counts.usable, tally.counts.failed), (2, [(NO_DEVICE, 1)].into()));
    // Without sessions it is free at once.
    let mut bench = Bench::new(visits(every_10_ms(3), 1), false, &[]);
    bench.until(ms(20));
    assert_eq!(bench.tally().counts.usable, 3);
}

#[test]
fn devices_stay_as_long_as_they_are_to_and_leave_at_the_end() {
    let stay = Stay::For(Box::new(|| ms(15)));
    let mut bench = Bench::new(Visits { stay, ..visits(every_10_ms(4), 2) }, true, &[]);
    bench.until(ms(1000));
    // Two left after their time, the others when all had begun.
    assert_eq!(bench.left(), [15, 25, 30, 30]);
    assert_eq!(bench.calling.caller.course(), Course::Over);
    assert_eq!(bench.tally().counts.lost, [].into());
}

#[test]
fn a_closed_loop_has_so_many_at_a_time_and_so_many_in_all() {
    let starts = Starts::Closed { at_a_time: 2, total: 5 };
    let mut bench = Bench::new(visits(starts, 5), false, &[None, None]);
    bench.until(ms(99));
    assert_eq!(bench.begun(), [0, 0]);
    bench.until(ms(1000));
    assert_eq!(bench.begun(), [0, 0, 100, 100, 100]);
    let counts = bench.tally().counts;
    assert_eq!((counts.usable, counts.failed_sum()), (3, 2));
}

#[test]
fn stopping_gives_up_what_is_under_way_and_closes_what_is_open() {
    let mut bench = Bench::new(visits(every_10_ms(100), 100), true, &[Some(Ok(())), None]);
    bench.until(ms(15));
    bench.at(Time::ZERO + ms(16), Input::Command(Order::Stop));
    assert_eq!(bench.calling.caller.course(), Course::Over);
    let counts = bench.tally().counts;
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
    let mut bench = Bench::new(Visits { length: Some(ms(25)), ..visits(every_10_ms(100), 100) }, false, &[]);
    bench.until(ms(1000));
    assert_eq!(bench.begun(), [0, 10, 20]);
    assert_eq!(bench.calling.caller.course(), Course::Over);
}

#[test]
fn what_a_schedule_wants_counts_whether_it_is_made_or_not() {
    let mut bench = Bench::new(visits(every_10_ms(20), 20), false, &[]);
    bench.at(Time::ZERO + ms(500), Input::Tick);
    let tally = bench.calling.caller.take_tally(Time::ZERO + ms(100));
    assert_eq!((tally.counts.offered, tally.counts.begun, tally.asked_span), (10, BATCH as u64, ms(100)));
    bench.until(ms(600));
    let tally = bench.tally();
    assert_eq!((tally.counts.offered, tally.counts.begun, tally.asked_span), (10, 12, ms(200)));
    assert_eq!(tally.usable_span, bench.now.since(Time::ZERO));
}

#[test]
fn starts_that_are_not_made_by_the_end_have_failed() {
    let mut bench = Bench::new(Visits { length: Some(ms(150)), ..visits(every_10_ms(20), 20) }, false, &[]);
    bench.at(Time::ZERO + ms(500), Input::Tick);
    let counts = bench.tally().counts;
    assert_eq!((counts.offered, counts.begun, counts.failed), (15, 8, [(NOT_BEGUN, 7)].into()));
    assert_eq!(bench.calling.caller.course(), Course::Over);
}

#[test]
fn sessions_are_held_until_the_end() {
    let closed = |stay, length, stop: Option<Duration>| {
        let mut bench = Bench::new(Visits { stay, length, ..visits(every_10_ms(3), 3) }, true, &[]);
        bench.until(stop.unwrap_or(ms(1000)));
        if let Some(stop) = stop {
            bench.at(Time::ZERO + stop, Input::Command(Order::Stop));
        }
        assert_eq!((bench.calling.caller.course(), bench.tally().counts.usable), (Course::Over, 3));
        bench.left()
    };
    let end = Some(ms(500));
    assert_eq!(closed(Stay::Always, None, None), [20, 20, 20]);
    assert_eq!(closed(Stay::Always, end, None), [500, 500, 500]);
    assert_eq!(closed(Stay::For(Box::new(|| ms(100))), end, None), [100, 110, 120]);
    assert_eq!(closed(Stay::For(Box::new(|| ms(490))), end, None), [490, 500, 500]);
    assert_eq!(closed(Stay::Always, end, Some(ms(300))), [300, 300, 300]);
}

#[test]
fn a_closed_loop_asks_until_its_last_outcome() {
    let starts = Starts::Closed { at_a_time: 1, total: 2 };
    let mut bench = Bench::new(visits(starts, 2), false, &[Some(Ok(())), None]);
    bench.until(ms(1000));
    let tally = bench.tally();
    assert_eq!((tally.counts.offered, tally.asked_span, tally.usable_span), (2, ms(100), ms(0)));
}

#[test]
fn a_closed_loop_makes_what_the_generator_refused_later() {
    let mut bench = Bench::new(visits(Starts::Closed { at_a_time: 2, total: 5 }, 5), false, &[]);
    bench.script.lock().unwrap().refuses_until = Time::ZERO + ms(40);
    bench.until(ms(1000));
    let begun = bench.begun();
    assert!(begun[..2] == [0, 0] && begun[2..].iter().all(|at| *at == 40), "{begun:?}");
    let counts = bench.tally().counts;
    assert_eq!((counts.offered, counts.begun, counts.usable, counts.failed_sum()), (5, 5, 5, 0));
    assert_eq!(counts.refused, [("busy", 2)].into());
    assert_eq!(bench.calling.caller.course(), Course::Over);
}

#[test]
fn on_a_schedule_what_the_generator_refused_has_failed_and_is_told_apart() {
    let mut bench = Bench::new(visits(every_10_ms(5), 5), false, &[]);
    bench.script.lock().unwrap().refuses_until = Time::ZERO + ms(15);
    bench.until(ms(1000));
    assert_eq!(bench.begun(), [0, 10, 20, 30, 40]);
    let counts = bench.tally().counts;
    assert_eq!((counts.offered, counts.begun, counts.usable), (5, 5, 3));
    assert_eq!((&counts.failed, &counts.refused), (&[("busy", 2)].into(), &[("busy", 2)].into()));
}
