//! All IKE SAs of a host: routes messages by SPI, keeps the tables and the timers.
//! Read RFC 7296 §2.1, §2.5 and §3.1 first.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::map::FastMap;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Few, Input, Output, Sorted, Time};
use keytoll_net::{Addr, Socket, wire::Reader};

use super::config::{Believe, Config, Connection, Responds};
use super::cookie::CookieKeys;
use super::established::{Child, Peer, Task, Tasks};
use super::event::{Command, Event, Reason, SaId};
use super::initiator;
use super::pool::{Lease, Pools};
use super::sa::{Sa, State};
use super::window::Packets;
use crate::half_open::HalfOpenTable;
use crate::lent::Lent;
use crate::names::IKE;
use crate::nat::is_keepalive;
use crate::number::{ExchangeType, NotifyType};
use crate::peers::{Beliefs, Peers, Removal};
use crate::refused::{Acceptable, Offered, RefusedProposal};
pub(super) use crate::route::Route;
use crate::spis::{ProposedSpi, Spis};
use crate::wire::{Flags, Header, Notify, Payload, SecurityAssociation, TrafficSelector};

/// An IKEv2 endpoint, initiator and responder at once.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) shared: Shared,
    pub(super) sas: FastMap<u64, Box<Sa>>,
    /// The deadline of each SA with its purpose; cached, because the host asks often.
    pub(super) timers: Sorted<(Time, u64), &'static str>,
    pub(super) half_open: HalfOpenTable,
    pub(super) cookies: CookieKeys,
    /// The number of SAs that wait for the answer to their DELETE.
    closing: usize,
    /// Closed SAs that linger, the first to be dropped first.
    pub(super) lingering: Sorted<(Time, u64)>,
    /// Established SAs by their peer's first address, if only such peers may initiate another.
    pub(super) known: Sorted<(IpAddr, u64)>,
    /// Whether new SAs are refused.
    pub(super) draining: bool,
    /// The SA that is out of the tables, and its inner address.
    lent: (Lent, Option<Lease>),
}

/// What follows from a configuration. Endpoints with the same one share it.
#[derive(Debug)]
pub(crate) struct Setup {
    config: Arc<Config>,
    /// How long a request is retransmitted before the peer is given up.
    pub(super) patience: Duration,
    connections: Vec<Arc<Connection>>,
    /// All IKE suites of all connections: what a responder accepts before it knows the initiator.
    pub(super) suites: Vec<Suite>,
    /// All trust anchors of all connections: what a responder requests before it knows the initiator.
    pub(super) authorities: Arc<[[u8; 20]]>,
    /// Which connections require the same authentication.
    pub(super) beliefs: Beliefs,
}

/// What all SAs of an endpoint share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    pub(super) setup: Arc<Setup>,
    pub(super) rng: Rng,
    pub(super) spis: Spis,
    pub(super) pools: Pools,
    pub(super) out: VecDeque<Output<Event>>,
    /// SAs created by other SAs: rekeyed IKE SAs.
    #[expect(clippy::vec_box, reason = "they move on into a table of boxes")]
    pub(super) new_sas: Vec<Box<Sa>>,
    /// The IKE SAs of authenticated initiators.
    pub(super) peers: Peers,
    /// IKE SAs to remove because their peer exceeds its limit.
    pub(super) removals: Vec<Removal>,
    /// Children being moved from one IKE SA to its replacement.
    pub(super) moves: Vec<Move>,
}

/// Children that move to another IKE SA of this endpoint.
#[derive(Debug)]
pub(super) struct Move {
    /// Our SPI of the replaced IKE SA.
    pub(super) from: u64,
    /// Our SPI of the new one.
    pub(super) to: u64,
    pub(super) children: Few<Child>,
    pub(super) peer: Peer,
    pub(super) reauthenticate_at: Option<Time>,
    /// Its remaining tasks.
    pub(super) tasks: Tasks,
}

