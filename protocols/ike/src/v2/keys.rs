//! Key derivation of an IKE SA and its children, and the octets covered by AUTH.
//! Read RFC 7296 §2.13 (prf+), §2.14 (SK_*), §2.15 (AUTH), §2.17 (KEYMAT), §2.18 (rekeying) first.
//!
//! ```text
//!   g^ir, Ni, Nr --prf--> SKEYSEED --prf+--> SK_d SK_ai SK_ar SK_ei SK_er SK_pi SK_pr
//!                                            SK_d --prf+--> KEYMAT of the children, SKEYSEED of the next IKE SA
//! ```

use std::ops::Range;

use keytoll_crypto_api::algorithm::{Integrity, Prf};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Crypto, Digest, Secret, about};
use keytoll_engine::trace::{Revealed, Trace};

use crate::reveal::sealing;
pub use crate::role::Role;
use crate::wire::Identification;

/// The nonces of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Nonces<'a> {
    /// Ni.
    pub initiator: &'a [u8],
    /// Nr.
    pub responder: &'a [u8],
}

/// The label for meters.
const SKEYSEED: &str = "SKEYSEED";
pub(super) const AUTH: &str = "AUTH";

/// RFC 7296 §2.13: the counter of prf+ is one octet.
const PRF_PLUS_BLOCKS_MAX: usize = 255;

/// RFC 7296 §2.13: prf+ (K,S) = T1 | T2 | …, T1 = prf (K, S | 0x01), T2 = prf (K, T1 | S | 0x02), …
///
/// # Panics
/// If `out` is longer than 255 blocks of the PRF, or the seed has more than six parts, which are bugs in the caller.
pub fn prf_plus(crypto: &mut dyn Crypto, prf: Prf, key: &[u8], seed: &[&[u8]], out: &mut [u8]) {
    let block = prf.output_len();
    assert!(out.len() <= PRF_PLUS_BLOCKS_MAX * block, "prf+ ends after 255 blocks");
    let mut previous = Digest::zeroed(0);
    for (counter, chunk) in (1_u8..).zip(out.chunks_mut(block)) {
        let counter = [counter];
        let mut parts: [&[u8]; 8] = [&[]; 8];
        parts[0] = &previous;
        parts[1..=seed.len()].copy_from_slice(seed);
        parts[seed.len() + 1] = &counter;
        let next = crypto.prf(prf, key, &parts[..seed.len() + 2]);
        chunk.copy_from_slice(&next[..chunk.len()]);
        previous = next;
    }
}

/// RFC 7296 §2.14: SKEYSEED = prf(Ni | Nr, g^ir).
pub fn skeyseed(crypto: &mut dyn Crypto, prf: Prf, shared: &[u8], nonces: Nonces<'_>) -> Digest {
    // RFC 7296 §2.14: a PRF with a fixed key length takes the first half of its key from Ni, the other from Nr.
    let half = if prf.has_fixed_key() { prf.output_len() / 2 } else { usize::MAX };
    let [from_i, from_r] = [nonces.initiator, nonces.responder].map(|nonce| &nonce[..nonce.len().min(half)]);
    about(crypto, SKEYSEED, |crypto| crypto.prf(prf, &[from_i, from_r].concat(), &[shared]))
}

/// RFC 7296 §2.18: SKEYSEED = prf(SK_d (old), g^ir (new) | Ni | Nr), with the PRF of the old IKE SA.
pub fn skeyseed_of_rekeyed(
    crypto: &mut dyn Crypto,
    old: &IkeKeys,
    shared: &[u8],
    nonces: Nonces<'_>,
) -> Digest {
    let parts = [shared, nonces.initiator, nonces.responder];
    about(crypto, SKEYSEED, |crypto| crypto.prf(old.prf(), old.d(), &parts))
}

/// SK_d, SK_ai, SK_ar, SK_ei, SK_er and, until both sides have authenticated, SK_pi and SK_pr: one allocation of exactly their length, wiped when dropped.
#[derive(Debug, Clone)]
pub struct IkeKeys {
    suite: Suite,
    material: Secret,
}

