//! Index of established ISAKMP SAs by the addresses and identities of their peers. Read RFC 2407 §4.6.3.3 (INITIAL-CONTACT)
//! first.
//!
//! The SAs of one peer are found without a search over all at its address: behind a NAT there are thousands.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use crate::peers::Peer;

/// Established SAs, by our cookies.
#[derive(Debug, Default)]
pub(super) struct Directory {
    places: BTreeMap<IpAddr, BTreeMap<Arc<Peer>, BTreeSet<u64>>>,
}

/// The index key of an SA.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) ip: IpAddr,
    pub(super) peer: Arc<Peer>,
}

impl Directory {
    /// Whether there is an SA with a peer at this address.
    pub(super) fn knows(&self, ip: IpAddr) -> bool {
        self.places.contains_key(&ip)
    }

    /// The other SAs with a peer at its address.
    pub(super) fn others(&self, (ip, peer): (IpAddr, &Peer), not: u64) -> Vec<u64> {
        let theirs = self.places.get(&ip).and_then(|peers| peers.get(peer));
        theirs.into_iter().flatten().copied().filter(|cookie| *cookie != not).collect()
    }

    pub(super) fn insert(&mut self, entry: &Entry, cookie: u64) {
        let peers = self.places.entry(entry.ip).or_default();
        peers.entry(Arc::clone(&entry.peer)).or_default().insert(cookie);
    }

    pub(super) fn remove(&mut self, entry: &Entry, cookie: u64) {
        let Some(peers) = self.places.get_mut(&entry.ip) else { return };
        if let Some(cookies) = peers.get_mut(&entry.peer) {
            cookies.remove(&cookie);
            if cookies.is_empty() {
                peers.remove(&entry.peer);
            }
        }
        if peers.is_empty() {
            self.places.remove(&entry.ip);
        }
    }

    /// Removes an SA whose key is unknown. Rare enough for a linear search.
    pub(super) fn lost(&mut self, cookie: u64) {
        self.places.retain(|_, peers| {
            peers.retain(|_, cookies| !cookies.remove(&cookie) || !cookies.is_empty());
            !peers.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::peer;

    fn entry(ip: [u8; 4], name: &str) -> Entry {
        Entry { ip: ip.into(), peer: peer(name) }
    }

    #[test]
    fn only_a_peer_s_own_sas_are_found_at_its_address() {
        let mut directory = Directory::default();
        let (one, other) = (entry([192, 0, 2, 1], "one@lab"), entry([192, 0, 2, 1], "other@lab"));
        let moved = entry([192, 0, 2, 2], "one@lab");
        for (entry, cookie) in [(&one, 3), (&one, 1), (&other, 2), (&one, 4), (&moved, 5)] {
            directory.insert(entry, cookie);
        }
        let others =
            |directory: &Directory, entry: &Entry, not| directory.others((entry.ip, &entry.peer), not);
        assert_eq!(others(&directory, &one, 3), [1, 4]);
        assert_eq!(others(&directory, &other, 2), [0; 0]);
        assert_eq!(others(&directory, &moved, 0), [5]);
        directory.remove(&one, 1);
        directory.lost(4);
        assert_eq!(others(&directory, &one, 0), [3]);
        directory.remove(&moved, 5);
        assert!(!directory.knows(moved.ip) && directory.knows(one.ip));
        directory.lost(3);
        assert!(directory.knows(other.ip), "the other one is there");
        directory.lost(2);
        assert!(directory.places.is_empty());
    }
}
