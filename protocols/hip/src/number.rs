//! Numbers of HIP as IANA registers them ("Host Identity Protocol (HIP) Parameters"), with those of RFC 7401, RFC 7402 and
//! draft-ietf-hip-dex-24.

use keytoll_crypto_api::algorithm::{Encryption, Group, Hash, Integrity, Prf};
use keytoll_crypto_api::suite::Suite;

/// A packet type, RFC 7401 §5.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketType(pub u8);

impl PacketType {
    /// The first packet of an initiator.
    pub const I1: Self = Self(1);
    /// The responder's puzzle.
    pub const R1: Self = Self(2);
    /// The solution.
    pub const I2: Self = Self(3);
    /// The end of the base exchange.
    pub const R2: Self = Self(4);
    /// Changes of an association.
    pub const UPDATE: Self = Self(16);
    /// Something a peer should know; never acknowledged.
    pub const NOTIFY: Self = Self(17);
    /// The wish to end an association.
    pub const CLOSE: Self = Self(18);
    /// The answer to it.
    pub const CLOSE_ACK: Self = Self(19);

    /// Every one.
    pub const ALL: [Self; 8] =
        [Self::I1, Self::R1, Self::I2, Self::R2, Self::UPDATE, Self::NOTIFY, Self::CLOSE, Self::CLOSE_ACK];

    /// The name that RFC 7401 §5.3 gives it; none of an unknown one.
    pub const fn name(self) -> Option<&'static &'static str> {
        Some(match self {
            Self::I1 => &"I1",
            Self::R1 => &"R1",
            Self::I2 => &"I2",
            Self::R2 => &"R2",
            Self::UPDATE => &"UPDATE",
            Self::NOTIFY => &"NOTIFY",
            Self::CLOSE => &"CLOSE",
            Self::CLOSE_ACK => &"CLOSE_ACK",
            _ => return None,
        })
    }
}

/// A parameter type, RFC 7401 §5.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterType(pub u16);

/// Declares parameter types with their names.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident = $number:literal),+ $(,)?) => {
        impl ParameterType {
            $($(#[$doc])* pub const $name: Self = Self($number);)+

            /// Those that are known here.
            pub const KNOWN: &'static [Self] = &[$(Self::$name),+];

            /// The name of its standard; none of an unknown one.
            pub const fn name(self) -> Option<&'static &'static str> {
                match self.0 {
                    $($number => Some(&stringify!($name)),)+
                    _ => None,
                }
            }
        }
    };
}

