//! The configuration of an endpoint of either version: identities, authentication, proposals, limits.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::algorithm::{Hash, SignatureScheme};
use keytoll_crypto_api::credentials::{Credential, Trust};
use keytoll_crypto_api::spki::rsa_bits;
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, SigningKey};

use crate::wire::{Identity, TrafficSelector};

/// The configuration of an endpoint.
#[derive(Debug, Clone)]
pub struct Config {
    /// What it may set up: as initiator chosen by index, as responder by the peer's identity.
    pub connections: Vec<Connection>,
    /// Which initiators it answers.
    pub responds: Responds,
    /// Timers of requests.
    pub retransmission: Retransmission,
    /// Defence against floods of IKE_SA_INIT.
    pub half_open: HalfOpen,
    /// Maximum number of children of a peer under one IKE SA. Children being rekeyed do not count, up to the same number again;
    /// in IKEv1 they do.
    pub children_max: usize,
    /// Maximum number of IKE SAs of an authenticated initiator, over all connections with the same authentication; beyond it the
    /// oldest is closed. Indistinguishable peers at one address may have 64 times as many. Two are needed to reauthenticate before
    /// the first one ends.
    pub ike_sas_max: usize,
    /// RFC 7383, if at all.
    pub fragmentation: Option<Fragmentation>,
    /// UDP port for IKE; 500 by default.
    pub port: u16,
    /// UDP port for IKE and ESP behind a NAT; 4500 by default.
    pub nat_port: u16,
    /// The two ports of responders, if they differ from ours: a device may use any ports itself.
    pub responder_ports: Option<(u16, u16)>,
    /// Pretend that there is a NAT, to force UDP encapsulation of ESP.
    pub force_encapsulation: bool,
    /// Behind a NAT: a keepalive is sent after so much silence towards a peer (RFC 3948 §4); `None`: never.
    pub keepalive_after: Option<Duration>,
    /// Announce the hashes of RFC 7427; if not, peers must use the authentication methods of RFC 7296 §3.8.
    pub signature_hashes: bool,
}

impl Config {
    /// The ports on which responders receive IKE, and IKE and ESP behind a NAT.
    pub(crate) fn responder_ports(&self) -> (u16, u16) {
        self.responder_ports.unwrap_or((self.port, self.nat_port))
    }

    /// A configuration with the default timers and limits.
    pub fn new(connections: Vec<Connection>) -> Self {
        Self {
            connections,
            responds: Responds::ToAnybody,
            retransmission: Retransmission::default(),
            half_open: HalfOpen::default(),
            children_max: CHILDREN_MAX,
            ike_sas_max: IKE_SAS_MAX,
            fragmentation: Some(Fragmentation::default()),
            port: 500,
            nat_port: 4500,
            responder_ports: None,
            force_encapsulation: false,
            keepalive_after: Some(KEEPALIVE_AFTER),
            signature_hashes: true,
        }
    }
}

/// Which initiators an endpoint answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responds {
    /// All that can authenticate.
    ToAnybody,
    /// Only those at the address of a peer with an established SA, which may want to reauthenticate: for a device, which is an
    /// initiator itself.
    ToPeers,
}

/// When a request without response is retransmitted, and when the peer is given up (RFC 7296 §2.1 leaves the numbers open).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retransmission {
    /// Wait before the first repetition.
    pub first: Duration,
    /// Each further wait is longer by this factor.
    pub base: f64,
    /// Retransmissions before the peer counts as dead.
    pub tries: u32,
}

impl Default for Retransmission {
    /// strongSwan's: 4 s · 1.8ⁿ, five retransmissions, so the peer is dead after 165 s.
    fn default() -> Self {
        Self { first: Duration::from_secs(4), base: 1.8, tries: 5 }
    }
}

impl Retransmission {
    /// The wait after the message was sent `sent` times; `None` if it was sent often enough.
    pub fn wait(&self, sent: u32) -> Option<Duration> {
        // Plain multiplications are the same on every machine; the power function of a maths library is not.
        let power = (0..sent.checked_sub(1)?).fold(1.0, |power, _| power * self.base);
        Some(self.first.mul_f64(power))
    }

    /// Until a request is given up.
    pub fn total(&self) -> Duration {
        (1..=self.tries + 1).filter_map(|sent| self.wait(sent)).sum()
    }
}

