//! What an endpoint of either version is told before its first message: who it is, whom it believes, what it offers.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::algorithm::SignatureScheme;
use keytoll_crypto_api::credentials::{Credential, Trust};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, SigningKey};

use crate::wire::{Identity, TrafficSelector};

/// Everything about one endpoint.
#[derive(Debug, Clone)]
pub struct Config {
    /// What it may set up, as initiator by index, as responder by the peer's identity.
    pub connections: Vec<Connection>,
    /// Who may begin an SA with it.
    pub responds: Responds,
    /// Timers of requests.
    pub retransmission: Retransmission,
    /// Defence against floods of IKE_SA_INIT.
    pub half_open: HalfOpen,
    /// A peer gets no more children under one IKE SA. Those that are being replaced do not count, up to as many again; in IKEv1
    /// they do.
    pub children_max: usize,
    /// An initiator that proved who it is has no more IKE SAs, under all connections that believe the same; of more the oldest is
    /// closed. Those of one address that nothing tells apart have 64 times as many. Two are needed to authenticate again before
    /// the first one ends.
    pub ike_sas_max: usize,
    /// RFC 7383, if at all.
    pub fragmentation: Option<Fragmentation>,
    /// UDP port for IKE; 500 unless somebody knows better.
    pub port: u16,
    /// UDP port for IKE and ESP behind a NAT; 4500 unless somebody knows better.
    pub nat_port: u16,
    /// The two ports of responders, where they are not the same as ours: a device may use any of its own.
    pub responder_ports: Option<(u16, u16)>,
    /// Pretend a NAT is there, to force UDP encapsulation of ESP.
    pub force_encapsulation: bool,
    /// Behind a NAT: how long a host says nothing to a peer before it reminds the NAT of itself (RFC 3948 §4); none: never.
    pub keepalive_after: Option<Duration>,
    /// Announce the hashes of RFC 7427; if not, peers must sign as RFC 7296 did it at first.
    pub signature_hashes: bool,
}

impl Config {
    /// Where responders take IKE, and where IKE and ESP behind a NAT.
    pub(crate) fn responder_ports(&self) -> (u16, u16) {
        self.responder_ports.unwrap_or((self.port, self.nat_port))
    }

    /// The usual timers and limits around some connections.
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

/// Whom an endpoint lets begin an SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responds {
    /// Whoever can prove who it is.
    ToAnybody,
    /// Only at the address of a peer with whom there is an established SA, which may want to authenticate again: a device,
    /// which begins by itself, has nothing to say to strangers.
    ToPeers,
}

/// When a request without response is sent again, and when we give up (RFC 7296 §2.1 leaves the numbers open).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retransmission {
    /// Wait before the first repetition.
    pub first: Duration,
    /// Each further wait is this much longer.
    pub base: f64,
    /// Repetitions before the peer counts as dead.
    pub tries: u32,
}

impl Default for Retransmission {
    /// strongSwan's: 4 s · 1.8ⁿ, five repetitions, so the peer is dead after 165 s.
    fn default() -> Self {
        Self { first: Duration::from_secs(4), base: 1.8, tries: 5 }
    }
}

impl Retransmission {
    /// The wait after the message was sent `sent` times, or none if it was sent often enough.
    pub fn wait(&self, sent: u32) -> Option<Duration> {
        // Plain multiplications, which are the same on every machine; a mathematical library's power is not.
        let power = (0..sent.checked_sub(1)?).fold(1.0, |power, _| power * self.base);
        Some(self.first.mul_f64(power))
    }

    /// Until a request is given up.
    pub fn total(&self) -> Duration {
        (1..=self.tries + 1).filter_map(|sent| self.wait(sent)).sum()
    }
}

/// When the responder demands cookies, and what it holds of initiators that may not exist (RFC 7296 §2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HalfOpen {
    /// From this many half-open SAs on every IKE_SA_INIT needs a cookie; 0: always.
    pub cookies_from: usize,
    /// More are never held: one that is silent makes room, or a further request is dropped.
    pub max: usize,
    /// More are never held for one source address, in IPv6 for one /64. Those count, too, whose initiator was refused, while
    /// they are there to say so again, and until their lifetime is over if they are forgotten before.
    pub per_address_max: usize,
    /// A half-open SA that does not go on is forgotten after this.
    pub lifetime: Duration,
    /// SAs that are over and only repeat their last response: of more the oldest are forgotten.
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

