//! HIP in node files: a gateway or a device whose `[connection]` has a `method` of HIP. RFC 7401, RFC 9028.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use keytoll_crypto_api::suite::Suite;

use super::aaa::{HssAccessPlan, hss};
use super::connection::keepalive;
use super::device::{CardPlan, card};
use super::files::Files;
use super::network::{LOOPBACK, address, own_port, socket};
use super::tun::{self, TunPlan};
use super::{Call, Placed, ROLE, Role};
use crate::catalogue::Method;
use crate::catalogue::suites::DEFAULT_ESP;
use crate::diagnostic::{ScenarioError, Spot};
use crate::families::hip::{Aka, Exchange, FAMILY, Options, P256Hash, check_suites};
use crate::plan::SaLimits;
use crate::quantity::Kind;
use crate::resolve::values::{NEVER, esp_suites, rekey, wait};
use crate::tree::{Entry, Item, Table, Value};

/// A host of HIP.
#[derive(Debug, Clone)]
pub struct HipPlan {
    /// Whom it waits for, or whom it asks.
    pub side: HipSide,
    /// What it speaks.
    pub terms: HipTerms,
    /// The private key of its Host Identity.
    pub key: Placed<PathBuf>,
    /// Limits of the SAs for traffic.
    pub sa_limits: SaLimits,
    /// The TUN interface, if there is one.
    pub tun: Option<TunPlan>,
}

/// What a host speaks, and when it gives up; devices of a load have it in common.
#[derive(Debug, Clone)]
pub struct HipTerms {
    /// Which exchange.
    pub method: &'static Method,
    /// The same, as its family knows it.
    pub exchange: Exchange,
    /// Of an exchange with AKA.
    pub aka: AkaPlan,
    /// The hash of signatures with keys of P-256.
    pub p256_hash: P256Hash,
    /// Departures from RFC 7401 that are accepted and made.
    pub leniency: Vec<Departure>,
    /// ESP suites, best first.
    pub esp_suites: Vec<Suite>,
    /// Time after which the SAs for traffic are rekeyed.
    pub rekey_child: Option<Duration>,
    /// What carries HIP and its ESP.
    pub transport: Transport,
    /// Wait before the first repetition of a packet, each further one being twice as long; and how many there are.
    pub retransmission: (Duration, u8),
    /// Silence after which a keepalive is sent in UDP; `None`: never.
    pub nat_keepalive: Option<Duration>,
    /// An association without traffic is closed after this; `None`: never.
    pub unused_after: Option<Duration>,
}

impl HipPlan {
    pub(super) const fn role(&self) -> Role {
        match self.side {
            HipSide::Gateway { .. } => Role::Gateway,
            HipSide::Device { .. } => Role::Device,
        }
    }

    pub(super) const fn listening(&mut self) -> Option<(&mut IpAddr, Option<&mut u16>)> {
        let port = match &mut self.terms.transport {
            Transport::Udp(port) => Some(port),
            Transport::Raw => None,
        };
        match &mut self.side {
            HipSide::Gateway { listen, .. } => Some((listen, port)),
            HipSide::Device { .. } => None,
        }
    }

    pub(super) fn call(&self) -> Option<Call> {
        let HipSide::Device { gateway, peer, pings, .. } = &self.side else { return None };
        Some(Call {
            gateway: (gateway.ip(), Some(gateway.port()).filter(|port| *port != 0)),
            later_port: None,
            pings: *pings,
            auth: match self.terms.exchange {
                Exchange::Base | Exchange::Diet => "Host Identity".to_owned(),
                Exchange::DietAka => "Host Identity and AKA".to_owned(),
            },
            peer_auth: if peer.is_some() { "known Host Identity" } else { "any Host Identity" },
            offers: ["the usual groups and ciphers".to_owned(), joined(&self.terms.esp_suites)],
        })
    }
}

