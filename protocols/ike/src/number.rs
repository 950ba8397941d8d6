//! The IANA registry "Internet Key Exchange Version 2 (IKEv2) Parameters" (RFC 7296 §3), and the engine's algorithms behind
//! its numbers. Unknown numbers are preserved, so that they survive being passed on.

use keytoll_crypto_api::algorithm::{Encryption, Group, Hash, Integrity, Prf};

use crate::names;

/// Declares a registry: a number type with names for registered values.
macro_rules! registry {
    ($(#[$doc:meta])* $name:ident($raw:ty) { $($constant:ident = $number:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $raw);

        impl $name {
            $(
                #[doc = concat!("Number ", stringify!($number), ".")]
                pub const $constant: Self = Self($number);
            )+

            /// The registered name, or a placeholder.
            pub const fn name(self) -> &'static str {
                match self.registered_name() {
                    Some(name) => name,
                    None => concat!("unregistered ", stringify!($name)),
                }
            }

            /// Whether the number has a name here.
            pub const fn is_registered(self) -> bool {
                self.registered_name().is_some()
            }

            const fn registered_name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($constant)),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                if self.is_registered() { f.pad(self.name()) } else { write!(f, "{}({})", stringify!($name), self.0) }
            }
        }
    };
}

// The registries of IKEv1 use it, too.
pub(crate) use registry;

registry! {
    /// Exchange types, RFC 7296 §3.1.
    ExchangeType(u8) {
        IKE_SA_INIT = 34,
        IKE_AUTH = 35,
        CREATE_CHILD_SA = 36,
        INFORMATIONAL = 37,
        IKE_SESSION_RESUME = 38,
        IKE_INTERMEDIATE = 43,
    }
}

registry! {
    /// Payload types, RFC 7296 §3.2 and RFC 7383 §2.5.
    PayloadType(u8) {
        NONE = 0,
        SA = 33,
        KE = 34,
        ID_I = 35,
        ID_R = 36,
        CERT = 37,
        CERTREQ = 38,
        AUTH = 39,
        NONCE = 40,
        NOTIFY = 41,
        DELETE = 42,
        VENDOR_ID = 43,
        TS_I = 44,
        TS_R = 45,
        SK = 46,
        CP = 47,
        EAP = 48,
        SKF = 53,
    }
}

impl PayloadType {
    /// As RFC 7296 §3.2 abbreviates it: `SA`, `KE`, `IDi`, …
    pub const fn abbreviation(self) -> &'static str {
        names::payload(self).as_str()
    }
}

registry! {
    /// Security protocol identifiers, RFC 7296 §3.3.1; 0 if there is none.
    ProtocolId(u8) {
        NONE = 0,
        IKE = 1,
        AH = 2,
        ESP = 3,
    }
}

registry! {
    /// Transform types, RFC 7296 §3.3.2, RFC 9370 §3; KE is the registry's current name for D-H.
    TransformType(u8) {
        ENCR = 1,
        PRF = 2,
        INTEG = 3,
        KE = 4,
        ESN = 5,
        ADDKE1 = 6,
        ADDKE2 = 7,
        ADDKE3 = 8,
        ADDKE4 = 9,
        ADDKE5 = 10,
        ADDKE6 = 11,
        ADDKE7 = 12,
    }
}

registry! {
    /// Identification types, RFC 7296 §3.5.
    IdKind(u8) {
        ID_IPV4_ADDR = 1,
        ID_FQDN = 2,
        ID_RFC822_ADDR = 3,
        ID_IPV6_ADDR = 5,
        ID_DER_ASN1_DN = 9,
        ID_DER_ASN1_GN = 10,
        ID_KEY_ID = 11,
        ID_NULL = 13,
    }
}

registry! {
    /// Certificate encodings, RFC 7296 §3.6.
    CertEncoding(u8) {
        PKCS7_WRAPPED_X509 = 1,
        PGP = 2,
        DNS_SIGNED_KEY = 3,
        X509_SIGNATURE = 4,
        KERBEROS_TOKEN = 6,
        CRL = 7,
        ARL = 8,
        SPKI = 9,
        X509_ATTRIBUTE = 10,
        HASH_AND_URL_X509 = 12,
        HASH_AND_URL_X509_BUNDLE = 13,
        OCSP_CONTENT = 14,
        RAW_PUBLIC_KEY = 15,
    }
}

