//! Which IKE SAs each initiator has that proved who it is, for both versions. Read RFC 7296 §2.4 (INITIAL_CONTACT) and
//! RFC 8019 §5 first.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use crate::config::{Believe, Connection};
use crate::wire::Identity;

/// So many devices may be behind one address, or in one /64, where nothing tells them apart.
const PEOPLE_AT_ONE_PLACE: usize = 64;

/// Whom an IKE SA is with. The same name under a connection that believes something else is somebody else: that one may
/// have asked for less.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Peer {
    belief: Belief,
    whom: Whom,
}

/// What convinced us, and under which name it knows us: the first connection of which both are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Belief {
    first: u32,
    is_of_certificates: bool,
}

/// Who has proved what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proved<'a> {
    pub(crate) belief: Belief,
    /// Whose key that was, if it was an address's and not the identity's own.
    pub(crate) key_of: Option<IpAddr>,
    pub(crate) identity: &'a Identity,
}

/// What each connection believes.
#[derive(Debug)]
pub(crate) struct Beliefs(Vec<Belief>);

impl Belief {
    // RFC 4945 §3.1: a certificate speaks for a name in any spelling, and each of them is the same peer's. A shared key or an
    // account of EAP may be for one spelling only.
    fn folded(self, identity: &Identity) -> Cow<'_, Identity> {
        if self.is_of_certificates { Cow::Owned(identity.in_lower_case()) } else { Cow::Borrowed(identity) }
    }
}

impl Beliefs {
    pub(crate) fn of(connections: &[Arc<Connection>]) -> Self {
        // RFC 7296 §2.4: INITIAL_CONTACT speaks of two identities, and so does all that is for one peer.
        let is_same = |one: &Connection, other: &Connection| {
            one.local_id == other.local_id && one.remote.is_same(&other.remote)
        };
        let first = |connection: &Connection| {
            let first = connections.iter().position(|other| is_same(other, connection)).unwrap_or(0);
            u32::try_from(first).expect("no memory holds so many connections")
        };
        let belief = |connection: &Arc<Connection>| Belief {
            first: first(connection),
            is_of_certificates: matches!(connection.remote, Believe::Certificate(_)),
        };
        Self(connections.iter().map(belief).collect())
    }

    /// That of a connection, by its index.
    pub(crate) fn get(&self, connection: usize) -> Belief {
        self.0[connection]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    /// The identity that was proved.
    Named(Identity),
    /// Somebody who has the key of this address and calls itself that. Seldom there, and larger than the others.
    Beside(Box<(IpAddr, Identity)>),
    /// Somebody was proved, and nobody said who: where it was met, in IPv6 its /64.
    At(IpAddr),
}

impl Peer {
    /// Who has proved this.
    pub(crate) fn of(Proved { belief, key_of, identity }: Proved<'_>) -> Self {
        let name = belief.folded(identity).into_owned();
        let whom = match key_of {
            None => Whom::Named(name),
            Some(ip) => Whom::Beside(Box::new((ip, name))),
        };
        Self { belief, whom }
    }

    /// Among whom it is counted: whoever has the key of an address may call itself what it likes.
    pub(crate) fn counted(self) -> Self {
        match self.whom {
            Whom::Beside(beside) => Self::at(self.belief, beside.0),
            Whom::Named(_) | Whom::At(_) => self,
        }
    }

    /// Whom nobody has named, from this origin ([`crate::half_open::origin`]).
    pub(crate) const fn at(belief: Belief, origin: IpAddr) -> Self {
        Self { belief, whom: Whom::At(origin) }
    }

    /// How many IKE SAs it may have, if each that is named may have so many: behind a NAT, or in a /64, there are others.
    pub(crate) const fn share(&self, of_one: usize) -> usize {
        match self.whom {
            Whom::Named(_) => of_one,
            Whom::At(_) | Whom::Beside(..) => of_one.saturating_mul(PEOPLE_AT_ONE_PLACE),
        }
    }
}

/// The IKE SAs of all initiators, by the SPIs that we chose.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    lines: BTreeMap<Arc<Peer>, Line>,
}

/// Those of one initiator.
#[derive(Debug)]
struct Line {
    /// In use, the oldest first.
    up: VecDeque<u64>,
    /// That one had to go, and the peer may not have said yet that it knows.
    leaving: Option<u64>,
}

impl Line {
    /// With room for one, for more are seldom.
    fn of_one() -> Self {
        Self { up: VecDeque::with_capacity(1), leaving: None }
    }
}

