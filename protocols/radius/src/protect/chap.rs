//! CHAP: a password proved by its hash with a challenge. RFC 2865 §2.2, §5.3 and §5.40, RFC 1994 §4.1.

use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::{Crypto, Secret};
use keytoll_net::wire::{DecodeError, Reader};

/// A user's answer to a challenge of CHAP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The CHAP identifier.
    pub identifier: u8,
    /// The hash.
    pub response: [u8; 16],
    /// What it answers.
    pub challenge: Vec<u8>,
}

impl Answer {
    /// Answers a challenge with a password.
    // RFC 1994 §4.1: the hash of identifier, secret and challenge.
    pub fn new(identifier: u8, password: &Secret, challenge: &[u8], crypto: &mut dyn Crypto) -> Self {
        let digest = crypto.hash(Hash::Md5, &[&[identifier], password, challenge]);
        let response = digest[..].try_into().expect("MD5 has 16 bytes");
        Self { identifier, response, challenge: challenge.to_vec() }
    }

    /// Whether this password was used.
    pub fn proves(&self, password: &Secret, crypto: &mut dyn Crypto) -> bool {
        let expected = Self::new(self.identifier, password, &self.challenge, crypto);
        Secret::from(&expected.response[..]) == Secret::from(&self.response[..])
    }

    /// CHAP-Password.
    // RFC 2865 §5.3:  Ident(1) String(16)
    pub(crate) fn value(&self) -> Vec<u8> {
        [&[self.identifier][..], &self.response].concat()
    }

    /// Reads CHAP-Password.
    pub(crate) fn read(mut value: Reader<'_>, challenge: &[u8]) -> Result<Self, DecodeError> {
        let (identifier, response) = (value.u8("CHAP Ident")?, value.array("CHAP String")?);
        value.end("CHAP-Password")?;
        Ok(Self { identifier, response, challenge: challenge.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keytoll_crypto::Real;

    #[test]
    fn the_hash_is_over_identifier_password_and_challenge() {
        let (crypto, password) = (&mut Real::default(), Secret::from(&b"hello"[..]));
        let answer = Answer::new(7, &password, &[1, 2, 3], crypto);
        assert_eq!(&answer.response[..], &crypto.hash(Hash::Md5, &[b"\x07hello\x01\x02\x03"])[..]);
        assert!(answer.proves(&password, crypto));
        assert!(!answer.proves(&Secret::from(&b"hullo"[..]), crypto));
        assert_eq!(Answer::read(Reader::new(&answer.value()), &[1, 2, 3]), Ok(answer.clone()));
        assert!(Answer::read(Reader::new(&answer.value()[..16]), &[]).is_err());
        assert!(Answer::read(Reader::new(&[0; 18]), &[]).is_err());
    }
}