/// The environment of an SA while it handles one input.
pub(super) struct Env<'a, 'b> {
    pub(super) shared: &'a mut Shared,
    pub(super) cx: &'a mut Ctx<'b>,
    /// Where the request that is handled came from.
    pub(super) asked_from: Option<Route>,
}

impl<'a, 'b> Env<'a, 'b> {
    pub(super) const fn new(shared: &'a mut Shared, cx: &'a mut Ctx<'b>) -> Self {
        Self { shared, cx, asked_from: None }
    }
}

impl Env<'_, '_> {
    pub(super) const fn now(&self) -> Time {
        self.cx.now
    }

    pub(super) fn emit(&mut self, event: Event) {
        self.shared.spis.note(&event);
        self.shared.out.push_back(Output::Event(event));
    }

    /// Reports to the owner that none of these proposals is acceptable.
    pub(super) fn refuse_proposal(
        &mut self,
        remote: Socket,
        sa: &SecurityAssociation<'_>,
        acceptable: Acceptable,
    ) {
        let offered = Offered::v2(sa);
        self.emit(Event::ProposalRefused(Box::new(RefusedProposal { remote, offered, acceptable })));
    }

    pub(super) fn discard(&mut self, why: &'static str) {
        self.cx.discard(IKE, why);
    }

    /// Sends the packets of a message for the first time, records the facts, and returns the message to be kept.
    pub(super) fn send(&mut self, route: Route, mut message: Packets) -> Packets {
        for index in 0..message.packets().len() {
            self.cx.trace.record(Fact::Sent(message.fact(index, false)));
            let datagram = route.datagram_of(&mut message.packets_mut()[index]);
            self.shared.out.push_back(Output::Datagram(datagram));
        }
        message
    }

    /// Sends the packets of a message and records the facts.
    pub(super) fn transmit(&mut self, route: Route, message: &Packets, again: bool) {
        self.shared.transmit(route, message, again, self.cx);
    }
}

/// The connections that speak IKEv2.
fn spoken(config: &Config) -> impl Iterator<Item = &Connection> {
    config.connections.iter().filter(|connection| connection.version.is_v2())
}

/// A connection with the restrictions that apply to its SAs.
fn held_to_its_address(connection: &Connection) -> Connection {
    let mut connection = connection.clone();
    // RFC 4301 §4.4.3.3: such a peer may only use its assigned or its outer address.
    if let (Some(_), Some(child)) = (connection.pool, &mut connection.child) {
        child.remote.clear();
    }
    connection
}

/// The anchors of all connections, without duplicates.
fn authorities(config: &Config) -> BTreeSet<[u8; 20]> {
    let trusts = spoken(config).filter_map(|connection| match &connection.remote {
        Believe::Certificate(trust) => Some(trust.authorities()),
        Believe::Psk { .. } | Believe::RawKey(_) | Believe::Eap => None,
    });
    trusts.flatten().copied().collect()
}

impl Setup {
    /// What follows from this configuration.
    pub(crate) fn new(config: Config) -> Self {
        let mut suites = Vec::new();
        for suite in spoken(&config).flat_map(|connection| &connection.suites) {
            if !suites.contains(suite) {
                suites.push(*suite);
            }
        }
        let connections: Vec<_> = config.connections.iter().map(held_to_its_address).map(Arc::new).collect();
        Self {
            beliefs: Beliefs::of(&connections),
            connections,
            suites,
            authorities: authorities(&config).into_iter().collect(),
            patience: config.retransmission.total(),
            config: Arc::new(config),
        }
    }

    /// The configuration.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config)
    }
}

impl Shared {
    fn new(setup: &Arc<Setup>, rng: Rng, spis: Spis) -> Self {
        Self {
            pools: Pools::new(&setup.config),
            config: Arc::clone(&setup.config),
            setup: Arc::clone(setup),
            rng,
            spis,
            out: VecDeque::new(),
            new_sas: Vec::new(),
            peers: Peers::default(),
            removals: Vec::new(),
            moves: Vec::new(),
        }
    }

