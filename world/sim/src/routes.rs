//! Which link joins two nodes, and the ways that were taken lately.
//!
//! Of two nodes the one that was added later knows the link: devices come after those that serve them, and have few links each.

use keytoll_engine::map::FastMap;
use keytoll_net::Host;

use crate::NodeIndex;

/// A node, and the link that leads there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// The receiving node.
    pub(crate) node: NodeIndex,
    /// The place of the link.
    pub(crate) link: u32,
    /// Whether from its first end to the second.
    pub(crate) leads_on: bool,
}

/// The place of a link, and whether it leads on from the node with the lower index. Of the nodes that share a link all but one are on
/// the same side.
#[derive(Debug, Clone, Copy)]
struct Route(u32);

impl Route {
    const LEADS_ON: u32 = 1 << 31;

    fn new(from: NodeIndex, Way { node: to, link, leads_on }: Way) -> Self {
        assert!(link < Self::LEADS_ON, "a world has fewer than 2³¹ links");
        Self(if leads_on == (from < to) { link | Self::LEADS_ON } else { link })
    }

    const fn link(self) -> u32 {
        self.0 & !Self::LEADS_ON
    }

    fn way(self, from: NodeIndex, to: NodeIndex) -> Way {
        let leads_up = self.0 & Self::LEADS_ON != 0;
        Way { node: to, link: self.link(), leads_on: leads_up == (from < to) }
    }
}

/// By node, its links to nodes that were added before it. Most have one.
#[derive(Debug, Default)]
pub(crate) struct Routes(Vec<FastMap<NodeIndex, Route>>);

impl Routes {
    /// The way from a node to another, if a link joins them.
    #[inline]
    pub(crate) fn way(&self, from: NodeIndex, to: NodeIndex) -> Option<Way> {
        let route = self.0.get(from.max(to).place())?.get(&from.min(to))?;
        Some(route.way(from, to))
    }

    /// A node has a way to another, and that one back, instead of those that they had.
    pub(crate) fn insert(&mut self, from: NodeIndex, way: Way) {
        let (lower, higher) = (from.min(way.node), from.max(way.node));
        if self.0.len() <= higher.place() {
            self.0.resize_with(higher.place() + 1, FastMap::default);
        }
        self.0[higher.place()].insert(lower, Route::new(from, way));
    }

    /// Nothing joins the two any more; the place of the link that did.
    pub(crate) fn remove(&mut self, a: NodeIndex, b: NodeIndex) -> Option<u32> {
        self.0.get_mut(a.max(b).place())?.remove(&a.min(b)).map(Route::link)
    }
}

/// So many ways are remembered, and those of so many nodes: of those that serve, and in small worlds of all.
const RECENT: usize = 256;

/// The ways that datagrams took lately, each in the only place where it is looked for. Most nodes send to the same address again.
#[derive(Debug)]
pub(crate) struct Recent {
    ways: Box<[Option<Taken>]>,
    /// Counts the changes of the net: what was taken before one may lead elsewhere now.
    changes: u32,
}

#[derive(Debug, Clone, Copy)]
struct Taken {
    changes: u32,
    from: NodeIndex,
    to: Host,
    way: Way,
}

impl Default for Recent {
    fn default() -> Self {
        Self { ways: vec![None; RECENT].into(), changes: 0 }
    }
}

impl Recent {
    #[inline]
    pub(crate) fn get(&self, from: NodeIndex, to: Host) -> Option<Way> {
        let taken = self.ways[place(from, to)].as_ref()?;
        let is_it = taken.to == to && taken.from == from && taken.changes == self.changes;
        is_it.then_some(taken.way)
    }

    pub(crate) fn put(&mut self, from: NodeIndex, to: Host, way: Way) {
        if from.place() >= RECENT {
            return;
        }
        self.ways[place(from, to)] = Some(Taken { changes: self.changes, from, to, way });
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        match self.changes.checked_add(1) {
            Some(changes) => self.changes = changes,
            None => *self = Self::default(),
        }
    }
}

/// Where a way is remembered: neighbours in a network have places of their own.
#[inline]
fn place(from: NodeIndex, to: Host) -> usize {
    let to = match to {
        Host::Ip(std::net::IpAddr::V4(ip)) => ip.to_bits(),
        Host::Ip(std::net::IpAddr::V6(ip)) => ip.to_bits() as u32,
        Host::Mac([.., a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
    };
    (from.number().wrapping_mul(0x9e37_79b1) ^ to) as usize % RECENT
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Against a map of pairs, with a hub that was added first, one in the middle and one last.
    #[test]
    fn routes_are_a_map_of_pairs_from_both_sides() {
        const NODES: u64 = 12;
        let node = |n: u64| NodeIndex::new(n as usize);
        let (mut routes, mut known) = (Routes::default(), BTreeMap::new());
        let mut drawn = 7_u64;
        for link in 0..3000 {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let hub = [0, NODES / 2, NODES - 1][(drawn >> 33) as usize % 3];
            let [from, to] = [hub, (drawn >> 40) % NODES];
            if from == to {
                continue;
            }
            let (pair, leads_on) = ((from.min(to), from.max(to)), drawn >> 62 & 1 == 1);
            if drawn >> 63 == 1 {
                routes.insert(node(from), Way { node: node(to), link, leads_on });
                known.insert(pair, (link, leads_on == (from < to)));
            } else {
                let removed = routes.remove(node(to), node(from));
                assert_eq!(removed, known.remove(&pair).map(|(link, _)| link));
            }
            for (from, to) in (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))) {
                let way = routes.way(node(from), node(to));
                let expected = known.get(&(from.min(to), from.max(to)));
                let expected = expected.map(|&(link, leads_up)| (node(to), link, leads_up == (from < to)));
                assert_eq!(way.map(|Way { node, link, leads_on }| (node, link, leads_on)), expected);
            }
        }
    }

    #[test]
    fn what_was_taken_before_a_change_is_not_taken_again() {
        let mut recent = Recent::default();
        let [one, other] = [0, 1].map(NodeIndex::new);
        let host = |n: u8| Host::Mac([2, 0, 0, 0, 0, n]);
        let way = Way { node: other, link: 5, leads_on: true };
        recent.put(one, host(1), way);
        let link = |recent: &Recent, from, to| recent.get(from, to).map(|way| way.link);
        assert_eq!(link(&recent, one, host(1)), Some(5));
        assert_eq!((link(&recent, other, host(1)), link(&recent, one, host(2))), (None, None));
        recent.clear();
        assert_eq!(link(&recent, one, host(1)), None);
        recent.put(one, host(1), way);
        recent.changes = u32::MAX;
        recent.clear();
        assert_eq!(link(&recent, one, host(1)), None);
    }
}
