//! The gateway: answers base exchanges and diet exchanges, and asks the HSS about subscribers.

use std::collections::VecDeque;

use keytoll_crypto_api::Seed;
use keytoll_diameter::client;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_hip::event::{AssociationId, Command, Event as HipEvent, Refused};
use keytoll_hip::{Endpoint, config};
use keytoll_hosts::event::Naming;
use keytoll_hosts::{Event, Host, HssClient, Order};
use keytoll_net::Addr;

use super::vectors::{Resynchronise, vector};
use super::{Hss, NAMING, command, milestone, record_end};

/// The configuration of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// Its HIP endpoint.
    pub hip: config::Config,
    /// How it reaches the HSS, if it wants subscriptions proved.
    pub hss: Option<Hss>,
}

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    hip: Endpoint,
    hss: Option<(Hss, HssClient)>,
    out: VecDeque<Output<Event>>,
}

impl Gateway {
    /// A gateway whose random streams are named `{name}/…`.
    pub fn new(config: GatewayConfig, seed: &Seed, name: &str) -> Self {
        let client = |hss: Hss| {
            let rng = &mut seed.stream(&format!("{name}/diameter"));
            let client = HssClient::new(hss.diameter.clone(), rng);
            (hss, client)
        };
        Self {
            hip: Endpoint::new(config.hip, seed.stream(&format!("{name}/hip"))),
            hss: config.hss.map(client),
            out: VecDeque::new(),
        }
    }

    fn arrived(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        match &mut self.hss {
            Some((_, client)) if client.owns(to) => client.handle(Input::Datagram { from, to, bytes }, cx),
            _ => self.hip.handle(Input::Datagram { from, to, bytes }, cx),
        }
    }

    fn with_hss(&mut self, input: Input<'_, client::Command>, cx: &mut Ctx<'_>) {
        if let Some((_, client)) = &mut self.hss {
            client.handle(input, cx);
        }
    }

    /// Processes the outputs of the endpoint and of the Diameter client until neither has any more.
    fn drain(&mut self, cx: &mut Ctx<'_>) {
        loop {
            while let Some(output) = self.hip.poll() {
                match output.event() {
                    Ok(event) => self.on_hip(event, cx),
                    Err(output) => self.out.push_back(output),
                }
            }
            let Some(output) = self.hss.as_mut().and_then(|(_, client)| client.poll()) else { break };
            match output.event() {
                Ok(event) => self.on_hss(event, cx),
                Err(output) => self.out.push_back(output),
            }
        }
    }

    fn on_hip(&mut self, event: HipEvent, cx: &mut Ctx<'_>) {
        if let HipEvent::VectorWanted { association, subscriber, resynchronise } = event {
            return self.ask(association, &subscriber, resynchronise, cx);
        }
        record_end(&event, cx);
        self.out.extend(milestone(event).map(Output::Event));
    }

    /// Asks the HSS; a subscriber whose name is no IMSI is refused at once.
    fn ask(&mut self, id: AssociationId, subscriber: &[u8], resynchronise: Resynchronise, cx: &mut Ctx<'_>) {
        let asked = self.hss.as_mut().and_then(|(hss, client)| {
            let request = hss.question(subscriber, resynchronise)?;
            client.ask(id.0, request, cx);
            Some(())
        });
        if asked.is_none() {
            self.hip.handle(Input::Command(Command::Vector(id, Err(Refused))), cx);
        }
    }

    fn on_hss(&mut self, event: client::Event, cx: &mut Ctx<'_>) {
        if let client::Event::Answered { id, vectors } = event {
            self.hip.handle(Input::Command(Command::Vector(AssociationId(id), vector(vectors))), cx);
        }
    }
}

impl Host for Gateway {
    fn naming(&self) -> Naming {
        NAMING
    }

    fn holds(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("associations", self.hip.association_count()),
            ("devices proving a subscription", self.hip.unproved_count()),
            ("questions to the HSS", self.hss.as_ref().map_or(0, |(_, client)| client.outstanding())),
        ]
    }

    fn under_way_count(&self) -> usize {
        self.hip.unproved_count()
    }
}

impl Engine for Gateway {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input {
            Input::Command(order) => {
                if let Some(command) = command(&order) {
                    self.hip.handle(Input::Command(command), cx);
                }
            }
            Input::Datagram { from, to, bytes } => self.arrived(from, to, bytes, cx),
            Input::Tick => {
                self.hip.handle(Input::Tick, cx);
                self.with_hss(Input::Tick, cx);
            }
            Input::Secured { peer, local, names } => self.with_hss(Input::Secured { peer, local, names }, cx),
            Input::Lost { peer, local } => self.with_hss(Input::Lost { peer, local }, cx),
            Input::Recover => self.hip.handle(Input::Recover, cx),
            Input::Inner(_) => {}
        }
        self.drain(cx);
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let hss = self.hss.as_ref().and_then(|(_, client)| client.deadline());
        Deadline::earlier(self.hip.deadline(), hss)
    }
}
