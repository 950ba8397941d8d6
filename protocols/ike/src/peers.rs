//! The IKE SAs of each authenticated initiator, for both versions. Read RFC 7296 §2.4 (INITIAL_CONTACT) and RFC 8019 §5
//! first.

use std::borrow::Cow;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;

use keytoll_engine::Few;
use keytoll_engine::map::FastMap;

use crate::config::{Believe, Connection};
use crate::wire::Identity;

/// So many devices may share one address or /64 if nothing distinguishes them.
const PEERS_PER_ORIGIN: usize = 64;

/// The peer of an IKE SA. The same name under a connection with another authentication is another peer: the requirements
/// may be weaker there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Peer {
    belief: Belief,
    whom: Whom,
}

/// The authentication required of a peer, and the name by which it knows us: the first connection for which both are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Belief {
    first: u32,
    is_of_certificates: bool,
}

/// An authenticated peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proved<'a> {
    pub(crate) belief: Belief,
    /// The address to which the key belongs, if it is not the identity's own key.
    pub(crate) key_of: Option<IpAddr>,
    pub(crate) identity: &'a Identity,
}

/// The authentication that each connection requires.
#[derive(Debug)]
pub(crate) struct Beliefs(Vec<Belief>);

impl Belief {
    // RFC 4945 §3.1: a certificate matches a name in any spelling, so all spellings are one peer. A shared key or an EAP account
    // may be for one spelling only.
    fn folded(self, identity: &Identity) -> Cow<'_, Identity> {
        if self.is_of_certificates { Cow::Owned(identity.in_lower_case()) } else { Cow::Borrowed(identity) }
    }
}

impl Beliefs {
    pub(crate) fn of(connections: &[Arc<Connection>]) -> Self {
        // RFC 7296 §2.4: INITIAL_CONTACT concerns a pair of identities, and so do all limits per peer.
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Whom {
    /// The identity that was proved.
    Named(Identity),
    /// A peer with the key of this address that claims this identity. Rare, and larger than the other variants.
    Beside(Box<(IpAddr, Identity)>),
    /// An authenticated peer without a name, by its origin: its address, in IPv6 its /64.
    At(IpAddr),
}

impl Peer {
    /// The peer with this proof.
    pub(crate) fn of(Proved { belief, key_of, identity }: Proved<'_>) -> Self {
        let name = belief.folded(identity).into_owned();
        let whom = match key_of {
            None => Whom::Named(name),
            Some(ip) => Whom::Beside(Box::new((ip, name))),
        };
        Self { belief, whom }
    }

    /// The peer for which it is counted: a holder of an address's key may claim any name.
    pub(crate) fn counted(self) -> Self {
        match self.whom {
            Whom::Beside(beside) => Self::at(self.belief, beside.0),
            Whom::Named(_) | Whom::At(_) => self,
        }
    }

    /// A peer without a name, from this origin ([`crate::half_open::origin`]).
    pub(crate) const fn at(belief: Belief, origin: IpAddr) -> Self {
        Self { belief, whom: Whom::At(origin) }
    }

    /// The maximum number of its IKE SAs, given that of a named peer: behind a NAT, or in a /64, there may be several peers.
    pub(crate) const fn share(&self, of_one: usize) -> usize {
        match self.whom {
            Whom::Named(_) => of_one,
            Whom::At(_) | Whom::Beside(..) => of_one.saturating_mul(PEERS_PER_ORIGIN),
        }
    }
}

/// The IKE SAs of all initiators, by our SPIs.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    lines: FastMap<Arc<Peer>, Line>,
}

/// The IKE SAs of one initiator.
#[derive(Debug, Default)]
struct Line {
    /// In use, the oldest first. More than one are rare.
    up: Few<u64>,
    /// One that was deleted to make room, which the peer may not have confirmed yet.
    leaving: Option<NonZeroU64>,
}

/// How to remove an IKE SA that exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// Tell the peer.
    Delete(u64),
    /// Drop it: the peer has forgotten it, or has had enough time to confirm.
    Forget(u64),
}

impl Peers {
    /// A peer as its IKE SAs have it already, if there are any: they share it.
    pub(crate) fn shared(&self, peer: Peer) -> Arc<Peer> {
        self.lines.key(&peer).map_or_else(|| Arc::new(peer), Arc::clone)
    }

    /// Adds an IKE SA of an initiator, which may have `max`, or only this one if `is_alone`. Returns which others to remove.
    pub(crate) fn arrives(&mut self, peer: &Arc<Peer>, spi: u64, max: usize, is_alone: bool) -> Vec<Removal> {
        let line = self.lines.get_or_insert(peer);
        let mut removals = Vec::new();
        if is_alone {
            let leaving = line.leaving.take().map(NonZeroU64::get);
            removals.extend(
                std::mem::take(&mut line.up).as_slice().iter().copied().chain(leaving).map(Removal::Forget),
            );
        }
        while line.up.as_slice().len() >= max.max(1)
            && let Some(oldest) = line.up.pop_first()
        {
            let before = std::mem::replace(&mut line.leaving, NonZeroU64::new(oldest));
            removals.extend(before.map(|spi| Removal::Forget(spi.get())));
            removals.push(Removal::Delete(oldest));
        }
        line.up.push(spi);
        removals
    }

    /// An IKE SA has a new name.
    pub(crate) fn renamed(&mut self, peer: &Peer, old: u64, new: u64) {
        if let Some(line) = self.lines.get_mut(peer) {
            line.up.as_mut_slice().iter_mut().filter(|spi| **spi == old).for_each(|spi| *spi = new);
        }
    }

    /// Removes an IKE SA. If the last one in use is gone, the one being deleted is dropped, too.
    pub(crate) fn leaves(&mut self, peer: &Peer, spi: u64) -> Option<Removal> {
        let line = self.lines.get_mut(peer)?;
        line.up.retain(|own| own != spi);
        if !line.up.as_slice().is_empty() {
            return None;
        }
        let leaving = self.lines.remove(peer)?.leaving.map(NonZeroU64::get);
        leaving.filter(|leaving| *leaving != spi).map(Removal::Forget)
    }
}

impl Peers {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Removes an IKE SA whose peer is unknown. Rare enough for a linear search.
    pub(crate) fn lost(&mut self, spi: u64) {
        self.lines.retain(|_, line| {
            line.up.retain(|own| own != spi);
            !line.up.as_slice().is_empty()
        });
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
    fn beyond_the_limit_the_oldest_is_deleted_one_at_a_time() {
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
    fn initial_contact_removes_all_others() {
        let (mut peers, one) = (Peers::default(), peer("one@lab"));
        (1..=3).for_each(|spi| drop(peers.arrives(&one, spi, 2, false)));
        let all = [2, 3, 1].map(Removal::Forget);
        assert_eq!(peers.arrives(&one, 4, 2, true), all);
        assert_eq!(peers.leaves(&one, 4), None);
        assert!(peers.lines.is_empty());
    }

    #[test]
    fn a_lost_sa_belongs_to_no_peer() {
        let (mut peers, one) = (Peers::default(), peer("one@lab"));
        (1..=2).for_each(|spi| drop(peers.arrives(&one, spi, 2, false)));
        peers.lost(1);
        assert_eq!(peers.lines.get(&one).unwrap().up.as_slice(), [2]);
        assert_eq!(peers.arrives(&one, 3, 2, false), [], "there is a place");
        peers.lost(2);
        peers.lost(3);
        assert!(peers.lines.is_empty());
    }
}
