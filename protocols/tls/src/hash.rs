//! Hash, HMAC and what rustls builds on them (HKDF of RFC 5869, PRF of RFC 5246 §5), through the lent crypto.
//!
//! The crypto trait hashes whole messages only, so the running hash of a handshake keeps its input, and each digest hashes it
//! from the start: TLS 1.3 takes about seven digests of at most a few kilobytes.

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::algorithm::{Hash, Prf};
use rustls::crypto::hash::{self, HashAlgorithm};
use rustls::crypto::hmac;

use crate::lent::lent;

/// SHA-256 for the transcript.
pub(crate) static SHA256: Transcript = Transcript(Hash::Sha256, HashAlgorithm::SHA256);
/// SHA-384 for the transcript.
pub(crate) static SHA384: Transcript = Transcript(Hash::Sha384, HashAlgorithm::SHA384);
/// HMAC-SHA-256 for the key schedule.
pub(crate) static HMAC_SHA256: Hmac = Hmac(Prf::HmacSha256);
/// HMAC-SHA-384 for the key schedule.
pub(crate) static HMAC_SHA384: Hmac = Hmac(Prf::HmacSha384);

/// Initial capacity: enough for handshakes with chains of two.
const TRANSCRIPT_BYTES: usize = 4096;

/// A hash function.
pub(crate) struct Transcript(Hash, HashAlgorithm);

impl hash::Hash for Transcript {
    fn start(&self) -> Box<dyn hash::Context> {
        Box::new(Running { hash: self.0, bytes: Vec::with_capacity(TRANSCRIPT_BYTES) })
    }

    fn hash(&self, data: &[u8]) -> hash::Output {
        digest(self.0, data)
    }

    fn output_len(&self) -> usize {
        self.0.len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.1
    }
}

/// An unfinished message. rustls limits a handshake message to 64 KiB, and the protocol their number.
#[derive(Clone)]
struct Running {
    hash: Hash,
    bytes: Vec<u8>,
}

impl hash::Context for Running {
    fn fork_finish(&self) -> hash::Output {
        digest(self.hash, &self.bytes)
    }

    fn fork(&self) -> Box<dyn hash::Context> {
        Box::new(self.clone())
    }

    fn finish(self: Box<Self>) -> hash::Output {
        self.fork_finish()
    }

    fn update(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
    }
}

fn digest(hash: Hash, data: &[u8]) -> hash::Output {
    lent(|lent| hash::Output::new(&lent.crypto.hash(hash, &[data])))
}

/// HMAC with one hash.
pub(crate) struct Hmac(Prf);

impl hmac::Hmac for Hmac {
    fn with_key(&self, key: &[u8]) -> Box<dyn hmac::Key> {
        Box::new(Keyed { prf: self.0, key: key.into() })
    }

    fn hash_output_len(&self) -> usize {
        self.0.output_len()
    }
}

struct Keyed {
    prf: Prf,
    key: Secret,
}

impl hmac::Key for Keyed {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> hmac::Tag {
        let parts: Vec<&[u8]> =
            std::iter::once(first).chain(middle.iter().copied()).chain(std::iter::once(last)).collect();
        lent(|lent| hmac::Tag::new(&lent.crypto.prf(self.prf, &self.key, &parts)))
    }

    fn tag_len(&self) -> usize {
        self.prf.output_len()
    }
}
