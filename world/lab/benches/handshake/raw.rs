//! The bare primitives of the crypto library, without provider, door, meter or protocol.
//!
//! Counted: hashes, HMAC, AES with its key schedule as a block cipher, in CMAC and in GCM, key agreement, signing and checking,
//! over the very bytes of the handshake. Not counted: random draws, reading keys and certificates, comparing, wiping, and results on the heap
//! (but for signatures, which the library's wrapper returns in a vector).

use std::hint::black_box;

use keytoll_crypto_api::SigningKey;
use keytoll_crypto_api::algorithm::{Encryption, Group, Hash, Prf, SignatureScheme};
use keytoll_hip::puzzle::PuzzleFunction;
use keytoll_native::awslc::aead::{self, Aead};
use keytoll_native::awslc::aes::{BLOCK, EncryptKey};
use keytoll_native::awslc::ec::Curve;
use keytoll_native::awslc::hash::{Md, Name, Running, Sha1, Sha256, Sha384};
use keytoll_native::awslc::key::{Padding, PrivateKey, PublicKey};
use keytoll_native::awslc::x25519;

/// Length of the tag of AES-GCM.
const TAG: usize = 16;
/// How much of a message goes through CBC at once.
const LONGEST_CBC: usize = 32 * BLOCK;

/// One operation of a handshake with the arguments it had, ready to run again.
pub(crate) enum Primitive {
    Hash(Hash, Vec<u8>),
    Prf { algorithm: Prf, key: Vec<u8>, message: Vec<u8> },
    Block { key: Vec<u8>, block: [u8; BLOCK] },
    Seal(Sealing),
    Open(Sealing, [u8; TAG]),
    X25519Public([u8; 32]),
    X25519([u8; 32], [u8; 32]),
    P256Public(Vec<u8>),
    P256(Vec<u8>, Vec<u8>),
    Sign { key: SigningKey, scheme: SignatureScheme, message: Vec<u8> },
    Verify { key: PublicKey, scheme: SignatureScheme, message: Vec<u8>, signature: Vec<u8> },
}

/// The arguments of an AES-GCM operation, and a place for its result.
pub(crate) struct Sealing {
    key: Vec<u8>,
    nonce: [u8; aead::NONCE],
    aad: Vec<u8>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Sealing {
    /// # Panics
    /// If the algorithm is another than AES-128-GCM.
    pub(crate) fn new(algorithm: Encryption, key: &[u8], iv: &[u8], aad: &[u8], data: &[u8]) -> Self {
        assert_eq!(algorithm, Encryption::Aes128Gcm16, "the benchmark knows this one");
        let (key, salt) = key.split_at(algorithm.cipher_key_len());
        let nonce = [salt, iv].concat().try_into().expect("salt and IV are twelve bytes");
        Self { key: key.to_vec(), nonce, aad: aad.to_vec(), input: data.to_vec(), output: data.to_vec() }
    }

    fn key(&self) -> aead::Key {
        aead::Key::new(Aead::AesGcm, &self.key, TAG)
    }

    fn seal(&mut self) -> bool {
        let mut tag = [0; TAG];
        self.key().seal(&self.nonce, &self.aad, &mut self.output, &mut tag);
        black_box(tag);
        true
    }

    /// In place like the protocol; the copy that makes it repeatable takes a few nanoseconds.
    fn open(&mut self, tag: &[u8]) -> bool {
        self.output.copy_from_slice(&self.input);
        self.key().open(&self.nonce, &self.aad, &mut self.output, tag)
    }
}

impl Primitive {
    /// # Panics
    /// If the group is one that the benchmark's suites do not have.
    pub(crate) fn generate(group: Group, private: &[u8]) -> Self {
        match group {
            Group::X25519 => Self::X25519Public(array(private)),
            Group::Ecp256 => Self::P256Public(private.to_vec()),
            other => panic!("{other} is not in this benchmark"),
        }
    }

