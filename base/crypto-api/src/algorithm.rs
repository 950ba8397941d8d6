//! All algorithms that the protocols negotiate, with their lengths in bytes.
//!
//! Names are strongSwan's proposal keywords, so that a suite can be copied from one tool to the other. IANA numbers
//! belong to the protocols (`keytoll-ike`), computation to the providers (`keytoll-crypto`).

use std::fmt;

/// How far an algorithm can still be trusted; shown next to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Current practice.
    Good,
    /// Below 112 bits of strength, or advised against by RFC 8221 / RFC 8247.
    Weak,
    /// Practical attacks are published.
    Broken,
}

impl Standing {
    /// The mark shown after a name; empty for current practice.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Good => "",
            Self::Weak => "weak",
            Self::Broken => "broken",
        }
    }
}

/// Declares an enum of algorithms with names, a list of all, parsing and display.
macro_rules! algorithms {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// All of them, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name used in scenarios, files and on the screen.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The algorithm with this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|algorithm| algorithm.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

mod curve;
mod signature;

pub use curve::{Curve, CurveOperation};
pub use signature::SignatureScheme;

algorithms! {
    /// Groups for key agreement.
    Group {
        /// First Oakley group, RFC 2409 §6.1.
        Modp768 = "modp768",
        /// Second Oakley group, RFC 7296 B.2.
        Modp1024 = "modp1024",
        /// RFC 3526 §2.
        Modp1536 = "modp1536",
        /// RFC 3526 §3.
        Modp2048 = "modp2048",
        /// RFC 3526 §4.
        Modp3072 = "modp3072",
        /// RFC 3526 §5.
        Modp4096 = "modp4096",
        /// RFC 3526 §6.
        Modp6144 = "modp6144",
        /// RFC 3526 §7.
        Modp8192 = "modp8192",
        /// RFC 5903 §3.1, NIST P-256.
        Ecp256 = "ecp256",
        /// RFC 5903 §3.2, NIST P-384.
        Ecp384 = "ecp384",
        /// RFC 5903 §3.3, NIST P-521.
        Ecp521 = "ecp521",
        /// RFC 8031, Curve25519.
        X25519 = "x25519",
        /// RFC 8031, Curve448; only with the OpenSSL backend.
        X448 = "x448",
    }
}

impl Group {
    /// Length of the public value as IKE sends it, in bytes.
    pub const fn public_len(self) -> usize {
        match self {
            Self::Modp768 => 96,
            Self::Modp1024 => 128,
            Self::Modp1536 => 192,
            Self::Modp2048 => 256,
            Self::Modp3072 => 384,
            Self::Modp4096 => 512,
            Self::Modp6144 => 768,
            Self::Modp8192 => 1024,
            Self::Ecp256 => 64,
            Self::Ecp384 => 96,
            Self::Ecp521 => 132,
            Self::X25519 => 32,
            Self::X448 => 56,
        }
    }

    /// Length of the shared secret in bytes. RFC 5903 §7: for elliptic curves only the x coordinate.
    pub const fn secret_len(self) -> usize {
        match self {
            Self::Ecp256 | Self::Ecp384 | Self::Ecp521 => self.public_len() / 2,
            _ => self.public_len(),
        }
    }

    /// Whether it is a MODP group.
    pub const fn is_modp(self) -> bool {
        matches!(
            self,
            Self::Modp768
                | Self::Modp1024
                | Self::Modp1536
                | Self::Modp2048
                | Self::Modp3072
                | Self::Modp4096
                | Self::Modp6144
                | Self::Modp8192
        )
    }

    /// RFC 8247 §2.4: group 1 MUST NOT be used, groups 2 and 5 SHOULD NOT. A discrete logarithm of 768 bits was computed in
    /// 2016.
    pub const fn standing(self) -> Standing {
        match self {
            Self::Modp768 => Standing::Broken,
            Self::Modp1024 | Self::Modp1536 => Standing::Weak,
            _ => Standing::Good,
        }
    }
}

algorithms! {
    /// Encryption algorithms of IKE and ESP.
    Encryption {
        /// No encryption, RFC 2410.
        Null = "null",
        /// Triple DES, CBC, 192-bit key with parity bits.
        TripleDesCbc = "3des",
        /// AES-CBC, RFC 3602.
        Aes128Cbc = "aes128",
        /// AES-CBC, RFC 3602.
        Aes192Cbc = "aes192",
        /// AES-CBC, RFC 3602.
        Aes256Cbc = "aes256",
        /// AES-CTR, RFC 3686 and RFC 5930.
        Aes128Ctr = "aes128ctr",
        /// AES-CTR, RFC 3686 and RFC 5930.
        Aes192Ctr = "aes192ctr",
        /// AES-CTR, RFC 3686 and RFC 5930.
        Aes256Ctr = "aes256ctr",
        /// AES-GCM with 16-byte ICV, RFC 4106 and RFC 5282.
        Aes128Gcm16 = "aes128gcm16",
        /// AES-GCM with 16-byte ICV, RFC 4106 and RFC 5282.
        Aes192Gcm16 = "aes192gcm16",
        /// AES-GCM with 16-byte ICV, RFC 4106 and RFC 5282.
        Aes256Gcm16 = "aes256gcm16",
        /// AES-GCM with 12-byte ICV.
        Aes128Gcm12 = "aes128gcm12",
        /// AES-GCM with 12-byte ICV.
        Aes256Gcm12 = "aes256gcm12",
        /// AES-GCM with 8-byte ICV.
        Aes128Gcm8 = "aes128gcm8",
        /// AES-GCM with 8-byte ICV.
        Aes256Gcm8 = "aes256gcm8",
        /// AES-CCM with 16-byte ICV, RFC 4309 and RFC 5282.
        Aes128Ccm16 = "aes128ccm16",
        /// AES-CCM with 16-byte ICV, RFC 4309 and RFC 5282.
        Aes192Ccm16 = "aes192ccm16",
        /// AES-CCM with 16-byte ICV, RFC 4309 and RFC 5282.
        Aes256Ccm16 = "aes256ccm16",
        /// AES-CCM with 12-byte ICV.
        Aes128Ccm12 = "aes128ccm12",
        /// AES-CCM with 12-byte ICV.
        Aes256Ccm12 = "aes256ccm12",
        /// AES-CCM with 8-byte ICV.
        Aes128Ccm8 = "aes128ccm8",
        /// AES-CCM with 8-byte ICV.
        Aes256Ccm8 = "aes256ccm8",
        /// ChaCha20-Poly1305, RFC 7634.
        ChaCha20Poly1305 = "chacha20poly1305",
        /// AES-GMAC, RFC 4543: integrity without encryption, for ESP only.
        Aes128Gmac = "aes128gmac",
        /// AES-GMAC, RFC 4543.
        Aes192Gmac = "aes192gmac",
        /// AES-GMAC, RFC 4543.
        Aes256Gmac = "aes256gmac",
    }
}

impl Encryption {
    /// Length of the cipher's own key in bytes, without salt.
    pub const fn cipher_key_len(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Aes128Cbc
            | Self::Aes128Ctr
            | Self::Aes128Gcm16
            | Self::Aes128Gcm12
            | Self::Aes128Gcm8
            | Self::Aes128Ccm16
            | Self::Aes128Ccm12
            | Self::Aes128Ccm8
            | Self::Aes128Gmac => 16,
            Self::TripleDesCbc
            | Self::Aes192Cbc
            | Self::Aes192Ctr
            | Self::Aes192Gcm16
            | Self::Aes192Ccm16
            | Self::Aes192Gmac => 24,
            Self::Aes256Cbc
            | Self::Aes256Ctr
            | Self::Aes256Gcm16
            | Self::Aes256Gcm12
            | Self::Aes256Gcm8
            | Self::Aes256Ccm16
            | Self::Aes256Ccm12
            | Self::Aes256Ccm8
            | Self::ChaCha20Poly1305
            | Self::Aes256Gmac => 32,
        }
    }

    /// Length in bytes of the salt or nonce taken from the keying material after the key (RFC 4106 §8.1, RFC 4309 §7.1, RFC 3686 §5.1).
    pub const fn salt_len(self) -> usize {
        match self {
            Self::Null | Self::TripleDesCbc | Self::Aes128Cbc | Self::Aes192Cbc | Self::Aes256Cbc => 0,
            _ if self.is_ccm() => 3,
            _ => 4,
        }
    }

    /// Length of the keying material in bytes: key and salt.
    pub const fn key_len(self) -> usize {
        self.cipher_key_len() + self.salt_len()
    }

    /// Length in bytes of the nonce that an AES mode takes whole in place of the IV if its key comes without salt, as 802.11 uses
    /// them: CCM (802.11-2020 §12.5.3.3.4), GCM (§12.5.5.3.4) and, without the IV among the authenticated data, GMAC (§12.5.4.2).
    pub const fn whole_nonce_len(self) -> Option<usize> {
        match self {
            _ if self.is_ccm() => Some(13),
            Self::Aes128Gcm16
            | Self::Aes192Gcm16
            | Self::Aes256Gcm16
            | Self::Aes128Gcm12
            | Self::Aes256Gcm12
            | Self::Aes128Gcm8
            | Self::Aes256Gcm8
            | Self::Aes128Gmac
            | Self::Aes192Gmac
            | Self::Aes256Gmac => Some(12),
            _ => None,
        }
    }

    /// Whether a key of so many bytes has no salt, and the algorithm takes whole nonces.
    pub const fn is_unsalted(self, key_len: usize) -> bool {
        key_len == self.cipher_key_len() && self.whole_nonce_len().is_some()
    }

    /// Length of the explicit IV in front of the ciphertext, in bytes.
    pub const fn iv_len(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Aes128Cbc | Self::Aes192Cbc | Self::Aes256Cbc => 16,
            _ => 8,
        }
    }

    /// The plaintext must be a multiple of so many bytes.
    pub const fn block_len(self) -> usize {
        match self {
            Self::TripleDesCbc => 8,
            Self::Aes128Cbc | Self::Aes192Cbc | Self::Aes256Cbc => 16,
            _ => 1,
        }
    }

    /// Length in bytes of the integrity check value that the cipher makes itself; 0 if it needs a separate integrity algorithm.
    pub const fn tag_len(self) -> usize {
        match self {
            Self::Aes128Gcm8 | Self::Aes256Gcm8 | Self::Aes128Ccm8 | Self::Aes256Ccm8 => 8,
            Self::Aes128Gcm12 | Self::Aes256Gcm12 | Self::Aes128Ccm12 | Self::Aes256Ccm12 => 12,
            Self::Aes128Gcm16
            | Self::Aes192Gcm16
            | Self::Aes256Gcm16
            | Self::Aes128Ccm16
            | Self::Aes192Ccm16
            | Self::Aes256Ccm16
            | Self::ChaCha20Poly1305
            | Self::Aes128Gmac
            | Self::Aes192Gmac
            | Self::Aes256Gmac => 16,
            _ => 0,
        }
    }

    /// Whether it is an AEAD: it protects integrity itself.
    pub const fn is_aead(self) -> bool {
        self.tag_len() > 0
    }

    /// Whether it is AES-CCM, whose salt is a byte shorter.
    pub const fn is_ccm(self) -> bool {
        matches!(
            self,
            Self::Aes128Ccm16
                | Self::Aes192Ccm16
                | Self::Aes256Ccm16
                | Self::Aes128Ccm12
                | Self::Aes256Ccm12
                | Self::Aes128Ccm8
                | Self::Aes256Ccm8
        )
    }

    /// Whether it is AES-GMAC, which authenticates without encrypting.
    pub const fn is_gmac(self) -> bool {
        matches!(self, Self::Aes128Gmac | Self::Aes192Gmac | Self::Aes256Gmac)
    }

    /// RFC 8221 §5: NULL and GMAC do not encrypt; 3DES SHOULD NOT be used (64-bit blocks).
    pub const fn standing(self) -> Standing {
        match self {
            Self::Null | Self::TripleDesCbc | Self::Aes128Gmac | Self::Aes192Gmac | Self::Aes256Gmac => {
                Standing::Weak
            }
            _ => Standing::Good,
        }
    }
}

