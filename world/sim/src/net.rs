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
use crate::routes::{Recent, Routes, Way};
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
    Resting(Known),
}

/// What the channels of a link at rest knew. With loss and jitter in both directions, as most have, it is four numbers, which need no
/// memory of their own.
enum Known {
    Four([u64; 4]),
    Others(Box<[u64]>),
}

impl Default for Known {
    fn default() -> Self {
        Self::Others(Box::default())
    }
}

impl FromIterator<u64> for Known {
    fn from_iter<I: IntoIterator<Item = u64>>(known: I) -> Self {
        let mut known = known.into_iter();
        let first: [Option<u64>; 5] = std::array::from_fn(|_| known.next());
        match first {
            [Some(a), Some(b), Some(c), Some(d), None] => Self::Four([a, b, c, d]),
            _ => Self::Others(first.into_iter().flatten().chain(known).collect()),
        }
    }
}

impl Known {
    fn as_slice(&self) -> &[u64] {
        match self {
            Self::Four(known) => known,
            Self::Others(known) => known,
        }
    }
}

impl Link {
    const fn rests(&self) -> bool {
        matches!(self.state, State::Resting(_))
    }

    /// The channel in one direction of a link that is awake.
    fn channel(&mut self, leads_on: bool) -> &mut Channel {
        match &mut self.state {
            State::Awake(channels) => &mut channels[usize::from(!leads_on)],
            State::Resting(_) => unreachable!("it is awake by now"),
        }
    }

    /// It is awake from now on, in the place of another of the same configuration, if there is one.
    fn wake(&mut self, other: Option<Box<[Channel; 2]>>, seed: &Seed) {
        let State::Resting(known) = &self.state else { return };
        let [a, b] = self.ends;
        let labels = [a, b].map(End::label);
        let (name, config) = (LinkName::between(a.name, b.name), &self.config);
        let directions =
            [([&*labels[0], &*labels[1]], &config.a_to_b), ([&*labels[1], &*labels[0]], &config.b_to_a)];
        let mut channels = match other {
            Some(mut channels) => {
                for (channel, (ends, direction)) in channels.iter_mut().zip(directions) {
                    channel.renew(name, ends, direction.queue_bytes_max, seed);
                }
                channels
            }
            None => Box::new(directions.map(|(ends, direction)| {
                Channel::new(name, ends, direction, config.mtu_bytes, seed).on(config.air)
            })),
        };
        let mut known = known.as_slice().iter().copied();
        channels.iter_mut().for_each(|channel| channel.recall(&mut known));
        self.state = State::Awake(channels);
    }