/// RFC 3948 §4: 20 seconds is what it recommends.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(20);

/// The usual limit of children under one IKE SA.
const CHILDREN_MAX: usize = 64;

/// The usual limit of IKE SAs of one initiator: one in use and one that takes its place, on two machines.
const IKE_SAS_MAX: usize = 4;

/// IKE fragmentation, RFC 7383.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragmentation {
    /// Largest IP packet we make, headers included.
    pub packet_bytes_max: usize,
}

impl Default for Fragmentation {
    /// RFC 7383 §2.5.1: 1280 for IPv6, and a good value for IPv4.
    fn default() -> Self {
        Self { packet_bytes_max: 1280 }
    }
}

/// How long an authentication by EAP may take in all, on both sides: an EAP server or peer that never answers costs no
/// more than this.
pub(crate) const CONVERSATION_MAX: Duration = Duration::from_secs(120);

/// One kind of peer and what is set up with it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// A name for events and logs.
    pub name: String,
    /// Which IKE it speaks; an endpoint passes over the connections of the other version.
    pub version: Version,
    /// Who we say we are.
    pub local_id: Identity,
    /// Whom we expect, as `remote` proves it: with EAP the identity that the EAP server found, whatever IDi says. None:
    /// anybody whom `remote` believes.
    pub remote_id: Option<Identity>,
    /// How we prove ourselves.
    pub local: Prove,
    /// Signatures of IKEv2 that we make with our key, best first; empty: [`usual`](crate::v2::schemes::usual). The peer's
    /// SIGNATURE_HASH_ALGORITHMS decides among them.
    pub signatures: Vec<SignatureScheme>,
    /// How the peer must.
    pub remote: Believe,
    /// IKE suites, best first; offered as initiator, accepted as responder.
    pub suites: Vec<Suite>,
    /// The SAs for traffic, or none: childless (RFC 6023).
    pub child: Option<ChildConfig>,
    /// Initiator: ask the responder for an inner address.
    pub request_address: bool,
    /// Responder: inner addresses to give away. The peer's side of every child is then the one it got: nobody gets another
    /// one's traffic by asking for it. Who asks for none gets a child only for where it is, and only if the child's `remote`
    /// covers that.
    pub pool: Option<Pool>,
    /// Responder: the initiator must authenticate again within this time (RFC 4478).
    pub auth_lifetime: Option<Duration>,
    /// Initiator: what to do at the end of it.
    pub reauthenticate: Reauthenticate,
    /// Replace the keys of the IKE SA after this.
    pub rekey_after: Option<Duration>,
    /// Ask a silent peer whether it lives after this (RFC 7296 §2.4).
    pub liveness_after: Option<Duration>,
}

impl Connection {
    /// Whether this is the name that it expects; without expectations, any is.
    pub(crate) fn expects(&self, identity: &Identity) -> bool {
        self.remote_id.as_ref().is_none_or(|expected| expected == identity)
    }

    // RFC 7296 §2.16: it is important that policy follows the identity that EAP proved; IDi may be another.
    /// Whether it is for whom an EAP server named; where it expects somebody, nobody else will do, least of all one without
    /// a name.
    pub(crate) fn expects_name(&self, name: Option<&[u8]>) -> bool {
        let Some(expected) = &self.remote_id else { return true };
        name.is_some_and(|name| expected.is_named(name))
    }

    /// Whether it believes a bare key without knowing whose it is: its holder could say that it is anybody.
    pub(crate) const fn believes_anybody(&self) -> bool {
        matches!(self.remote, Believe::RawKey(_)) && self.remote_id.is_none()
    }
}

/// Which IKE, and what only that version wants to know.
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

/// What IKEv1 negotiates and IKEv2 leaves to each side. Perfect forward secrecy is asked for by a group in the suites of
/// the child, as everywhere; authentication follows from [`Prove`] and [`Believe`], which must be of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V1 {
    /// How the ISAKMP SA is set up.
    pub phase1: Phase1,
    /// Of the ISAKMP SA; the responder's holds if it is shorter. [`Connection::reauthenticate`] says what happens at its
    /// end.
    pub lifetime: Duration,
    /// Of the IPsec SAs; the responder's holds if it is shorter. They are replaced by a new quick mode before they end.
    pub child_lifetime: Duration,
    /// What a pair of IPsec SAs may carry, in bytes; what the peer says holds if it is less.
    pub child_bytes_max: Option<u64>,
}