algorithms! {
    /// Integrity algorithms of IKE and ESP, truncated as IPsec truncates them.
    Integrity {
        /// RFC 2403.
        HmacMd5_96 = "md5",
        /// RFC 2404.
        HmacSha1_96 = "sha1",
        /// RFC 4868.
        HmacSha256_128 = "sha256",
        /// RFC 4868.
        HmacSha384_192 = "sha384",
        /// RFC 4868.
        HmacSha512_256 = "sha512",
        /// RFC 3566.
        AesXcbc96 = "aesxcbc",
        /// RFC 4494.
        AesCmac96 = "aescmac",
    }
}

impl Integrity {
    /// Length of the key in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            Self::HmacMd5_96 | Self::AesXcbc96 | Self::AesCmac96 => 16,
            Self::HmacSha1_96 => 20,
            Self::HmacSha256_128 => 32,
            Self::HmacSha384_192 => 48,
            Self::HmacSha512_256 => 64,
        }
    }

    /// Length of the integrity check value in bytes.
    pub const fn tag_len(self) -> usize {
        match self {
            Self::HmacMd5_96 | Self::HmacSha1_96 | Self::AesXcbc96 | Self::AesCmac96 => 12,
            Self::HmacSha256_128 => 16,
            Self::HmacSha384_192 => 24,
            Self::HmacSha512_256 => 32,
        }
    }

    /// RFC 8247 §2.3: MD5 MUST NOT be used; SHA-1 is being phased out.
    pub const fn standing(self) -> Standing {
        match self {
            Self::HmacMd5_96 => Standing::Broken,
            Self::HmacSha1_96 => Standing::Weak,
            _ => Standing::Good,
        }
    }
}