    /// A connection by its index.
    pub(super) fn connection(&self, index: usize) -> Arc<Connection> {
        Arc::clone(&self.setup.connections[index])
    }

    // RFC 4301 §4.4.3.3: the administrator decides which addresses an authenticated peer may use.
    /// The traffic address of a peer without an inner address: its outer one. With a pool only if the connection's `remote` covers
    /// it, and never an address of the pool.
    pub(super) fn outer_address(&self, connection: usize, ip: IpAddr) -> Option<IpAddr> {
        let connection = &self.config.connections[connection];
        let host = TrafficSelector::host(ip);
        let is_named = || {
            let mut networks = connection.child.iter().flat_map(|child| &child.remote);
            networks.any(|network| network.contains(&host))
        };
        let may = (connection.pool.is_none() || is_named()) && !self.pools.covers(ip);
        may.then_some(ip)
    }

    /// The peer of a connection, given by its index, is probed after so much silence.
    pub(super) fn liveness_after(&self, connection: usize) -> Option<Duration> {
        self.setup.connections[connection].liveness_after
    }

    /// All connections that speak IKEv2, by index.
    pub(super) fn connections(&self) -> impl Iterator<Item = (usize, &Arc<Connection>)> {
        let connections = self.setup.connections.iter().enumerate();
        connections.filter(|(_, connection)| connection.version.is_v2())
    }

    /// A new SPI; RFC 7296 §3.1: never zero.
    pub(super) fn fresh_spi(&mut self) -> u64 {
        self.rng.u64().max(1)
    }

    /// A fresh SPI for an IPsec SA.
    pub(super) fn fresh_child_spi(&mut self) -> ProposedSpi {
        let Self { spis, rng, .. } = self;
        spis.propose(|| u32::from_be_bytes(rng.bytes()))
    }
}

impl Shared {
    /// Sends the packets of a message, or one of them, and records the facts.
    pub(super) fn transmit(&mut self, route: Route, message: &Packets, again: bool, cx: &mut Ctx<'_>) {
        for (index, packet) in message.packets().iter().enumerate() {
            cx.trace.record(Fact::Sent(message.fact(index, again)));
            self.send(route, packet);
        }
    }

    fn send(&mut self, route: Route, packet: &[u8]) {
        self.out.push_back(Output::Datagram(route.datagram(packet)));
    }
}

impl Endpoint {
    /// An endpoint that draws all random numbers from `rng`.
    pub fn new(config: Config, rng: Rng) -> Self {
        Self::among(&Arc::new(Setup::new(config)), rng, Spis::default())
    }

    /// As [`Self::new`], on a host where others allocate SPIs, too.
    pub(crate) fn among(setup: &Arc<Setup>, mut rng: Rng, spis: Spis) -> Self {
        let (cookies, places_held) = (CookieKeys::new(&mut rng), setup.config.half_open.max);
        Self {
            shared: Shared::new(setup, rng, spis),
            sas: FastMap::default(),
            timers: Sorted::default(),
            half_open: HalfOpenTable::new(places_held),
            cookies,
            closing: 0,
            lingering: Sorted::default(),
            known: Sorted::default(),
            draining: false,
            lent: (Lent::default(), None),
        }
    }

    /// Whether an IKE SA belongs to this endpoint, half-open and closing ones included.
    pub fn holds(&self, sa: SaId) -> bool {
        self.sas.contains_key(&sa.0)
    }

    /// Whether an IKE SA is gone on both sides, or only repeats its last response.
    pub fn is_over(&self, sa: SaId) -> bool {
        self.sas.get(&sa.0).is_none_or(|sa| sa.lingers_until().is_some())
    }

