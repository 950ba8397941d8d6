//! All ISAKMP SAs of a host: routes messages by cookies, keeps the tables and the timers.
//! Read RFC 2408 §2.5.3 (cookies), §3.1, §5.2 first.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::map::FastMap;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_net::{Addr, Socket, wire::Reader};

use super::directory::{Directory, Entry};
use super::established::Task;
use super::number::{AGGRESSIVE, IDENTITY_PROTECTION};
use super::phase1::Step;
use super::replacement::Action;
use super::sa::{Core, Counted, Sa, State};
use super::transmission::{Fingerprint, Packet};
use super::{auth, initiator};
use crate::config::{Config, Connection};
use crate::event::{Command, Event, Reason, SaId};
use crate::half_open::HalfOpenTable;
use crate::lent::Lent;
use crate::names::IKE;
use crate::nat::is_keepalive;
use crate::peers::{Beliefs, Peer, Peers, Proved, Removal};
use crate::route::Route;
use crate::spis::{ProposedSpi, Spis};
use crate::wire::{Header, Identity};

/// An IKEv1 endpoint, initiator and responder at once.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) shared: Shared,
    pub(super) sas: FastMap<u64, Box<Sa>>,
    count: usize,
    /// The deadline of each SA with its purpose; cached, because the host asks often.
    timers: BTreeMap<(Time, u64), &'static str>,
    pub(super) half_open: HalfOpenTable,
    /// Whether new SAs are refused.
    pub(super) draining: bool,
    /// The SA that is out of the tables, and the one that it was to replace.
    pub(super) lent: (Lent, Option<u64>),
}

/// What all SAs of an endpoint share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    pub(super) connections: Vec<Arc<Connection>>,
    pub(super) rng: Rng,
    spis: Spis,
    /// Used in place of an unknown peer's shared key, so that an answer does not reveal which peers are known.
    pub(super) decoy: Secret,
    out: VecDeque<Output<Event>>,
    /// SAs started by other SAs: the next phase 1.
    #[expect(clippy::vec_box, reason = "they move on into a table of boxes")]
    pub(super) new_sas: Vec<Box<Sa>>,
    /// Actions of SAs on other SAs.
    pub(super) actions: VecDeque<Action>,
    pub(super) directory: Directory,
    /// The SAs that each peer has initiated.
    counts: Peers,
    /// Those that have not been reported to the owner yet.
    counts_unannounced: Peers,
    /// Which connections require the same authentication.
    beliefs: Beliefs,
}

/// The environment of an SA while it handles one input.
pub(super) struct Env<'a, 'b> {
    pub(super) shared: &'a mut Shared,
    pub(super) cx: &'a mut Ctx<'b>,
}

impl Env<'_, '_> {
    pub(super) const fn now(&self) -> Time {
        self.cx.now
    }

    pub(super) fn emit(&mut self, event: Event) {
        self.shared.spis.note(&event);
        self.shared.out.push_back(Output::Event(event));
    }

    pub(super) fn discard(&mut self, why: &'static str) {
        self.cx.discard(IKE, why);
    }

    /// Sends a message and records the fact.
    pub(super) fn transmit(&mut self, route: Route, packet: &Packet, again: bool) {
        self.cx.trace.record(Fact::Sent(packet.fact(again)));
        self.shared.out.push_back(Output::Datagram(route.datagram(&packet.bytes)));
    }
}

impl Shared {
    fn new(config: Config, mut rng: Rng, spis: Spis) -> Self {
        let connections: Vec<_> = config.connections.iter().cloned().map(Arc::new).collect();
        Self {
            beliefs: Beliefs::of(&connections),
            connections,
            config: Arc::new(config),
            decoy: Secret::from(&rng.bytes::<32>()[..]),
            rng,
            spis,
            out: VecDeque::new(),
            new_sas: Vec::new(),
            actions: VecDeque::new(),
            directory: Directory::default(),
            counts: Peers::default(),
            counts_unannounced: Peers::default(),
        }
    }

