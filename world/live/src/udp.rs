//! One UDP socket: datagrams out, and what it is known to speak.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Addr, Datagram};
use keytoll_native::datagrams;

use crate::bind::{self, BindError};
use crate::inbox::Inbox;

/// A socket of one local address.
#[derive(Debug)]
pub(crate) struct Port {
    socket: UdpSocket,
    local: Addr,
    /// What was last sent from here: received datagrams do not say what they are.
    spoken: Option<Protocol>,
}

impl Port {
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, BindError> {
        Self::open(address).map_err(BindError::udp(address))
    }

    fn open(address: SocketAddr) -> io::Result<Self> {
        let socket = bind::udp(address)?;
        Ok(Self { local: socket.local_addr()?.into(), socket, spoken: None })
    }

    pub(crate) const fn local(&self) -> Addr {
        self.local
    }

    /// Takes what has arrived, up to a batch.
    pub(crate) fn receive(&self, inbox: &mut Inbox) {
        inbox.fill(&self.socket);
    }

    /// What a received datagram belongs to, as far as ports and RFC 3948's marker tell.
    pub(crate) fn protocol(&self, from: Addr, bytes: &[u8]) -> Option<Protocol> {
        match self.spoken.or_else(|| well_known(self.local).or_else(|| well_known(from)))? {
            Protocol::Ike | Protocol::Esp => Some(self.ike_or_esp(from, bytes)),
            protocol => Some(protocol),
        }
    }

    /// RFC 3948 §2.2: on the port that ESP may use, four zeroes in place of an SPI mark IKE. Elsewhere there is only IKE.
    fn ike_or_esp(&self, from: Addr, bytes: &[u8]) -> Protocol {
        let marked = bytes.starts_with(&[0; 4]);
        if marked || self.local.port == IKE_PORT || from.port == IKE_PORT {
            Protocol::Ike
        } else {
            Protocol::Esp
        }
    }

    /// Sends datagrams that are all from here; gives for each what came of it, in order.
    pub(crate) fn send(&mut self, datagrams: &[Datagram], mut done: impl FnMut(&Datagram, io::Result<()>)) {
        if let Some(last) = datagrams.last() {
            self.spoken = Some(last.protocol);
        }
        let together = if datagrams.len() > 1 { self.send_together(datagrams) } else { 0 };
        for (place, datagram) in datagrams.iter().enumerate() {
            done(datagram, if place < together { Ok(()) } else { self.send_one(datagram) });
        }
    }

    fn send_one(&self, datagram: &Datagram) -> io::Result<()> {
        self.socket.send_to(&datagram.bytes, SocketAddr::from(datagram.to)).map(drop)
    }

    /// How many went out with one system call; what is wrong with the next one shows when it is sent by itself.
    fn send_together(&self, datagrams: &[Datagram]) -> usize {
        let batch = datagrams.iter().map(|one| (&one.bytes[..], SocketAddr::from(one.to)));
        datagrams::send(self.socket.as_fd(), batch).unwrap_or(0)
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// RFC 7296 §2.
const IKE_PORT: u16 = 500;

const fn well_known(address: Addr) -> Option<Protocol> {
    match address.port {
        // RFC 7296 §2, RFC 3948 §2.1.
        IKE_PORT | 4500 => Some(Protocol::Ike),
        // RFC 2865 §3, RFC 2866 §3.
        1812 | 1813 => Some(Protocol::Radius),
        _ => None,
    }
}
