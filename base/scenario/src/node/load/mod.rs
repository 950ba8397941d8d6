//! `role = "load"`: many devices that authenticate to one target on a schedule.
//!
//! ```text
//!   target + secret + method   -->  RADIUS, radius.rs      [identities]  identities.rs
//!   target + [connection]      -->  IKE, as of a device    [population]  when they arrive, how long they stay
//!   the same with a method     -->  HIP, hip.rs
//!   fail_if = […]                   condition.rs
//! ```

mod condition;
mod effect;
mod hip;
mod identities;
mod radius;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use keytoll_crypto_api::Seed;

pub use condition::{Condition, Metric, Point};
pub use hip::HipLoad;
pub use identities::{Identities, Identity, counted};
pub use radius::{RadiusLoad, RadiusMethod};

use super::connection::{self, ConnectionPlan, Encapsulation, EndpointPlan, ProvePlan, VersionPlan};
use super::eap::{TlsPlan, tls};
use super::files::Files;
use super::network::{port, socket};
use super::{Line, Placed, ROLE, Role, masked};
use crate::catalogue::EapMethod;
use crate::catalogue::eap::{EAP_METHODS, Proof};
use crate::diagnostic::{ScenarioError, Text};
use crate::population::{Arrivals, Population};
use crate::quantity::{self, Kind};
use crate::resolve::population as resolved;
use crate::tree::{self, Item, Table, Value};

/// The value of `role`.
pub(crate) const LOAD: &str = "load";

/// A load.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// Whom the devices call.
    pub target: SocketAddr,
    /// Their addresses; empty: the one that the routing table chooses.
    pub local: Vec<IpAddr>,
    /// How they get access.
    pub access: AccessPlan,
    /// Who they are.
    pub identities: Placed<Identities>,
    /// When they arrive, and how long they stay.
    pub population: Placed<Population>,
    /// How long an authentication may take.
    pub within: Duration,
    /// When the load has failed.
    pub fail_if: Vec<Condition>,
    /// What is measured of the target.
    pub measure: Option<Measured>,
}

impl LoadPlan {
    /// Where devices send to: the target, and where they go on when it has answered them first, if that is another port.
    pub fn called(&self) -> impl Iterator<Item = SocketAddr> {
        let moved_to = match &self.access {
            AccessPlan::Ike(ike) if ike.endpoint.encapsulation == Encapsulation::Always => {
                Some(SocketAddr::new(self.target.ip(), ike.nat_port))
            }
            AccessPlan::Ike(_) | AccessPlan::Radius(_) | AccessPlan::Hip(_) => None,
        };
        std::iter::once(self.target).chain(moved_to)
    }

    /// How devices get access, for people: `RADIUS mschapv2`, `RADIUS/TLS pap`, `IKEv2 EAP aka`.
    pub fn access_name(&self) -> String {
        match &self.access {
            AccessPlan::Radius(radius) => radius.name(),
            AccessPlan::Ike(ike) => ike.name(),
            AccessPlan::Hip(hip) => hip.terms.method.name.to_owned(),
        }
    }

    /// What it means, for people.
    pub fn lines(&self) -> Vec<Line> {
        let (population, identities) = (&self.population.value, counted(self.identities.value.count()));
        let stay = match (&self.access, population.stay) {
            (AccessPlan::Radius(_), _) => None,
            (_, None) => Some(("stay", "until the end".to_owned())),
            (_, Some(stay)) => Some(("stay", stay.to_string())),
        };
        let devices = format!("{} arrive, {}; {identities}", population.devices, population.arrivals);
        let mut lines =
            vec![("target", self.target.to_string()), ("access", self.access_name()), ("devices", devices)];
        lines.extend(stay);
        lines.push(("within", quantity::duration(self.within)));
        lines.extend(self.fail_if.iter().map(|condition| ("fails if", condition.to_string())));
        lines
    }

    /// Whether the target is called over streams, and not with datagrams.
    pub const fn has_streams(&self) -> bool {
        matches!(&self.access, AccessPlan::Radius(radius) if radius.tls.is_some())
    }

    /// Whether devices' access server and the target share a secret.
    pub const fn has_secret(&self) -> bool {
        matches!(self.access, AccessPlan::Radius(_))
    }
}

impl IkeLoad {
    fn name(&self) -> String {
        let version = match self.connection.version {
            VersionPlan::V2 => "IKEv2",
            VersionPlan::V1 { .. } => "IKEv1",
        };
        let proof = match (&self.connection.prove, self.method) {
            (ProvePlan::Psk(_), _) => "shared key".to_owned(),
            (ProvePlan::Certificate(_), _) => "certificate".to_owned(),
            (ProvePlan::RawKey(_), _) => "known key".to_owned(),
            (ProvePlan::Eap, method) => format!("EAP {}", method.map_or("", |method| method.name)),
        };
        format!("{version} {proof}")
    }
}

