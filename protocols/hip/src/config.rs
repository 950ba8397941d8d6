//! What an endpoint is told before its first packet: who it is, whom it admits, what it offers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::algorithm::Group;

use crate::hit::Hit;
use crate::identity::{DietVariant, HostIdentity, P256Hash};
use crate::leniency::Leniency;
use crate::number::{Cipher, EspSuite};

/// Everything about one endpoint.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who we are, the identity we like best first.
    pub identities: Vec<HostIdentity>,
    /// With whom we associate.
    pub admits: Admits,
    /// Whether I1 and I2 of others are answered; a device only begins.
    pub responds: bool,
    /// Which text of the diet exchange we follow.
    pub variant: DietVariant,
    /// The hash of peers' signatures with keys of P-256; an own identity has its hash by [`HostIdentity::with_p256_hash`].
    pub p256_hash: P256Hash,
    /// Groups of the base exchange, best first.
    pub groups: Vec<Group>,
    /// Ciphers of the base exchange, best first; six at most.
    pub ciphers: Vec<Cipher>,
    /// Suites for ESP, best first; six at most.
    pub esp_suites: Vec<EspSuite>,
    /// Puzzles.
    pub puzzle: Puzzles,
    /// Initiator: HOST_ID is encrypted in I2 (RFC 7401 §5.3.3).
    pub encrypt_host_id: bool,
    /// A rekeying makes a new key agreement; in the diet exchange there is none.
    pub rekey_with_new_keys: bool,
    /// The SAs get new keys after this time; none: only when it is asked for. Of both sides, the first one begins.
    pub rekey_after: Option<Duration>,
    /// Timers of packets that want an answer.
    pub retransmission: Retransmission,
    /// What is held at the most.
    pub limits: Limits,
    /// An association without traffic is closed after this (UAL of RFC 7401 §4.4.3); none: never.
    pub unused_after: Option<Duration>,
    /// A peer in UDP is sent a keepalive when nothing has passed for so long (RFC 9028 §4.10); none: never.
    pub keepalive_after: Option<Duration>,
    /// AKA inside the diet exchange.
    pub aka: Aka,
    /// What is overlooked in what peers send.
    pub leniency: Leniency,
}

impl Config {
    /// The usual timers, limits and offers for these identities.
    pub fn new(identities: Vec<HostIdentity>) -> Self {
        Self {
            identities,
            admits: Admits::Anybody,
            responds: true,
            variant: DietVariant::default(),
            p256_hash: P256Hash::default(),
            groups: vec![Group::Ecp256, Group::Modp2048, Group::Ecp384],
            ciphers: vec![Cipher::Aes128Cbc, Cipher::Aes256Cbc],
            esp_suites: vec![EspSuite::AES_GCM_16, EspSuite::AES128_CBC_SHA256],
            puzzle: Puzzles::default(),
            encrypt_host_id: false,
            rekey_with_new_keys: false,
            rekey_after: None,
            retransmission: Retransmission::default(),
            limits: Limits::default(),
            unused_after: Some(Duration::from_secs(15 * 60)),
            keepalive_after: None,
            aka: Aka::None,
            leniency: Leniency::default(),
        }
    }
}

/// Who begins an association.
#[derive(Debug, Clone)]
pub struct Initiator {
    /// Its Host Identity.
    pub own: Arc<HostIdentity>,
    /// Whose subscription it proves in a diet exchange with AKA: an IMSI or a network access identifier.
    pub subscriber: Option<Arc<[u8]>>,
}

/// Whom an endpoint associates with, as initiator and as responder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admits {
    /// Whoever proves a Host Identity.
    Anybody,
    /// These hosts alone.
    Hits(BTreeSet<Hit>),
}

impl Admits {
    /// Whether it is one of those.
    pub fn has(&self, hit: Hit) -> bool {
        match self {
            Self::Anybody => true,
            Self::Hits(hits) => hits.contains(&hit),
        }
    }
}

/// Puzzles that are set and solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Puzzles {
    /// Responder: #K, at most [`Puzzles::BITS_MAX`].
    pub difficulty_bits: u8,
    /// Initiator: harder ones are not solved.
    pub difficulty_bits_max: u8,
    /// Initiator: of puzzles in an R1 that anybody can have made, in a diet exchange or in opportunistic mode, harder ones than
    /// these are not solved either.
    pub unproved_difficulty_bits_max: u8,
    /// Responder: R1 and puzzle are made anew after 2^this seconds, and solutions accepted for as long again.
    pub lifetime_log2_s: u8,
    /// Responder: solutions are remembered for their lifetime, so that none is used twice; with so many of them others are
    /// refused.
    pub solutions_max: usize,
    /// Responder: a solution pays for so many I2s that are not believed, each of which costs a key agreement, and for no more.
    pub broken_max: u8,
}

