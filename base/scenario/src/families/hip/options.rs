//! The options that only HIP has: identities, what is negotiated, puzzles, lifetimes and repetitions.

use std::time::Duration;

use keytoll_crypto_api::algorithm::{Group, KeyKind};

use super::{HIP, HIP_AKA, HIP_BASE, HIP_DIET};
use crate::diagnostic::ScenarioError;
use crate::options::{BOOLEAN, Setting, field, list, print_rekey, quoted};
use crate::quantity::{self, Kind};
use crate::resolve::values::{rekey, wait};
use crate::tree::Item;

/// The option that only the simulator has.
pub(super) const MOVE_AFTER: &str = "move_after";

/// What a row can vary of HIP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The kind of the keys of both Host Identities in a base exchange.
    pub host_identity: KeyKind,
    /// The hash of signatures with keys of P-256.
    pub p256_hash: P256Hash,
    /// The groups of a base exchange, best first.
    pub groups: Vec<Group>,
    /// The ciphers of HIP_CIPHER, best first.
    pub ciphers: Vec<Cipher>,
    /// Which text of the diet exchange is followed.
    pub dex: Dex,
    /// Which AKA proves the subscription.
    pub aka: Aka,
    /// The difficulty #K of the gateway's puzzles (RFC 7401 §4.1.1).
    pub puzzle_bits: u8,
    /// Whether the device's HOST_ID is encrypted (RFC 7401 §5.3.3).
    pub encrypt_host_id: bool,
    /// Whether an association that is rekeyed agrees a new key (RFC 7402 §6.8).
    pub rekey_with_new_keys: bool,
    /// How long an association is kept without traffic: UAL of RFC 7401 §4.4.3.
    pub unused_after: Duration,
    /// How long after its SA is usable the device goes to another address; `None`: it stays.
    pub move_after: Option<Duration>,
    /// When a packet without answer is repeated.
    pub retransmission: Retransmission,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host_identity: KeyKind::Rsa2048,
            p256_hash: P256Hash::Sha256,
            groups: vec![Group::Ecp256],
            ciphers: vec![Cipher::Aes128Cbc],
            dex: Dex::Draft24,
            aka: Aka::Eps,
            puzzle_bits: 10,
            encrypt_host_id: false,
            rekey_with_new_keys: false,
            unused_after: Duration::from_secs(8),
            move_after: None,
            retransmission: Retransmission { first: Duration::from_secs(1), tries: 5 },
        }
    }
}

/// The hash of ECDSA signatures with keys of P-256 in a base exchange, which packets do not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum P256Hash {
    /// As RFC 7401 §5.2.9 has it by way of RFC 4754 §1.
    Sha256,
    /// As the name of the HIT suite ECDSA/SHA-384 is also read.
    Sha384,
}

impl P256Hash {
    /// Both hashes.
    pub const ALL: [Self; 2] = [Self::Sha256, Self::Sha384];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
        }
    }
}

/// A cipher of HIP_CIPHER in a base exchange (RFC 7401 §5.2.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cipher {
    /// AES-CBC with a key of 128 bits.
    Aes128Cbc,
    /// AES-CBC with a key of 256 bits.
    Aes256Cbc,
}

impl Cipher {
    /// Both ciphers.
    pub const ALL: [Self; 2] = [Self::Aes128Cbc, Self::Aes256Cbc];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Cbc => "aes128",
            Self::Aes256Cbc => "aes256",
        }
    }
}

/// A text of the diet exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dex {
    /// draft-ietf-hip-dex-24, with keys of Curve25519.
    Draft24,
    /// The prototypes of 2011 and 2015, with keys of P-256 and without I_NONCE: R2 can be replayed.
    Prototype,
}

impl Dex {
    /// Both texts.
    pub const ALL: [Self; 2] = [Self::Draft24, Self::Prototype];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft24 => "draft-24",
            Self::Prototype => "prototype",
        }
    }
}

/// A kind of AKA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aka {
    /// EPS AKA: the gateway gets KASME, over S6a (TS 33.401 §6.1).
    Eps,
    /// UMTS AKA: the gateway gets CK and IK, over SWx (TS 33.102 §6.3).
    Umts,
}

impl Aka {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Eps, Self::Umts];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eps => "eps",
            Self::Umts => "umts",
        }
    }
}

/// When a packet without answer is repeated: each wait is twice as long as the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// Wait before the first repetition.
    pub first: Duration,
    /// How many repetitions.
    pub tries: u8,
}

/// The kinds of keys that HIP has Host Identities for.
const IDENTITIES: [KeyKind; 7] = [
    KeyKind::Rsa1024,
    KeyKind::Rsa2048,
    KeyKind::Rsa3072,
    KeyKind::Rsa4096,
    KeyKind::EcdsaP256,
    KeyKind::EcdsaP384,
    KeyKind::Ed25519,
];

/// The groups of a base exchange (RFC 7401 §5.2.7).
pub const GROUPS: [Group; 6] =
    [Group::Modp1536, Group::Modp2048, Group::Modp3072, Group::Ecp256, Group::Ecp384, Group::Ecp521];

