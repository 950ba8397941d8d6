//! All associations of a host: routes packets by their two HITs, keeps the tables and the timers. Read RFC 7401 §4.4 first.

use std::collections::VecDeque;
use std::sync::Arc;

use keytoll_crypto_api::Rng;
use keytoll_engine::map::FastMap;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Sorted, Time};
use keytoll_net::Addr;

use crate::association::{Association, State};
use crate::config::{Aka, Config, Initiator};
use crate::encapsulation::hip_in_udp;
use crate::event::{AssociationId, Command, Event, Reason};
use crate::hit::Hit;
use crate::identity::HostIdentity;
use crate::initiator;
use crate::names::HIP;
use crate::number::{PacketType, ParameterType};
use crate::outgoing::{Outgoing, Route};
use crate::responder::{Origins, Responder};
use crate::wire::Packet;

/// A HIP endpoint, initiator and responder at once.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) shared: Shared,
    pub(crate) associations: FastMap<u64, Box<Association>>,
    /// Associations by our HIT and the peer's; in opportunistic mode by where the peer is until it has one.
    pub(crate) by_hits: Sorted<Key, u64>,
    timers: Sorted<(Time, u64)>,
    pub(crate) responder: Responder,
    /// Those of initiators whose subscription is not proved yet.
    pub(crate) unproved: Origins,
    /// Those that peers have begun.
    pub(crate) begun_by_peers: Origins,
    /// The association that was examined last for its place.
    pub(crate) examined: Option<Key>,
    /// The association that is out of the table, and the SPIs that go with it.
    lent: Option<(u64, Key, bool, Vec<u32>)>,
}

/// By what an association is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) local: Hit,
    pub(crate) peer: Hit,
    /// In opportunistic mode, where the peer is.
    pub(crate) at: Option<Addr>,
}

impl Key {
    pub(crate) const fn new(local: Hit, peer: Hit) -> Self {
        Self { local, peer, at: None }
    }
}

/// What every association of an endpoint may use.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) identities: Vec<Arc<HostIdentity>>,
    pub(crate) rng: Rng,
    pub(crate) out: VecDeque<Output<Event>>,
    spis: FastMap<u32, ()>,
    /// Those taken since an association left the table.
    taken_now: Vec<u32>,
    next_id: u64,
}

/// What an association works with while it handles one input.
pub(crate) struct Env<'a, 'b> {
    pub(crate) shared: &'a mut Shared,
    pub(crate) cx: &'a mut Ctx<'b>,
}

impl Env<'_, '_> {
    pub(crate) const fn now(&self) -> Time {
        self.cx.now
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.shared.config)
    }

    pub(crate) fn identity(&self, index: usize) -> Arc<HostIdentity> {
        self.shared.identity(index)
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.shared.out.push_back(Output::Event(event));
    }

    pub(crate) fn discard(&mut self, why: &'static str) {
        self.cx.discard(HIP, why);
    }

    /// Sends a packet that is kept for another time, and leaves the fact.
    pub(crate) fn transmit(&mut self, route: Route, packet: &Outgoing, again: bool) {
        self.send(route, packet.clone(), again);
    }

    /// Sends a packet that nobody will send again, and leaves the fact.
    pub(crate) fn transmit_once(&mut self, route: Route, packet: Outgoing) {
        self.send(route, packet, false);
    }

    fn send(&mut self, route: Route, packet: Outgoing, again: bool) {
        self.cx.trace.record(Fact::Sent(packet.fact(again)));
        self.shared.out.push_back(Output::Datagram(packet.datagram(route)));
    }
}

impl Shared {
    pub(crate) fn identity(&self, index: usize) -> Arc<HostIdentity> {
        Arc::clone(&self.identities[index])
    }

    /// The index of the identity with this HIT.
    pub(crate) fn index_of(&self, hit: Hit) -> Option<usize> {
        self.identities.iter().position(|identity| identity.hit() == hit)
    }

    // RFC 4303 §2.1: 0 to 255 are reserved.
    /// A fresh SPI for an SA we receive on; it is taken until it is given back.
    pub(crate) fn take_spi(&mut self) -> u32 {
        loop {
            let spi = u32::from_be_bytes(self.rng.bytes());
            if spi > 255 && self.spis.insert(spi, ()).is_none() {
                self.taken_now.push(spi);
                return spi;
            }
        }
    }