impl IkeKeys {
    /// RFC 7296 §2.14: {SK_d | SK_ai | …} = prf+ (SKEYSEED, Ni | Nr | SPIi | SPIr).
    pub fn derive(
        crypto: &mut dyn Crypto,
        suite: &Suite,
        skeyseed: &[u8],
        nonces: Nonces<'_>,
        spis: (u64, u64),
    ) -> Self {
        let (spi_i, spi_r) = (spis.0.to_be_bytes(), spis.1.to_be_bytes());
        let seed: [&[u8]; 4] = [nonces.initiator, nonces.responder, &spi_i, &spi_r];
        let mut material = vec![0; Self::material_len(suite)];
        about(crypto, "SK_*", |crypto| prf_plus(crypto, prf_of(suite), skeyseed, &seed, &mut material));
        Self { suite: *suite, material: Secret::new(material) }
    }

    /// The keys of a first IKE SA.
    pub fn first(
        crypto: &mut dyn Crypto,
        suite: &Suite,
        shared: &[u8],
        nonces: Nonces<'_>,
        spis: (u64, u64),
    ) -> Self {
        let skeyseed = skeyseed(crypto, prf_of(suite), shared, nonces);
        Self::derive(crypto, suite, &skeyseed, nonces, spis)
    }

    /// The keys of the IKE SA that replaces this one.
    pub fn rekeyed(
        &self,
        crypto: &mut dyn Crypto,
        suite: &Suite,
        shared: &[u8],
        nonces: Nonces<'_>,
        spis: (u64, u64),
    ) -> Self {
        let skeyseed = skeyseed_of_rekeyed(crypto, self, shared, nonces);
        Self::derive(crypto, suite, &skeyseed, nonces, spis)
    }

    /// Keys that somebody else derived, in the order of RFC 7296 §2.14; `None` if the length is wrong.
    pub fn from_material(suite: &Suite, material: &[u8]) -> Option<Self> {
        let fits = material.len() == Self::material_len(suite);
        fits.then(|| Self { suite: *suite, material: material.into() })
    }

    /// The suite they are for.
    pub const fn suite(&self) -> &Suite {
        &self.suite
    }

    /// The PRF of the suite.
    pub fn prf(&self) -> Prf {
        prf_of(&self.suite)
    }

    /// SK_d.
    pub fn d(&self) -> &[u8] {
        &self.material[..self.prf().output_len()]
    }

    /// SK_ai or SK_ar: integrity key of this sender; empty with an AEAD.
    pub fn integrity(&self, sender: Role) -> &[u8] {
        let length = integrity_len(&self.suite);
        &self.material[pair(self.prf().output_len(), length, sender)]
    }

    /// SK_ei or SK_er: encryption key of this sender, salt included.
    pub fn encryption(&self, sender: Role) -> &[u8] {
        let from = self.prf().output_len() + 2 * integrity_len(&self.suite);
        &self.material[pair(from, self.suite.encryption.key_len(), sender)]
    }

    /// SK_pi or SK_pr: for the AUTH payload of this sender.
    pub fn auth(&self, sender: Role) -> &[u8] {
        &self.material[pair(self.auth_from(), self.prf().output_len(), sender)]
    }

    /// Drops SK_pi and SK_pr, which come last.
    pub(super) fn forget_auth(&mut self) {
        self.material = self.material[..self.auth_from()].into();
    }

    fn auth_from(&self) -> usize {
        self.prf().output_len() + 2 * integrity_len(&self.suite) + 2 * self.suite.encryption.key_len()
    }

    /// Reveals them for captures.
    pub(super) fn reveal(&self, (spi_i, spi_r): (u64, u64), trace: &mut dyn Trace) {
        if trace.wants_keys() {
            let of = |sender| sealing(self.encryption(sender), self.integrity(sender));
            let (initiator, responder) = (of(Role::Initiator), of(Role::Responder));
            let algorithms = (&self.suite).into();
            trace.reveal(Revealed::IkeSa { spi_i, spi_r, algorithms, initiator, responder });
        }
    }

