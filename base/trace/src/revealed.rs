//! Keys that engines tell when somebody asks, so that a capture can be read: what Wireshark's key tables hold.
//! RFC 7296 §2.14 and §2.17 for the keys of IKE and its children, RFC 2409 appendix B for those of IKEv1, draft-ietf-tls-keylogfile for those of TLS.
//!
//! Nobody asks unless the user wants a capture with its keys; [`crate::Trace::wants_keys`] says so.

use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;

use zeroize::Zeroizing;

/// A key that was told: wiped when dropped, and never printed by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Zeroizing<Box<[u8]>>);

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }
}

impl Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({} bytes)", self.0.len())
    }
}

/// How one direction of an SA is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealing {
    /// The encryption key, salt last.
    pub encryption_key: Key,
    /// The integrity key; empty with an AEAD.
    pub integrity_key: Key,
}

/// The algorithms of an SA, by the names that suites give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Algorithms {
    /// `aes128gcm16`, `aes256`, …
    pub encryption: &'static str,
    /// `sha256`, …; none with an AEAD.
    pub integrity: Option<&'static str>,
}

/// `aes256-sha256`
impl fmt::Display for Algorithms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.encryption)?;
        self.integrity.map_or(Ok(()), |integrity| write!(f, "-{integrity}"))
    }
}

/// Keys of one SA, TLS session or association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revealed {
    /// An IKE SA, first or rekeyed.
    IkeSa {
        /// SPIi.
        spi_i: u64,
        /// SPIr.
        spi_r: u64,
        /// What protects it.
        algorithms: Algorithms,
        /// SK_ei and SK_ai.
        initiator: Sealing,
        /// SK_er and SK_ar.
        responder: Sealing,
    },
    /// An ISAKMP SA, IKEv1.
    IsakmpSa {
        /// CKY-I, by which it is found.
        cookie_i: u64,
        /// CKY-R.
        cookie_r: u64,
        /// `aes128`, `3des`, …
        encryption: &'static str,
        /// What encrypts both directions (RFC 2409 appendix B).
        key: Key,
    },
    /// One direction of a child SA.
    ChildSa {
        /// The receiver's SPI.
        spi: u32,
        /// The sender's outer address.
        source: IpAddr,
        /// The receiver's outer address.
        destination: IpAddr,
        /// What protects it.
        algorithms: Algorithms,
        /// Its keys.
        keys: Sealing,
    },
    /// A key of a wireless LAN.
    LanKey {
        /// What it is, in the words of Wireshark's table `80211_keys`: `wpa-psk` is a PMK, `wep` a key of WEP.
        kind: &'static str,
        /// The key.
        key: Key,
    },
    /// A secret of a TLS session, a line of an NSS key log.
    TlsSecret {
        /// `CLIENT_RANDOM`, `CLIENT_HANDSHAKE_TRAFFIC_SECRET`, …
        label: Box<str>,
        /// By which the session is found.
        client_random: [u8; 32],
        /// The secret.
        secret: Key,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_tells_how_long_a_key_is_and_no_more() {
        let revealed = Revealed::TlsSecret {
            label: "CLIENT_RANDOM".into(),
            client_random: [1; 32],
            secret: Key::from(&[0xab; 48][..]),
        };
        let text = format!("{revealed:?}");
        assert!(text.contains("Key(48 bytes)") && !text.contains("171"), "{text}");
    }
}
