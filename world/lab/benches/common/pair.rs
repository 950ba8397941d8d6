//! Two endpoints that hand each other their datagrams: no network, no host, no meter, no trace. Here those of IKEv2; what other
//! protocols share with it is [`Side`].

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::{Crypto, Rng};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use keytoll_ike::v2::Endpoint;
use keytoll_ike::{ChildSa, Command, Config, Event, SaId};
use keytoll_native::heap;

/// Longer than any timer of an SA that was closed.
const UNTIL_FORGOTTEN: Duration = Duration::from_secs(3600);

/// One of two endpoints, with what answers for its owner.
pub(crate) trait Side {
    /// The endpoint.
    type Engine: Engine;

    fn endpoint(&mut self) -> &mut Self::Engine;

    fn handle(&mut self, input: Input<'_, <Self::Engine as Engine>::Command>, now: Time);

    /// What the endpoint tells its owner.
    fn note(&mut self, event: <Self::Engine as Engine>::Event, now: Time);
}

/// Hands datagrams from one to the other until neither has more to say.
pub(crate) fn settle<S: Side>(one: &mut S, other: &mut S, now: Time) {
    while pass(one, other, now) | pass(other, one, now) {}
}

/// Hands over everything `from` has to say; whether there were datagrams.
fn pass<S: Side>(from: &mut S, to: &mut S, now: Time) -> bool {
    let mut passed = false;
    while let Some(output) = from.endpoint().poll() {
        match output {
            Output::Datagram(datagram) => {
                let (from, bytes) = (datagram.from, &datagram.bytes[..]);
                to.handle(Input::Datagram { from, to: datagram.to, bytes }, now);
                passed = true;
            }
            Output::Event(event) => from.note(event, now),
            Output::Inner(_) | Output::Close { .. } => unreachable!("these protocols speak datagrams"),
        }
    }
    passed
}

/// Two endpoints, the initiator first.
pub(crate) struct Pair<C> {
    now: Time,
    addresses: [IpAddr; 2],
    pub(crate) initiator: Seat<C>,
    pub(crate) responder: Seat<C>,
}

/// An endpoint and what its owner knows of it.
pub(crate) struct Seat<C> {
    pub(crate) endpoint: Endpoint,
    pub(crate) crypto: C,
    /// Which account its memory is booked to, where the heap is counted.
    pub(crate) heap_role: u8,
    pub(crate) established: Vec<SaId>,
    pub(crate) children: Vec<ChildSa>,
}

impl<C: Crypto> Seat<C> {
    fn new(config: Config, crypto: C, heap_role: u8, stream: &str) -> Self {
        let _booked = heap::enter(heap_role);
        let endpoint = Endpoint::new(config, Rng::named(1, stream));
        Self { endpoint, crypto, heap_role, established: Vec::new(), children: Vec::new() }
    }
}

impl<C: Crypto> Side for Seat<C> {
    type Engine = Endpoint;

    fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn handle(&mut self, input: Input<'_, Command>, now: Time) {
        let _booked = heap::enter(self.heap_role);
        self.endpoint.handle(input, &mut Ctx { now, crypto: &mut self.crypto, trace: &mut NoTrace });
    }

    fn note(&mut self, event: Event, _: Time) {
        let _booked = heap::enter(self.heap_role);
        match event {
            Event::Established(up) => self.established.push(up.sa),
            Event::ChildUp(_, child) => self.children.push(*child),
            Event::ChildDown(..) | Event::Closed(..) => {}
            other => panic!("{other:?} does not belong to this benchmark"),
        }
    }
}

impl<C: Crypto> Pair<C> {
    pub(crate) fn new((initiator, responder): (Config, Config), mut crypto: impl FnMut() -> C) -> Self {
        Self {
            now: Time::ZERO,
            addresses: [IpAddr::from([192, 0, 2, 2]), IpAddr::from([192, 0, 2, 1])],
            initiator: Seat::new(initiator, crypto(), 1, "initiator"),
            responder: Seat::new(responder, crypto(), 2, "responder"),
        }
    }

    /// One authentication: IKE_SA_INIT and IKE_AUTH, both requests and both responses.
    pub(crate) fn authenticate(&mut self) {
        let [local, remote] = self.addresses;
        let command = Command::Initiate { connection: 0, local, remote };
        self.initiator.handle(Input::Command(command), self.now);
        self.settle();
    }

    /// Closes every SA and lets both sides forget it.
    ///
    /// # Panics
    /// If the two do not have the same number of SAs, each with a child, or keep something.
    pub(crate) fn close(&mut self) {
        let seats = [&self.initiator, &self.responder];
        let counts = seats.map(|seat| (seat.established.len(), seat.children.len()));
        assert!(counts[0] == counts[1] && counts[0].0 == counts[0].1, "both have the same SAs: {counts:?}");
        for sa in std::mem::take(&mut self.initiator.established) {
            self.initiator.handle(Input::Command(Command::Delete(sa)), self.now);
            self.settle();
        }
        self.idle();
        for seat in [&mut self.initiator, &mut self.responder] {
            seat.established.clear();
            seat.children.clear();
            assert_eq!(seat.endpoint.sa_count(), 0, "nothing is kept of a closed SA");
        }
    }

    /// Lets time pass until closed SAs are forgotten and nothing is pending; the others stay.
    pub(crate) fn idle(&mut self) {
        self.now += UNTIL_FORGOTTEN;
        self.initiator.handle(Input::Tick, self.now);
        self.responder.handle(Input::Tick, self.now);
        self.settle();
    }

    fn settle(&mut self) {
        settle(&mut self.initiator, &mut self.responder, self.now);
    }
}
