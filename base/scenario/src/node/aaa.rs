//! `role = "aaa"`: a RADIUS server with an EAP server.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use keytoll_crypto_api::Secret;

use super::eap::{TlsPlan, methods, tls};
use super::files::Files;
use super::network::{LOOPBACK, address, own_ports, socket};
use super::peer_tls::{self, PeerTlsPlan, peer_tls};
use super::subscriber::{self, SubscriberPlan};
use super::{Placed, ROLE};
use crate::catalogue::EapMethod;
use crate::catalogue::eap::Proof;
use crate::diagnostic::ScenarioError;
use crate::plan::Options;
use crate::quantity::Kind;
use crate::tree::{Item, Table};

/// An AAA server.
#[derive(Debug, Clone)]
pub struct AaaPlan {
    /// The listening address.
    pub listen: IpAddr,
    /// The ports for authentication and for accounting.
    pub ports: (u16, u16),
    /// Its name in MD5 and MSCHAPv2, and in Diameter.
    pub name: String,
    /// The RADIUS clients, and the secret shared with each.
    pub clients: Vec<(IpAddr, Secret)>,
    /// How long it keeps an Access-Reject back.
    pub reject_delay: Duration,
    /// How often the password of a user may be tried in a second, and how many unfinished authentications a device by its
    /// Calling-Station-Id may have.
    pub at_once_per_user: u16,
    /// The EAP methods it proposes, in this order.
    pub methods: Vec<&'static EapMethod>,
    /// Users with a password.
    pub users: Vec<(String, Secret)>,
    /// TLS, for methods that use it.
    pub tls: Option<Placed<TlsPlan>>,
    /// Subscribers of its own.
    pub subscribers: Vec<SubscriberPlan>,
    /// The HSS of other subscribers.
    pub hss: Option<HssAccessPlan>,
    /// Whether it assigns pseudonyms to SIM and AKA peers.
    pub pseudonyms: bool,
    /// Fast re-authentications after a full one.
    pub fast_reauth: u16,
    /// Challenges of EAP-SIM.
    pub triplets: u8,
    /// The access network's name for AKA′.
    pub access_network: String,
}

/// Access to an HSS.
#[derive(Debug, Clone)]
pub struct HssAccessPlan {
    /// The address of the HSS.
    pub server: SocketAddr,
    /// The local address; `None`: chosen by the routing table.
    pub local: Option<IpAddr>,
    /// Our realm, and its.
    pub realm: String,
    /// For how many authentications vectors are requested at a time.
    pub batch: u8,
    /// TLS around Diameter; `None`: no protection.
    pub tls: Option<Placed<PeerTlsPlan>>,
}

const KEYS: &[&str] = &[
    ROLE,
    "listen",
    "port",
    "accounting_port",
    "name",
    "clients",
    "reject_delay",
    "at_once_per_user",
    "methods",
    "users",
    "tls",
    "subscriber",
    "hss",
    "pseudonyms",
    "fast_reauth",
    "triplets",
    "access_network",
];

/// FreeRADIUS waits as long.
const REJECT_DELAY: Duration = Duration::from_secs(1);
/// With the delay, three wrong passwords of a user are answered in a second.
const AT_ONCE_PER_USER: u16 = 3;

fn reject_delay(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 0..=10_000_000_000).map(Duration::from_nanos)
}

