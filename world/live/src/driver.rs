//! Drives one engine: passes it received datagrams, commands and ticks; sends its output.

use std::collections::VecDeque;
use std::time::Duration;
use std::{fmt, io};

use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::{Fact, Protocol, Trace};
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_native::clock::{thread_cpu_ns, unix_ns};
use keytoll_native::tun::Received;
use keytoll_net::Addr;

use crate::emulator::{Emulator, Way};
use crate::guard::{Guard, Panics};
use crate::segments;
use crate::streams::{Around, Guarded, Heard, News};
use crate::wakes::{Awake, Spent, Watch};
use crate::{Clock, NoTap, Seen, Sockets, Tap, Waker, Wakes};

/// How long a crypto has computed until now, in nanoseconds.
type CryptoNs<C> = fn(&C) -> u64;

/// An engine on real sockets.
pub struct Driver<E: Engine, C> {
    engine: E,
    crypto: C,
    sockets: Sockets,
    clock: Clock,
    tap: Box<dyn Tap>,
    emulator: Emulator,
    events: VecDeque<E::Event>,
    /// Output of the engine that is not sent yet.
    outbox: Vec<Datagram>,
    /// A packet of this machine, possibly a large one.
    inner: Vec<u8>,
    /// Streams that the engine has just closed, each from our address to the peer's.
    closing: Vec<(Addr, Addr)>,
    /// Packets for this machine.
    arrived: Vec<Vec<u8>>,
    /// Why the interface is gone, until that is queried.
    interface_lost: Option<io::Error>,
    guard: Guard,
    /// What wakes take, if that is to be measured, and how long the crypto has computed until now, in nanoseconds.
    watch: Option<(Box<Watch>, CryptoNs<C>)>,
    /// The earliest next tick: the previous one was not handled completely, and may still be due.
    no_tick_before: Time,
}

/// Packets of this machine that are encrypted before the sockets are checked again.
const INNER_BATCH: usize = 64;
/// How often packets of a flood are read after the time limit.
const TURNS_MAX: usize = 32;
/// Packets for this machine that are decrypted before they are delivered together.
const ARRIVED_BATCH: usize = 128;
/// How long an engine whose tick panicked waits for the next one.
const TICK_PAUSE: Duration = Duration::from_secs(1);
/// No IP packet is longer; and what the kernel puts in front of it.
const INNER_BYTES_MAX: usize = 65_535 + 64;

impl<E: Engine + fmt::Debug, C> fmt::Debug for Driver<E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl<E: Engine, C: Crypto> Driver<E, C> {
    /// An engine, its crypto, and the sockets it may use; time begins now.
    pub fn new(engine: E, crypto: C, sockets: Sockets) -> Self {
        Self {
            engine,
            crypto,
            sockets,
            clock: Clock::start(),
            tap: Box::new(NoTap),
            emulator: Emulator::default(),
            events: VecDeque::new(),
            outbox: Vec::new(),
            inner: vec![0; INNER_BYTES_MAX],
            closing: Vec::new(),
            arrived: Vec::new(),
            interface_lost: None,
            guard: Guard::default(),
            watch: None,
            no_tick_before: Time::ZERO,
        }
    }

    /// Tells time by this clock instead. To be said before anything else: engines do not travel in time.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Lets somebody look at everything that passes the sockets.
    #[must_use]
    pub fn with_tap(self, tap: impl Tap + 'static) -> Self {
        Self { tap: Box::new(tap), ..self }
    }

    /// Puts links in front of the sockets. Taps see what passes the sockets, the trace what the links carry.
    #[must_use]
    pub fn with_emulator(self, emulator: Emulator) -> Self {
        Self { emulator, ..self }
    }

    /// Lets the engine live on when it panics over an input: for daemons, which anybody may send anything. Who drives it is to
    /// ask for [`Self::take_panics`].
    #[must_use]
    pub fn surviving_panics(mut self) -> Self {
        self.guard.raise();
        self
    }

    /// Measures what it takes to be woken by messages; `crypto_ns` tells how long the crypto has computed until now. It costs three
    /// readings of a clock for each message.
    #[must_use]
    pub fn measuring_wakes(self, crypto_ns: fn(&C) -> u64) -> Self {
        Self { watch: Some((Box::default(), crypto_ns)), ..self }
    }

    /// So much CPU time since the last call was for no message: the wakes do not have it.
    pub fn set_apart(&mut self, cpu_ns: u64) {
        self.watch.iter_mut().for_each(|(watch, _)| watch.apart(cpu_ns));
    }

    /// What it has taken until now, if it is measured.
    pub fn wakes(&self) -> Option<&Wakes> {
        self.watch.as_ref().map(|(watch, _)| watch.wakes())
    }

    /// How often the engine panicked since this was last asked, if it did, and is still there.
    pub const fn take_panics(&mut self) -> Option<Panics> {
        self.guard.take()
    }

    /// The engine.
    pub const fn engine(&self) -> &E {
        &self.engine
    }

