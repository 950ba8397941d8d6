//! `[connection]`: the peers of IKE and the parameters agreed with them; and the settings of a whole IKE endpoint.

use std::path::PathBuf;
use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::algorithm::{Hash, SignatureScheme};
use keytoll_crypto_api::suite::Suite;

use super::files::Files;
use super::network::{IpNetwork, PoolPlan, networks, own_ports, pool};
use super::{Placed, Role};
use crate::catalogue::suites::{DEFAULT_ESP, DEFAULT_IKE, DEFAULT_IKEV1};
use crate::diagnostic::ScenarioError;
use crate::families::ike::values::{ike_fit, signatures};
use crate::families::ike::{CookiePolicy, Phase1, Retransmission, v1};
use crate::plan::{Mode, Options, SaLimits};
use crate::quantity::Kind;
use crate::resolve::values::{NEVER, esp_suites, fragmentation, rekey, suites, wait, whole_seconds};
use crate::tree::{Item, Table, Value};

/// How we authenticate to the peer.
#[derive(Debug, Clone)]
pub enum ProvePlan {
    /// With a shared key.
    Psk(Secret),
    /// With a certificate.
    Certificate(CertificatePlan),
    /// With a private key whose public key the peer has.
    RawKey(Placed<PathBuf>),
    /// Device: with EAP. Gateway: only with the key that EAP exports (RFC 5998).
    Eap,
}

/// How the peer authenticates to us.
#[derive(Debug, Clone)]
pub enum BelievePlan {
    /// A shared key: one for each identity, or one for all.
    Psk {
        /// For identities without their own.
        any: Option<Secret>,
        /// By identity.
        by_identity: Vec<(Placed<String>, Secret)>,
    },
    /// A certificate with a path to one of these roots.
    Roots(RootsPlan),
    /// A signature that this public key verifies.
    RawKey(Placed<PathBuf>),
    /// Gateway: EAP, verified by the AAA server. Device: the key that EAP exports is the gateway's only proof.
    Eap,
}

/// The files of a certificate followed by its intermediates, and of its key.
#[derive(Debug, Clone)]
pub struct CertificatePlan {
    /// PEM or DER.
    pub certificate: Placed<PathBuf>,
    /// PEM or DER, not encrypted.
    pub key: Placed<PathBuf>,
}

/// Files of trusted certificates, and of revocation lists.
#[derive(Debug, Clone)]
pub struct RootsPlan {
    /// PEM or DER.
    pub roots: Placed<PathBuf>,
    /// PEM or DER; empty: no revocation checks.
    pub lists: Vec<Placed<PathBuf>>,
}

/// The IKE version, and its specific settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionPlan {
    /// IKEv2.
    V2,
    /// IKEv1.
    V1 {
        /// The exchange of phase 1.
        phase1: Phase1,
        /// Lifetime of the ISAKMP SA; the responder's applies if it is shorter.
        lifetime: Duration,
        /// Lifetime of the IPsec SAs; the responder's applies if it is shorter.
        child_lifetime: Duration,
    },
}