    fn material_len(suite: &Suite) -> usize {
        3 * prf_of(suite).output_len() + 2 * integrity_len(suite) + 2 * suite.encryption.key_len()
    }
}

/// The range of one end's key among the two that start at `from`.
const fn pair(from: usize, length: usize, sender: Role) -> Range<usize> {
    match sender {
        Role::Initiator => from..from + length,
        Role::Responder => from + length..from + 2 * length,
    }
}

fn prf_of(suite: &Suite) -> Prf {
    suite.prf.expect("suites of IKE SAs have a PRF")
}

/// RFC 5282 §7.1: with an AEAD SK_ai and SK_ar have no bytes.
fn integrity_len(suite: &Suite) -> usize {
    suite.integrity.map_or(0, Integrity::key_len)
}

/// The keys of a child SA pair.
#[derive(Debug, Clone)]
pub struct ChildKeys {
    suite: Suite,
    material: Secret,
}

impl ChildKeys {
    /// RFC 7296 §2.17: KEYMAT = prf+(SK_d, [g^ir |] Ni | Nr), with g^ir if there was a KE payload.
    pub fn derive(
        crypto: &mut dyn Crypto,
        ike: &IkeKeys,
        suite: &Suite,
        shared: Option<&[u8]>,
        nonces: Nonces<'_>,
    ) -> Self {
        let seed = [shared.unwrap_or_default(), nonces.initiator, nonces.responder];
        let mut material = vec![0; 2 * (suite.encryption.key_len() + integrity_len(suite))];
        about(crypto, "KEYMAT", |crypto| prf_plus(crypto, ike.prf(), ike.d(), &seed, &mut material));
        Self { suite: *suite, material: Secret::new(material) }
    }

    /// The suite they are for.
    pub const fn suite(&self) -> &Suite {
        &self.suite
    }

    /// The encryption key of this sender, salt included. The initiator is that of the exchange that created the child SA,
    /// whoever initiated the IKE SA.
    pub fn encryption(&self, sender: Role) -> &[u8] {
        &self.of(sender)[..self.suite.encryption.key_len()]
    }

    /// The integrity key of this sender; empty with an AEAD.
    pub fn integrity(&self, sender: Role) -> &[u8] {
        &self.of(sender)[self.suite.encryption.key_len()..]
    }

    // RFC 7296 §2.17: the keys of initiator to responder come first; encryption comes before integrity.
    fn of(&self, sender: Role) -> &[u8] {
        &self.material[pair(0, self.material.len() / 2, sender)]
    }
}

/// The octets that one end signs or authenticates with AUTH.
#[derive(Debug)]
pub struct SignedOctets<'a> {
    message: &'a [u8],
    nonce: &'a [u8],
    id: Digest,
}

impl<'a> SignedOctets<'a> {
    /// RFC 7296 §2.15: RealMessage | NonceOfTheOther | prf(SK_p, RestOfIDPayload), each of the authenticating end except for
    /// the nonce. `message` is its IKE_SA_INIT message as sent, without non-ESP marker.
    pub fn new(
        crypto: &mut dyn Crypto,
        keys: &IkeKeys,
        signer: Role,
        message: &'a [u8],
        nonces: Nonces<'a>,
        id: Identification<'_>,
    ) -> Self {
        let rest_of_id = [id.kind.0, 0, 0, 0];
        let nonce = if signer.is_initiator() { nonces.responder } else { nonces.initiator };
        let id = [&rest_of_id[..], id.data];
        Self {
            message,
            nonce,
            id: about(crypto, AUTH, |crypto| crypto.prf(keys.prf(), keys.auth(signer), &id)),
        }
    }

    /// The octets in parts, as [`Crypto`] takes them.
    pub fn parts(&self) -> [&[u8]; 3] {
        [self.message, self.nonce, &self.id]
    }