/// How devices get access.
#[derive(Debug, Clone)]
pub enum AccessPlan {
    /// By RADIUS, with an access server in between that is ours.
    Radius(Box<RadiusLoad>),
    /// By IKE.
    Ike(Box<IkeLoad>),
    /// By HIP.
    Hip(Box<HipLoad>),
}

/// Access by IKE.
#[derive(Debug, Clone)]
pub struct IkeLoad {
    /// The gateway's port for IKE behind a NAT.
    pub nat_port: u16,
    /// The endpoint of each worker.
    pub endpoint: EndpointPlan,
    /// What all have in common.
    pub connection: ConnectionPlan,
    /// The method, if they prove themselves with EAP.
    pub method: Option<&'static EapMethod>,
    /// Devices' cards and TLS.
    pub eap: EapLoad,
}

/// What devices with EAP have in common.
#[derive(Debug, Clone)]
pub struct EapLoad {
    /// TLS, for methods that use it.
    pub tls: Option<Placed<TlsPlan>>,
    /// The home network's realm.
    pub realm: String,
    /// The access network's name for AKA′; `None`: any.
    pub access_network: Option<String>,
}

/// What is measured of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measured {
    /// A process of this machine.
    Process(u32),
    /// A page of Prometheus: host and port, and path.
    Page(String, String),
}

/// A load file that was read.
#[derive(Debug, Clone)]
pub struct LoadFile {
    /// The plan.
    pub plan: LoadPlan,
    /// Warnings: one sentence each.
    pub warnings: Vec<String>,
}

const COMMON_KEYS: &[&str] =
    &[ROLE, "target", "local", "identities", "population", "within", "fail_if", "measure"];
const IKE_KEYS: &[&str] = &["connection", "method", "gateway_nat_port", "tls", "card"];
const WHAT: &str = "a load";

/// How long an authentication may take.
const WITHIN: Duration = Duration::from_secs(10);

/// Whether the document is a load file.
pub(crate) fn is_load(document: &Table) -> bool {
    document.get(ROLE).is_some_and(|item| matches!(&item.value, Value::Text(role) if role == LOAD))
}

/// Parses a load file; paths in it are relative to its directory.
pub(crate) fn read(text: &std::sync::Arc<Text>) -> Result<LoadFile, ScenarioError> {
    let text = &masked::without_secrets(text);
    let mut document = tree::document(text)?;
    document.spot = document.spot.start();
    if !is_load(&document) {
        let message = format!("`{}` is no load file", text.name);
        return Err(ScenarioError::nowhere(message)
            .hint("`role = \"load\"` at its beginning; `scenarios/live` has examples"));
    }
    let directory = Path::new(&text.name).parent().unwrap_or(Path::new(""));
    let mut files = Files::in_directory(directory);
    let plan = plan(&document, &mut files)?;
    let mut warnings = files.into_warnings(&text.name);
    warnings.extend(advice(&plan));
    Ok(LoadFile { plan, warnings })
}

fn plan(document: &Table, files: &mut Files) -> Result<LoadPlan, ScenarioError> {
    let access = access(document, files)?;
    let item = document.need("target", WHAT)?;
    let target = match &access {
        AccessPlan::Radius(radius) => socket(item, radius.port(), files)?,
        AccessPlan::Ike(_) => socket(item, 500, files)?,
        AccessPlan::Hip(_) => socket(item, hip::PORT, files)?,
    };
    effect::target(item, target)?;
    let item = document.need("identities", WHAT)?;
    let identities = Placed::new(identities::read(item, files)?, item);
    let plan = LoadPlan {
        target,
        local: document.or("local", Vec::new(), |item| effect::local(item, target))?,
        population: population(document.need("population", WHAT)?, &access)?,
        access,
        identities,
        within: document.or("within", WITHIN, within)?,
        fail_if: document.or("fail_if", Vec::new(), conditions)?,
        measure: document.or("measure", None, |item| measure(item).map(Some))?,
    };
    effect::sessions(document, &plan.access, (&plan.population.value, plan.within))?;
    check(&plan)?;
    Ok(plan)
}

/// How devices get access, as the keys that are there tell.
fn access(document: &Table, files: &mut Files) -> Result<AccessPlan, ScenarioError> {
    let only = |what: &str, own: &[&str]| document.only(what, &[COMMON_KEYS, own].concat());
    if hip::is_meant(document) {
        hip::no_method_beside(document)?;
        only("a load of HIP", hip::SPEAKER_KEYS)?;
        hip::read(document, files).map(|hip| AccessPlan::Hip(Box::new(hip)))
    } else if document.get("connection").is_some() {
        effect::endpoint(document)?;
        only(WHAT, &[IKE_KEYS, &effect::endpoint_keys()].concat())?;
        ike(document, files)
    } else {
        only(WHAT, radius::KEYS)?;
        radius::read(document, files)
    }
}