/// What a gateway and a device have of their own.
#[derive(Debug, Clone)]
pub enum HipSide {
    /// A responder.
    Gateway {
        /// The listening address.
        listen: IpAddr,
        /// The hosts it associates with; `None`: whoever proves a Host Identity.
        admits: Option<Vec<HostPlan>>,
        /// #K of its puzzles.
        puzzle_difficulty_bits: u8,
        /// Its name in Diameter, and the HSS of its subscribers.
        hss: Option<(String, HssAccessPlan)>,
    },
    /// An initiator.
    Device {
        /// The gateway; directly on IP without a port.
        gateway: SocketAddr,
        /// Our address; `None`: chosen by the routing table.
        local: Option<IpAddr>,
        /// Who the gateway is; `None`: whoever answers (RFC 7401 §4.1.8).
        peer: Option<HostPlan>,
        /// Whether the gateway is sent an echo request.
        pings: bool,
        /// The card of a subscriber.
        card: Option<CardPlan>,
    },
}

/// What card, gateway and HSS agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AkaPlan {
    /// With which keys.
    pub kind: Aka,
    /// The PLMN identity of the serving network, to which KASME is bound.
    pub network: [u8; 3],
}

/// Which host.
#[derive(Debug, Clone)]
pub enum HostPlan {
    /// By its HIT.
    Hit(Placed<Ipv6Addr>),
    /// By the file of its public key.
    PublicKey(Placed<PathBuf>),
}

/// A departure of an implementation from RFC 7401.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// Parameters are not in ascending order (§5.2.1).
    AnyOrder,
    /// Puzzles hash the responder's HIT first (§4.1.2).
    SwappedPuzzle,
    /// HIP_MAC of I2 and R2 is computed with the other integrity key (§6.5).
    SwappedIntegrityKeys,
    /// R2 is signed with HIP_SIGNATURE_2 (§5.3.4).
    R2WithSignature2,
    /// R1 has no R1_COUNTER (§5.2.3).
    NoR1Counter,
    /// Kij loses the zeros that it begins with (§6.5).
    ShortKij,
}

impl Departure {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::AnyOrder,
        Self::SwappedPuzzle,
        Self::SwappedIntegrityKeys,
        Self::R2WithSignature2,
        Self::NoR1Counter,
        Self::ShortKij,
    ];

    /// The key in `leniency`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnyOrder => "any_order",
            Self::SwappedPuzzle => "swapped_puzzle",
            Self::SwappedIntegrityKeys => "swapped_integrity_keys",
            Self::R2WithSignature2 => "r2_with_signature_2",
            Self::NoR1Counter => "no_r1_counter",
            Self::ShortKij => "short_kij",
        }
    }

    /// Whether it concerns what only the base exchange has: signatures, and keys that are agreed in it.
    const fn is_of_base_exchange(self) -> bool {
        matches!(self, Self::SwappedIntegrityKeys | Self::R2WithSignature2 | Self::ShortKij)
    }
}

/// What carries HIP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// UDP, together with ESP: RFC 9028 §5.1. Our port; 0: any free one.
    Udp(u16),
    /// IP: protocols 139 and 50, for which raw sockets are needed.
    Raw,
}

/// RFC 9028 §5.1.
pub(super) const PORT: u16 = 10_500;

// RFC 9028 §4.10: the recommended silence, and the least.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// RFC 7401 §4.4.3 leaves UAL open: fifteen minutes.
const UNUSED_AFTER: Duration = Duration::from_secs(15 * 60);

// RFC 7343 §2: every HIT begins with it.
const ORCHID: Ipv6Addr = Ipv6Addr::new(0x2001, 0x20, 0, 0, 0, 0, 0, 0);
const ORCHID_LEN: u32 = 28;

const METHOD: &str = "method";

/// Keys of whoever speaks HIP.
pub(super) const SPEAKER_KEYS: &[&str] =
    &["connection", "transport", "retransmit_first", "retransmit_tries", "nat_keepalive", "unused_after"];
