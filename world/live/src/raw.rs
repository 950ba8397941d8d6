//! A raw socket: datagrams of one IP protocol, directly on IP. Read raw(7) first: IPv4 hands a packet over with its IP header,
//! IPv6 without, and the kernel writes the header of what is sent.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use keytoll_engine::Datagram;
use keytoll_engine::trace::Protocol;
use keytoll_net::ip::{Piece, Version};
use keytoll_net::{Addr, Socket};

use crate::bind::{self, BindError};
use crate::inbox::Inbox;

/// A local address and the IP protocol that is spoken there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnIp {
    /// The address.
    pub ip: IpAddr,
    /// The number of the IP protocol.
    pub number: u8,
    /// Its name in records and captures, if it has one.
    pub protocol: Option<Protocol>,
}

impl OnIp {
    /// As an address of datagrams.
    pub const fn addr(self) -> Addr {
        self.at(self.ip)
    }

    const fn at(self, ip: IpAddr) -> Addr {
        Addr::Ip { ip, protocol: self.number }
    }
}

/// An open raw socket.
#[derive(Debug)]
pub(crate) struct Raw {
    socket: socket2::Socket,
    local: OnIp,
}

impl Raw {
    /// Opens it at one address of this machine, which takes CAP_NET_RAW.
    pub(crate) fn bind(local: OnIp) -> Result<Self, BindError> {
        match bind::raw(local.ip, local.number) {
            Ok(socket) => Ok(Self { socket, local }),
            Err(source) => Err(BindError { local: local.addr(), source }),
        }
    }

    pub(crate) const fn local(&self) -> OnIp {
        self.local
    }

    /// Takes what has arrived, up to a batch.
    pub(crate) fn receive(&self, inbox: &mut Inbox) {
        inbox.fill(&self.socket);
    }

    /// The sender of a packet, and what is behind its IP header; none of a packet that cannot be read.
    pub(crate) fn read<'a>(&self, from: Socket, packet: &'a [u8]) -> Option<(Addr, &'a [u8])> {
        let payload = match from.ip {
            IpAddr::V4(_) => Piece::read(Version::V4, packet).ok()?.payload,
            IpAddr::V6(_) => packet,
        };
        Some((self.local.at(from.ip), payload))
    }

    /// Sends one datagram to a host.
    pub(crate) fn send(&self, datagram: &Datagram) -> io::Result<()> {
        let Addr::Ip { ip, protocol } = datagram.to else {
            return Err(io::Error::other("what leaves directly on IP goes to an IP address"));
        };
        if protocol != self.local.number {
            return Err(io::Error::other("the receiver speaks another IP protocol"));
        }
        self.socket.send_to(&datagram.bytes, &SocketAddr::new(ip, 0).into()).map(drop)
    }
}

impl AsFd for Raw {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