    /// # Panics
    /// If the group is one that the benchmark's suites do not have.
    pub(crate) fn agree(group: Group, private: &[u8], peer: &[u8]) -> Self {
        match group {
            Group::X25519 => Self::X25519(array(private), array(peer)),
            Group::Ecp256 => Self::P256(private.to_vec(), peer.to_vec()),
            other => panic!("{other} is not in this benchmark"),
        }
    }

    /// What it is called in the table.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Hash(algorithm, _) => algorithm.name(),
            Self::Prf { algorithm, .. } => algorithm.name(),
            Self::Block { .. } => "AES",
            Self::Seal(_) | Self::Open(..) => "AES-GCM",
            Self::X25519Public(_) | Self::X25519(..) => "X25519",
            Self::P256Public(_) | Self::P256(..) => "ECDH P-256",
            Self::Sign { .. } => "sign",
            Self::Verify { .. } => "verify",
        }
    }

    /// Runs it once more.
    ///
    /// # Panics
    /// If it does not succeed as it did in the handshake.
    pub(crate) fn run(&mut self) {
        let good = match self {
            Self::Hash(algorithm, message) => hash(*algorithm, &[message]),
            Self::Prf { algorithm, key, message } => prf(*algorithm, key, message),
            Self::Block { key, block } => {
                EncryptKey::new(key).block(black_box(block));
                true
            }
            Self::Seal(sealing) => sealing.seal(),
            Self::Open(sealing, tag) => sealing.open(tag),
            Self::X25519Public(private) => black_box(x25519::public(private)) != [0; 32],
            Self::X25519(private, peer) => x25519::agree(private, peer, black_box(&mut [0; 32])),
            Self::P256Public(scalar) => Curve::P256.public(scalar, black_box(&mut [0; 64])),
            Self::P256(scalar, peer) => Curve::P256.agree(scalar, peer, black_box(&mut [0; 32])),
            Self::Sign { key, scheme, message } => black_box(sign(key, *scheme, message)).is_some(),
            Self::Verify { key, scheme, message, signature } => verify(key, *scheme, message, signature),
        };
        assert!(good, "what succeeded in the handshake succeeds again");
    }
}

fn digest<H: Md, const LEN: usize>(parts: &[&[u8]]) -> [u8; LEN] {
    let mut running = Running::<H>::new();
    parts.iter().for_each(|part| running.update(part));
    let mut digest = [0; LEN];
    running.finish(&mut digest);
    digest
}

/// Whether the benchmark knows this hash, which it has computed.
fn hash(algorithm: Hash, parts: &[&[u8]]) -> bool {
    match algorithm {
        Hash::Sha1 => drop(black_box(digest::<Sha1, 20>(parts))),
        Hash::Sha256 => drop(black_box(digest::<Sha256, 32>(parts))),
        Hash::Sha384 => drop(black_box(digest::<Sha384, 48>(parts))),
        _ => return false,
    }
    true
}

/// Whether the benchmark knows this function, which it has computed.
fn prf(algorithm: Prf, key: &[u8], message: &[u8]) -> bool {
    match algorithm {
        Prf::HmacSha256 => drop(black_box(hmac::<Sha256, 32>(key, message))),
        Prf::HmacSha384 => drop(black_box(hmac::<Sha384, 48>(key, message))),
        Prf::AesCmac128 => drop(black_box(cmac(key, message))),
        _ => return false,
    }
    true
}

/// One trial of a puzzle: `message` is the HITs and #J.
pub(crate) fn trial(function: PuzzleFunction, random: &[u8], message: &[u8]) {
    let known = match function {
        PuzzleFunction::Rhash(rhash) => hash(rhash.hash(), &[random, message]),
        PuzzleFunction::Cmac => prf(Prf::AesCmac128, random, message),
    };
    assert!(known, "the puzzles of the benchmark");
}

