//! The PMKSA cache: PMKs that outlive an association, so that the next one needs neither EAP nor SAE. Read 802.11-2020
//! §12.6.1.1.2 and §12.6.10.3 first.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::Time;

use crate::MacAddr;
use crate::keys::{KeyName, pmkid};
use crate::suite::Akm;

/// A PMK security association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pmksa {
    /// Its name.
    pub pmkid: KeyName,
    /// The key.
    pub pmk: Secret,
    /// How it was agreed on.
    pub akm: Akm,
    /// When it ends.
    pub until: Time,
}

impl Pmksa {
    // 802.11-2020 §12.7.1.3: with Suite B the handshake, which comes later, names the PMK.
    /// The one of a PMK that EAP has made; none if the AKM names PMKs in another way.
    pub fn of_eap(
        akm: Akm,
        pmk: &Secret,
        [aa, spa]: [MacAddr; 2],
        now: Time,
        crypto: &mut dyn Crypto,
    ) -> Option<Self> {
        if !matches!(akm, Akm::Dot1x | Akm::Dot1xSha256) {
            return None;
        }
        let pmkid = pmkid(akm, pmk, aa, spa, crypto)?;
        Some(Self { pmkid, pmk: pmk.clone(), akm, until: now + PmksaCache::LIFETIME })
    }
}

/// PMKSAs by the peer's address, one for each peer: a new one takes the place of the old.
#[derive(Debug)]
pub struct PmksaCache {
    peers_max: usize,
    peers: BTreeMap<MacAddr, Pmksa>,
}

impl PmksaCache {
    /// How long a PMKSA lasts by default, dot11RSNAConfigPMKLifetime: 12 hours.
    pub const LIFETIME: Duration = Duration::from_secs(43_200);

    /// An empty cache for so many peers.
    pub const fn new(peers_max: usize) -> Self {
        Self { peers_max, peers: BTreeMap::new() }
    }

    /// Whether it keeps any.
    pub const fn is_used(&self) -> bool {
        self.peers_max > 0
    }

    /// How many there are, those that have ended included.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Keeps one. If the cache is full, the one that ends first makes room.
    pub fn insert(&mut self, peer: MacAddr, pmksa: Pmksa) {
        if self.peers_max == 0 {
            return;
        }
        if !self.peers.contains_key(&peer) && self.peers.len() >= self.peers_max {
            let first = self.peers.iter().min_by_key(|(_, pmksa)| pmksa.until).map(|(&peer, _)| peer);
            first.and_then(|peer| self.peers.remove(&peer));
        }
        self.peers.insert(peer, pmksa);
    }

    /// The one with this peer and AKM, if it has not ended: a station names it in its association request.
    pub fn of_peer(&self, peer: MacAddr, akm: Akm, now: Time) -> Option<&Pmksa> {
        self.peers.get(&peer).filter(|pmksa| pmksa.akm == akm && now < pmksa.until)
    }

    /// The one with this peer and AKM that has one of these names: an access point looks for those of an association request.
    pub fn named(&self, peer: MacAddr, akm: Akm, names: &[KeyName], now: Time) -> Option<&Pmksa> {
        self.of_peer(peer, akm, now).filter(|pmksa| names.contains(&pmksa.pmkid))
    }

    /// Forgets the one with this peer, as when its handshake failed.
    pub fn remove(&mut self, peer: MacAddr) -> Option<Pmksa> {
        self.peers.remove(&peer)
    }

    /// Forgets all that have ended.
    pub fn expire(&mut self, now: Time) {
        self.peers.retain(|_, pmksa| now < pmksa.until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn pmksa(name: u8, until: u64) -> Pmksa {
        Pmksa { pmkid: [name; 16], pmk: Secret::new(vec![name; 32]), akm: Akm::Dot1x, until: at(until) }
    }

    #[test]
    fn it_is_found_by_peer_akm_and_name_until_it_ends() {
        let mut cache = PmksaCache::new(2);
        cache.insert([1; 6], pmksa(1, 100));
        let found = |cache: &PmksaCache, akm, names: &[KeyName], now| {
            cache.named([1; 6], akm, names, at(now)).is_some()
        };
        assert!(found(&cache, Akm::Dot1x, &[[7; 16], [1; 16]], 99));
        assert!(!found(&cache, Akm::Dot1x, &[[7; 16]], 99));
        assert!(!found(&cache, Akm::Dot1xSha256, &[[1; 16]], 99));
        assert!(!found(&cache, Akm::Dot1x, &[[1; 16]], 100));
        assert!(cache.named([2; 6], Akm::Dot1x, &[[1; 16]], at(0)).is_none());
        cache.expire(at(100));
        assert!(cache.is_empty());
    }

    #[test]
    fn a_full_cache_forgets_what_ends_first() {
        let mut cache = PmksaCache::new(2);
        cache.insert([1; 6], pmksa(1, 100));
        cache.insert([2; 6], pmksa(2, 50));
        cache.insert([1; 6], pmksa(9, 60));
        cache.insert([3; 6], pmksa(3, 10));
        assert_eq!(cache.len(), 2);
        assert!(cache.remove([2; 6]).is_none());
        assert_eq!(cache.of_peer([1; 6], Akm::Dot1x, at(0)).map(|pmksa| pmksa.pmkid), Some([9; 16]));
        let mut none = PmksaCache::new(0);
        none.insert([1; 6], pmksa(1, 100));
        assert!(none.is_empty());
    }
}