parameters! {
    /// RFC 7402 §5.1.1.
    ESP_INFO = 65,
    /// RFC 7401 §5.2.3.
    R1_COUNTER = 129,
    /// RFC 8046 §4.
    LOCATOR_SET = 193,
    /// RFC 7401 §5.2.4.
    PUZZLE = 257,
    /// RFC 7401 §5.2.5.
    SOLUTION = 321,
    /// RFC 7401 §5.2.16.
    SEQ = 385,
    /// RFC 7401 §5.2.17.
    ACK = 449,
    /// RFC 7401 §5.2.6.
    DH_GROUP_LIST = 511,
    /// RFC 7401 §5.2.7.
    DIFFIE_HELLMAN = 513,
    /// RFC 7401 §5.2.8.
    HIP_CIPHER = 579,
    /// RFC 7401 §5.2.18.
    ENCRYPTED = 641,
    /// draft-ietf-hip-dex-24 §5.2.5.
    ENCRYPTED_KEY = 643,
    /// draft-ietf-hip-dex-24 §5.2.6.
    I_NONCE = 644,
    /// RFC 7401 §5.2.9.
    HOST_ID = 705,
    /// RFC 7401 §5.2.10.
    HIT_SUITE_LIST = 715,
    /// RFC 8002 §2.
    CERT = 768,
    /// RFC 7401 §5.2.19.
    NOTIFICATION = 832,
    /// RFC 7401 §5.2.20.
    ECHO_REQUEST_SIGNED = 897,
    /// RFC 7401 §5.2.22.
    ECHO_RESPONSE_SIGNED = 961,
    /// RFC 7401 §5.2.11, of the list of transport formats.
    TRANSPORT_FORMAT_LIST = 2049,
    /// RFC 7402 §5.1.2.
    ESP_TRANSFORM = 4095,
    /// Who subscribes, in a diet exchange with AKA ([`crate::wire::aka`]); from the range for private use.
    AKA_ID = 32769,
    /// RAND and AUTN.
    AKA_CHALLENGE = 32771,
    /// RES, AUTS, or that the network is not believed.
    AKA_RESPONSE = 32773,
    /// That the response is right.
    AKA_RESULT = 32775,
    /// RFC 7401 §5.2.12.
    HIP_MAC = 61505,
    /// HIP_MAC of the diet exchange in its drafts of 2011, over CMAC.
    HIP_MAC_3 = 61507,
    /// RFC 7401 §5.2.13.
    HIP_MAC_2 = 61569,
    /// RFC 7401 §5.2.15.
    HIP_SIGNATURE_2 = 61633,
    /// RFC 7401 §5.2.14.
    HIP_SIGNATURE = 61697,
    /// RFC 7401 §5.2.21.
    ECHO_REQUEST_UNSIGNED = 63661,
    /// RFC 7401 §5.2.23.
    ECHO_RESPONSE_UNSIGNED = 63425,
}

impl ParameterType {
    // RFC 7401 §5.2.1: the C bit is the lowest one of the type.
    /// Whether a host that does not know it must not process the packet.
    pub const fn is_critical(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A HIT suite, which is the ORCHID generation algorithm of its HITs (RFC 7401 §5.2.10, RFC 7343 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HitSuite {
    /// RSA and DSA with SHA-256.
    RsaSha256,
    /// ECDSA with SHA-384.
    EcdsaSha384,
    /// ECDSA over short curves with SHA-1.
    EcdsaLowSha1,
    /// ECDH with FOLD, of the diet exchange (draft-ietf-hip-dex-24 §5.2.4).
    EcdhFold,
    /// EdDSA with cSHAKE128 (RFC 9374 §3.4).
    EdDsaCShake128,
}

impl HitSuite {
    /// Every one.
    pub const ALL: [Self; 5] =
        [Self::RsaSha256, Self::EcdsaSha384, Self::EcdsaLowSha1, Self::EcdhFold, Self::EdDsaCShake128];

    /// The four bits in a HIT.
    pub const fn number(self) -> u8 {
        match self {
            Self::RsaSha256 => 1,
            Self::EcdsaSha384 => 2,
            Self::EcdsaLowSha1 => 3,
            Self::EcdhFold => 4,
            Self::EdDsaCShake128 => 5,
        }
    }

    /// The one with these four bits.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|suite| suite.number() == number)
    }

    // RFC 7401 §5.2.10: the four higher-order bits of an ID in HIT_SUITE_LIST.
    /// The octet in HIT_SUITE_LIST.
    pub const fn octet(self) -> u8 {
        self.number() << 4
    }

    // RFC 7401 §5.2.10: the responder's suite determines RHASH. RFC 9374 §3.4.1 has EdDSA use SHA-256 where a hash with HMAC
    // is wanted; the diet exchange has CMAC in its place, and no hash.
    /// RHASH of a responder with such a HIT; none of the diet exchange.
    pub const fn rhash(self) -> Option<Rhash> {
        match self {
            Self::RsaSha256 | Self::EdDsaCShake128 => Some(Rhash::Sha256),
            Self::EcdsaSha384 => Some(Rhash::Sha384),
            Self::EcdsaLowSha1 => Some(Rhash::Sha1),
            Self::EcdhFold => None,
        }
    }
}

/// RHASH: the hash of the responder's HIT suite, for puzzles, keying material and MACs (RFC 7401 §2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rhash {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
}

#[expect(clippy::len_without_is_empty, reason = "no digest is empty")]
impl Rhash {
    /// As a digest.
    pub const fn hash(self) -> Hash {
        match self {
            Self::Sha1 => Hash::Sha1,
            Self::Sha256 => Hash::Sha256,
            Self::Sha384 => Hash::Sha384,
        }
    }

