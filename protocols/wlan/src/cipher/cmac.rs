//! AES-CMAC with a key of 256 bits, which BIP-CMAC-256 alone uses (SP 800-38B §6; RFC 4493 has the same with 128 bits).
//!
//! It takes the trait's block cipher block by block: such frames are few and short.

use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::BlockCipher;

const BLOCK: usize = 16;

/// The MAC of two parts, the first of any length.
pub(super) fn aes_256_cmac(key: &[u8], parts: [&[u8]; 2], crypto: &mut dyn Crypto) -> [u8; BLOCK] {
    let mut encrypt = |block: &mut [u8; BLOCK]| crypto.block(BlockCipher::Aes256, key, block);
    let mut mask = [0; BLOCK];
    encrypt(&mut mask);
    mask = doubled(mask);
    let (mut state, mut fill) = ([0; BLOCK], 0);
    for &octet in parts.into_iter().flatten() {
        if fill == BLOCK {
            encrypt(&mut state);
            fill = 0;
        }
        state[fill] ^= octet;
        fill += 1;
    }
    // SP 800-38B §6.2: the last block is masked with K1 if it is complete, otherwise padded with a one and masked with K2.
    if fill < BLOCK {
        state[fill] ^= 0x80;
        mask = doubled(mask);
    }
    state.iter_mut().zip(mask).for_each(|(octet, mask)| *octet ^= mask);
    encrypt(&mut state);
    state
}

/// SP 800-38B §6.1: multiplication by x in GF(2¹²⁸).
fn doubled(block: [u8; BLOCK]) -> [u8; BLOCK] {
    let number = u128::from_be_bytes(block);
    let carry = number >> 127;
    ((number << 1) ^ (carry * 0x87)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;
    use crate::keys::tests::hex;

    /// SP 800-38B D.3, examples 9 to 11.
    #[test]
    fn examples_of_sp_800_38b() {
        let key = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
        let message = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411");
        for (len, mac) in [
            (0, "028962f61b7bf89efc6b551f4667d983"),
            (16, "28a7023f452e8f82bd4bf28d8c37c35c"),
            (40, "aaf3d8f1de5640c232f5b169b9c911e6"),
        ] {
            for cut in [0, len / 2, len] {
                let (first, second) = message[..len].split_at(cut);
                assert_eq!(aes_256_cmac(&key, [first, second], &mut Real::default())[..], hex(mac), "{len}");
            }
        }
    }
}