registry! {
    /// Authentication methods, RFC 7296 §3.8, RFC 4754 §3, RFC 7427 §3, RFC 7619 §2.
    AuthMethod(u8) {
        RSA_DIGITAL_SIGNATURE = 1,
        SHARED_KEY_MIC = 2,
        DSS_DIGITAL_SIGNATURE = 3,
        ECDSA_SHA256_P256 = 9,
        ECDSA_SHA384_P384 = 10,
        ECDSA_SHA512_P521 = 11,
        GENERIC_SECURE_PASSWORD = 12,
        NULL_AUTHENTICATION = 13,
        DIGITAL_SIGNATURE = 14,
    }
}

registry! {
    /// Notify message types, RFC 7296 §3.10.1 and the registry; below 16384 they are errors. Those of IKEv1 (RFC 2408 §3.14.1,
    /// RFC 2407 §4.6.3, RFC 3706 §5.3) are included if IKEv2 did not reuse their numbers.
    NotifyType(u16) {
        UNSUPPORTED_CRITICAL_PAYLOAD = 1,
        INVALID_IKE_SPI = 4,
        INVALID_MAJOR_VERSION = 5,
        INVALID_SYNTAX = 7,
        INVALID_MESSAGE_ID = 9,
        INVALID_SPI = 11,
        NO_PROPOSAL_CHOSEN = 14,
        BAD_PROPOSAL_SYNTAX = 15,
        PAYLOAD_MALFORMED = 16,
        INVALID_KE_PAYLOAD = 17,
        INVALID_ID_INFORMATION = 18,
        INVALID_CERT_ENCODING = 19,
        INVALID_CERTIFICATE = 20,
        CERT_TYPE_UNSUPPORTED = 21,
        INVALID_CERT_AUTHORITY = 22,
        INVALID_HASH_INFORMATION = 23,
        AUTHENTICATION_FAILED = 24,
        INVALID_SIGNATURE = 25,
        SINGLE_PAIR_REQUIRED = 34,
        NO_ADDITIONAL_SAS = 35,
        INTERNAL_ADDRESS_FAILURE = 36,
        FAILED_CP_REQUIRED = 37,
        TS_UNACCEPTABLE = 38,
        INVALID_SELECTORS = 39,
        UNACCEPTABLE_ADDRESSES = 40,
        UNEXPECTED_NAT_DETECTED = 41,
        USE_ASSIGNED_HOA = 42,
        TEMPORARY_FAILURE = 43,
        CHILD_SA_NOT_FOUND = 44,
        INVALID_GROUP_ID = 45,
        AUTHORIZATION_FAILED = 46,
        STATE_NOT_FOUND = 47,
        INITIAL_CONTACT = 16384,
        SET_WINDOW_SIZE = 16385,
        ADDITIONAL_TS_POSSIBLE = 16386,
        IPCOMP_SUPPORTED = 16387,
        NAT_DETECTION_SOURCE_IP = 16388,
        NAT_DETECTION_DESTINATION_IP = 16389,
        COOKIE = 16390,
        USE_TRANSPORT_MODE = 16391,
        HTTP_CERT_LOOKUP_SUPPORTED = 16392,
        REKEY_SA = 16393,
        ESP_TFC_PADDING_NOT_SUPPORTED = 16394,
        NON_FIRST_FRAGMENTS_ALSO = 16395,
        MOBIKE_SUPPORTED = 16396,
        ADDITIONAL_IP4_ADDRESS = 16397,
        ADDITIONAL_IP6_ADDRESS = 16398,
        NO_ADDITIONAL_ADDRESSES = 16399,
        UPDATE_SA_ADDRESSES = 16400,
        COOKIE2 = 16401,
        NO_NATS_ALLOWED = 16402,
        AUTH_LIFETIME = 16403,
        MULTIPLE_AUTH_SUPPORTED = 16404,
        ANOTHER_AUTH_FOLLOWS = 16405,
        REDIRECT_SUPPORTED = 16406,
        REDIRECT = 16407,
        REDIRECTED_FROM = 16408,
        TICKET_LT_OPAQUE = 16409,
        TICKET_REQUEST = 16410,
        TICKET_ACK = 16411,
        TICKET_NACK = 16412,
        TICKET_OPAQUE = 16413,
        LINK_ID = 16414,
        USE_WESP_MODE = 16415,
        ROHC_SUPPORTED = 16416,
        EAP_ONLY_AUTHENTICATION = 16417,
        CHILDLESS_IKEV2_SUPPORTED = 16418,
        QUICK_CRASH_DETECTION = 16419,
        IKEV2_MESSAGE_ID_SYNC_SUPPORTED = 16420,
        IPSEC_REPLAY_COUNTER_SYNC_SUPPORTED = 16421,
        IKEV2_MESSAGE_ID_SYNC = 16422,
        IPSEC_REPLAY_COUNTER_SYNC = 16423,
        SECURE_PASSWORD_METHODS = 16424,
        PSK_PERSIST = 16425,
        PSK_CONFIRM = 16426,
        ERX_SUPPORTED = 16427,
        IFOM_CAPABILITY = 16428,
        SENDER_REQUEST_ID = 16429,
        IKEV2_FRAGMENTATION_SUPPORTED = 16430,
        SIGNATURE_HASH_ALGORITHMS = 16431,
        CLONE_IKE_SA_SUPPORTED = 16432,
        CLONE_IKE_SA = 16433,
        PUZZLE = 16434,
        USE_PPK = 16435,
        PPK_IDENTITY = 16436,
        NO_PPK_AUTH = 16437,
        INTERMEDIATE_EXCHANGE_SUPPORTED = 16438,
        IP4_ALLOWED = 16439,
        IP6_ALLOWED = 16440,
        ADDITIONAL_KEY_EXCHANGE = 16441,
        USE_AGGFRAG = 16442,
        SUPPORTED_AUTH_METHODS = 16443,
        RESPONDER_LIFETIME = 24576,
        REPLAY_STATUS = 24577,
        IPSEC_INITIAL_CONTACT = 24578,
        R_U_THERE = 36136,
        R_U_THERE_ACK = 36137,
    }
}

