//! Key derivation of an ISAKMP SA and its IPsec SAs, and the inputs of the HASH payloads.
//! Read RFC 2409 §5 (SKEYID, HASH_I), §5.5 (KEYMAT, HASH(1) to HASH(3)), appendix B (encryption keys, IVs) first.
//!
//! ```text
//!   shared key | nonces, g^xy --prf--> SKEYID --prf--> SKEYID_d  SKEYID_a  SKEYID_e --> encryption key
//!                                                      SKEYID_d --prf--> KEYMAT of the IPsec SAs
//! ```

use keytoll_crypto_api::algorithm::{Encryption, Hash, Integrity, Prf};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Crypto, Digest, Secret, about};
use keytoll_engine::trace::{Revealed, Trace};

use super::number::hash_number;
use crate::role::Role;

/// The cookies, the initiator's first, and the nonces of phase 1.
#[derive(Debug, Clone, Copy)]
pub struct Seeds<'a> {
    /// CKY-I.
    pub cookie_i: u64,
    /// CKY-R.
    pub cookie_r: u64,
    /// Ni_b.
    pub nonce_i: &'a [u8],
    /// Nr_b.
    pub nonce_r: &'a [u8],
}

/// The label for meters.
const SKEYID: &str = "SKEYID";

/// RFC 2409 §5: SKEYID = prf(pre-shared-key, Ni_b | Nr_b).
pub fn skeyid_of_shared_key(crypto: &mut dyn Crypto, prf: Prf, key: &[u8], seeds: Seeds<'_>) -> Digest {
    about(crypto, SKEYID, |crypto| crypto.prf(prf, key, &[seeds.nonce_i, seeds.nonce_r]))
}

/// RFC 2409 §5: for signatures SKEYID = prf(Ni_b | Nr_b, g^xy).
pub fn skeyid_of_signatures(crypto: &mut dyn Crypto, prf: Prf, shared: &[u8], seeds: Seeds<'_>) -> Digest {
    about(crypto, SKEYID, |crypto| crypto.prf(prf, &[seeds.nonce_i, seeds.nonce_r].concat(), &[shared]))
}

/// SKEYID_d, SKEYID_a and the encryption key: one allocation of exactly their length, wiped when dropped.
#[derive(Debug, Clone)]
pub struct Keys {
    suite: Suite,
    material: Secret,
}

impl Keys {
    /// RFC 2409 §5: SKEYID_d, SKEYID_a, SKEYID_e; appendix B: the key for encryption.
    pub fn derive(
        crypto: &mut dyn Crypto,
        suite: &Suite,
        skeyid: &[u8],
        shared: &[u8],
        seeds: Seeds<'_>,
    ) -> Self {
        let prf = prf_of(suite);
        let (cookie_i, cookie_r) = (seeds.cookie_i.to_be_bytes(), seeds.cookie_r.to_be_bytes());
        let mut next = |previous: &[u8], number: u8| {
            let parts = [previous, shared, &cookie_i, &cookie_r, &[number]];
            about(crypto, "SKEYID_d, _a, _e", |crypto| crypto.prf(prf, skeyid, &parts))
        };
        let d = next(&[], 0);
        let a = next(&d, 1);
        let e = next(&a, 2);
        let encryption = encryption_key(crypto, prf, suite.encryption, &e);
        Self { suite: *suite, material: Secret::new([&d[..], &a, &encryption].concat()) }
    }

    /// Keys of an observed SA, for decryption only; SKEYID_d and SKEYID_a stay zero.
    pub fn only_encryption(suite: &Suite, key: &[u8]) -> Option<Self> {
        let fits = key.len() == suite.encryption.cipher_key_len();
        let zeros = vec![0; 2 * prf_of(suite).output_len()];
        fits.then(|| Self { suite: *suite, material: Secret::new([&zeros, key].concat()) })
    }

    /// The suite they are for.
    pub const fn suite(&self) -> &Suite {
        &self.suite
    }

    /// The PRF of the suite.
    pub fn prf(&self) -> Prf {
        prf_of(&self.suite)
    }

    /// The hash algorithm of the suite.
    pub fn hash(&self) -> Hash {
        hash_number(self.prf()).expect("suites of ISAKMP SAs have a hash").0
    }

    /// SKEYID_d.
    pub fn d(&self) -> &[u8] {
        &self.material[..self.prf().output_len()]
    }

    /// SKEYID_a.
    pub fn a(&self) -> &[u8] {
        let length = self.prf().output_len();
        &self.material[length..2 * length]
    }

    /// The encryption key.
    pub fn encryption(&self) -> &[u8] {
        &self.material[2 * self.prf().output_len()..]
    }

    /// Reveals them for captures.
    pub(super) fn reveal(&self, (cookie_i, cookie_r): (u64, u64), trace: &mut dyn Trace) {
        if trace.wants_keys() {
            let (encryption, key) = (self.suite.encryption.name(), self.encryption().into());
            trace.reveal(Revealed::IsakmpSa { cookie_i, cookie_r, encryption, key });
        }
    }
}

fn prf_of(suite: &Suite) -> Prf {
    suite.prf.expect("suites of ISAKMP SAs have a PRF")
}

