//! AES-CCM (RFC 3610, SP 800-38C) with the nonce of 11 bytes and the length field of 4 that RFC 4309 fixes.

use keytoll_engine::crypto::Rejected;
use keytoll_native::awslc::aes::{BLOCK, EncryptKey};
use keytoll_native::awslc::const_time_eq;

use crate::cbc_mac::CbcMac;

/// RFC 4309 §4: salt of 3 bytes and IV of 8.
pub(crate) const NONCE: usize = 11;

/// RFC 3610 §2: L, the length of the length field.
const LENGTH_LEN: usize = 15 - NONCE;

/// Encrypts in place and writes the tag, cut to its length.
pub(crate) fn seal(key: &[u8], nonce: &[u8; NONCE], aad: &[u8], data: &mut [u8], tag: &mut [u8]) {
    let key = EncryptKey::new(key);
    let key_stream = KeyStream::new(&key, nonce);
    let full = authenticate(&key_stream, nonce, aad, data, tag.len());
    key_stream.apply(data);
    tag.copy_from_slice(&full[..tag.len()]);
}

/// Decrypts in place; data that is rejected is wiped.
pub(crate) fn open(
    key: &[u8],
    nonce: &[u8; NONCE],
    aad: &[u8],
    data: &mut [u8],
    tag: &[u8],
) -> Result<(), Rejected> {
    let key = EncryptKey::new(key);
    let key_stream = KeyStream::new(&key, nonce);
    key_stream.apply(data);
    let full = authenticate(&key_stream, nonce, aad, data, tag.len());
    if const_time_eq(&full[..tag.len()], tag) {
        return Ok(());
    }
    // RFC 3610 §2.5: nothing of a message that fails may be revealed.
    data.fill(0);
    Err(Rejected)
}

/// RFC 3610 §2.2: T = CBC-MAC(B_0, associated data, message) ⊕ S_0.
fn authenticate(
    key_stream: &KeyStream<'_>,
    nonce: &[u8; NONCE],
    aad: &[u8],
    data: &[u8],
    tag_len: usize,
) -> [u8; BLOCK] {
    let mut chain = CbcMac::new(key_stream.key);
    chain.update(&first_block(nonce, !aad.is_empty(), data.len(), tag_len));
    if !aad.is_empty() {
        add_associated(&mut chain, aad);
    }
    chain.pad_with_zeros();
    chain.update(data);
    chain.pad_with_zeros();
    std::array::from_fn(|at| chain.state()[at] ^ key_stream.mask[at])
}

// RFC 3610 §2.2: up to 65 279 bytes of associated data take a length of two bytes; IPsec never has more than 12 + IKE's
// header and unencrypted payloads, so the longer forms are a caller's bug.
fn add_associated(chain: &mut CbcMac<'_>, aad: &[u8]) {
    let length = u16::try_from(aad.len()).ok().filter(|&length| length < 0xff00);
    let length = length.expect("associated data of less than 65280 bytes");
    chain.update(&length.to_be_bytes());
    chain.update(aad);
}

/// RFC 3610 §2.2, B_0:  Flags(1) Nonce(15-L) l(m)(L),  Flags = 64·Adata + 8·(M − 2)/2 + (L − 1)
fn first_block(nonce: &[u8; NONCE], associated: bool, data_len: usize, tag_len: usize) -> [u8; BLOCK] {
    let half_tag = u8::try_from((tag_len - 2) / 2).expect("tags have at most 16 bytes");
    let length = u32::try_from(data_len).expect("a message is shorter than 4 GiB");
    let mut block = [0; BLOCK];
    block[0] = u8::from(associated) << 6 | half_tag << 3 | (LENGTH_LEN - 1) as u8;
    block[1..=NONCE].copy_from_slice(nonce);
    block[1 + NONCE..].copy_from_slice(&length.to_be_bytes());
    block
}

/// RFC 3610 §2.3: S_i = E(K, Flags(1) Nonce(15-L) i(L)); S_0 masks the tag, the others the message.
struct KeyStream<'a> {
    key: &'a EncryptKey,
    first_counter: [u8; BLOCK],
    mask: [u8; BLOCK],
}

impl<'a> KeyStream<'a> {
    fn new(key: &'a EncryptKey, nonce: &[u8; NONCE]) -> Self {
        let mut counter = [0; BLOCK];
        counter[0] = (LENGTH_LEN - 1) as u8;
        counter[1..=NONCE].copy_from_slice(nonce);
        let mut mask = counter;
        key.block(&mut mask);
        counter[BLOCK - 1] = 1;
        Self { key, first_counter: counter, mask }
    }

    fn apply(&self, data: &mut [u8]) {
        let mut counter = self.first_counter;
        self.key.ctr(&mut counter, data);
    }
}
