//! A device that is awake: sends traffic to the gateway, and sets up an SA when there is none.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_ike::IKE;
use keytoll_ike::config::Believe;
use keytoll_ike::event::Established as IkeEstablished;
use keytoll_ike::{ChildSa, Command as IkeCommand, Endpoint, Event as IkeEvent, Reason, SaId};
use keytoll_net::Addr;

use super::{DeviceSetup, Own, Standing, esp_payload};
use crate::described::{Details, Fields, Value};
use crate::eap::{Carrier, Eap};
use crate::event::{Event, Failure};
use crate::ipsec::SaLimits;
use crate::keepalive::Keepalives;
use crate::set_up::SetUp;
use crate::supplicant::{EapCredentials, Supplicant};
use crate::user_plane::{Requester, UserPlane};
use crate::{Order, ike};

/// A refused request for a child SA is repeated after this time at the earliest.
const ASK_AGAIN: Duration = Duration::from_secs(10);

/// The device.
#[derive(Debug)]
pub(super) struct Awake {
    setup: Arc<DeviceSetup>,
    own: Own,
    ike: Endpoint,
    supplicant: Option<Box<Supplicant>>,
    user: UserPlane<Requester>,
    keepalives: Keepalives,
    /// The IKE SA in use; a new one replaces it.
    current: Option<SaId>,
    /// The set-up attempt under way.
    set_up: Option<SetUp>,
    childless: bool,
    /// When it requested a child under the IKE SA in use; `None` once one is up.
    asked: Option<Time>,
    out: VecDeque<Output<Event>>,
}

impl Awake {
    /// A device that has done nothing yet.
    pub(super) fn new(setup: Arc<DeviceSetup>, own: Own) -> Self {
        let (seed, name) = (own.person.seed(), &setup.name);
        let requester = Requester::new(setup.inner.unwrap_or(own.address), setup.target);
        let mut user = UserPlane::new(requester, seed.stream_of(format_args!("{name}/esp")));
        user.limit(setup.limits);
        let ike = Endpoint::of(&setup.ike, &seed, name);
        Self::with((setup, own), &seed, ike, user)
    }

    fn with(
        (setup, own): (Arc<DeviceSetup>, Own),
        seed: &Seed,
        ike: Endpoint,
        user: UserPlane<Requester>,
    ) -> Self {
        let first = setup.first();
        let supplicant = |credentials: &EapCredentials| {
            let proves_server = first.is_some_and(|connection| !matches!(connection.remote, Believe::Eap));
            let carrier = Carrier { proves_server, ..Carrier::IKE };
            let rng = seed.stream_of(format_args!("{}/eap", setup.name));
            Box::new(Supplicant::new(credentials.clone(), carrier, rng))
        };
        Self {
            ike,
            supplicant: own.eap.as_deref().map(supplicant),
            user,
            keepalives: Keepalives::new(IKE, setup.ike.config().keepalive_after),
            current: None,
            set_up: None,
            childless: first.is_none_or(|connection| connection.child.is_none()),
            asked: None,
            out: VecDeque::new(),
            setup,
            own,
        }
    }