/// When the responder demands cookies, and the limits of half-open SAs (RFC 7296 §2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HalfOpen {
    /// From this number of half-open SAs on, every IKE_SA_INIT needs a cookie; 0: always.
    pub cookies_from: usize,
    /// Maximum number; beyond it a silent one is dropped, or the new request.
    pub max: usize,
    /// Maximum number for one source address, in IPv6 for one /64. Refused initiators count as long as their SA is kept to
    /// retransmit the refusal, and until the end of its lifetime if it is dropped before.
    pub per_address_max: usize,
    /// A half-open SA without progress is dropped after this time.
    pub lifetime: Duration,
    /// Maximum number of closed SAs that only retransmit their last response; beyond it the oldest are dropped.
    pub lingering_max: usize,
}

impl Default for HalfOpen {
    fn default() -> Self {
        Self {
            cookies_from: 64,
            max: 4096,
            per_address_max: 64,
            lifetime: Duration::from_secs(30),
            lingering_max: 4096,
        }
    }
}

/// RFC 3948 §4 recommends 20 seconds.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(20);

/// The default limit of children under one IKE SA.
const CHILDREN_MAX: usize = 64;

/// The default limit of IKE SAs of one initiator: one in use and its replacement, on two machines.
const IKE_SAS_MAX: usize = 4;

/// IKE fragmentation, RFC 7383.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragmentation {
    /// Largest IP packet sent, headers included.
    pub packet_bytes_max: usize,
}

impl Default for Fragmentation {
    /// RFC 7383 §2.5.1: 1280 for IPv6, and a good value for IPv4.
    fn default() -> Self {
        Self { packet_bytes_max: 1280 }
    }
}

/// Maximum duration of an authentication with EAP, on both sides: limits the cost of an EAP server or peer that never
/// answers.
pub(crate) const CONVERSATION_MAX: Duration = Duration::from_secs(120);

/// The weakest signature that is accepted. RSA with SHA-1 is never accepted from a peer that has announced SHA-2 (RFC 8247 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weakest {
    /// No shorter digest.
    pub hash: Hash,
    /// No RSA key with fewer bits.
    pub rsa_bits: usize,
}

/// Every signature that is known.
impl Default for Weakest {
    fn default() -> Self {
        Self { hash: Hash::Sha1, rsa_bits: 0 }
    }
}

impl Weakest {
    /// Whether a signature of this scheme is strong enough, by the digest's length.
    pub(crate) fn takes(self, scheme: SignatureScheme) -> bool {
        scheme.hash().is_none_or(|hash| hash.len() >= self.hash.len())
    }

    /// Whether the key in a SubjectPublicKeyInfo is long enough.
    pub(crate) fn takes_key(self, spki: &[u8]) -> bool {
        rsa_bits(spki).is_none_or(|bits| bits >= self.rsa_bits)
    }
}

/// A kind of peer and what is set up with it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// A name for events and logs.
    pub name: String,
    /// Its version of IKE; an endpoint ignores connections of the other version.
    pub version: Version,
    /// Our identity.
    pub local_id: Identity,
    /// The expected peer, authenticated as `remote` requires: with EAP the identity that the EAP server authenticated, whatever
    /// IDi says. `None`: anybody who authenticates.
    pub remote_id: Option<Identity>,
    /// How we prove ourselves.
    pub local: Prove,
    /// Signature schemes of IKEv2 for our key, best first; empty: [`usual`](crate::v2::schemes::usual). The peer's
    /// SIGNATURE_HASH_ALGORITHMS selects among them.
    pub signatures: Vec<SignatureScheme>,
    /// How the peer must.
    pub remote: Believe,
    /// The weakest signature that is accepted from an IKEv2 peer.
    pub weakest: Weakest,
    /// IKE suites, best first; offered as initiator, accepted as responder.
    pub suites: Vec<Suite>,
    /// The traffic SAs; `None`: childless (RFC 6023).
    pub child: Option<ChildConfig>,
    /// Initiator: ask the responder for an inner address.
    pub request_address: bool,
    /// Responder: the pool of inner addresses. The peer's traffic selector of every child is then its assigned address, so that
    /// nobody can obtain another peer's traffic. A peer that requests no address gets a child only for its outer address, and
    /// only if the child's `remote` covers that.
    pub pool: Option<Pool>,
    /// Responder: the initiator must reauthenticate within this time (RFC 4478).
    pub auth_lifetime: Option<Duration>,
    /// Initiator: what to do when it ends.
    pub reauthenticate: Reauthenticate,
    /// Rekey the IKE SA after this time.
    pub rekey_after: Option<Duration>,
    /// Check the liveness of a peer after so much silence (RFC 7296 §2.4).
    pub liveness_after: Option<Duration>,
}

