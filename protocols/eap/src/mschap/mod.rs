//! MS-CHAP-V2's computations: RFC 2759 §8 (responses), RFC 3079 §3 (keys), for EAP-MSCHAPv2, TTLS-MSCHAPv2 and PEAP.
//!
//! Everything here is broken by today's standards (DES, MD4, and a password hash as good as the password). It is measured
//! because it is deployed, inside tunnels.

pub mod message;

use keytoll_crypto_api::algorithm::{BlockCipher, Hash};
use keytoll_crypto_api::{Crypto, Digest, Secret};
use zeroize::Zeroizing;

/// Length of a challenge of either side, in bytes.
pub const CHALLENGE_LEN: usize = 16;
/// Bytes of an NT-Response.
pub const RESPONSE_LEN: usize = 24;

/// The values that both sides have sent.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// The server's challenge.
    pub authenticator_challenge: &'a [u8; CHALLENGE_LEN],
    /// The peer's challenge.
    pub peer_challenge: &'a [u8; CHALLENGE_LEN],
    /// The user's name; a Windows domain prefix is ignored.
    pub user: &'a [u8],
}

/// The MD4 hash of a password, which is all that either side needs.
#[derive(Debug)]
pub struct PasswordHash(Digest);

impl PasswordHash {
    /// RFC 2759 §8.3: MD4 over UTF-16, little-endian. Invalid UTF-8 counts as U+FFFD.
    pub fn new(password: &[u8], crypto: &mut dyn Crypto) -> Self {
        let text = Zeroizing::new(String::from_utf8_lossy(password).into_owned());
        // Reserved beforehand, so that growing leaves no copy behind: UTF-16 has at most one unit per byte.
        let mut wide = Zeroizing::new(Vec::with_capacity(2 * text.len()));
        text.encode_utf16().for_each(|unit| wide.extend_from_slice(&unit.to_le_bytes()));
        Self(crypto.hash(Hash::Md4, &[&wide]))
    }

    /// RFC 2759 §8.1: the peer's proof of its password.
    pub fn nt_response(&self, exchange: &Exchange<'_>, crypto: &mut dyn Crypto) -> [u8; RESPONSE_LEN] {
        let challenge = exchange.challenge(crypto);
        let mut padded = Zeroizing::new([0; 21]);
        padded[..self.0.len()].copy_from_slice(&self.0);
        let mut response = [0; RESPONSE_LEN];
        // RFC 2759 §8.5: the challenge under three DES keys, taken from the hash and five zeros.
        for (block, key) in response.chunks_mut(8).zip(padded.as_chunks::<7>().0) {
            block.copy_from_slice(&challenge[..8]);
            crypto.block(BlockCipher::Des, &*with_parity(key), block);
        }
        response
    }

    /// Whether this is the response of a peer that knows the password.
    pub fn accepts(&self, exchange: &Exchange<'_>, response: &[u8], crypto: &mut dyn Crypto) -> bool {
        Secret::from(&self.nt_response(exchange, crypto)[..]) == Secret::from(response)
    }

    /// RFC 2759 §8.7: the server's proof that it knows the password, too.
    pub fn authenticator_response(
        &self,
        exchange: &Exchange<'_>,
        nt_response: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Digest {
        let twice = self.twice(crypto);
        let first = crypto.hash(Hash::Sha1, &[&twice, nt_response, SIGNING]);
        let challenge = exchange.challenge(crypto);
        crypto.hash(Hash::Sha1, &[&first, &challenge[..8], ITERATION])
    }

    /// The master session key: the server's receive key and its send key (RFC 3079 §3.4), 16 bytes each, and zeros up
    /// to the 64 bytes of RFC 3748 §7.10, as in FreeRADIUS, hostapd and strongSwan.
    pub fn msk(&self, nt_response: &[u8], crypto: &mut dyn Crypto) -> Secret {
        let (receive, send) = self.session_keys(nt_response, crypto);
        let mut msk = vec![0; 64];
        msk[..16].copy_from_slice(&receive);
        msk[16..32].copy_from_slice(&send);
        Secret::new(msk)
    }

    /// The server's receive key and its send key, in this order (RFC 3079 §3.4), with 128 bits each.
    pub fn session_keys(&self, nt_response: &[u8], crypto: &mut dyn Crypto) -> (Digest, Digest) {
        let master = self.master_key(nt_response, crypto);
        let mut start = |magic: &[u8]| {
            let mut key = crypto.hash(Hash::Sha1, &[&master, &[0; 40], magic, &[0xf2; 40]]);
            key.truncate(16);
            key
        };
        (start(SERVER_RECEIVES), start(SERVER_SENDS))
    }

    fn master_key(&self, nt_response: &[u8], crypto: &mut dyn Crypto) -> Digest {
        let twice = self.twice(crypto);
        let mut master = crypto.hash(Hash::Sha1, &[&twice, nt_response, MASTER]);
        master.truncate(16);
        master
    }

    fn twice(&self, crypto: &mut dyn Crypto) -> Digest {
        crypto.hash(Hash::Md4, &[&self.0])
    }
}

impl Exchange<'_> {
    /// RFC 2759 §8.2: the first eight bytes count.
    fn challenge(&self, crypto: &mut dyn Crypto) -> Digest {
        let user = without_domain(self.user);
        crypto.hash(Hash::Sha1, &[self.peer_challenge, self.authenticator_challenge, user])
    }
}