    /// The engine, for whoever changes it between two events.
    pub const fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Its crypto, for whoever reads the meter.
    pub const fn crypto(&self) -> &C {
        &self.crypto
    }

    /// Its crypto, for whoever sets the meter.
    pub const fn crypto_mut(&mut self) -> &mut C {
        &mut self.crypto
    }

    /// Time as the engine sees it.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Why this machine's interface is gone, if it went since this was last asked: somebody deleted it.
    pub const fn take_interface_loss(&mut self) -> Option<io::Error> {
        self.interface_lost.take()
    }

    /// Makes [`Self::next_event`] return at once, from another thread or a signal handler.
    pub fn waker(&self) -> Waker {
        self.sockets.waker()
    }

    /// Asks the engine for something.
    pub fn command(&mut self, command: E::Command, trace: &mut dyn Trace) {
        self.handle(Input::Command(command), trace);
    }

    /// Drives the engine until it has an event, somebody wakes us, or for `limit`. A due tick goes before what has
    /// arrived, so a flood cannot hold up the timers; what has arrived goes before the limit, so that one of zero still
    /// makes progress, but only once, so that a flood cannot keep us beyond it.
    pub fn next_event(&mut self, limit: Duration, trace: &mut dyn Trace) -> Option<E::Event> {
        let end = self.now() + limit;
        let (mut looked, mut turns) = (false, 0);
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.sockets.woken() {
                return None;
            }
            let now = self.now();
            let due = self.engine.deadline().map_or(Time::MAX, |deadline| deadline.at);
            let due = due.max(self.no_tick_before);
            if due <= now {
                self.handle(Input::Tick, trace);
                if now >= end {
                    return self.events.pop_front();
                }
            } else if let Some((way, datagram)) = self.emulator.arrive(now) {
                self.end_of_the_way(way, datagram, trace);
            } else {
                let incoming = self.take_incoming(trace);
                let inner = self.take_inner(now, trace);
                turns += usize::from(incoming);
                if now >= end && (turns >= TURNS_MAX || looked && !incoming) {
                    return self.events.pop_front();
                }
                if !incoming {
                    looked = true;
                    let next = due.min(end).min(self.emulator.deadline());
                    self.wait(now, if inner { Duration::ZERO } else { next.since(now) }, trace);
                }
            }
        }
    }

    fn wait(&mut self, now: Time, limit: Duration, trace: &mut dyn Trace) {
        let Self { sockets, crypto, tap, guard, watch, clock, .. } = self;
        if let Some((watch, crypto_ns)) = watch {
            watch.sleeps(Spent { cpu_ns: thread_cpu_ns(), crypto_ns: crypto_ns(crypto) });
        }
        let begun = watch.is_some().then(|| clock.now());
        let cx = &mut Ctx { now, crypto, trace };
        sockets.wait(limit, &mut Guarded { around: Around { cx, tap: &mut **tap }, guard });
        if let (Some((watch, _)), Some(begun)) = (watch, begun) {
            let awake = Awake { unix_ns: unix_ns(), cpu_ns: thread_cpu_ns() };
            watch.waited(clock.now().since(begun), awake);
        }
    }

    /// Handles one thing of those that have come, or several packets for this machine; false if there is none.
    fn take_incoming(&mut self, trace: &mut dyn Trace) -> bool {
        let (mut taken, mut opened) = (false, 0);
        while opened < ARRIVED_BATCH && self.take_one(self.now(), trace) {
            taken = true;
            if self.arrived.len() == opened {
                break;
            }
            opened = self.arrived.len();
        }
        self.deliver(trace);
        taken
    }

    /// Handles one thing of those that have come; false if there is none.
    fn take_one(&mut self, now: Time, trace: &mut dyn Trace) -> bool {
        let mut cx = Ctx { now, crypto: &mut self.crypto, trace };
        let is_first = self.watch.as_ref().is_some_and(|(watch, _)| watch.is_first());
        let arrived = if is_first { self.sockets.arrived() } else { None };
        let around = Around { cx: &mut cx, tap: &mut *self.tap };
        let heard = self.sockets.next(&mut Guarded { around, guard: &mut self.guard });
        let Some(heard) = heard else { return false };
        match heard {
            Heard::Message(arrival) => {
                self.watch.iter_mut().for_each(|(watch, _)| watch.received(arrived));
                if !arrival.is_shown {
                    self.tap.received(&arrival.seen(now));
                }
                if let Some(protocol) = self.emulator.inbound(arrival.from) {
                    // Every datagram of a path takes the link, so none is given back.
                    self.emulator.pass(now, Way::In, arrival.datagram(protocol), cx.trace);
                    return true;
                }
                let packet = Input::Datagram { from: arrival.from, to: arrival.to, bytes: arrival.bytes };
                self.guard.run(&mut self.engine, packet, &mut cx);
            }
            Heard::News(News::Lost { peer, local }) => {
                let (peer, local) = (Addr::Tcp(peer), Addr::Tcp(local));
                self.guard.run(&mut self.engine, Input::Lost { peer, local }, &mut cx);
            }
            Heard::News(News::Secured { peer, local, names }) => {
                let (peer, local) = (Addr::Tcp(peer), Addr::Tcp(local));
                self.guard.run(&mut self.engine, Input::Secured { peer, local, names: &names }, &mut cx);
            }
            Heard::News(News::Discarded { protocol, why }) => {
                cx.trace.record(Fact::Discarded { protocol, why: why.into() });
            }
        }
        self.settle(trace);
        true
    }

    /// Takes a batch of packets of this machine; false if there is none. What they become leaves together.
    fn take_inner(&mut self, now: Time, trace: &mut dyn Trace) -> bool {
        let mut taken = 0;
        while taken < INNER_BATCH
            && let Some(received) = self.sockets.next_inner(&mut self.inner)
        {
            match received {
                Ok(received) => taken += self.forward(received, now, trace).max(1),
                Err(why) => {
                    self.interface_lost = Some(why);
                    break;
                }
            }
        }
        if taken > 0 {
            self.settle(trace);
            self.deliver(trace);
        }
        taken > 0
    }

    /// Gives the engine a packet of this machine, finished and as short as a network takes; how many it has become.
    fn forward(&mut self, received: Received, now: Time, trace: &mut dyn Trace) -> usize {
        let Self { engine, crypto, inner, guard, .. } = self;
        let mut cx = Ctx { now, crypto, trace };
        let count = segments::finish(&mut inner[received.packet], received.undone, |packet| {
            guard.run(engine, Input::Inner(packet), &mut cx);
        });
        if count == 0 {
            cx.discard(Protocol::IP, "live: no packet that could be finished");
        }
        count
    }

    fn handle(&mut self, input: Input<'_, E::Command>, trace: &mut dyn Trace) {
        let mut cx = Ctx { now: self.clock.now(), crypto: &mut self.crypto, trace };
        let is_tick = matches!(input, Input::Tick);
        let is_done = self.guard.run(&mut self.engine, input, &mut cx);
        if is_tick && !is_done {
            self.no_tick_before = cx.now + TICK_PAUSE;
        }
        self.settle(trace);
        self.deliver(trace);
    }

    /// A datagram has gone over its link.
    fn end_of_the_way(&mut self, way: Way, datagram: Datagram, trace: &mut dyn Trace) {
        match way {
            Way::Out => {
                self.outbox.push(datagram);
                self.send(self.now(), trace);
            }
            Way::In => {
                let Datagram { from, to, ref bytes, .. } = datagram;
                self.handle(Input::Datagram { from, to, bytes }, trace);
            }
        }
    }

    /// Takes what the engine says, and sends it.
    fn settle(&mut self, trace: &mut dyn Trace) {
        let now = self.clock.now();
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Datagram(datagram) => {
                    self.outbox.extend(self.emulator.pass(now, Way::Out, datagram, trace));
                }
                Output::Inner(packet) => self.arrived.push(packet),
                Output::Close { local, peer } => self.closing.push((local, peer)),
                Output::Event(event) => self.events.push_back(event),
            }
        }
        if !self.outbox.is_empty() {
            self.send(now, trace);
        }
        for (local, peer) in std::mem::take(&mut self.closing) {
            let Self { sockets, crypto, tap, guard, .. } = self;
            let cx = &mut Ctx { now, crypto, trace };
            let around = Around { cx, tap: &mut **tap };
            sockets.close(local, peer, &mut Guarded { around, guard });
        }
    }

    /// What the interface does not take is lost, as it could have been on the way; the trace says so.
    fn deliver(&mut self, trace: &mut dyn Trace) {
        if self.arrived.is_empty() {
            return;
        }
        self.sockets.deliver(&self.arrived, |why| {
            let why = format!("live: not delivered: {why}").into();
            trace.record(Fact::Discarded { protocol: Protocol::IP, why });
        });
        self.arrived.clear();
    }

    /// What cannot be sent is lost, as it could have been on the way; the trace says so.
    fn send(&mut self, at: Time, trace: &mut dyn Trace) {
        let Self { sockets, outbox, tap, crypto, guard, watch, .. } = self;
        watch.iter_mut().for_each(|(watch, _)| watch.sends(outbox.len(), thread_cpu_ns()));
        let cx = &mut Ctx { now: at, crypto, trace };
        let mut guarded = Guarded { around: Around { cx, tap: &mut **tap }, guard };
        sockets.send(outbox, &mut guarded, |datagram, sent, around| match sent {
            Ok(()) => around.tap.sent(&Seen::sent(at, datagram)),
            Err(why) => {
                let why = format!("live: not sent to {}: {why}", datagram.to).into();
                around.cx.trace.record(Fact::Discarded { protocol: datagram.protocol, why });
            }
        });
        outbox.clear();
    }
}