algorithms! {
    /// Pseudo-random functions of IKE.
    Prf {
        /// RFC 2104.
        HmacMd5 = "prfmd5",
        /// RFC 2104.
        HmacSha1 = "prfsha1",
        /// RFC 4868.
        HmacSha256 = "prfsha256",
        /// RFC 4868.
        HmacSha384 = "prfsha384",
        /// RFC 4868.
        HmacSha512 = "prfsha512",
        /// RFC 4434.
        AesXcbc128 = "prfaesxcbc",
        /// RFC 4615.
        AesCmac128 = "prfaescmac",
    }
}

impl Prf {
    /// Length in bytes of the output, and the preferred length of the key.
    pub const fn output_len(self) -> usize {
        match self {
            Self::HmacMd5 | Self::AesXcbc128 | Self::AesCmac128 => 16,
            Self::HmacSha1 => 20,
            Self::HmacSha256 => 32,
            Self::HmacSha384 => 48,
            Self::HmacSha512 => 64,
        }
    }

    /// RFC 7296 §2.14: for PRFs with a fixed key length, half of the key's bits come from each nonce.
    pub const fn has_fixed_key(self) -> bool {
        matches!(self, Self::AesXcbc128 | Self::AesCmac128)
    }

    /// RFC 8247 §2.2: MD5 MUST NOT be used.
    pub const fn standing(self) -> Standing {
        match self {
            Self::HmacMd5 => Standing::Broken,
            Self::HmacSha1 => Standing::Weak,
            _ => Standing::Good,
        }
    }
}