    /// What the holder of this identity has proved.
    // RFC 2409 §5.4: in main mode a shared key is found by address, and its holder may claim any identity.
    fn proved<'a>(&self, core: &Core, identity: &'a Identity) -> Proved<'a> {
        let connection = &self.connections[core.connection];
        let is_of_address = auth::is_key_of_address(connection, identity, core.met_at);
        let belief = self.beliefs.get(core.connection);
        Proved { belief, key_of: is_of_address.then_some(core.met_at), identity }
    }

    /// Whoever has proved this identity.
    pub(super) fn peer(&self, core: &Core, identity: &Identity) -> Peer {
        Peer::of(self.proved(core, identity))
    }

    /// A connection by its index.
    pub(super) fn connection(&self, index: usize) -> Arc<Connection> {
        Arc::clone(&self.connections[index])
    }

    /// All connections that speak IKEv1, by index.
    pub(super) fn connections(&self) -> impl Iterator<Item = (usize, &Arc<Connection>)> {
        self.connections.iter().enumerate().filter(|(_, connection)| !connection.version.is_v2())
    }

    /// A new cookie; RFC 2408 §2.5.3: unpredictable, and not zero, which stands for none.
    pub(super) fn fresh_cookie(&mut self) -> u64 {
        self.rng.u64().max(1)
    }

    /// A new message id; RFC 2408 §3.1: unpredictable, and not zero, which is phase 1's.
    pub(super) fn fresh_message_id(&mut self) -> u32 {
        u32::from_be_bytes(self.rng.bytes()).max(1)
    }

    /// A fresh SPI for an IPsec SA.
    pub(super) fn fresh_child_spi(&mut self) -> ProposedSpi {
        let Self { spis, rng, .. } = self;
        spis.propose(|| u32::from_be_bytes(rng.bytes()))
    }

    /// Whether there is an established SA with this address.
    pub(super) fn knows(&self, ip: IpAddr) -> bool {
        self.directory.knows(ip)
    }
}

impl Endpoint {
    /// An endpoint that draws all random numbers from `rng`.
    pub fn new(config: Config, rng: Rng) -> Self {
        Self::among(config, rng, Spis::default())
    }

    /// As [`Self::new`], on a host where others allocate SPIs, too.
    pub(crate) fn among(config: Config, rng: Rng, spis: Spis) -> Self {
        Self {
            half_open: HalfOpenTable::new(config.half_open.max),
            shared: Shared::new(config, rng, spis),
            sas: FastMap::default(),
            count: 0,
            timers: BTreeMap::new(),
            draining: false,
            lent: (Lent::default(), None),
        }
    }

    /// Whether an ISAKMP SA belongs to this endpoint, half-open ones included.
    pub fn holds(&self, sa: SaId) -> bool {
        self.sas.contains_key(&sa.0)
    }

    /// What somebody has told of an ISAKMP SA that is being set up, unproved: why it fails unless a better message arrives.
    pub fn refusal(&self, sa: SaId) -> Option<Reason> {
        self.sas.get(&sa.0)?.core.refusal.as_ref().map(|refusal| refusal.reason)
    }

    /// When an ISAKMP SA last made progress: it accepted a message of its peer, or sent a new request.
    pub fn went_on(&self, sa: SaId) -> Option<Time> {
        self.sas.get(&sa.0).map(|sa| sa.went_on())
    }

    /// The number of its ISAKMP SAs, half-open ones included.
    pub const fn sa_count(&self) -> usize {
        self.count
    }

    /// The number of ISAKMP SAs being closed: always 0, because a DELETE is not confirmed (RFC 2408 §5.15).
    pub const fn closing_count(&self) -> usize {
        0
    }

    /// Where the peer of an ISAKMP SA is.
    pub fn remote(&self, sa: SaId) -> Option<Socket> {
        self.sas.get(&sa.0).map(|sa| sa.core.route.remote)
    }

    /// Source and destination of an SA's messages, if we are behind a NAT whose mapping must be kept alive.
    pub fn path_to_keep(&self, sa: SaId) -> Option<(Socket, Socket)> {
        let core = &self.sas.get(&sa.0)?.core;
        core.nat.forgets.then_some((core.route.local, core.route.remote))
    }

