//! Keying material: HKDF with RHASH (RFC 7401 §6.5), CKDF with CMAC (draft-ietf-hip-dex-24 §6.3), and the keys that are
//! drawn from it.
//!
//!   KEYMAT = T(1) ‖ T(2) ‖ …,   T(n) = PRF(PRK, T(n−1) ‖ info ‖ n)

use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::{Crypto, Digest, Secret};

use crate::hit::Hit;
use crate::number::{Cipher, Rhash};

/// RFC 5869 §2.3: the counter of blocks has one octet.
const BLOCKS_MAX: u8 = u8::MAX;

/// Keying material of which keys are drawn one after another.
#[derive(Debug, Clone)]
pub struct Keymat {
    prf: Prf,
    /// PRK, what the extraction gave.
    extracted: Digest,
    hits: [Hit; 2],
    /// What stands between HITs and counter.
    label: &'static [u8],
    /// T(n) of the last block that was made.
    last: Digest,
    /// n of that block.
    counter: u8,
    /// Octets of that block that are not drawn yet.
    left: usize,
    /// Octets that are drawn.
    drawn: usize,
}

impl Keymat {
    // RFC 7401 §6.5: the salt is #I ‖ #J, the information the two HITs, the smaller one first.
    /// Of a base exchange.
    pub fn base(rhash: Rhash, shared: &[u8], salt: &[u8], hits: [Hit; 2], crypto: &mut dyn Crypto) -> Self {
        let prf = rhash.hmac();
        Self::new(prf, crypto.prf(prf, salt, &[shared]), hits, &[])
    }

    /// Of a diet exchange: CKDF of the parts of IKM, some of which may be empty, keyed with #I (draft-ietf-hip-dex-24 §6.3).
    pub fn diet(random: &[u8], material: [&[u8]; 5], hits: [Hit; 2], crypto: &mut dyn Crypto) -> Self {
        let [low, high] = hits[0].sorted(hits[1]);
        let [shared, nonce, one, other, aka] = material;
        let parts = [shared, nonce, one, other, aka, &low.0, &high.0, b"CKDF-Extract"];
        let extracted = crypto.prf(Prf::AesCmac128, random, &parts);
        Self::new(Prf::AesCmac128, extracted, hits, b"CKDF-Expand")
    }

    fn new(prf: Prf, extracted: Digest, hits: [Hit; 2], label: &'static [u8]) -> Self {
        let hits = hits[0].sorted(hits[1]);
        Self { prf, extracted, hits, label, last: Digest::zeroed(0), counter: 0, left: 0, drawn: 0 }
    }

    /// How many octets are drawn: where the next key begins.
    pub const fn drawn(&self) -> usize {
        self.drawn
    }

    /// How many octets there are: the first index beyond them.
    pub const fn end(&self) -> usize {
        BLOCKS_MAX as usize * self.prf.output_len()
    }

    /// The next `len` octets; none if there are not so many any more.
    pub fn draw(&mut self, len: usize, crypto: &mut dyn Crypto) -> Option<Secret> {
        let mut key = Vec::with_capacity(len);
        while key.len() < len {
            if self.left == 0 {
                self.next_block(crypto)?;
            }
            let from = self.last.len() - self.left;
            let taken = self.left.min(len - key.len());
            key.extend_from_slice(&self.last[from..from + taken]);
            self.left -= taken;
        }
        self.drawn += len;
        Some(Secret::new(key))
    }

    // RFC 7402 §6.9: the KEYMAT index of a rekeying is the next octet to be drawn, or a later one.
    /// Passes over octets up to this index; none if some behind it are drawn already, or if there are not so many.
    pub fn skip_to(&mut self, index: usize, crypto: &mut dyn Crypto) -> Option<()> {
        let passed = index.checked_sub(self.drawn)?;
        if index > self.end() {
            return None;
        }
        self.draw(passed, crypto).map(drop)
    }

    fn next_block(&mut self, crypto: &mut dyn Crypto) -> Option<()> {
        self.counter = self.counter.checked_add(1)?;
        let [low, high] = &self.hits;
        let parts: [&[u8]; 5] = [&self.last, &low.0, &high.0, self.label, &[self.counter]];
        let block = crypto.prf(self.prf, &self.extracted, &parts);
        (self.left, self.last) = (block.len(), block);
        Some(())
    }
}

/// The keys of one direction for HIP itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectionKeys {
    /// For the sender's ENCRYPTED.
    pub encryption: Secret,
    /// For the sender's HIP_MAC.
    pub integrity: Secret,
}

/// The keys of an association for HIP itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HipKeys {
    /// For what we send.
    pub outbound: DirectionKeys,
    /// For what the peer sends.
    pub inbound: DirectionKeys,
}

impl HipKeys {
    // RFC 7401 §6.5: first both keys for what the host with the greater HIT sends, then those of the other one.
    /// Draws them for the host `own`; none if the material is used up.
    pub fn draw(
        keymat: &mut Keymat,
        (encryption_len, integrity_len): (usize, usize),
        own: Hit,
        peer: Hit,
        crypto: &mut dyn Crypto,
    ) -> Option<Self> {
        let mut direction = || {
            let encryption = keymat.draw(encryption_len, crypto)?;
            Some(DirectionKeys { encryption, integrity: keymat.draw(integrity_len, crypto)? })
        };
        let (greater, lower) = (direction()?, direction()?);
        let (outbound, inbound) = if own > peer { (greater, lower) } else { (lower, greater) };
        Some(Self { outbound, inbound })
    }