impl Connection {
    /// Whether this is the expected identity; without expectation any is.
    pub(crate) fn expects(&self, identity: &Identity) -> bool {
        self.remote_id.as_ref().is_none_or(|expected| expected == identity)
    }

    // RFC 7296 §2.16: policy must follow the identity that EAP authenticated; IDi may be another.
    /// Whether the identity that an EAP server authenticated is the expected one. If one is expected, no other is accepted, nor
    /// a missing one.
    pub(crate) fn expects_name(&self, name: Option<&[u8]>) -> bool {
        let Some(expected) = &self.remote_id else { return true };
        name.is_some_and(|name| expected.is_named(name))
    }

    /// Whether it accepts a raw key without an expected identity: its holder could then claim any.
    pub(crate) const fn believes_anybody(&self) -> bool {
        matches!(self.remote, Believe::RawKey(_)) && self.remote_id.is_none()
    }
}

/// The version of IKE, and parameters of that version only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// IKEv2, RFC 7296.
    #[default]
    V2,
    /// IKEv1, RFC 2409.
    V1(V1),
}

impl Version {
    /// Whether it is IKEv2.
    pub const fn is_v2(&self) -> bool {
        matches!(self, Self::V2)
    }
}

/// What IKEv1 negotiates and IKEv2 leaves to each side. Perfect forward secrecy is requested by a group in the suites of the
/// child, as in IKEv2; the authentication method follows from [`Prove`] and [`Believe`], which must be of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V1 {
    /// How the ISAKMP SA is set up.
    pub phase1: Phase1,
    /// Lifetime of the ISAKMP SA; the responder's applies if it is shorter. [`Connection::reauthenticate`] determines what
    /// happens at its end.
    pub lifetime: Duration,
    /// Lifetime of the IPsec SAs; the responder's applies if it is shorter. A new quick mode replaces them before they end.
    pub child_lifetime: Duration,
    /// Traffic limit of a pair of IPsec SAs, in bytes; the peer's applies if it is less.
    pub child_bytes_max: Option<u64>,
}

impl V1 {
    /// The default lifetimes with a kind of phase 1.
    // RFC 2407 §4.5: the default lifetime of an IPsec SA is eight hours.
    pub const fn new(phase1: Phase1) -> Self {
        let child_lifetime = Duration::from_secs(28_800);
        Self { phase1, lifetime: Duration::from_secs(86_400), child_lifetime, child_bytes_max: None }
    }
}

/// The exchange of phase 1, RFC 2409 §5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase1 {
    /// Main mode: six messages, identities encrypted.
    Main,
    /// Aggressive mode: three messages, identities in the clear; with a shared key every eavesdropper and every initiator can
    /// guess the key offline.
    Aggressive,
}

/// How we authenticate.
#[derive(Debug, Clone)]
pub enum Prove {
    /// With a shared key.
    Psk(Secret),
    /// With a certificate.
    Certificate(Credential),
    /// With a raw key that the peer knows already; no certificate is sent.
    RawKey(SigningKey),
    /// Initiator: with EAP, which the owner implements (RFC 7296 §2.16). Responder: only with the key that EAP derives, and only
    /// for initiators that request it (RFC 5998).
    Eap,
}

impl Prove {
    /// The signature key, if there is one.
    pub const fn key(&self) -> Option<&SigningKey> {
        match self {
            Self::Certificate(Credential { key, .. }) | Self::RawKey(key) => Some(key),
            Self::Psk(_) | Self::Eap => None,
        }
    }

    /// Whether it is the same proof.
    pub(crate) fn is_same_proof(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Psk(ours), Self::Psk(theirs)) => ours == theirs,
            (Self::Certificate(ours), Self::Certificate(theirs)) => ours.chain == theirs.chain,
            (Self::Eap, Self::Eap) => true,
            _ => false,
        }
    }
}

/// How the peer must authenticate.
#[derive(Clone)]
pub enum Believe {
    /// With a shared key; identities may have keys of their own.
    Psk {
        /// For identities not in `by_identity`.
        any: Option<Secret>,
        /// Keys of their own.
        by_identity: OwnKeys,
    },
    /// With a certificate that has a path to these anchors.
    Certificate(Arc<dyn Trust>),
    /// With a signature by this key, a configured DER SubjectPublicKeyInfo; certificates are ignored.
    RawKey(Arc<[u8]>),
    /// Responder: with EAP, whose result the owner reports. Initiator: only with the key that EAP derives (RFC 5998).
    Eap,
}

