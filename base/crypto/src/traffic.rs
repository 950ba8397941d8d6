//! Traffic keys of SAs, kept expanded inside the [`TrafficKey`] itself.
//!
//! Expanding a key costs as much as a short packet, and the result takes half a kilobyte. So the first packet of an SA is
//! protected like any IKE message, and the second one expands the key for all later packets.

use std::any::Any;

use keytoll_crypto_api::algorithm::Encryption;
use keytoll_crypto_api::{Rejected, TrafficKey};
use keytoll_native::awslc::const_time_eq;

use crate::cipher::{Cipher, Direction, check_lengths, split};
use crate::mac::{self, MacKey};

/// What the real provider keeps in a key.
struct Expanded {
    direction: Direction,
    cipher: Cipher,
    /// Offset of the salt in the encryption key.
    salt_at: usize,
    /// The algorithm's lengths, looked up once: its tag, and its block (a power of two) minus one.
    tag_len: usize,
    block_mask: usize,
    /// In a box of its own, because there is none with an AEAD.
    mac: Option<Box<MacKey>>,
}

impl Expanded {
    fn new(key: &TrafficKey, direction: Direction) -> Self {
        let (bare, _) = split(key.encryption, &key.encryption_key);
        Self {
            direction,
            cipher: Cipher::new(key.encryption, bare, direction),
            salt_at: bare.len(),
            tag_len: key.encryption.tag_len(),
            block_mask: key.encryption.block_len() - 1,
            mac: key.integrity.map(|integrity| Box::new(MacKey::new(integrity, &key.integrity_key))),
        }
    }
}

/// Encrypts a packet.
pub(crate) fn encrypt(key: &mut TrafficKey, iv: &[u8], aad: &[u8], data: &mut [u8], tag: &mut [u8]) {
    let (encryption, direction) = (key.encryption, Direction::Encrypt);
    let TrafficKey { encryption_key, expanded: kept, .. } = key;
    if let Some(expanded) = expanded(kept, direction) {
        assert_eq!(tag.len(), expanded.tag_len, "length of the {encryption} tag");
        return expanded.cipher.encrypt(&encryption_key[expanded.salt_at..], iv, aad, data, tag);
    }
    assert_eq!(tag.len(), encryption.tag_len(), "length of the {encryption} tag");
    let (bare, salt) = split(encryption, encryption_key);
    Cipher::new(encryption, bare, direction).encrypt(salt, iv, aad, data, tag);
    if encryption != Encryption::Null {
        used(key, direction);
    }
}

/// Decrypts a packet.
pub(crate) fn decrypt(
    key: &mut TrafficKey,
    iv: &[u8],
    aad: &[u8],
    data: &mut [u8],
    tag: &[u8],
) -> Result<(), Rejected> {
    let (encryption, direction) = (key.encryption, Direction::Decrypt);
    let TrafficKey { encryption_key, expanded: kept, .. } = key;
    if let Some(expanded) = expanded(kept, direction) {
        if data.len() & expanded.block_mask != 0 || tag.len() != expanded.tag_len {
            return Err(Rejected);
        }
        return expanded.cipher.decrypt(&encryption_key[expanded.salt_at..], iv, aad, data, tag);
    }
    check_lengths(encryption, data, tag)?;
    let (bare, salt) = split(encryption, encryption_key);
    // A forged packet must not cause any allocation: only packets that verified count.
    Cipher::new(encryption, bare, direction).decrypt(salt, iv, aad, data, tag)?;
    if encryption != Encryption::Null {
        used(key, direction);
    }
    Ok(())
}

/// Computes the integrity check value of a packet.
pub(crate) fn mac(key: &mut TrafficKey, parts: &[&[u8]], tag: &mut [u8]) {
    compute(key, parts, tag);
    note(key, Direction::Encrypt);
}

/// Counts the packet if the key only authenticates; if it also encrypts, the cipher counts it.
fn note(key: &mut TrafficKey, direction: Direction) {
    if key.encryption == Encryption::Null {
        used(key, direction);
    }
}

fn compute(key: &TrafficKey, parts: &[&[u8]], tag: &mut [u8]) {
    let kept = key.expanded.as_ref().and_then(|kept| kept.downcast_ref::<Expanded>());
    match kept.and_then(|expanded| expanded.mac.as_deref()) {
        Some(mac) => mac.tag(parts, tag),
        None => tag.copy_from_slice(&mac::mac(key.authentication(), &key.integrity_key, parts)),
    }
}

/// Checks the integrity check value of a packet.
pub(crate) fn verify(key: &mut TrafficKey, parts: &[&[u8]], tag: &[u8]) -> Result<(), Rejected> {
    let mut right = [0; mac::TAG_LEN_MAX];
    let right = &mut right[..key.authentication().tag_len()];
    compute(key, parts, right);
    if !const_time_eq(right, tag) {
        return Err(Rejected);
    }
    note(key, Direction::Decrypt);
    Ok(())
}

/// The expanded key, if it is for this direction.
#[inline]
fn expanded(kept: &mut Option<Box<dyn Any + Send + Sync>>, direction: Direction) -> Option<&mut Expanded> {
    kept.as_mut()?.downcast_mut::<Expanded>().filter(|kept| kept.direction == direction)
}

/// Counts a packet; the second one stores the expanded key.
fn used(key: &mut TrafficKey, direction: Direction) {
    if std::mem::replace(&mut key.is_used, true) && key.expanded.is_none() {
        key.expanded = Some(Box::new(Expanded::new(key, direction)));
    }
}
