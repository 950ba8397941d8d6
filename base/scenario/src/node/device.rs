//! `role = "device"`: an IKE initiator, with its credentials.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use keytoll_crypto_api::Secret;

use super::connection::{self, BelievePlan, ConnectionPlan, ENDPOINT_KEYS, EndpointPlan, ProvePlan};
use super::eap::{TlsPlan, methods, tls};
use super::files::Files;
use super::network::{address, port, socket};
use super::subscriber::{self, SubscriberPlan};
use super::tun::{self, TunPlan};
use super::{Call, Placed, ROLE, Role};
use crate::catalogue::EapMethod;
use crate::catalogue::eap::Proof;
use crate::diagnostic::ScenarioError;
use crate::tree::{Item, Table};

/// A device.
#[derive(Debug, Clone)]
pub struct DevicePlan {
    /// The gateway and its port for IKE.
    pub gateway: SocketAddr,
    /// The gateway's port for IKE and ESP behind a NAT.
    pub gateway_nat_port: u16,
    /// Our address; `None`: chosen by the routing table.
    pub local: Option<IpAddr>,
    /// Our IKE endpoint.
    pub endpoint: EndpointPlan,
    /// The terms.
    pub connection: ConnectionPlan,
    /// Our own address inside the tunnel, if it is not assigned.
    pub inner: Option<IpAddr>,
    /// The destination of an echo request.
    pub ping: Option<IpAddr>,
    /// The TUN interface, if there is one.
    pub tun: Option<TunPlan>,
    /// How we prove ourselves with EAP.
    pub eap: Option<EapPlan>,
}