impl NotifyType {
    /// RFC 7296 §3.10.1: types below 16384 report errors, the others status.
    pub const fn is_error(self) -> bool {
        self.0 < 16384
    }
}

registry! {
    /// Traffic selector types, RFC 7296 §3.13.1.
    SelectorType(u8) {
        TS_IPV4_ADDR_RANGE = 7,
        TS_IPV6_ADDR_RANGE = 8,
    }
}

registry! {
    /// Configuration payload types, RFC 7296 §3.15.
    ConfigurationType(u8) {
        CFG_REQUEST = 1,
        CFG_REPLY = 2,
        CFG_SET = 3,
        CFG_ACK = 4,
    }
}

registry! {
    /// Configuration attribute types, RFC 7296 §3.15.1.
    AttributeType(u16) {
        INTERNAL_IP4_ADDRESS = 1,
        INTERNAL_IP4_NETMASK = 2,
        INTERNAL_IP4_DNS = 3,
        INTERNAL_IP4_NBNS = 4,
        INTERNAL_IP4_DHCP = 6,
        APPLICATION_VERSION = 7,
        INTERNAL_IP6_ADDRESS = 8,
        INTERNAL_IP6_DNS = 10,
        INTERNAL_IP6_DHCP = 12,
        INTERNAL_IP4_SUBNET = 13,
        SUPPORTED_ATTRIBUTES = 14,
        INTERNAL_IP6_SUBNET = 15,
    }
}

registry! {
    /// Hash algorithms for signatures, RFC 7427 §7 and RFC 8420 §2.
    HashId(u16) {
        SHA1 = 1,
        SHA2_256 = 2,
        SHA2_384 = 3,
        SHA2_512 = 4,
        IDENTITY = 5,
    }
}

impl HashId {
    /// Its hash; `None` for the identity "hash" of Ed25519 and for unknown numbers.
    pub const fn hash(self) -> Option<Hash> {
        match self {
            Self::SHA1 => Some(Hash::Sha1),
            Self::SHA2_256 => Some(Hash::Sha256),
            Self::SHA2_384 => Some(Hash::Sha384),
            Self::SHA2_512 => Some(Hash::Sha512),
            _ => None,
        }
    }

    /// The number of a hash; `None` for MD4 and MD5.
    pub const fn of(hash: Hash) -> Option<Self> {
        match hash {
            Hash::Md4 | Hash::Md5 => None,
            Hash::Sha1 => Some(Self::SHA1),
            Hash::Sha256 => Some(Self::SHA2_256),
            Hash::Sha384 => Some(Self::SHA2_384),
            Hash::Sha512 => Some(Self::SHA2_512),
        }
    }
}

/// RFC 7296 §3.3.2: transform id NONE of the transform types INTEG and KE.
pub const TRANSFORM_NONE: u16 = 0;

/// An algorithm with its own transform id.
pub trait Numbered: Copy + PartialEq + 'static {
    /// Its transform type.
    const KIND: TransformType;

    /// Its transform id.
    fn number(self) -> u16;

    /// The algorithm with this transform id.
    fn from_number(number: u16) -> Option<Self>;
}

