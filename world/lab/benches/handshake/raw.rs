//! The bare primitives of the crypto library, without provider, door, meter or protocol.
//!
//! Counted: hashes, HMAC, AES-GCM with its key schedule, key agreement, signing and checking, over the very bytes of
//! the handshake. Not counted: random draws, reading keys and certificates, comparing, wiping, and results on the heap
//! (but for signatures, which the library's wrapper returns in a vector).

use std::hint::black_box;

use keytoll_crypto_api::SigningKey;
use keytoll_crypto_api::algorithm::{Encryption, Group, Hash, SignatureScheme};
use keytoll_native::awslc::aead::{self, Aead};
use keytoll_native::awslc::ec::Curve;
use keytoll_native::awslc::hash::{Md, Name, Running, Sha1, Sha256};
use keytoll_native::awslc::key::{Padding, PrivateKey, PublicKey};
use keytoll_native::awslc::x25519;

/// Length of the tag of AES-GCM.
const TAG: usize = 16;

/// One operation of a handshake with the arguments it had, ready to run again.
pub(crate) enum Primitive {
    Sha1(Vec<u8>),
    HmacSha256 { key: Vec<u8>, message: Vec<u8> },
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
            Self::Sha1(_) => "SHA-1",
            Self::HmacSha256 { .. } => "HMAC-SHA-256",
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
            Self::Sha1(message) => {
                black_box(digest::<Sha1, 20>(&[message]));
                true
            }
            Self::HmacSha256 { key, message } => {
                black_box(hmac_sha256(key, message));
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

/// RFC 2104 §2: H(K ⊕ opad, H(K ⊕ ipad, text)).
fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut pad = [0; Sha256::BLOCK];
    if key.len() > pad.len() {
        pad[..32].copy_from_slice(&digest::<Sha256, 32>(&[key]));
    } else {
        pad[..key.len()].copy_from_slice(key);
    }
    let inner = digest::<Sha256, 32>(&[&pad.map(|byte| byte ^ 0x36), message]);
    digest::<Sha256, 32>(&[&pad.map(|byte| byte ^ 0x5c), &inner])
}

fn sign(key: &SigningKey, scheme: SignatureScheme, message: &[u8]) -> Option<Vec<u8>> {
    let key: &PrivateKey = key.inner()?;
    let digest = digest::<Sha256, 32>(&[message]);
    match scheme {
        SignatureScheme::RsaPkcs1(Hash::Sha256) => key.sign_rsa(Padding::Pkcs1, Name::Sha256, &digest),
        SignatureScheme::EcdsaDer(Hash::Sha256) => key.sign_ecdsa_der(&digest),
        _ => None,
    }
}

fn verify(key: &PublicKey, scheme: SignatureScheme, message: &[u8], signature: &[u8]) -> bool {
    let digest = digest::<Sha256, 32>(&[message]);
    match scheme {
        SignatureScheme::RsaPkcs1(Hash::Sha256) => {
            key.verify_rsa(Padding::Pkcs1, Name::Sha256, &digest, signature)
        }
        SignatureScheme::EcdsaDer(Hash::Sha256) => key.verify_ecdsa_der(&digest, signature),
        _ => false,
    }
}

fn array(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().expect("X25519 works on 32 bytes")
}
