//! The test bench: two endpoints, a queue of datagrams, faults, and the clock.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::{Crypto, Rng, Seed};
use keytoll_engine::trace::{Fact, Message};
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_ike::config::Connection;
use keytoll_ike::{ChildSa, Command, Config, Event, SaId};
use keytoll_ike::{Endpoint, Likely};
use keytoll_net::Addr;

use super::books::Books;
use super::ladder::Ladder;

/// One-way delay between the two, unless a test changes it.
pub(crate) const LATENCY: Duration = Duration::from_millis(10);

/// One of the two endpoints; `I` is usually the initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    I,
    R,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::I, Self::R];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::I => "i",
            Self::R => "r",
        }
    }

    pub(crate) const fn peer(self) -> Self {
        match self {
            Self::I => Self::R,
            Self::R => Self::I,
        }
    }

    pub(crate) fn ip(self) -> IpAddr {
        match self {
            Self::I => "192.0.2.10".parse().unwrap(),
            Self::R => "192.0.2.1".parse().unwrap(),
        }
    }
}

/// A fault of one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It never arrives.
    Lost,
    /// It arrives twice.
    Twice,
    /// One bit, counted from the end of the datagram, arrives flipped.
    Corrupt(usize),
    /// It arrives this much later.
    Late(Duration),
}

/// Faults by chance.
#[derive(Debug)]
pub(crate) struct Weather {
    pub(crate) rng: Rng,
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
    /// One bit somewhere is flipped.
    pub(crate) corruption: f64,
    /// Delays are uniform below this, so datagrams overtake each other.
    pub(crate) latency_max: Duration,
}

impl Weather {
    fn damage(&mut self, datagram: &Datagram) -> Option<Fault> {
        let bits = datagram.bytes.len() as u64 * 8;
        // Nothing is drawn if nothing is to be damaged.
        let is_damaged = self.corruption > 0.0 && self.rng.chance(self.corruption);
        is_damaged.then(|| Fault::Corrupt(usize::try_from(self.rng.below(bits)).unwrap()))
    }
}

/// An endpoint with its surroundings.
pub(crate) struct Seat {
    pub(crate) endpoint: Endpoint,
    pub(crate) crypto: Box<dyn Crypto>,
    pub(crate) events: Vec<Event>,
    pub(crate) books: Books,
}

/// A NAT between the two: `R` sees the source of `I` like this, port by port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rewriter {
    pub(crate) outside: IpAddr,
    /// Added to the port, so that it looks rewritten too.
    pub(crate) port_offset: u16,
}

/// Two endpoints and everything between them.
pub(crate) struct Bench {
    pub(crate) now: Time,
    pub(crate) i: Seat,
    pub(crate) r: Seat,
    pub(crate) ladder: Ladder,
    /// Every datagram in the order they were sent, with its sender.
    pub(crate) sent: Vec<(Side, Datagram)>,
    /// Whether to remember them.
    pub(crate) keep_sent: bool,
    sent_count: usize,
    pub(crate) nat: Option<Rewriter>,
    pub(crate) weather: Option<Weather>,
    /// Datagrams are sent, but not delivered any more: (from I, from R).
    pub(crate) cut: BTreeMap<Side, bool>,
    queue: BTreeMap<(Time, u64), (Side, Datagram)>,
    faults: BTreeMap<usize, Fault>,
    sequence: u64,
}

impl Seat {
    fn new(config: Config, crypto: Box<dyn Crypto>, name: &str, seed: u64) -> Self {
        let endpoint = Endpoint::new(config, &Seed::from(seed), name);
        Self { endpoint, crypto, events: Vec::new(), books: Books::default() }
    }
}

impl Bench {
    /// With real cryptography.
    pub(crate) fn new((i, r): (Config, Config)) -> Self {
        Self::with(i, r, || Box::new(Real::default()), 1)
    }

    /// With null cryptography.
    pub(crate) fn null((i, r): (Config, Config), seed: u64) -> Self {
        Self::with(i, r, || Box::new(Null), seed)
    }