    /// Those of HIP itself in such a cipher and with such a function for HIP_MAC.
    pub fn lengths(cipher: Cipher, mac: Prf) -> (usize, usize) {
        (cipher.key_len(), mac.output_len())
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;
    use proptest::prelude::*;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    }

    /// A second reading of RFC 5869 §2.3 with the information of RFC 7401 §6.5, one long string at once.
    fn reference(prf: Prf, extracted: &[u8], info: &[u8], len: usize) -> Vec<u8> {
        let (mut all, mut last) = (Vec::new(), Vec::new());
        for n in 1..=u8::MAX {
            last = Real::default().prf(prf, extracted, &[&[&last[..], info, &[n]].concat()]).to_vec();
            all.extend_from_slice(&last);
        }
        all.truncate(len);
        all
    }

    /// RFC 5869 A.1: SHA-256. Its information is no pair of HITs, so that the reference stands between it and the code.
    #[test]
    fn the_reference_is_hkdf() {
        let extracted = hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
        let okm = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865";
        assert_eq!(reference(Prf::HmacSha256, &extracted, &hex("f0f1f2f3f4f5f6f7f8f9"), 42), hex(okm));
    }

    const LOW: Hit = Hit([1; 16]);
    const HIGH: Hit = Hit([2; 16]);

    fn base(hits: [Hit; 2]) -> Keymat {
        Keymat::base(Rhash::Sha256, &[9; 32], &[[3; 32], [4; 32]].concat(), hits, &mut Real::default())
    }

    #[test]
    fn the_smaller_hit_comes_first_for_both_hosts() {
        let crypto = &mut Real::default();
        let [mut ours, mut theirs] = [base([LOW, HIGH]), base([HIGH, LOW])];
        let drawn = ours.draw(100, crypto).unwrap();
        assert_eq!(drawn, theirs.draw(100, crypto).unwrap());
        let extracted = crypto.prf(Prf::HmacSha256, &[[3; 32], [4; 32]].concat(), &[&[9; 32]]);
        assert_eq!(drawn[..], reference(Prf::HmacSha256, &extracted, &[LOW.0, HIGH.0].concat(), 100));
    }

    proptest! {
        #[test]
        fn pieces_and_gaps_are_pieces_of_one_string(pieces in proptest::collection::vec((0_usize..70, 0_usize..40), 1..12)) {
            let crypto = &mut Real::default();
            let whole = base([LOW, HIGH]).draw(2000, crypto).unwrap();
            let mut keymat = base([LOW, HIGH]);
            for (len, gap) in pieces {
                let begin = keymat.drawn();
                prop_assert_eq!(&keymat.draw(len, crypto).unwrap()[..], &whole[begin..begin + len]);
                keymat.skip_to(begin + len + gap, crypto).unwrap();
            }
        }
    }

    #[test]
    fn nothing_is_drawn_twice_and_the_material_ends() {
        let crypto = &mut Real::default();
        let mut keymat = base([LOW, HIGH]);
        keymat.draw(64, crypto).unwrap();
        assert!(keymat.skip_to(63, crypto).is_none());
        assert!(keymat.skip_to(255 * 32 + 1, crypto).is_none());
        keymat.skip_to(255 * 32 - 8, crypto).unwrap();
        assert!(keymat.draw(8, crypto).is_some() && keymat.draw(1, crypto).is_none());
    }

    #[test]
    fn what_one_host_sends_with_the_other_receives_with() {
        let crypto = &mut Real::default();
        let mut of = |own, peer| {
            HipKeys::draw(
                &mut base([own, peer]),
                HipKeys::lengths(Cipher::Aes128Cbc, Prf::HmacSha256),
                own,
                peer,
                crypto,
            )
            .unwrap()
        };
        let (ours, theirs) = (of(HIGH, LOW), of(LOW, HIGH));
        assert_eq!((&ours.outbound, &ours.inbound), (&theirs.inbound, &theirs.outbound));
        let whole = base([LOW, HIGH]).draw(96, crypto).unwrap();
        assert_eq!([&ours.outbound.encryption[..], &ours.outbound.integrity].concat(), whole[..48]);
        assert_eq!([&ours.inbound.encryption[..], &ours.inbound.integrity].concat(), whole[48..]);
    }

    /// Computed independently over P-256 with the keys of RFC 5903 §8.1: Kij and the HITs enter as they came of them.
    #[test]
    fn ckdf_as_a_second_reader_computed_it() {
        let crypto = &mut Real::default();
        let shared = hex("d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de");
        let random: Vec<u8> = (0..16).collect();
        let hits = [
            Hit(0x2001_0024_18bb_916c_ef66_0475_a853_498d_u128.to_be_bytes()),
            Hit(0x2001_0024_31dc_4bac_f0e0_c33e_765e_0f1d_u128.to_be_bytes()),
        ];
        let mut keymat = Keymat::diet(&random, [&shared, &[], &[], &[], &[]], hits, crypto);
        assert_eq!(keymat.extracted[..], hex("a200ac76bca2bd85a7eadf8227bce128"));
        let drawn = "fb79845e4b92f8f47de11dd38bed40e68c25b4ff083986ff11a470fc2511008509f05263a9c4d3f01de10bb9c9c49f7e\
                     455b327e62e49d7b4716c494b1e5ca84";
        assert_eq!(keymat.draw(64, crypto).unwrap()[..], hex(&drawn.replace(' ', "")));
    }
}