impl Believe {
    /// Whether both accept exactly the same proofs.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Psk { any, by_identity }, Self::Psk { any: their_any, by_identity: their_own }) => {
                any == their_any && by_identity == their_own
            }
            (Self::Certificate(ours), Self::Certificate(theirs)) => Arc::ptr_eq(ours, theirs),
            (Self::RawKey(ours), Self::RawKey(theirs)) => ours == theirs,
            (Self::Eap, Self::Eap) => true,
            _ => false,
        }
    }

    /// One shared key for all identities.
    pub const fn psk(secret: Secret) -> Self {
        Self::Psk { any: Some(secret), by_identity: OwnKeys::None }
    }
}

impl std::fmt::Debug for Believe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Psk { by_identity, .. } => write!(f, "Psk({by_identity:?})"),
            Self::Certificate(trust) => write!(f, "Certificate({} anchors)", trust.authorities().len()),
            Self::RawKey(spki) => write!(f, "RawKey({} bytes)", spki.len()),
            Self::Eap => f.write_str("Eap"),
        }
    }
}

/// The shared keys of identities that have one of their own. Copies share them.
#[derive(Clone, Default)]
pub enum OwnKeys {
    /// No identity has one.
    #[default]
    None,
    /// These have.
    Listed(Arc<BTreeMap<Identity, Secret>>),
    /// They are derived when they are needed: for more identities than a list should have.
    Derived(Arc<dyn SharedKeys>),
}

/// Derives the shared keys of identities.
pub trait SharedKeys: Send + Sync {
    /// The key of an identity, if it has one.
    fn key(&self, identity: &Identity) -> Option<Secret>;
}

impl OwnKeys {
    /// The key of an identity, if it has one of its own.
    pub fn get(&self, identity: &Identity) -> Option<Secret> {
        match self {
            Self::None => None,
            Self::Listed(keys) => keys.get(identity).cloned(),
            Self::Derived(keys) => keys.key(identity),
        }
    }

    /// Whether an identity has a key of its own.
    pub fn knows(&self, identity: &Identity) -> bool {
        match self {
            Self::Listed(keys) => keys.contains_key(identity),
            Self::None | Self::Derived(_) => self.get(identity).is_some(),
        }
    }
}

impl FromIterator<(Identity, Secret)> for OwnKeys {
    fn from_iter<I: IntoIterator<Item = (Identity, Secret)>>(keys: I) -> Self {
        Self::Listed(Arc::new(keys.into_iter().collect()))
    }
}

impl<const N: usize> From<[(Identity, Secret); N]> for OwnKeys {
    fn from(keys: [(Identity, Secret); N]) -> Self {
        keys.into_iter().collect()
    }
}

/// The same list, or the same derivation.
impl PartialEq for OwnKeys {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Listed(ours), Self::Listed(theirs)) => ours == theirs,
            (Self::Derived(ours), Self::Derived(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        }
    }
}

impl std::fmt::Debug for OwnKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("0 identities"),
            Self::Listed(keys) => write!(f, "{} identities", keys.len()),
            Self::Derived(_) => f.write_str("derived"),
        }
    }
}

/// Inner addresses that a responder assigns, one per IKE SA: `first`, `first + 1`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// The first address.
    pub first: IpAddr,
    /// How many there are.
    pub size: u32,
}

/// What an initiator does when its authentication lifetime ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reauthenticate {
    /// Close the SA; traffic will trigger a new one (as in paper 000).
    OnDemand,
    /// Set up a new SA so long before the end, then close the old one.
    Ahead(Duration),
}

/// The SAs for traffic.
#[derive(Debug, Clone)]
pub struct ChildConfig {
    /// IPsec suites, best first; a group in one asks for perfect forward secrecy when rekeying.
    pub suites: Vec<Suite>,
    /// Whole packets or payloads.
    pub mode: Mode,
    /// Our traffic selectors; empty: our own address, or the assigned one.
    pub local: Vec<TrafficSelector>,
    /// The peer's traffic selectors; empty: the peer's address, or the assigned one.
    pub remote: Vec<TrafficSelector>,
    /// Replace the keys after this.
    pub rekey_after: Option<Duration>,
}

/// RFC 4301 §3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Encapsulates whole packets.
    Tunnel,
    /// Protects only the payload of packets between the peers themselves.
    Transport,
}