    /// Whether it has an SA at most and nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        let has_nothing_to_say = self.set_up.is_none()
            && self.asked.is_none()
            && self.out.is_empty()
            && self.keepalives.is_empty();
        has_nothing_to_say && self.ike.can_stand() && self.current == self.ike.in_use()
    }

    /// Keeps only what must be remembered, if that is little. It [is idle](Self::is_idle).
    pub(super) fn stand(mut self: Box<Self>) -> Result<Standing, Box<Self>> {
        let eap_drawn = self.supplicant.as_ref().map_or(Some(0), |supplicant| supplicant.drawn());
        let Some(eap_drawn) = eap_drawn else { return Err(self) };
        let Some(user) = self.user.stand() else { return Err(self) };
        let Self { setup, own, ike, .. } = *self;
        Ok(Standing { setup, own, ike: ike.stand(), user, eap_drawn })
    }

    /// The device as it was.
    pub(super) fn resume(standing: Standing) -> Self {
        let Standing { setup, own, ike, user, eap_drawn } = standing;
        let current = ike.sa();
        let (seed, name) = (own.person.seed(), &setup.name);
        let ike = Endpoint::resume(&setup.ike, &seed, name, ike);
        let user = UserPlane::resume(setup.limits, seed.stream_of(format_args!("{name}/esp")), user);
        let mut awake = Self { current, ..Self::with((setup, own), &seed, ike, user) };
        awake.supplicant.iter_mut().for_each(|supplicant| supplicant.go_to(eap_drawn));
        awake
    }

    /// Its SAs have these limits from now on.
    pub(super) fn limit(&mut self, limits: SaLimits) {
        self.setup = Arc::new(DeviceSetup { limits, ..DeviceSetup::clone(&self.setup) });
        self.user.limit(limits);
    }

    /// Sends an echo request through the SA, or queues it and sets up an SA.
    fn echo(&mut self, payload_bytes: usize, cx: &mut Ctx<'_>) {
        let is_sent = self.user.echo(payload_bytes, &mut self.out, cx);
        if !is_sent && self.set_up.is_none() {
            self.begin(cx);
        }
    }

    fn begin(&mut self, cx: &mut Ctx<'_>) {
        let terms = self.own.person.terms();
        if let Some(supplicant) = &mut self.supplicant {
            let connection = terms.as_deref().or_else(|| self.setup.first());
            supplicant.begin(connection.map(|connection| &*connection.local_id.data));
        }
        cx.trace.record(Fact::Triggered);
        let sa = self.ike.initiate_as(0, terms, (self.own.address, self.setup.gateway), cx);
        let exchange_max = self.setup.ike.config().retransmission.total();
        self.set_up = Some(SetUp::begin(sa.map(Into::into), cx.now, exchange_max));
    }

    /// Requests a missing traffic SA, under the IKE SA if there is one. A gateway that refuses is not asked again for every
    /// packet.
    fn want_child(&mut self, cx: &mut Ctx<'_>) {
        match self.current {
            _ if self.set_up.is_some() => {}
            None => self.begin(cx),
            Some(sa) if self.asked.is_none_or(|asked| cx.now.since(asked) >= ASK_AGAIN) => {
                self.asked = Some(cx.now);
                self.ike.handle(Input::Command(IkeCommand::CreateChild(sa)), cx);
            }
            Some(_) => {}
        }
    }

    fn arrived(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        if self.user.arrived_plain(from, to, bytes, cx) {
            return;
        }
        match esp_payload(self.setup.ike.config(), to, bytes) {
            Some(esp) => {
                self.user.arrived(from, to, esp, &mut self.out, cx);
            }
            None => self.ike.handle(Input::Datagram { from, to, bytes }, cx),
        }
    }

    /// Processes the outputs of the IKE endpoint and the SAs until neither has any more.
    fn drain(&mut self, cx: &mut Ctx<'_>) {
        loop {
            while let Some(output) = self.ike.poll() {
                match output.event() {
                    Ok(event) => self.on_ike(event, cx),
                    Err(output) => self.out.push_back(output),
                }
            }
            match self.user.sas.poll() {
                Some((session, event)) => {
                    self.ike.handle(Input::Command(ike::for_pair(session, &event)), cx);
                }
                None => break,
            }
        }
        if let Some(set_up) = &mut self.set_up {
            let went_on = set_up.session().and_then(|session| self.ike.went_on(ike::sa(session)));
            went_on.into_iter().for_each(|at| set_up.went_on(at));
        }
    }

    fn on_ike(&mut self, event: IkeEvent, cx: &mut Ctx<'_>) {
        ike::keep(&mut self.keepalives, &event, &self.ike);
        match event {
            IkeEvent::Established(established) => self.established(established, cx),
            IkeEvent::ChildUp(sa, child) => {
                self.out.push_back(Output::Event(Event::ChildUp(ike::child(sa, &child))));
                self.install(sa, *child);
                self.asked = None;
                if self.set_up.is_some() {
                    self.usable(cx);
                }
            }
            IkeEvent::ChildRekeyed { sa, old, new } => {
                self.out.push_back(Output::Event(Event::ChildRekeyed { old, new: ike::child(sa, &new) }));
                self.install(sa, *new);
                cx.trace.record(Fact::Rekeyed { what: "child".into() });
            }
            IkeEvent::ChildDown(_, spi) => {
                self.user.sas.remove(spi, cx.now);
                self.out.push_back(Output::Event(Event::ChildDown(spi)));
            }
            IkeEvent::EapPacket(sa, packet) => self.on_eap(sa, &packet, cx),
            IkeEvent::Rekeyed { old, new } => {
                cx.trace.record(Fact::Rekeyed { what: "ike".into() });
                self.user.sas.rekeyed(old.into(), new.into());
                self.current = self.current.map(|current| if current == old { new } else { current });
                self.set_up.iter_mut().for_each(|set_up| set_up.renamed(old.into(), new.into()));
                self.report(IkeEvent::Rekeyed { old, new });
            }
            IkeEvent::ReauthenticationDue(_) if self.set_up.is_none() => self.begin(cx),
            IkeEvent::Failed(sa, why, peer) if self.is_about(sa) => {
                self.failed(why, cx);
                self.report(IkeEvent::Failed(sa, why, peer));
            }
            IkeEvent::ChildFailed(sa, why) if self.is_about(sa) || self.is_idle_under(sa) => {
                self.failed(why, cx);
                self.report(IkeEvent::ChildFailed(sa, why));
            }
            // A failed attempt of a peer, or of an SA that was already replaced, does not concern ours.
            IkeEvent::Failed(..) | IkeEvent::ChildFailed(..) => {
                cx.discard(IKE, "failure of no attempt of ours");
            }
            IkeEvent::Closed(sa, why) => {
                self.current = self.current.filter(|current| *current != sa);
                if self.is_about(sa) {
                    self.give_up(why, cx);
                }
                cx.trace.record(Fact::Closed { why: why.name().into() });
                self.report(IkeEvent::Closed(sa, why));
            }
            other => self.report(other),
        }
    }

    fn install(&mut self, sa: SaId, child: ChildSa) {
        self.user.sas.install(sa.into(), ike::pair(child, self.own.address, self.setup.gateway));
    }

    /// Whether the attempt under way concerns this IKE SA.
    fn is_about(&self, sa: SaId) -> bool {
        self.set_up.as_ref().is_some_and(|set_up| set_up.needs(sa.into()))
    }

    /// Whether this is the IKE SA in use and no attempt is under way.
    fn is_idle_under(&self, sa: SaId) -> bool {
        self.set_up.is_none() && self.current == Some(sa)
    }

    /// RFC 7296 §2.8.3: after reauthentication the old IKE SA is deleted with its children.
    fn established(&mut self, established: Box<IkeEstablished>, cx: &mut Ctx<'_>) {
        established.address.into_iter().for_each(|assigned| self.user.moved_to(assigned));
        if let Some(old) = self.current.replace(established.sa) {
            self.ike.handle(Input::Command(IkeCommand::Delete(old)), cx);
        }
        if self.childless {
            // Queued echo requests have no SA to go through, and need none.
            self.user.forget_waiting();
            self.usable(cx);
        }
        self.report(IkeEvent::Established(established));
    }

    fn report(&mut self, event: IkeEvent) {
        self.out.extend(ike::milestone(event).map(Output::Event));
    }

    /// Forwards a packet of this machine. The first one triggers an SA and is lost, which IP permits.
    fn forward(&mut self, packet: &[u8], cx: &mut Ctx<'_>) {
        if self.user.sas.is_empty() && !(self.childless && self.current.is_some()) {
            return self.want_child(cx);
        }
        self.user.forward(packet, &mut self.out, cx);
    }

    fn usable(&mut self, cx: &mut Ctx<'_>) {
        self.set_up = None;
        cx.trace.record(Fact::Usable);
        self.out.push_back(Output::Event(Event::Usable));
        self.user.release(&mut self.out, cx);
    }

    /// The supplicant answers an EAP packet of the gateway.
    fn on_eap(&mut self, sa: SaId, packet: &[u8], cx: &mut Ctx<'_>) {
        let answer = match &mut self.supplicant {
            Some(supplicant) => supplicant.step(packet, cx),
            None => Some(Eap::Failure { packet: Vec::new() }),
        };
        if let Some(answer) = answer {
            self.ike.handle(Input::Command(IkeCommand::Eap(sa, answer.into())), cx);
        }
    }

    /// Gives up an attempt whose result IKE has not reported in time.
    fn end_hopeless_set_up(&mut self, cx: &mut Ctx<'_>) {
        let Some(set_up) = self.set_up.take_if(|set_up| set_up.is_hopeless(cx.now)) else { return };
        self.give_up(Reason::Timeout, cx);
        if let Some(session) = set_up.session() {
            self.ike.handle(Input::Command(IkeCommand::Delete(ike::sa(session))), cx);
        }
    }

    fn give_up(&mut self, why: Reason, cx: &mut Ctx<'_>) {
        self.failed(why, cx);
        let peer = Fields::new().with("remote", Value::shown(self.setup.gateway));
        let peer = Some(Details::of(Box::new(peer)));
        let failure = Failure { session: None, why: ike::reason(why), likely: None, peer };
        self.out.push_back(Output::Event(Event::GaveUp(Box::new(failure))));
    }

    fn failed(&mut self, why: Reason, cx: &mut Ctx<'_>) {
        self.set_up = None;
        self.user.forget_waiting();
        let eap = self.supplicant.as_mut().and_then(|supplicant| supplicant.failure());
        let (name, is_hearsay) =
            eap.map_or((why.name(), why.is_hearsay()), |reason| (reason.0, reason.is_hearsay()));
        let why_so = name.into();
        cx.trace.record(if is_hearsay {
            Fact::Refused { why: why_so }
        } else {
            Fact::Failed { why: why_so }
        });
    }
}