/// The settings for one kind of peer.
#[derive(Debug, Clone)]
pub struct ConnectionPlan {
    /// For logs.
    pub name: String,
    /// Which IKE.
    pub version: VersionPlan,
    /// Our identity; `None`: that of the card or the EAP user.
    pub identity: Option<Placed<String>>,
    /// The identity of the peer; `None`: any authenticated one.
    pub peer: Option<Placed<String>>,
    /// How we prove ourselves.
    pub prove: ProvePlan,
    /// Our signature schemes, best first; `None`: the usual ones of the key.
    pub signatures: Option<Placed<Vec<SignatureScheme>>>,
    /// How the peer must.
    pub believe: BelievePlan,
    /// The weakest hash that is accepted in an IKEv2 peer's signature.
    pub peer_hash: Hash,
    /// The shortest RSA key that is accepted from a peer.
    pub peer_rsa_bits: u16,
    /// IKE suites, best first.
    pub suites: Vec<Suite>,
    /// ESP suites, best first.
    pub esp_suites: Vec<Suite>,
    /// Whole packets or payloads.
    pub mode: Mode,
    /// No SA for traffic (RFC 6023).
    pub childless: bool,
    /// Local traffic selectors; empty: our own addresses.
    pub local: Vec<IpNetwork>,
    /// Remote traffic selectors; empty: the peer's address, or any with a virtual address.
    pub remote: Vec<IpNetwork>,
    /// Device: ask for an inner address.
    pub virtual_address: bool,
    /// Gateway: the pool of inner addresses.
    pub pool: Option<PoolPlan>,
    /// Gateway: the device must reauthenticate within this time (RFC 4478).
    pub auth_lifetime: Option<Duration>,
    /// Time after which the IKE SA is rekeyed.
    pub rekey_ike: Option<Duration>,
    /// Time after which child SAs are rekeyed.
    pub rekey_child: Option<Duration>,
    /// Silence after which the peer's liveness is checked (RFC 7296 §2.4).
    pub liveness: Option<Duration>,
}

/// When ESP travels in UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encapsulation {
    /// Always; needs no privileges.
    Always,
    /// Only behind a NAT.
    Auto,
}

impl Encapsulation {
    const ALL: [Self; 2] = [Self::Always, Self::Auto];

    const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Auto => "auto",
        }
    }
}

/// The settings of an endpoint, for all its connections.
#[derive(Debug, Clone)]
pub struct EndpointPlan {
    /// Our ports for IKE, and for IKE and ESP behind a NAT; 0: any free one.
    pub ports: (u16, u16),
    /// When cookies are demanded.
    pub cookies: CookiePolicy,
    /// Half-open SAs held at most.
    pub half_open_max: u32,
    /// Limit of child SAs under one IKE SA.
    pub children_max: u32,
    /// Limit of IKE SAs of one peer.
    pub ike_sas_max: u32,
    /// The longest IP packet of a fragmented message, in bytes; `None`: no fragmentation.
    pub fragment_bytes: Option<u16>,
    /// Timers of requests.
    pub retransmission: Retransmission,
    /// When ESP travels in UDP.
    pub encapsulation: Encapsulation,
    /// Behind a NAT: silence after which a keepalive is sent; `None`: never.
    pub nat_keepalive: Option<Duration>,
    /// Limits of the child SAs.
    pub sa_limits: SaLimits,
}

/// The default limit of child SAs under one IKE SA.
const CHILDREN_MAX: u32 = 64;

// RFC 3948 §4: the recommended interval is 20 seconds.
const NAT_KEEPALIVE: Duration = Duration::from_secs(20);

/// The default silence after which the liveness of a peer with an inner address is checked.
const POOL_LIVENESS: Duration = Duration::from_secs(120);

/// The default limit of IKE SAs of a peer: one in use and its successor, on two machines.
const IKE_SAS_MAX: u32 = 4;

/// The keys of an endpoint, besides those of its role.
pub(super) const ENDPOINT_KEYS: &[&str] = &[
    "port",
    "nat_port",
    "cookies",
    "half_open_max",
    "children_max",
    "ike_sas_max",
    "fragmentation",
    "encapsulation",
    "nat_keepalive",
    "retransmit_first",
    "retransmit_base",
    "retransmit_tries",
    "rekey_bytes",
    "rekey_packets",
    "life_bytes",
    "life_packets",
    "replay_window",
];

