//! Suites in strongSwan's proposal strings: `aes128gcm16-prfsha256-x25519`, `3des-md5-modp1024`.

use std::fmt;

use keytoll_trace::revealed::Algorithms;

use crate::algorithm::{Encryption, Group, Integrity, Prf};

/// A combination of algorithms for an IKE SA or, without a PRF, for an IPsec SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Suite {
    /// Encryption.
    pub encryption: Encryption,
    /// Integrity; none with an AEAD.
    pub integrity: Option<Integrity>,
    /// Pseudo-random function; none in IPsec suites.
    pub prf: Option<Prf>,
    /// Key agreement; in IPsec suites only with perfect forward secrecy.
    pub group: Option<Group>,
    /// Extended sequence numbers (IPsec suites).
    pub esn: bool,
}

impl From<&Suite> for Algorithms {
    fn from(suite: &Suite) -> Self {
        Self { encryption: suite.encryption.name(), integrity: suite.integrity.map(Integrity::name) }
    }
}

/// Why a string is not a suite.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// A word that names no algorithm.
    #[error("unknown algorithm `{0}`")]
    Unknown(String),
    /// Two algorithms of the same kind.
    #[error("a second {0}: `{1}`")]
    Second(&'static str, String),
    /// A required algorithm is missing.
    #[error("no {0}")]
    No(&'static str),
    /// An algorithm that IKE's own messages may not use.
    #[error("`{0}` does not encrypt; it is for ESP only")]
    NotForIke(Encryption),
    /// An AEAD together with a separate integrity algorithm.
    #[error("`{0}` protects integrity itself, `{1}` must go")]
    Superfluous(Encryption, Integrity),
}

impl Suite {
    /// Parses a suite for an IKE SA. As in strongSwan, a missing PRF is that of the integrity algorithm's hash.
    ///
    /// # Errors
    /// The text is no suite, or not one for IKE.
    pub fn ike(text: &str) -> Result<Self, SuiteError> {
        let mut suite = Self::parse(text)?;
        suite.group.ok_or(SuiteError::No("key exchange group"))?;
        suite.prf = suite.prf.or_else(|| suite.integrity.map(prf_of));
        suite.prf.ok_or(SuiteError::No("pseudo-random function"))?;
        // RFC 4543 §5.4: a suite without confidentiality is for ESP, never for IKE.
        if suite.encryption.is_gmac() {
            return Err(SuiteError::NotForIke(suite.encryption));
        }
        Ok(suite)
    }

    /// Parses a suite for ESP; a group in it asks for perfect forward secrecy.
    ///
    /// # Errors
    /// The text is no suite.
    pub fn esp(text: &str) -> Result<Self, SuiteError> {
        Ok(Self { prf: None, ..Self::parse(text)? })
    }

    fn parse(text: &str) -> Result<Self, SuiteError> {
        let mut words = text.split('-');
        let first = words.next().unwrap_or_default();
        let encryption = Encryption::named(first).ok_or_else(|| SuiteError::Unknown(first.to_owned()))?;
        let mut suite = Self { encryption, integrity: None, prf: None, group: None, esn: false };
        words.try_for_each(|word| suite.add(word))?;
        match suite.integrity {
            Some(integrity) if encryption.is_aead() => Err(SuiteError::Superfluous(encryption, integrity)),
            None if !encryption.is_aead() => Err(SuiteError::No("integrity algorithm")),
            _ => Ok(suite),
        }
    }

    fn add(&mut self, word: &str) -> Result<(), SuiteError> {
        let fresh = if let Some(integrity) = Integrity::named(word) {
            self.integrity.replace(integrity).map(|_| "integrity algorithm")
        } else if let Some(prf) = Prf::named(word) {
            self.prf.replace(prf).map(|_| "pseudo-random function")
        } else if let Some(group) = Group::named(alias(word)) {
            self.group.replace(group).map(|_| "key exchange group")
        } else if word == "esn" {
            self.esn = true;
            None
        } else {
            return Err(SuiteError::Unknown(word.to_owned()));
        };
        fresh.map_or(Ok(()), |kind| Err(SuiteError::Second(kind, word.to_owned())))
    }
}

/// strongSwan's second name for X25519.
fn alias(word: &str) -> &str {
    if word == "curve25519" { "x25519" } else { word }
}

/// The PRF built on the same primitive as an integrity algorithm.
const fn prf_of(integrity: Integrity) -> Prf {
    match integrity {
        Integrity::HmacMd5_96 => Prf::HmacMd5,
        Integrity::HmacSha1_96 => Prf::HmacSha1,
        Integrity::HmacSha256_128 => Prf::HmacSha256,
        Integrity::HmacSha384_192 => Prf::HmacSha384,
        Integrity::HmacSha512_256 => Prf::HmacSha512,
        Integrity::AesXcbc96 => Prf::AesXcbc128,
        Integrity::AesCmac96 => Prf::AesCmac128,
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.encryption.name())?;
        let words = [
            self.integrity.map(Integrity::name),
            self.prf.map(Prf::name),
            self.group.map(Group::name),
            self.esn.then_some("esn"),
        ];
        words.into_iter().flatten().try_for_each(|word| write!(f, "-{word}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_read_and_print() {
        for text in
            ["aes128gcm16-prfsha256-x25519", "3des-md5-prfmd5-modp1024", "aes256-sha512-prfsha256-ecp384"]
        {
            assert_eq!(Suite::ike(text).unwrap().to_string(), text);
        }
        assert_eq!(Suite::ike("3des-md5-modp1024").unwrap().prf, Some(Prf::HmacMd5));
        assert_eq!(Suite::ike("aes128-sha256-curve25519").unwrap().group, Some(Group::X25519));
        assert_eq!(Suite::esp("aes128gcm16-esn").unwrap().to_string(), "aes128gcm16-esn");
    }

    #[test]
    fn what_is_no_suite_says_why() {
        let error = |text: &str| Suite::ike(text).unwrap_err().to_string();
        assert_eq!(error("aes129-sha256-x25519"), "unknown algorithm `aes129`");
        assert_eq!(error("aes128-x25519"), "no integrity algorithm");
        assert_eq!(error("aes128gcm16-x25519"), "no pseudo-random function");
        assert_eq!(error("aes128-sha256"), "no key exchange group");
        assert_eq!(error("aes128-sha256-sha1-x25519"), "a second integrity algorithm: `sha1`");
        assert_eq!(error("aes128gmac-prfsha256-x25519"), "`aes128gmac` does not encrypt; it is for ESP only");
        assert_eq!(
            error("aes128gcm16-sha1-x25519"),
            "`aes128gcm16` protects integrity itself, `sha1` must go"
        );
    }
}