/// What is to be done to an IKE SA that had to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The peer is told.
    Delete(u64),
    /// The peer knows nothing of it any more, or has had its time to say that it does not.
    Forget(u64),
}

impl Peers {
    /// An initiator has one more; it has no more than `max`, and only this one if it says so. Gives which others must go.
    pub(crate) fn arrives(&mut self, peer: &Arc<Peer>, spi: u64, max: usize, is_alone: bool) -> Vec<Removal> {
        let line = self.lines.entry(Arc::clone(peer)).or_insert_with(Line::of_one);
        let mut removals = Vec::new();
        if is_alone {
            removals.extend(line.up.drain(..).chain(line.leaving.take()).map(Removal::Forget));
        }
        while line.up.len() >= max.max(1)
            && let Some(oldest) = line.up.pop_front()
        {
            removals.extend(line.leaving.replace(oldest).map(Removal::Forget));
            removals.push(Removal::Delete(oldest));
        }
        line.up.push_back(spi);
        removals
    }

    /// An IKE SA has a new name.
    pub(crate) fn renamed(&mut self, peer: &Peer, old: u64, new: u64) {
        let line = self.lines.get_mut(peer);
        let place = line.and_then(|line| line.up.iter_mut().find(|spi| **spi == old));
        place.into_iter().for_each(|spi| *spi = new);
    }

    /// One is over. With the last in use that goes, too, which was leaving.
    pub(crate) fn leaves(&mut self, peer: &Peer, spi: u64) -> Option<Removal> {
        let line = self.lines.get_mut(peer)?;
        line.up.retain(|own| *own != spi);
        if !line.up.is_empty() {
            return None;
        }
        self.lines.remove(peer)?.leaving.filter(|leaving| *leaving != spi).map(Removal::Forget)
    }
}

impl Peers {
    /// An IKE SA is gone, and nobody can say whose it was. Rare enough to look through all.
    pub(crate) fn lost(&mut self, spi: u64) {
        self.lines.values_mut().for_each(|line| line.up.retain(|own| *own != spi));
        self.lines.retain(|_, line| !line.up.is_empty());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Whoever has proved this name.
    pub(crate) fn peer(name: &str) -> Arc<Peer> {
        let belief = Belief { first: 0, is_of_certificates: false };
        Arc::new(Peer::of(Proved { belief, key_of: None, identity: &name.parse().unwrap() }))
    }

    #[test]
    fn of_too_many_the_oldest_goes_and_one_at_a_time_is_leaving() {
        let (mut peers, one) = (Peers::default(), peer("one@lab"));
        assert_eq!(peers.arrives(&one, 1, 2, false), []);
        assert_eq!(peers.arrives(&one, 2, 2, false), []);
        assert_eq!(peers.arrives(&peer("other@lab"), 9, 2, false), []);
        assert_eq!(peers.arrives(&one, 3, 2, false), [Removal::Delete(1)]);
        peers.renamed(&one, 2, 20);
        assert_eq!(peers.arrives(&one, 4, 2, false), [Removal::Forget(1), Removal::Delete(20)]);
        assert_eq!(peers.leaves(&one, 20), None, "it is not in use any more");
        assert_eq!(peers.leaves(&one, 3), None);
        assert_eq!(peers.leaves(&one, 4), Some(Removal::Forget(20)));
        assert_eq!(peers.lines.len(), 1);
    }

    #[test]
    fn whoever_says_that_it_has_no_other_has_no_other() {
        let (mut peers, one) = (Peers::default(), peer("one@lab"));
        (1..=3).for_each(|spi| drop(peers.arrives(&one, spi, 2, false)));
        let all = [2, 3, 1].map(Removal::Forget);
        assert_eq!(peers.arrives(&one, 4, 2, true), all);
        assert_eq!(peers.leaves(&one, 4), None);
        assert!(peers.lines.is_empty());
    }

    #[test]
    fn one_that_is_lost_is_nobody_s() {
        let (mut peers, one) = (Peers::default(), peer("one@lab"));
        (1..=2).for_each(|spi| drop(peers.arrives(&one, spi, 2, false)));
        peers.lost(1);
        assert_eq!(peers.lines[&one].up, [2]);
        assert_eq!(peers.arrives(&one, 3, 2, false), [], "there is a place");
        peers.lost(2);
        peers.lost(3);
        assert!(peers.lines.is_empty());
    }
}