impl DevicePlan {
    pub(super) fn call(&self) -> Call {
        let connection = &self.connection;
        Call {
            gateway: (self.gateway.ip(), Some(self.gateway.port())),
            later_port: Some(self.gateway_nat_port),
            // Without a child SA there is no echo.
            pings: self.ping.is_some() && !connection.childless,
            auth: self.auth(),
            peer_auth: match connection.believe {
                BelievePlan::Psk { .. } => "shared key",
                BelievePlan::Roots(_) => "certificate",
                BelievePlan::RawKey(_) => "known key",
                BelievePlan::Eap => "EAP's key",
            },
            offers: [&connection.suites, &connection.esp_suites]
                .map(|suites| suites.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        }
    }

    fn auth(&self) -> String {
        match (&self.connection.prove, &self.eap) {
            (ProvePlan::Psk(_), _) => "shared key".to_owned(),
            (ProvePlan::Certificate(_), _) => "certificate".to_owned(),
            (ProvePlan::RawKey(_), _) => "known key".to_owned(),
            (ProvePlan::Eap, eap) => {
                let methods = eap.iter().flat_map(|eap| &eap.methods).map(|method| method.name);
                format!("EAP {}", methods.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// EAP of a device.
#[derive(Debug, Clone)]
pub struct EapPlan {
    /// EAP methods it accepts.
    pub methods: Vec<&'static EapMethod>,
    /// The EAP identity; `None`: that of the card.
    pub identity: Option<String>,
    /// The user inside a tunnel; otherwise the identity.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// TLS, for methods that use it.
    pub tls: Option<Placed<TlsPlan>>,
    /// The card, for methods that use it.
    pub card: Option<CardPlan>,
}

/// A device's card.
#[derive(Debug, Clone)]
pub struct CardPlan {
    /// The subscriber.
    pub subscriber: SubscriberPlan,
    /// The home network's realm.
    pub realm: String,
    /// The access network's name for AKA′; `None`: any.
    pub access_network: Option<String>,
    /// The file for sequence numbers; `None`: they are not kept.
    pub state: Option<Placed<PathBuf>>,
}

const KEYS: &[&str] = &[
    ROLE,
    "gateway",
    "gateway_nat_port",
    "local",
    "inner",
    "connection",
    "ping",
    "tun",
    "eap",
    "tls",
    "card",
];

pub(super) fn read(document: &Table, files: &mut Files) -> Result<DevicePlan, ScenarioError> {
    document.only("a device", &[KEYS, ENDPOINT_KEYS].concat())?;
    let item = document.need("connection", "a device")?;
    let connection = connection::read(item, Role::Device, files)?;
    let eap = eap(document, item, &connection, files)?;
    let plan = DevicePlan {
        gateway: socket(document.need("gateway", "a device")?, 500, files)?,
        gateway_nat_port: port(document, "gateway_nat_port", 4500)?,
        local: document.or("local", None, |item| address(item).map(Some))?,
        endpoint: connection::endpoint(document, (0, 0))?,
        connection,
        inner: document.or("inner", None, |item| address(item).map(Some))?,
        ping: document.or("ping", None, |item| address(item).map(Some))?,
        tun: tun::read(document)?,
        eap,
    };
    check(&plan, item)?;
    Ok(plan)
}

/// The device needs an identity, and EAP authenticates a gateway only to a device that uses EAP.
fn check(plan: &DevicePlan, item: &Item) -> Result<(), ScenarioError> {
    let connection = &plan.connection;
    if connection.identity.is_none() && plan.eap.is_none() {
        return Err(item.spot.error("a device needs an `identity`", "`identity` is missing"));
    }
    if matches!(connection.believe, BelievePlan::Eap) && plan.eap.is_none() {
        let label = "`peer_auth = \"eap-only\"` without `auth = \"eap\"`";
        return Err(item
            .spot
            .error("a gateway that proves itself with EAP alone needs a device with EAP", label));
    }
    Ok(())
}

/// The EAP settings, if the connection uses EAP.
fn eap(
    document: &Table,
    connection_item: &Item,
    connection: &ConnectionPlan,
    files: &mut Files,
) -> Result<Option<EapPlan>, ScenarioError> {
    const WHAT: &str = "a device with `auth = \"eap\"`";
    if !matches!(connection.prove, ProvePlan::Eap) {
        return Ok(None);
    }
    let item = document.need("eap", WHAT)?;
    let table = item.table()?;
    table.only("`eap`", &["methods", "identity", "user", "password"])?;
    let text = |item: &Item| item.text("a name").map(|name| Some(name.to_owned()));
    let methods = methods(table.need("methods", "`eap`")?)?;
    let plan = EapPlan {
        identity: table.or("identity", None, text)?,
        user: table.or("user", None, text)?,
        password: table.get("password").map(|item| files.secret(item)).transpose()?,
        tls: tls(document, &methods, files)?,
        card: document.get("card").map(|item| card(item, files)).transpose()?,
        methods,
    };
    check_eap(&plan, item)?;
    if matches!(connection.believe, BelievePlan::Eap) {
        check_eap_only(&plan, connection_item)?;
    }
    Ok(Some(plan))
}

/// A gateway authenticated by EAP alone needs a method that authenticates it.
fn check_eap_only(plan: &EapPlan, connection: &Item) -> Result<(), ScenarioError> {
    let Some(unsafe_one) = plan.methods.iter().find(|method| !method.proves_server()) else { return Ok(()) };
    let message = format!(
        "EAP method `{}` would show the password to a gateway that nothing has proved",
        unsafe_one.name
    );
    let error = connection.spot.error(message, "`peer_auth = \"eap-only\"`");
    Err(error.hint(
        "`peer_auth = { roots = … }`, or a method that proves the server: `tls`, `ttls-…`, `peap-…`, `sim`, `aka` or `aka-prime` (RFC 5998 §4)",
    ))
}

/// Checks that every method has its credentials.
fn check_eap(plan: &EapPlan, item: &Item) -> Result<(), ScenarioError> {
    let refused = |method: &EapMethod, lacks: &str| {
        let message = format!("EAP method `{}` needs {lacks}", method.name);
        Err(item.spot.error(message, format!("{lacks} is missing")))
    };
    for method in &plan.methods {
        if method.has_password() && plan.password.is_none() {
            return refused(method, "a `password`");
        }
        if method.has_card() && plan.card.is_none() {
            return refused(method, "a table `[card]`");
        }
        if !method.has_card() && plan.identity.is_none() {
            return refused(method, "an `identity`");
        }
    }
    let cards = plan.methods.iter().filter(|method| method.has_card()).count();
    if cards > 1 && plan.identity.is_none() {
        let message = "a card has another identity for each of its methods";
        return Err(item.spot.error(message, "one of `sim`, `aka` and `aka-prime`, or an `identity`"));
    }
    plan.tls.iter().try_for_each(|tls| check_tls(plan, tls))
}

// RFC 5216 §5.2: a trusted certificate of another server must be refused.
fn check_tls(plan: &EapPlan, tls: &Placed<TlsPlan>) -> Result<(), ScenarioError> {
    let lacks = |lacks: &str| {
        Err(tls.error(format!("a device's `[tls]` needs {lacks}"), format!("{lacks} is missing")))
    };
    if tls.value.roots.is_none() {
        return lacks("`roots`");
    }
    if tls.value.server_name.is_none() {
        return lacks("`server_name`");
    }
    if plan.methods.iter().any(|method| method.proof == Proof::Certificate) && tls.value.credential.is_none()
    {
        return lacks("`certificate` and `key`");
    }
    Ok(())
}

/// `[card]`.
pub(super) fn card(item: &Item, files: &mut Files) -> Result<CardPlan, ScenarioError> {
    let table = item.table()?;
    Ok(CardPlan {
        subscriber: subscriber::read(item, &["realm", "access_network", "state"], 0, files)?,
        state: table.get("state").map(|item| files.path(item)).transpose()?,
        realm: table.need("realm", "a card")?.text("a realm")?.to_owned(),
        access_network: table
            .or("access_network", None, |item| item.text("a name").map(|name| Some(name.into())))?,
    })
}