    /// What somebody has told of an IKE SA that is being set up, unproved: why it fails unless a better answer arrives.
    pub fn refusal(&self, sa: SaId) -> Option<Reason> {
        match &self.sas.get(&sa.0)?.state {
            State::SaInitSent(wait) => wait.refusal(),
            _ => None,
        }
    }

    /// When an IKE SA last made progress: it received an authenticated message of its peer, or sent a new request.
    pub fn went_on(&self, sa: SaId) -> Option<Time> {
        let core = &self.sas.get(&sa.0)?.core;
        Some(core.requests.since().map_or(core.heard, |since| since.max(core.heard)))
    }

    /// The number of its IKE SAs, half-open and closing ones included.
    pub fn sa_count(&self) -> usize {
        self.sas.len()
    }

    /// The number of IKE SAs that wait for the peer to confirm their deletion.
    pub const fn closing_count(&self) -> usize {
        self.closing
    }

    /// The number of closed IKE SAs that only retransmit their last response.
    pub fn lingering_count(&self) -> usize {
        self.lingering.len()
    }

    /// Where the peer of an IKE SA is.
    pub fn remote(&self, sa: SaId) -> Option<Socket> {
        self.sas.get(&sa.0).map(|sa| sa.core.route.remote)
    }

    /// Source and destination of an SA's messages, if we are behind a NAT whose mapping must be kept alive.
    pub fn path_to_keep(&self, sa: SaId) -> Option<(Socket, Socket)> {
        let core = &self.sas.get(&sa.0)?.core;
        core.nat.forgets.then_some((core.route.local, core.route.remote))
    }

    /// The number of half-open SAs as responder, including refused ones while they linger.
    pub fn half_open_count(&self) -> usize {
        self.half_open.count()
    }

    fn on_packet(&mut self, from: Socket, to: Socket, bytes: &[u8], cx: &mut Ctx<'_>) {
        let marked = to.port == self.shared.config.nat_port && to.port != self.shared.config.port;
        if is_keepalive(marked, bytes) {
            return;
        }
        let message = if marked { bytes.strip_prefix(&[0; 4]) } else { Some(bytes) };
        let Some(message) = message else { return cx.discard(IKE, "no non-ESP marker") };
        let Ok(header) = Header::read(&mut Reader::new(message)) else {
            return cx.discard(IKE, "malformed header");
        };
        let route = Route { local: to, remote: from, marked };
        if header.major() != 2 {
            return self.refuse_version(&header, route, cx);
        }
        if header.exchange == ExchangeType::IKE_SA_INIT && !header.flags.is_response() {
            return self.on_first_request(&header, route, message, cx);
        }
        let spi = if header.flags.is_from_initiator() { header.responder_spi } else { header.initiator_spi };
        if !self.with_sa(spi, cx, |sa, env| sa.on_message(&header, route, message, env)) {
            cx.discard(IKE, "unknown SPI");
        }
    }

    /// RFC 7296 §2.5: a higher major version is refused with ours.
    fn refuse_version(&mut self, header: &Header, route: Route, cx: &mut Ctx<'_>) {
        cx.discard(IKE, "INVALID_MAJOR_VERSION");
        if header.major() > 2 && !header.flags.is_response() {
            self.answer_statelessly(header, route, Notify::new(NotifyType::INVALID_MAJOR_VERSION, &[]), cx);
        }
    }

    /// Answers an IKE_SA_INIT without keeping state.
    pub(super) fn answer_statelessly(
        &mut self,
        request: &Header,
        route: Route,
        notify: Notify<'_>,
        cx: &mut Ctx<'_>,
    ) {
        let spis = (request.initiator_spi, 0);
        let flags = Flags::new(false, true);
        let header = Header::new(spis, request.exchange, flags, request.message_id);
        let message = super::outbound::plain(&header, |m| m.push(&Payload::Notify(notify)));
        self.shared.transmit(route, &message, false, cx);
    }

