//! The device: sets up an association when it has traffic for the gateway and no SA.

use std::net::IpAddr;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_esp::sad::Moved;
use keytoll_hip::encapsulation::esp_packet;
use keytoll_hip::event::{AssociationId, Command, Event as HipEvent};
use keytoll_hip::names::HIP;
use keytoll_hip::wire::aka::Challenge;
use keytoll_hip::{Endpoint, Hit, HostIdentity, config};
use keytoll_hosts::event::Naming;
use keytoll_hosts::user_plane::{Out, Requester, UserPlane};
use keytoll_hosts::{Event, Host, Order, SaLimits};
use keytoll_net::Addr;

use super::usage::{Usage, follow, next_command};
use super::{Card, Journey, NAMING, command, inner, milestone, record_end, session};

/// The configuration of a device.
#[derive(Debug, Clone)]
pub struct DeviceConfig {
    /// Its HIP endpoint; identity 0 leads to the gateway.
    pub hip: config::Config,
    /// Where it sends HIP from.
    pub local: Addr,
    /// Where the gateway has HIP.
    pub gateway: Addr,
    /// The gateway's HIT; none: whoever answers there.
    pub peer: Option<Hit>,
    /// Its card, if the gateway wants a subscription proved.
    pub card: Option<Card>,
    /// The limits of its SAs.
    pub limits: SaLimits,
    /// Where it goes while it has an association, if it does not stay.
    pub journey: Option<Journey>,
}

/// The device.
#[derive(Debug)]
pub struct Device {
    hip: Endpoint,
    user: UserPlane<Requester>,
    usage: Usage,
    local: Addr,
    gateway: Addr,
    peer: Option<Hit>,
    card: Option<Card>,
    /// The set-up attempt under way.
    set_up: Option<AssociationId>,
    /// The association in use.
    current: Option<AssociationId>,
    journey: Option<Journey>,
    out: Out,
}

impl Device {
    /// A device whose random streams are named `{name}/…`.
    pub fn new(config: DeviceConfig, seed: &Seed, name: &str) -> Self {
        let DeviceConfig { hip, local, gateway, peer, card, limits, journey } = config;
        let hip = config::Config { responds: false, ..hip };
        let inside = hip.identities.first().map_or(Hit::NULL, HostIdentity::hit);
        let requester = Requester::new(inner(inside), inner(peer.unwrap_or(Hit::NULL)));
        let mut user = UserPlane::new(requester, seed.stream_of(format_args!("{name}/esp")));
        user.limit(limits);
        Self {
            hip: Endpoint::new(hip, seed.stream_of(format_args!("{name}/hip"))),
            user,
            usage: Usage::default(),
            local,
            gateway,
            peer,
            card,
            set_up: None,
            current: None,
            journey,
            out: Out::new(),
        }
    }

    fn on_order(&mut self, order: Order, cx: &mut Ctx<'_>) {
        match order {
            Order::Echo { payload_bytes } => return self.echo(payload_bytes, cx),
            // RFC 7401 §4.4.2: a new exchange with the same peer takes the place of the association.
            Order::Reauthenticate if self.set_up.is_none() => return self.begin(cx),
            _ => {}
        }
        let order = self.user.traffic(order, &mut self.out, cx);
        if let Some(command) = order.as_ref().and_then(command) {
            self.hip.handle(Input::Command(command), cx);
        }
    }

    /// Requests an echo through the SA, or sets one up for it.
    fn echo(&mut self, payload_bytes: usize, cx: &mut Ctx<'_>) {
        let is_sent = self.user.echo(payload_bytes, &mut self.out, cx);
        if !is_sent && self.set_up.is_none() {
            self.begin(cx);
        }
    }

    /// Forwards a packet of this machine. The first one triggers an SA and is lost, which IP permits.
    fn forward(&mut self, packet: &[u8], cx: &mut Ctx<'_>) {
        if !self.user.sas.is_empty() {
            self.user.forward(packet, &mut self.out, cx);
        } else if self.set_up.is_none() {
            self.begin(cx);
        }
    }