/// Parses the endpoint, with these default ports.
pub(super) fn endpoint(
    document: &Table,
    (port, nat_port): (u16, u16),
) -> Result<EndpointPlan, ScenarioError> {
    let (options, timers) = (Options::default().ike, Retransmission::default());
    Ok(EndpointPlan {
        ports: own_ports(document, ("port", port), ("nat_port", nat_port))?,
        cookies: document.or("cookies", options.cookies, |item| {
            item.pick("cookie policy", &CookiePolicy::ALL, CookiePolicy::name)
        })?,
        half_open_max: document.or("half_open_max", options.half_open_max, |item| {
            item.integer(1..=10_000_000).map(|max| max as u32)
        })?,
        children_max: document
            .or("children_max", CHILDREN_MAX, |item| item.integer(1..=100_000).map(|max| max as u32))?,
        ike_sas_max: document
            .or("ike_sas_max", IKE_SAS_MAX, |item| item.integer(1..=10_000_000).map(|max| max as u32))?,
        fragment_bytes: document.or("fragmentation", options.fragment_bytes, fragmentation)?,
        retransmission: Retransmission {
            first: document.or("retransmit_first", timers.first, wait)?,
            base: document.or("retransmit_base", timers.base, |item| item.number(&(1.0..=10.0)))?,
            tries: document.or("retransmit_tries", timers.tries, |item| {
                item.integer(0..=100).map(|tries| tries as u8)
            })?,
        },
        encapsulation: document.or("encapsulation", Encapsulation::Always, |item| {
            item.pick("encapsulation", &Encapsulation::ALL, Encapsulation::name)
        })?,
        nat_keepalive: document
            .or("nat_keepalive", Some(NAT_KEEPALIVE), |item| keepalive(item, Duration::from_secs(1)))?,
        sa_limits: SaLimits::read(document)?,
    })
}

/// Key of the weakest hash of a peer's signature.
const PEER_HASH: &str = "peer_hash";
/// Key of the shortest RSA key of a peer.
const PEER_RSA_BITS: &str = "peer_rsa_bits";

/// The hashes of signatures, the weakest first.
const HASHES: [Hash; 4] = [Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512];

const KEYS: &[&str] = &[
    "name",
    "version",
    "aggressive",
    "lifetime",
    "child_lifetime",
    "identity",
    "peer",
    "auth",
    "peer_auth",
    "signatures",
    PEER_HASH,
    PEER_RSA_BITS,
    "suites",
    "esp_suites",
    "mode",
    "childless",
    "local",
    "remote",
    "rekey_ike",
    "rekey_child",
    "liveness",
];

/// The keys that only one role has.
const fn keys_of(role: Role) -> &'static [&'static str] {
    match role {
        Role::Gateway => &["pool", "auth_lifetime"],
        _ => &["virtual_address"],
    }
}

/// One connection of a role.
pub(super) fn read(item: &Item, role: Role, files: &mut Files) -> Result<ConnectionPlan, ScenarioError> {
    let table = item.table()?;
    table.only("a connection", &[KEYS, keys_of(role)].concat())?;
    let prove = prove(table.need("auth", "a connection")?, role, files)?;
    let version = version(table)?;
    let usual = if version == VersionPlan::V2 { DEFAULT_IKE } else { DEFAULT_IKEV1 };
    let plan = ConnectionPlan {
        name: table.or("name", role.name().to_owned(), |item| item.text("a name").map(str::to_owned))?,
        identity: table.or("identity", None, |item| placed_text(item).map(Some))?,
        peer: table.or("peer", None, |item| placed_text(item).map(Some))?,
        version,
        signatures: table.or("signatures", None, |item| {
            signatures(item).map(|schemes| Some(Placed::new(schemes, item)))
        })?,
        believe: believe(table, &prove, role, files)?,
        peer_hash: table.or(PEER_HASH, Hash::Sha256, |item| item.pick("hash", &HASHES, Hash::name))?,
        peer_rsa_bits: table.or(PEER_RSA_BITS, 2048, |item| item.integer(1024..=8192))? as u16,
        prove,
        suites: table.or("suites", one(Suite::ike(usual)), |item| suites(item, Suite::ike, ike_fit))?,
        esp_suites: table.or("esp_suites", one(Suite::esp(DEFAULT_ESP)), esp_suites)?,
        mode: table.or("mode", Mode::Tunnel, |item| item.pick("mode", &Mode::ALL, Mode::name))?,
        childless: table.or("childless", false, Item::boolean)?,
        local: table.or("local", Vec::new(), networks)?,
        remote: table.or("remote", Vec::new(), networks)?,
        virtual_address: table.or("virtual_address", false, Item::boolean)?,
        pool: table.or("pool", None, |item| pool(item).map(Some))?,
        auth_lifetime: table.or("auth_lifetime", None, |item| whole_seconds(item).map(Some))?,
        rekey_ike: table.or("rekey_ike", None, rekey)?,
        rekey_child: table.or("rekey_child", None, rekey)?,
        liveness: table.or("liveness", usual_liveness(table), liveness)?,
    };
    check(&plan, role, table)?;
    Ok(plan)
}