    /// Gives an SPI back.
    pub(crate) fn give_back(&mut self, spi: u32) {
        self.spis.remove(&spi);
    }

    pub(crate) const fn fresh_id(&mut self) -> AssociationId {
        self.next_id += 1;
        AssociationId(self.next_id)
    }
}

impl Endpoint {
    /// An endpoint that draws everything random from `rng`.
    pub fn new(config: Config, mut rng: Rng) -> Self {
        let responder = Responder::new(&config, &mut rng);
        let shared = Shared {
            identities: config.identities.iter().cloned().map(Arc::new).collect(),
            config: Arc::new(config),
            rng,
            out: VecDeque::new(),
            spis: FastMap::default(),
            taken_now: Vec::new(),
            next_id: 0,
        };
        Self {
            shared,
            associations: FastMap::default(),
            by_hits: Sorted::default(),
            timers: Sorted::default(),
            responder,
            unproved: Origins::default(),
            begun_by_peers: Origins::default(),
            examined: None,
            lent: None,
        }
    }

    /// How many associations it holds, in any state.
    pub fn association_count(&self) -> usize {
        self.associations.len()
    }

    /// How many associations come up or wait for the answer to their CLOSE.
    pub fn under_way_count(&self) -> usize {
        let all = self.by_hits.values().filter_map(|id| self.associations.get(id));
        all.filter(|association| association.state.is_under_way()).count()
    }

    /// How many initiators it holds whose subscription is not proved.
    pub fn unproved_count(&self) -> usize {
        self.unproved.count()
    }

    /// How many SPIs are taken.
    pub fn spi_count(&self) -> usize {
        self.shared.spis.len()
    }

    fn on_datagram(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) {
        let in_udp = to.udp_port().is_some();
        let packet = if in_udp { hip_in_udp(bytes) } else { Some(bytes) };
        let Some(bytes) = packet else { return cx.discard(HIP, "no zero SPI before the packet") };
        let packet = match Packet::read(bytes, self.shared.config.leniency) {
            Ok(packet) => packet,
            Err(error) => return cx.discard(HIP, error.field),
        };
        // RFC 9028 §5.1: in UDP the checksum is zero. What another one would say, UDP's own checksum says already.
        if let (false, Some(source), Some(destination)) = (in_udp, from.ip(), to.ip())
            && !packet.has_checksum((source, destination))
        {
            return cx.discard(HIP, "CHECKSUM_FAILED");
        }
        if packet.unknown_critical(ParameterType::KNOWN).is_some() {
            return cx.discard(HIP, "UNSUPPORTED_CRITICAL_PARAMETER_TYPE");
        }
        self.on_packet(&packet, Route { local: to, remote: from }, cx);
    }

    fn on_packet(&mut self, packet: &Packet<'_>, route: Route, cx: &mut Ctx<'_>) {
        match packet.header.packet_type {
            PacketType::I1 | PacketType::I2 if !self.shared.config.responds => {
                cx.discard(HIP, "a host that answers nobody");
            }
            PacketType::I1 => self.on_i1(packet, route, cx),
            PacketType::I2 => self.on_i2(packet, route, cx),
            _ => {
                let (local, peer) = (packet.header.receiver, packet.header.sender);
                let opens = packet.header.packet_type == PacketType::R1;
                let Some(id) = self.find((local, peer), opens, route) else {
                    return cx.discard(HIP, "no such association");
                };
                self.with(id, cx, |association, env| association.on_packet(packet, route, env));
            }
        }
    }

    // RFC 7401 §4.1.8: in opportunistic mode the first R1 from there tells the peer's HIT, also if there is an association with
    // that host already.
    /// The association between these two, or one in opportunistic mode with whoever is there; for an R1 that one first.
    fn find(&self, (local, peer): (Hit, Hit), opens: bool, route: Route) -> Option<u64> {
        let opportunistic = self.by_hits.get(&Key { local, peer: Hit::NULL, at: Some(route.remote) });
        let known = self.by_hits.get(&Key::new(local, peer));
        if opens { opportunistic.or(known).copied() } else { known.or(opportunistic).copied() }
    }

