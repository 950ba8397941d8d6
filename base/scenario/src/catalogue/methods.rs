//! The authentication methods keytoll can run today.

use keytoll_engine::algorithm::{KeyKind, Standing};

use super::Entry;

/// How device and gateway authenticate each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// IKEv2 with a shared key (RFC 7296 §2.15).
    Ikev2Psk,
    /// IKEv2 with certificates and signatures on both sides (RFC 7296 §2.15, RFC 7427).
    Ikev2Signature(KeyKind),
    /// IKEv2 with EAP for the device, relayed over RADIUS, and an RSA-2048 certificate for the gateway (RFC 7296 §2.16).
    Ikev2Eap(EapKind),
    /// IKEv1 with a shared key (RFC 2409 §5.4).
    Ikev1Psk(Phase1),
    /// IKEv1 with RSA signatures on both sides (RFC 2409 §5.1); how long the keys are and whether certificates carry them
    /// are options.
    Ikev1Rsa(Phase1),
}

/// The exchange of IKEv1's phase 1 (RFC 2409 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase1 {
    /// Six messages, identities protected.
    Main,
    /// Three messages, identities in the clear.
    Aggressive,
}

/// What the device and the AAA server run inside EAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EapKind {
    /// MD5-Challenge (RFC 3748 §5.4).
    Md5,
    /// MSCHAPv2 (RFC 2759).
    MschapV2,
    /// EAP-SIM with three triplets (RFC 4186).
    Sim,
    /// EAP-AKA (RFC 4187).
    Aka,
    /// EAP-AKA' (RFC 9048).
    AkaPrime,
    /// EAP-TLS (RFC 5216, RFC 9190).
    Tls,
    /// EAP-TTLS with MD5 inside (RFC 5281).
    TtlsMd5,
    /// PEAPv0 with EAP-MSCHAPv2 inside (\[MS-PEAP\]).
    PeapMschapV2,
}

impl Method {
    /// Every method, in the order of the catalogue.
    pub const ALL: [Self; 21] = [
        Self::Ikev2Psk,
        Self::Ikev2Signature(KeyKind::Rsa1024),
        Self::Ikev2Signature(KeyKind::Rsa2048),
        Self::Ikev2Signature(KeyKind::Rsa3072),
        Self::Ikev2Signature(KeyKind::Rsa4096),
        Self::Ikev2Signature(KeyKind::EcdsaP256),
        Self::Ikev2Signature(KeyKind::EcdsaP384),
        Self::Ikev2Signature(KeyKind::EcdsaP521),
        Self::Ikev2Signature(KeyKind::Ed25519),
        Self::Ikev2Eap(EapKind::Md5),
        Self::Ikev2Eap(EapKind::MschapV2),
        Self::Ikev2Eap(EapKind::Sim),
        Self::Ikev2Eap(EapKind::Aka),
        Self::Ikev2Eap(EapKind::AkaPrime),
        Self::Ikev2Eap(EapKind::Tls),
        Self::Ikev2Eap(EapKind::TtlsMd5),
        Self::Ikev2Eap(EapKind::PeapMschapV2),
        Self::Ikev1Psk(Phase1::Main),
        Self::Ikev1Rsa(Phase1::Main),
        Self::Ikev1Psk(Phase1::Aggressive),
        Self::Ikev1Rsa(Phase1::Aggressive),
    ];

