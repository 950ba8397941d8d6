//! The family of IKE: its methods, each an entry. Read RFC 7296 §2.15 and §2.16, RFC 2409 §5 first.

mod advice;
mod check;
mod cookies;
mod foreign;
mod options;
pub(crate) mod v1;
pub(crate) mod values;

use std::sync::LazyLock;

use keytoll_crypto_api::algorithm::{KeyKind, Standing};
use keytoll_engine::trace::Node;

use super::{Family, Occasion, REKEYS_CHILD, Unfit};
use crate::catalogue::eap::Proof;
use crate::catalogue::facet::{
    CARD, CERTIFICATES, EAP, EAP_CARD, ESP_MODES, FOREIGN_ENDS, Facet, IPSEC, NAMED_BEFORE_EAP, PASSWORD,
    SERVER_CERTIFICATE, SHARED_KEY, SIGNATURES, SIM, TLS, USIM,
};
use crate::catalogue::suites::{DEFAULT_IKE, DEFAULT_IKEV1};
use crate::catalogue::{EAP_METHODS, EapMethod, Method};
pub use options::{CookiePolicy, GatewayAuth, Options, Retransmission};

/// IKEv2 and IKEv1.
pub static FAMILY: Family = Family {
    name: "ike",
    is_example: false,
    methods: || &METHODS,
    settings: options::SETTINGS,
    check: |settings, method, blame, _| check::check(settings, method, blame),
    foreign_limits: foreign::LIMITS,
    profile_suites: |method| if method.phase1().is_some() { &IKEV1_PROFILE_SUITES } else { &[] },
    key_kind: options::key_kind,
    groups: |_, _| &[],
    advice: advice::of,
    asks_for: |row| Some(row.options.ike.retransmission.total()),
    cookies_from: cookies::from,
    without: |_| &[],
    simulated_only: |_| None,
    populates: |row, _| if row.options.ike.raw_keys { Err(RAW_KEYS) } else { Ok(()) },
    occasions: &[
        Occasion { key: "rekey_ike", after: |row| row.options.ike.rekey_after, is_of_devices: true },
        REKEYS_CHILD,
    ],
    unmixed: None,
};

const RAW_KEYS: Unfit = Unfit {
    key: Some("raw_keys"),
    why: "raw keys of many devices are not built yet",
    hint: "leave `raw_keys` out: devices then show certificates",
};

/// The columns of paper 004, with the group that its Openswan offered first.
const IKEV1_PROFILE_SUITES: [&str; 3] = ["3des-md5-modp1536", "aes128-md5-modp1536", "aes256-md5-modp1536"];

/// What IKE knows of a method besides what every family does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The exchange of IKEv1's phase 1; none: it is IKEv2.
    pub phase1: Option<Phase1>,
    /// How the device proves itself.
    pub auth: Auth,
}

/// The exchange of IKEv1's phase 1 (RFC 2409 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase1 {
    /// Six messages, identities protected.
    Main,
    /// Three messages, identities in the clear.
    Aggressive,
}

impl Phase1 {
    /// What people call it, and what they should know of it.
    pub const fn described(self) -> &'static str {
        match self {
            Self::Main => "main mode",
            Self::Aggressive => "aggressive mode, which shows identities to everybody",
        }
    }
}

/// How the device proves itself; the gateway does the same, but for EAP (RFC 7296 §2.15, §2.16; RFC 2409 §5.1, §5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Auth {
    /// With a shared key.
    SharedKey,
    /// With a signature.
    Signature,
    /// With EAP, relayed over RADIUS.
    Eap,
}

impl Method {
    /// The exchange of phase 1, if it is a method of IKEv1.
    pub fn phase1(&self) -> Option<Phase1> {
        self.own::<Exchange>().and_then(|exchange| exchange.phase1)
    }
}