pub(super) fn read(document: &Table, files: &mut Files) -> Result<AaaPlan, ScenarioError> {
    const WHAT: &str = "an AAA server";
    document.only(WHAT, KEYS)?;
    let item = document.need("methods", WHAT)?;
    let methods = methods(item)?;
    let plan = AaaPlan {
        listen: document.or("listen", LOOPBACK, address)?,
        ports: own_ports(document, ("port", 1812), ("accounting_port", 1813))?,
        name: document.or("name", "aaa".to_owned(), |item| item.text("a name").map(str::to_owned))?,
        clients: clients(document.need("clients", WHAT)?, files)?,
        users: document.or("users", Vec::new(), |item| users(item, files))?,
        tls: tls(document, &methods, files)?,
        subscribers: subscriber::all(document, files)?,
        hss: document.or("hss", None, |item| hss(item.table()?, files).map(Some))?,
        pseudonyms: document.or("pseudonyms", true, Item::boolean)?,
        fast_reauth: document
            .or("fast_reauth", 16, |item| item.integer(0..=65_535).map(|count| count as u16))?,
        triplets: document.or("triplets", 3, |item| item.integer(2..=3).map(|count| count as u8))?,
        access_network: document
            .or("access_network", "WLAN".to_owned(), |item| item.text("a name").map(str::to_owned))?,
        reject_delay: document.or("reject_delay", REJECT_DELAY, reject_delay)?,
        at_once_per_user: document.or("at_once_per_user", AT_ONCE_PER_USER, |item| {
            item.integer(1..=65_535).map(|count| count as u16)
        })?,
        methods,
    };
    check(document, item, &plan)?;
    Ok(plan)
}

/// Checks that every method has its credentials.
fn check(document: &Table, item: &Item, plan: &AaaPlan) -> Result<(), ScenarioError> {
    if let (Some(hss), false) = (document.entry("hss"), plan.subscribers.is_empty()) {
        let message = "an AAA server has subscribers of its own or asks an HSS, not both";
        return Err(hss.key_spot.error(message, "remove this, or every `[[subscriber]]`"));
    }
    let knows_cards = plan.hss.is_some() || !plan.subscribers.is_empty();
    for method in &plan.methods {
        let lacks = if method.has_password() && plan.users.is_empty() {
            "a table `[users]`"
        } else if method.has_card() && !knows_cards {
            "`[[subscriber]]` or `[hss]`"
        } else {
            continue;
        };
        let message = format!("EAP method `{}` needs {lacks}", method.name);
        return Err(item.spot.error(message, format!("{lacks} is missing")));
    }
    plan.tls.iter().try_for_each(|tls| check_tls(plan, tls))
}

fn check_tls(plan: &AaaPlan, tls: &Placed<TlsPlan>) -> Result<(), ScenarioError> {
    let lacks = |lacks: &str| {
        Err(tls.error(format!("an AAA server's `[tls]` needs {lacks}"), format!("{lacks} is missing")))
    };
    if tls.value.credential.is_none() {
        return lacks("`certificate` and `key`");
    }
    if plan.methods.iter().any(|method| method.proof == Proof::Certificate) && tls.value.roots.is_none() {
        return lacks("`roots`");
    }
    Ok(())
}

/// The clients with their secrets.
fn clients(item: &Item, files: &mut Files) -> Result<Vec<(IpAddr, Secret)>, ScenarioError> {
    let entries = item.table()?.entries.iter();
    let client = |entry: &crate::tree::Entry| {
        let ip = entry.key.parse().map_err(|_| {
            let message = format!("the RADIUS client `{}` is no IP address", entry.key);
            entry.key_spot.error(message, "an address in quotes, like `\"127.0.0.1\"`")
        })?;
        Ok((ip, files.shared(&entry.item)?))
    };
    entries.map(client).collect()
}

/// Names, and the password of each.
fn users(item: &Item, files: &mut Files) -> Result<Vec<(String, Secret)>, ScenarioError> {
    let entries = item.table()?.entries.iter();
    entries.map(|entry| Ok((entry.key.clone(), files.secret(&entry.item)?))).collect()
}

/// `[hss]`.
pub(super) fn hss(table: &Table, files: &mut Files) -> Result<HssAccessPlan, ScenarioError> {
    const WHAT: &str = "`hss`";
    table.only(WHAT, &["server", "local", "realm", "batch", "tls"])?;
    let tls = peer_tls(table, files)?;
    let port = if tls.is_some() { peer_tls::PORT } else { 3868 };
    Ok(HssAccessPlan {
        server: socket(table.need("server", WHAT)?, port, files)?,
        tls,
        local: table.or("local", None, |item| address(item).map(Some))?,
        realm: table.or("realm", "lab".to_owned(), |item| item.text("a realm").map(str::to_owned))?,
        batch: table
            .or("batch", Options::default().eap.vector_batch, |item| item.integer(1..=10).map(|n| n as u8))?,
    })
}
