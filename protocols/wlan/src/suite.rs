//! What an RSNE negotiates: ciphers and authentication and key management (AKM) suites, with the lengths in bytes of the keys
//! that each needs. 802.11-2020 §9.4.2.24, tables 9-149 and 9-151; §12.7.3, table 12-10.

/// The organization of the standard's own suites, 00-0F-AC.
pub const IEEE_OUI: [u8; 3] = [0x00, 0x0f, 0xac];
/// The organization of WPA's suites, which came before the standard: 00-50-F2.
pub const WPA_OUI: [u8; 3] = [0x00, 0x50, 0xf2];

/// A cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cipher {
    /// WEP with a key of 40 bits.
    Wep40,
    /// WEP with a key of 104 bits.
    Wep104,
    /// TKIP.
    Tkip,
    /// CCMP-128.
    Ccmp128,
    /// CCMP-256.
    Ccmp256,
    /// GCMP-128.
    Gcmp128,
    /// GCMP-256.
    Gcmp256,
    /// BIP-CMAC-128, of management frames.
    BipCmac128,
    /// BIP-CMAC-256.
    BipCmac256,
    /// BIP-GMAC-128.
    BipGmac128,
    /// BIP-GMAC-256.
    BipGmac256,
}

impl Cipher {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Wep40,
        Self::Wep104,
        Self::Tkip,
        Self::Ccmp128,
        Self::Ccmp256,
        Self::Gcmp128,
        Self::Gcmp256,
        Self::BipCmac128,
        Self::BipCmac256,
        Self::BipGmac128,
        Self::BipGmac256,
    ];

    /// The suite type under [`IEEE_OUI`]; WPA's first five are the same.
    pub const fn number(self) -> u8 {
        match self {
            Self::Wep40 => 1,
            Self::Tkip => 2,
            Self::Ccmp128 => 4,
            Self::Wep104 => 5,
            Self::BipCmac128 => 6,
            Self::Gcmp128 => 8,
            Self::Gcmp256 => 9,
            Self::Ccmp256 => 10,
            Self::BipGmac128 => 11,
            Self::BipGmac256 => 12,
            Self::BipCmac256 => 13,
        }
    }

    /// The cipher of this suite type.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|cipher| cipher.number() == number)
    }

    /// Bytes of a temporal key; those of TKIP contain two Michael keys.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Wep40 => 5,
            Self::Wep104 => 13,
            Self::Ccmp128 | Self::Gcmp128 | Self::BipCmac128 | Self::BipGmac128 => 16,
            Self::Tkip | Self::Ccmp256 | Self::Gcmp256 | Self::BipCmac256 | Self::BipGmac256 => 32,
        }
    }

    /// Whether it protects group-addressed management frames instead of data.
    pub const fn protects_management(self) -> bool {
        matches!(self, Self::BipCmac128 | Self::BipCmac256 | Self::BipGmac128 | Self::BipGmac256)
    }
}

/// An authentication and key management suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Akm {
    /// 802.1X.
    Dot1x,
    /// A shared key.
    Psk,
    /// Fast transition with 802.1X.
    FtDot1x,
    /// Fast transition with a shared key.
    FtPsk,
    /// 802.1X with SHA-256.
    Dot1xSha256,
    /// A shared key with SHA-256.
    PskSha256,
    /// Simultaneous authentication of equals.
    Sae,
    /// Fast transition with SAE.
    FtSae,
    /// 802.1X, Suite B.
    SuiteB,
    /// 802.1X, Suite B of 192 bits (WPA3-Enterprise's 192-bit mode).
    SuiteB192,
    /// Fast transition with 802.1X and SHA-384.
    FtDot1xSha384,
    /// Opportunistic wireless encryption (RFC 8110).
    Owe,
}

/// How an AKM computes the MIC of an EAPOL-Key frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mic {
    /// HMAC-MD5, with WPA's TKIP.
    HmacMd5,
    /// HMAC-SHA-1-128.
    HmacSha1,
    /// AES-128-CMAC.
    AesCmac,
    /// HMAC-SHA-256, cut to 128 bits.
    HmacSha256,
    /// HMAC-SHA-384, cut to 192 bits.
    HmacSha384,
}

