//! Messages over TCP: RFC 6733 §2.1 has Diameter's on one connection between two peers, whoever called.
//!
//! An engine says from where to where, as with datagrams; a message to a peer that is not connected calls it. The engine
//! knows a connection by these two addresses: the one it sent from, or the one that was listened on, and the peer's. What
//! it is told of a connection is that it is lost; what it may ask is that one be closed.
//!
//! Whoever calls may be anybody. Strangers, where it is said who is none, share a few places among themselves, no address
//! has more than its share, and who says nothing in time is hung up on: the places of others stay theirs.
//!
//! ```text
//!   engine --message--> Connection --clear or by way of its Channel--> socket
//!   engine <--message-- Framer <-----clear or by way of its Channel--- socket
//! ```
//!
//! What secures a stream is a [`Channel`]: no message passes before the peer is proved, the engine hears first which names
//! were ([`keytoll_engine::Input::Secured`]), and a tap sees what passes the socket, sealed. A panic while one stream is
//! handled costs that stream.

mod connection;
mod framer;
mod secured;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use keytoll_engine::channel::Secure;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Datagram, Time};
use keytoll_net::{Addr, Socket};
use nix::poll::{PollFd, PollFlags};

use crate::Tap;
use crate::bind::{self, BindError};
use crate::guard::Guard;
use crate::inbox::Arrival;
use connection::{Connection, READ_BYTES, Reading};
pub use framer::MessageLength;

/// What is spoken over streams, and within which limits.
#[derive(Debug, Clone)]
pub struct Streaming {
    /// What the messages belong to.
    pub protocol: Protocol,
    /// How long they are.
    pub length: MessageLength,
    /// What secures them; none: nothing does.
    pub secure: Option<Arc<dyn Secure>>,
    /// Most connections at a time; whoever calls beyond that is hung up on.
    pub connections_max: usize,
    /// Most of them that one address calls; of IPv6 one network of 64 bits.
    pub per_address_max: usize,
    /// Who is expected to call; none: anybody. Others get an answer, too, in a few places of their own.
    pub expected: Option<BTreeSet<IpAddr>>,
    /// Most connections that those call who are not expected.
    pub strangers_max: usize,
    /// How long a peer we call may take to answer, and then to prove itself where streams are secured.
    pub connect_within: Duration,
    /// How long a peer that calls may take for its first whole message, whatever has to go before it.
    pub first_message_within: Duration,
    /// How long such a peer may be quiet afterwards; its watchdog (RFC 3539 §3.4) speaks sooner.
    pub quiet_max: Duration,
    /// How often a peer's proof is judged again. RFC 6733 §13.1: what is known of a peer is not to outlive its certificate.
    pub judge_every: Duration,
    /// Most bytes kept for a peer that does not read; then it is hung up on.
    pub unsent_bytes_max: usize,
}

impl Streaming {
    /// 256 connections, 16 of an address and of strangers, 5 s to connect, 10 s to say something, 300 s of quiet, a proof
    /// judged every 10 s, 256 KiB unsent.
    pub const fn new(protocol: Protocol, length: MessageLength) -> Self {
        Self {
            protocol,
            length,
            secure: None,
            connections_max: 256,
            per_address_max: 16,
            expected: None,
            strangers_max: 16,
            connect_within: Duration::from_secs(5),
            first_message_within: Duration::from_secs(10),
            quiet_max: Duration::from_secs(300),
            judge_every: Duration::from_secs(10),
            unsent_bytes_max: 256 * 1024,
        }
    }
}

/// Which connection: our address as the engine knows it, and the peer's.
type Key = (Socket, Socket);

/// What a stream may use while it reads and writes.
pub(crate) struct Around<'a, 'b> {
    pub(crate) cx: &'a mut Ctx<'b>,
    /// Sees what secured streams carry.
    pub(crate) tap: &'a mut dyn Tap,
}

/// The same for all streams, under guard.
pub(crate) struct Guarded<'a, 'b> {
    pub(crate) around: Around<'a, 'b>,
    pub(crate) guard: &'a mut Guard,
}

impl<'b> Guarded<'_, 'b> {
    const fn now(&self) -> Time {
        self.around.cx.now
    }

    /// Does something for one connection; a panic costs that connection only.
    fn shield<T>(
        &mut self,
        peer: Socket,
        act: impl FnOnce(&mut Around<'_, 'b>) -> io::Result<T>,
    ) -> io::Result<T> {
        let Self { around, guard } = self;
        let acted = guard.shield(Addr::Tcp(peer), || act(around));
        acted.unwrap_or_else(|| Err(io::Error::other("a mistake of this program's")))
    }
}

