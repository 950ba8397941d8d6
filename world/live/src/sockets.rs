//! The sockets of one node, read by the thread that drives it: nothing arrives while an engine computes but into the
//! kernel's buffers, and when those are full the network's own rule applies, datagrams are lost.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Datagram, Time};
use keytoll_native::{datagrams, tun};
use keytoll_net::{Addr, Socket};
use nix::poll::{PollFd, PollFlags, ppoll};

use crate::bind::BindError;
use crate::inbox::{Arrival, Inbox};
use crate::interface::Interface;
use crate::link::{Link, LinkError, OnLink};
use crate::raw::{OnIp, Raw};
use crate::streams::{Around, Guarded, Heard, News, Streaming, Streams};
use crate::udp::{Port, Recognise};
use crate::wake::Bell;
use crate::{Waker, joined};

/// Bound sockets.
#[derive(Debug)]
pub struct Sockets {
    ports: Vec<Port>,
    /// Protocols directly on IP.
    raw: Vec<Raw>,
    /// Protocols below IP.
    links: Vec<Link>,
    streams: Option<Streams>,
    /// Packets of this machine.
    interface: Option<Interface>,
    bell: Bell,
    /// What received datagrams belong to, where nothing sent from here tells.
    recognise: Recognise,
    /// What had something to read when it was last looked at: ports, and behind them raw sockets.
    readable: VecDeque<usize>,
    /// The datagrams in hand, all of this port or raw socket.
    inbox: Inbox,
    reading: usize,
}

impl Sockets {
    /// Binds every address for UDP; a port of 0 lets the system choose, see [`Self::locals`].
    pub fn bind(addresses: &[SocketAddr]) -> Result<Self, BindError> {
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let bell = Bell::new().map_err(BindError::udp(addresses.first().copied().unwrap_or(any)))?;
        let ports = addresses.iter().map(|address| Port::bind(*address)).collect::<Result<_, _>>()?;
        Ok(Self {
            ports,
            raw: Vec::new(),
            links: Vec::new(),
            streams: None,
            interface: None,
            bell,
            recognise: |_, _, _| None,
            readable: VecDeque::new(),
            inbox: Inbox::new(),
            reading: 0,
        })
    }

    /// Tells what received datagrams belong to for captures and records, where nothing that was sent from here tells.
    #[must_use]
    pub fn recognising(self, recognise: Recognise) -> Self {
        Self { recognise, ..self }
    }

    /// Speaks protocols directly on IP too, each at one address.
    ///
    /// # Errors
    /// An address that is not this machine's, or no permission for raw sockets.
    pub fn on_ip(self, at: &[OnIp]) -> Result<Self, BindError> {
        Ok(Self { raw: at.iter().map(|&local| Raw::bind(local)).collect::<Result<_, _>>()?, ..self })
    }

    /// Speaks protocols below IP too, each at one interface, whose address is then one of [`Self::addresses`]. Datagrams between
    /// stations are whole frames.
    ///
    /// # Errors
    /// No such interface, or no permission for packet sockets.
    pub fn on_links(self, at: &[OnLink]) -> Result<Self, LinkError> {
        Ok(Self { links: at.iter().map(Link::open).collect::<Result<_, _>>()?, ..self })
    }

    /// Speaks over TCP too: listens on these addresses, if any, and calls whom the engine sends to.
    pub fn streaming(self, config: Streaming, listen: &[SocketAddr]) -> Result<Self, BindError> {
        Ok(Self { streams: Some(Streams::open(config, listen)?), ..self })
    }

    /// Carries packets of this machine, too: those routed to this interface.
    #[must_use]
    pub fn with_interface(self, interface: Interface) -> Self {
        Self { interface: Some(interface), ..self }
    }

    /// The next packet of this machine into the buffer, perhaps a large one; none if there is none. After an error there
    /// is no interface any more: somebody took it away, and a wait for it would end at once, for ever.
    pub(crate) fn next_inner(&mut self, buffer: &mut [u8]) -> Option<io::Result<tun::Received>> {
        let interface = self.interface.as_ref()?;
        let nothing =
            |why: &io::Error| matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
        match interface.tun().receive(buffer) {
            Ok(received) if received.packet.is_empty() => None,
            Err(why) if nothing(&why) => None,
            Err(why) => {
                self.interface = None;
                Some(Err(why))
            }
            received => Some(received),
        }
    }

    /// Lets packets arrive at this machine; `lost` is told what the interface does not take.
    pub(crate) fn deliver(&self, packets: &[Vec<u8>], mut lost: impl FnMut(io::Error)) {
        match &self.interface {
            Some(interface) => joined::deliver(interface.tun(), packets, lost),
            None => packets.iter().for_each(|_| lost(io::Error::other("no interface to arrive at"))),
        }
    }

