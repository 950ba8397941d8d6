//! The links between the nodes, and the addresses of the nodes.
//!
//! A world may have a million links, of which few carry something at a time. One that has been idle for long *rests*: what is kept
//! of it is how much it has drawn from its random streams, and it goes on from there as if it had never rested.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use keytoll_crypto_api::Seed;
use keytoll_engine::map::FastMap;
use keytoll_engine::trace::{Link as LinkName, Node};
use keytoll_engine::{Datagram, Time};
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

/// A link between two nodes, which others may share.
struct Link {
    ends: [End; 2],
    config: Arc<LinkConfig>,
    /// How many nodes it connects with the one at its other end.
    users: u32,
    state: State,
}

enum State {
    /// From the first end to the second, and back.
    Awake(Box<[Channel; 2]>),
    /// What the two knew; nothing, if the link has carried nothing yet.
    Resting(Box<[u64]>),
}

impl Link {
    /// Whether what goes from one node to another goes from the first end to the second. Of the nodes that share a link all but one
    /// are on the same side.
    fn leads_on(&self, from: NodeIndex, to: NodeIndex) -> bool {
        self.ends[1].index == to || self.ends[0].index == from
    }

    fn channels(&self, known: &[u64], seed: &Seed) -> [Channel; 2] {
        let [a, b] = self.ends;
        let labels = [a, b].map(End::label);
        let (name, Self { config, .. }) = (LinkName::between(a.name, b.name), self);
        let mut known = known.iter().copied();
        [([0, 1], &config.a_to_b), ([1, 0], &config.b_to_a)].map(|(ends, direction)| {
            let ends = ends.map(|end| &*labels[end]);
            let mut channel = Channel::new(name, ends, direction, config.mtu_bytes, seed).on(config.air);
            channel.recall(&mut known);
            channel
        })
    }

    /// Whether it rests now: it does not while something is on its way.
    fn rest(&mut self, now: Time) -> bool {
        let State::Awake(channels) = &mut self.state else { return true };
        let is_idle = channels.iter().all(|channel| channel.is_idle(now));
        if is_idle {
            self.state = State::Resting(channels.iter_mut().flat_map(Channel::knows).collect());
        }
        is_idle
    }
}

/// The links and addresses of a world.
pub(crate) struct Net {
    links: Vec<Option<Link>>,
    /// Places of links that were removed.
    vacant: Vec<u32>,
    /// Places of those awake, the one that awoke first in front.
    awake: VecDeque<u32>,
    /// As many are awake at most, unless more carry something.
    awake_max: usize,
    /// What many links have in common.
    configs: Vec<Arc<LinkConfig>>,
    owners: FastMap<Host, NodeIndex>,
    /// The place of the link between two nodes, the lower index first.
    routes: FastMap<(NodeIndex, NodeIndex), u32>,
    /// The nodes that share a LAN or a radio channel with a node, and the channels that lead there, in the order of their links.
    in_reach: BTreeMap<NodeIndex, Vec<Way>>,
}

/// A node, and the link that leads there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// The receiving node.
    pub(crate) node: NodeIndex,
    link: u32,
    leads_on: bool,
}

/// Two nodes in the order in which their link is found.
fn pair(a: NodeIndex, b: NodeIndex) -> (NodeIndex, NodeIndex) {
    (a.min(b), a.max(b))
}

impl Net {
    /// Without links; so many of them are awake at most.
    pub(crate) fn new(awake_max: usize) -> Self {
        Self {
            links: Vec::new(),
            vacant: Vec::new(),
            awake: VecDeque::new(),
            awake_max,
            configs: Vec::new(),
            owners: FastMap::default(),
            routes: FastMap::default(),
            in_reach: BTreeMap::new(),
        }
    }

    /// Changes how many links are awake at most.
    pub(crate) const fn set_awake_max(&mut self, awake_max: usize) {
        self.awake_max = awake_max;
    }

    /// Assigns an address to a node; an earlier owner loses it.
    pub(crate) fn assign(&mut self, host: Host, node: NodeIndex) {
        self.owners.insert(host, node);
    }

