//! The Key Information field of the RSN key descriptor, 802.11-2020 figure 12-34.

use crate::bits::bits;
use crate::suite::{Akm, Cipher};

/// Bits about a key frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyInformation(pub u16);

bits!(KeyInformation);

impl KeyInformation {
    /// Key Type: the frame belongs to a 4-way handshake instead of a group key handshake.
    pub const PAIRWISE: Self = Self(1 << 3);
    /// Install: the supplicant installs the pairwise key.
    pub const INSTALL: Self = Self(1 << 6);
    /// Key Ack: the authenticator awaits an answer.
    pub const ACK: Self = Self(1 << 7);
    /// Key MIC: there is a MIC.
    pub const MIC: Self = Self(1 << 8);
    /// Secure: the initial key exchange is complete.
    pub const SECURE: Self = Self(1 << 9);
    /// Error: the supplicant reports a MIC failure of TKIP.
    pub const ERROR: Self = Self(1 << 10);
    /// Request: the supplicant asks for a new handshake.
    pub const REQUEST: Self = Self(1 << 11);
    /// Encrypted Key Data.
    pub const ENCRYPTED: Self = Self(1 << 12);
    /// SMK Message, of a handshake between two stations.
    pub const SMK: Self = Self(1 << 13);

    /// HMAC-MD5 and RC4.
    pub const VERSION_MD5_RC4: u8 = 1;
    /// HMAC-SHA-1 and AES key wrap.
    pub const VERSION_SHA1_AES: u8 = 2;
    /// AES-CMAC and AES key wrap.
    pub const VERSION_CMAC_AES: u8 = 3;
    /// What the AKM says.
    pub const VERSION_OF_AKM: u8 = 0;

    const VERSION_BITS: u16 = 0b111;
    const KEY_INDEX_AT: u16 = 4;
    const KEY_INDEX_BITS: u16 = 0b11 << Self::KEY_INDEX_AT;

    /// No bits but the Key Descriptor Version.
    pub const fn versioned(version: u8) -> Self {
        Self(version as u16 & Self::VERSION_BITS)
    }

    /// Key Descriptor Version: how MIC and key data are protected.
    pub const fn version(self) -> u8 {
        (self.0 & Self::VERSION_BITS) as u8
    }

    /// Whether any of these bits is set.
    pub const fn has_any(self, bits: Self) -> bool {
        self.0 & bits.0 != 0
    }

    /// WPA's Key Index, the index of a group key; the bits are reserved in RSN.
    pub const fn wpa_key_index(self) -> u8 {
        ((self.0 & Self::KEY_INDEX_BITS) >> Self::KEY_INDEX_AT) as u8
    }

    /// The same with WPA's Key Index.
    #[must_use]
    pub const fn with_wpa_key_index(self, index: u8) -> Self {
        Self(self.0 & !Self::KEY_INDEX_BITS | (index as u16) << Self::KEY_INDEX_AT & Self::KEY_INDEX_BITS)
    }
}

/// The Key Descriptor Version that an AKM and a pairwise cipher ask for.
// 802.11-2020 §12.7.2 b) 1): 1 and 2 are of the two oldest AKMs, by the cipher; 3 of those that SHA-256 and fast transition came
// with; all others say themselves what they use.
pub const fn descriptor_version(akm: Akm, pairwise: Cipher) -> u8 {
    match akm {
        Akm::Dot1x | Akm::Psk => match pairwise {
            Cipher::Wep40 | Cipher::Wep104 | Cipher::Tkip => KeyInformation::VERSION_MD5_RC4,
            _ => KeyInformation::VERSION_SHA1_AES,
        },
        Akm::FtDot1x | Akm::FtPsk | Akm::Dot1xSha256 | Akm::PskSha256 => KeyInformation::VERSION_CMAC_AES,
        _ => KeyInformation::VERSION_OF_AKM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_message_of_a_ccmp_handshake_is_13ca() {
        use KeyInformation as I;
        let bits = [I::PAIRWISE, I::INSTALL, I::ACK, I::MIC, I::SECURE, I::ENCRYPTED];
        let third = bits.into_iter().fold(I::versioned(I::VERSION_SHA1_AES), I::with);
        assert_eq!(third, I(0x13ca));
        assert_eq!(
            (third.version(), third.has(I::ACK.with(I::MIC)), third.has_any(I::ERROR)),
            (2, true, false)
        );
    }

    #[test]
    fn wpa_has_the_index_of_a_group_key_in_it() {
        let group = KeyInformation(0x0391).with_wpa_key_index(2);
        assert_eq!((group, group.wpa_key_index()), (KeyInformation(0x03a1), 2));
    }

    #[test]
    fn versions_follow_akm_and_cipher() {
        assert_eq!(descriptor_version(Akm::Psk, Cipher::Tkip), 1);
        assert_eq!(descriptor_version(Akm::Psk, Cipher::Ccmp128), 2);
        assert_eq!(descriptor_version(Akm::FtPsk, Cipher::Ccmp128), 3);
        assert_eq!(descriptor_version(Akm::Sae, Cipher::Ccmp128), 0);
    }
}