    /// As [`Command::Initiate`]; returns the id of the SA, if there is such a connection. `terms`, if any, apply in place of the
    /// connection's until the SA is established.
    pub fn initiate(
        &mut self,
        connection: usize,
        terms: Option<Arc<Connection>>,
        (local, remote): (IpAddr, IpAddr),
        cx: &mut Ctx<'_>,
    ) -> Option<SaId> {
        let env = &mut Env::new(&mut self.shared, cx);
        let sa = initiator::start(connection, terms, local, remote, env)?;
        let id = sa.core.id();
        self.keep(sa);
        Some(id)
    }

    /// Gives up an attempt to set up an IKE SA, without a word to the responder or an event.
    pub fn abandon(&mut self, sa: SaId) {
        if self.sas.get(&sa.0).is_some_and(|sa| sa.state.is_attempt())
            && let Some(mut sa) = self.take(sa.0)
        {
            sa.state = State::Gone;
            self.keep(sa);
        }
    }

    fn on_command(&mut self, command: Command, cx: &mut Ctx<'_>) {
        let (spi, task) = match command {
            Command::Initiate { connection, local, remote } => {
                self.initiate(connection, None, (local, remote), cx);
                return;
            }
            Command::CreateChild(sa) => (sa, Task::NewChild),
            Command::RekeyChild(sa, spi) => (sa, Task::RekeyChild(spi)),
            Command::RekeyIke(sa) => (sa, Task::RekeyIke),
            Command::DeleteChild(sa, spi) => (sa, Task::DeleteChild(spi)),
            // RFC 7296 §2.1: a lost answer is requested again by retransmission; nothing depends on whether it arrived.
            Command::ChildHeard(..) => return,
            Command::Delete(sa) => (sa, Task::Delete(Reason::Deleted)),
            Command::Probe(sa) => (sa, Task::Probe),
            Command::Drain => {
                self.draining = true;
                return;
            }
            Command::Eap(sa, eap) => {
                self.with_sa(sa.0, cx, |sa, env| sa.on_eap(eap, env));
                return;
            }
        };
        self.with_sa(spi.0, cx, |sa, env| sa.on_task(task, env));
    }

    fn on_tick(&mut self, cx: &mut Ctx<'_>) {
        while let Some((&(at, spi), _)) = self.timers.first() {
            if at > cx.now {
                break;
            }
            self.with_sa(spi, cx, Sa::on_tick);
        }
    }

    /// Lends an SA to `act`, then updates its timer, its place in the tables and the SAs that it created; false if there is no
    /// such SA.
    pub(super) fn with_sa(
        &mut self,
        spi: u64,
        cx: &mut Ctx<'_>,
        act: impl FnOnce(&mut Sa, &mut Env<'_, '_>),
    ) -> bool {
        let Some(mut sa) = self.take(spi) else { return false };
        act(&mut sa, &mut Env::new(&mut self.shared, cx));
        self.keep(sa);
        self.settle_new(cx);
        while let Some(removal) = self.shared.removals.pop() {
            self.remove(removal, cx);
            self.settle_new(cx);
        }
        true
    }

    fn settle_new(&mut self, cx: &mut Ctx<'_>) {
        while let Some(new) = self.shared.new_sas.pop() {
            self.keep(new);
        }
        while let Some(moved) = self.shared.moves.pop() {
            let taken = self.take(moved.to);
            self.lent.0.receives(moved.children.iter().map(Child::inbound_spi));
            self.lent.1 = moved.peer.lease;
            let env = &mut Env::new(&mut self.shared, cx);
            let Some(mut successor) = taken else {
                moved.abandon(env);
                continue;
            };
            successor.adopt(moved, env);
            self.keep(successor);
        }
    }

    /// An IKE SA had to go.
    fn remove(&mut self, removal: Removal, cx: &mut Ctx<'_>) {
        let (Removal::Delete(spi) | Removal::Forget(spi)) = removal;
        let Some(mut sa) = self.take(spi) else { return };
        let env = &mut Env::new(&mut self.shared, cx);
        match removal {
            Removal::Delete(_) => sa.on_task(Task::Delete(Reason::Replaced), env),
            Removal::Forget(_) => sa.forget(env),
        }
        self.keep(sa);
    }