    /// As HMAC, at its natural length (RFC 7401 §5.2.12).
    pub const fn hmac(self) -> Prf {
        match self {
            Self::Sha1 => Prf::HmacSha1,
            Self::Sha256 => Prf::HmacSha256,
            Self::Sha384 => Prf::HmacSha384,
        }
    }

    /// RHASH_len in octets.
    pub const fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

/// A group of DIFFIE_HELLMAN and DH_GROUP_LIST, RFC 7401 §5.2.7; 12 and 13 are draft-ietf-hip-dex-24's §5.2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u8);

/// Which group has which number; SECP160R1 (10) is not computed here.
const GROUPS: [(u8, Group); 8] = [
    (3, Group::Modp1536),
    (4, Group::Modp3072),
    (7, Group::Ecp256),
    (8, Group::Ecp384),
    (9, Group::Ecp521),
    (11, Group::Modp2048),
    (12, Group::X25519),
    (13, Group::X448),
];

impl GroupId {
    /// The number of a group; none of one that HIP does not have.
    pub fn of(group: Group) -> Option<Self> {
        GROUPS.iter().find(|(_, known)| *known == group).map(|&(number, _)| Self(number))
    }

    /// The group, if it is one of ours.
    pub fn group(self) -> Option<Group> {
        GROUPS.iter().find(|(number, _)| *number == self.0).map(|&(_, group)| group)
    }
}

/// A cipher of HIP_CIPHER, RFC 7401 §5.2.8; 5 is draft-ietf-hip-dex-24's §5.2.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cipher {
    /// No encryption; for tests alone.
    Null,
    /// AES-CBC with 128 bits.
    Aes128Cbc,
    /// AES-CBC with 256 bits.
    Aes256Cbc,
    /// AES-CTR with 128 bits, of the diet exchange.
    Aes128Ctr,
}

impl Cipher {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Null, Self::Aes128Cbc, Self::Aes256Cbc, Self::Aes128Ctr];

    /// Its number.
    pub const fn number(self) -> u16 {
        match self {
            Self::Null => 1,
            Self::Aes128Cbc => 2,
            Self::Aes256Cbc => 4,
            Self::Aes128Ctr => 5,
        }
    }

    /// The one with this number.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|cipher| cipher.number() == number)
    }

    /// Octets of its key.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Aes128Cbc | Self::Aes128Ctr => 16,
            Self::Aes256Cbc => 32,
        }
    }
}

/// A suite of ESP_TRANSFORM, RFC 7402 §5.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EspSuite(pub u16);

impl EspSuite {
    /// NULL with HMAC-SHA-256.
    pub const NULL_SHA256: Self = Self(7);
    /// AES-128-CBC with HMAC-SHA-256.
    pub const AES128_CBC_SHA256: Self = Self(8);
    /// AES-256-CBC with HMAC-SHA-256.
    pub const AES256_CBC_SHA256: Self = Self(9);
    /// AES-CCM with an ICV of 8 octets.
    pub const AES_CCM_8: Self = Self(10);
    /// AES-CCM with an ICV of 16 octets.
    pub const AES_CCM_16: Self = Self(11);
    /// AES-GCM with an ICV of 8 octets.
    pub const AES_GCM_8: Self = Self(12);
    /// AES-GCM with an ICV of 16 octets.
    pub const AES_GCM_16: Self = Self(13);

    /// AES-GMAC with an ICV of 16 octets: integrity alone.
    pub const AES_GMAC: Self = Self(15);