algorithms! {
    /// Hash functions.
    Hash {
        /// RFC 1321.
        Md5 = "md5",
        /// FIPS 180-4.
        Sha1 = "sha1",
        /// FIPS 180-4.
        Sha256 = "sha256",
        /// FIPS 180-4.
        Sha384 = "sha384",
        /// FIPS 180-4.
        Sha512 = "sha512",
        /// RFC 1320; only for MS-CHAP-V2's password hashes, never for signatures.
        Md4 = "md4",
    }
}

#[expect(clippy::len_without_is_empty, reason = "no digest is empty")]
impl Hash {
    /// Length of the digest.
    pub const fn len(self) -> usize {
        match self {
            Self::Md4 | Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

algorithms! {
    /// Block ciphers that a protocol applies to single blocks, without a mode of operation.
    BlockCipher {
        /// AES with a key of 128 bits, FIPS 197; the kernel of MILENAGE (TS 35.206).
        Aes128 = "aes128",
        /// AES with a key of 256 bits; the kernel of 802.11's BIP-CMAC-256.
        Aes256 = "aes256",
        /// Single DES, FIPS 46-3; only for MS-CHAP-V2 (RFC 2759 §8.6).
        Des = "des",
    }
}

impl BlockCipher {
    /// Length of the key in bytes; for DES including the parity bits, which are ignored.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 => 32,
            Self::Des => 8,
        }
    }

    /// Length of a block.
    pub const fn block_len(self) -> usize {
        match self {
            Self::Aes128 | Self::Aes256 => 16,
            Self::Des => 8,
        }
    }

    /// DES has 56 bits of key.
    pub const fn standing(self) -> Standing {
        match self {
            Self::Aes128 | Self::Aes256 => Standing::Good,
            Self::Des => Standing::Broken,
        }
    }
}

algorithms! {
    /// Ciphers that wrap keys for their transport, RFC 3394.
    KeyWrap {
        /// AES under a key of 128 bits.
        Aes128 = "aes128",
        /// AES under a key of 256 bits.
        Aes256 = "aes256",
    }
}

impl KeyWrap {
    /// Bytes that a wrapped key has more than the key (RFC 3394 §2.2.1).
    pub const OVERHEAD: usize = 8;
    /// RFC 3394 §2: what is wrapped is a multiple of so many bytes, and at least two of them.
    pub const UNIT: usize = 8;