/// Every key, in the order in which it is printed.
pub(super) static SETTINGS: &[Setting] = &[
    Setting::new(
        "host_identity",
        &["rsa1024", "rsa2048", "rsa3072", "rsa4096", "ecdsa-p256", "ecdsa-p384", "ed25519"],
        "kind of the keys of both host identities",
        field!(
            options.hip.host_identity,
            |item| item.pick("kind of host identity", &IDENTITIES, KeyKind::name),
            |kind| quoted(kind.name())
        ),
    )
    .of(&HIP_BASE),
    Setting::new(
        "ecdsa_p256_hash",
        &["sha256", "sha384"],
        "hash of HIP's signatures with keys of P-256",
        field!(
            options.hip.p256_hash,
            |item| item.pick("hash of signatures with P-256", &P256Hash::ALL, P256Hash::name),
            |hash| quoted(hash.name())
        ),
    )
    .of(&HIP_BASE)
    .needs(
        |options, _| options.hip.host_identity == KeyKind::EcdsaP256,
        "without `host_identity = \"ecdsa-p256\"`",
    ),
    Setting::new(
        "hip_group",
        &["modp1536", "modp2048", "modp3072", "ecp256", "ecp384", "ecp521"],
        "groups of HIP's base exchange, in order of preference",
        field!(options.hip.groups, groups, |groups| list(
            &groups.iter().map(|it| it.name()).collect::<Vec<_>>()
        )),
    )
    .of(&HIP_BASE),
    Setting::new(
        "hip_cipher",
        &["aes128", "aes256"],
        "ciphers of HIP's packets, in order of preference",
        field!(options.hip.ciphers, ciphers, |ciphers| list(
            &ciphers.iter().map(|it| it.name()).collect::<Vec<_>>()
        )),
    )
    .of(&HIP_BASE),
    Setting::new(
        "dex",
        &["draft-24", "prototype"],
        "the text of the diet exchange that is followed",
        field!(options.hip.dex, |item| item.pick("text of the diet exchange", &Dex::ALL, Dex::name), |dex| {
            quoted(dex.name())
        }),
    )
    .of(&HIP_DIET),
    Setting::new(
        "aka",
        &["eps", "umts"],
        "the AKA that proves the subscription, with KASME or with CK and IK",
        field!(options.hip.aka, |item| item.pick("kind of AKA", &Aka::ALL, Aka::name), |aka| quoted(
            aka.name()
        )),
    )
    .of(&HIP_AKA),
    Setting::new(
        "puzzle_bits",
        &["0 to 24"],
        "difficulty of the gateway's puzzles",
        field!(
            options.hip.puzzle_bits,
            |item| item.integer(0..=24).map(|bits| bits as u8),
            ToString::to_string
        ),
    )
    .of(&HIP),
    Setting::new(
        "encrypt_host_id",
        BOOLEAN,
        "the device's host identity is encrypted",
        field!(options.hip.encrypt_host_id, Item::boolean, ToString::to_string),
    )
    .of(&HIP_BASE),
    Setting::new(
        "rekey_with_new_keys",
        BOOLEAN,
        "an association that is rekeyed agrees a new key",
        field!(options.hip.rekey_with_new_keys, Item::boolean, ToString::to_string),
    )
    .of(&HIP_BASE)
    .needs(
        |options, _| options.ipsec.is_rekeyed(),
        "without `rekey_child`, `rekey_bytes` or `rekey_packets`: nothing is rekeyed",
    ),
    Setting::new(
        "unused_after",
        &["1 s to 31536000 s"],
        "how long an association is kept without traffic",
        field!(options.hip.unused_after, unused, |time| quoted(&quantity::duration(*time))),
    )
    .of(&HIP),
    Setting::new(
        MOVE_AFTER,
        &["never", "100 ms to 31536000 s"],
        "when the device goes to another address, counted from the usable SA",
        field!(options.hip.move_after, rekey, print_rekey),
    )
    .of(&HIP)
    .needs(
        |options, _| options.traffic.kind.is_none() || options.traffic.protected,
        "with `ipsec = \"none\"`: such traffic goes to the address that the device leaves",
    ),
    Setting::new(
        "hip_retransmit_first",
        &["1 ms to 600 s"],
        "wait before a packet of HIP is repeated for the first time; each further wait is twice as long",
        field!(options.hip.retransmission.first, wait, |time| quoted(&quantity::duration(*time))),
    )
    .of(&HIP),
    Setting::new(
        "hip_retransmit_tries",
        &["0 to 16"],
        "how often a packet of HIP is repeated",
        field!(
            options.hip.retransmission.tries,
            |item| item.integer(0..=16).map(|tries| tries as u8),
            ToString::to_string
        ),
    )
    .of(&HIP),
];

fn groups(item: &Item) -> Result<Vec<Group>, ScenarioError> {
    item.some_elements("group")?.iter().map(|item| item.pick("group of HIP", &GROUPS, Group::name)).collect()
}

fn ciphers(item: &Item) -> Result<Vec<Cipher>, ScenarioError> {
    let elements = item.some_elements("cipher")?;
    elements.iter().map(|item| item.pick("cipher of HIP", &Cipher::ALL, Cipher::name)).collect()
}

/// From a second to a year.
fn unused(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 1_000_000_000..=31_536_000_000_000_000).map(Duration::from_nanos)
}