impl Puzzles {
    /// 2^24 hashes take seconds.
    pub const BITS_MAX: u8 = 24;

    /// The hardest puzzle that an initiator solves; never more than [`Puzzles::BITS_MAX`].
    pub(crate) fn solved_bits_max(&self, has_known_sender: bool) -> u8 {
        let max = self.difficulty_bits_max.min(Self::BITS_MAX);
        if has_known_sender { max } else { max.min(self.unproved_difficulty_bits_max) }
    }
}

impl Default for Puzzles {
    /// RFC 7401 §4.1.1 leaves the numbers open: 128 s are those of its examples, K 10 is a millisecond of SHA-256, K 16 a tenth of a
    /// second of CMAC.
    fn default() -> Self {
        Self {
            difficulty_bits: 10,
            difficulty_bits_max: Self::BITS_MAX,
            unproved_difficulty_bits_max: 16,
            lifetime_log2_s: 7,
            solutions_max: 1 << 20,
            broken_max: 2,
        }
    }
}

/// When a packet without answer is sent again, and when it is given up (RFC 7401 §4.4.3 leaves the numbers open).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// Wait before the first repetition; each further one is twice as long.
    pub first: Duration,
    /// Repetitions before the peer counts as dead.
    pub tries: u32,
}

impl Default for Retransmission {
    /// A second as in the prototypes of the diet exchange, and five repetitions: the peer is dead after 63 s.
    fn default() -> Self {
        Self { first: Duration::from_secs(1), tries: 5 }
    }
}

impl Retransmission {
    /// The wait after the packet was sent `sent` times.
    pub fn wait(&self, sent: u32) -> Duration {
        self.first.saturating_mul(1 << sent.saturating_sub(1).min(16))
    }

    /// Until a packet is given up.
    pub fn total(&self) -> Duration {
        (1..=self.tries + 1).map(|sent| self.wait(sent)).sum()
    }
}

/// What is held at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Associations in any state.
    pub associations_max: usize,
    /// Those that one address has begun, in IPv6 one /64.
    pub per_address_max: usize,
    /// R1s in a second to one address, in IPv6 to one /64: whoever is told to be the sender of I1s gets no more of them (RFC 7401
    /// §6.7). None: as many as are asked for.
    pub r1_per_second_max: Option<u32>,
    /// R1s in a second to an address, in IPv6 to one /64, that has no association: an I1 in another's name makes R1s of fourteen times its
    /// length.
    pub r1_to_strangers_per_second_max: u32,
    /// Associations of initiators whose subscription is not proved yet: a diet exchange with AKA alone has such.
    pub unproved_max: usize,
    /// Those of one address, in IPv6 of one /64.
    pub unproved_per_address_max: usize,
    /// How long they may take.
    pub unproved_lifetime: Duration,
    /// Questions to the HSS in a second that come of one address, in IPv6 of one /64, whatever became of those before. None: as
    /// many as there are I2s.
    pub questions_per_second_max: Option<u32>,
    /// I2s of one address, in IPv6 of one /64, that solve their puzzles and are not believed: after so many within the lifetime of
    /// a puzzle the address gets no more key agreements until that is over.
    pub broken_per_address_max: u32,
    /// NOTIFYs in a second to one address, in IPv6 to one /64, that refuse what came from there. None: as many as there is to
    /// refuse.
    pub refusals_per_second_max: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            associations_max: 1 << 20,
            per_address_max: 4096,
            r1_per_second_max: Some(1000),
            r1_to_strangers_per_second_max: 64,
            unproved_max: 4096,
            unproved_per_address_max: 64,
            unproved_lifetime: Duration::from_secs(30),
            questions_per_second_max: Some(64),
            broken_per_address_max: 256,
            refusals_per_second_max: Some(16),
        }
    }
}

/// AKA inside the diet exchange ([`crate::aka`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aka {
    /// The diet exchange alone.
    None,
    /// Initiator: who subscribes, an IMSI or a network access identifier.
    Subscriber(Vec<u8>),
    /// Responder: whoever begins a diet exchange must prove a subscription, too.
    Required,
}
