//! AES-CCM (RFC 3610, SP 800-38C). RFC 4309 §4 fixes a nonce of 11 bytes and thus a length field of 4.

use keytoll_crypto_api::Rejected;
use keytoll_native::awslc::aes::{BLOCK, EncryptKey};
use keytoll_native::awslc::const_time_eq;

use crate::cbc_mac::CbcMac;

/// Encrypts in place and writes the tag, truncated to its length.
pub(crate) fn seal<const NONCE: usize>(
    key: &EncryptKey,
    nonce: &[u8; NONCE],
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8],
) {
    let key_stream = KeyStream::new(key, nonce);
    let full = authenticate(&key_stream, nonce, aad, data, tag.len());
    key_stream.apply(data);
    tag.copy_from_slice(&full[..tag.len()]);
}

/// Decrypts in place; rejected data is wiped.
pub(crate) fn open<const NONCE: usize>(
    key: &EncryptKey,
    nonce: &[u8; NONCE],
    aad: &[u8],
    data: &mut [u8],
    tag: &[u8],
) -> Result<(), Rejected> {
    let key_stream = KeyStream::new(key, nonce);
    key_stream.apply(data);
    let full = authenticate(&key_stream, nonce, aad, data, tag.len());
    if const_time_eq(&full[..tag.len()], tag) {
        return Ok(());
    }
    // RFC 3610 §2.5: no part of a message that fails verification may be revealed.
    data.fill(0);
    Err(Rejected)
}

/// RFC 3610 §2.2: T = CBC-MAC(B_0, associated data, message) ⊕ S_0.
fn authenticate<const NONCE: usize>(
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

/// RFC 3610 §2.2: associated data, preceded by its length in two, six or ten bytes.
fn add_associated(chain: &mut CbcMac<'_>, aad: &[u8]) {
    let length = aad.len() as u64;
    match (u16::try_from(length), u32::try_from(length)) {
        (Ok(short), _) if short < LONG_FROM => chain.update(&short.to_be_bytes()),
        (_, Ok(long)) => {
            chain.update(&[0xff, 0xfe]);
            chain.update(&long.to_be_bytes());
        }
        _ => {
            chain.update(&[0xff, 0xff]);
            chain.update(&length.to_be_bytes());
        }
    }
    chain.update(aad);
}

/// RFC 3610 §2.2: lengths below 2^16 - 2^8 take two bytes; from there on these two bytes announce a longer length field.
const LONG_FROM: u16 = 0xff00;

/// RFC 3610 §2.2, B_0:  Flags(1) Nonce(15-L) l(m)(L),  Flags = 64·Adata + 8·(M − 2)/2 + (L − 1), L = 15 − nonce length
fn first_block<const NONCE: usize>(
    nonce: &[u8; NONCE],
    associated: bool,
    data_len: usize,
    tag_len: usize,
) -> [u8; BLOCK] {
    let half_tag = u8::try_from((tag_len - 2) / 2).expect("tags have at most 16 bytes");
    let length = (data_len as u64).to_be_bytes();
    let (unused, length) = length.split_at(length.len() - (15 - NONCE));
    assert!(unused.iter().all(|&byte| byte == 0), "a message whose length fits its length field");
    let mut block = [0; BLOCK];
    block[0] = u8::from(associated) << 6 | half_tag << 3 | (14 - NONCE) as u8;
    block[1..=NONCE].copy_from_slice(nonce);
    block[1 + NONCE..].copy_from_slice(length);
    block
}

/// RFC 3610 §2.3: S_i = E(K, Flags(1) Nonce(15-L) i(L)); S_0 masks the tag, the others the message.
struct KeyStream<'a> {
    key: &'a EncryptKey,
    first_counter: [u8; BLOCK],
    mask: [u8; BLOCK],
}

