//! The links between the nodes, and the addresses of the nodes.

use std::collections::BTreeMap;

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
    /// The receiving node.
    pub(crate) node: NodeIndex,
    /// The datagram as it will arrive.
    pub(crate) datagram: Datagram,
    /// Whether it was damaged and the node's checksum will detect it.
    pub(crate) is_damaged: bool,
}

/// One end of a new link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// The node.
    pub(crate) index: NodeIndex,
    /// Its name.
    pub(crate) name: Node,
    /// Index among the nodes of that name, from 0.
    pub(crate) ordinal: u32,
}

impl End {
    /// `ue`, for the next one `ue.1`.
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
    /// Each with the number of ways along it.
    channels: Vec<Option<(Channel, u32)>>,
    /// Places of channels that were removed.
    vacant: Vec<usize>,
    owners: FastMap<Host, NodeIndex>,
    routes: FastMap<(NodeIndex, NodeIndex), usize>,
    /// The nodes that share a LAN or a radio channel with a node, and the channels that lead there, in the order of their links.
    in_reach: BTreeMap<NodeIndex, Vec<Way>>,
}

/// A node, and the number of the channel that leads there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// The receiving node.
    pub(crate) node: NodeIndex,
    channel: usize,
}

impl Net {
    /// Assigns an address to a node; an earlier owner loses it.
    pub(crate) fn assign(&mut self, host: Host, node: NodeIndex) {
        self.owners.insert(host, node);
    }

    /// Connects two nodes; replaces an existing link between them.
    pub(crate) fn join(&mut self, a: End, b: End, config: &LinkConfig, seed: &Seed) {
        let ways = [(a, b, &config.a_to_b), (b, a, &config.b_to_a)];
        for (from, to, direction) in ways {
            let (link, labels) = (Link::between(a.name, b.name), [from, to].map(End::label));
            let labels = [&labels[0][..], &labels[1]];
            let channel = Channel::new(link, labels, direction, config.mtu_bytes, seed).on(config.air);
            let way = self.install((from.index, to.index), channel);
            self.reach(from.index, way, config.is_lan || config.air.is_some());
        }
    }

    fn reach(&mut self, from: NodeIndex, way: Way, is_in_reach: bool) {
        if let Some(in_reach) = self.in_reach.get_mut(&from) {
            in_reach.retain(|old| old.node != way.node);
        }
        if is_in_reach {
            self.in_reach.entry(from).or_default().push(way);
        }
    }

    /// Connects a node to another by the link that a third one has to that: what they send waits for each other.
    pub(crate) fn share(&mut self, node: NodeIndex, to: NodeIndex, with: NodeIndex) {
        for (way, like) in [((node, to), (with, to)), ((to, node), (to, with))] {
            let Some(&place) = self.routes.get(&like) else { continue };
            if let Some((_, ways)) = &mut self.channels[place] {
                *ways += 1;
            }
            self.routes.insert(way, place);
        }
    }

    /// Removes the link between two nodes, if there is one.
    pub(crate) fn part(&mut self, a: NodeIndex, b: NodeIndex) {
        for way in [(a, b), (b, a)] {
            let Some(place) = self.routes.remove(&way) else { continue };
            let used = self.channels[place].as_mut().map_or(0, |(_, ways)| {
                *ways -= 1;
                *ways
            });
            if used == 0 {
                self.channels[place] = None;
                self.vacant.push(place);
            }
            if let Some(in_reach) = self.in_reach.get_mut(&way.0) {
                in_reach.retain(|old| old.node != way.1);
            }
        }
    }

    /// Takes an address from a node, unless another one has it by now.
    pub(crate) fn unassign(&mut self, host: Host, node: NodeIndex) {
        if self.owners.get(&host) == Some(&node) {
            self.owners.remove(&host);
        }
    }

    fn install(&mut self, way: (NodeIndex, NodeIndex), channel: Channel) -> Way {
        let known = self.routes.get(&way).copied();
        let place = known.or_else(|| self.vacant.pop()).unwrap_or(self.channels.len());
        match self.channels.get_mut(place) {
            Some(before) => *before = Some((channel, 1)),
            None => self.channels.push(Some((channel, 1))),
        }
        self.routes.insert(way, place);
        Way { node: way.1, channel: place }
    }

    /// The way to the node that has an address, if there is one.
    pub(crate) fn route(&self, from: NodeIndex, to: Host) -> Option<Way> {
        let node = *self.owners.get(&to)?;
        Some(Way { node, channel: *self.routes.get(&(from, node))? })
    }

    /// The ways to all nodes that a group-addressed frame of a node reaches.
    pub(crate) fn in_reach(&self, from: NodeIndex) -> &[Way] {
        self.in_reach.get(&from).map_or(&[], Vec::as_slice)
    }

    /// The channel of a way.
    pub(crate) fn channel(&mut self, way: Way) -> &mut Channel {
        let channel = self.channels[way.channel].as_mut();
        &mut channel.expect("a way leads along a channel that is there").0
    }
}