fn within(item: &Item) -> Result<Duration, ScenarioError> {
    item.quantity(Kind::Duration, 1_000_000..=600_000_000_000).map(Duration::from_nanos)
}

fn conditions(item: &Item) -> Result<Vec<Condition>, ScenarioError> {
    let read = |item: &Item| {
        let text = item.text("a condition like `delay.p99 > 300ms`")?;
        Condition::read(text).map_err(|why| item.spot.error(why, "no condition"))
    };
    item.elements().iter().map(read).collect()
}

/// `{ pid = 1234 }` or `{ metrics = "http://host:9100/metrics" }`.
fn measure(item: &Item) -> Result<Measured, ScenarioError> {
    let table = item.table()?;
    table.only("`measure`", &["pid", "metrics"])?;
    match (table.get("pid"), table.get("metrics")) {
        (Some(pid), None) => pid.integer(1..=u32::MAX.into()).map(|pid| Measured::Process(pid as u32)),
        (None, Some(page)) => {
            let text = page.text("the address of a page")?;
            self::page(text).ok_or_else(|| {
                page.spot.error(format!("`{text}` is no page that can be read"), "`http://HOST:PORT/PATH`")
            })
        }
        _ => Err(item.spot.error("`measure` has either `pid` or `metrics`", "one of them")),
    }
}

/// Host and port, and path, of `http://HOST:PORT/PATH`; without a user, whose password would be shown, or a fragment.
fn page(text: &str) -> Option<Measured> {
    let rest = text.strip_prefix("http://")?;
    let (place, path) = rest.split_once('/').unwrap_or((rest, "metrics"));
    let is_fitting = |c: char| c.is_ascii_graphic() && c != '#' && c != '@';
    // Only an address of IPv6 has colons of its own, and it stands in brackets.
    let (host, port) = match place.rsplit_once(':').filter(|_| !place.ends_with(']')) {
        Some((host, port)) => (host, port.parse().ok().filter(|port: &u16| *port != 0)?),
        None => (place, 80),
    };
    let is_address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match is_address {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains([':', '[', ']', '?']),
    };
    (is_host && text.chars().all(is_fitting))
        .then(|| Measured::Page(format!("{host}:{port}"), format!("/{path}")))
}

/// Of a population those keys that a real target knows.
fn population(item: &Item, access: &AccessPlan) -> Result<Placed<Population>, ScenarioError> {
    let table = item.table()?;
    table.only("`population` of a load", &["devices", "arrivals", "stay", "duration"])?;
    effect::stay(table, access)?;
    let read = resolved::read(item)?;
    effect::times(table, &read)?;
    // A schedule is bounded by its devices, in number and in time; a rate is written in it.
    Ok(Placed::new(read, item))
}

fn ike(document: &Table, files: &mut Files) -> Result<AccessPlan, ScenarioError> {
    let item = document.need("connection", WHAT)?;
    effect::identity(item.table()?)?;
    let connection = connection::read(item, Role::Device, files)?;
    let method = document.get("method");
    let method = match (&connection.prove, method) {
        (ProvePlan::Eap, method) => {
            let item = method.ok_or_else(|| {
                document.spot.error("a load with `auth = \"eap\"` needs a `method`", "which method of EAP?")
            })?;
            Some(item.pick("method", &EAP_METHODS.iter().collect::<Vec<_>>(), |method| method.name)?)
        }
        (_, Some(item)) => {
            return Err(item.spot.error("a `method` of EAP without `auth = \"eap\"`", "is not used"));
        }
        (_, None) => None,
    };
    Ok(AccessPlan::Ike(Box::new(IkeLoad {
        nat_port: port(document, "gateway_nat_port", 4500)?,
        endpoint: connection::endpoint(document, (0, 0))?,
        connection,
        method,
        eap: eap(document, &method.into_iter().collect::<Vec<_>>(), files)?,
    })))
}

