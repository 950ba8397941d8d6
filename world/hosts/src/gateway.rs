//! The gateway: IKE responder, endpoint of the SAs, and responder to echo requests inside them.

use std::collections::VecDeque;
use std::net::IpAddr;

use keytoll_crypto_api::Seed;
use keytoll_eap::packet;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_ike::IKE;
use keytoll_ike::{
    ChildSa, Command as IkeCommand, Config, Endpoint, Event as IkeEvent, Reason, SaId, Unproved,
};
use keytoll_net::Addr;

use crate::authenticator::{AaaAccess, Authenticator, Wanted};
use crate::device::esp_payload;
use crate::eap::{Carrier, Eap};
use crate::event::{Event, Naming};
use crate::ipsec::SaLimits;
use crate::keepalive::Keepalives;
use crate::user_plane::{Responder, UserPlane};
use crate::{Host, Order, ike};

/// The configuration of a gateway.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// Its IKE endpoint.
    pub ike: Config,
    /// Its address on the access network.
    pub address: IpAddr,
    /// Further addresses for which it answers echo requests: those behind it.
    pub inner: Vec<IpAddr>,
    /// The AAA server that authenticates devices with EAP.
    pub aaa: Option<AaaAccess>,
}

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    config: GatewayConfig,
    ike: Endpoint,
    authenticator: Option<Authenticator<SaId>>,
    user: UserPlane<Responder>,
    keepalives: Keepalives,
    out: VecDeque<Output<Event>>,
}

impl Gateway {
    /// A gateway whose random streams are named `{name}/…`.
    pub fn new(config: GatewayConfig, seed: &Seed, name: &str) -> Self {
        let responder = Responder::new([&[config.address][..], &config.inner].concat());
        Self {
            ike: Endpoint::new(config.ike.clone(), seed, name),
            authenticator: config
                .aaa
                .clone()
                .map(|access| Authenticator::new(access, Carrier::IKE, seed, name)),
            user: UserPlane::new(responder, seed.stream(&format!("{name}/esp"))),
            keepalives: Keepalives::new(IKE, config.ike.keepalive_after),
            config,
            out: VecDeque::new(),
        }
    }

    /// Limits the lifetime of its traffic SAs; at the soft limit it rekeys them.
    #[must_use]
    pub const fn with_limits(mut self, limits: SaLimits) -> Self {
        self.user.limit(limits);
        self
    }

    /// The number of its IKE SAs, half-open ones included.
    pub fn ike_sa_count(&self) -> usize {
        self.ike.sa_count()
    }

    /// The number of IKE SAs that wait for the device to confirm their deletion.
    fn closing_count(&self) -> usize {
        self.ike.closing_count()
    }

    /// The number of devices under EAP authentication.
    pub fn proving_count(&self) -> usize {
        self.authenticator.as_ref().map_or(0, Authenticator::session_count)
    }

    /// The number of outstanding RADIUS requests.
    pub fn radius_outstanding(&self) -> usize {
        self.authenticator.as_ref().map_or(0, Authenticator::outstanding)
    }

    fn arrived(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        if self.user.arrived_plain(from, to, bytes, cx) {
            return;
        }
        if let Some(authenticator) = self.authenticator.as_mut().filter(|ours| ours.owns(to)) {
            return authenticator.handle(Input::Datagram { from, to, bytes }, cx);
        }
        match esp_payload(&self.config.ike, to, bytes) {
            Some(esp) => {
                self.user.arrived(from, to, esp, &mut self.out, cx);
            }
            None => self.ike.handle(Input::Datagram { from, to, bytes }, cx),
        }
    }

    /// Processes the outputs of IKE, the SAs and the authenticator until none has any more.
    fn drain(&mut self, cx: &mut Ctx<'_>) {
        loop {
            while let Some(output) = self.ike.poll() {
                match output.event() {
                    Ok(event) => self.on_ike(event, cx),
                    Err(output) => self.out.push_back(output),
                }
            }
            if let Some((session, event)) = self.user.sas.poll() {
                self.ike.handle(Input::Command(ike::for_pair(session, &event)), cx);
                continue;
            }
            match self.authenticator.as_mut().and_then(|authenticator| authenticator.poll(cx)) {
                Some(wanted) => self.act(wanted, cx),
                None => break,
            }
        }
    }

    fn act(&mut self, wanted: Wanted<SaId>, cx: &mut Ctx<'_>) {
        match wanted {
            Wanted::Pass(output) => self.out.push_back(output),
            Wanted::Tell(sa, eap) => self.ike.handle(Input::Command(IkeCommand::Eap(sa, eap.into())), cx),
        }
    }

    /// Starts the EAP authentication of a device.
    fn begin_eap(&mut self, sa: SaId, identity: &[u8], peer: IpAddr, cx: &mut Ctx<'_>) {
        let wanted = match &mut self.authenticator {
            Some(authenticator) => authenticator.begin(sa, identity, peer.into(), cx),
            None => Some(Wanted::Tell(sa, Eap::Failure { packet: packet::failure(0) })),
        };
        if let Some(wanted) = wanted {
            self.act(wanted, cx);
        }
    }