/// Keys of both sides, beside the tables.
const KEYS: &[&str] =
    &[ROLE, "port", "rekey_bytes", "rekey_packets", "life_bytes", "life_packets", "replay_window", "tun"];
const GATEWAY_KEYS: &[&str] = &["listen", "puzzle_difficulty", "name", "hss"];
const DEVICE_KEYS: &[&str] = &["gateway", "local", "ping", "card"];
const CONNECTION_KEYS: &[&str] =
    &[METHOD, "aka", "serving_network", "esp_suites", "rekey_child", P256_HASH, LENIENCY];
const P256_HASH: &str = "ecdsa_p256_hash";
const LENIENCY: &str = "leniency";

/// Whether a connection has a method; those of IKE have none.
pub(super) fn is_meant(document: &Table) -> bool {
    let has_method = |item: &Item| matches!(&item.value, Value::Table(table) if table.get(METHOD).is_some());
    document.get("connection").is_some_and(|item| item.elements().iter().any(has_method))
}

pub(super) fn read(document: &Table, role: Role, files: &mut Files) -> Result<HipPlan, ScenarioError> {
    let (what, own) = match role {
        Role::Gateway => ("a gateway of HIP", GATEWAY_KEYS),
        _ => ("a device of HIP", DEVICE_KEYS),
    };
    document.only(what, &[KEYS, SPEAKER_KEYS, own].concat())?;
    let of_connection: &[&str] =
        if role == Role::Gateway { &["auth", "admits"] } else { &["auth", "peer", "peer_auth"] };
    let connection = connection(document, of_connection)?;
    let terms = terms(document, connection, if role == Role::Gateway { PORT } else { 0 })?;
    Ok(HipPlan {
        side: match role {
            Role::Gateway => gateway(document, connection, terms.exchange, files)?,
            _ => device(document, connection, (terms.exchange, terms.transport), files)?,
        },
        terms,
        key: key(connection.need("auth", "a connection of HIP")?, files)?,
        sa_limits: SaLimits::read(document)?,
        tun: tun::read(document)?,
    })
}

/// What `[connection]` and the keys beside it say of every host; `port` is ours, if nothing is said.
pub(super) fn terms(document: &Table, connection: &Table, port: u16) -> Result<HipTerms, ScenarioError> {
    let (method, exchange) = method(connection.need(METHOD, "a connection of HIP")?)?;
    let defaults = Options::default();
    Ok(HipTerms {
        method,
        exchange,
        aka: aka(connection, exchange)?,
        p256_hash: p256_hash(connection, exchange)?,
        leniency: leniency(connection, exchange)?,
        esp_suites: connection.or("esp_suites", usual_suites(), |item| {
            let suites = esp_suites(item)?;
            check_suites(&suites, item).map(|()| suites)
        })?,
        rekey_child: connection.or("rekey_child", None, rekey)?,
        transport: transport(document, port)?,
        retransmission: (
            document.or("retransmit_first", defaults.retransmission.first, wait)?,
            document.or("retransmit_tries", defaults.retransmission.tries, |item| {
                item.integer(0..=16).map(|tries| tries as u8)
            })?,
        ),
        nat_keepalive: document.or("nat_keepalive", Some(KEEPALIVE), |item| keepalive(item, KEEPALIVE))?,
        unused_after: document.or("unused_after", Some(UNUSED_AFTER), unused_after)?,
    })
}

/// The only connection, which has these keys beside the usual ones.
pub(super) fn connection<'a>(document: &'a Table, own: &[&str]) -> Result<&'a Table, ScenarioError> {
    let item = document.need("connection", "a host of HIP")?;
    let [item] = item.elements() else {
        let error = item.spot.error("a host of HIP has one `[connection]`", "several");
        return Err(error.hint("one node for each method; IKE has nodes of its own, too"));
    };
    let table = item.table()?;
    table.only("a connection of HIP", &[CONNECTION_KEYS, own].concat())?;
    Ok(table)
}

