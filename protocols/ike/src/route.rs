//! The addresses between which an SA's messages travel.

use keytoll_engine::Datagram;
use keytoll_net::{Addr, Socket};

use crate::names::IKE;

/// Source and destination of an SA's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) local: Socket,
    pub(crate) remote: Socket,
    /// RFC 3948 §2.2: whether four zero bytes precede the message, as on port 4500.
    pub(crate) marked: bool,
}

impl Route {
    /// The datagram that carries a packet.
    pub(crate) fn datagram(self, packet: &[u8]) -> Datagram {
        let mut bytes = Vec::with_capacity(packet.len() + 4);
        if self.marked {
            bytes.extend_from_slice(&[0; 4]);
        }
        bytes.extend_from_slice(packet);
        self.carrying(bytes)
    }

    /// The datagram that carries a packet, of which an exact copy is left: what is built has room to spare, and what is kept should
    /// have none.
    pub(crate) fn datagram_of(self, packet: &mut Vec<u8>) -> Datagram {
        if self.marked {
            packet.shrink_to_fit();
            return self.datagram(packet);
        }
        let kept = packet.as_slice().to_vec();
        self.carrying(std::mem::replace(packet, kept))
    }

    fn carrying(self, bytes: Vec<u8>) -> Datagram {
        let (from, to) = (Addr::Udp(self.local), Addr::Udp(self.remote));
        Datagram { protocol: IKE, from, to, bytes }
    }
}
