//! The station: joins its network when it has traffic and is no member, and leaves when it has had none for a while.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_eap::Reason as EapReason;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_hosts::event::{Failure, Naming, Reason};
use keytoll_hosts::user_plane::{Out, Requester, UserPlane};
use keytoll_hosts::{Eap, Event, Host, Order, Supplicant};
use keytoll_wlan::MacAddr;
use keytoll_wlan::dot1x::EAP;
use keytoll_wlan::station::{self, Command, Event as WlanEvent};

use super::association::Association;
use super::reason::of_station;
use super::{Alarm, Journey, NAMING, closed, established, to_port, whole};

/// The configuration of a station.
#[derive(Debug)]
pub(crate) struct StationConfig {
    /// Its engine.
    pub wlan: station::Config,
    /// Its IP address, and the access point's.
    pub addresses: [IpAddr; 2],
    /// Its EAP peer, in networks that want one.
    pub supplicant: Option<Supplicant>,
    /// How long it stays without traffic.
    pub stays_idle: Duration,
    /// When it goes to another access point, if it does.
    pub journey: Option<Journey>,
}

/// The station.
#[derive(Debug)]
pub(crate) struct Station {
    user: UserPlane<Requester, Association>,
    supplicant: Option<Supplicant>,
    /// The access point at which it has become a member of its network, by whose address the session is named.
    joined: Option<MacAddr>,
    /// The access point that it is at.
    at: Option<MacAddr>,
    journey: Option<Journey>,
    /// When it leaves.
    idle: Alarm,
    out: Out,
}

impl Station {
    /// A station whose random streams are named `{name}/…`.
    pub(crate) fn new(config: StationConfig, seed: &Seed, name: &str) -> Self {
        let StationConfig { wlan, addresses: [own, peer], supplicant, stays_idle, journey } = config;
        let path = Association(station::Station::new(wlan, seed, name));
        Self {
            user: UserPlane::over(path, Requester::new(own, peer), seed.stream(&format!("{name}/user"))),
            supplicant,
            joined: None,
            at: None,
            journey,
            idle: Alarm::new(stays_idle),
            out: Out::new(),
        }
    }

    const fn engine(&mut self) -> &mut station::Station {
        &mut self.user.sas.0
    }

    fn tell(&mut self, command: Command, cx: &mut Ctx<'_>) {
        self.engine().handle(Input::Command(command), cx);
    }

    fn on_order(&mut self, order: Order, cx: &mut Ctx<'_>) {
        match self.user.traffic(order, &mut self.out, cx) {
            Some(Order::Echo { payload_bytes }) => self.echo(payload_bytes, cx),
            Some(Order::Close(_)) => self.tell(Command::Leave, cx),
            Some(Order::Reauthenticate) => self.rejoin(cx),
            _ => {}
        }
    }

    /// Requests an echo, or joins for it.
    fn echo(&mut self, payload_bytes: usize, cx: &mut Ctx<'_>) {
        if self.user.echo(payload_bytes, &mut self.out, cx) {
            self.idle.set(cx.now);
        } else {
            self.join(cx);
        }
    }

    fn join(&mut self, cx: &mut Ctx<'_>) {
        if !self.engine().is_busy() {
            cx.trace.record(Fact::Triggered);
            // Every authentication is a whole one; what is kept serves the journey after it.
            self.engine().forget_pmksas();
            self.tell(Command::Join, cx);
        }
    }

    /// Authenticates anew: it leaves, and joins again.
    fn rejoin(&mut self, cx: &mut Ctx<'_>) {
        if self.joined.is_some() {
            self.tell(Command::Leave, cx);
            self.drain(cx);
        }
        self.join(cx);
    }

    /// Forwards a packet of this machine. The first one makes it join and is lost, which IP permits.
    fn forward(&mut self, packet: &[u8], cx: &mut Ctx<'_>) {
        if self.joined.is_none() {
            return self.join(cx);
        }
        self.user.forward(packet, &mut self.out, cx);
        self.idle.set(cx.now);
    }

    /// Processes the outputs of the engine until it has no more.
    fn drain(&mut self, cx: &mut Ctx<'_>) {
        while let Some(output) = self.engine().poll() {
            match output.event() {
                Ok(event) => self.on_event(event, cx),
                Err(Output::Inner(packet)) => self.on_packet(packet, cx),
                Err(output) => self.out.push_back(output),
            }
        }
    }

    fn on_packet(&mut self, packet: Vec<u8>, cx: &mut Ctx<'_>) {
        if let Some(packet) = whole(packet, cx) {
            self.idle.set(cx.now);
            self.user.deliver(packet, &mut self.out, cx);
        }
    }

