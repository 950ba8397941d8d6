//! The gateway: answers base exchanges and diet exchanges, and asks the HSS about subscribers.

use keytoll_crypto_api::Seed;
use keytoll_diameter::client;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_hip::encapsulation::esp_packet;
use keytoll_hip::event::{AssociationId, Command, Event as HipEvent, Refused};
use keytoll_hip::{Endpoint, config};
use keytoll_hosts::event::Naming;
use keytoll_hosts::user_plane::{Out, Responder, UserPlane};
use keytoll_hosts::{Event, Host, HssClient, Order, SaLimits};
use keytoll_net::Addr;

use super::usage::{Usage, follow, next_command};
use super::vectors::{Resynchronise, vector};
use super::{Hss, NAMING, command, inner, milestone, record_end};

/// The configuration of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// Its HIP endpoint.
    pub hip: config::Config,
    /// How it reaches the HSS, if it wants subscriptions proved.
    pub hss: Option<Hss>,
    /// The limits of its SAs.
    pub limits: SaLimits,
}

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    hip: Endpoint,
    hss: Option<(Hss, HssClient)>,
    user: UserPlane<Responder>,
    usage: Usage,
    out: Out,
}

impl Gateway {
    /// A gateway whose random streams are named `{name}/…`.
    pub fn new(config: GatewayConfig, seed: &Seed, name: &str) -> Self {
        let client = |hss: Hss| {
            let rng = &mut seed.stream(&format!("{name}/diameter"));
            let client = HssClient::new(hss.diameter.clone(), rng);
            (hss, client)
        };
        let hits = config.hip.identities.iter().map(|identity| inner(identity.hit()));
        let responder = Responder::new(hits.collect());
        let mut user = UserPlane::new(responder, seed.stream(&format!("{name}/esp")));
        user.limit(config.limits);
        Self {
            hip: Endpoint::new(config.hip, seed.stream(&format!("{name}/hip"))),
            hss: config.hss.map(client),
            user,
            usage: Usage::default(),
            out: Out::new(),
        }
    }

    fn arrived(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        if self.user.arrived_plain(from, to, bytes, cx) {
            return;
        }
        match (&mut self.hss, esp_packet(to, bytes)) {
            (Some((_, client)), _) if client.owns(to) => {
                client.handle(Input::Datagram { from, to, bytes }, cx);
            }
            (_, Some(esp)) => self.arrived_esp(from, to, esp, cx),
            _ => self.hip.handle(Input::Datagram { from, to, bytes }, cx),
        }
    }

    fn arrived_esp(&mut self, from: Addr, to: Addr, esp: &[u8], cx: &mut Ctx<'_>) {
        let spi = self.user.arrived(from, to, esp, &mut self.out, cx);
        let heard = spi.and_then(|spi| self.usage.heard(&self.user.sas, spi, cx.now));
        heard.into_iter().for_each(|heard| self.hip.handle(Input::Command(heard), cx));
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
            if let Some(output) = self.hss.as_mut().and_then(|(_, client)| client.poll()) {
                match output.event() {
                    Ok(event) => self.on_hss(event, cx),
                    Err(output) => self.out.push_back(output),
                }
            } else if let Some(command) = next_command(&mut self.user.sas) {
                self.hip.handle(Input::Command(command), cx);
            } else {
                break;
            }
        }
    }

    fn on_hip(&mut self, event: HipEvent, cx: &mut Ctx<'_>) {
        if let HipEvent::VectorWanted { association, subscriber, resynchronise } = event {
            return self.ask(association, &subscriber, resynchronise, cx);
        }
        record_end(&event, cx);
        follow(&mut self.user.sas, &mut self.usage, &event, cx);
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

    fn attach_interface(&mut self) {
        self.user.attach_interface();
    }

    fn holds(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("associations", self.hip.association_count()),
            ("devices proving a subscription", self.hip.unproved_count()),
            ("questions to the HSS", self.hss.as_ref().map_or(0, |(_, client)| client.outstanding())),
        ]
    }

    fn under_way_count(&self) -> usize {
        self.hip.under_way_count()
    }
}

impl Engine for Gateway {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input {
            Input::Command(order) => {
                let order = self.user.traffic(order, &mut self.out, cx);
                if let Some(command) = order.as_ref().and_then(command) {
                    self.hip.handle(Input::Command(command), cx);
                }
            }
            Input::Datagram { from, to, bytes } => self.arrived(from, to, bytes, cx),
            Input::Tick => {
                self.hip.handle(Input::Tick, cx);
                self.user.tick(cx.now);
                self.with_hss(Input::Tick, cx);
            }
            Input::Secured { peer, local, names } => self.with_hss(Input::Secured { peer, local, names }, cx),
            Input::Lost { peer, local } => self.with_hss(Input::Lost { peer, local }, cx),
            Input::Recover => self.hip.handle(Input::Recover, cx),
            Input::Inner(packet) => self.user.forward(packet, &mut self.out, cx),
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
        let hss = self.hss.as_ref().and_then(|(_, client)| client.deadline());
        Deadline::earlier(Deadline::earlier(self.hip.deadline(), self.user.deadline()), hss)
    }
}
