//! Keys of the diet exchange: the Master Key SA from the static key agreement, the Pair-wise Key SA from what both sides add
//! to it. draft-ietf-hip-dex-24 §4.1.3, §6.3.

use keytoll_crypto_api::{Crypto, Secret};

use crate::hit::Hit;
use crate::identity::DietVariant;
use crate::keymat::Keymat;
use crate::number::ParameterType;
use crate::wire::Packet;

/// Octets of x and y: "at least 64 bits" (draft-ietf-hip-dex-24 §5.2.5); the prototypes took 128.
pub(crate) const KEY_LEN: usize = 16;
/// Octets of I_NONCE: twice RHASH_len (draft-ietf-hip-dex-24 §5.2.6).
pub(crate) const NONCE_LEN: usize = 32;

/// What the keys of one exchange are made of.
#[derive(Debug)]
pub(crate) struct DietKeys {
    pub(crate) variant: DietVariant,
    /// #I.
    pub(crate) random: Vec<u8>,
    /// Kij.
    pub(crate) shared: Secret,
    /// I_NONCE; empty in the prototypes.
    pub(crate) nonce: Vec<u8>,
}

impl DietKeys {
    /// Of the Master Key SA.
    pub(crate) fn master(&self, hits: [Hit; 2], crypto: &mut dyn Crypto) -> Keymat {
        Keymat::diet(&self.random, [&self.shared, &self.nonce, &[], &[], &[]], hits, crypto)
    }

    /// Of the Pair-wise Key SA: from our own and the peer's value, and from what AKA has agreed, if it has.
    pub(crate) fn pairwise(
        &self,
        (own, our_key): (Hit, &[u8]),
        (peer, their_key): (Hit, &[u8]),
        aka: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Keymat {
        let [low, high] = if own < peer { [our_key, their_key] } else { [their_key, our_key] };
        let hits = [own, peer];
        match self.variant {
            DietVariant::Draft24 => {
                Keymat::diet(&self.random, [&self.shared, &self.nonce, low, high, aka], hits, crypto)
            }
            // Both values are random, and the prototypes saw no need for more.
            DietVariant::Prototype => Keymat::diet(&self.random, [&[], &[], low, high, aka], hits, crypto),
        }
    }
}

/// The lists that R2 repeats from R1, so that nobody on the way can have changed them.
pub(crate) const fn repeated(variant: DietVariant) -> &'static [ParameterType] {
    match variant {
        DietVariant::Draft24 => &[
            ParameterType::DH_GROUP_LIST,
            ParameterType::HIP_CIPHER,
            ParameterType::HIT_SUITE_LIST,
            ParameterType::TRANSPORT_FORMAT_LIST,
        ],
        DietVariant::Prototype => &[ParameterType::DH_GROUP_LIST],
    }
}

/// These lists of a packet behind one another, with their type and padding.
pub(crate) fn lists(packet: &Packet<'_>, variant: DietVariant) -> Vec<u8> {
    let found = repeated(variant).iter().filter_map(|kind| packet.find(*kind));
    found.map(|parameter| &packet.bytes[parameter.begins..parameter.ends]).collect::<Vec<_>>().concat()
}