fn method(item: &Item) -> Result<(&'static Method, Exchange), ScenarioError> {
    let name = item.text("the name of a method of HIP")?;
    let is_of_another = (FAMILY.methods)().iter().all(|method| method.name != name);
    if is_of_another && Method::named(name).is_some() {
        let message = format!("`{name}` is no method of HIP");
        let error = item.spot.error(message, "in a connection of a node file");
        return Err(error
            .hint("a connection of IKE has no `method`: `version`, `auth` and `peer_auth` say what it is"));
    }
    let all: Vec<&'static Method> = (FAMILY.methods)().iter().collect();
    let method = item.pick("method of HIP", &all, |method| method.name)?;
    Ok((method, *method.own::<Exchange>().expect("the methods of the family are its exchanges")))
}

/// `aka` and `serving_network`, which only the exchange with AKA has.
fn aka(connection: &Table, exchange: Exchange) -> Result<AkaPlan, ScenarioError> {
    let strange = ["aka", "serving_network"].iter().find_map(|key| connection.entry(key));
    if let (Some(entry), false) = (strange, exchange == Exchange::DietAka) {
        let message = format!("`{}` is for `hip-dex-aka`", entry.key);
        return Err(entry.key_spot.error(message, "not in this exchange"));
    }
    Ok(AkaPlan {
        kind: connection.or("aka", Aka::Eps, |item| item.pick("kind of AKA", &Aka::ALL, Aka::name))?,
        network: connection.or("serving_network", NETWORK, network)?,
    })
}

fn p256_hash(connection: &Table, exchange: Exchange) -> Result<P256Hash, ScenarioError> {
    let Some(entry) = connection.entry(P256_HASH) else { return Ok(Options::default().p256_hash) };
    of_base_exchange(entry, exchange)?;
    entry.item.pick("hash of signatures with P-256", &P256Hash::ALL, P256Hash::name)
}

fn leniency(connection: &Table, exchange: Exchange) -> Result<Vec<Departure>, ScenarioError> {
    let Some(item) = connection.get(LENIENCY) else { return Ok(Vec::new()) };
    let table = item.table()?;
    table.only("`leniency`", &Departure::ALL.map(Departure::name))?;
    let mut found = Vec::new();
    for departure in Departure::ALL {
        let Some(entry) = table.entry(departure.name()) else { continue };
        if departure.is_of_base_exchange() {
            of_base_exchange(entry, exchange)?;
        }
        found.extend(entry.item.boolean()?.then_some(departure));
    }
    Ok(found)
}

fn of_base_exchange(entry: &Entry, exchange: Exchange) -> Result<(), ScenarioError> {
    if exchange == Exchange::Base {
        return Ok(());
    }
    let message = format!("`{}` is for `hip-bex`", entry.key);
    Err(entry.key_spot.error(message, "not in this exchange"))
}

/// MCC 001, MNC 01.
const NETWORK: [u8; 3] = [0x00, 0xf1, 0x10];

// TS 24.301 §9.9.3.32: the digits of MCC and MNC, two an octet and the lower one first; an MNC of two digits is filled up.
fn network(item: &Item) -> Result<[u8; 3], ScenarioError> {
    let text = item.text("the digits of a PLMN in a string")?;
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(10).map(|digit| digit as u8)).collect();
    Ok(match digits.as_deref() {
        Some(&[c1, c2, c3, n1, n2]) => [c2 << 4 | c1, 0xf0 | c3, n2 << 4 | n1],
        Some(&[c1, c2, c3, n1, n2, n3]) => [c2 << 4 | c1, n3 << 4 | c3, n2 << 4 | n1],
        _ => {
            let label = "three digits of the MCC, and two or three of the MNC, like `\"00101\"`";
            return Err(item.spot.error(format!("`{text}` is no PLMN"), label));
        }
    })
}

fn usual_suites() -> Vec<Suite> {
    vec![Suite::esp(DEFAULT_ESP).expect("a test parses the default suite")]
}

