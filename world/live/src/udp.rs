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
    /// IKE goes in and out without a marker: nothing but IKE does.
    ike_alone: bool,
}

impl Port {
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, BindError> {
        Self::open(address).map_err(BindError::udp(address))
    }

    fn open(address: SocketAddr) -> io::Result<Self> {
        let socket = bind::udp(address)?;
        let local = Addr::from(socket.local_addr()?);
        Ok(Self { local, socket, spoken: None, ike_alone: local.port == IKE_PORT })
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
            Protocol::Ike | Protocol::Esp if self.ike_alone || is_marked(bytes) => Some(Protocol::Ike),
            Protocol::Ike | Protocol::Esp => Some(Protocol::Esp),
            protocol => Some(protocol),
        }
    }

    /// Sends datagrams that are all from here; gives for each what came of it, in order.
    pub(crate) fn send(&mut self, datagrams: &[Datagram], mut done: impl FnMut(&Datagram, io::Result<()>)) {
        if let Some(last) = datagrams.last() {
            self.spoken = Some(last.protocol);
            self.ike_alone |= last.protocol == Protocol::Ike && !is_marked(&last.bytes);
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

/// RFC 3948 §2.2: where ESP may come too, four zeroes in place of its SPI mark IKE.
fn is_marked(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0; 4])
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

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use keytoll_engine::Transport;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const BARE: &[u8] = &[1; 20];
    const MARKED: &[u8] = &[0, 0, 0, 0, 1, 1];

    /// What it makes of datagrams from some port after it has sent one itself.
    fn takes(sent: Option<(Protocol, &[u8])>, from_port: u16) -> [Option<Protocol>; 2] {
        let mut port = Port::bind((HERE, 0).into()).expect("loopback is there");
        if let Some((protocol, bytes)) = sent {
            let (transport, from, to, bytes) =
                (Transport::Udp, port.local(), Addr::new(HERE, 9), bytes.to_vec());
            port.send(&[Datagram { protocol, transport, from, to, bytes }], |_, _| ());
        }
        [BARE, MARKED].map(|bytes| port.protocol(Addr::new(HERE, from_port), bytes))
    }

    #[test]
    fn a_datagram_is_known_by_ports_by_what_was_sent_and_by_the_marker() {
        use Protocol::{Esp, Ike, Radius};
        assert_eq!(takes(None, 9), [None; 2]);
        assert_eq!(takes(None, 1812), [Some(Radius); 2]);
        assert_eq!(takes(None, 4500), [Some(Esp), Some(Ike)]);
        assert_eq!(takes(Some((Radius, BARE)), 9), [Some(Radius); 2]);
        assert_eq!(takes(Some((Ike, BARE)), 9), [Some(Ike); 2]);
        assert_eq!(takes(Some((Ike, MARKED)), 9), [Some(Esp), Some(Ike)]);
        assert_eq!(takes(Some((Esp, BARE)), 9), [Some(Esp), Some(Ike)]);
    }
}
