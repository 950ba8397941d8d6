//! The plan of a run: everything a scenario says, resolved, owned, and in units that cannot be mistaken.
//!
//! A plan names nothing that has to be looked up again: networks carry their numbers, suites their algorithms. It can
//! be printed as a scenario file ([`Plan::to_toml`]) that reads back as the same plan.

mod traffic;

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto_api::algorithm::{KeyKind, SignatureScheme, Standing};
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::trace::Node;

use crate::catalogue::eap::Proof;
use crate::catalogue::{Fault, Method, Topology, suites};
use crate::quantity::Probability;
pub use traffic::{Traffic, TrafficDirection, TrafficKind};

/// Most authentications of a row.
pub const SAMPLES_MAX: u64 = 1_000_000_000;

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One line on what it is about.
    pub title: String,
    /// The study of a paper that it is made for, by its name.
    pub study: Option<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Authentications per row.
    pub samples: u32,
    /// Time from the trigger of one authentication to the trigger of the next, while the last one lasted no longer.
    pub interval: Duration,
    /// Who computes.
    pub crypto: CryptoMode,
    /// The file with what operations cost, where a table is charged; relative to where keytoll is started.
    pub costs: Option<String>,
    /// How long MODP exponents are.
    pub exponents: Exponents,
    /// Which world the hosts live in.
    pub world: WorldKind,
    /// The CPU of every node.
    pub cpus: BTreeMap<Node, CpuProfile>,
    /// The rows of the table, in the order of the scenario.
    pub rows: Vec<RowPlan>,
}

impl Plan {
    /// How many authentications the whole plan triggers.
    pub fn authentications(&self) -> u64 {
        self.rows.len() as u64 * u64::from(self.samples)
    }
}

/// One row of the result: one method over one network.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPlan {
    /// How the device and the gateway authenticate each other.
    pub method: Method,
    /// What distinguishes the row from others of the same method and network: `chain=4,4`; often empty.
    pub variant: String,
    /// The link between device and gateway.
    pub network: Network,
    /// Which nodes there are.
    pub topology: Topology,
    /// Suites offered for the IKE SA, in order of preference; at least one.
    pub ike_suites: Vec<Suite>,
    /// Suites offered for ESP, in order of preference; at least one.
    pub esp_suites: Vec<Suite>,
    /// Everything else.
    pub options: Options,
}

impl RowPlan {
    /// The standing of the worst algorithm in it, for the mark that goes with its name wherever it is shown.
    pub fn standing(&self) -> Standing {
        let key = self.options.key_kind(self.method).map(KeyKind::standing);
        let suites = self.ike_suites.iter().chain(&self.esp_suites).map(suites::standing);
        suites.chain(key).chain([self.method.standing()]).max().unwrap_or(Standing::Good)
    }
}

/// Which provider stands behind the crypto door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CryptoMode {
    /// Computes, with AWS-LC.
    Real,
    /// Computes, with the system's OpenSSL: the library that strongSwan and FreeRADIUS call. Only in builds with it.
    OpenSsl,
    /// Costs nothing, lengths and agreement stay true.
    Null,
    /// As null, and every operation is charged what a table says that it costs: the same on every machine.
    Table,
}

impl CryptoMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Real, Self::OpenSsl, Self::Null, Self::Table];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::OpenSsl => "openssl",
            Self::Null => "null",
            Self::Table => "table",
        }
    }

    /// Whether anything is computed; else every key is as good as another.
    pub const fn computes(self) -> bool {
        matches!(self, Self::Real | Self::OpenSsl)
    }
}

/// How long the private exponents of MODP groups are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exponents {
    /// Twice the group's strength, as libraries do today.
    Short,
    /// As long as the modulus, as the measurements of the papers need.
    Full,
}

impl Exponents {
    /// Both lengths.
    pub const ALL: [Self; 2] = [Self::Short, Self::Full];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Full => "full",
        }
    }
}

/// Where the hosts live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorldKind {
    /// Virtual time, every node in one process.
    Sim,
    /// Sockets and the real clock, every node a process of its own.
    Live,
}

impl WorldKind {
    /// Every world.
    pub const ALL: [Self; 2] = [Self::Sim, Self::Live];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Live => "live",
        }
    }
}

/// Whose program a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Maker {
    /// Our own engines.
    #[default]
    Keytoll,
    /// strongSwan's charon, as device or gateway.
    StrongSwan,
    /// FreeRADIUS, as AAA server.
    FreeRadius,
    /// hostapd's RADIUS and EAP server, with hlr_auc_gw for cards.
    Hostapd,
}