/// Every method of IKE.
static IKE: Facet = Facet { whom: "IKE", noun: "IKE" };
static IKEV2: Facet = Facet { whom: "IKEv2", noun: "IKEv2" };
static IKEV1: Facet = Facet { whom: "IKEv1", noun: "IKEv1" };
static IKEV1_RSA: Facet = Facet { whom: "IKEv1 with RSA", noun: "IKEv1 and RSA" };
static IKEV2_SIGNATURES: Facet = Facet { whom: "IKEv2 with signatures", noun: "signatures of IKEv2" };
static IKEV2_EAP: Facet = Facet { whom: "IKEv2 with EAP", noun: "IKEv2 and EAP" };

/// The kinds of keys that a method of IKEv2 is named after, with its name, what is said of it, and its documents.
const SIGNING: [(KeyKind, &str, &str, &str); 8] = [
    (KeyKind::Rsa1024, "ikev2-rsa1024", "RSA 1024 bits", RFC_7427),
    (KeyKind::Rsa2048, "ikev2-rsa2048", "RSA 2048 bits", RFC_7427),
    (KeyKind::Rsa3072, "ikev2-rsa3072", "RSA 3072 bits", RFC_7427),
    (KeyKind::Rsa4096, "ikev2-rsa4096", "RSA 4096 bits", RFC_7427),
    (KeyKind::EcdsaP256, "ikev2-ecdsa-p256", "ECDSA P-256", RFC_7427),
    (KeyKind::EcdsaP384, "ikev2-ecdsa-p384", "ECDSA P-384", RFC_7427),
    (KeyKind::EcdsaP521, "ikev2-ecdsa-p521", "ECDSA P-521", RFC_7427),
    (KeyKind::Ed25519, "ikev2-ed25519", "Ed25519", "RFC 7296 §2.15, RFC 7427, RFC 8420"),
];

const RFC_7427: &str = "RFC 7296 §2.15, RFC 7427";

static METHODS: LazyLock<Vec<Method>> = LazyLock::new(|| {
    let mut methods = vec![ikev2_psk()];
    methods.extend(SIGNING.map(|(key, name, of_key, source)| signing(key, name, of_key, source)));
    methods.extend(EAP_METHODS.iter().map(with_eap));
    methods.extend([
        ikev1_psk("ikev1-main-psk", "IKEv1 main mode, shared key", &MAIN_PSK, Standing::Good),
        ikev1_rsa("ikev1-main-rsa", "IKEv1 main mode", &MAIN_RSA),
        // RFC 2409 §5.4 hashes the shared key in the clear: who listens, or asks, may guess it offline (CVE-2002-1623).
        ikev1_psk(
            "ikev1-aggressive-psk",
            "IKEv1 aggressive mode, shared key",
            &AGGRESSIVE_PSK,
            Standing::Weak,
        ),
        ikev1_rsa("ikev1-aggressive-rsa", "IKEv1 aggressive mode", &AGGRESSIVE_RSA),
    ]);
    methods
});

static IKEV2_PSK: Exchange = Exchange { phase1: None, auth: Auth::SharedKey };
static SIGNATURE: Exchange = Exchange { phase1: None, auth: Auth::Signature };
static OF_EAP: Exchange = Exchange { phase1: None, auth: Auth::Eap };
static MAIN_PSK: Exchange = Exchange { phase1: Some(Phase1::Main), auth: Auth::SharedKey };
static MAIN_RSA: Exchange = Exchange { phase1: Some(Phase1::Main), auth: Auth::Signature };
static AGGRESSIVE_PSK: Exchange = Exchange { phase1: Some(Phase1::Aggressive), auth: Auth::SharedKey };
static AGGRESSIVE_RSA: Exchange = Exchange { phase1: Some(Phase1::Aggressive), auth: Auth::Signature };