    fn on_command(&mut self, command: Command, cx: &mut Ctx<'_>) {
        match command {
            Command::Prepare => self.responder.prepare(&mut Env { shared: &mut self.shared, cx }),
            Command::Initiate { identity, peer, local, remote } => {
                self.initiate(identity, peer, (local, remote), cx);
            }
            Command::Rekey(id) => self.with(id.0, cx, Association::on_rekey),
            Command::Readdress(id, local) => {
                self.with(id.0, cx, |association, env| association.on_readdress(local, env));
            }
            Command::Heard(id) => self.with(id.0, cx, Association::on_heard),
            Command::Close(id) => {
                self.with(id.0, cx, |association, env| association.on_close(Reason::Closed, env));
            }
            Command::Vector(id, vector) => {
                self.with(id.0, cx, |association, env| association.on_vector(vector, env));
            }
            Command::Answer(id, answer) => {
                self.with(id.0, cx, |association, env| association.on_answer(*answer, env));
            }
        }
    }

    /// [`Command::Initiate`], and the name of what it began, if there is such an identity and the peer is one we associate with.
    pub fn initiate(
        &mut self,
        identity: usize,
        peer: Option<Hit>,
        (local, remote): (Addr, Addr),
        cx: &mut Ctx<'_>,
    ) -> Option<AssociationId> {
        let own = Arc::clone(self.shared.identities.get(identity)?);
        let subscriber = match &self.shared.config.aka {
            Aka::Subscriber(name) => Some(name[..].into()),
            Aka::None | Aka::Required => None,
        };
        Some(self.initiate_as(Initiator { own, subscriber }, peer, (local, remote), cx))
    }

    /// The same for somebody who is not of the configuration: one of many hosts that share an endpoint.
    pub fn initiate_as(
        &mut self,
        who: Initiator,
        peer: Option<Hit>,
        (local, remote): (Addr, Addr),
        cx: &mut Ctx<'_>,
    ) -> AssociationId {
        let id = self.shared.fresh_id();
        let mut env = Env { shared: &mut self.shared, cx };
        if peer.is_some_and(|peer| !env.shared.config.admits.has(peer)) {
            env.emit(Event::Failed(id, Reason::BlockedByPolicy));
            return id;
        }
        let route = Route { local, remote };
        let association = initiator::start((id, who), peer.unwrap_or(Hit::NULL), route, &mut env);
        self.replace(association, cx);
        id
    }

    /// Puts a new association into the tables; one between the same two ends.
    pub(crate) fn replace(&mut self, association: Box<Association>, cx: &mut Ctx<'_>) {
        let key = association.key();
        if let Some(&old) = self.by_hits.get(&key) {
            self.end(old, cx);
        }
        self.keep(association);
    }

    fn keep(&mut self, mut association: Box<Association>) {
        let id = association.core.id.0;
        if matches!(association.state, State::Gone) {
            return self.forget(&association);
        }
        let key = association.key();
        if key != association.filed {
            self.unfile(association.filed, id);
            association.filed = key;
        }
        self.by_hits.insert(key, id);
        let wanted = association.deadline().map(|(at, _)| at);
        if association.armed != wanted {
            self.disarm(&association);
            if let Some(at) = wanted {
                self.timers.insert((at, id), ());
            }
            association.armed = wanted;
        }
        self.count(&association);
        self.associations.insert(id, association);
    }

    /// Counts an association that goes into the tables.
    fn count(&mut self, association: &Association) {
        let (id, at) = (association.core.id.0, association.core.route.remote.ip());
        if !association.core.initiator {
            self.begun_by_peers.insert(id, at);
        }
        match association.state {
            State::AwaitsVector(_) | State::AwaitsResponse(_) => self.unproved.insert(id, at),
            _ => self.unproved.remove(id),
        }
    }

    fn unfile(&mut self, key: Key, id: u64) {
        if self.by_hits.get(&key) == Some(&id) {
            self.by_hits.remove(&key);
        }
    }