/// The function that derives keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Derivation {
    /// The PRF of §12.7.1.2, which is HMAC-SHA-1.
    Sha1,
    /// The KDF of §12.7.1.7.2 with SHA-256.
    Sha256,
    /// The same with SHA-384.
    Sha384,
}

impl Akm {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Dot1x,
        Self::Psk,
        Self::FtDot1x,
        Self::FtPsk,
        Self::Dot1xSha256,
        Self::PskSha256,
        Self::Sae,
        Self::FtSae,
        Self::SuiteB,
        Self::SuiteB192,
        Self::FtDot1xSha384,
        Self::Owe,
    ];

    /// The suite type under [`IEEE_OUI`]; WPA's first two are the same.
    pub const fn number(self) -> u8 {
        match self {
            Self::Dot1x => 1,
            Self::Psk => 2,
            Self::FtDot1x => 3,
            Self::FtPsk => 4,
            Self::Dot1xSha256 => 5,
            Self::PskSha256 => 6,
            Self::Sae => 8,
            Self::FtSae => 9,
            Self::SuiteB => 11,
            Self::SuiteB192 => 12,
            Self::FtDot1xSha384 => 13,
            Self::Owe => 18,
        }
    }

    /// The AKM of this suite type.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|akm| akm.number() == number)
    }

    /// How it derives keys.
    pub const fn derivation(self) -> Derivation {
        match self {
            Self::Dot1x | Self::Psk => Derivation::Sha1,
            Self::SuiteB192 | Self::FtDot1xSha384 => Derivation::Sha384,
            _ => Derivation::Sha256,
        }
    }

    /// How it protects EAPOL-Key frames; WPA's TKIP is the exception that has HMAC-MD5 and RC4.
    pub const fn mic(self) -> Mic {
        match self {
            Self::Dot1x | Self::Psk => Mic::HmacSha1,
            Self::SuiteB | Self::Owe => Mic::HmacSha256,
            Self::SuiteB192 | Self::FtDot1xSha384 => Mic::HmacSha384,
            _ => Mic::AesCmac,
        }
    }

    /// Bytes of the key confirmation key.
    pub const fn kck_len(self) -> usize {
        match self {
            Self::SuiteB192 | Self::FtDot1xSha384 => 24,
            _ => 16,
        }
    }

    /// Bytes of the key encryption key.
    pub const fn kek_len(self) -> usize {
        match self {
            Self::SuiteB192 | Self::FtDot1xSha384 => 32,
            _ => 16,
        }
    }

    /// Bytes of a MIC in an EAPOL-Key frame.
    pub const fn mic_len(self) -> usize {
        self.kck_len()
    }

    /// Bytes of the pairwise master key.
    pub const fn pmk_len(self) -> usize {
        match self {
            Self::SuiteB192 | Self::FtDot1xSha384 => 48,
            _ => 32,
        }
    }

    /// Whether EAP precedes it.
    pub const fn has_eap(self) -> bool {
        matches!(
            self,
            Self::Dot1x
                | Self::FtDot1x
                | Self::Dot1xSha256
                | Self::SuiteB
                | Self::SuiteB192
                | Self::FtDot1xSha384
        )
    }

    /// Whether it lets a station move fast between access points (§13).
    pub const fn has_fast_transition(self) -> bool {
        matches!(self, Self::FtDot1x | Self::FtPsk | Self::FtSae | Self::FtDot1xSha384)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_names_one_suite() {
        for &cipher in Cipher::ALL {
            assert_eq!(Cipher::numbered(cipher.number()), Some(cipher));
        }
        for &akm in Akm::ALL {
            assert_eq!(Akm::numbered(akm.number()), Some(akm));
        }
        assert_eq!((Cipher::numbered(3), Akm::numbered(7)), (None, None));
    }
}