    fn arrived(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        if self.user.arrived_plain(from, to, bytes, cx) {
            return;
        }
        let esp = esp_packet(to, bytes);
        if self.journey.as_mut().is_some_and(|journey| journey.misses(to, esp.is_some())) {
            let protocol = if esp.is_some() { Protocol::ESP } else { HIP };
            return cx.discard(protocol, "for an address that was left");
        }
        match esp {
            Some(esp) => {
                let spi = self.user.arrived(from, to, esp, &mut self.out, cx);
                let reached = self.journey.as_mut().filter(|_| spi.is_some()).and_then(Journey::reached);
                reached.into_iter().for_each(|fact| cx.trace.record(fact));
                let heard = spi.and_then(|spi| self.usage.heard(&self.user.sas, spi, cx.now));
                heard.into_iter().for_each(|heard| self.hip.handle(Input::Command(heard), cx));
            }
            None => self.hip.handle(Input::Datagram { from, to, bytes }, cx),
        }
    }

    /// Goes to its other address, if it is time to: what leaves comes from there, and the peer is told.
    fn travel(&mut self, cx: &mut Ctx<'_>) {
        let departed = self.journey.as_mut().is_some_and(|journey| journey.depart(&mut self.local, cx.now));
        let Some(id) = self.current.filter(|_| departed) else { return };
        cx.trace.record(Fact::Moved);
        self.user.sas.redirect(session(id), Moved::Local(self.local));
        self.hip.handle(Input::Command(Command::Readdress(id, self.local)), cx);
    }

    fn begin(&mut self, cx: &mut Ctx<'_>) {
        cx.trace.record(Fact::Triggered);
        self.set_up = self.hip.initiate(0, self.peer, (self.local, self.gateway), cx);
    }

    /// Processes the outputs of the endpoint and the SAs until neither has any more.
    fn drain(&mut self, cx: &mut Ctx<'_>) {
        loop {
            while let Some(output) = self.hip.poll() {
                match output.event() {
                    Ok(event) => self.on_hip(event, cx),
                    Err(output) => self.out.push_back(output),
                }
            }
            let Some(command) = next_command(&mut self.user.sas) else { break };
            self.hip.handle(Input::Command(command), cx);
        }
    }

    fn on_hip(&mut self, event: HipEvent, cx: &mut Ctx<'_>) {
        let is_usable = matches!(event, HipEvent::ChildUp(..));
        match event {
            HipEvent::Challenged(id, challenge) => return self.answer(id, &challenge, cx),
            // A failed attempt of a peer does not concern ours.
            HipEvent::Failed(id, _) if self.set_up != Some(id) => {
                return cx.discard(HIP, "failure of no attempt of ours");
            }
            HipEvent::Failed(..) => {
                self.set_up = None;
                self.user.forget_waiting();
            }
            HipEvent::Established(ref up) => {
                self.current = Some(up.association);
                self.user.aim(inner(up.peer));
            }
            HipEvent::Closed(id, _) if self.current == Some(id) => {
                self.current = None;
                self.journey.iter_mut().for_each(Journey::call_off);
            }
            _ => {}
        }
        record_end(&event, cx);
        follow(&mut self.user.sas, &mut self.usage, &event, cx);
        self.out.extend(milestone(event).map(Output::Event));
        if is_usable && self.set_up.take().is_some() {
            self.usable(cx);
        }
    }

    fn usable(&mut self, cx: &mut Ctx<'_>) {
        cx.trace.record(Fact::Usable);
        self.journey.iter_mut().for_each(|journey| journey.begin(cx.now));
        self.out.push_back(Output::Event(Event::Usable));
        self.user.release(&mut self.out, cx);
    }

    fn answer(&mut self, id: AssociationId, challenge: &Challenge, cx: &mut Ctx<'_>) {
        let answer = Card::answer_of(self.card.as_ref(), challenge, cx.crypto);
        self.hip.handle(Input::Command(Command::Answer(id, Box::new(answer))), cx);
    }
}

impl Host for Device {
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
        vec![("associations", self.hip.association_count())]
    }

    fn under_way_count(&self) -> usize {
        self.hip.under_way_count()
    }
}

impl Engine for Device {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input {
            Input::Command(order) => self.on_order(order, cx),
            Input::Datagram { from, to, bytes } => self.arrived(from, to, bytes, cx),
            Input::Inner(packet) => self.forward(packet, cx),
            Input::Tick => {
                self.hip.handle(Input::Tick, cx);
                self.user.tick(cx.now);
                self.travel(cx);
            }
            Input::Recover => self.hip.handle(Input::Recover, cx),
            // A device uses datagrams only.
            Input::Secured { .. } | Input::Lost { .. } => {}
        }
        self.drain(cx);
        if self.user.flush(&mut self.out, cx) {
            self.drain(cx);
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let journey = self.journey.as_ref().and_then(Journey::deadline);
        Deadline::earlier(Deadline::earlier(self.hip.deadline(), self.user.deadline()), journey)
    }
}
