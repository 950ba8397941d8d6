//! `role = "gateway"`: an IKE responder, with the RADIUS server for devices that use EAP.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use keytoll_crypto_api::Secret;

use super::connection::{self, BelievePlan, ConnectionPlan, ENDPOINT_KEYS, EndpointPlan};
use super::files::Files;
use super::network::{LOOPBACK, address, addresses, port, socket};
use super::tun::{self, TunPlan};
use super::{Placed, ROLE, Role};
use crate::diagnostic::ScenarioError;
use crate::tree::{Item, Table};

/// A gateway.
#[derive(Debug, Clone)]
pub struct GatewayPlan {
    /// The listening address.
    pub listen: IpAddr,
    /// Its IKE endpoint.
    pub endpoint: EndpointPlan,
    /// The connections it accepts, in this order.
    pub connections: Vec<ConnectionPlan>,
    /// Addresses behind it that answer echo requests.
    pub inner: Vec<IpAddr>,
    /// The TUN interface, if there is one.
    pub tun: Option<TunPlan>,
    /// The RADIUS server for devices that use EAP.
    pub radius: Option<RadiusPlan>,
}

/// Access to a RADIUS server.
#[derive(Debug, Clone)]
pub struct RadiusPlan {
    /// The destination of Access-Requests.
    pub server: SocketAddr,
    /// The destination port of Accounting-Requests.
    pub accounting_port: u16,
    /// The shared secret.
    pub secret: Secret,
    /// The local address; `None`: chosen by the routing table.
    pub local: Option<Placed<IpAddr>>,
    /// Source ports, for 256 outstanding requests each; `None`: eight free ones.
    pub ports: Option<RangeInclusive<u16>>,
    /// NAS-Identifier.
    pub identifier: String,
    /// Whether to request the EAP identity from the device instead of using that of IKE.
    pub asks_identity: bool,
    /// Whether to send accounting requests.
    pub accounting: bool,
}

const KEYS: &[&str] = &[ROLE, "listen", "connection", "inner", "tun", "radius"];

pub(super) fn read(document: &Table, files: &mut Files) -> Result<GatewayPlan, ScenarioError> {
    document.only("a gateway", &[KEYS, ENDPOINT_KEYS].concat())?;
    let connections = document.need("connection", "a gateway")?.some_elements("connection")?;
    let read = |item| Ok((item, connection::read(item, Role::Gateway, files)?));
    let connections = connections.iter().map(read).collect::<Result<Vec<(&Item, _)>, _>>()?;
    let radius = document.get("radius").map(|item| radius(item.table()?, files)).transpose()?;
    for (item, connection) in &connections {
        check(item, connection, radius.as_ref())?;
    }
    Ok(GatewayPlan {
        listen: document.or("listen", LOOPBACK, address)?,
        endpoint: connection::endpoint(document, (500, 4500))?,
        connections: connections.into_iter().map(|(_, connection)| connection).collect(),
        inner: document.or("inner", Vec::new(), addresses)?,
        tun: tun::read(document)?,
        radius,
    })
}

fn check(item: &Item, connection: &ConnectionPlan, radius: Option<&RadiusPlan>) -> Result<(), ScenarioError> {
    if connection.identity.is_none() {
        return Err(item.spot.error("a gateway's connection needs an `identity`", "`identity` is missing"));
    }
    if matches!(connection.believe, BelievePlan::Eap) && radius.is_none() {
        let error = item.spot.error("devices with EAP are judged by an AAA server", "`peer_auth = \"eap\"`");
        return Err(error.hint("a table `[radius]` with `server` and `secret`"));
    }
    Ok(())
}

fn radius(table: &Table, files: &mut Files) -> Result<RadiusPlan, ScenarioError> {
    const WHAT: &str = "`radius`";
    const KEYS: &[&str] = &[
        "server",
        "accounting_port",
        "secret",
        "local",
        "ports",
        "identifier",
        "asks_identity",
        "accounting",
    ];
    table.only(WHAT, KEYS)?;
    Ok(RadiusPlan {
        server: socket(table.need("server", WHAT)?, 1812, files)?,
        accounting_port: port(table, "accounting_port", 1813)?,
        secret: files.shared(table.need("secret", WHAT)?)?,
        local: table.or("local", None, |item| Ok(Some(Placed::new(address(item)?, item))))?,
        ports: table.or("ports", None, |item| ports(item).map(Some))?,
        identifier: table.or("identifier", "keytoll".to_owned(), identifier)?,
        asks_identity: table.or("asks_identity", false, Item::boolean)?,
        accounting: table.or("accounting", false, Item::boolean)?,
    })
}

/// `"49152-49155"`.
fn ports(item: &Item) -> Result<RangeInclusive<u16>, ScenarioError> {
    let text = item.text("a range of ports")?;
    let range = text.split_once('-').and_then(|(first, last)| {
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first > 0 && first <= last).then_some(first..=last)
    });
    range.ok_or_else(|| {
        item.spot.error(format!("`{text}` is no range of ports"), "a range like `\"49152-49155\"`")
    })
}

// RFC 2865 §5.32: the value of an attribute has 1 to 253 bytes.
fn identifier(item: &Item) -> Result<String, ScenarioError> {
    let text = item.text("a string")?;
    if (1..=253).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(item.spot.error("`identifier` must have 1 to 253 bytes", "empty or too long"))
}