impl Maker {
    /// Who makes programs that can be a device or a gateway.
    pub const OF_IKE: [Self; 2] = [Self::Keytoll, Self::StrongSwan];
    /// Who makes programs that can be an AAA server.
    pub const OF_AAA: [Self; 3] = [Self::Keytoll, Self::FreeRadius, Self::Hostapd];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keytoll => "keytoll",
            Self::StrongSwan => "strongswan",
            Self::FreeRadius => "freeradius",
            Self::Hostapd => "hostapd",
        }
    }

    /// Whether it is somebody else's.
    pub fn is_foreign(self) -> bool {
        self != Self::Keytoll
    }
}

/// Whose programs the nodes of a row are. The HSS is ours, and there if the AAA server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Makers {
    /// The device's.
    pub ue: Maker,
    /// The gateway's.
    pub gw: Maker,
    /// The AAA server's.
    pub aaa: Maker,
}

impl Makers {
    /// Whose program a node is.
    pub const fn of(self, node: Node) -> Maker {
        match node {
            Node::Ue => self.ue,
            Node::Gw => self.gw,
            Node::Aaa => self.aaa,
            Node::Hss | Node::Ap => Maker::Keytoll,
        }
    }

    /// The first that is somebody else's.
    pub fn foreign(self) -> Option<Maker> {
        [self.ue, self.gw, self.aaa].into_iter().find(|maker| maker.is_foreign())
    }
}

/// The processor of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuProfile {
    /// The name in the catalogue, or the scenario's own.
    pub name: String,
    /// Clock frequency in Hz; none: the machine keytoll runs on, unscaled.
    pub hz: Option<f64>,
    /// How many inputs the node can handle at a time.
    pub cores: u16,
}

/// A link between the device and the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The name in the catalogue, or the scenario's own.
    pub name: String,
    /// From the gateway to the device.
    pub down: Direction,
    /// From the device to the gateway.
    pub up: Direction,
    /// Longest IP packet, header included.
    pub mtu_bytes: u16,
    /// Where the numbers come from.
    pub source: String,
    /// How well founded they are.
    pub basis: Basis,
}

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction {
    /// One-way delay without serialisation.
    pub delay: Duration,
    /// Standard deviation of the delay (normal distribution, as netem's).
    pub jitter: Duration,
    /// Serialisation rate; none: no limit.
    pub rate_bits_per_s: Option<u64>,
    /// What the sender may have waiting for the link; more is dropped.
    pub queue_bytes_max: u64,
    /// Chance of a packet to be lost.
    pub loss: Probability,
    /// Chance of a packet to be overtaken.
    pub reorder: Probability,
    /// Chance of a packet to arrive twice.
    pub duplicate: Probability,
    /// Chance of a packet to arrive with a flipped bit.
    pub corrupt: Probability,
}

/// How well founded the numbers of a network are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Printed in a paper or published with a tool.
    Printed,
    /// Fitted so that a paper's figures come out.
    Calibrated,
    /// Concluded from measurements that others published.
    Derived,
    /// What such networks typically do; no one measurement behind it.
    Typical,
    /// Nobody measured it.
    Hypothetical,
    /// Given by the scenario.
    Custom,
}

impl Basis {
    /// Every basis, the best founded first.
    pub const ALL: [Self; 6] =
        [Self::Printed, Self::Calibrated, Self::Derived, Self::Typical, Self::Hypothetical, Self::Custom];

    /// The name used in scenarios and on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Calibrated => "calibrated",
            Self::Derived => "derived",
            Self::Typical => "typical",
            Self::Hypothetical => "hypothetical",
            Self::Custom => "custom",
        }
    }
}