    /// The addresses bound for UDP, then those listened on for TCP, in the order given.
    pub fn locals(&self) -> Vec<Socket> {
        let streams = self.streams.iter().flat_map(Streams::locals);
        self.ports.iter().map(Port::local).chain(streams).collect()
    }

    /// Where datagrams arrive: over UDP, over TCP, directly on IP, below IP, in the order given.
    pub fn addresses(&self) -> Vec<Addr> {
        let udp = self.ports.iter().map(|port| Addr::Udp(port.local()));
        let tcp = self.streams.iter().flat_map(Streams::locals).map(Addr::Tcp);
        let on_ip = self.raw.iter().map(|raw| raw.local().addr());
        udp.chain(tcp).chain(on_ip).chain(self.links.iter().map(Link::local)).collect()
    }

    /// Wakes whoever waits on these sockets.
    pub fn waker(&self) -> Waker {
        self.bell.waker()
    }

    /// Whether somebody woke us since this was last asked.
    pub(crate) fn woken(&self) -> bool {
        self.bell.take()
    }

    /// Waits until something arrives, somebody rings or `limit` is over.
    pub(crate) fn wait(&mut self, limit: Duration, guarded: &mut Guarded<'_, '_>) {
        let now = guarded.around.cx.now;
        let Self { ports, raw, links, streams, interface, bell, .. } = self;
        streams.iter_mut().for_each(|streams| streams.expire(guarded));
        let late = streams.as_ref().map_or(Time::MAX, |streams| streams.deadline(now));
        let bell_fd = PollFd::new(bell.as_fd(), PollFlags::POLLIN);
        let port_fds = ports.iter().map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN));
        let stream_fds = streams.iter().flat_map(|streams| streams.watched(now));
        let inner_fds = interface.iter().map(|interface| PollFd::new(interface.as_fd(), PollFlags::POLLIN));
        let raw_fds = raw.iter().map(|raw| PollFd::new(raw.as_fd(), PollFlags::POLLIN));
        let link_fds = links.iter().map(|link| PollFd::new(link.as_fd(), PollFlags::POLLIN));
        let watched = [bell_fd].into_iter().chain(inner_fds).chain(port_fds).chain(raw_fds).chain(link_fds);
        let mut watched: Vec<_> = watched.chain(stream_fds).collect();
        // An interrupted wait is a short one.
        if ppoll(&mut watched, Some(limit.min(late.since(now)).into()), None).unwrap_or(0) > 0 {
            let flags: Vec<_> =
                watched.iter().map(|one| one.revents().unwrap_or(PollFlags::empty())).collect();
            self.ready(&flags, guarded);
        }
    }

    fn ready(&mut self, flags: &[PollFlags], guarded: &mut Guarded<'_, '_>) {
        let (bell, others) = flags.split_at(1);
        // Packets of this machine are looked for in any case.
        let sockets = &others[usize::from(self.interface.is_some())..];
        let (ports, others) = sockets.split_at(self.ports.len() + self.raw.len());
        let (links, streams) = others.split_at(self.links.len());
        if !bell[0].is_empty() {
            self.bell.silence();
        }
        let readable = ports.iter().enumerate().filter(|(_, flags)| !flags.is_empty());
        self.readable.extend(readable.map(|(port, _)| port));
        for (link, _) in self.links.iter_mut().zip(links).filter(|(_, flags)| !flags.is_empty()) {
            link.ready();
        }
        if let Some(open) = &mut self.streams {
            open.ready(streams, guarded);
        }
    }

    /// The next of what had come at the last wait.
    pub(crate) fn next(&mut self, guarded: &mut Guarded<'_, '_>) -> Option<Heard<'_>> {
        self.refill();
        let Self { ports, raw, links, inbox, reading, streams, recognise, .. } = self;
        if let Some((from, bytes)) = inbox.take() {
            let heard = match ports.get(*reading) {
                Some(port) => Heard::Message(datagram(port, from, bytes, *recognise)),
                None => packet(&raw[*reading - ports.len()], from, bytes),
            };
            return Some(heard);
        }
        if let Some(heard) = links.iter_mut().find_map(Link::next) {
            return Some(heard);
        }
        streams.as_mut()?.next(guarded)
    }

    /// When the next datagram, or the last that came with it, reached its port, since 1970-01-01T00:00:00Z; none of other things.
    pub(crate) fn arrived(&mut self) -> Option<Duration> {
        self.refill();
        let port = self.ports.get(self.reading).filter(|_| !self.inbox.is_empty());
        datagrams::arrived(port?.as_fd()).ok()
    }

    /// Takes what has come to the next port or raw socket, if nothing is in hand.
    fn refill(&mut self) {
        while self.inbox.is_empty()
            && let Some(port) = self.readable.pop_front()
        {
            self.reading = port;
            match self.ports.get(port) {
                Some(port) => port.receive(&mut self.inbox),
                None => self.raw[port - self.ports.len()].receive(&mut self.inbox),
            }
        }
    }

    /// Sends each through the socket of its own local address; says for each what came of it, but for what a secured stream
    /// has taken: of that the tap sees what passes.
    pub(crate) fn send(
        &mut self,
        datagrams: &[Datagram],
        guarded: &mut Guarded<'_, '_>,
        mut done: impl FnMut(&Datagram, io::Result<()>, &mut Around<'_, '_>),
    ) {
        for group in datagrams.chunk_by(|a, b| a.from == b.from) {
            match group[0].from {
                Addr::Udp(_) => self.send_udp(group, |one, sent| done(one, sent, &mut guarded.around)),
                Addr::Tcp(_) => {
                    for one in group {
                        let sent = self.send_tcp(one, guarded);
                        if sent.is_err() || self.streams.as_ref().is_some_and(Streams::is_clear) {
                            done(one, sent, &mut guarded.around);
                        }
                    }
                }
                local @ Addr::Ip { .. } => {
                    let raw = self.raw.iter().find(|raw| raw.local().addr() == local);
                    for one in group {
                        done(one, raw.map_or_else(no_raw_socket, |raw| raw.send(one)), &mut guarded.around);
                    }
                }
                local @ Addr::Mac(_) => {
                    let link = self.links.iter().find(|link| link.local() == local);
                    for one in group {
                        let sent = link.map_or_else(no_packet_socket, |link| link.send(one));
                        done(one, sent, &mut guarded.around);
                    }
                }
                Addr::Sctp(_) => {
                    let why = || io::Error::other("no socket of ours carries that");
                    group.iter().for_each(|one| done(one, Err(why()), &mut guarded.around));
                }
            }
        }
    }

    fn send_udp(&mut self, group: &[Datagram], mut done: impl FnMut(&Datagram, io::Result<()>)) {
        let bound = self.ports.iter_mut().find(|port| Addr::Udp(port.local()) == group[0].from);
        if let Some(port) = bound.filter(|_| group.iter().all(|one| matches!(one.to, Addr::Udp(_)))) {
            return port.send(group, done);
        }
        let why = || io::Error::other("nothing is bound to where it comes from");
        group.iter().for_each(|one| done(one, Err(why())));
    }

    /// Closes the stream between two addresses when what was said on it is sent.
    pub(crate) fn close(&mut self, local: Addr, peer: Addr, guarded: &mut Guarded<'_, '_>) {
        if let (Some(streams), Addr::Tcp(local), Addr::Tcp(peer)) = (&mut self.streams, local, peer) {
            streams.close((local, peer), guarded);
        }
    }

    fn send_tcp(&mut self, message: &Datagram, guarded: &mut Guarded<'_, '_>) -> io::Result<()> {
        let nobody = || io::Error::other("these sockets do not speak over TCP");
        self.streams.as_mut().ok_or_else(nobody)?.send(message, guarded)
    }
}

/// A datagram of UDP that has come.
fn datagram<'a>(port: &Port, from: Socket, bytes: &'a [u8], recognise: Recognise) -> Arrival<'a> {
    let (protocol, to) = (port.protocol(from, bytes, recognise), Addr::Udp(port.local()));
    Arrival { from: Addr::Udp(from), to, protocol, bytes, is_shown: false }
}

/// One that has come directly on IP.
fn packet<'a>(raw: &Raw, from: Socket, packet: &'a [u8]) -> Heard<'a> {
    let local = raw.local();
    let (to, protocol) = (local.addr(), local.protocol);
    match raw.read(from, packet) {
        Some((from, bytes)) => Heard::Message(Arrival { from, to, protocol, bytes, is_shown: false }),
        None => Heard::News(News::Discarded {
            protocol: protocol.unwrap_or(Protocol::IP),
            why: "live: an IP header that cannot be read".to_owned(),
        }),
    }
}

fn no_raw_socket() -> io::Result<()> {
    Err(io::Error::other(
        "directly on IP needs a raw socket; use UDP encapsulation (`encapsulation = \"always\"`)",
    ))
}

fn no_packet_socket() -> io::Result<()> {
    Err(io::Error::other("no interface of ours has this address"))
}