    fn disarm(&mut self, association: &Association) {
        if let Some(at) = association.armed {
            self.timers.remove(&(at, association.core.id.0));
        }
    }

    fn forget(&mut self, association: &Association) {
        let id = association.core.id.0;
        self.unfile(association.filed, id);
        self.unfile(association.key(), id);
        self.disarm(association);
        association.core.spis.iter().for_each(|spi| self.shared.give_back(*spi));
        self.unproved.remove(id);
        self.begun_by_peers.remove(id);
    }

    /// Lets an association handle something, and puts it back unless it is gone.
    pub(crate) fn with(
        &mut self,
        id: u64,
        cx: &mut Ctx<'_>,
        handle: impl FnOnce(&mut Association, &mut Env<'_, '_>),
    ) {
        let Some(mut association) = self.associations.remove(&id) else { return };
        let is_up = association.state.is_up();
        self.shared.taken_now.clear();
        self.lent = Some((id, association.filed, is_up, association.core.spis.clone()));
        handle(&mut association, &mut Env { shared: &mut self.shared, cx });
        self.lent = None;
        // One in opportunistic mode has learnt with whom it is: another one with that host is over.
        let other = self.by_hits.get(&association.key()).copied().filter(|other| *other != id);
        if let Some(other) = other.filter(|_| association.key() != association.filed) {
            self.end(other, cx);
        }
        self.keep(association);
    }

    /// An association is over because another one takes its place.
    fn end(&mut self, id: u64, cx: &mut Ctx<'_>) {
        let Some(mut association) = self.associations.remove(&id) else { return };
        association.give_up(Reason::Replaced, &mut Env { shared: &mut self.shared, cx });
        self.forget(&association);
    }

    /// Puts an association into the tables that begins with this.
    pub(crate) fn file(
        &mut self,
        association: Box<Association>,
        cx: &mut Ctx<'_>,
        begin: impl FnOnce(&mut Association, &mut Env<'_, '_>),
    ) {
        let id = association.core.id.0;
        self.associations.insert(id, association);
        self.with(id, cx, begin);
    }

    fn on_tick(&mut self, cx: &mut Ctx<'_>) {
        while let Some((&(at, id), ())) = self.timers.first() {
            if at > cx.now {
                break;
            }
            self.timers.pop_first();
            if let Some(association) = self.associations.get_mut(&id) {
                association.armed = None;
            }
            self.with(id, cx, Association::on_tick);
        }
    }

    /// The association that a panic has taken along is gone, as far as its owner knows of it.
    fn recover(&mut self) {
        let Some((id, key, is_up, spis)) = self.lent.take() else { return };
        self.unfile(key, id);
        let timers: Vec<_> = self.timers.keys().filter(|(_, timer)| *timer == id).copied().collect();
        for timer in &timers {
            self.timers.remove(timer);
        }
        self.unproved.remove(id);
        self.begun_by_peers.remove(id);
        let taken = std::mem::take(&mut self.shared.taken_now);
        spis.iter().chain(&taken).for_each(|spi| self.shared.give_back(*spi));
        let id = AssociationId(id);
        let is_said = |output: &Output<Event>| matches!(output, Output::Event(Event::Established(up)) if up.association == id);
        let is_up = is_up || self.shared.out.iter().any(is_said);
        let end =
            if is_up { Event::Closed(id, Reason::Internal) } else { Event::Failed(id, Reason::Internal) };
        let down = spis.iter().filter(|_| is_up).map(|spi| Event::ChildDown(id, *spi));
        self.shared.out.extend(down.chain([end]).map(Output::Event));
    }
}

impl Engine for Endpoint {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from, to, bytes } => self.on_datagram(from, to, bytes, cx),
            Input::Command(command) => self.on_command(command, cx),
            Input::Tick => self.on_tick(cx),
            Input::Recover => self.recover(),
            // HIP speaks datagrams, and carries no packets of users.
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.shared.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let ((at, id), ()) = self.timers.first()?;
        let why = self.associations.get(id).and_then(|association| association.deadline());
        Some(Deadline { at: *at, why: why.map_or("hip", |(_, why)| why) })
    }
}