/// `version = 1`, and the keys of IKEv1.
fn version(table: &Table) -> Result<VersionPlan, ScenarioError> {
    if table.or("version", 2, |item| item.integer(1..=2))? == 2 {
        let of_v1 = ["aggressive", "lifetime", "child_lifetime"];
        return match of_v1.iter().find_map(|key| table.entry(key)) {
            None => Ok(VersionPlan::V2),
            Some(entry) => {
                let message = format!("`{}` is IKEv1's", entry.key);
                Err(entry.key_spot.error(message, "in a connection of IKEv2").hint("`version = 1`"))
            }
        };
    }
    let aggressive = table.or("aggressive", false, Item::boolean)?;
    Ok(VersionPlan::V1 {
        phase1: if aggressive { Phase1::Aggressive } else { Phase1::Main },
        lifetime: table.or("lifetime", A_DAY, whole_seconds)?,
        // RFC 2407 §4.5: the default lifetime of an IPsec SA is eight hours.
        child_lifetime: table.or("child_lifetime", A_DAY / 3, whole_seconds)?,
    })
}

const A_DAY: Duration = Duration::from_secs(86_400);

/// Refuses settings that the version does not support.
fn check_version(plan: &ConnectionPlan, role: Role, table: &Table) -> Result<(), ScenarioError> {
    if plan.version == VersionPlan::V2 {
        return Ok(());
    }
    let of_v2 = [
        "childless",
        "virtual_address",
        "pool",
        "auth_lifetime",
        "rekey_ike",
        "signatures",
        PEER_HASH,
        PEER_RSA_BITS,
    ];
    if let Some(entry) = of_v2.iter().find_map(|key| table.entry(key)) {
        let message = format!("`{}` is IKEv2's", entry.key);
        return Err(entry.key_spot.error(message, "in a connection of IKEv1").hint(V1_KEYS));
    }
    let refuse = |key: &str, message: &str| {
        let spot = table.get(key).map_or_else(|| table.spot.start(), |item| item.spot.clone());
        Err(spot.error(message, "in a connection of IKEv1"))
    };
    if matches!(plan.prove, ProvePlan::Eap) || matches!(plan.believe, BelievePlan::Eap) {
        return refuse("auth", "IKEv1 has no EAP");
    }
    if plan.prove.is_psk() != plan.believe.is_psk() {
        return refuse(
            "peer_auth",
            "both sides of IKEv1 prove themselves alike: with a key or with signatures",
        );
    }
    // RFC 2409 §5.5: quick mode has one identity for each side; a gateway accepts any of several.
    let many =
        [("local", &plan.local), ("remote", &plan.remote)].into_iter().find(|(_, side)| side.len() > 1);
    if let (Some((key, _)), Role::Device) = (many, role) {
        return refuse(key, "a device of IKEv1 asks for one network on each side");
    }
    let blame = |key: &str| {
        table.get(key).map_or_else(
            || Ok(()),
            |item| match key {
                "suites" => v1::check_suites(&plan.suites, key, v1::isakmp_fit, item),
                _ => v1::check_suites(&plan.esp_suites, key, v1::ipsec_fit, item),
            },
        )
    };
    blame("suites").and_then(|()| blame("esp_suites"))
}