    /// RFC 7296 §2.15: AUTH = prf(prf(Shared Secret, "Key Pad for IKEv2"), octets); the MSK of an EAP method is such a
    /// secret, too (§2.16).
    pub fn shared_key_mic(&self, crypto: &mut dyn Crypto, prf: Prf, secret: &[u8]) -> Digest {
        about(crypto, AUTH, |crypto| {
            let key = crypto.prf(prf, secret, &[KEY_PAD]);
            crypto.prf(prf, &key, &self.parts())
        })
    }

    /// Compares in constant time.
    pub fn is_shared_key_mic(&self, crypto: &mut dyn Crypto, prf: Prf, secret: &[u8], auth: &[u8]) -> bool {
        self.shared_key_mic(crypto, prf, secret).matches(auth)
    }
}

/// RFC 7296 §2.15: seventeen ASCII characters without null termination.
const KEY_PAD: &[u8; 17] = b"Key Pad for IKEv2";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::IdKind;
    use keytoll_crypto::Real;
    use keytoll_engine::trace::revealed::Algorithms;

    const NONCES: Nonces<'static> = Nonces { initiator: &[1; 32], responder: &[2; 40] };

    fn keys(suite: &str) -> IkeKeys {
        let suite = Suite::ike(suite).unwrap();
        IkeKeys::first(&mut Real::default(), &suite, &[9; 32], NONCES, (3, 4))
    }

    #[test]
    fn keys_divide_the_material_in_the_standards_order() {
        for suite in [
            "aes256gcm16-prfsha384-x25519",
            "aes128-sha256-x25519",
            "3des-md5-modp1024",
            "aes128ctr-aesxcbc-ecp256",
        ] {
            let keys = keys(suite);
            let (i, r) = (Role::Initiator, Role::Responder);
            let parts = [
                keys.d(),
                keys.integrity(i),
                keys.integrity(r),
                keys.encryption(i),
                keys.encryption(r),
                keys.auth(i),
                keys.auth(r),
            ];
            assert_eq!(parts.concat(), *keys.material, "{suite}");
            assert_eq!(keys.encryption(r).len(), keys.suite().encryption.key_len());
            assert_eq!(keys.integrity(r).len(), keys.suite().integrity.map_or(0, Integrity::key_len));
            let again = IkeKeys::from_material(keys.suite(), &parts.concat()).unwrap();
            assert_eq!(again.auth(r), keys.auth(r));
            assert!(IkeKeys::from_material(keys.suite(), &keys.material[1..]).is_none());
        }
    }

    /// Records revealed keys, if it wants them.
    struct Listener {
        wants: bool,
        heard: Vec<Revealed>,
    }

    impl Trace for Listener {
        fn record(&mut self, _fact: keytoll_engine::trace::Fact) {}

        fn wants_keys(&self) -> bool {
            self.wants
        }

        fn reveal(&mut self, revealed: Revealed) {
            self.heard.push(revealed);
        }
    }

    #[test]
    fn keys_are_revealed_on_request_only() {
        let keys = keys("aes128-sha256-x25519");
        let heard = |wants| {
            let mut listener = Listener { wants, heard: Vec::new() };
            keys.reveal((3, 4), &mut listener);
            listener.heard
        };
        let of = |role| sealing(keys.encryption(role), keys.integrity(role));
        let expected = Revealed::IkeSa {
            spi_i: 3,
            spi_r: 4,
            algorithms: Algorithms { encryption: "aes128", integrity: Some("sha256") },
            initiator: of(Role::Initiator),
            responder: of(Role::Responder),
        };
        assert_eq!(heard(true), [expected]);
        assert_eq!(heard(false), []);
    }

    #[test]
    fn prfs_with_fixed_keys_take_eight_bytes_of_each_nonce() {
        let crypto = &mut Real::default();
        for prf in [Prf::AesXcbc128, Prf::AesCmac128] {
            let expected = crypto.prf(prf, &[[1; 8], [2; 8]].concat(), &[&[9; 32]]);
            assert_eq!(*skeyseed(crypto, prf, &[9; 32], NONCES), *expected);
        }
        let expected = crypto.prf(Prf::HmacSha256, &[&[1; 32][..], &[2; 40]].concat(), &[&[9; 32]]);
        assert_eq!(*skeyseed(crypto, Prf::HmacSha256, &[9; 32], NONCES), *expected);
    }

    #[test]
    fn prf_plus_chains_its_blocks() {
        let crypto = &mut Real::default();
        let mut out = [0; 70];
        prf_plus(crypto, Prf::HmacSha256, b"key", &[b"se", b"ed"], &mut out);
        let first = crypto.prf(Prf::HmacSha256, b"key", &[b"seed\x01"]);
        let second = crypto.prf(Prf::HmacSha256, b"key", &[&first, b"seed\x02"]);
        let third = crypto.prf(Prf::HmacSha256, b"key", &[&second, b"seed\x03"]);
        assert_eq!(out[..], [&*first, &second, &third[..6]].concat());
    }

    #[test]
    #[should_panic(expected = "prf+ ends after 255 blocks")]
    fn prf_plus_ends_after_255_blocks() {
        prf_plus(&mut Real::default(), Prf::HmacMd5, b"key", &[], &mut vec![0; 255 * 16 + 1]);
    }

    #[test]
    fn rekeyed_keys_come_from_the_old_prf() {
        let (crypto, old) = (&mut Real::default(), keys("aes128gcm16-prfsha1-x25519"));
        let suite = Suite::ike("aes128gcm16-prfsha512-x25519").unwrap();
        let new = old.rekeyed(crypto, &suite, &[8; 32], NONCES, (5, 6));
        let skeyseed = crypto.prf(Prf::HmacSha1, old.d(), &[&[8; 32], NONCES.initiator, NONCES.responder]);
        let expected = IkeKeys::derive(crypto, &suite, &skeyseed, NONCES, (5, 6));
        assert_eq!(new.material, expected.material);
    }

    #[test]
    fn keys_of_children_divide_by_direction_first() {
        let (crypto, ike) = (&mut Real::default(), keys("aes128gcm16-prfsha256-x25519"));
        let child =
            ChildKeys::derive(crypto, &ike, &Suite::esp("aes128-sha1").unwrap(), Some(&[7; 32]), NONCES);
        let mut expected = [0; 72];
        prf_plus(
            crypto,
            Prf::HmacSha256,
            ike.d(),
            &[&[7; 32], NONCES.initiator, NONCES.responder],
            &mut expected,
        );
        let (i, r) = (Role::Initiator, Role::Responder);
        let parts = [child.encryption(i), child.integrity(i), child.encryption(r), child.integrity(r)];
        assert_eq!((parts.concat(), child.encryption(i).len()), (expected.to_vec(), 16));
        let without = ChildKeys::derive(crypto, &ike, child.suite(), None, NONCES);
        assert_ne!(without.encryption(i), child.encryption(i));
    }

    #[test]
    fn auth_covers_message_nonce_and_identity_of_its_end() {
        let (crypto, keys) = (&mut Real::default(), keys("aes128gcm16-prfsha256-x25519"));
        let id = Identification { kind: IdKind::ID_FQDN, data: b"gw.lab" };
        let octets = SignedOctets::new(crypto, &keys, Role::Responder, b"message", NONCES, id);
        let id_mac = crypto.prf(Prf::HmacSha256, keys.auth(Role::Responder), &[b"\x02\0\0\0gw.lab"]);
        assert_eq!(octets.parts(), [&b"message"[..], NONCES.initiator, &id_mac]);
        let auth = octets.shared_key_mic(crypto, Prf::HmacSha256, b"secret");
        assert!(octets.is_shared_key_mic(crypto, Prf::HmacSha256, b"secret", &auth));
        assert!(!octets.is_shared_key_mic(crypto, Prf::HmacSha256, b"Secret", &auth));
        assert!(!octets.is_shared_key_mic(crypto, Prf::HmacSha256, b"secret", &auth[1..]));
    }
}