/// RFC 2759 §4: the name is hashed without a Windows domain prefix.
pub fn without_domain(user: &[u8]) -> &[u8] {
    user.iter().position(|&byte| byte == b'\\').map_or(user, |backslash| &user[backslash + 1..])
}

/// RFC 2759 §8.6: each byte of a DES key has seven bits of key and one parity bit, which is not checked.
fn with_parity(key: &[u8; 7]) -> Zeroizing<[u8; 8]> {
    let bits = key.iter().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
    let mut wide = Zeroizing::new([0; 8]);
    for (place, byte) in wide.iter_mut().enumerate() {
        *byte = (bits >> (49 - 7 * place)).to_le_bytes()[0] << 1;
    }
    wide
}

// RFC 2759 §8.7: the constants that are hashed with the secrets.
const SIGNING: &[u8] = b"Magic server to client signing constant";
const ITERATION: &[u8] = b"Pad to make it do more than one iteration";

// RFC 3079 §3.4: the constants that distinguish the keys of a password.
const MASTER: &[u8] = b"This is the MPPE Master Key";
const SERVER_RECEIVES: &[u8] =
    b"On the client side, this is the send key; on the server side, it is the receive key.";
const SERVER_SENDS: &[u8] =
    b"On the client side, this is the receive key; on the server side, it is the send key.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use keytoll_crypto::Real;

    const NT_RESPONSE: &str = "82309ecd8d708b5ea08faa3981cd83544233114a3d85d6df";

    /// RFC 2759 §9.2, RFC 3079 §3.5.
    fn example(user: &[u8], check: impl FnOnce(&PasswordHash, &Exchange<'_>, &mut Real)) {
        let mut crypto = Real::default();
        let exchange = Exchange {
            authenticator_challenge: &hex("5b5d7c7d7b3f2f3e3c2c602132262628").try_into().unwrap(),
            peer_challenge: &hex("21402324255e262a28295f2b3a337c7e").try_into().unwrap(),
            user,
        };
        let hash = PasswordHash::new(b"clientPass", &mut crypto);
        check(&hash, &exchange, &mut crypto);
    }

    #[test]
    fn the_example_of_rfc_2759_comes_out() {
        example(b"User", |hash, exchange, crypto| {
            assert_eq!(exchange.challenge(crypto)[..8], hex("d02e4386bce91226"));
            assert_eq!(hash.0[..], hex("44ebba8d5312b8d611474411f56989ae"));
            assert_eq!(hash.twice(crypto)[..], hex("41c00c584bd2d91c4017a2a12fa59f3f"));
            assert_eq!(hash.nt_response(exchange, crypto)[..], hex(NT_RESPONSE));
            let ours = hash.authenticator_response(exchange, &hex(NT_RESPONSE), crypto);
            assert_eq!(ours[..], hex("407a5589115fd0d6209f510fe9c04566932cda56"));
        });
    }

    #[test]
    fn the_keys_of_rfc_3079_come_out() {
        example(b"User", |hash, _, crypto| {
            let response = hex(NT_RESPONSE);
            assert_eq!(hash.master_key(&response, crypto)[..], hex("fdece3717a8c838cb388e527ae3cdd31"));
            let (receive, send) = hash.session_keys(&response, crypto);
            assert_eq!(send[..], hex("8b7cdc149b993a1ba118cb153f56dccb"), "SendStartKey128");
            let msk = hash.msk(&response, crypto);
            assert_eq!(msk[..], [&receive[..], &send, &[0; 32]].concat());
        });
    }

    #[test]
    fn a_domain_before_the_name_is_ignored() {
        assert_eq!(without_domain(b"LAB\\User"), b"User");
        assert_eq!(without_domain(b"User@lab"), b"User@lab");
        example(b"LAB\\User", |hash, exchange, crypto| {
            assert!(hash.accepts(exchange, &hex(NT_RESPONSE), crypto));
        });
    }

    #[test]
    fn every_bit_of_the_response_counts() {
        example(b"User", |hash, exchange, crypto| {
            for bit in 0..8 * RESPONSE_LEN {
                let mut response = hex(NT_RESPONSE);
                response[bit / 8] ^= 1 << (bit % 8);
                assert!(!hash.accepts(exchange, &response, crypto), "bit {bit}");
            }
        });
    }

    #[test]
    fn key_bits_move_in_front_of_the_parity() {
        assert_eq!(*with_parity(&[0xff; 7]), [0xfe; 8]);
        assert_eq!(*with_parity(&[0x80, 0, 0, 0, 0, 0, 1]), [0x80, 0, 0, 0, 0, 0, 0, 2]);
        // RFC 2759 §9.3: the first two keys of the password "MyPw"; there with odd parity, here without.
        for (raw, odd) in [("fc156af7edcd6c", "fd0b5b5e7f6e34d9"), ("0edde3337d427f", "0e6e796737ea08fe")] {
            let bare: Vec<u8> = hex(odd).iter().map(|byte| byte & 0xfe).collect();
            assert_eq!(with_parity(&hex(raw).try_into().unwrap())[..], bare);
        }
    }
}
