//! The links between the nodes, and who has which address.

use keytoll_crypto_api::Seed;
use keytoll_engine::Datagram;
use keytoll_engine::map::FastMap;
use keytoll_engine::trace::{Link, Node};
use keytoll_net::Host;

use crate::links::Channel;
use crate::{LinkConfig, NodeIndex};

/// A datagram on a link.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// Where it will arrive.
    pub(crate) node: NodeIndex,
    /// What will arrive.
    pub(crate) datagram: Datagram,
    /// It was damaged, and the node will notice.
    pub(crate) is_damaged: bool,
}

/// One end of a link to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// The node.
    pub(crate) index: NodeIndex,
    /// Its name.
    pub(crate) name: Node,
    /// The how many-th node of that name it is, from 0.
    pub(crate) ordinal: u32,
}

impl End {
    /// `ue`, the next one `ue.1`.
    fn label(self) -> String {
        match self.ordinal {
            0 => self.name.name().to_owned(),
            n => format!("{}.{n}", self.name.name()),
        }
    }
}

/// The links and addresses of a world.
#[derive(Default)]
pub(crate) struct Net {
    channels: Vec<Channel>,
    owners: FastMap<Host, NodeIndex>,
    routes: FastMap<(NodeIndex, NodeIndex), usize>,
}

impl Net {
    /// Gives an address to a node, whoever had it before.
    pub(crate) fn assign(&mut self, host: Host, node: NodeIndex) {
        self.owners.insert(host, node);
    }

    /// Joins two nodes; replaces the link that joined them before.
    pub(crate) fn join(&mut self, a: End, b: End, config: &LinkConfig, seed: &Seed) {
        let ways = [(a, b, &config.a_to_b), (b, a, &config.b_to_a)];
        for (from, to, direction) in ways {
            let (link, labels) = (Link::between(a.name, b.name), [from, to].map(End::label));
            let labels = [&labels[0][..], &labels[1]];
            let channel = Channel::new(link, labels, direction, config.mtu_bytes, seed);
            self.install((from.index, to.index), channel);
        }
    }

    fn install(&mut self, way: (NodeIndex, NodeIndex), channel: Channel) {
        if let Some(&before) = self.routes.get(&way) {
            self.channels[before] = channel;
        } else {
            self.routes.insert(way, self.channels.len());
            self.channels.push(channel);
        }
    }

    /// The node that has an address and the channel that leads there, if one does.
    pub(crate) fn route(&mut self, from: NodeIndex, to: Host) -> Option<(NodeIndex, &mut Channel)> {
        let node = *self.owners.get(&to)?;
        let channel = *self.routes.get(&(from, node))?;
        Some((node, &mut self.channels[channel]))
    }
}