impl<'a> KeyStream<'a> {
    fn new<const NONCE: usize>(key: &'a EncryptKey, nonce: &[u8; NONCE]) -> Self {
        let mut counter = [0; BLOCK];
        counter[0] = (14 - NONCE) as u8;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3610 §8, packet vectors 1 and 2: nonces of 13 bytes, tags of 8.
    #[test]
    fn packet_vectors() {
        check(
            [0, 0, 0, 3, 2, 1, 0, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5],
            31,
            &[
                0x58, 0x8c, 0x97, 0x9a, 0x61, 0xc6, 0x63, 0xd2, 0xf0, 0x66, 0xd0, 0xc2, 0xc0, 0xf9, 0x89,
                0x80, 0x6d, 0x5f, 0x6b, 0x61, 0xda, 0xc3, 0x84, 0x17, 0xe8, 0xd1, 0x2c, 0xfd, 0xf9, 0x26,
                0xe0,
            ],
        );
        check(
            [0, 0, 0, 4, 3, 2, 1, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5],
            32,
            &[
                0x72, 0xc9, 0x1a, 0x36, 0xe1, 0x35, 0xf8, 0xcf, 0x29, 0x1c, 0xa8, 0x94, 0x08, 0x5c, 0x87,
                0xe3, 0xcc, 0x15, 0xc4, 0x39, 0xc9, 0xe4, 0x3a, 0x3b, 0xa0, 0x91, 0xd5, 0x6e, 0x10, 0x40,
                0x09, 0x16,
            ],
        );
    }

    /// SP 800-38C, example 4: 65 536 bytes of associated data, 00 01 .. ff over and over.
    #[test]
    fn associated_data_too_long_for_two_bytes_of_length() {
        let key = EncryptKey::new(&(0x40..0x50).collect::<Vec<u8>>());
        let nonce: [u8; 13] = std::array::from_fn(|at| 0x10 + at as u8);
        let aad: Vec<u8> = (0..=u8::MAX).cycle().take(65_536).collect();
        let plain: Vec<u8> = (0x20..0x40).collect();
        let (mut data, mut tag) = (plain.clone(), [0; 14]);
        seal(&key, &nonce, &aad, &mut data, &mut tag);
        let expected = [
            0x69, 0x91, 0x5d, 0xad, 0x1e, 0x84, 0xc6, 0x37, 0x6a, 0x68, 0xc2, 0x96, 0x7e, 0x4d, 0xab, 0x61,
            0x5a, 0xe0, 0xfd, 0x1f, 0xae, 0xc4, 0x4c, 0xc4, 0x84, 0x82, 0x85, 0x29, 0x46, 0x3c, 0xcf, 0x72,
            0xb4, 0xac, 0x6b, 0xec, 0x93, 0xe8, 0x59, 0x8e, 0x7f, 0x0d, 0xad, 0xbc, 0xea, 0x5b,
        ];
        assert_eq!([&data[..], &tag].concat(), expected);
        assert_eq!(open(&key, &nonce, &aad, &mut data, &tag), Ok(()));
        assert_eq!(data, plain);
    }

    /// Key C0.., packet 00 01 02 .., of which the first 8 bytes are only authenticated.
    fn check(nonce: [u8; 13], packet_len: u8, expected: &[u8]) {
        let key = EncryptKey::new(&(0xc0..0xd0).collect::<Vec<u8>>());
        let packet: Vec<u8> = (0..packet_len).collect();
        let (aad, plain) = packet.split_at(8);
        let (mut data, mut tag) = (plain.to_vec(), [0; 8]);
        seal(&key, &nonce, aad, &mut data, &mut tag);
        assert_eq!([&data[..], &tag].concat(), expected);
        assert_eq!(open(&key, &nonce, aad, &mut data, &tag), Ok(()));
        assert_eq!(data, plain);
        assert_eq!(open(&key, &nonce, &aad[1..], &mut data, &tag), Err(Rejected));
        assert!(data.iter().all(|&byte| byte == 0), "what is refused is not shown");
    }
}
