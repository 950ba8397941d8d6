//! Between which addresses the messages of an SA travel.

use keytoll_engine::Datagram;
use keytoll_net::{Addr, Socket};

use crate::names::IKE;

/// Where an SA's messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) local: Socket,
    pub(crate) remote: Socket,
    /// RFC 3948 §2.2: on port 4500 four zero bytes come before the message.
    pub(crate) marked: bool,
}

impl Route {
    /// A packet on its way.
    pub(crate) fn datagram(self, packet: &[u8]) -> Datagram {
        let mut bytes = Vec::with_capacity(packet.len() + 4);
        if self.marked {
            bytes.extend_from_slice(&[0; 4]);
        }
        bytes.extend_from_slice(packet);
        let (from, to) = (Addr::Udp(self.local), Addr::Udp(self.remote));
        Datagram { protocol: IKE, from, to, bytes }
    }
}