    /// Length in bytes of the key that wraps.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 => 32,
        }
    }

    /// Whether a key of so many bytes can be wrapped.
    pub const fn fits(key_data_len: usize) -> bool {
        key_data_len >= 2 * Self::UNIT && key_data_len.is_multiple_of(Self::UNIT)
    }
}

algorithms! {
    /// Stream ciphers that a protocol starts anew for every message.
    StreamCipher {
        /// RC4 under a key of 1 to 256 bytes; only for WEP (IEEE 802.11-2012 §11.2.2) and to reproduce what papers measured.
        Rc4 = "rc4",
    }
}

impl StreamCipher {
    /// RFC 7465: RC4 can no longer be seen as providing a sufficient level of security.
    pub const fn standing(self) -> Standing {
        match self {
            Self::Rc4 => Standing::Broken,
        }
    }
}

algorithms! {
    /// Kinds of signature keys.
    KeyKind {
        /// RSA, 1024 bits.
        Rsa1024 = "rsa1024",
        /// RSA, 2048 bits.
        Rsa2048 = "rsa2048",
        /// RSA, 3072 bits.
        Rsa3072 = "rsa3072",
        /// RSA, 4096 bits.
        Rsa4096 = "rsa4096",
        /// ECDSA on NIST P-256.
        EcdsaP256 = "ecdsa-p256",
        /// ECDSA on NIST P-384.
        EcdsaP384 = "ecdsa-p384",
        /// ECDSA on NIST P-521.
        EcdsaP521 = "ecdsa-p521",
        /// Ed25519, RFC 8032.
        Ed25519 = "ed25519",
    }
}

impl KeyKind {
    /// Bits of the modulus for RSA keys.
    pub const fn rsa_bits(self) -> Option<usize> {
        match self {
            Self::Rsa1024 => Some(1024),
            Self::Rsa2048 => Some(2048),
            Self::Rsa3072 => Some(3072),
            Self::Rsa4096 => Some(4096),
            _ => None,
        }
    }

    /// 1024-bit RSA is below 112 bits of strength.
    pub const fn standing(self) -> Standing {
        match self {
            Self::Rsa1024 => Standing::Weak,
            _ => Standing::Good,
        }
    }
}