/// What a row can vary besides method, network and topology.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How long the gateway lets an authentication count (RFC 4478 AUTH_LIFETIME), whole seconds.
    pub reauth_lifetime: Duration,
    /// Certificate chains; only for methods with certificates.
    pub chain: Chain,
    /// Signatures that IKEv2 makes, best first; none: what is usual for the keys. Only for methods where one signs.
    pub signatures: Option<Vec<SignatureScheme>>,
    /// How long the RSA keys of IKEv1 are.
    pub rsa_bits: KeyKind,
    /// Whether both sides of IKEv1 know each other's public key beforehand and send no certificate.
    pub raw_keys: bool,
    /// Whether quick mode of IKEv1 agrees a key of its own, in the group of the IKE suite (RFC 2409 §5.5).
    pub pfs: bool,
    /// What ESP protects.
    pub mode: Mode,
    /// Whether the IKE SA is set up without a child (RFC 6023).
    pub childless: bool,
    /// Longest IP packet with an IKE fragment (RFC 7383); none: no fragmentation by IKE.
    pub fragment_bytes: Option<u16>,
    /// When the gateway asks for a cookie.
    pub cookies: CookiePolicy,
    /// How many half-open IKE SAs the gateway keeps.
    pub half_open_max: u32,
    /// When the IKE SA is given new keys; none: never.
    pub rekey_ike: Option<Duration>,
    /// When the child SA is given new keys; none: never.
    pub rekey_child: Option<Duration>,
    /// How much the SAs for traffic may carry.
    pub sa_limits: SaLimits,
    /// Whether the gateway asks for the EAP identity over the air; otherwise IKE's is passed on (RFC 7296 §2.16).
    pub eap_identity: bool,
    /// How the gateway proves itself to a device that uses EAP.
    pub gateway_auth: GatewayAuth,
    /// What kind of key its certificate has then.
    pub gateway_key: KeyKind,
    /// Whether whoever is shown a certificate asks its issuers' revocation lists, which it has.
    pub crls: bool,
    /// For how many authentications the AAA server asks vectors of the HSS at a time, and keeps what it does not need.
    pub vector_batch: u8,
    /// How many GSM challenges EAP-SIM takes, two or three.
    pub triplets: u8,
    /// Whether the AAA server gives out pseudonyms.
    pub pseudonyms: bool,
    /// How many fast re-authentications it allows after a full authentication (RFC 4186 §5, RFC 4187 §5).
    pub fast_reauth: u16,
    /// Whether the gateway tells the AAA server of sessions' beginnings and ends (RFC 2866).
    pub accounting: bool,
    /// TLS inside EAP; only for methods with it.
    pub tls: Tls,
    /// Whether the device asks for an address inside.
    pub virtual_address: bool,
    /// When a request is repeated.
    pub retransmission: Retransmission,
    /// Whether the packets between device and gateway are IPv6, as in paper 000.
    pub ipv6: bool,
    /// Whose programs the nodes are.
    pub makers: Makers,
    /// What is wrong on purpose.
    pub fault: Option<Fault>,
    /// What users send once the SAs are there.
    pub traffic: Traffic,
}

/// How much a pair of SAs for traffic may carry, each half by itself; and its anti-replay window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaLimits {
    /// A successor is asked for after so many bytes of what is protected; none: never.
    pub rekey_bytes: Option<u64>,
    /// A successor is asked for after so many packets; none: never.
    pub rekey_packets: Option<u64>,
    /// Nothing passes after so many bytes; none: no end.
    pub life_bytes: Option<u64>,
    /// Nothing passes after so many packets; none: no end.
    pub life_packets: Option<u64>,
    /// Packets of the anti-replay window, 32 to 4096.
    pub replay_window: u32,
}

impl Default for SaLimits {
    fn default() -> Self {
        Self {
            rekey_bytes: None,
            rekey_packets: None,
            life_bytes: None,
            life_packets: None,
            replay_window: 64,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            reauth_lifetime: Duration::from_secs(8),
            chain: Chain { initiator: 2, responder: 2 },
            signatures: None,
            rsa_bits: KeyKind::Rsa2048,
            raw_keys: false,
            pfs: false,
            mode: Mode::Transport,
            childless: false,
            fragment_bytes: Some(1280),
            cookies: CookiePolicy::Auto,
            half_open_max: 1000,
            rekey_ike: None,
            rekey_child: None,
            sa_limits: SaLimits::default(),
            eap_identity: false,
            gateway_auth: GatewayAuth::Certificate,
            gateway_key: KeyKind::Rsa2048,
            crls: false,
            vector_batch: 1,
            triplets: 3,
            pseudonyms: false,
            fast_reauth: 0,
            accounting: false,
            tls: Tls::default(),
            virtual_address: false,
            retransmission: Retransmission::default(),
            ipv6: true,
            makers: Makers::default(),
            fault: None,
            traffic: Traffic::default(),
        }
    }
}

impl Options {
    /// With the default for everything that means nothing to the method, so that rows that do not differ are equal.
    pub fn fitted_to(mut self, method: Method) -> Self {
        let default = Self::default();
        if !matches!(method, Method::Ikev1Rsa(_)) {
            let Self { rsa_bits, raw_keys, .. } = default;
            self = Self { rsa_bits, raw_keys, ..self };
        }
        if method.key_kind().is_none() {
            self.crls = default.crls;
        }
        if method.phase1().is_none() {
            self.pfs = default.pfs;
        } else {
            self = self.fitted_to_ikev1();
        }
        if self.childless {
            let Self { rekey_child, sa_limits, .. } = default;
            let mode = if self.virtual_address { self.mode } else { default.mode };
            self = Self { rekey_child, sa_limits, mode, ..self };
        }
        if method.phase1().is_some() || !self.has_ike_signatures(method) {
            self.signatures = default.signatures.clone();
        }
        if !method.has_chain() || self.raw_keys {
            self.chain = default.chain;
        }
        if !method.has_card() {
            let Self { vector_batch, pseudonyms, fast_reauth, .. } = default;
            self = Self { vector_batch, pseudonyms, fast_reauth, ..self };
        }
        if !method.has_tls() {
            self.tls = default.tls;
        }
        if method.eap().is_none_or(|eap| eap.proof != Proof::Sim) {
            self.triplets = default.triplets;
        }
        if method.eap().is_none() {
            let Self { eap_identity, gateway_auth, gateway_key, accounting, .. } = default;
            self = Self { eap_identity, gateway_auth, gateway_key, accounting, ..self };
            self.makers.aaa = default.makers.aaa;
        }
        self.traffic = self.traffic.fitted();
        self
    }

