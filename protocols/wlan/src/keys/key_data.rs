//! The Key Data field of EAPOL-Key frames, encrypted. 802.11-2020 §12.7.2.

use keytoll_crypto_api::algorithm::{KeyWrap, StreamCipher};
use keytoll_crypto_api::{Crypto, Rejected, Secret, about};

use crate::suite::Mic;

// 802.11-2020 §12.7.2 g): the first 256 octets of the key stream are discarded.
const RC4_SKIPPED: usize = 256;
/// The type of the KDE that pads, of which only this octet is there.
const PADDING: u8 = 0xdd;

/// Encrypts key data as the frames with this MIC do: RC4 with HMAC-MD5, under EAPOL-Key IV and KEK, otherwise AES key wrap.
pub fn seal_key_data(mic: Mic, kek: &[u8], iv: &[u8; 16], data: &[u8], crypto: &mut dyn Crypto) -> Vec<u8> {
    about(crypto, "key data", |crypto| match mic {
        Mic::HmacMd5 => rc4(kek, iv, data, crypto),
        _ => crypto.wrap_key(wrap(kek), kek, &padded(data)),
    })
}

/// Decrypts key data; padding stays behind it.
///
/// # Errors
/// The integrity check of the key wrap is wrong, or the length none that wrapping gives.
pub fn open_key_data(
    mic: Mic,
    kek: &[u8],
    iv: &[u8; 16],
    sealed: &[u8],
    crypto: &mut dyn Crypto,
) -> Result<Secret, Rejected> {
    about(crypto, "key data", |crypto| match mic {
        Mic::HmacMd5 => Ok(Secret::new(rc4(kek, iv, sealed, crypto))),
        _ => crypto.unwrap_key(wrap(kek), kek, sealed),
    })
}

fn rc4(kek: &[u8], iv: &[u8; 16], data: &[u8], crypto: &mut dyn Crypto) -> Vec<u8> {
    let key = Secret::new([iv, kek].concat());
    let mut stream = [&[0; RC4_SKIPPED], data].concat();
    crypto.stream(StreamCipher::Rc4, &key, &mut stream);
    stream.split_off(RC4_SKIPPED)
}

fn wrap(kek: &[u8]) -> KeyWrap {
    if kek.len() == KeyWrap::Aes256.key_len() { KeyWrap::Aes256 } else { KeyWrap::Aes128 }
}

// 802.11-2020 §12.7.2: key data shorter than 16 octets or of no whole number of eights is padded with one octet dd, then zeros.
fn padded(data: &[u8]) -> Vec<u8> {
    let mut padded = data.to_vec();
    if !KeyWrap::fits(data.len()) {
        padded.push(PADDING);
        padded.resize(padded.len().next_multiple_of(KeyWrap::UNIT).max(2 * KeyWrap::UNIT), 0);
    }
    padded
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;

    fn opened(mic: Mic, data: &[u8]) -> Vec<u8> {
        let (crypto, kek, iv) = (&mut Real::default(), [5; 16], [6; 16]);
        let sealed = seal_key_data(mic, &kek, &iv, data, crypto);
        open_key_data(mic, &kek, &iv, &sealed, crypto).unwrap().to_vec()
    }

    #[test]
    fn what_is_sealed_opens_with_its_padding() {
        assert_eq!(opened(Mic::HmacMd5, b"data"), b"data");
        assert_eq!(opened(Mic::HmacSha1, b"data"), *b"data\xdd\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(opened(Mic::AesCmac, &[7; 16]), [7; 16]);
        assert_eq!(opened(Mic::AesCmac, &[7; 17]), [&[7; 17][..], &[0xdd, 0, 0, 0, 0, 0, 0]].concat());
    }

    /// The key stream after 256 octets, of a key with 256 bits: RFC 6229 §2.
    #[test]
    fn rc4_begins_behind_256_octets() {
        let key: Vec<u8> = (1..=32).collect();
        let iv = key[..16].try_into().unwrap();
        let sealed = seal_key_data(Mic::HmacMd5, &key[16..], iv, &[0; 16], &mut Real::default());
        assert_eq!(sealed, 0x02e1_e705_6b0f_6239_0049_6422_943e_97b6_u128.to_be_bytes());
    }

    #[test]
    fn a_key_of_32_octets_wraps_with_aes_256() {
        let (crypto, kek, iv) = (&mut Real::default(), [5; 32], [0; 16]);
        let sealed = seal_key_data(Mic::HmacSha384, &kek, &iv, &[7; 24], crypto);
        assert_eq!(crypto.unwrap_key(KeyWrap::Aes256, &kek, &sealed).unwrap()[..], [7; 24]);
    }

    #[test]
    fn what_was_not_wrapped_so_is_refused() {
        let (crypto, iv) = (&mut Real::default(), [0; 16]);
        let sealed = seal_key_data(Mic::HmacSha1, &[5; 16], &iv, &[7; 24], crypto);
        for (kek, sealed) in [([4; 16], &sealed[..]), ([5; 16], &sealed[8..]), ([5; 16], &[])] {
            assert_eq!(open_key_data(Mic::HmacSha1, &kek, &iv, sealed, crypto), Err(Rejected));
        }
    }
}
