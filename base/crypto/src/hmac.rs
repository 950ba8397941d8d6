//! Hashes over parts, and HMAC (RFC 2104) over any of them.

use keytoll_crypto_api::Digest;
use keytoll_crypto_api::algorithm::Hash;
use keytoll_native::awslc::hash::{Md, Md4, Md5, Running, Sha1, Sha256, Sha384, Sha512};
use keytoll_native::awslc::wipe;

/// The longest block: SHA-384 and SHA-512.
const BLOCK_MAX: usize = 128;

/// Hashes the parts.
pub(crate) fn hash(algorithm: Hash, parts: &[&[u8]]) -> Digest {
    match algorithm {
        Hash::Md5 => digest::<Md5>(parts),
        Hash::Sha1 => digest::<Sha1>(parts),
        Hash::Sha256 => digest::<Sha256>(parts),
        Hash::Sha384 => digest::<Sha384>(parts),
        Hash::Sha512 => digest::<Sha512>(parts),
        Hash::Md4 => digest::<Md4>(parts),
    }
}

/// HMAC over the parts, with a key of any length.
pub(crate) fn hmac(algorithm: Hash, key: &[u8], parts: &[&[u8]]) -> Digest {
    match algorithm {
        Hash::Md5 => keyed::<Md5>(key, parts),
        Hash::Sha1 => keyed::<Sha1>(key, parts),
        Hash::Sha256 => keyed::<Sha256>(key, parts),
        Hash::Sha384 => keyed::<Sha384>(key, parts),
        Hash::Sha512 => keyed::<Sha512>(key, parts),
        Hash::Md4 => keyed::<Md4>(key, parts),
    }
}

fn digest<H: Md>(parts: &[&[u8]]) -> Digest {
    finish(Running::<H>::new(), parts)
}

fn finish<H: Md>(mut running: Running<H>, parts: &[&[u8]]) -> Digest {
    parts.iter().for_each(|part| running.update(part));
    let mut digest = Digest::zeroed(H::LEN);
    running.finish(&mut digest);
    digest
}

fn keyed<H: Md>(key: &[u8], parts: &[&[u8]]) -> Digest {
    Pads::<H>::new(key).finish(parts)
}

/// RFC 2104 §4: both hashes after their first block, which depends on the key alone.
#[derive(Clone)]
pub(crate) struct Pads<H: Md> {
    inner: Running<H>,
    outer: Running<H>,
}

impl<H: Md> Pads<H> {
    /// Hashes the key into both pads.
    pub(crate) fn new(key: &[u8]) -> Self {
        let mut pad = [0; BLOCK_MAX];
        let pad = &mut pad[..H::BLOCK];
        set_key::<H>(key, pad);
        let pads = Self { inner: padded(pad, 0x36), outer: padded(pad, 0x36 ^ 0x5c) };
        wipe(pad);
        pads
    }

    /// RFC 2104 §2: H(K ⊕ opad, H(K ⊕ ipad, text)).
    pub(crate) fn finish(self, parts: &[&[u8]]) -> Digest {
        let inner = finish(self.inner, parts);
        finish(self.outer, &[&inner])
    }
}

// RFC 2104 §2: keys longer than a block are hashed first, shorter ones padded with zeros.
fn set_key<H: Md>(key: &[u8], pad: &mut [u8]) {
    if key.len() > pad.len() {
        let hashed = digest::<H>(&[key]);
        pad[..hashed.len()].copy_from_slice(&hashed);
    } else {
        pad[..key.len()].copy_from_slice(key);
    }
}

/// Starts a hash with the pad, XORed with `bits`.
fn padded<H: Md>(pad: &mut [u8], bits: u8) -> Running<H> {
    pad.iter_mut().for_each(|byte| *byte ^= bits);
    let mut running = Running::new();
    running.update(pad);
    running
}