fn ikev2_psk() -> Method {
    Method {
        name: "ikev2-psk",
        summary: "IKEv2, shared key".to_owned(),
        source: "RFC 7296 §2.15".to_owned(),
        family: &FAMILY,
        nodes: &[Node::Ue, Node::Gw],
        facets: vec![&IKE, &IPSEC, &ESP_MODES, &FOREIGN_ENDS, &IKEV2, &SHARED_KEY],
        eap: None,
        key: None,
        suite: Some(DEFAULT_IKE),
        standing: Standing::Good,
        own: &IKEV2_PSK,
    }
}

/// Both sides sign with keys of a kind.
fn signing(key: KeyKind, name: &'static str, of_key: &str, source: &str) -> Method {
    Method {
        name,
        summary: format!("IKEv2, certificates, {of_key}"),
        source: source.to_owned(),
        facets: vec![
            &IKE,
            &IPSEC,
            &ESP_MODES,
            &FOREIGN_ENDS,
            &IKEV2,
            &SIGNATURES,
            &SERVER_CERTIFICATE,
            &IKEV2_SIGNATURES,
            &CERTIFICATES,
        ],
        key: Some(key),
        own: &SIGNATURE,
        ..ikev2_psk()
    }
}

/// The device proves itself with EAP, the gateway with an RSA-2048 certificate (RFC 7296 §2.16).
fn with_eap(eap: &'static EapMethod) -> Method {
    let remark = if eap.remark.is_empty() { String::new() } else { format!(", {}", eap.remark) };
    let mut facets = vec![
        &IKE,
        &IPSEC,
        &ESP_MODES,
        &FOREIGN_ENDS,
        &IKEV2,
        &SIGNATURES,
        &SERVER_CERTIFICATE,
        &IKEV2_SIGNATURES,
        &EAP,
        &NAMED_BEFORE_EAP,
        &IKEV2_EAP,
    ];
    if eap.has_tls {
        facets.extend([&CERTIFICATES, &TLS]);
    }
    let of_proof: &[&Facet] = match eap.proof {
        Proof::Password => &[&PASSWORD],
        Proof::Sim => &[&CARD, &EAP_CARD, &SIM],
        Proof::Usim => &[&CARD, &EAP_CARD, &USIM],
        Proof::Certificate => &[],
    };
    facets.extend(of_proof);
    Method {
        name: eap.method,
        summary: format!("IKEv2, {} over RADIUS{remark}", eap.title),
        source: format!("RFC 7296 §2.16, {}", eap.source),
        nodes: match eap.has_card() {
            true => &[Node::Ue, Node::Gw, Node::Aaa, Node::Hss],
            false => &[Node::Ue, Node::Gw, Node::Aaa],
        },
        facets,
        eap: Some(eap),
        key: Some(KeyKind::Rsa2048),
        standing: if eap.shows_password { Standing::Weak } else { Standing::Good },
        own: &OF_EAP,
        ..ikev2_psk()
    }
}

fn ikev1_psk(name: &'static str, summary: &str, own: &'static Exchange, standing: Standing) -> Method {
    Method {
        name,
        summary: summary.to_owned(),
        source: "RFC 2409 §5.4".to_owned(),
        facets: vec![&IKE, &IPSEC, &ESP_MODES, &FOREIGN_ENDS, &IKEV1, &SHARED_KEY],
        suite: Some(DEFAULT_IKEV1),
        standing,
        own,
        ..ikev2_psk()
    }
}

/// How long the keys are and whether certificates carry them are options.
fn ikev1_rsa(name: &'static str, mode: &str, own: &'static Exchange) -> Method {
    Method {
        source: "RFC 2409 §5.1".to_owned(),
        facets: vec![
            &IKE,
            &IPSEC,
            &ESP_MODES,
            &FOREIGN_ENDS,
            &IKEV1,
            &SIGNATURES,
            &SERVER_CERTIFICATE,
            &IKEV1_RSA,
            &CERTIFICATES,
        ],
        key: Some(KeyKind::Rsa2048),
        ..ikev1_psk(
            name,
            &format!("{mode}, RSA signatures, 2048 bits unless `rsa_bits`"),
            own,
            Standing::Good,
        )
    }
}
