//! The cipher inside User-Password (RFC 2865 §5.2) and the MPPE keys (RFC 2548 §2.4.2): blocks XORed with MD5 of the
//! secret and the block before.
//!
//!   b(1) = MD5(S + seed)    c(1) = p(1) xor b(1)
//!   b(i) = MD5(S + c(i-1))  c(i) = p(i) xor b(i)

use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::{Crypto, Secret};

/// Length of a block in bytes.
pub(super) const BLOCK: usize = 16;

/// Encrypts whole blocks in place.
pub(super) fn encrypt(data: &mut [u8], seed: [&[u8]; 2], secret: &Secret, crypto: &mut dyn Crypto) {
    let mut before = seed;
    for block in data.chunks_exact_mut(BLOCK) {
        xor(block, before, secret, crypto);
        before = [block, &[]];
    }
}

/// Decrypts whole blocks in place, from the last to the first, so that the preceding block is still encrypted.
pub(super) fn decrypt(data: &mut [u8], seed: [&[u8]; 2], secret: &Secret, crypto: &mut dyn Crypto) {
    for start in (0..data.len()).step_by(BLOCK).rev() {
        let (earlier, block) = data[..start + BLOCK].split_at_mut(start);
        let before = if start == 0 { seed } else { [&earlier[start - BLOCK..], &[]] };
        xor(block, before, secret, crypto);
    }
}

fn xor(block: &mut [u8], before: [&[u8]; 2], secret: &Secret, crypto: &mut dyn Crypto) {
    let pad = crypto.hash(Hash::Md5, &[secret, before[0], before[1]]);
    block.iter_mut().zip(pad.iter()).for_each(|(byte, pad)| *byte ^= pad);
}