/// Implements [`Numbered`] from one table.
macro_rules! numbered {
    ($name:ident, $kind:ident { $($variant:ident = $number:literal),+ $(,)? }) => {
        impl Numbered for $name {
            const KIND: TransformType = TransformType::$kind;

            fn number(self) -> u16 {
                match self { $(Self::$variant => $number),+ }
            }

            fn from_number(number: u16) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

numbered!(Prf, PRF {
    HmacMd5 = 1,
    HmacSha1 = 2,
    AesXcbc128 = 4,
    HmacSha256 = 5,
    HmacSha384 = 6,
    HmacSha512 = 7,
    AesCmac128 = 8,
});

numbered!(Integrity, INTEG {
    HmacMd5_96 = 1,
    HmacSha1_96 = 2,
    AesXcbc96 = 5,
    AesCmac96 = 8,
    HmacSha256_128 = 12,
    HmacSha384_192 = 13,
    HmacSha512_256 = 14,
});

numbered!(Group, KE {
    Modp768 = 1,
    Modp1024 = 2,
    Modp1536 = 5,
    Modp2048 = 14,
    Modp3072 = 15,
    Modp4096 = 16,
    Modp6144 = 17,
    Modp8192 = 18,
    Ecp256 = 19,
    Ecp384 = 20,
    Ecp521 = 21,
    X25519 = 31,
    X448 = 32,
});

/// The transform id of an encryption algorithm and, where the cipher has several, its key length in bits.
pub const fn encryption_number(algorithm: Encryption) -> (u16, Option<u16>) {
    use Encryption as E;
    match algorithm {
        E::TripleDesCbc => (3, None),
        E::Null => (11, None),
        E::Aes128Cbc => (12, Some(128)),
        E::Aes192Cbc => (12, Some(192)),
        E::Aes256Cbc => (12, Some(256)),
        E::Aes128Ctr => (13, Some(128)),
        E::Aes192Ctr => (13, Some(192)),
        E::Aes256Ctr => (13, Some(256)),
        E::Aes128Ccm8 => (14, Some(128)),
        E::Aes256Ccm8 => (14, Some(256)),
        E::Aes128Ccm12 => (15, Some(128)),
        E::Aes256Ccm12 => (15, Some(256)),
        E::Aes128Ccm16 => (16, Some(128)),
        E::Aes192Ccm16 => (16, Some(192)),
        E::Aes256Ccm16 => (16, Some(256)),
        E::Aes128Gcm8 => (18, Some(128)),
        E::Aes256Gcm8 => (18, Some(256)),
        E::Aes128Gcm12 => (19, Some(128)),
        E::Aes256Gcm12 => (19, Some(256)),
        E::Aes128Gcm16 => (20, Some(128)),
        E::Aes192Gcm16 => (20, Some(192)),
        E::Aes256Gcm16 => (20, Some(256)),
        E::Aes128Gmac => (21, Some(128)),
        E::Aes192Gmac => (21, Some(192)),
        E::Aes256Gmac => (21, Some(256)),
        E::ChaCha20Poly1305 => (28, None),
    }
}

/// The encryption algorithm of a transform.
// RFC 7296 §3.3.5: the Key Length attribute is mandatory for ciphers with several key lengths, and must be omitted for the
// others.
pub fn encryption(number: u16, key_length_bits: Option<u16>) -> Option<Encryption> {
    Encryption::ALL
        .iter()
        .copied()
        .find(|&algorithm| encryption_number(algorithm) == (number, key_length_bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_number_of_its_own() {
        for &algorithm in Encryption::ALL {
            let (number, key_length) = encryption_number(algorithm);
            assert_eq!(encryption(number, key_length), Some(algorithm));
            assert!(key_length.is_none_or(|bits| usize::from(bits) == 8 * algorithm.cipher_key_len()));
        }
        fn check<N: Numbered + std::fmt::Debug>(all: &[N]) {
            all.iter().for_each(|&one| assert_eq!(N::from_number(one.number()), Some(one)));
        }
        check(Prf::ALL);
        check(Integrity::ALL);
        check(Group::ALL);
    }

    #[test]
    fn a_key_length_is_neither_omitted_nor_invented() {
        assert_eq!(encryption(12, None), None);
        assert_eq!(encryption(28, Some(256)), None);
        assert_eq!(encryption(12, Some(129)), None);
    }

    #[test]
    fn numbers_print_their_names() {
        assert_eq!(NotifyType::AUTH_LIFETIME.to_string(), "AUTH_LIFETIME");
        assert_eq!(NotifyType(50_000).name(), "unregistered NotifyType");
        assert_eq!(NotifyType(50_000).to_string(), "NotifyType(50000)");
        assert_eq!(PayloadType::ID_I.abbreviation(), "IDi");
        assert!(NotifyType::CHILD_SA_NOT_FOUND.is_error() && !NotifyType::INITIAL_CONTACT.is_error());
    }
}