    fn on_event(&mut self, event: WlanEvent, cx: &mut Ctx<'_>) {
        match event {
            WlanEvent::EapStart => self.supplicant.iter_mut().for_each(|supplicant| supplicant.begin(None)),
            WlanEvent::Eap(packet) => self.on_eap(&packet, cx),
            WlanEvent::Joined(bssid) => self.on_joined(bssid, cx),
            WlanEvent::Failed(why) => self.on_failed(&why, cx),
            WlanEvent::Left(why) => self.on_left(&why, cx),
        }
    }

    /// A station without an EAP peer refuses.
    fn on_eap(&mut self, packet: &[u8], cx: &mut Ctx<'_>) {
        cx.crypto.enter(EAP);
        let answer = match &mut self.supplicant {
            Some(supplicant) => supplicant.step(packet, cx),
            None => Some(Eap::Failure { packet: Vec::new() }),
        };
        if let Some(eap) = answer {
            self.tell(Command::Eap(to_port(eap)), cx);
        }
    }

    fn on_joined(&mut self, bssid: MacAddr, cx: &mut Ctx<'_>) {
        self.at = Some(bssid);
        self.idle.set(cx.now);
        if self.joined.is_some() {
            let fact = self.journey.as_mut().and_then(|journey| journey.arrive(cx.now));
            fact.into_iter().for_each(|fact| cx.trace.record(fact));
            return;
        }
        self.joined = Some(bssid);
        self.journey.iter_mut().for_each(|journey| journey.begin(cx.now));
        cx.trace.record(Fact::Usable);
        self.out.extend([established(bssid), Event::Usable].map(Output::Event));
        self.user.release(&mut self.out, cx);
    }

    fn on_failed(&mut self, why: &station::Failure, cx: &mut Ctx<'_>) {
        self.user.forget_waiting();
        let why = self.of_eap().unwrap_or_else(|| of_station(why));
        let name = why.name.into();
        let fact = if why.is_hearsay { Fact::Refused { why: name } } else { Fact::Failed { why: name } };
        cx.trace.record(fact);
        let failure = Failure { session: None, why, likely: None, peer: None };
        self.out.push_back(Output::Event(Event::Failed(Box::new(failure))));
    }

    /// Why EAP has failed, if it has: it knows more than what carries it.
    fn of_eap(&mut self) -> Option<Reason> {
        let EapReason(name) = self.supplicant.as_mut()?.failure()?;
        Some(Reason { is_hearsay: EapReason(name).is_hearsay(), ..Reason::new(name) })
    }

    fn on_left(&mut self, why: &station::Failure, cx: &mut Ctx<'_>) {
        self.idle.unset();
        self.at = None;
        self.journey.iter_mut().for_each(Journey::call_off);
        if let Some(bssid) = self.joined.take() {
            let event = closed(bssid, of_station(why), cx);
            self.out.push_back(Output::Event(event));
        }
    }

    fn tick(&mut self, cx: &mut Ctx<'_>) {
        self.engine().handle(Input::Tick, cx);
        self.user.tick(cx.now);
        if self.idle.is_due(cx.now) {
            self.tell(Command::Leave, cx);
        }
        self.depart(cx);
    }
}

impl Station {
    /// Goes to the other access point, if it is time to.
    fn depart(&mut self, cx: &mut Ctx<'_>) {
        let Some((journey, at)) = self.journey.as_mut().zip(self.at) else { return };
        if let Some((to, fact)) = journey.depart(at, cx.now) {
            fact.into_iter().for_each(|fact| cx.trace.record(fact));
            self.tell(Command::Roam(to), cx);
        }
    }
}

impl Host for Station {
    fn naming(&self) -> Naming {
        NAMING
    }

    fn attach_interface(&mut self) {
        self.user.attach_interface();
    }

    fn user_ends(&self) -> Option<[IpAddr; 2]> {
        Some(self.user.ends())
    }

    fn holds(&self) -> Vec<(&'static str, usize)> {
        let is_busy = self.user.sas.0.is_busy();
        vec![("associations", usize::from(is_busy))]
    }

    fn under_way_count(&self) -> usize {
        usize::from(self.user.sas.0.is_busy() && self.joined.is_none())
    }
}

impl Engine for Station {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input {
            Input::Command(order) => self.on_order(order, cx),
            Input::Datagram { from, to, bytes } => {
                self.engine().handle(Input::Datagram { from, to, bytes }, cx);
            }
            Input::Inner(packet) => self.forward(packet, cx),
            Input::Tick => self.tick(cx),
            Input::Recover => self.engine().handle(Input::Recover, cx),
            // A station has no streams.
            Input::Secured { .. } | Input::Lost { .. } => {}
        }
        self.drain(cx);
        if self.user.flush(&mut self.out, cx) {
            self.idle.set(cx.now);
            self.drain(cx);
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let idle = self.idle.at.map(|at| Deadline { at, why: "idle station leaves" });
        let journey = self.journey.as_ref().and_then(Journey::deadline);
        Deadline::earlier(Deadline::earlier(self.user.deadline(), idle), journey)
    }
}
