//! The options that only IKE has: how its SAs are set up, proved, kept and repeated.

use std::time::Duration;

use keytoll_crypto_api::algorithm::{KeyKind, SignatureScheme};
use keytoll_crypto_api::suite::Suite;

use super::values::{ike_fit, signatures};
use super::{IKE, IKEV1, IKEV1_RSA, IKEV2_EAP, IKEV2_SIGNATURES, SIGNING as KEYS};
use crate::catalogue::facet::{EAP, SIGNATURES as SIGNING};
use crate::catalogue::suites::DEFAULT_IKE;
use crate::catalogue::{Fault, Method};
use crate::diagnostic::ScenarioError;
use crate::families;
use crate::options::settings::SUITE;
use crate::options::{BOOLEAN, Setting, field, list, print_rekey, quoted};
use crate::quantity;
use crate::resolve::values::{fragmentation, rekey, suites, wait, whole_seconds};
use crate::tree::{Item, Value};

/// What a row can vary of IKE.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How long the gateway lets an authentication count (RFC 4478 AUTH_LIFETIME), whole seconds.
    pub reauth_lifetime: Duration,
    /// Signatures that IKEv2 makes, best first; none: what is usual for the keys. Only for methods where one signs.
    pub signatures: Option<Vec<SignatureScheme>>,
    /// How long the RSA keys of IKEv1 are.
    pub rsa_bits: KeyKind,
    /// Whether both sides of IKEv1 know each other's public key beforehand and send no certificate.
    pub raw_keys: bool,
    /// Whether quick mode of IKEv1 agrees a key of its own, in the group of the IKE suite (RFC 2409 §5.5).
    pub pfs: bool,
    /// Whether the IKE SA is set up without a child (RFC 6023).
    pub childless: bool,
    /// Longest IP packet with an IKE fragment (RFC 7383); none: no fragmentation by IKE.
    pub fragment_bytes: Option<u16>,
    /// When the gateway asks for a cookie.
    pub cookies: CookiePolicy,
    /// How many half-open IKE SAs the gateway keeps, and how many conversations the AAA server, which has at least 10 000.
    pub half_open_max: u32,
    /// When the IKE SA is given new keys; none: never.
    pub rekey_after: Option<Duration>,
    /// How the gateway proves itself to a device that uses EAP.
    pub gateway_auth: GatewayAuth,
    /// What kind of key its certificate has then.
    pub gateway_key: KeyKind,
    /// Whether the device asks for an address inside.
    pub virtual_address: bool,
    /// When a request is repeated.
    pub retransmission: Retransmission,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            reauth_lifetime: Duration::from_secs(8),
            signatures: None,
            rsa_bits: KeyKind::Rsa2048,
            raw_keys: false,
            pfs: false,
            childless: false,
            fragment_bytes: Some(1280),
            cookies: CookiePolicy::Auto,
            half_open_max: 1000,
            rekey_after: None,
            gateway_auth: GatewayAuth::Certificate,
            gateway_key: KeyKind::Rsa2048,
            virtual_address: false,
            retransmission: Retransmission::default(),
        }
    }
}

pub(super) const SIGNATURES: &str = "signatures";
/// Of the gateway's certificate.
pub(super) const GATEWAY_KEY: &str = "certificate";
/// The signatures that fit the key.
const USUAL: &str = "usual";