/// What happened besides messages.
#[derive(Debug)]
pub(crate) enum News {
    /// This connection is gone.
    Lost { peer: Socket, local: Socket },
    /// The peer of this connection has proved these names.
    Secured { peer: Socket, local: Socket, names: Vec<String> },
    /// Something could not be used, or was not let in.
    Discarded { protocol: Protocol, why: String },
}

/// What came of the last look.
pub(crate) enum Heard<'a> {
    /// A message.
    Message(Arrival<'a>),
    /// Something else.
    News(News),
}

/// The same, before it is looked up.
enum Found {
    Message(Key, Range<usize>),
    News(News),
}

/// How long we do not listen after the system could not give us a connection (it has no descriptors left, perhaps).
const DEAF: Duration = Duration::from_millis(100);

/// All connections of a node.
#[derive(Debug)]
pub(crate) struct Streams {
    config: Streaming,
    listeners: Vec<(Socket, TcpListener)>,
    deaf_until: Time,
    connections: BTreeMap<Key, Connection>,
    /// Those that had something to read when they were last looked at.
    readable: VecDeque<Key>,
    /// The one whose messages are being cut off.
    reading: Option<Key>,
    buffer: Vec<u8>,
    news: VecDeque<News>,
}

impl Streams {
    /// Listens on these addresses; with none it only calls.
    pub(crate) fn open(config: Streaming, listen: &[SocketAddr]) -> Result<Self, BindError> {
        let listener = |address: &SocketAddr| {
            let open = || bind::tcp(*address).and_then(|socket| Ok((socket.local_addr()?.into(), socket)));
            open().map_err(BindError::tcp(*address))
        };
        Ok(Self {
            config,
            listeners: listen.iter().map(listener).collect::<Result<_, _>>()?,
            deaf_until: Time::ZERO,
            connections: BTreeMap::new(),
            readable: VecDeque::new(),
            reading: None,
            buffer: vec![0; READ_BYTES],
            news: VecDeque::new(),
        })
    }

    /// Where it listens, in the order given.
    pub(crate) fn locals(&self) -> impl Iterator<Item = Socket> {
        self.listeners.iter().map(|(local, _)| *local)
    }

    /// Sends a message to a peer, calling it first if need be.
    pub(crate) fn send(&mut self, message: &Datagram, guarded: &mut Guarded<'_, '_>) -> io::Result<()> {
        let (Addr::Tcp(from), Addr::Tcp(to)) = (message.from, message.to) else {
            return Err(io::Error::other("only one end of it is of TCP"));
        };
        let key = (from, to);
        if !self.connections.contains_key(&key) {
            self.call(key, guarded)?;
        }
        let sent = self
            .act(key, guarded, |connection, config, around| connection.send(&message.bytes, config, around));
        if sent.is_err() {
            self.lose(key);
        }
        sent
    }

    /// Whether taps see messages pass; what is secured they see sealed.
    pub(crate) const fn is_clear(&self) -> bool {
        self.config.secure.is_none()
    }

    fn call(&mut self, key: Key, guarded: &mut Guarded<'_, '_>) -> io::Result<()> {
        let (local, peer) = key;
        // The engine that sends does not know of the loss yet: what it sends is meant for the connection that is gone, and it
        // would take the news of that one for the end of the next.
        if self.listeners.iter().any(|(listened, _)| *listened == local) || self.is_lost_untold(key) {
            return Err(io::Error::other("its connection is gone"));
        }
        if self.connections.len() >= self.config.connections_max {
            return Err(io::Error::other("too many connections"));
        }
        match guarded.shield(peer, |around| Connection::call(key, &self.config, around)) {
            Ok(connection) => drop(self.connections.insert(key, connection)),
            Err(why) => {
                self.news.push_back(News::Lost { peer, local });
                return Err(why);
            }
        }
        Ok(())
    }

    /// Whether a connection between these ends is gone, and the engine was not told.
    fn is_lost_untold(&self, (local, peer): Key) -> bool {
        let is_it =
            |news: &News| matches!(news, News::Lost { peer: p, local: l } if (*l, *p) == (local, peer));
        self.news.iter().any(is_it)
    }