/// A certificate contains its identity, a raw public key does not.
fn check_owner(plan: &ConnectionPlan, table: &Table) -> Result<(), ScenarioError> {
    match (&plan.believe, &plan.peer, table.entry("peer_auth")) {
        (BelievePlan::RawKey(_), None, Some(entry)) => {
            let error = entry.key_spot.error("a public key does not say whose it is", "without `peer`");
            Err(error.hint("`peer = \"the identity of whoever has this key\"`"))
        }
        _ => Ok(()),
    }
}

const V1_KEYS: &str = "IKEv1 has `lifetime` and `child_lifetime`, and networks in `local` and `remote`";

impl ProvePlan {
    const fn has_key(&self) -> bool {
        matches!(self, Self::Certificate(_) | Self::RawKey(_))
    }

    const fn is_psk(&self) -> bool {
        matches!(self, Self::Psk(_))
    }
}

impl BelievePlan {
    const fn is_psk(&self) -> bool {
        matches!(self, Self::Psk { .. })
    }
}

/// An assigned address is the inner one of a tunnel.
fn check(plan: &ConnectionPlan, role: Role, table: &Table) -> Result<(), ScenarioError> {
    check_version(plan, role, table)?;
    check_owner(plan, table)?;
    if let (Some(schemes), false) = (&plan.signatures, plan.prove.has_key()) {
        return Err(schemes
            .error("`signatures` needs a key of our own that makes them", "nothing signs here")
            .hint("`auth = { certificate = …, key = … }`, or leave `signatures` out"));
    }
    if let (Some(_), Some(entry)) = (plan.pool, table.entry("remote")) {
        let message = "a device with an address of the `pool` sends from that address alone";
        return Err(entry.key_spot.error(message, "beside `pool`").hint("leave `remote` out, or the pool"));
    }
    let inner = plan.virtual_address || plan.pool.is_some();
    match table.get("mode") {
        Some(item) if inner && plan.mode == Mode::Transport => {
            Err(item.spot.error("a virtual address needs tunnel mode", "`mode = \"tunnel\"`"))
        }
        _ => Ok(()),
    }
}

fn one(suite: Result<Suite, keytoll_crypto_api::suite::SuiteError>) -> Vec<Suite> {
    vec![suite.expect("a test parses the default suite")]
}

fn placed_text(item: &Item) -> Result<Placed<String>, ScenarioError> {
    item.text("an identity in a string").map(|text| Placed::new(text.to_owned(), item))
}

/// `"never"`, or from the least to one hour.
pub(super) fn keepalive(item: &Item, least: Duration) -> Result<Option<Duration>, ScenarioError> {
    if matches!(&item.value, Value::Text(word) if word == NEVER) {
        return Ok(None);
    }
    let nanos = item.quantity(Kind::Duration, least.as_nanos() as u64..=3_600_000_000_000)?;
    Ok(Some(Duration::from_nanos(nanos)))
}

/// A device that has disappeared must not keep an inner address for ever.
fn usual_liveness(table: &Table) -> Option<Duration> {
    table.get("pool").map(|_| POOL_LIVENESS)
}

/// From a tenth of a second to a day.
fn liveness(item: &Item) -> Result<Option<Duration>, ScenarioError> {
    let nanos = item.quantity(Kind::Duration, 100_000_000..=86_400_000_000_000)?;
    Ok(Some(Duration::from_nanos(nanos)))
}

/// `{ psk = … }`, `{ certificate = …, key = … }`, `{ key = … }`, or the word for EAP of this role.
fn prove(item: &Item, role: Role, files: &mut Files) -> Result<ProvePlan, ScenarioError> {
    let word = if role == Role::Gateway { "eap-only" } else { "eap" };
    let Value::Table(table) = &item.value else {
        return eap_word(item, word, "{ psk = … }", "{ certificate = …, key = … }").map(|()| ProvePlan::Eap);
    };
    table.only("`auth`", &["psk", "certificate", "key"])?;
    match (table.get("psk"), table.get("certificate"), table.get("key")) {
        (Some(psk), ..) => files.shared(psk).map(ProvePlan::Psk),
        (None, None, Some(key)) => files.private(key).map(ProvePlan::RawKey),
        (None, ..) => certificate(table, files).map(ProvePlan::Certificate),
    }
}