/// Every key, in the order in which it is printed.
pub(super) static SETTINGS: &[Setting] = &[
    Setting::new(
        SUITE,
        &["SUITE, …"],
        "suites offered for the IKE SA, in order of preference",
        field!(suites, |item| suites(item, Suite::ike, ike_fit).map(Some), |suites| suites
            .as_deref()
            .map_or_else(|| format!("[\"{DEFAULT_IKE}\"]"), list)),
    )
    .of(&IKE),
    Setting::new(
        SIGNATURES,
        &["usual", "SIGNATURE, …"],
        "signatures of IKEv2, in order of preference",
        field!(options.ike.signatures, named_signatures, |schemes| {
            schemes.as_deref().map_or_else(|| quoted(USUAL), list)
        }),
    )
    .of(&IKEV2_SIGNATURES)
    .needs(
        families::Options::has_ike_signatures,
        "without `gateway_auth = \"certificate\"`: nobody signs in IKE",
    ),
    Setting::new(
        "rsa_bits",
        &["1024", "2048", "3072", "4096"],
        "length of the RSA keys of IKEv1",
        field!(options.ike.rsa_bits, rsa_bits, |kind| rsa_length(*kind).to_string()),
    )
    .of(&IKEV1_RSA),
    Setting::new(
        "raw_keys",
        BOOLEAN,
        "each side knows the other's public key beforehand, nobody sends a certificate",
        field!(options.ike.raw_keys, Item::boolean, ToString::to_string),
    )
    .of(&IKEV1_RSA),
    Setting::new(
        "pfs",
        BOOLEAN,
        "quick mode agrees a key of its own",
        field!(options.ike.pfs, Item::boolean, ToString::to_string),
    )
    .of(&IKEV1),
    Setting::new(
        "childless",
        BOOLEAN,
        "an IKE SA without a child (RFC 6023)",
        field!(options.ike.childless, Item::boolean, ToString::to_string),
    )
    .of(&IKE)
    .but_for(
        &IKEV1,
        |options| options.ike.childless,
        "an SA without a child (RFC 6023) is IKEv2's",
        "leave it out",
    ),
    Setting::new(
        "fragmentation",
        &["true", "false", "576 B to 65535 B"],
        "longest IP packet with an IKE fragment (RFC 7383)",
        field!(options.ike.fragment_bytes, fragmentation, |bytes| {
            bytes.map_or_else(|| "false".to_owned(), |bytes| quoted(&quantity::size(bytes.into())))
        }),
    )
    .of(&IKE)
    .but_for(
        &IKEV1,
        |options| ![None, Options::default().fragment_bytes].contains(&options.ike.fragment_bytes),
        "IKE fragmentation (RFC 7383) is IKEv2's",
        "leave it out",
    ),
    Setting::new(
        "cookies",
        &["auto", "always", "never"],
        "when the gateway asks for a cookie",
        field!(
            options.ike.cookies,
            |item| item.pick("cookie policy", &CookiePolicy::ALL, CookiePolicy::name),
            |policy| quoted(policy.name())
        ),
    )
    .of(&IKE)
    .but_for(
        &IKEV1,
        |options| options.ike.cookies == CookiePolicy::Always,
        "IKEv1 has no cookies to ask for: what it calls so are the names of its SAs",
        "leave it out",
    ),
    Setting::new(
        "half_open_max",
        &["1 to 10000000"],
        "half-open IKE SAs that the gateway keeps",
        field!(
            options.ike.half_open_max,
            |item| item.integer(1..=10_000_000).map(|max| max as u32),
            ToString::to_string
        ),
    )
    .of(&IKE),
    Setting::new(
        "reauth_lifetime",
        &["1 s to 4294967295 s"],
        "how long an authentication counts, in whole seconds (RFC 4478)",
        field!(options.ike.reauth_lifetime, whole_seconds, |time| quoted(&quantity::duration(*time))),
    )
    .of(&IKE),
    Setting::new(
        "rekey_ike",
        &["never", "100 ms to 31536000 s"],
        "when the IKE SA is given new keys",
        field!(options.ike.rekey_after, rekey, print_rekey),
    )
    .of(&IKE)
    .but_for(
        &IKEV1,
        |options| options.ike.rekey_after.is_some(),
        "IKEv1 gives no new keys to an ISAKMP SA: it authenticates again",
        "`reauth_lifetime` says when",
    ),
    Setting::new(
        "gateway_auth",
        &["certificate", "psk", "eap-only"],
        "how the gateway proves itself to a device that uses EAP",
        field!(
            options.ike.gateway_auth,
            |item| item.pick("way to prove itself", &GatewayAuth::ALL, GatewayAuth::name),
            |way| quoted(way.name())
        ),
    )
    .of(&IKEV2_EAP),
    Setting::new(
        GATEWAY_KEY,
        &["rsa1024", "rsa2048", "rsa3072", "rsa4096", "ecdsa-p256", "ecdsa-p384", "ecdsa-p521", "ed25519"],
        "kind of key in the gateway's certificate",
        field!(
            options.ike.gateway_key,
            |item| item.pick("kind of key", &KEYS.map(|(kind, ..)| kind), KeyKind::name),
            |kind| quoted(kind.name())
        ),
    )
    .of(&IKEV2_EAP),
    Setting::new(
        "virtual_address",
        BOOLEAN,
        "the device asks for an address inside",
        field!(options.ike.virtual_address, Item::boolean, ToString::to_string),
    )
    .of(&IKE)
    .but_for(
        &IKEV1,
        |options| options.ike.virtual_address,
        "an inner address (Mode Config) is an extension of IKEv1 that keytoll does not have",
        "leave it out",
    ),
    Setting::new(
        "retransmit_first",
        &["1 ms to 600 s"],
        "wait before a request is repeated for the first time",
        field!(options.ike.retransmission.first, wait, |time| quoted(&quantity::duration(*time))),
    )
    .of(&IKE),
    Setting::new(
        "retransmit_base",
        &["1.0 to 10.0"],
        "each further wait is so many times the one before",
        field!(options.ike.retransmission.base, |item| item.number(&(1.0..=10.0)), |base| format!(
            "{base:?}"
        )),
    )
    .of(&IKE),
    Setting::new(
        "retransmit_tries",
        &["0 to 100"],
        "how often a request is repeated",
        field!(
            options.ike.retransmission.tries,
            |item| item.integer(0..=100).map(|tries| tries as u8),
            ToString::to_string
        ),
    )
    .of(&IKE),
];

impl Options {
    /// The kinds that `rsa_bits` can name.
    pub const RSA_KEYS: [KeyKind; 4] =
        [KeyKind::Rsa1024, KeyKind::Rsa2048, KeyKind::Rsa3072, KeyKind::Rsa4096];
}

