//! AEAD keys that are kept expanded while traffic flows, because expanding one costs as much as a short packet.
//!
//! Only in [`Phase::Traffic`]: IKE uses a key for a handful of messages. A key is expanded for keeps when it comes a
//! second time, so that an SA that carries one ping costs no memory. All state belongs to one provider, that is to one
//! node: two nodes of a simulation that share a key do not share the work.

use keytoll_engine::Phase;
use keytoll_engine::algorithm::Encryption;
use keytoll_native::awslc::aead::{Aead, Key};
use keytoll_native::awslc::{const_time_eq, wipe};

/// Two SA pairs: inbound and outbound, and those that replace them during a rekeying.
const KEPT: usize = 4;

/// The longest cipher key.
const KEY_LEN_MAX: usize = 32;

/// The keys seen last.
#[derive(Default)]
pub(crate) struct Contexts {
    traffic: bool,
    slots: [Option<Slot>; KEPT],
    oldest: usize,
}

/// One key that was seen.
struct Slot {
    algorithm: Encryption,
    key: [u8; KEY_LEN_MAX],
    expanded: Option<Box<Key>>,
}

impl Contexts {
    /// Notes the phase.
    pub(crate) fn enter(&mut self, phase: Phase) {
        self.traffic = phase == Phase::Traffic;
    }

    /// Runs an operation with the expanded key. `key` has the length of the algorithm's cipher key.
    pub(crate) fn with<T>(
        &mut self,
        algorithm: Encryption,
        aead: Aead,
        key: &[u8],
        operation: impl FnOnce(&Key) -> T,
    ) -> T {
        let expand = || Key::new(aead, key, algorithm.tag_len());
        if !self.traffic {
            return operation(&expand());
        }
        match self.slots.iter_mut().flatten().find(|slot| slot.holds(algorithm, key)) {
            Some(slot) => operation(slot.expanded.get_or_insert_with(|| Box::new(expand()))),
            None => {
                self.remember(algorithm, key);
                operation(&expand())
            }
        }
    }

    fn remember(&mut self, algorithm: Encryption, key: &[u8]) {
        let mut slot = Slot { algorithm, key: [0; KEY_LEN_MAX], expanded: None };
        slot.key[..key.len()].copy_from_slice(key);
        self.slots[self.oldest] = Some(slot);
        self.oldest = (self.oldest + 1) % KEPT;
    }
}

impl Slot {
    fn holds(&self, algorithm: Encryption, key: &[u8]) -> bool {
        self.algorithm == algorithm && const_time_eq(&self.key[..key.len()], key)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        wipe(&mut self.key);
    }
}

impl std::fmt::Debug for Contexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Contexts({} of {KEPT})", self.slots.iter().flatten().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(contexts: &mut Contexts, key: u8) -> [u8; 16] {
        let mut tag = [0; 16];
        contexts.with(Encryption::Aes128Gcm16, Aead::AesGcm, &[key; 16], |key| {
            key.seal(&[0; 12], b"", &mut [], &mut tag);
        });
        tag
    }

    fn expanded(contexts: &Contexts) -> usize {
        contexts.slots.iter().flatten().filter(|slot| slot.expanded.is_some()).count()
    }

    #[test]
    fn keys_are_kept_from_their_second_use_in_traffic_on() {
        let mut contexts = Contexts::default();
        assert_eq!(sealed(&mut contexts, 1), sealed(&mut contexts, 1));
        assert_eq!((contexts.slots.iter().flatten().count(), expanded(&contexts)), (0, 0), "not traffic");
        contexts.enter(Phase::Traffic);
        sealed(&mut contexts, 1);
        assert_eq!(expanded(&contexts), 0);
        sealed(&mut contexts, 1);
        assert_eq!(expanded(&contexts), 1);
    }

    #[test]
    fn the_oldest_key_gives_way_and_nothing_is_mixed_up() {
        let (mut kept, mut fresh) = (Contexts::default(), Contexts::default());
        kept.enter(Phase::Traffic);
        for key in [1, 1, 2, 3, 2, 4, 5, 1, 5, 5, 6, 7, 8, 9, 1, 9] {
            assert_eq!(sealed(&mut kept, key), sealed(&mut fresh, key), "key {key}");
        }
        assert_eq!(kept.slots.iter().flatten().count(), KEPT);
    }
}
