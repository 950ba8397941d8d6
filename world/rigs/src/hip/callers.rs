//! Devices of HIP behind few addresses: one endpoint holds the associations of all, each with a Host Identity and with AKA a card
//! of its own. SAs for traffic are negotiated and their keys dropped: nothing is sent through them. RFC 7401 §4.1, §4.4.2.

use std::collections::VecDeque;
use std::fmt;

use keytoll_crypto_api::Seed;
use keytoll_engine::map::FastMap;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_hip::config::{Config, Initiator};
use keytoll_hip::event::{AssociationId, Command as Request, Event as Report, Reason};
use keytoll_hip::wire::aka::Challenge;
use keytoll_hip::{Endpoint, Hit};
use keytoll_hosts::callers::{Call, Callers, Command, Credentials, DeviceIndex, Event};
use keytoll_net::Addr;

use super::hosts::Card;

/// A device.
#[derive(Debug)]
pub struct Terms {
    /// Its Host Identity, and whose subscription it proves.
    pub who: Initiator,
    /// The card of that subscription.
    pub card: Option<Card>,
}

/// Where devices are, and whom they call.
#[derive(Debug, Clone)]
pub struct Route {
    /// Our addresses, which take turns; at least one.
    pub locals: Vec<Addr>,
    /// The gateway's.
    pub gateway: Addr,
    /// The gateway's HIT; `None`: whoever answers there.
    pub peer: Option<Hit>,
}

/// The devices of all addresses.
pub struct HipCallers {
    hip: Endpoint,
    devices: Credentials<Terms>,
    route: Route,
    calls: FastMap<u64, Held>,
    /// The call of each association.
    of_association: FastMap<u64, Call>,
    out: VecDeque<Output<Event>>,
}

/// A call with its association.
#[derive(Debug)]
struct Held {
    association: AssociationId,
    standing: Standing,
}

/// How far a call is.
#[derive(Debug)]
enum Standing {
    /// Under way.
    UnderWay(Box<UnderWay>),
    /// Its SAs are up.
    Usable,
    /// It is to be closed, or given up.
    Leaving,
}

/// What a call needs until its SAs are up.
#[derive(Debug)]
struct UnderWay {
    card: Option<Card>,
    /// What a NOTIFY said that nothing has proved.
    hearsay: Option<&'static str>,
}

/// The gateway closed an association in an orderly way, unasked.
const CLOSED: &str = "closed by the gateway";

/// RFC 7401 §5.2.19: NOTIFY message types from here on are no errors.
const NO_ERRORS: u16 = 16_384;

impl HipCallers {
    /// Devices that call a gateway; random streams are named `{name}/…`. The identities of the configuration are not used.
    pub fn new(config: Config, route: Route, devices: Credentials<Terms>, seed: &Seed, name: &str) -> Self {
        let config = Config { responds: false, ..config };
        Self {
            hip: Endpoint::new(config, seed.stream(&format!("{name}/hip"))),
            devices,
            route,
            calls: FastMap::default(),
            of_association: FastMap::default(),
            out: VecDeque::new(),
        }
    }

    fn begin(&mut self, call: Call, device: DeviceIndex, cx: &mut Ctx<'_>) {
        let Terms { who, card } = (self.devices)(device);
        let Route { locals, gateway, peer } = &self.route;
        let local = locals[(call.0 % locals.len() as u64) as usize];
        let association = self.hip.initiate_as(who, *peer, (local, *gateway), cx);
        let standing = Standing::UnderWay(Box::new(UnderWay { card, hearsay: None }));
        self.calls.insert(call.0, Held { association, standing });
        self.of_association.insert(association.0, call);
    }

    fn leave(&mut self, call: Call, cx: &mut Ctx<'_>) {
        let Some(held) = self.calls.get_mut(&call.0) else { return self.say(Event::Ended(call, None)) };
        held.standing = Standing::Leaving;
        let association = held.association;
        self.hip.handle(Input::Command(Request::Close(association)), cx);
    }

    fn say(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }

    fn held(&mut self, association: AssociationId) -> Option<(Call, &mut Held)> {
        let call = *self.of_association.get(&association.0)?;
        self.calls.get_mut(&call.0).map(|held| (call, held))
    }

    /// A call is over: it has failed if it was under way, and has ended otherwise.
    fn over(&mut self, association: AssociationId, why: &'static str) {
        let Some(call) = self.of_association.remove(&association.0) else { return };
        let event = match self.calls.remove(&call.0).map(|held| held.standing) {
            Some(Standing::UnderWay(_)) => Event::Failed(call, why),
            Some(Standing::Usable) => Event::Ended(call, Some(why)),
            Some(Standing::Leaving) | None => Event::Ended(call, None),
        };
        self.say(event);
    }

    fn drain(&mut self, cx: &mut Ctx<'_>) {
        while let Some(output) = self.hip.poll() {
            match output.event() {
                Ok(report) => self.on_report(&report, cx),
                Err(output) => self.out.push_back(output),
            }
        }
    }