    /// Lets one connection act.
    fn act<T>(
        &mut self,
        key: Key,
        guarded: &mut Guarded<'_, '_>,
        act: impl FnOnce(&mut Connection, &Streaming, &mut Around<'_, '_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(connection) = self.connections.get_mut(&key) else {
            return Err(io::Error::other("its connection is gone"));
        };
        guarded.shield(key.1, |around| act(connection, &self.config, around))
    }

    /// Closes a connection when what was said on it is sent.
    pub(crate) fn close(&mut self, key: Key, guarded: &mut Guarded<'_, '_>) {
        if self.connections.contains_key(&key)
            && let Err(why) = self.act(key, guarded, |connection, _, around| connection.close(around))
        {
            self.fail(key, &why);
        }
    }

    fn lose(&mut self, key: Key) {
        let (local, peer) = key;
        if self.connections.remove(&key).is_some() {
            self.news.push_back(News::Lost { peer, local });
        }
    }

    /// A connection ended otherwise than in good order.
    fn fail(&mut self, key: Key, why: &dyn std::fmt::Display) {
        self.discard(format!("live: connection with {} lost: {why}", key.1));
        self.lose(key);
    }

    fn discard(&mut self, why: String) {
        self.news.push_back(News::Discarded { protocol: self.config.protocol, why });
    }

    /// The next of what had come at the last look.
    pub(crate) fn next(&mut self, guarded: &mut Guarded<'_, '_>) -> Option<Heard<'_>> {
        let ((local, peer), place) = match self.find(guarded)? {
            Found::News(news) => return Some(Heard::News(news)),
            Found::Message(key, place) => (key, place),
        };
        let bytes = self.connections.get(&(local, peer))?.message(place);
        let protocol = Some(self.config.protocol);
        let is_shown = self.config.secure.is_some();
        Some(Heard::Message(Arrival {
            from: Addr::Tcp(peer),
            to: Addr::Tcp(local),
            protocol,
            bytes,
            is_shown,
        }))
    }

    fn find(&mut self, guarded: &mut Guarded<'_, '_>) -> Option<Found> {
        loop {
            if let Some(news) = self.news.pop_front() {
                return Some(Found::News(news));
            }
            if let Some(key) = self.reading
                && let Some(place) = self.cut(key, guarded)
            {
                return Some(Found::Message(key, place));
            }
            self.reading = None;
            if self.news.is_empty() {
                let key = self.readable.pop_front()?;
                self.reading = self.read(key, guarded).then_some(key);
            }
        }
    }

    fn cut(&mut self, key: Key, guarded: &mut Guarded<'_, '_>) -> Option<Range<usize>> {
        let now = guarded.now();
        match self.connections.get_mut(&key)?.cut(&self.config, now) {
            Ok(place) => place,
            Err(why) => {
                self.fail(key, &why);
                None
            }
        }
    }

    /// False if nothing more will come.
    fn read(&mut self, key: Key, guarded: &mut Guarded<'_, '_>) -> bool {
        if !self.connections.contains_key(&key) {
            return false;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = self.act(key, guarded, |connection, _, around| connection.read(&mut buffer, around));
        self.buffer = buffer;
        match read {
            Ok(Reading::On) => return true,
            Ok(Reading::Proved(names)) => {
                let (local, peer) = key;
                self.news.push_back(News::Secured { peer, local, names });
                return true;
            }
            Ok(Reading::Refused(why)) => self.refuse(key, &why),
            Ok(Reading::End) => self.lose(key),
            Err(why) => self.fail(key, &why),
        }
        false
    }

    /// A connection closes for this reason as soon as the peer was told.
    fn refuse(&mut self, key: Key, why: &dyn std::fmt::Display) {
        self.discard(format!("live: connection with {} refused: {why}", key.1));
    }

    /// Gives up what has taken too long, and closes what counts no more.
    pub(crate) fn expire(&mut self, guarded: &mut Guarded<'_, '_>) {
        let now = guarded.now();
        let late = |(key, connection): (&Key, &Connection)| {
            let (until, why) = connection.deadline();
            (until <= now).then_some((*key, why))
        };
        let late: Vec<_> = self.connections.iter().filter_map(late).collect();
        late.into_iter().for_each(|(key, why)| self.fail(key, &why));
        let due = |(key, connection): (&Key, &Connection)| (connection.judge_at() <= now).then_some(*key);
        let due: Vec<_> = self.connections.iter().filter_map(due).collect();
        due.into_iter().for_each(|key| self.judge(key, guarded));
    }

    fn judge(&mut self, key: Key, guarded: &mut Guarded<'_, '_>) {
        match self.act(key, guarded, |connection, _, around| Ok(connection.judge(around))) {
            Ok(Ok(())) => {}
            Ok(Err(why)) => self.refuse(key, &why),
            Err(why) => self.fail(key, &why),
        }
    }

    /// When something will have taken too long; at once if there is something to tell.
    pub(crate) fn deadline(&self, now: Time) -> Time {
        if !self.news.is_empty() {
            return now;
        }
        let connections = self.connections.values();
        let connections = connections.map(|connection| connection.deadline().0.min(connection.judge_at()));
        let deaf = (self.deaf_until > now).then_some(self.deaf_until);
        connections.chain(deaf).min().unwrap_or(Time::MAX)
    }

    /// What to wait for: listeners, then connections, to be handed to [`Self::ready`] in this order.
    pub(crate) fn watched(&self, now: Time) -> impl Iterator<Item = PollFd<'_>> {
        let wanted = if self.deaf_until > now { PollFlags::empty() } else { PollFlags::POLLIN };
        let listeners = self.listeners.iter().map(move |(_, socket)| PollFd::new(socket.as_fd(), wanted));
        let connections = self.connections.values();
        listeners.chain(connections.map(|one| PollFd::new(one.as_fd(), one.wanted())))
    }