    /// The number of half-open SAs as responder.
    pub const fn half_open_count(&self) -> usize {
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
        if header.major() != 1 {
            return cx.discard(IKE, "INVALID_MAJOR_VERSION");
        }
        let route = Route { local: to, remote: from, marked };
        let step = Step { header: &header, route, message, fingerprint: Fingerprint::of(message) };
        if header.responder_spi == 0 && is_phase1(&header) {
            return self.on_first_message(&step, cx);
        }
        // Both cookies are in every header, whoever sends: ours is the known one.
        let ours =
            [header.initiator_spi, header.responder_spi].into_iter().find(|it| self.sas.contains_key(it));
        let known = ours.is_some_and(|cookie| self.with_sa(cookie, cx, |sa, env| sa.on_message(&step, env)));
        if !known {
            cx.discard(IKE, "unknown cookies");
        }
    }

    /// As [`Command::Initiate`]; returns the id of the SA, also if it failed at once, or `None` without such a connection.
    pub fn initiate(
        &mut self,
        connection: usize,
        terms: Option<Arc<Connection>>,
        (local, remote): (IpAddr, IpAddr),
        cx: &mut Ctx<'_>,
    ) -> Option<SaId> {
        let env = &mut Env { shared: &mut self.shared, cx };
        match initiator::start(connection, terms, local, remote, env) {
            Ok(sa) => {
                let id = sa.core.id();
                self.keep(sa);
                Some(id)
            }
            Err(failed) => failed,
        }
    }

    fn on_command(&mut self, command: &Command, cx: &mut Ctx<'_>) {
        let (sa, task) = match *command {
            Command::Initiate { connection, local, remote } => {
                self.initiate(connection, None, (local, remote), cx);
                return;
            }
            Command::CreateChild(sa) => (sa, Task::NewChild),
            Command::RekeyChild(sa, spi) => (sa, Task::RekeyChild(spi)),
            Command::RekeyIke(sa) => (sa, Task::RekeyIke),
            Command::DeleteChild(sa, spi) => (sa, Task::DeleteChild(spi)),
            Command::ChildHeard(sa, spi) => (sa, Task::ChildHeard(spi)),
            Command::Delete(sa) => (sa, Task::Delete(Reason::Deleted)),
            Command::Probe(sa) => (sa, Task::Probe),
            Command::Drain => {
                self.draining = true;
                return;
            }
            Command::Eap(..) => return cx.discard(IKE, "no EAP in IKEv1"),
        };
        self.with_sa(sa.0, cx, |sa, env| sa.on_task(task, env));
    }

    /// Gives up an attempt to set up an ISAKMP SA, without a word to the responder or an event.
    pub fn abandon(&mut self, sa: SaId) {
        if self.sas.get(&sa.0).is_some_and(|sa| sa.state.is_attempt())
            && let Some(mut sa) = self.take(sa.0)
        {
            sa.state = State::Gone;
            self.keep(sa);
        }
    }

    fn on_tick(&mut self, cx: &mut Ctx<'_>) {
        while let Some((&(at, cookie), _)) = self.timers.first_key_value() {
            if at > cx.now {
                break;
            }
            self.with_sa(cookie, cx, Sa::on_tick);
        }
    }

    /// Lends an SA to `act`, then updates its timer, its place in the tables and its actions on others; false if there is no
    /// such SA.
    pub(super) fn with_sa(
        &mut self,
        cookie: u64,
        cx: &mut Ctx<'_>,
        act: impl FnOnce(&mut Sa, &mut Env<'_, '_>),
    ) -> bool {
        let Some(mut sa) = self.take(cookie) else { return false };
        act(&mut sa, &mut Env { shared: &mut self.shared, cx });
        self.keep(sa);
        while let Some(new) = self.shared.new_sas.pop() {
            self.keep(new);
        }
        while let Some(action) = self.shared.actions.pop_front() {
            self.perform(action, cx);
        }
        true
    }

    /// Takes an SA out of the tables; [`Self::keep`] puts it back.
    pub(super) fn take(&mut self, cookie: u64) -> Option<Box<Sa>> {
        let sa = self.sas.remove(&cookie)?;
        self.count -= 1;
        if let Some(at) = sa.armed {
            self.timers.remove(&(at, cookie));
        }
        sa.lend(&mut self.lent.0);
        self.lent.1 = sa.replaces();
        Some(sa)
    }