    fn on_report(&mut self, report: &Report, cx: &mut Ctx<'_>) {
        match *report {
            Report::ChildUp(id, _) => self.usable(id),
            Report::Challenged(id, ref challenge) => self.answer(id, challenge, cx),
            Report::Failed(id, why) => self.over(id, why.name()),
            Report::Closed(id, why) => self.closed(id, why),
            Report::CloseEnded(id, _) => self.over(id, CLOSED),
            Report::Notified(id, kind) if kind.0 < NO_ERRORS => {
                self.heard(id, Reason::Refused(kind).name());
            }
            // What only a responder is told, what changes in the SAs, and where the gateway goes.
            Report::Established(_)
            | Report::ChildRekeyed { .. }
            | Report::ChildDown(..)
            | Report::Readdressed(..)
            | Report::PeerMoved(..)
            | Report::Notified(..)
            | Report::SubscriberProved(..)
            | Report::VectorWanted { .. } => {}
        }
    }

    fn usable(&mut self, association: AssociationId) {
        let Some((call, held)) = self.held(association) else { return };
        if matches!(held.standing, Standing::UnderWay(_)) {
            held.standing = Standing::Usable;
            self.say(Event::Usable(call));
        }
    }

    /// Of one that leaves its end is the answer to its CLOSE.
    fn closed(&mut self, association: AssociationId, why: Reason) {
        let is_leaving = |held: &Held| matches!(held.standing, Standing::Leaving);
        match why {
            Reason::Closed if self.held(association).is_some_and(|(_, held)| is_leaving(held)) => {}
            Reason::Closed => self.over(association, CLOSED),
            why => self.over(association, why.name()),
        }
    }

    fn heard(&mut self, association: AssociationId, what: &'static str) {
        if let Some((_, Held { standing: Standing::UnderWay(under_way), .. })) = self.held(association) {
            under_way.hearsay = Some(what);
        }
    }

    fn answer(&mut self, association: AssociationId, challenge: &Challenge, cx: &mut Ctx<'_>) {
        let card = match self.held(association).map(|(_, held)| &held.standing) {
            Some(Standing::UnderWay(under_way)) => under_way.card.as_ref(),
            _ => None,
        };
        let answer = Card::answer_of(card, challenge, cx.crypto);
        self.hip.handle(Input::Command(Request::Answer(association, Box::new(answer))), cx);
    }
}

impl Callers for HipCallers {
    fn sessions(&self) -> Option<&'static str> {
        Some("HIP associations")
    }

    fn hearsay(&self, call: Call) -> Option<&'static str> {
        match &self.calls.get(&call.0)?.standing {
            Standing::UnderWay(under_way) => under_way.hearsay,
            Standing::Usable | Standing::Leaving => None,
        }
    }
}

impl Engine for HipCallers {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match input.command() {
            Ok(Command::Begin(call, device)) => self.begin(call, device, cx),
            Ok(Command::Leave(call)) => self.leave(call, cx),
            Err(input) => self.hip.handle(input, cx),
        }
        self.drain(cx);
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.hip.deadline()
    }
}

