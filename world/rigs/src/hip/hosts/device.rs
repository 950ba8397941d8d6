//! The device: sets up an association when it has traffic for the gateway and no SA.

use std::collections::VecDeque;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_hip::event::{AssociationId, Command, Event as HipEvent};
use keytoll_hip::names::HIP;
use keytoll_hip::wire::aka::{Challenge, Response};
use keytoll_hip::{Endpoint, Hit, config};
use keytoll_hosts::event::Naming;
use keytoll_hosts::{Event, Host, Order};
use keytoll_net::Addr;

use super::{Card, NAMING, card, command, milestone, record_end};

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
}

/// The device.
#[derive(Debug)]
pub struct Device {
    hip: Endpoint,
    local: Addr,
    gateway: Addr,
    peer: Option<Hit>,
    card: Option<Card>,
    /// The set-up attempt under way.
    set_up: Option<AssociationId>,
    /// The association in use.
    current: Option<AssociationId>,
    out: VecDeque<Output<Event>>,
}

impl Device {
    /// A device whose random streams are named `{name}/…`.
    pub fn new(config: DeviceConfig, seed: &Seed, name: &str) -> Self {
        let DeviceConfig { hip, local, gateway, peer, card } = config;
        Self {
            hip: Endpoint::new(hip, seed.stream(&format!("{name}/hip"))),
            local,
            gateway,
            peer,
            card,
            set_up: None,
            current: None,
            out: VecDeque::new(),
        }
    }

    fn on_order(&mut self, order: &Order, cx: &mut Ctx<'_>) {
        if let Some(command) = command(order) {
            return self.hip.handle(Input::Command(command), cx);
        }
        if matches!(order, Order::Echo { .. }) && self.current.is_none() && self.set_up.is_none() {
            self.begin(cx);
        }
    }

    fn begin(&mut self, cx: &mut Ctx<'_>) {
        cx.trace.record(Fact::Triggered);
        self.set_up = self.hip.initiate(0, self.peer, (self.local, self.gateway), cx);
    }

    fn drain(&mut self, cx: &mut Ctx<'_>) {
        while let Some(output) = self.hip.poll() {
            match output.event() {
                Ok(event) => self.on_hip(event, cx),
                Err(output) => self.out.push_back(output),
            }
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
            HipEvent::Failed(..) => self.set_up = None,
            HipEvent::Established(ref up) => self.current = Some(up.association),
            HipEvent::Closed(id, _) => self.current = self.current.filter(|current| *current != id),
            _ => {}
        }
        record_end(&event, cx);
        self.out.extend(milestone(event).map(Output::Event));
        if is_usable {
            self.usable(cx);
        }
    }

    fn usable(&mut self, cx: &mut Ctx<'_>) {
        self.set_up = None;
        cx.trace.record(Fact::Usable);
        self.out.push_back(Output::Event(Event::Usable));
    }

    /// A device without a card believes no network.
    fn answer(&mut self, id: AssociationId, challenge: &Challenge, cx: &mut Ctx<'_>) {
        let answer = match &self.card {
            Some(card) => card.answer(challenge, cx.crypto),
            None => card::refusal(Response::Reject),
        };
        self.hip.handle(Input::Command(Command::Answer(id, Box::new(answer))), cx);
    }
}

impl Host for Device {
    fn naming(&self) -> Naming {
        NAMING
    }

    fn holds(&self) -> Vec<(&'static str, usize)> {
        vec![("associations", self.hip.association_count())]
    }
}

impl Engine for Device {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input.command() {
            Ok(order) => self.on_order(&order, cx),
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