    /// Those that are computed here.
    pub const ALL: [Self; 8] = [
        Self::AES128_CBC_SHA256,
        Self::AES_GCM_16,
        Self::AES256_CBC_SHA256,
        Self::AES_GCM_8,
        Self::AES_CCM_16,
        Self::AES_CCM_8,
        Self::AES_GMAC,
        Self::NULL_SHA256,
    ];

    // RFC 7402 §3.3.1: sequence numbers have 64 bits. §5.1.2: those without a length in their name have keys of 128 bits.
    /// Its algorithms; none of a suite that is not ours.
    pub const fn suite(self) -> Option<Suite> {
        let encryption = match self {
            Self::NULL_SHA256 => Encryption::Null,
            Self::AES128_CBC_SHA256 => Encryption::Aes128Cbc,
            Self::AES256_CBC_SHA256 => Encryption::Aes256Cbc,
            Self::AES_CCM_8 => Encryption::Aes128Ccm8,
            Self::AES_CCM_16 => Encryption::Aes128Ccm16,
            Self::AES_GCM_8 => Encryption::Aes128Gcm8,
            Self::AES_GCM_16 => Encryption::Aes128Gcm16,
            Self::AES_GMAC => Encryption::Aes128Gmac,
            _ => return None,
        };
        let integrity = if encryption.is_aead() { None } else { Some(Integrity::HmacSha256_128) };
        Some(Suite { encryption, integrity, prf: None, group: None, esn: true })
    }

    /// The one with these algorithms, if HIP has one.
    pub fn of(suite: Suite) -> Option<Self> {
        let same = |known: &Self| {
            known.suite().is_some_and(|known| {
                (known.encryption, known.integrity) == (suite.encryption, suite.integrity)
            })
        };
        Self::ALL.into_iter().find(same)
    }
}

/// A message type of NOTIFICATION, RFC 7401 §5.2.19; below 16384 it is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NotifyType(pub u16);

/// Declares message types of NOTIFICATION with their names.
macro_rules! notifications {
    ($($name:ident = $number:literal),+ $(,)?) => {
        #[expect(missing_docs, reason = "RFC 7401 §5.2.19 and RFC 9028 §5.3, §5.10 have their meaning under the same names")]
        impl NotifyType {
            $(pub const $name: Self = Self($number);)+
        }

        impl NotifyType {
            /// The name of its standard; none of an unknown one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)+
                    _ => None,
                }
            }

            /// The one with this name.
            pub fn named(name: &str) -> Option<Self> {
                [$(Self::$name),+].into_iter().find(|kind| kind.name() == Some(name))
            }
        }
    };
}

notifications! {
    UNSUPPORTED_CRITICAL_PARAMETER_TYPE = 1,
    INVALID_SYNTAX = 7,
    NO_DH_PROPOSAL_CHOSEN = 14,
    INVALID_DH_CHOSEN = 15,
    NO_HIP_PROPOSAL_CHOSEN = 16,
    INVALID_HIP_CIPHER_CHOSEN = 17,
    NO_ESP_PROPOSAL_CHOSEN = 18,
    INVALID_ESP_TRANSFORM_CHOSEN = 19,
    UNSUPPORTED_HIT_SUITE = 20,
    AUTHENTICATION_FAILED = 24,
    CHECKSUM_FAILED = 26,
    HIP_MAC_FAILED = 28,
    ENCRYPTION_FAILED = 32,
    INVALID_HIT = 40,
    BLOCKED_BY_POLICY = 42,
    RESPONDER_BUSY_PLEASE_RETRY = 44,
    NO_VALID_NAT_TRAVERSAL_MODE_PARAMETER = 60,
    CONNECTIVITY_CHECKS_FAILED = 61,
    MESSAGE_NOT_RELAYED = 62,
    I2_ACKNOWLEDGEMENT = 16384,
    NAT_KEEPALIVE = 16385,
}