/// RFC 2409 appendix B: the first bytes of SKEYID_e; if it is too short, of Ka = K1 | K2 | …, K1 = prf(SKEYID_e, 0),
/// K2 = prf(SKEYID_e, K1).
fn encryption_key(crypto: &mut dyn Crypto, prf: Prf, encryption: Encryption, e: &[u8]) -> Secret {
    let length = encryption.cipher_key_len();
    if length <= e.len() {
        return Secret::from(&e[..length]);
    }
    let mut next = |part: &[u8]| about(crypto, "key from SKEYID_e", |crypto| crypto.prf(prf, e, &[part]));
    let mut block = next(&[0]);
    // Reserving all of it avoids reallocation, so no copy of a part stays behind.
    let mut key = Vec::with_capacity(length + block.len());
    key.extend_from_slice(&block);
    while key.len() < length {
        block = next(&block);
        key.extend_from_slice(&block);
    }
    key.truncate(length);
    Secret::new(key)
}

/// The input of HASH_I and HASH_R, RFC 2409 §5.
#[derive(Debug, Clone, Copy)]
pub struct ProofInput<'a> {
    /// g^xi as it was sent.
    pub public_i: &'a [u8],
    /// g^xr as it was sent.
    pub public_r: &'a [u8],
    /// CKY-I and CKY-R.
    pub cookies: (u64, u64),
    /// SAi_b: the body of the initiator's SA payload.
    pub sa_body: &'a [u8],
    /// IDii_b or IDir_b: the body of the ID payload of the authenticated side.
    pub id_body: &'a [u8],
}

/// RFC 2409 §5: HASH_I = prf(SKEYID, g^xi | g^xr | CKY-I | CKY-R | SAi_b | IDii_b), HASH_R the same the other way round.
pub fn proof(crypto: &mut dyn Crypto, prf: Prf, skeyid: &[u8], of: Role, input: &ProofInput<'_>) -> Digest {
    let (cookie_i, cookie_r) = (input.cookies.0.to_be_bytes(), input.cookies.1.to_be_bytes());
    let ProofInput { public_i, public_r, sa_body, id_body, .. } = *input;
    let parts: [&[u8]; 6] = match of {
        Role::Initiator => [public_i, public_r, &cookie_i, &cookie_r, sa_body, id_body],
        Role::Responder => [public_r, public_i, &cookie_r, &cookie_i, sa_body, id_body],
    };
    about(crypto, "HASH_I, HASH_R", |crypto| crypto.prf(prf, skeyid, &parts))
}

/// RFC 2409 §5.5: HASH(1) = prf(SKEYID_a, M-ID | what follows the HASH payload); §5.7 the same for informational.
pub fn hash_1(crypto: &mut dyn Crypto, keys: &Keys, message_id: u32, rest: &[u8]) -> Digest {
    about(crypto, "HASH(1)", |crypto| crypto.prf(keys.prf(), keys.a(), &[&message_id.to_be_bytes(), rest]))
}

/// RFC 2409 §5.5: HASH(2) = prf(SKEYID_a, M-ID | Ni_b | what follows the HASH payload).
pub fn hash_2(crypto: &mut dyn Crypto, keys: &Keys, message_id: u32, nonce_i: &[u8], rest: &[u8]) -> Digest {
    let parts = [&message_id.to_be_bytes()[..], nonce_i, rest];
    about(crypto, "HASH(2)", |crypto| crypto.prf(keys.prf(), keys.a(), &parts))
}

/// RFC 2409 §5.5: HASH(3) = prf(SKEYID_a, 0 | M-ID | Ni_b | Nr_b).
pub fn hash_3(crypto: &mut dyn Crypto, keys: &Keys, message_id: u32, nonces: [&[u8]; 2]) -> Digest {
    let id = message_id.to_be_bytes();
    about(crypto, "HASH(3)", |crypto| crypto.prf(keys.prf(), keys.a(), &[&[0], &id, nonces[0], nonces[1]]))
}

/// The input of the KEYMAT of one IPsec SA, RFC 2409 §5.5.
#[derive(Debug, Clone, Copy)]
pub struct ChildSeeds<'a> {
    /// g(qm)^xy with perfect forward secrecy.
    pub shared: Option<&'a [u8]>,
    /// The number of the protocol.
    pub protocol: u8,
    /// The SPI of the receiver.
    pub spi: u32,
    /// Ni_b and Nr_b of the quick mode.
    pub nonces: [&'a [u8]; 2],
}

/// RFC 2409 §5.5: KEYMAT = K1 | K2 | …, K1 = prf(SKEYID_d, [ g(qm)^xy | ] protocol | SPI | Ni_b | Nr_b),
/// K2 = prf(SKEYID_d, K1 | [ g(qm)^xy | ] protocol | …): encryption key with salt, then integrity key.
pub fn child_keys(
    crypto: &mut dyn Crypto,
    keys: &Keys,
    suite: &Suite,
    seeds: &ChildSeeds<'_>,
) -> (Secret, Secret) {
    let encryption = suite.encryption.key_len();
    let wanted = encryption + suite.integrity.map_or(0, Integrity::key_len);
    let (protocol, spi) = ([seeds.protocol], seeds.spi.to_be_bytes());
    let shared = seeds.shared.unwrap_or_default();
    let mut block = Digest::zeroed(0);
    let mut material = zeroize::Zeroizing::new(Vec::with_capacity(wanted + 64));
    while material.len() < wanted {
        let parts: [&[u8]; 6] = [&block, shared, &protocol, &spi, seeds.nonces[0], seeds.nonces[1]];
        block = about(crypto, "KEYMAT", |crypto| crypto.prf(keys.prf(), keys.d(), &parts));
        material.extend_from_slice(&block);
    }
    (Secret::from(&material[..encryption]), Secret::from(&material[encryption..wanted]))
}