impl fmt::Debug for HipCallers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HipCallers").field("calls", &self.calls.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use keytoll_crypto::Real;
    use keytoll_crypto_api::algorithm::Group;
    use keytoll_crypto_api::{Crypto as _, Rng};
    use keytoll_engine::trace::NoTrace;
    use keytoll_engine::{Datagram, Time};
    use keytoll_hip::HostIdentity;
    use keytoll_hip::config::Admits;
    use keytoll_hip::identity::DietVariant;

    use super::*;

    fn identity(name: &str) -> HostIdentity {
        let key = Real::default().generate(Group::X25519, &mut Rng::named(1, name));
        HostIdentity::agreeing(key, DietVariant::Draft24).unwrap()
    }

    fn at(last: u8, port: u16) -> Addr {
        Addr::udp([192, 0, 2, last].into(), port)
    }

    /// Devices and their gateway, between which everything passes at once or is lost.
    struct Bench {
        devices: HipCallers,
        gateway: Endpoint,
        is_cut: bool,
        now: Time,
        told: Vec<Event>,
        up: Vec<AssociationId>,
    }

    impl Bench {
        fn new(admits: Admits) -> Self {
            let own = identity("gw");
            let route = Route {
                locals: vec![at(1, 4000), at(2, 4000)],
                gateway: at(9, 10_500),
                peer: Some(own.hit()),
            };
            let terms = |device: DeviceIndex| Terms {
                who: Initiator { own: Arc::new(identity(&device.0.to_string())), subscriber: None },
                card: None,
            };
            let seed = Seed::from(1);
            let gateway = Config { admits, ..Config::new(vec![own]) };
            Self {
                devices: HipCallers::new(Config::new(Vec::new()), route, Box::new(terms), &seed, "load"),
                gateway: Endpoint::new(gateway, Rng::named(1, "gw")),
                is_cut: false,
                now: Time::ZERO,
                told: Vec::new(),
                up: Vec::new(),
            }
        }

        fn say(&mut self, input: Input<'_, Command>) {
            let mut crypto = Real::default();
            let cx = &mut Ctx { now: self.now, crypto: &mut crypto, trace: &mut NoTrace };
            self.devices.handle(input, cx);
            self.settle();
        }

        fn at_gateway(&mut self, input: Input<'_, Request>) {
            let mut crypto = Real::default();
            let cx = &mut Ctx { now: self.now, crypto: &mut crypto, trace: &mut NoTrace };
            self.gateway.handle(input, cx);
            self.settle();
        }

        fn settle(&mut self) {
            while let Some(output) = self.devices.poll() {
                match output {
                    Output::Event(event) => self.told.push(event),
                    Output::Datagram(Datagram { from, to, bytes, .. }) if !self.is_cut => {
                        self.at_gateway(Input::Datagram { from, to, bytes: &bytes });
                    }
                    _ => {}
                }
            }
            while let Some(output) = self.gateway.poll() {
                match output {
                    Output::Event(Report::Established(up)) => self.up.push(up.association),
                    Output::Datagram(Datagram { from, to, bytes, .. }) if !self.is_cut => {
                        self.say(Input::Datagram { from, to, bytes: &bytes });
                    }
                    _ => {}
                }
            }
        }

        fn begin(&mut self, calls: impl IntoIterator<Item = u64>) {
            for call in calls {
                self.say(Input::Command(Command::Begin(Call(call), DeviceIndex(call as u32))));
            }
        }

        fn leave(&mut self, call: u64) {
            self.say(Input::Command(Command::Leave(Call(call))));
        }

        /// Lets this time pass at the devices.
        fn run(&mut self, time: Duration) {
            let end = self.now + time;
            while let Some(due) = self.devices.deadline().filter(|due| due.at <= end) {
                self.now = due.at;
                self.say(Input::Tick);
            }
            self.now = end;
        }

        fn told(&mut self) -> Vec<Event> {
            std::mem::take(&mut self.told)
        }

        fn assert_nothing_is_kept(&self) {
            assert_eq!((self.devices.calls.len(), self.devices.of_association.len()), (0, 0));
            assert_eq!(self.devices.hip.association_count(), 0);
        }
    }

    #[test]
    fn devices_come_and_go_from_addresses_that_take_turns() {
        let mut bench = Bench::new(Admits::Anybody);
        bench.begin(0..3);
        assert_eq!(bench.told(), [0, 1, 2].map(|call| Event::Usable(Call(call))));
        assert_eq!((bench.up.len(), bench.devices.hip.association_count()), (3, 3));
        for call in 0..3 {
            bench.leave(call);
        }
        assert_eq!(bench.told(), [0, 1, 2].map(|call| Event::Ended(Call(call), None)));
        bench.assert_nothing_is_kept();
        // The same host comes again.
        bench.begin([1]);
        assert_eq!(bench.told(), [Event::Usable(Call(1))]);
    }

    #[test]
    fn a_device_has_left_when_its_close_has_an_answer_or_gets_none() {
        let mut bench = Bench::new(Admits::Anybody);
        bench.begin([0]);
        bench.told();
        bench.is_cut = true;
        bench.leave(0);
        bench.run(Duration::from_secs(30));
        assert_eq!(bench.told(), []);
        bench.run(Duration::from_secs(40));
        assert_eq!(bench.told(), [Event::Ended(Call(0), None)]);
        bench.assert_nothing_is_kept();
    }

    #[test]
    fn a_close_of_the_gateway_ends_a_session_for_a_reason() {
        let mut bench = Bench::new(Admits::Anybody);
        bench.begin([0]);
        bench.told();
        bench.at_gateway(Input::Command(Request::Close(bench.up[0])));
        assert_eq!(bench.told(), [Event::Ended(Call(0), Some(CLOSED))]);
        bench.leave(0);
        assert_eq!(bench.told(), [Event::Ended(Call(0), None)], "who is not there has left");
    }

    #[test]
    fn silence_is_a_failure_and_a_call_can_be_given_up() {
        let mut bench = Bench::new(Admits::Anybody);
        bench.is_cut = true;
        bench.begin([0, 1]);
        bench.leave(1);
        assert_eq!(bench.told(), [Event::Ended(Call(1), None)]);
        bench.run(Duration::from_secs(70));
        assert_eq!(bench.told(), [Event::Failed(Call(0), "timeout")]);
        bench.assert_nothing_is_kept();
    }

    /// What nothing proves ends no call, and is the reason if it comes to nothing.
    #[test]
    fn a_refusal_is_hearsay() {
        let mut bench = Bench::new(Admits::Hits([identity("0").hit()].into()));
        bench.begin([0, 1]);
        assert_eq!(bench.told(), [Event::Usable(Call(0))]);
        let heard = [0, 1, 2].map(|call| bench.devices.hearsay(Call(call)));
        assert_eq!(heard, [None, Some("BLOCKED_BY_POLICY"), None]);
        bench.run(Duration::from_secs(70));
        assert_eq!(bench.told(), [Event::Failed(Call(1), "BLOCKED_BY_POLICY")]);
    }
}