    /// IKEv1 goes without cookies and fragments whether it is told so or not; that they must be there is refused elsewhere.
    fn fitted_to_ikev1(self) -> Self {
        let Self { cookies, fragment_bytes, .. } = Self::default();
        Self {
            cookies: if self.cookies == CookiePolicy::Never { cookies } else { self.cookies },
            fragment_bytes: self.fragment_bytes.or(fragment_bytes),
            ..self
        }
    }

    /// The kinds that `rsa_bits` can name.
    pub const RSA_KEYS: [KeyKind; 4] =
        [KeyKind::Rsa1024, KeyKind::Rsa2048, KeyKind::Rsa3072, KeyKind::Rsa4096];

    /// The kind of the keys that sign in IKE; none without signatures.
    pub const fn key_kind(&self, method: Method) -> Option<KeyKind> {
        match method {
            Method::Ikev1Rsa(_) => Some(self.rsa_bits),
            Method::Ikev2Eap(_) => Some(self.gateway_key),
            other => other.key_kind(),
        }
    }

    /// Whether the gateway, or in IKE without EAP both sides, signs in IKE.
    pub fn has_ike_signatures(&self, method: Method) -> bool {
        let by_signature = method.eap().is_none() || self.gateway_auth == GatewayAuth::Certificate;
        method.key_kind().is_some() && by_signature
    }

    /// Whether a certificate goes with the signature.
    pub fn has_ike_certificates(&self, method: Method) -> bool {
        self.has_ike_signatures(method) && !self.raw_keys
    }

    /// Whether a fault makes a difference to a method with these options.
    pub fn can_have(&self, fault: Fault, method: Method) -> bool {
        fault.concerns(method) && (self.shows_certificates(method) || !fault.is_of_certificate())
    }

    /// Whether anybody shows a certificate, in IKE or in TLS.
    pub fn shows_certificates(&self, method: Method) -> bool {
        method.has_tls() || self.has_ike_certificates(method)
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

/// Certificates from the end entity's to the trust anchor's, both counted: 2 is an end entity that the anchor signed.
/// The trust anchor's certificate itself is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    /// Of the device.
    pub initiator: u8,
    /// Of the gateway.
    pub responder: u8,
}

/// TLS inside EAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tls {
    /// The version both sides come to.
    pub version: TlsVersion,
    /// The kind of the keys in the certificates of both sides; those of IKE are the method's.
    pub key: KeyKind,
    /// The longest EAP packet; longer messages of TLS go in fragments (RFC 5216 §2.1.5).
    pub fragment_bytes: u16,
    /// Whether later authentications of a row continue the first one's session (RFC 5216 §2.1.2, RFC 9190 §2.1.3).
    pub resumption: bool,
}

impl Tls {
    /// Kinds of keys that deployed certificates for TLS have.
    pub const KEYS: [KeyKind; 3] = [KeyKind::Rsa2048, KeyKind::Rsa3072, KeyKind::EcdsaP256];
}

impl Default for Tls {
    /// What both sides offer first today; 1024 bytes is FreeRADIUS' `fragment_size`.
    fn default() -> Self {
        Self { version: TlsVersion::Tls13, key: KeyKind::Rsa2048, fragment_bytes: 1024, resumption: false }
    }
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl TlsVersion {
    /// Both versions.
    pub const ALL: [Self; 2] = [Self::Tls12, Self::Tls13];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        }
    }
}

/// What ESP protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Whole IP packets.
    Tunnel,
    /// The payload of packets between the two ends.
    Transport,
}

impl Mode {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Tunnel, Self::Transport];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tunnel => "tunnel",
            Self::Transport => "transport",
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

impl Default for Retransmission {
    /// strongSwan's `retransmit_timeout`, `retransmit_base` and `retransmit_tries`: 4 s · 1.8^n, 5 tries.
    fn default() -> Self {
        Self { first: Duration::from_secs(4), base: 1.8, tries: 5 }
    }
}