impl Awake {
    pub(super) fn attach_interface(&mut self) {
        self.user.attach_interface();
    }

    pub(super) fn user_ends(&self) -> Option<[IpAddr; 2]> {
        Some(self.user.ends())
    }

    /// How many IKE SAs are being closed.
    pub(super) fn closing_count(&self) -> usize {
        self.ike.closing_count()
    }
}

impl Engine for Awake {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        self.keepalives.at(cx.now);
        match input {
            Input::Command(Order::Echo { payload_bytes }) => self.echo(payload_bytes, cx),
            Input::Command(Order::Reauthenticate) if self.set_up.is_none() => self.begin(cx),
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
                self.drain(cx);
                self.end_hopeless_set_up(cx);
            }
            Input::Datagram { from, to, bytes } => self.arrived(from, to, bytes, cx),
            Input::Inner(packet) => self.forward(packet, cx),
            Input::Recover => self.ike.handle(Input::Recover, cx),
            // A device uses datagrams only.
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
        let set_up = self.set_up.as_ref().map(SetUp::deadline);
        let own = Deadline::earlier(set_up, self.keepalives.deadline());
        Deadline::earlier(Deadline::earlier(self.ike.deadline(), self.user.deadline()), own)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use keytoll_crypto::Null;
    use keytoll_crypto_api::Secret;
    use keytoll_crypto_api::suite::Suite;
    use keytoll_engine::trace::NoTrace;
    use keytoll_ike::Config;
    use keytoll_ike::config::{Connection, Prove, Reauthenticate, Version};