impl V1 {
    /// The usual lifetimes around a kind of phase 1.
    // RFC 2407 §4.5: without a lifetime of its own an IPsec SA lives for eight hours.
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
    /// Aggressive mode: three messages, identities in the clear; with a shared key anybody who listens, or who asks, may
    /// guess the key offline.
    Aggressive,
}

/// How we prove who we are.
#[derive(Debug, Clone)]
pub enum Prove {
    /// With a shared key.
    Psk(Secret),
    /// With a certificate.
    Certificate(Credential),
    /// With a key that the peer knows already, so that no certificate is sent.
    RawKey(SigningKey),
    /// Initiator: with EAP, which the owner speaks (RFC 7296 §2.16). Responder: with nothing but the key that EAP makes,
    /// and only to initiators that want it so (RFC 5998).
    Eap,
}

impl Prove {
    /// The key that signs, if one does.
    pub const fn key(&self) -> Option<&SigningKey> {
        match self {
            Self::Certificate(Credential { key, .. }) | Self::RawKey(key) => Some(key),
            Self::Psk(_) | Self::Eap => None,
        }
    }

    /// Whether it is the same proof, shown twice.
    pub(crate) fn is_same_proof(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Psk(ours), Self::Psk(theirs)) => ours == theirs,
            (Self::Certificate(ours), Self::Certificate(theirs)) => ours.chain == theirs.chain,
            (Self::Eap, Self::Eap) => true,
            _ => false,
        }
    }
}

/// What convinces us of the peer.
#[derive(Clone)]
pub enum Believe {
    /// The shared key; several identities may have their own.
    Psk {
        /// For identities not in `by_identity`.
        any: Option<Secret>,
        /// Keys of their own.
        by_identity: BTreeMap<Identity, Secret>,
    },
    /// A certificate with a path to these anchors.
    Certificate(Arc<dyn Trust>),
    /// A signature by this key, a DER SubjectPublicKeyInfo configured by hand; certificates are not looked at.
    RawKey(Arc<[u8]>),
    /// Responder: EAP, of which the owner knows the verdict. Initiator: the key that EAP makes is the responder's only
    /// proof (RFC 5998).
    Eap,
}

impl Believe {
    /// Whether what one takes for proved the other would have taken, too, and nothing else.
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

    /// One shared key for everybody.
    pub const fn psk(secret: Secret) -> Self {
        Self::Psk { any: Some(secret), by_identity: BTreeMap::new() }
    }
}

impl std::fmt::Debug for Believe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Psk { by_identity, .. } => write!(f, "Psk({} identities)", by_identity.len()),
            Self::Certificate(trust) => write!(f, "Certificate({} anchors)", trust.authorities().len()),
            Self::RawKey(spki) => write!(f, "RawKey({} bytes)", spki.len()),
            Self::Eap => f.write_str("Eap"),
        }
    }
}

/// Inner addresses a responder gives away, one per IKE SA: `first`, `first + 1`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// The first address.
    pub first: IpAddr,
    /// How many there are.
    pub size: u32,
}

/// What an initiator does when its authentication ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reauthenticate {
    /// Close the SA; traffic will ask for a new one (as in paper 000).
    OnDemand,
    /// Set up a new SA this long before, then close the old one.
    Ahead(Duration),
}

/// The SAs for traffic.
#[derive(Debug, Clone)]
pub struct ChildConfig {
    /// IPsec suites, best first; a group in one asks for perfect forward secrecy when rekeying.
    pub suites: Vec<Suite>,
    /// Whole packets or payloads.
    pub mode: Mode,
    /// What we send from; empty: our own address, the assigned one if there is one.
    pub local: Vec<TrafficSelector>,
    /// What we send to; empty: the peer's address, the assigned one if there is one.
    pub remote: Vec<TrafficSelector>,
    /// Replace the keys after this.
    pub rekey_after: Option<Duration>,
}

/// RFC 4301 §3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Whole packets inside new ones.
    Tunnel,
    /// Only the payload of packets between the peers themselves.
    Transport,
}