    fn on_ike(&mut self, event: IkeEvent, cx: &mut Ctx<'_>) {
        ike::keep(&mut self.keepalives, &event, &self.ike);
        match event {
            IkeEvent::Established(established) => {
                if let Some(authenticator) = &mut self.authenticator {
                    authenticator.established(established.sa, cx);
                }
                self.report(IkeEvent::Established(established));
            }
            IkeEvent::ChildUp(sa, child) => {
                self.out.push_back(Output::Event(Event::ChildUp(ike::child(sa, &child))));
                self.install(sa, *child, cx);
            }
            IkeEvent::ChildRekeyed { sa, old, new } => {
                self.out.push_back(Output::Event(Event::ChildRekeyed { old, new: ike::child(sa, &new) }));
                self.install(sa, *new, cx);
            }
            IkeEvent::ChildDown(_, spi) => {
                self.user.sas.remove(spi, cx.now);
                self.out.push_back(Output::Event(Event::ChildDown(spi)));
            }
            IkeEvent::EapStart { sa, identity, remote, .. } => {
                self.begin_eap(sa, &identity.data, remote.ip, cx);
            }
            IkeEvent::EapPacket(sa, packet) => {
                let authenticator = self.authenticator.as_mut();
                let wanted = authenticator.and_then(|ours| ours.answered(sa, packet, cx));
                if let Some(wanted) = wanted {
                    self.act(wanted, cx);
                }
            }
            IkeEvent::Failed(sa, why, peer) => self.failed(sa, why, peer, cx),
            IkeEvent::Rekeyed { old, new } => {
                self.user.sas.rekeyed(old.into(), new.into());
                if let Some(authenticator) = &mut self.authenticator {
                    authenticator.rekeyed(old, new);
                }
                self.report(IkeEvent::Rekeyed { old, new });
            }
            IkeEvent::Closed(sa, why) => {
                if let Some(authenticator) = &mut self.authenticator {
                    authenticator.closed(sa, cx);
                }
                cx.trace.record(Fact::Closed { why: why.name().into() });
                self.report(IkeEvent::Closed(sa, why));
            }
            other => self.report(other),
        }
    }

    /// An IKE SA failed. A timeout of the device is not recorded here: the device records it itself.
    fn failed(&mut self, sa: SaId, why: Reason, peer: Option<Box<Unproved>>, cx: &mut Ctx<'_>) {
        if let Some(authenticator) = &mut self.authenticator {
            authenticator.forget(sa, cx);
        }
        if !why.is_hearsay() && why != Reason::Timeout {
            cx.trace.record(Fact::Failed { why: why.name().into() });
        }
        self.report(IkeEvent::Failed(sa, why, peer));
    }

    fn install(&mut self, sa: SaId, child: ChildSa, cx: &mut Ctx<'_>) {
        match self.ike.remote(sa) {
            Some(peer) => self.user.sas.install(sa.into(), ike::pair(child, self.config.address, peer.ip)),
            None => cx.discard(IKE, "child of an SA that is gone"),
        }
    }

    fn report(&mut self, event: IkeEvent) {
        self.out.extend(ike::milestone(event).map(Output::Event));
    }
}

impl Host for Gateway {
    fn naming(&self) -> Naming {
        ike::NAMING
    }

    fn attach_interface(&mut self) {
        self.user.attach_interface();
    }

    fn holds(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("IKE SAs", self.ike_sa_count()),
            ("devices proving themselves", self.proving_count()),
            ("RADIUS requests", self.radius_outstanding()),
        ]
    }

    fn under_way_count(&self) -> usize {
        self.proving_count() + self.closing_count()
    }
}

impl Engine for Gateway {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        self.keepalives.at(cx.now);
        match input {
            Input::Command(order) => {
                let order = self.user.traffic(order, &mut self.out, cx);
                if let Some(command) = order.as_ref().and_then(ike::command) {
                    self.ike.handle(Input::Command(command), cx);
                }
            }
            Input::Tick => {
                self.ike.handle(Input::Tick, cx);
                self.user.tick(cx.now);
                let due = self.keepalives.due(|session| ike::path_to_keep(&self.ike, ike::sa(session)));
                self.out.extend(due.into_iter().map(Output::Datagram));
                if let Some(authenticator) = &mut self.authenticator {
                    authenticator.handle(Input::Tick, cx);
                }
            }
            Input::Datagram { from, to, bytes } => self.arrived(from, to, bytes, cx),
            Input::Inner(packet) => self.user.forward(packet, &mut self.out, cx),
            Input::Recover => self.ike.handle(Input::Recover, cx),
            // A gateway uses datagrams only.
            Input::Secured { .. } | Input::Lost { .. } => {}
        }
        self.drain(cx);
        if self.user.flush(&mut self.out, cx) {
            self.drain(cx);
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        let output = self.out.pop_front()?;
        if let Output::Datagram(datagram) = &output {
            self.keepalives.sent(datagram);
        }
        Some(output)
    }

    fn deadline(&self) -> Option<Deadline> {
        let radius = self.authenticator.as_ref().and_then(Authenticator::deadline);
        let own = Deadline::earlier(self.ike.deadline(), self.user.deadline());
        Deadline::earlier(Deadline::earlier(own, self.keepalives.deadline()), radius)
    }
}