fn joined(suites: &[Suite]) -> String {
    suites.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// `transport`, and the `port` of UDP.
fn transport(document: &Table, port: u16) -> Result<Transport, ScenarioError> {
    const WAYS: [(&str, Transport); 2] = [("udp", Transport::Udp(PORT)), ("raw", Transport::Raw)];
    let ways: [usize; 2] = [0, 1];
    let way = document.or("transport", 0, |item| item.pick("transport", &ways, |way| WAYS[way].0))?;
    match (WAYS[way].1, document.entry("port")) {
        (Transport::Udp(_), _) => Ok(Transport::Udp(own_port(document, "port", port)?)),
        (Transport::Raw, None) => Ok(Transport::Raw),
        (Transport::Raw, Some(entry)) => {
            let error =
                entry.key_spot.error("directly on IP there are no ports", "beside `transport = \"raw\"`");
            Err(error.hint("leave `port` out, or `transport`"))
        }
    }
}

fn key(item: &Item, files: &mut Files) -> Result<Placed<PathBuf>, ScenarioError> {
    let table = only_table(item, "`{ key = \"FILE\" }`")?;
    table.only("`auth` of HIP", &["key"])?;
    files.private(table.need("key", "`auth` of HIP")?)
}

fn only_table<'a>(item: &'a Item, like: &str) -> Result<&'a Table, ScenarioError> {
    match &item.value {
        Value::Table(table) => Ok(table),
        _ => Err(item.wrong(like)),
    }
}

fn gateway(
    document: &Table,
    connection: &Table,
    exchange: Exchange,
    files: &mut Files,
) -> Result<HipSide, ScenarioError> {
    let hosts = |item: &Item| {
        item.some_elements("HIT or public key")?
            .iter()
            .map(|item| host(item, files))
            .collect::<Result<_, _>>()
    };
    let admits = connection.get("admits").map(hosts).transpose()?;
    let name = document.or("name", "gateway".to_owned(), |item| item.text("a name").map(str::to_owned))?;
    let hss = of_aka(document, "hss", exchange)?.map(|item| hss(item.table()?, files)).transpose()?;
    Ok(HipSide::Gateway {
        listen: document.or("listen", LOOPBACK, address)?,
        admits,
        puzzle_difficulty_bits: document.or("puzzle_difficulty", Options::default().puzzle_bits, |item| {
            item.integer(0..=24).map(|bits| bits as u8)
        })?,
        hss: hss.map(|hss| (name, hss)),
    })
}

fn device(
    document: &Table,
    connection: &Table,
    (exchange, transport): (Exchange, Transport),
    files: &mut Files,
) -> Result<HipSide, ScenarioError> {
    let item = document.need("gateway", "a device of HIP")?;
    let card_item = of_aka(document, "card", exchange)?;
    let peer = peer(connection, card_item.map(|item| &item.spot), files)?;
    let card = card_item.map(|item| card(item, files)).transpose()?;
    Ok(HipSide::Device {
        gateway: gateway_at(item, transport, files)?,
        local: document.or("local", None, |item| address(item).map(Some))?,
        pings: pings(document, peer.is_some())?,
        peer,
        card,
    })
}

/// An echo request goes to the gateway's HIT.
fn pings(document: &Table, has_peer: bool) -> Result<bool, ScenarioError> {
    match document.entry("ping") {
        Some(entry) if entry.item.boolean()? && !has_peer => {
            let error =
                entry.key_spot.error("an echo request goes to the HIT of the gateway", "without a HIT");
            Err(error.hint("`peer = \"HIT\"`, or `peer_auth = { public_key = … }`"))
        }
        Some(entry) => entry.item.boolean(),
        None => Ok(has_peer),
    }
}