    /// Does what can be done at once, and notes who can be read.
    pub(crate) fn ready(&mut self, flags: &[PollFlags], guarded: &mut Guarded<'_, '_>) {
        let (listeners, connections) = flags.split_at(self.listeners.len());
        let keys: Vec<Key> = self.connections.keys().copied().collect();
        for (key, flags) in keys.into_iter().zip(connections) {
            if flags.contains(PollFlags::POLLOUT) {
                self.write_on(key, guarded);
            }
            // An error and the end of a stream show when it is read.
            if flags.intersects(PollFlags::POLLIN | PollFlags::POLLHUP | PollFlags::POLLERR) {
                self.readable.push_back(key);
            }
        }
        let calling = listeners.iter().enumerate().filter(|(_, flags)| !flags.is_empty());
        calling.for_each(|(place, _)| self.accept(place, guarded));
    }

    fn write_on(&mut self, key: Key, guarded: &mut Guarded<'_, '_>) {
        if let Err(why) = self.act(key, guarded, Connection::write_on) {
            self.fail(key, &why);
        }
    }

    /// Why whoever calls from here must go, if so.
    fn no_room(&self, ip: IpAddr) -> Option<String> {
        let callers =
            || self.connections.iter().filter(|(_, one)| one.is_callers()).map(|((_, peer), _)| peer.ip);
        let is_stranger =
            |ip: &IpAddr| self.config.expected.as_ref().is_some_and(|expected| !expected.contains(ip));
        let Streaming { connections_max, per_address_max, strangers_max, .. } = self.config;
        if self.connections.len() >= connections_max {
            Some(format!("{connections_max} are the most"))
        } else if callers().filter(|other| network(*other) == network(ip)).count() >= per_address_max {
            Some(format!("{per_address_max} are the most of one address"))
        } else if is_stranger(&ip) && callers().filter(is_stranger).count() >= strangers_max {
            Some(format!("{strangers_max} are the most of those who are not expected"))
        } else {
            None
        }
    }

    fn accept(&mut self, place: usize, guarded: &mut Guarded<'_, '_>) {
        let (local, ref listener) = self.listeners[place];
        match listener.accept() {
            Ok((socket, peer)) => self.answer((local, peer.into()), socket, guarded),
            // Whoever called hung up again already.
            Err(why)
                if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => {}
            Err(why) => {
                self.deaf_until = guarded.now() + DEAF;
                self.discard(format!("live: no connection could be taken: {why}"));
            }
        }
    }

    fn answer(&mut self, key: Key, socket: TcpStream, guarded: &mut Guarded<'_, '_>) {
        let peer = key.1;
        if let Some(why) = self.no_room(peer.ip) {
            return self.discard(format!("live: connection from {peer} refused: {why}"));
        }
        match guarded.shield(peer, |around| Connection::answer(socket, key, &self.config, around)) {
            Ok(connection) => drop(self.connections.insert(key, connection)),
            Err(why) => self.discard(format!("live: connection from {peer} lost: {why}")),
        }
    }
}

/// What one subscriber of a network has: an address, of IPv6 64 bits.
fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) & !u128::from(u64::MAX)).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}
