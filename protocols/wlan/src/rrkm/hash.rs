//! The hash from one key of a chain to the next.

use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::{Crypto, about};

use super::REKEYING;
use crate::MacAddr;
use crate::cipher::WepKey;

/// FIPS 180-4 §5.3.1.
const SHA1_INITIAL: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// How a key follows from the one before.
///
/// Paper 001 speaks of a simple hash that takes 5.5 µs at 125 MHz, which is less than its SHA-1; which one, it does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum KeyHash {
    /// SHA-1.
    #[default]
    Sha1,
    /// MD5.
    Md5,
    /// The compression function of SHA-1, once, over a block of zeros that begins with the input: no padding, no length.
    Simple,
}

impl KeyHash {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sha1, Self::Md5, Self::Simple];

    /// The name used in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Md5 => "md5",
            Self::Simple => "simple",
        }
    }

    /// The hash with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.name() == name)
    }

    /// The key of an epoch from that of the epoch before; `owner` is the station, or none of a group's key.
    pub(super) fn next(
        self,
        key: &WepKey,
        epoch: u32,
        owner: Option<MacAddr>,
        crypto: &mut dyn Crypto,
    ) -> WepKey {
        crypto.enter(REKEYING);
        let (purpose, owner) = match &owner {
            Some(station) => ("pairwise key", &station[..]),
            None => ("group key", &[][..]),
        };
        let parts: [&[u8]; 3] = [key, &epoch.to_le_bytes(), owner];
        let octets = about(crypto, purpose, |crypto| self.digest(&parts, crypto));
        WepKey::new(&octets[..key.len()]).expect("it is as long as the key before it")
    }

    /// At least 16 octets.
    fn digest(self, parts: &[&[u8]], crypto: &mut dyn Crypto) -> Vec<u8> {
        match self {
            Self::Sha1 => crypto.hash(Hash::Sha1, parts).to_vec(),
            Self::Md5 => crypto.hash(Hash::Md5, parts).to_vec(),
            Self::Simple => {
                let (mut state, mut block) = (SHA1_INITIAL, [0; 64]);
                block.iter_mut().zip(parts.concat()).for_each(|(octet, input)| *octet = input);
                crypto.sha1_compress(&mut state, &block);
                state.into_iter().flat_map(u32::to_be_bytes).collect()
            }
        }
    }
}