/// The only value that is a word instead of a table.
fn eap_word(item: &Item, word: &str, one: &str, other: &str) -> Result<(), ScenarioError> {
    if item.text("a table or a word")? == word {
        return Ok(());
    }
    let error = item.spot.error(format!("unknown way in `{}`", item.name), "no such way to prove oneself");
    Err(error.hint(format!("`{one}`, `{other}` or `\"{word}\"`")))
}

/// `{ psk = … }`, `{ psks = { identity = … } }`, `{ roots = … }`, `{ public_key = … }`, or the word for EAP. A key shared with the
/// peer need not be repeated.
fn believe(
    connection: &Table,
    prove: &ProvePlan,
    role: Role,
    files: &mut Files,
) -> Result<BelievePlan, ScenarioError> {
    let word = if role == Role::Gateway { "eap" } else { "eap-only" };
    let item = match (connection.get("peer_auth"), prove) {
        (Some(item), _) => item,
        (None, ProvePlan::Psk(secret)) => {
            return Ok(BelievePlan::Psk { any: Some(secret.clone()), by_identity: Vec::new() });
        }
        (None, _) => connection.need("peer_auth", "a connection")?,
    };
    let Value::Table(table) = &item.value else {
        return eap_word(item, word, "{ psk = … }", "{ roots = … }").map(|()| BelievePlan::Eap);
    };
    table.only("`peer_auth`", &["psk", "psks", "roots", "crls", "public_key"])?;
    let trusted = roots(table, files)?;
    if let [entry] = table.entries.as_slice()
        && entry.key == "public_key"
    {
        return files.path(&entry.item).map(BelievePlan::RawKey);
    }
    match (trusted, table.get("psk"), table.get("psks")) {
        (Some(trusted), None, None) => Ok(BelievePlan::Roots(trusted)),
        (None, None, None) | (Some(_), ..) => {
            Err(item.spot.error("`peer_auth` needs one of `roots`, `psk` and `public_key`", "one of them"))
        }
        (None, any, own) => Ok(BelievePlan::Psk {
            any: any.map(|item| files.shared(item)).transpose()?,
            by_identity: own.map_or(Ok(Vec::new()), |item| by_identity(item, files))?,
        }),
    }
}

fn by_identity(item: &Item, files: &mut Files) -> Result<Vec<(Placed<String>, Secret)>, ScenarioError> {
    let entries = item.table()?.entries.iter();
    entries
        .map(|entry| Ok((Placed::new(entry.key.clone(), &entry.item), files.shared(&entry.item)?)))
        .collect()
}

/// `roots`, and `crls` beside them.
pub(super) fn roots(table: &Table, files: &Files) -> Result<Option<RootsPlan>, ScenarioError> {
    match (table.get("roots"), table.entry("crls")) {
        (None, None) => Ok(None),
        (None, Some(entry)) => {
            Err(entry.key_spot.error("`crls` needs `roots`", "whose certificates these lists revoke"))
        }
        (Some(roots), lists) => {
            let lists = lists.map_or(Ok(&[][..]), |entry| entry.item.some_elements("file"))?;
            let lists = lists.iter().map(|item| files.path(item)).collect::<Result<_, _>>()?;
            Ok(Some(RootsPlan { roots: files.path(roots)?, lists }))
        }
    }
}

/// A certificate and its key.
pub(super) fn certificate(table: &Table, files: &mut Files) -> Result<CertificatePlan, ScenarioError> {
    let certificate = files.path(table.need("certificate", "a way to prove oneself")?)?;
    let key = files.private(table.need("key", "a certificate")?)?;
    Ok(CertificatePlan { certificate, key })
}
