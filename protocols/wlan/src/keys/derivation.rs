//! PRF and KDF: the functions that derive keys of a length of one's choice. 802.11-2020 §12.7.1.2, §12.7.1.6.2.

use keytoll_crypto_api::algorithm::{Hash, Prf};
use keytoll_crypto_api::{Crypto, Digest, Secret};

use crate::suite::Derivation;

/// Derives so many bytes.
pub fn derive(
    derivation: Derivation,
    key: &[u8],
    label: &[u8],
    context: &[u8],
    len: usize,
    crypto: &mut dyn Crypto,
) -> Secret {
    let prf = derivation.prf();
    match derivation {
        // 802.11-2020 §12.7.1.2: HMAC-SHA-1(K, A ‖ 0 ‖ B ‖ i), i of one octet from 0.
        Derivation::Sha1 => {
            blocks(prf, len, |round| crypto.prf(prf, key, &[label, &[0], context, &[round as u8]]))
        }
        Derivation::Sha256 | Derivation::Sha384 => kdf(prf, key, label, context, (8 * len) as u16, crypto),
    }
}

/// The KDF with any hash: so many bits, in whole octets.
pub(crate) fn kdf(
    prf: Prf,
    key: &[u8],
    label: &[u8],
    context: &[u8],
    bits: u16,
    crypto: &mut dyn Crypto,
) -> Secret {
    blocks(prf, usize::from(bits).div_ceil(8), |round| {
        // 802.11-2020 §12.7.1.6.2: HMAC-Hash(K, i ‖ Label ‖ Context ‖ Length), i from 1 and the length in bits, both of two
        // octets, the least significant one first.
        crypto.prf(prf, key, &[&(round + 1).to_le_bytes(), label, context, &bits.to_le_bytes()])
    })
}

/// As many outputs of a PRF as so many bytes take.
fn blocks(prf: Prf, len: usize, mut block: impl FnMut(u16) -> Digest) -> Secret {
    let mut derived = Vec::with_capacity(len.next_multiple_of(prf.output_len()));
    for round in 0_u16.. {
        if derived.len() >= len {
            break;
        }
        derived.extend_from_slice(&block(round));
    }
    derived.truncate(len);
    Secret::new(derived)
}

impl Derivation {
    /// The function that both apply block by block.
    pub const fn prf(self) -> Prf {
        match self {
            Self::Sha1 => Prf::HmacSha1,
            Self::Sha256 => Prf::HmacSha256,
            Self::Sha384 => Prf::HmacSha384,
        }
    }

    /// The hash in it.
    pub const fn hash(self) -> Hash {
        match self {
            Self::Sha1 => Hash::Sha1,
            Self::Sha256 => Hash::Sha256,
            Self::Sha384 => Hash::Sha384,
        }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;
    use crate::keys::tests::hex;

    /// 802.11-2020 J.3, as in hostap's crypto_module_tests.c.
    #[test]
    fn prf_of_the_annex() {
        check(
            &[0x0b; 20],
            b"Hi There",
            "bcd4c650b30b9684951829e0d75f9d54b862175ed9f00606e17d8da35402ffee75df78c3d31e0f889f012120c0862beb\
             67753e7439ae242edb8373698356cf5a",
        );
        check(
            b"Jefe",
            b"what do ya want for nothing?",
            "51f4de5b33f249adf81aeb713a3c20f4fe631446fabdfa58244759ae58ef9009a99abf4eac2ca5fa87e692c440eb4002\
             3e7babb206d61de7b92f41529092b8fc",
        );
        check(
            &[0xaa; 20],
            &[0xdd; 50],
            "e1ac546ec4cb636f9976487be5c86be17a0252ca5d8d8df12cfb0473525249ce9dd8d177ead710bc9b590547239107ae\
             f7b4abd43d87f0a68f1cbd9e2b6f7607",
        );
    }

    fn check(key: &[u8], context: &[u8], expected: &str) {
        let derived = |len| derive(Derivation::Sha1, key, b"prefix", context, len, &mut Real::default());
        let expected = hex(expected);
        assert_eq!(derived(64)[..], expected);
        assert_eq!(derived(16)[..], expected[..16], "the length is no part of what is hashed");
    }

    #[test]
    fn the_length_is_part_of_the_kdf() {
        let derived =
            |len| derive(Derivation::Sha256, &[1; 32], b"label", b"context", len, &mut Real::default());
        assert_ne!(derived(32)[..], derived(64)[..32]);
        assert_eq!(derived(0).len(), 0);
    }
}