    pub(super) fn keep(&mut self, mut sa: Box<Sa>) {
        self.lent.0.is_back();
        let replaces = self.lent.1.take();
        if !sa.is_half_open()
            && let Some(place) = sa.half_open.take()
        {
            match sa.state {
                State::Gone => self.half_open.forget(place, sa.cookie()),
                _ => self.half_open.remove(place, sa.cookie()),
            }
        }
        self.list(&mut sa);
        self.count_for_peer(&mut sa);
        if matches!(sa.state, State::Gone) {
            // However it ended, it has replaced no other SA.
            return self.shared.actions.extend(replaces.map(|old| Action::KeepOn { old }));
        }
        let deadline = sa.deadline();
        sa.armed = deadline.map(|deadline| deadline.at);
        if let Some(Deadline { at, why }) = deadline {
            self.timers.insert((at, sa.cookie()), why);
        }
        self.count += 1;
        self.sas.insert(sa.cookie(), sa);
    }

    /// Counts the established SAs that each peer has initiated; those that may replace another one are counted separately.
    // RFC 8019 §5: limits the number of SAs per peer.
    fn count_for_peer(&mut self, sa: &mut Sa) {
        let cookie = sa.cookie();
        let state = sa.peer().filter(|_| sa.core.is_of_peer).map(|_| sa.is_unannounced());
        if state == sa.core.counted.as_ref().map(|counted| counted.is_unannounced) {
            return;
        }
        let arrived = sa
            .peer()
            .zip(state)
            .map(|(identity, state)| (self.shared.peer(&sa.core, identity).counted(), state));
        let Shared { counts, counts_unannounced, actions, config, .. } = &mut self.shared;
        match sa.core.counted.take() {
            Some(Counted { peer, is_unannounced: true }) => drop(counts_unannounced.leaves(&peer, cookie)),
            Some(Counted { peer, .. }) => drop(counts.leaves(&peer, cookie)),
            None => {}
        }
        let Some((peer, is_unannounced)) = arrived else { return };
        let peer = Arc::new(peer);
        let counts = if is_unannounced { counts_unannounced } else { counts };
        for removal in counts.arrives(&peer, cookie, peer.share(config.ike_sas_max), false) {
            // A DELETE is not answered: an SA that was removed before is gone.
            if let Removal::Delete(oldest) = removal {
                actions.push_back(Action::Remove(oldest));
            }
        }
        sa.core.counted = Some(Counted { peer, is_unannounced });
    }

    /// Updates the index of established SAs.
    fn list(&mut self, sa: &mut Sa) {
        let identity = sa.peer();
        let ip = identity.map(|_| sa.core.route.remote.ip);
        if sa.listed.as_ref().map(|listed| listed.ip) == ip {
            return;
        }
        let entry = identity.zip(ip).map(|(identity, ip)| {
            let peer = sa.listed.as_ref().map(|listed| Arc::clone(&listed.peer));
            Entry { ip, peer: peer.unwrap_or_else(|| Arc::new(self.shared.peer(&sa.core, identity))) }
        });
        let directory = &mut self.shared.directory;
        sa.listed.iter().for_each(|before| directory.remove(before, sa.cookie()));
        entry.iter().for_each(|entry| directory.insert(entry, sa.cookie()));
        sa.listed = entry.map(Box::new);
    }
}

impl Endpoint {
    /// Drops an SA whose message was not completely handled, and releases everything it held.
    fn let_go(&mut self, cx: &mut Ctx<'_>) {
        if let Some((sa, half_open)) = self.lent.0.missing() {
            half_open.into_iter().for_each(|place| self.half_open.forget(place, sa.0));
            // However it ended, it has replaced no other SA.
            self.shared.actions.extend(self.lent.1.take().map(|old| Action::KeepOn { old }));
            self.shared.directory.lost(sa.0);
            self.shared.counts.lost(sa.0);
            self.shared.counts_unannounced.lost(sa.0);
        }
        self.shared.new_sas.clear();
        let env = &mut Env { shared: &mut self.shared, cx };
        self.lent.0.events(&env.shared.out).into_iter().for_each(|event| env.emit(event));
        while let Some(action) = self.shared.actions.pop_front() {
            self.perform(action, cx);
        }
    }
}

fn is_phase1(header: &Header) -> bool {
    header.exchange == IDENTITY_PROTECTION || header.exchange == AGGRESSIVE
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
            Input::Command(command) => self.on_command(&command, cx),
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
        self.timers.first_key_value().map(|(&(at, _), &why)| Deadline { at, why })
    }
}