    /// Takes an SA out of the tables; [`Self::keep`] puts it back.
    fn take(&mut self, spi: u64) -> Option<Box<Sa>> {
        let sa = self.sas.remove(&spi)?;
        self.known.remove(&(sa.core.met_at, spi));
        self.closing -= usize::from(sa.is_closing());
        if let State::Lingering(until) = sa.state {
            self.lingering.remove(&(until, spi));
        }
        if let Some(at) = sa.armed {
            self.timers.remove(&(at, spi));
        }
        self.lent.1 = sa.lend(&mut self.lent.0);
        Some(sa)
    }

    pub(super) fn keep(&mut self, mut sa: Box<Sa>) {
        self.lent.0.is_back();
        self.shared.pools.settle();
        if !sa.keeps_its_place()
            && let Some(place) = sa.half_open.take()
        {
            match sa.state {
                State::Gone => self.half_open.forget(*place, sa.spi()),
                _ => self.half_open.remove(*place, sa.spi()),
            }
        }
        if matches!(sa.state, State::Gone) {
            return;
        }
        self.closing += usize::from(sa.is_closing());
        let deadline = sa.deadline(&self.shared);
        sa.armed = deadline.map(|deadline| deadline.at);
        if let Some(Deadline { at, why }) = deadline {
            self.timers.insert((at, sa.spi()), why);
        }
        let lingers_until = sa.lingers_until();
        let spi = sa.spi();
        if self.shared.config.responds == Responds::ToPeers && matches!(sa.state, State::Established(_)) {
            self.known.insert((sa.core.met_at, spi), ());
        }
        self.sas.insert(spi, sa);
        if let Some(until) = lingers_until {
            self.linger(until, spi);
        }
    }

    /// Beyond the limit the oldest closed SAs are dropped: a peer loses only a retransmitted last response, and a refused one does
    /// not get its place back sooner.
    fn linger(&mut self, until: Time, spi: u64) {
        self.lingering.insert((until, spi), ());
        while self.lingering.len() > self.shared.config.half_open.lingering_max {
            let Some(((_, oldest), ())) = self.lingering.pop_first() else { return };
            if let Some(mut sa) = self.take(oldest) {
                sa.state = State::Gone;
                self.keep(sa);
            }
        }
    }
}

impl Endpoint {
    /// Drops an SA whose message was not completely handled, and releases everything it held.
    fn let_go(&mut self, cx: &mut Ctx<'_>) {
        if let Some((sa, half_open)) = self.lent.0.missing() {
            half_open.into_iter().for_each(|place| self.half_open.forget(place, sa.0));
            self.shared.peers.lost(sa.0);
        }
        self.shared.new_sas.clear();
        let moves = std::mem::take(&mut self.shared.moves);
        let lease = self.lent.1.take().filter(|_| self.lent.0.missing().is_some());
        let env = &mut Env::new(&mut self.shared, cx);
        moves.into_iter().for_each(|moved| moved.abandon(env));
        self.lent.0.events(&env.shared.out).into_iter().for_each(|event| env.emit(event));
        env.shared.pools.take_back();
        lease.into_iter().for_each(|lease| env.shared.pools.give_back(lease));
    }
}

impl Engine for Endpoint {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from: Addr::Udp(from), to: Addr::Udp(to), bytes } => {
                self.on_packet(from, to, bytes, cx);
            }
            Input::Datagram { .. } => cx.discard(IKE, "not in UDP"),
            Input::Command(command) => self.on_command(command, cx),
            Input::Tick => self.on_tick(cx),
            Input::Recover => self.let_go(cx),
            // IKE uses datagrams only, and forwards no user packets.
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.shared.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.timers.first().map(|(&(at, _), &why)| Deadline { at, why })
    }
}