    /// The name used in scenarios, files and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ikev2Psk => "ikev2-psk",
            Self::Ikev2Signature(KeyKind::Rsa1024) => "ikev2-rsa1024",
            Self::Ikev2Signature(KeyKind::Rsa2048) => "ikev2-rsa2048",
            Self::Ikev2Signature(KeyKind::Rsa3072) => "ikev2-rsa3072",
            Self::Ikev2Signature(KeyKind::Rsa4096) => "ikev2-rsa4096",
            Self::Ikev2Signature(KeyKind::EcdsaP256) => "ikev2-ecdsa-p256",
            Self::Ikev2Signature(KeyKind::EcdsaP384) => "ikev2-ecdsa-p384",
            Self::Ikev2Signature(KeyKind::EcdsaP521) => "ikev2-ecdsa-p521",
            Self::Ikev2Signature(KeyKind::Ed25519) => "ikev2-ed25519",
            Self::Ikev2Eap(EapKind::Md5) => "ikev2-eap-md5",
            Self::Ikev2Eap(EapKind::MschapV2) => "ikev2-eap-mschapv2",
            Self::Ikev2Eap(EapKind::Sim) => "ikev2-eap-sim",
            Self::Ikev2Eap(EapKind::Aka) => "ikev2-eap-aka",
            Self::Ikev2Eap(EapKind::AkaPrime) => "ikev2-eap-aka-prime",
            Self::Ikev2Eap(EapKind::Tls) => "ikev2-eap-tls",
            Self::Ikev2Eap(EapKind::TtlsMd5) => "ikev2-eap-ttls-md5",
            Self::Ikev2Eap(EapKind::PeapMschapV2) => "ikev2-eap-peap-mschapv2",
            Self::Ikev1Psk(Phase1::Main) => "ikev1-main-psk",
            Self::Ikev1Rsa(Phase1::Main) => "ikev1-main-rsa",
            Self::Ikev1Psk(Phase1::Aggressive) => "ikev1-aggressive-psk",
            Self::Ikev1Rsa(Phase1::Aggressive) => "ikev1-aggressive-rsa",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The kind of the keys that sign, unless the options say another; none without signatures.
    pub const fn key_kind(self) -> Option<KeyKind> {
        match self {
            Self::Ikev2Psk | Self::Ikev1Psk(_) => None,
            Self::Ikev2Signature(kind) => Some(kind),
            Self::Ikev2Eap(_) | Self::Ikev1Rsa(_) => Some(KeyKind::Rsa2048),
        }
    }

    /// The keys that a method of IKEv2 is named after.
    pub const SIGNATURE_KEYS: [KeyKind; 8] = [
        KeyKind::Rsa1024,
        KeyKind::Rsa2048,
        KeyKind::Rsa3072,
        KeyKind::Rsa4096,
        KeyKind::EcdsaP256,
        KeyKind::EcdsaP384,
        KeyKind::EcdsaP521,
        KeyKind::Ed25519,
    ];

    /// Whether `chain` means something: certificates of both sides in IKE or in TLS, of the server alone in TTLS and
    /// PEAP.
    pub const fn has_chain(self) -> bool {
        matches!(self, Self::Ikev2Signature(_) | Self::Ikev1Rsa(_)) || self.has_tls()
    }

    /// The exchange of phase 1, if it is IKEv1.
    pub const fn phase1(self) -> Option<Phase1> {
        match self {
            Self::Ikev1Psk(phase1) | Self::Ikev1Rsa(phase1) => Some(phase1),
            Self::Ikev2Psk | Self::Ikev2Signature(_) | Self::Ikev2Eap(_) => None,
        }
    }

    /// Whether device and gateway share a key and nothing else.
    pub const fn is_psk(self) -> bool {
        matches!(self, Self::Ikev2Psk | Self::Ikev1Psk(_))
    }

    /// How much trust the exchange itself deserves, whatever the algorithms.
    pub const fn standing(self) -> Standing {
        match self {
            // RFC 2409 §5.4 hashes the shared key in the clear: who listens, or asks, may guess it offline (CVE-2002-1623).
            Self::Ikev1Psk(Phase1::Aggressive) => Standing::Weak,
            _ => Standing::Good,
        }
    }

    /// Whether TLS runs inside EAP.
    pub const fn has_tls(self) -> bool {
        matches!(self, Self::Ikev2Eap(EapKind::Tls | EapKind::TtlsMd5 | EapKind::PeapMschapV2))
    }

    /// Whether the device proves itself with a SIM or USIM, so that the HSS is asked for vectors.
    pub const fn has_card(self) -> bool {
        matches!(self, Self::Ikev2Eap(EapKind::Sim | EapKind::Aka | EapKind::AkaPrime))
    }

    /// What runs inside EAP.
    pub const fn eap(self) -> Option<EapKind> {
        match self {
            Self::Ikev2Eap(kind) => Some(kind),
            Self::Ikev2Psk | Self::Ikev2Signature(_) | Self::Ikev1Psk(_) | Self::Ikev1Rsa(_) => None,
        }
    }

