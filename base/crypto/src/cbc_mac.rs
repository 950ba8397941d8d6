//! MACs and PRFs from AES in CBC mode: XCBC (RFC 3566, RFC 4434) and CMAC (RFC 4493, RFC 4494, RFC 4615).
//!
//! Both chain the message's blocks and mask the last one; they differ in how the masks are derived.

use keytoll_crypto_api::Digest;
use keytoll_native::awslc::aes::{BLOCK, EncryptKey};
use keytoll_native::awslc::wipe;

type Block = [u8; BLOCK];

/// How much of the message is given to the library at once, in bytes.
const STRIDE: usize = 32 * BLOCK;
/// Up to so many bytes are chained block by block, which needs no room for a ciphertext that nobody reads.
const FEW: usize = 4 * BLOCK;

/// A key with the masks of its last block.
pub(crate) struct MaskedKey {
    chain: EncryptKey,
    /// Mask of a complete last block.
    whole: Block,
    /// Mask of a last block that was padded with 10*.
    padded: Block,
}

impl MaskedKey {
    /// The masks of AES-XCBC-MAC, from a 16-byte key, RFC 3566 §4.
    pub(crate) fn xcbc(key: &[u8]) -> Self {
        let masks = EncryptKey::new(key);
        let derive = |constant| encrypted(&masks, [constant; BLOCK]);
        Self { chain: EncryptKey::new(&derive(1)), whole: derive(2), padded: derive(3) }
    }

    /// The masks of AES-CMAC, from a 16-byte key, RFC 4493 §2.3.
    pub(crate) fn cmac(key: &[u8]) -> Self {
        let chain = EncryptKey::new(key);
        let [whole, padded] = cmac_masks(&chain);
        Self { chain, whole, padded }
    }

    /// The MAC of the parts.
    pub(crate) fn mac(&self, parts: &[&[u8]]) -> Digest {
        masked(CbcMac::new(&self.chain), parts, &self.whole, &self.padded)
    }
}

impl Drop for MaskedKey {
    fn drop(&mut self) {
        wipe(&mut self.whole);
        wipe(&mut self.padded);
    }
}

/// AES-XCBC-MAC with a 16-byte key.
pub(crate) fn xcbc(key: &[u8], parts: &[&[u8]]) -> Digest {
    MaskedKey::xcbc(key).mac(parts)
}

/// AES-CMAC with a 16-byte key, RFC 4493 §2.4.
pub(crate) fn cmac(key: &[u8], parts: &[&[u8]]) -> Digest {
    let chain = EncryptKey::new(key);
    let [mut whole, mut padded] = cmac_masks(&chain);
    let digest = masked(CbcMac::new(&chain), parts, &whole, &padded);
    wipe(&mut whole);
    wipe(&mut padded);
    digest
}

/// AES-XCBC-PRF-128.
pub(crate) fn xcbc_prf(key: &[u8], parts: &[&[u8]]) -> Digest {
    xcbc(&xcbc_prf_key(key), parts)
}

/// AES-CMAC-PRF-128.
pub(crate) fn cmac_prf(key: &[u8], parts: &[&[u8]]) -> Digest {
    // RFC 4615 §3: a key of any other length is first authenticated under the zero key.
    if key.len() == BLOCK { cmac(key, parts) } else { cmac(&cmac(&[0; BLOCK], &[key]), parts) }
}

// RFC 4434 §2: shorter keys are padded with zeros, longer ones authenticated under the zero key.
fn xcbc_prf_key(key: &[u8]) -> Digest {
    if key.len() > BLOCK {
        return xcbc(&[0; BLOCK], &[key]);
    }
    let mut padded = Digest::zeroed(BLOCK);
    padded[..key.len()].copy_from_slice(key);
    padded
}

/// Chains all blocks, the last one masked: with `whole` if it is complete, else padded with 10* and with `padded`.
fn masked(mut chain: CbcMac<'_>, parts: &[&[u8]], whole: &Block, padded: &Block) -> Digest {
    parts.iter().for_each(|part| chain.update(part));
    if chain.fill < BLOCK {
        chain.last[chain.fill..].fill(0);
        chain.last[chain.fill] = 0x80;
    }
    let mask = if chain.fill == BLOCK { whole } else { padded };
    chain.last.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    chain.absorb_last();
    let mut digest = Digest::zeroed(BLOCK);
    digest.copy_from_slice(&chain.state);
    digest
}

fn encrypted(key: &EncryptKey, mut block: Block) -> Block {
    key.block(&mut block);
    block
}

/// RFC 4493 §2.3: the masks of a complete and of a padded last block.
fn cmac_masks(key: &EncryptKey) -> [Block; 2] {
    let whole = doubled(encrypted(key, [0; BLOCK]));
    [whole, doubled(whole)]
}

/// One step of CBC.
fn chain(key: &EncryptKey, state: &mut Block, block: &Block) {
    state.iter_mut().zip(block).for_each(|(state, byte)| *state ^= byte);
    key.block(state);
}

/// RFC 4493 §2.3: multiplication by x in GF(2^128).
fn doubled(block: Block) -> Block {
    let number = u128::from_be_bytes(block);
    let carry = number >> 127;
    ((number << 1) ^ (carry * 0x87)).to_be_bytes()
}

/// A CBC chain that always holds back its last block, because most constructions treat it differently.
pub(crate) struct CbcMac<'a> {
    key: &'a EncryptKey,
    state: Block,
    last: Block,
    fill: usize,
}

impl<'a> CbcMac<'a> {
    /// A chain with a zero IV.
    pub(crate) fn new(key: &'a EncryptKey) -> Self {
        Self { key, state: [0; BLOCK], last: [0; BLOCK], fill: 0 }
    }

    /// Adds bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(BLOCK - self.fill));
        self.hold(head);
        if !rest.is_empty() {
            self.absorb_last();
            let held_back = (rest.len() - 1) / BLOCK * BLOCK;
            self.absorb(&rest[..held_back]);
            self.hold(&rest[held_back..]);
        }
    }

    /// Fills the current block with zeros, as CCM requires after the associated data and after the message.
    pub(crate) fn pad_with_zeros(&mut self) {
        if self.fill > 0 {
            self.last[self.fill..].fill(0);
            self.absorb_last();
        }
    }

    /// The chaining value after everything absorbed so far.
    pub(crate) fn state(&self) -> &Block {
        &self.state
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.last[self.fill..][..bytes.len()].copy_from_slice(bytes);
        self.fill += bytes.len();
    }

    fn absorb_last(&mut self) {
        chain(self.key, &mut self.state, &self.last);
        self.fill = 0;
    }

    fn absorb(&mut self, blocks: &[u8]) {
        if blocks.len() <= FEW {
            let (blocks, _) = blocks.as_chunks();
            return blocks.iter().for_each(|block| chain(self.key, &mut self.state, block));
        }
        let mut scratch = [0; STRIDE];
        for stride in blocks.chunks(STRIDE) {
            self.key.cbc_mac(&mut self.state, stride, &mut scratch);
        }
    }
}

impl Drop for CbcMac<'_> {
    fn drop(&mut self) {
        wipe(&mut self.state);
        wipe(&mut self.last);
    }
}