/// RFC 2104 §2: H(K ⊕ opad, H(K ⊕ ipad, text)).
fn hmac<H: Md, const LEN: usize>(key: &[u8], message: &[u8]) -> [u8; LEN] {
    let mut pad = [0; Sha384::BLOCK];
    let pad = &mut pad[..H::BLOCK];
    if key.len() > pad.len() {
        pad[..LEN].copy_from_slice(&digest::<H, LEN>(&[key]));
    } else {
        pad[..key.len()].copy_from_slice(key);
    }
    pad.iter_mut().for_each(|byte| *byte ^= 0x36);
    let inner = digest::<H, LEN>(&[pad, message]);
    pad.iter_mut().for_each(|byte| *byte ^= 0x36 ^ 0x5c);
    digest::<H, LEN>(&[pad, &inner])
}

/// RFC 4493 §2.4, and RFC 4615 §3 for keys of another length.
fn cmac(key: &[u8], message: &[u8]) -> [u8; BLOCK] {
    if key.len() != BLOCK {
        return cmac(&cmac(&[0; BLOCK], key), message);
    }
    let key = EncryptKey::new(key);
    let mut mask = [0; BLOCK];
    key.block(&mut mask);
    mask = doubled(mask);
    let (whole, end) = message.split_at(message.len().saturating_sub(1) / BLOCK * BLOCK);
    let mut last = [0; BLOCK];
    last[..end.len()].copy_from_slice(end);
    if end.len() < BLOCK {
        last[end.len()] = 0x80;
        mask = doubled(mask);
    }
    let mut state = [0; BLOCK];
    whole.chunks(LONGEST_CBC).for_each(|part| key.cbc_mac(&mut state, part, &mut [0; LONGEST_CBC]));
    state.iter_mut().zip(last).zip(mask).for_each(|((byte, last), mask)| *byte ^= last ^ mask);
    key.block(&mut state);
    state
}

/// RFC 4493 §2.3: multiplication by x in GF(2^128).
fn doubled(block: [u8; BLOCK]) -> [u8; BLOCK] {
    let number = u128::from_be_bytes(block);
    ((number << 1) ^ ((number >> 127) * 0x87)).to_be_bytes()
}

fn sign(key: &SigningKey, scheme: SignatureScheme, message: &[u8]) -> Option<Vec<u8>> {
    let key: &PrivateKey = key.inner()?;
    let digest = digest::<Sha256, 32>(&[message]);
    match scheme {
        SignatureScheme::RsaPkcs1(Hash::Sha256) => key.sign_rsa(Padding::Pkcs1, Name::Sha256, &digest),
        SignatureScheme::RsaPss(Hash::Sha256) => key.sign_rsa(Padding::Pss, Name::Sha256, &digest),
        SignatureScheme::EcdsaDer(Hash::Sha256) => key.sign_ecdsa_der(&digest),
        SignatureScheme::EcdsaRaw(Hash::Sha256) => key.sign_ecdsa_raw(&digest),
        _ => None,
    }
}

fn verify(key: &PublicKey, scheme: SignatureScheme, message: &[u8], signature: &[u8]) -> bool {
    let digest = digest::<Sha256, 32>(&[message]);
    match scheme {
        SignatureScheme::RsaPkcs1(Hash::Sha256) => {
            key.verify_rsa(Padding::Pkcs1, Name::Sha256, &digest, signature)
        }
        SignatureScheme::RsaPss(Hash::Sha256) => {
            key.verify_rsa(Padding::Pss, Name::Sha256, &digest, signature)
        }
        SignatureScheme::EcdsaDer(Hash::Sha256) => key.verify_ecdsa_der(&digest, signature),
        SignatureScheme::EcdsaRaw(Hash::Sha256) => key.verify_ecdsa_raw(&digest, signature),
        _ => false,
    }
}

fn array(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().expect("X25519 works on 32 bytes")
}