    use super::super::DeviceConfig;
    use super::*;

    fn device() -> Awake {
        let [address, gateway] = [2, 1].map(|host| IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)));
        let secret = || Secret::from(&b"a device alone"[..]);
        let ike = Config::new(vec![Connection {
            name: String::new(),
            version: Version::V2,
            local_id: "ue@lab".parse().expect("an identity"),
            remote_id: None,
            local: Prove::Psk(secret()),
            remote: Believe::psk(secret()),
            signatures: Vec::new(),
            suites: vec![Suite::ike("aes128gcm16-prfsha256-x25519").expect("a suite")],
            child: None,
            request_address: false,
            pool: None,
            auth_lifetime: None,
            weakest: keytoll_ike::config::Weakest::default(),
            reauthenticate: Reauthenticate::OnDemand,
            rekey_after: None,
            liveness_after: None,
        }]);
        let config = DeviceConfig { ike, address, gateway, inner: None, target: gateway, eap: None };
        let own = Own::alone(&config, &Seed::from(1));
        Awake::new(Arc::new(DeviceSetup::new(config, "ue")), own)
    }

    fn events(device: &mut Awake) -> Vec<Event> {
        let event = |output| if let Output::Event(event) = output { Some(event) } else { None };
        std::iter::from_fn(|| device.poll()).filter_map(event).collect()
    }

    /// The reason and peer in the device's report that it gave up.
    fn gave_up(device: &mut Awake) -> Vec<(&'static str, String)> {
        let told = |event| match event {
            Event::GaveUp(failure) => {
                let peer = failure.peer.expect("it knows its gateway").fields();
                let remote = peer.get("remote").and_then(Value::text).expect("an address");
                Some((failure.why.name, remote.to_owned()))
            }
            _ => None,
        };
        events(device).into_iter().filter_map(told).collect()
    }

    /// IKE always reports the result of an attempt; this test discards the report.
    #[test]
    fn a_device_without_a_report_of_ike_gives_up_by_itself() {
        let mut device = device();
        let at = |now: Time, device: &mut Awake, input: Input<'_, Order>| {
            device.handle(input, &mut Ctx { now, crypto: &mut Null, trace: &mut NoTrace });
        };
        at(Time::ZERO, &mut device, Input::Command(Order::Echo { payload_bytes: 8 }));
        let own = device.set_up.as_ref().expect("it asks for an SA").deadline().at;
        device.ike = Endpoint::new(Config::new(Vec::new()), &Seed::from(2), "mute");
        at(Time::from_nanos(own.as_nanos() - 1), &mut device, Input::Tick);
        assert_eq!(events(&mut device), []);
        assert_eq!(device.deadline().map(|deadline| deadline.at), Some(own));
        at(own, &mut device, Input::Tick);
        assert_eq!(gave_up(&mut device), [("timeout", "192.0.2.1".to_owned())]);
        assert_eq!(device.deadline(), None, "it waits for nothing any more");
    }

    #[test]
    fn an_ike_sa_that_closes_without_a_report_on_its_child_ends_the_set_up() {
        let mut device = device();
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut Null, trace: &mut NoTrace };
        device.handle(Input::Command(Order::Echo { payload_bytes: 8 }), &mut cx);
        let sa = device.set_up.as_ref().and_then(SetUp::session).map(ike::sa).expect("it asks for an SA");
        device.on_ike(IkeEvent::Closed(sa, Reason::Deleted), &mut cx);
        assert!(device.set_up.is_none());
        assert_eq!(gave_up(&mut device), [("deleted", "192.0.2.1".to_owned())]);
    }
}