/// `"usual"`, or schemes in order of preference.
fn named_signatures(item: &Item) -> Result<Option<Vec<SignatureScheme>>, ScenarioError> {
    if matches!(&item.value, Value::Text(word) if word == USUAL) {
        return Ok(None);
    }
    signatures(item).map(Some)
}

/// A length of RSA keys that is in the catalogue.
fn rsa_bits(item: &Item) -> Result<KeyKind, ScenarioError> {
    let bits = item.integer(1..=65_536)?;
    let named = Options::RSA_KEYS.into_iter().find(|kind| rsa_length(*kind) as u64 == bits);
    named.ok_or_else(|| item.spot.error("no such length of RSA keys", "one of 1024, 2048, 3072 and 4096"))
}

fn rsa_length(kind: KeyKind) -> usize {
    kind.rsa_bits().expect("only RSA keys can be set")
}

/// The kind of the keys that sign in IKE; none without signatures.
pub(super) fn key_kind(options: &families::Options, method: &Method) -> Option<KeyKind> {
    if method.has(&IKEV1_RSA) {
        return Some(options.ike.rsa_bits);
    }
    if method.has(&IKEV2_EAP) {
        return Some(options.ike.gateway_key);
    }
    method.key
}

impl families::Options {
    /// Whether an SA for traffic is set up (RFC 6023: an IKE SA can be childless).
    pub const fn has_traffic_sa(&self) -> bool {
        !self.ike.childless
    }

    /// Whether the device has an address inside that the gateway assigns.
    pub const fn has_inner_address(&self) -> bool {
        self.ike.virtual_address
    }

    /// Whether certificates are sent, by methods that have some.
    pub const fn sends_certificates(&self) -> bool {
        !self.ike.raw_keys
    }

    /// The option by which the gateway shows no certificate, as a sentence about a method goes on: ` with …`.
    pub(crate) fn gateway_option(&self) -> String {
        format!(" with `gateway_auth = \"{}\"`", self.ike.gateway_auth.name())
    }

    /// Whether the gateway, or in IKE without EAP both sides, signs in IKE.
    pub fn has_ike_signatures(&self, method: &Method) -> bool {
        let by_signature = !method.has(&EAP) || self.ike.gateway_auth == GatewayAuth::Certificate;
        method.has(&SIGNING) && by_signature
    }

    /// Whether a certificate goes with the signature.
    pub fn has_ike_certificates(&self, method: &Method) -> bool {
        self.has_ike_signatures(method) && !self.ike.raw_keys
    }

    /// Whether anybody shows a certificate, in IKE or in TLS.
    pub fn shows_certificates(&self, method: &Method) -> bool {
        method.has_tls() || self.has_ike_certificates(method)
    }

    /// Whether a fault makes a difference to a method with these options.
    pub fn can_have(&self, fault: Fault, method: &Method) -> bool {
        fault.concerns(method) && (self.shows_certificates(method) || !fault.is_of_certificate())
    }
}

/// How the gateway proves itself to a device that uses EAP (RFC 7296 §2.16, RFC 5998).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GatewayAuth {
    /// With a certificate.
    Certificate,
    /// With a shared key.
    Psk,
    /// With nothing but the key that EAP makes.
    EapOnly,
}

impl GatewayAuth {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Certificate, Self::Psk, Self::EapOnly];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::Psk => "psk",
            Self::EapOnly => "eap-only",
        }
    }
}

/// When a responder asks for a cookie (RFC 7296 §2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CookiePolicy {
    /// Never.
    Never,
    /// When too many IKE SAs are half open.
    Auto,
    /// Always.
    Always,
}

impl CookiePolicy {
    /// Every policy.
    pub const ALL: [Self; 3] = [Self::Never, Self::Auto, Self::Always];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Auto => "auto",
            Self::Always => "always",
        }
    }

    /// The number of half-open SAs from which a responder that keeps at most `half_open_max` asks; none: it never asks.
    pub fn half_open_from(self, half_open_max: u32) -> Option<u32> {
        match self {
            Self::Never => None,
            Self::Auto => Some((half_open_max / 8).max(1)),
            Self::Always => Some(0),
        }
    }
}

/// When a request is repeated: after `first · base^n`, at most `tries` times, then it has failed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retransmission {
    /// Wait before the first repetition.
    pub first: Duration,
    /// What every further wait is multiplied with.
    pub base: f64,
    /// How many repetitions.
    pub tries: u8,
}

impl Retransmission {
    /// From the request until it has failed; half a year of it and more is all the same.
    pub fn total(&self) -> Duration {
        let waits = (0..=self.tries).scan(self.first.as_secs_f64(), |wait, _| {
            let this = *wait;
            *wait *= self.base;
            Some(this)
        });
        Duration::from_secs_f64(waits.sum::<f64>().min(1e7))
    }
}

impl Default for Retransmission {
    /// strongSwan's `retransmit_timeout`, `retransmit_base` and `retransmit_tries`: 4 s · 1.8^n, 5 tries.
    fn default() -> Self {
        Self { first: Duration::from_secs(4), base: 1.8, tries: 5 }
    }
}