    const fn summary(self) -> &'static str {
        match self {
            Self::Ikev2Psk => "IKEv2, shared key",
            Self::Ikev2Signature(KeyKind::Rsa1024) => "IKEv2, certificates, RSA 1024 bits",
            Self::Ikev2Signature(KeyKind::Rsa2048) => "IKEv2, certificates, RSA 2048 bits",
            Self::Ikev2Signature(KeyKind::Rsa3072) => "IKEv2, certificates, RSA 3072 bits",
            Self::Ikev2Signature(KeyKind::Rsa4096) => "IKEv2, certificates, RSA 4096 bits",
            Self::Ikev2Signature(KeyKind::EcdsaP256) => "IKEv2, certificates, ECDSA P-256",
            Self::Ikev2Signature(KeyKind::EcdsaP384) => "IKEv2, certificates, ECDSA P-384",
            Self::Ikev2Signature(KeyKind::EcdsaP521) => "IKEv2, certificates, ECDSA P-521",
            Self::Ikev2Signature(KeyKind::Ed25519) => "IKEv2, certificates, Ed25519",
            Self::Ikev2Eap(EapKind::Md5) => "IKEv2, EAP-MD5 over RADIUS",
            Self::Ikev2Eap(EapKind::MschapV2) => "IKEv2, EAP-MSCHAPv2 over RADIUS",
            Self::Ikev2Eap(EapKind::Sim) => "IKEv2, EAP-SIM over RADIUS, three triplets",
            Self::Ikev2Eap(EapKind::Aka) => "IKEv2, EAP-AKA over RADIUS",
            Self::Ikev2Eap(EapKind::AkaPrime) => "IKEv2, EAP-AKA' over RADIUS",
            Self::Ikev2Eap(EapKind::Tls) => "IKEv2, EAP-TLS over RADIUS, RSA 2048 bits",
            Self::Ikev2Eap(EapKind::TtlsMd5) => "IKEv2, EAP-TTLS with MD5 over RADIUS, RSA 2048 bits",
            Self::Ikev2Eap(EapKind::PeapMschapV2) => "IKEv2, PEAP with MSCHAPv2 over RADIUS, RSA 2048 bits",
            Self::Ikev1Psk(Phase1::Main) => "IKEv1 main mode, shared key",
            Self::Ikev1Rsa(Phase1::Main) => "IKEv1 main mode, RSA signatures, 2048 bits unless `rsa_bits`",
            Self::Ikev1Psk(Phase1::Aggressive) => "IKEv1 aggressive mode, shared key",
            Self::Ikev1Rsa(Phase1::Aggressive) => {
                "IKEv1 aggressive mode, RSA signatures, 2048 bits unless `rsa_bits`"
            }
        }
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Ikev2Psk => "RFC 7296 §2.15",
            Self::Ikev2Signature(KeyKind::Ed25519) => "RFC 7296 §2.15, RFC 7427, RFC 8420",
            Self::Ikev2Signature(_) => "RFC 7296 §2.15, RFC 7427",
            Self::Ikev2Eap(EapKind::Md5) => "RFC 7296 §2.16, RFC 3748 §5.4",
            Self::Ikev2Eap(EapKind::MschapV2) => "RFC 7296 §2.16, RFC 2759",
            Self::Ikev2Eap(EapKind::Sim) => "RFC 7296 §2.16, RFC 4186",
            Self::Ikev2Eap(EapKind::Aka) => "RFC 7296 §2.16, RFC 4187",
            Self::Ikev2Eap(EapKind::AkaPrime) => "RFC 7296 §2.16, RFC 9048",
            Self::Ikev2Eap(EapKind::Tls) => "RFC 7296 §2.16, RFC 5216, RFC 9190",
            Self::Ikev2Eap(EapKind::TtlsMd5) => "RFC 7296 §2.16, RFC 5281",
            Self::Ikev2Eap(EapKind::PeapMschapV2) => "RFC 7296 §2.16, [MS-PEAP]",
            Self::Ikev1Psk(_) => "RFC 2409 §5.4",
            Self::Ikev1Rsa(_) => "RFC 2409 §5.1",
        }
    }

    /// How the list shows it.
    pub(super) fn entry(self) -> Entry {
        Entry {
            name: self.name().to_owned(),
            summary: self.summary().to_owned(),
            source: self.source().to_owned(),
            standing: self
                .key_kind()
                .map_or(self.standing(), |kind| kind.standing().max(self.standing()))
                .mark(),
        }
    }
}