fn eap(document: &Table, methods: &[&EapMethod], files: &mut Files) -> Result<EapLoad, ScenarioError> {
    let text = |item: &Item| item.text("a name").map(str::to_owned);
    let card = document.get("card").map(Item::table).transpose()?;
    card.map_or(Ok(()), |card| card.only("`card` of a load", &["realm", "access_network"]))?;
    let needs_realm = methods.iter().any(|method| method.has_card());
    let realm = card.and_then(|card| card.get("realm")).map(text).transpose()?;
    if needs_realm && realm.is_none() {
        let message = "a load with cards needs the `realm` of their home network";
        return Err(document.spot.error(message, "`[card]` with `realm`"));
    }
    let access_network = card.and_then(|card| card.get("access_network")).map(text).transpose()?;
    let tls = tls(document, methods, files)?;
    if let Some(placed) = &tls {
        let lacks = |what: &str| {
            Err(placed.error(format!("a load's `[tls]` needs {what}"), format!("{what} is missing")))
        };
        if placed.value.roots.is_none() {
            return lacks("`roots`");
        }
        // RFC 5216 §5.2: a trusted certificate of another server must be refused.
        if placed.value.server_name.is_none() {
            return lacks("`server_name`");
        }
    }
    Ok(EapLoad { tls, realm: realm.unwrap_or_default(), access_network })
}

/// Every identity has what its method needs.
fn check(plan: &LoadPlan) -> Result<(), ScenarioError> {
    let wrong = plan.identities.value.samples().find_map(|one| {
        let wrong = lacks(plan, &one).map(|what| format!("lacks {what}"));
        let wrong =
            wrong.or_else(|| unused(plan, &one).map(|what| format!("has {what}, which is not used")))?;
        Some(format!("`{}` {wrong}", one.name))
    });
    wrong.map_or_else(|| effect::names(plan), |wrong| Err(plan.identities.error(wrong, "these identities")))
}

/// What an identity has that its method does not use, as far as somebody would miss it.
fn unused(plan: &LoadPlan, identity: &Identity) -> Option<&'static str> {
    match &plan.access {
        AccessPlan::Hip(load) => hip::unused(load, identity),
        AccessPlan::Radius(_) | AccessPlan::Ike(_) => effect::unused(plan, identity),
    }
}

/// What an identity lacks.
fn lacks(plan: &LoadPlan, identity: &Identity) -> Option<&'static str> {
    let (method, tls) = match &plan.access {
        AccessPlan::Radius(radius) => match radius.method {
            RadiusMethod::Eap(method) => (Some(method), radius.eap.tls.as_ref()),
            RadiusMethod::Pap | RadiusMethod::Chap => {
                return identity.password.is_none().then_some("a `password`");
            }
        },
        AccessPlan::Ike(ike) => (ike.method, ike.eap.tls.as_ref()),
        AccessPlan::Hip(load) => return hip::lacks(load, &plan.identities.value, identity),
    };
    let method = method?;
    let has_certificate =
        identity.certificate.is_some() || tls.is_some_and(|tls| tls.value.credential.is_some());
    match method.proof {
        Proof::Password if identity.password.is_none() => Some("a `password`"),
        Proof::Sim | Proof::Usim if identity.card.is_none() => Some("`k` and `opc`"),
        Proof::Certificate if !has_certificate => Some("`certificate` and `key`, and so does `[tls]`"),
        _ => None,
    }
}

/// What may be a mistake.
fn advice(plan: &LoadPlan) -> Vec<String> {
    let (identities, population) = (plan.identities.value.count(), &plan.population.value);
    let keeps = !matches!(plan.access, AccessPlan::Radius(_)) && population.stay.is_none();
    let mut advice = Vec::new();
    if keeps && identities < population.devices {
        advice.push(format!(
            "{} devices arrive and stay, and there are {identities} identities: those that find none fail",
            population.devices
        ));
    }
    if let Arrivals::AtATime(count) = population.arrivals
        && count > identities
    {
        advice.push(format!("{count} at a time, and there are {identities} identities"));
    }
    // Which seed a load will have nobody knows.
    advice.extend(population.advice(&Seed::from(0)));
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_host_a_port_and_a_path() {
        let of = |text: &str| match page(text) {
            Some(Measured::Page(place, path)) => place + &path,
            _ => String::new(),
        };
        for (text, read) in [
            ("http://gw", "gw:80/metrics"),
            ("http://gw:9100", "gw:9100/metrics"),
            ("http://192.0.2.1:9100/a?b=c", "192.0.2.1:9100/a?b=c"),
            ("http://[::1]/x", "[::1]:80/x"),
            ("http://[::1]:9100", "[::1]:9100/metrics"),
        ] {
            assert_eq!(of(text), read, "{text}");
        }
        for wrong in [
            "",
            "gw:9100",
            "https://gw",
            "http://",
            "http://:9100",
            "http://gw:0",
            "http://gw:99999",
            "http://gw:",
            "http://::1:9100",
            "http://[gw]:9100",
            "http://me:secret@gw:9100",
            "http://gw/a#b",
            "http://gw/a b",
            "http://gw/a\r\nX: y",
        ] {
            assert_eq!(of(wrong), "", "{wrong}");
        }
    }
}
