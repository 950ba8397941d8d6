//! The sockets of one node, read by the thread that drives it: nothing arrives while an engine computes but into the
//! kernel's buffers, and when those are full the network's own rule applies, datagrams are lost.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use keytoll_engine::{Addr, Datagram, Transport};
use nix::poll::{PollFd, PollFlags, ppoll};

use crate::Waker;
use crate::bind::BindError;
use crate::inbox::{Arrival, Inbox};
use crate::udp::Port;
use crate::wake::Bell;

/// Bound sockets.
#[derive(Debug)]
pub struct Sockets {
    ports: Vec<Port>,
    bell: Bell,
    /// Ports that had something to read when they were last looked at.
    readable: VecDeque<usize>,
    /// The datagrams in hand, all of this port.
    inbox: Inbox,
    reading: usize,
}

impl Sockets {
    /// Binds every address for UDP; a port of 0 lets the system choose, see [`Self::locals`].
    pub fn bind(addresses: &[SocketAddr]) -> Result<Self, BindError> {
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let bell = Bell::new().map_err(BindError::udp(addresses.first().copied().unwrap_or(any)))?;
        let ports = addresses.iter().map(|address| Port::bind(*address)).collect::<Result<_, _>>()?;
        Ok(Self { ports, bell, readable: VecDeque::new(), inbox: Inbox::new(), reading: 0 })
    }

    /// The addresses they are bound to, in the order given.
    pub fn locals(&self) -> Vec<Addr> {
        self.ports.iter().map(Port::local).collect()
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
    pub(crate) fn wait(&mut self, limit: Duration) {
        let bell = PollFd::new(self.bell.as_fd(), PollFlags::POLLIN);
        let ports = self.ports.iter().map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN));
        let mut watched: Vec<_> = [bell].into_iter().chain(ports).collect();
        // An interrupted wait is a short one.
        if ppoll(&mut watched, Some(limit.into()), None).unwrap_or(0) == 0 {
            return;
        }
        let mut ready = watched.iter().map(|one| one.any().unwrap_or(false));
        let rung = ready.next().unwrap_or(false);
        self.readable.extend(ready.enumerate().filter_map(|(port, ready)| ready.then_some(port)));
        if rung {
            self.bell.silence();
        }
    }

    /// The next datagram of those that had arrived at the last wait.
    pub(crate) fn next(&mut self) -> Option<Arrival<'_>> {
        while self.inbox.is_empty() {
            self.reading = self.readable.pop_front()?;
            self.ports[self.reading].receive(&mut self.inbox);
        }
        let port = &self.ports[self.reading];
        let (from, bytes) = self.inbox.take()?;
        Some(Arrival { from, to: port.local(), protocol: port.protocol(from, bytes), bytes })
    }

    /// Sends each through the socket of its own local address; gives for each what came of it.
    pub(crate) fn send(&mut self, datagrams: &[Datagram], mut done: impl FnMut(&Datagram, io::Result<()>)) {
        for group in datagrams.chunk_by(|a, b| (a.from, a.transport) == (b.from, b.transport)) {
            match self.way(&group[0]) {
                Ok(port) => port.send(group, &mut done),
                Err(why) => group.iter().for_each(|one| done(one, Err(io::Error::other(why)))),
            }
        }
    }

    /// The socket that a datagram leaves from, or why there is none.
    fn way(&mut self, datagram: &Datagram) -> Result<&mut Port, &'static str> {
        match datagram.transport {
            Transport::Udp => {
                let port = self.ports.iter_mut().find(|port| port.local() == datagram.from);
                port.ok_or("nothing is bound to where it comes from")
            }
            Transport::Tcp => Err("no TCP here"),
            Transport::Ip => Err("directly on IP needs a raw socket; use UDP encapsulation"),
        }
    }
}