/// The gateway, with a port where there are any.
fn gateway_at(item: &Item, transport: Transport, files: &mut Files) -> Result<SocketAddr, ScenarioError> {
    match transport {
        Transport::Udp(_) => socket(item, PORT, files),
        Transport::Raw => {
            let gateway = socket(item, 0, files)?;
            if gateway.port() != 0 {
                let label = "beside `transport = \"raw\"`";
                return Err(item.spot.error("directly on IP a gateway has no port", label));
            }
            Ok(gateway)
        }
    }
}

/// A table that the exchange with AKA needs, and no other has.
fn of_aka<'a>(document: &'a Table, key: &str, exchange: Exchange) -> Result<Option<&'a Item>, ScenarioError> {
    match (exchange == Exchange::DietAka, document.entry(key)) {
        (true, Some(entry)) => Ok(Some(&entry.item)),
        (true, None) => {
            let message = format!("method `hip-dex-aka` needs a table `[{key}]`");
            Err(document.spot.error(message, format!("`[{key}]` is missing")))
        }
        (false, None) => Ok(None),
        (false, Some(entry)) => {
            let message = format!("`[{key}]` is for `hip-dex-aka`");
            Err(entry.key_spot.error(message, "not in this exchange"))
        }
    }
}

/// `peer = "HIT"`, or `peer_auth = { public_key = "FILE" }`. Whoever has a card, at this place, must know the gateway.
pub(super) fn peer(
    connection: &Table,
    card: Option<&Spot>,
    files: &Files,
) -> Result<Option<HostPlan>, ScenarioError> {
    match (connection.get("peer"), connection.entry("peer_auth")) {
        (None, None) => card.map_or(Ok(None), |card| {
            let message =
                "a device that does not know its gateway would tell its IMSI to whoever answers first";
            let error = card.error(message, "a card without `peer`");
            Err(error.hint("`peer = \"HIT\"`, or `peer_auth = { public_key = … }`"))
        }),
        (Some(item), None) => hit(item).map(|hit| Some(HostPlan::Hit(hit))),
        (None, Some(entry)) => public_key(&entry.item, files).map(Some),
        (Some(_), Some(entry)) => {
            let error = entry.key_spot.error("`peer` says already who the gateway is", "beside `peer`");
            Err(error.hint("its HIT in `peer`, or its public key in `peer_auth`"))
        }
    }
}

/// A HIT, or `{ public_key = "FILE" }`.
fn host(item: &Item, files: &Files) -> Result<HostPlan, ScenarioError> {
    match &item.value {
        Value::Text(_) => hit(item).map(HostPlan::Hit),
        _ => public_key(item, files),
    }
}

fn public_key(item: &Item, files: &Files) -> Result<HostPlan, ScenarioError> {
    let table = only_table(item, "`{ public_key = \"FILE\" }`")?;
    table.only(&format!("`{}` of HIP", item.name), &["public_key"])?;
    let path = files.path(table.need("public_key", &format!("`{}` of HIP", item.name))?)?;
    Ok(HostPlan::PublicKey(path))
}

fn hit(item: &Item) -> Result<Placed<Ipv6Addr>, ScenarioError> {
    let text = item.text("a HIT in a string")?;
    let wrong = |label: &str| item.spot.error(format!("`{text}` is no HIT"), label);
    let address: Ipv6Addr = text.parse().map_err(|_| wrong("a HIT is written like an address of IPv6"))?;
    let is_orchid = address.to_bits() >> (128 - ORCHID_LEN) == ORCHID.to_bits() >> (128 - ORCHID_LEN);
    if !is_orchid {
        return Err(wrong("every HIT begins with 2001:20::/28 (RFC 7343)")
            .hint("`keytoll check FILE` shows the HIT of a node"));
    }
    Ok(Placed::new(address, item))
}

/// `"never"`, or from one second to a day.
fn unused_after(item: &Item) -> Result<Option<Duration>, ScenarioError> {
    if matches!(&item.value, Value::Text(word) if word == NEVER) {
        return Ok(None);
    }
    item.quantity(Kind::Duration, 1_000_000_000..=86_400_000_000_000)
        .map(|nanos| Some(Duration::from_nanos(nanos)))
}