    /// Rests, unless something is on its way; returns its channels, if it was awake and rests now.
    fn rest(&mut self, now: Time) -> Option<Box<[Channel; 2]>> {
        let State::Awake(channels) = &mut self.state else { return None };
        if !channels.iter_mut().all(|channel| channel.is_idle(now)) {
            return None;
        }
        let known = channels.iter_mut().flat_map(Channel::knows).collect();
        match std::mem::replace(&mut self.state, State::Resting(known)) {
            State::Awake(channels) => Some(channels),
            State::Resting(_) => None,
        }
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
    /// Nodes that have an address besides its owner.
    others: BTreeMap<Host, Vec<NodeIndex>>,
    routes: Routes,
    recent: Recent,
    /// The nodes that share a LAN or a radio channel with a node, and the channels that lead there, in the order of their links.
    in_reach: BTreeMap<NodeIndex, Vec<Way>>,
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
            others: BTreeMap::new(),
            routes: Routes::default(),
            recent: Recent::default(),
            in_reach: BTreeMap::new(),
        }
    }

    /// Changes how many links are awake at most.
    pub(crate) const fn set_awake_max(&mut self, awake_max: usize) {
        self.awake_max = awake_max;
    }

    /// Assigns an address to a node; an earlier owner loses it.
    pub(crate) fn assign(&mut self, host: Host, node: NodeIndex) {
        self.recent.clear();
        self.owners.insert(host, node);
    }

    /// Lets a node have an address that others have, too: who has a link to one of them reaches that one.
    pub(crate) fn assign_too(&mut self, host: Host, node: NodeIndex) {
        match self.owners.get(&host) {
            Some(_) => self.others.entry(host).or_default().push(node),
            None => self.assign(host, node),
        }
    }

    /// Connects two nodes; replaces an existing link between them.
    pub(crate) fn join(&mut self, a: End, b: End, config: &LinkConfig) {
        let config = self.known(config);
        let is_in_reach = config.is_lan || config.air.is_some();
        let state = State::Resting(Known::default());
        let place = self.install(Link { ends: [a, b], config, users: 1, state });
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

    /// Connects a node to another by the link that a third one has, to that or to a fourth: what they send waits for each other.
    pub(crate) fn share(&mut self, node: NodeIndex, to: NodeIndex, with: [NodeIndex; 2]) {
        let Some(Way { link, leads_on, .. }) = self.routes.way(with[0], with[1]) else { return };
        if let Some(link) = &mut self.links[link as usize] {
            link.users += 1;
        }
        self.recent.clear();
        self.routes.insert(node, Way { node: to, link, leads_on });
    }

    /// Removes the link between two nodes, if there is one.
    pub(crate) fn part(&mut self, a: NodeIndex, b: NodeIndex) {
        let Some(place) = self.routes.remove(a, b) else { return };
        self.recent.clear();
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
        let others = self.others.get_mut(&host);
        if self.owners.get(&host) != Some(&node) {
            others.into_iter().for_each(|others| others.retain(|other| *other != node));
            return;
        }
        self.recent.clear();
        match others.filter(|others| !others.is_empty()) {
            Some(others) => drop(self.owners.insert(host, others.remove(0))),
            None => drop(self.owners.remove(&host)),
        }
    }

    fn install(&mut self, link: Link) -> u32 {
        let [a, b] = link.ends.map(|end| end.index);
        let known = self.routes.way(a, b).map(|way| way.link);
        let place = known.or_else(|| self.vacant.pop()).unwrap_or_else(|| {
            self.links.push(None);
            u32::try_from(self.links.len() - 1).expect("a world has fewer than 2³² links")
        });
        self.links[place as usize] = Some(link);
        self.recent.clear();
        self.routes.insert(a, Way { node: b, link: place, leads_on: true });
        place
    }

    /// The way to the node that has an address, if there is one.
    #[inline]
    pub(crate) fn route(&mut self, from: NodeIndex, to: Host) -> Option<Way> {
        self.recent.get(from, to).or_else(|| self.find(from, to))
    }

    #[inline(never)]
    fn find(&mut self, from: NodeIndex, to: Host) -> Option<Way> {
        let node = *self.owners.get(&to)?;
        let way = self.routes.way(from, node).or_else(|| self.find_other(from, to))?;
        self.recent.put(from, to, way);
        Some(way)
    }

    /// The way to one of the nodes that have an address besides its owner.
    fn find_other(&self, from: NodeIndex, to: Host) -> Option<Way> {
        self.others.get(&to)?.iter().find_map(|&node| self.routes.way(from, node))
    }

    /// The ways to all nodes that a group-addressed frame of a node reaches.
    pub(crate) fn in_reach(&self, from: NodeIndex) -> &[Way] {
        self.in_reach.get(&from).map_or(&[], Vec::as_slice)
    }

    /// The channel of a way.
    #[inline]
    pub(crate) fn channel(&mut self, way: Way, now: Time, seed: &Seed) -> &mut Channel {
        if self.link(way.link).rests() {
            self.wake(way.link, now, seed);
        }
        self.link(way.link).channel(way.leads_on)
    }

    fn link(&mut self, place: u32) -> &mut Link {
        self.links[place as usize].as_mut().expect("a way leads along a link that is there")
    }

    #[inline(never)]
    fn wake(&mut self, place: u32, now: Time, seed: &Seed) {
        let mut other = None;
        // One that carries something stays awake, and has its turn later.
        for _ in 0..2 {
            if self.awake.len() < self.awake_max {
                break;
            }
            let Some(first) = self.awake.pop_front() else { break };
            let Some(link) = self.links[first as usize].as_mut().filter(|link| !link.rests()) else {
                continue;
            };
            match link.rest(now) {
                Some(channels) => other = Some((Arc::clone(&link.config), channels)),
                None => self.awake.push_back(first),
            }
        }
        let link = self.link(place);
        let other = other.filter(|(config, _)| Arc::ptr_eq(config, &link.config));
        link.wake(other.map(|(_, channels)| channels), seed);
        self.awake.push_back(place);
    }
}
