//! Drives one engine: hands it what arrives, what is commanded and the ticks it asked for; sends what it says.

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_engine::trace::{Fact, Trace};
use keytoll_engine::{Crypto, Ctx, Datagram, Engine, Input, Output, Time, Transport};

use crate::{Clock, Sockets};

/// An engine on real sockets.
#[derive(Debug)]
pub struct Driver<E: Engine, C> {
    engine: E,
    crypto: C,
    sockets: Sockets,
    clock: Clock,
    events: VecDeque<E::Event>,
}

impl<E: Engine, C: Crypto> Driver<E, C> {
    /// An engine, its crypto, and the sockets it may use; time begins now.
    pub fn new(engine: E, crypto: C, sockets: Sockets) -> Self {
        Self { engine, crypto, sockets, clock: Clock::start(), events: VecDeque::new() }
    }

    /// The engine.
    pub const fn engine(&self) -> &E {
        &self.engine
    }

    /// Its crypto, for whoever reads the meter.
    pub const fn crypto_mut(&mut self) -> &mut C {
        &mut self.crypto
    }

    /// Time as the engine sees it.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Asks the engine for something.
    pub fn command(&mut self, command: E::Command, trace: &mut dyn Trace) {
        self.handle(Input::Command(command), trace);
    }

    /// Drives the engine until it has an event, or for `limit`.
    pub fn next_event(&mut self, limit: Duration, trace: &mut dyn Trace) -> Option<E::Event> {
        let end = self.now() + limit;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if !self.step(end, trace) {
                return None;
            }
        }
    }

    /// Waits for one input and handles it; false when `end` came first. A due tick goes before what has arrived, so a
    /// flood cannot hold up the timers; what has arrived goes before `end`, so a limit of zero still makes progress.
    fn step(&mut self, end: Time, trace: &mut dyn Trace) -> bool {
        let now = self.now();
        let due = self.engine.deadline().map_or(Time::MAX, |deadline| deadline.at);
        if due <= now {
            self.handle(Input::Tick, trace);
            return now < end;
        }
        match self.sockets.receive(due.min(end).since(now)) {
            Some(arrival) => {
                let (from, to) = (arrival.from, arrival.to);
                self.handle(Input::Packet { from, to, bytes: &arrival.bytes }, trace);
                true
            }
            None => self.now() < end,
        }
    }

    fn handle(&mut self, input: Input<'_, E::Command>, trace: &mut dyn Trace) {
        let mut cx = Ctx { now: self.clock.now(), crypto: &mut self.crypto, trace };
        self.engine.handle(input, &mut cx);
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Packet(datagram) => send(&self.sockets, &datagram, cx.trace),
                Output::Event(event) => self.events.push_back(event),
            }
        }
    }
}

/// What cannot be sent is lost, as it could have been on the way; the trace says so.
fn send(sockets: &Sockets, datagram: &Datagram, trace: &mut dyn Trace) {
    let why = match datagram.transport {
        Transport::Udp => match sockets.send(datagram) {
            Ok(()) => return,
            Err(why) => format!("live: not sent to {}: {why}", datagram.to).into(),
        },
        Transport::Tcp => "live: no TCP here".into(),
        Transport::Ip => "live: sending directly on IP needs a raw socket; use UDP encapsulation".into(),
    };
    trace.record(Fact::Discarded { protocol: datagram.protocol, why });
}