    pub(crate) fn with(i: Config, r: Config, crypto: impl Fn() -> Box<dyn Crypto>, seed: u64) -> Self {
        Self {
            now: Time::ZERO,
            i: Seat::new(i, crypto(), "i", seed),
            r: Seat::new(r, crypto(), "r", seed),
            ladder: Ladder::default(),
            sent: Vec::new(),
            keep_sent: true,
            sent_count: 0,
            nat: None,
            weather: None,
            cut: BTreeMap::new(),
            queue: BTreeMap::new(),
            faults: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// The `n`th datagram from the start (counted from 1) has this fault.
    pub(crate) fn fault(mut self, n: usize, fault: Fault) -> Self {
        self.faults.insert(n, fault);
        self
    }

    pub(crate) fn lose(self, n: usize) -> Self {
        self.fault(n, Fault::Lost)
    }

    pub(crate) fn duplicate(self, n: usize) -> Self {
        self.fault(n, Fault::Twice)
    }

    pub(crate) fn corrupt(self, n: usize) -> Self {
        self.fault(n, Fault::Corrupt(3))
    }

    /// The next datagram has this fault.
    pub(crate) fn next_fault(&mut self, fault: Fault) {
        self.fault_ahead(1, fault);
    }

    /// The `n`th datagram from now (counted from 1) has this fault.
    pub(crate) fn fault_ahead(&mut self, n: usize, fault: Fault) {
        self.faults.insert(self.sent_count + n, fault);
    }

    /// A side loses its state and starts anew.
    pub(crate) fn restart(&mut self, side: Side, config: Config, seed: u64) {
        let name = format!("{}, restarted", side.name());
        let seat = self.seat(side);
        seat.endpoint = Endpoint::new(config, &Seed::from(seed), &name);
        seat.books = Books::default();
        seat.events.clear();
    }

    pub(crate) fn seat(&mut self, side: Side) -> &mut Seat {
        match side {
            Side::I => &mut self.i,
            Side::R => &mut self.r,
        }
    }

    /// Executes a command of one side's owner.
    pub(crate) fn command(&mut self, side: Side, command: Command) {
        self.feed(side, Input::Command(command));
    }

    /// `I` initiates its first connection.
    pub(crate) fn initiate(&mut self) {
        self.initiate_from(Side::I, 0);
    }

    pub(crate) fn initiate_from(&mut self, side: Side, connection: usize) {
        let (local, remote) = (side.ip(), self.address_of(side.peer()));
        self.command(side, Command::Initiate { connection, local, remote });
    }

    fn address_of(&self, side: Side) -> IpAddr {
        match (side, self.nat) {
            (Side::I, Some(nat)) => nat.outside,
            _ => side.ip(),
        }
    }

    /// Sets up the SA and waits until nothing moves.
    pub(crate) fn established(mut self) -> Self {
        self.initiate();
        self.settle();
        self
    }

    /// The only IKE SA of a side.
    pub(crate) fn sa(&mut self, side: Side) -> SaId {
        self.seat(side).books.only_sa()
    }

    /// The inbound SPI of the only child of a side.
    pub(crate) fn child(&mut self, side: Side) -> u32 {
        self.seat(side).books.only_child().pair.inbound_spi
    }

    /// `I` initiates its first connection with these terms.
    pub(crate) fn initiate_as(&mut self, terms: Arc<Connection>) -> SaId {
        let between = (Side::I.ip(), self.address_of(Side::R));
        let mut facts: Vec<Fact> = Vec::new();
        let seat = &mut self.i;
        let mut cx = Ctx { now: self.now, crypto: &mut *seat.crypto, trace: &mut facts };
        let sa = seat.endpoint.initiate_as(0, Some(terms), between, &mut cx);
        let outputs = std::iter::from_fn(|| seat.endpoint.poll()).collect();
        self.take(Side::I, facts, outputs);
        sa.expect("there is a first connection")
    }

    /// Passes one input to a side and sends the results.
    pub(crate) fn feed(&mut self, side: Side, input: Input<'_, Command>) {
        let (facts, outputs) = self.handle(side, input);
        self.take(side, facts, outputs);
    }

    fn take(&mut self, side: Side, facts: Vec<Fact>, outputs: Vec<Output<Event>>) {
        let mut sent: VecDeque<Message> = VecDeque::new();
        for fact in facts {
            match fact {
                Fact::Sent(message) => sent.push_back(message),
                Fact::Discarded { why, .. } => self.ladder.discarded(side, &why),
                _ => {}
            }
        }
        for output in outputs {
            match output {
                Output::Datagram(datagram) => {
                    let message = sent.pop_front().expect("every datagram leaves a fact");
                    self.send(side, datagram, &message);
                }
                Output::Event(event) => {
                    self.ladder.event(side, &event);
                    self.seat(side).books.note(&event);
                    self.seat(side).events.push(event);
                }
                Output::Inner(_) | Output::Close { .. } => unreachable!("IKE speaks datagrams"),
            }
        }
        assert!(sent.is_empty(), "every fact has its datagram");
    }

    /// Passes one input to a side and returns the results.
    pub(crate) fn handle(
        &mut self,
        side: Side,
        input: Input<'_, Command>,
    ) -> (Vec<Fact>, Vec<Output<Event>>) {
        let now = self.now;
        let seat = self.seat(side);
        let mut facts: Vec<Fact> = Vec::new();
        let mut cx = Ctx { now, crypto: &mut *seat.crypto, trace: &mut facts };
        seat.endpoint.handle(input, &mut cx);
        let outputs = std::iter::from_fn(|| seat.endpoint.poll()).collect();
        (facts, outputs)
    }

    fn send(&mut self, side: Side, datagram: Datagram, message: &Message) {
        self.sent_count += 1;
        if self.keep_sent {
            self.sent.push((side, datagram.clone()));
        }
        let fault = self.faults.get(&self.sent_count).copied();
        let lost = self.cut.get(&side) == Some(&true)
            || fault == Some(Fault::Lost)
            || self.weather.as_mut().is_some_and(|weather| weather.rng.chance(weather.loss));
        self.ladder.sent(side, message, fault, lost, self.now);
        if lost {
            return;
        }
        let fault = fault.or_else(|| self.weather.as_mut()?.damage(&datagram));
        let again = fault == Some(Fault::Twice)
            || self.weather.as_mut().is_some_and(|weather| weather.rng.chance(weather.duplication));
        if again {
            self.enqueue(side, datagram.clone(), fault);
        }
        self.enqueue(side, datagram, fault);
    }

    fn enqueue(&mut self, side: Side, mut datagram: Datagram, fault: Option<Fault>) {
        let mut arrives = self.now + self.latency();
        match fault {
            Some(Fault::Late(late)) => arrives += late,
            Some(Fault::Corrupt(bit)) => {
                let index = datagram.bytes.len() - 1 - bit / 8;
                datagram.bytes[index] ^= 1 << (bit % 8);
            }
            Some(Fault::Lost | Fault::Twice) | None => {}
        }
        self.sequence += 1;
        self.queue.insert((arrives, self.sequence), (side.peer(), self.translated(side, datagram)));
    }

    fn latency(&mut self) -> Duration {
        match &mut self.weather {
            Some(weather) => {
                let nanos = u64::try_from(weather.latency_max.as_nanos()).unwrap();
                Duration::from_nanos(weather.rng.below(nanos))
            }
            None => LATENCY,
        }
    }

    /// A NAT rewrites the source on the way out and the destination on the way in.
    fn translated(&self, from: Side, mut datagram: Datagram) -> Datagram {
        if let Some(nat) = self.nat {
            match from {
                Side::I => {
                    datagram.from = Addr::udp(nat.outside, datagram.from.port().unwrap() + nat.port_offset);
                }
                Side::R => {
                    datagram.to = Addr::udp(Side::I.ip(), datagram.to.port().unwrap() - nat.port_offset);
                }
            }
        }
        datagram
    }

    /// The earliest deadline of the two.
    fn alarm(&self) -> Option<(Time, Side)> {
        let of = |seat: &Seat, side| seat.endpoint.deadline().map(|deadline| (deadline.at, side));
        [of(&self.i, Side::I), of(&self.r, Side::R)].into_iter().flatten().min()
    }

    /// Executes the next event if it is before `until`: a datagram arrives, or a deadline passes.
    pub(crate) fn step(&mut self, until: Time) -> bool {
        let arrival = self.queue.keys().next().map(|&(at, _)| at);
        let alarm = self.alarm();
        match (arrival, alarm) {
            (Some(at), alarm) if alarm.is_none_or(|(due, _)| at <= due) && at <= until => {
                let ((at, _), (side, datagram)) = self.queue.pop_first().unwrap();
                self.now = self.now.max(at);
                self.deliver(side, &datagram);
                true
            }
            (_, Some((due, side))) if due <= until => {
                self.now = self.now.max(due);
                self.feed(side, Input::Tick);
                let next = self.seat(side).endpoint.deadline();
                assert!(next.is_none_or(|next| next.at > self.now), "a tick leaves nothing due: {next:?}");
                true
            }
            _ => false,
        }
    }

    pub(crate) fn deliver(&mut self, side: Side, datagram: &Datagram) {
        let Datagram { from, to, bytes, .. } = datagram;
        self.feed(side, Input::Datagram { from: *from, to: *to, bytes });
    }

    /// Executes all events within this time.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    /// Delivers datagrams until none is in flight; no deadline passes.
    pub(crate) fn settle(&mut self) {
        while let Some(((at, _), (side, datagram))) = self.queue.pop_first() {
            self.now = self.now.max(at);
            self.deliver(side, &datagram);
        }
    }

    /// Runs until neither side waits for anything; panics if that takes longer than this.
    pub(crate) fn run_out(&mut self, limit: Duration) {
        let until = self.now + limit;
        while self.step(until) {}
        let left = (self.i.endpoint.deadline(), self.r.endpoint.deadline(), self.queue.len());
        assert!(left == (None, None, 0), "still something to wait for after {limit:?}: {left:?}");
    }

    /// Removes the next datagram in flight.
    pub(crate) fn intercept(&mut self) -> Option<(Side, Datagram)> {
        let ((at, _), parcel) = self.queue.pop_first()?;
        self.now = self.now.max(at);
        Some(parcel)
    }

    /// Asserts that both sides hold the same IKE SA and one child with the same keys crosswise.
    pub(crate) fn assert_agreement(&self) {
        let (i, r) = (self.i.books.only_child(), self.r.books.only_child());
        super::books::assert_crosswise(i, r);
        assert_eq!(self.i.endpoint.sa_count(), 1, "i holds nothing else\n{}", self.ladder);
        assert_eq!(self.r.endpoint.sa_count(), 1, "r holds nothing else\n{}", self.ladder);
    }

    /// Why the two do not hold the same: they must have as many IKE SAs, the same children crosswise, and nothing that the owners
    /// do not know of.
    pub(crate) fn disagreement(&self) -> Option<String> {
        let counts = [&self.i, &self.r].map(|seat| (seat.books.sa_count(), seat.endpoint.sa_count()));
        let known = counts.iter().all(|(known, held)| known == held);
        self.disagreement_of_books()
            .or_else(|| (!known).then(|| format!("(SAs the owner knows, SAs there are): {counts:?}")))
    }

    /// The same, but SAs may linger.
    pub(crate) fn disagreement_of_books(&self) -> Option<String> {
        let counts = [self.i.books.sa_count(), self.r.books.sa_count()];
        let (i, r) = (self.i.books.all_children(), self.r.books.all_children());
        let pair =
            |(_, i): &(SaId, &ChildSa)| r.iter().find(|(_, r)| r.pair.inbound_spi == i.pair.outbound_spi);
        let pairs: Vec<_> = i.iter().filter_map(|child| Some((child.1, pair(child)?.1))).collect();
        pairs.iter().for_each(|(i, r)| super::books::assert_crosswise(i, r));
        let paired = pairs.len() == i.len() && pairs.len() == r.len();
        (counts[0] != counts[1] || !paired)
            .then(|| format!("SAs {counts:?}, children {} and {}, {} pairs", i.len(), r.len(), pairs.len()))
    }

    /// Whether there is a child SA that both sides have.
    pub(crate) fn shares_a_child(&self) -> bool {
        let (i, r) = (self.i.books.all_children(), self.r.books.all_children());
        i.iter().any(|(_, i)| r.iter().any(|(_, r)| r.pair.inbound_spi == i.pair.outbound_spi))
    }

    /// Asserts that no state is left, after everything that lingers was dropped.
    pub(crate) fn assert_nothing_remains(&mut self) {
        self.run_out(Duration::from_secs(1000));
        for side in Side::BOTH {
            let seat = self.seat(side);
            let left = (seat.endpoint.sa_count(), seat.endpoint.half_open_count(), seat.books.sa_count());
            assert_eq!(left, (0, 0, 0), "{} is left with (SAs, half-open, in the books)", side.name());
        }
    }

    /// The reasons for which authentications failed at a side.
    pub(crate) fn failures(&mut self, side: Side) -> Vec<&'static str> {
        let failed = |event: &Event| match event {
            Event::Failed(_, reason, _) => Some(reason.name()),
            _ => None,
        };
        self.seat(side).events.iter().filter_map(failed).collect()
    }

    /// The peers of failed authentications at a side: address, claimed identity, and most likely cause.
    pub(crate) fn unproved(&mut self, side: Side) -> Vec<(String, Option<String>, Option<Likely>)> {
        let failed = |event: &Event| match event {
            Event::Failed(_, _, Some(peer)) => {
                Some((peer.remote.to_string(), peer.claimed.as_ref().map(ToString::to_string), peer.likely))
            }
            _ => None,
        };
        self.seat(side).events.iter().filter_map(failed).collect()
    }

    /// The proposals that a side has refused: their source, what was offered, what would have been accepted.
    pub(crate) fn refused_proposals(&mut self, side: Side) -> Vec<[String; 3]> {
        let refused = |event: &Event| match event {
            Event::ProposalRefused(it) => {
                Some([it.remote.to_string(), it.offered.to_string(), it.acceptable.to_string()])
            }
            _ => None,
        };
        self.seat(side).events.iter().filter_map(refused).collect()
    }

    /// The reasons for which SAs were closed at a side.
    pub(crate) fn closures(&mut self, side: Side) -> Vec<&'static str> {
        let closed = |event: &Event| match event {
            Event::Closed(_, reason) => Some(reason.name()),
            _ => None,
        };
        self.seat(side).events.iter().filter_map(closed).collect()
    }

    /// The reasons for which children were refused at a side.
    pub(crate) fn refusals(&mut self, side: Side) -> Vec<&'static str> {
        let refused = |event: &Event| match event {
            Event::ChildFailed(_, reason) => Some(reason.name()),
            _ => None,
        };
        self.seat(side).events.iter().filter_map(refused).collect()
    }
}
