//! The authentication methods keytoll can run today.

use keytoll_crypto_api::algorithm::{KeyKind, Standing};

use super::Entry;
use super::eap::{EAP_METHODS, EapMethod};

/// How device and gateway authenticate each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// IKEv2 with a shared key (RFC 7296 §2.15).
    Ikev2Psk,
    /// IKEv2 with certificates and signatures on both sides (RFC 7296 §2.15, RFC 7427).
    Ikev2Signature(KeyKind),
    /// IKEv2 with EAP for the device, relayed over RADIUS, and an RSA-2048 certificate for the gateway (RFC 7296 §2.16).
    Ikev2Eap(&'static EapMethod),
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

impl Method {
    /// Every method, in the order of the catalogue.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        let signing = Self::SIGNATURE_KEYS.into_iter().map(Self::Ikev2Signature);
        let of_ikev2 = std::iter::once(Self::Ikev2Psk).chain(signing);
        let of_ikev1 = [Phase1::Main, Phase1::Aggressive].into_iter();
        let of_ikev1 = of_ikev1.flat_map(|phase1| [Self::Ikev1Psk(phase1), Self::Ikev1Rsa(phase1)]);
        of_ikev2.chain(EAP_METHODS.iter().map(Self::Ikev2Eap)).chain(of_ikev1)
    }

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
            Self::Ikev2Eap(eap) => eap.ikev2,
            Self::Ikev1Psk(Phase1::Main) => "ikev1-main-psk",
            Self::Ikev1Rsa(Phase1::Main) => "ikev1-main-rsa",
            Self::Ikev1Psk(Phase1::Aggressive) => "ikev1-aggressive-psk",
            Self::Ikev1Rsa(Phase1::Aggressive) => "ikev1-aggressive-rsa",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|method| method.name() == name)
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
        matches!(self, Self::Ikev2Eap(eap) if eap.has_tls)
    }

    /// Whether the device proves itself with a SIM or USIM, so that the HSS is asked for vectors.
    pub const fn has_card(self) -> bool {
        matches!(self, Self::Ikev2Eap(eap) if eap.has_card())
    }

    /// The EAP method, if there is one.
    pub const fn eap(self) -> Option<&'static EapMethod> {
        match self {
            Self::Ikev2Eap(eap) => Some(eap),
            Self::Ikev2Psk | Self::Ikev2Signature(_) | Self::Ikev1Psk(_) | Self::Ikev1Rsa(_) => None,
        }
    }

    fn summary(self) -> String {
        let text = match self {
            Self::Ikev2Psk => "IKEv2, shared key",
            Self::Ikev2Signature(KeyKind::Rsa1024) => "IKEv2, certificates, RSA 1024 bits",
            Self::Ikev2Signature(KeyKind::Rsa2048) => "IKEv2, certificates, RSA 2048 bits",
            Self::Ikev2Signature(KeyKind::Rsa3072) => "IKEv2, certificates, RSA 3072 bits",
            Self::Ikev2Signature(KeyKind::Rsa4096) => "IKEv2, certificates, RSA 4096 bits",
            Self::Ikev2Signature(KeyKind::EcdsaP256) => "IKEv2, certificates, ECDSA P-256",
            Self::Ikev2Signature(KeyKind::EcdsaP384) => "IKEv2, certificates, ECDSA P-384",
            Self::Ikev2Signature(KeyKind::EcdsaP521) => "IKEv2, certificates, ECDSA P-521",
            Self::Ikev2Signature(KeyKind::Ed25519) => "IKEv2, certificates, Ed25519",
            Self::Ikev2Eap(eap) if eap.remark.is_empty() => {
                return format!("IKEv2, {} over RADIUS", eap.title);
            }
            Self::Ikev2Eap(eap) => return format!("IKEv2, {} over RADIUS, {}", eap.title, eap.remark),
            Self::Ikev1Psk(Phase1::Main) => "IKEv1 main mode, shared key",
            Self::Ikev1Rsa(Phase1::Main) => "IKEv1 main mode, RSA signatures, 2048 bits unless `rsa_bits`",
            Self::Ikev1Psk(Phase1::Aggressive) => "IKEv1 aggressive mode, shared key",
            Self::Ikev1Rsa(Phase1::Aggressive) => {
                "IKEv1 aggressive mode, RSA signatures, 2048 bits unless `rsa_bits`"
            }
        };
        text.to_owned()
    }

    fn source(self) -> String {
        let text = match self {
            Self::Ikev2Psk => "RFC 7296 §2.15",
            Self::Ikev2Signature(KeyKind::Ed25519) => "RFC 7296 §2.15, RFC 7427, RFC 8420",
            Self::Ikev2Signature(_) => "RFC 7296 §2.15, RFC 7427",
            Self::Ikev2Eap(eap) => return format!("RFC 7296 §2.16, {}", eap.source),
            Self::Ikev1Psk(_) => "RFC 2409 §5.4",
            Self::Ikev1Rsa(_) => "RFC 2409 §5.1",
        };
        text.to_owned()
    }

    /// How the list shows it.
    pub(super) fn entry(self) -> Entry {
        Entry {
            name: self.name().to_owned(),
            summary: self.summary(),
            source: self.source(),
            standing: self
                .key_kind()
                .map_or(self.standing(), |kind| kind.standing().max(self.standing()))
                .mark(),
        }
    }
}
