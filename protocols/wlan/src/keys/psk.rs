//! A PSK from a passphrase: PBKDF2 with HMAC-SHA-1 (RFC 8018 §5.2). 802.11-2020 J.4.1.
//!
//! HMAC with one key is two compressions per round if the pads are hashed beforehand, and each of the 8192 rounds hashes one
//! block only. So this counts in single compressions of SHA-1, which is what it costs.

use keytoll_crypto_api::{Crypto, Secret, about};

/// 802.11-2020 J.4.1: 4096 iterations.
const ITERATIONS: usize = 4096;
/// Bytes of a PSK.
const LEN: usize = 32;
/// Bytes of an SSID, 802.11-2020 §9.4.2.2.
const SSID_LEN_MAX: usize = 32;
/// FIPS 180-4 §5.3.1.
const INITIAL: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

type State = [u32; 5];
type Block = [u8; 64];

/// Why no PSK comes of a passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPassphrase {
    /// Too short or too long.
    #[error("a passphrase has 8 to 63 characters, not {0}")]
    Length(usize),
    /// A character that one cannot type everywhere.
    #[error("a passphrase consists of the characters from the space to `~`, not {0:?}")]
    Character(char),
    /// The SSID is too long.
    #[error("an SSID has at most 32 bytes, not {0}")]
    Ssid(usize),
}

/// The PSK that a passphrase gives in the network of this SSID.
///
/// # Errors
/// The passphrase or the SSID is none of 802.11.
pub fn psk(passphrase: &str, ssid: &[u8], crypto: &mut dyn Crypto) -> Result<Secret, BadPassphrase> {
    check(passphrase)?;
    if ssid.len() > SSID_LEN_MAX {
        return Err(BadPassphrase::Ssid(ssid.len()));
    }
    Ok(about(crypto, "PSK", |crypto| stretched(passphrase.as_bytes(), ssid, crypto)))
}

// 802.11-2020 J.4.1: 8 to 63 characters of ASCII, each of 32 to 126.
fn check(passphrase: &str) -> Result<(), BadPassphrase> {
    if let Some(strange) = passphrase.chars().find(|character| !(' '..='~').contains(character)) {
        return Err(BadPassphrase::Character(strange));
    }
    let len = passphrase.len();
    if (8..=63).contains(&len) { Ok(()) } else { Err(BadPassphrase::Length(len)) }
}

/// Two blocks of PBKDF2, cut.
fn stretched(passphrase: &[u8], ssid: &[u8], crypto: &mut dyn Crypto) -> Secret {
    let pads = Pads::new(passphrase, crypto);
    let mut key = Vec::with_capacity(2 * size_of::<State>());
    for number in [1_u32, 2] {
        let mut last = pads.hmac(&[ssid, &number.to_be_bytes()].concat(), crypto);
        let mut sum = last;
        for _ in 1..ITERATIONS {
            last = pads.hmac(&octets(last), crypto);
            sum.iter_mut().zip(last).for_each(|(sum, word)| *sum ^= word);
        }
        key.extend_from_slice(&octets(sum));
    }
    key.truncate(LEN);
    Secret::new(key)
}

/// HMAC's two hashes after their first block, which depends on the key alone.
struct Pads {
    inner: State,
    outer: State,
}

impl Pads {
    /// Of a key that fits into a block.
    fn new(key: &[u8], crypto: &mut dyn Crypto) -> Self {
        let mut padded = |bits: u8| {
            let (mut state, mut block) = (INITIAL, [bits; 64]);
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            crypto.sha1_compress(&mut state, &block);
            state
        };
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// HMAC of a message that fits into a block with its padding: 55 bytes or less.
    fn hmac(&self, message: &[u8], crypto: &mut dyn Crypto) -> State {
        let (mut inner, mut outer) = (self.inner, self.outer);
        crypto.sha1_compress(&mut inner, &last_block(message));
        crypto.sha1_compress(&mut outer, &last_block(&octets(inner)));
        outer
    }
}

/// FIPS 180-4 §5.1.1: the end of a message after one whole block.
fn last_block(message: &[u8]) -> Block {
    let (mut block, bits) = ([0; 64], 8 * (64 + message.len() as u64));
    block[..message.len()].copy_from_slice(message);
    block[message.len()] = 0x80;
    block[56..].copy_from_slice(&bits.to_be_bytes());
    block
}

fn octets(state: State) -> [u8; 20] {
    let mut octets = [0; 20];
    octets.chunks_mut(4).zip(state).for_each(|(four, word)| four.copy_from_slice(&word.to_be_bytes()));
    octets
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;
    use crate::keys::tests::hex;

    fn of(passphrase: &str, ssid: &[u8]) -> Result<Secret, BadPassphrase> {
        psk(passphrase, ssid, &mut Real::default())
    }

    /// 802.11-2020 J.4.2, as in hostap's crypto_module_tests.c.
    #[test]
    fn examples_of_the_annex() {
        for (passphrase, ssid, expected) in [
            ("password", "IEEE", "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e"),
            (
                "ThisIsAPassword",
                "ThisIsASSID",
                "0dc0d6eb90555ed6419756b9a15ec3e3209b63df707dd508d14581f8982721af",
            ),
            (
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ",
                "becb93866bb8c3832cb777c2f559807c8c59afcb6eae734885001300a981cc62",
            ),
        ] {
            assert_eq!(of(passphrase, ssid.as_bytes()).unwrap()[..], hex(expected), "{passphrase}");
        }
    }

    #[test]
    fn what_is_no_passphrase_says_why() {
        let error = |passphrase: &str| of(passphrase, b"IEEE").unwrap_err().to_string();
        assert_eq!(error("1234567"), "a passphrase has 8 to 63 characters, not 7");
        assert_eq!(error(&"x".repeat(64)), "a passphrase has 8 to 63 characters, not 64");
        assert_eq!(
            error("p\u{e4}ssw\u{f6}rd"),
            "a passphrase consists of the characters from the space to `~`, not 'ä'"
        );
        assert_eq!(
            of("password", &[b'Z'; 33]).unwrap_err().to_string(),
            "an SSID has at most 32 bytes, not 33"
        );
        assert!(of(&"~".repeat(63), &[]).is_ok());
    }
}