    /// Connects two nodes; replaces an existing link between them.
    pub(crate) fn join(&mut self, a: End, b: End, config: &LinkConfig) {
        let config = self.known(config);
        let is_in_reach = config.is_lan || config.air.is_some();
        let state = State::Resting(Box::default());
        let place = self.install(pair(a.index, b.index), Link { ends: [a, b], config, users: 1, state });
        for (from, node, leads_on) in [(a.index, b.index, true), (b.index, a.index, false)] {
            self.reach(from, Way { node, link: place, leads_on }, is_in_reach);
        }
    }

    /// The same configuration, kept once.
    fn known(&mut self, config: &LinkConfig) -> Arc<LinkConfig> {
        let known = self.configs.iter().find(|known| ***known == *config);
        known.cloned().unwrap_or_else(|| {
            self.configs.push(Arc::new(config.clone()));
            Arc::clone(&self.configs[self.configs.len() - 1])
        })
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
        let Some(&place) = self.routes.get(&pair(with, to)) else { return };
        if let Some(link) = &mut self.links[place as usize] {
            link.users += 1;
        }
        self.routes.insert(pair(node, to), place);
    }

    /// Removes the link between two nodes, if there is one.
    pub(crate) fn part(&mut self, a: NodeIndex, b: NodeIndex) {
        let Some(place) = self.routes.remove(&pair(a, b)) else { return };
        let slot = &mut self.links[place as usize];
        let users = slot.as_mut().map_or(0, |link| {
            link.users -= 1;
            link.users
        });
        if users == 0 {
            *slot = None;
            self.vacant.push(place);
        }
        for (from, to) in [(a, b), (b, a)] {
            if let Some(in_reach) = self.in_reach.get_mut(&from) {
                in_reach.retain(|old| old.node != to);
            }
        }
    }

    /// Takes an address from a node, unless another one has it by now.
    pub(crate) fn unassign(&mut self, host: Host, node: NodeIndex) {
        if self.owners.get(&host) == Some(&node) {
            self.owners.remove(&host);
        }
    }

    fn install(&mut self, ends: (NodeIndex, NodeIndex), link: Link) -> u32 {
        let known = self.routes.get(&ends).copied();
        let place = known.or_else(|| self.vacant.pop()).unwrap_or_else(|| {
            self.links.push(None);
            u32::try_from(self.links.len() - 1).expect("a world has fewer than 2³² links")
        });
        self.links[place as usize] = Some(link);
        self.routes.insert(ends, place);
        place
    }

    /// The way to the node that has an address, if there is one.
    pub(crate) fn route(&self, from: NodeIndex, to: Host) -> Option<Way> {
        let node = *self.owners.get(&to)?;
        let link = *self.routes.get(&pair(from, node))?;
        let leads_on = self.links[link as usize].as_ref()?.leads_on(from, node);
        Some(Way { node, link, leads_on })
    }

    /// The ways to all nodes that a group-addressed frame of a node reaches.
    pub(crate) fn in_reach(&self, from: NodeIndex) -> &[Way] {
        self.in_reach.get(&from).map_or(&[], Vec::as_slice)
    }

    /// The channel of a way.
    pub(crate) fn channel(&mut self, way: Way, now: Time, seed: &Seed) -> &mut Channel {
        if matches!(self.link(way.link).state, State::Resting(_)) {
            self.wake(way.link, now, seed);
        }
        match &mut self.link(way.link).state {
            State::Awake(channels) => &mut channels[usize::from(!way.leads_on)],
            State::Resting(_) => unreachable!("it is awake by now"),
        }
    }

    fn link(&mut self, place: u32) -> &mut Link {
        self.links[place as usize].as_mut().expect("a way leads along a link that is there")
    }

    #[inline(never)]
    fn wake(&mut self, place: u32, now: Time, seed: &Seed) {
        // One that carries something stays awake, and has its turn later.
        for _ in 0..2 {
            if self.awake.len() < self.awake_max {
                break;
            }
            let Some(first) = self.awake.pop_front() else { break };
            let rests = self.links[first as usize].as_mut().is_none_or(|link| link.rest(now));
            if !rests {
                self.awake.push_back(first);
            }
        }
        let link = self.link(place);
        if let State::Resting(known) = &link.state {
            link.state = State::Awake(Box::new(link.channels(known, seed)));
        }
        self.awake.push_back(place);
    }
}
