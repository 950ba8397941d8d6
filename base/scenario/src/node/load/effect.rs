//! What a load file may not say because it can have no effect, or none that anybody wants.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use keytoll_crypto_api::Seed;

use super::super::connection::{ConnectionPlan, ENDPOINT_KEYS, ProvePlan};
use super::super::hip::HipTerms;
use super::super::network::addresses;
use super::{AccessPlan, Identities, Identity, LoadPlan, RadiusMethod};
use crate::catalogue::EapMethod;
use crate::catalogue::eap::Proof;
use crate::diagnostic::ScenarioError;
use crate::population::{Arrivals, Population};
use crate::resolve::population::late;
use crate::tree::{Item, Table};

/// RFC 2865 §5: an attribute has at most 253 octets of value.
const ATTRIBUTE_BYTES_MAX: usize = 253;

/// Refuses port 0, at which nobody can listen.
pub(super) fn target(item: &Item, target: SocketAddr) -> Result<(), ScenarioError> {
    if target.port() == 0 {
        return Err(item.spot.error("nobody listens on port 0", "the port of the target, 1 to 65535"));
    }
    Ok(())
}

/// Source addresses, each once, and of the target's family.
pub(super) fn local(item: &Item, target: SocketAddr) -> Result<Vec<IpAddr>, ScenarioError> {
    let all = addresses(item)?;
    let mut seen = BTreeSet::new();
    for (ip, item) in all.iter().zip(item.elements()) {
        if ip.is_ipv4() != target.is_ipv4() {
            let message = format!("from `{ip}` nothing reaches {}, of another address family", target.ip());
            return Err(item.spot.error(message, "an address of the target's family"));
        }
        if !seen.insert(ip) {
            return Err(item.spot.error(format!("`{ip}` stands here twice"), "already named"));
        }
    }
    Ok(all)
}

/// Refuses a stay where there is no session.
pub(super) fn stay(population: &Table, access: &AccessPlan) -> Result<(), ScenarioError> {
    match (population.entry("stay"), access) {
        (Some(entry), AccessPlan::Radius(_)) => Err(entry
            .key_spot
            .error("nobody stays with RADIUS, which has no sessions", "not used")
            .hint("leave `stay` out")),
        _ => Ok(()),
    }
}

/// A file of times is read at once: a mistake in it is one of the load.
pub(super) fn times(table: &Table, population: &Population) -> Result<(), ScenarioError> {
    if let (Arrivals::Times(_), Some(item)) = (&population.arrivals, table.get("arrivals")) {
        let read = population.schedule(&Seed::from(0));
        read.map(drop).map_err(|why| item.spot.error(why.to_string(), "this file"))?;
    }
    Ok(())
}

const FREE_PORTS: &str = "the sockets of a load have free ports";
const NOBODY_CALLS: &str = "nobody calls a load, and this is for those who are called";

/// Keys of an endpoint that a load has no use for, and why.
const IDLE: [(&str, &str); 5] = [
    ("port", FREE_PORTS),
    ("nat_port", FREE_PORTS),
    ("cookies", NOBODY_CALLS),
    ("half_open_max", NOBODY_CALLS),
    ("ike_sas_max", NOBODY_CALLS),
];

/// The keys of an endpoint that a load has.
pub(super) fn endpoint_keys() -> Vec<&'static str> {
    let is_idle = |key: &str| IDLE.iter().any(|(idle, _)| *idle == key);
    ENDPOINT_KEYS.iter().copied().filter(|key| !is_idle(key)).collect()
}

/// Refuses the others.
pub(super) fn endpoint(document: &Table) -> Result<(), ScenarioError> {
    let written = IDLE.iter().find_map(|(key, why)| Some((document.entry(key)?, *why)));
    written.map_or(Ok(()), |(entry, why)| {
        Err(entry.key_spot.error(why, "not used").hint(format!("leave `{}` out", entry.key)))
    })
}

/// Refuses times of sessions that are written and never come.
pub(super) fn sessions(
    document: &Table,
    access: &AccessPlan,
    (population, within): (&Population, Duration),
) -> Result<(), ScenarioError> {
    let connection = document.get("connection").map(Item::table).transpose()?.unwrap_or(document);
    let (own, of_endpoint) = match access {
        AccessPlan::Radius(_) => return Ok(()),
        AccessPlan::Ike(ike) => {
            let ConnectionPlan { rekey_ike, rekey_child, liveness, .. } = ike.connection;
            let own = vec![("rekey_ike", rekey_ike), ("rekey_child", rekey_child), ("liveness", liveness)];
            (own, vec![("nat_keepalive", ike.endpoint.nat_keepalive)])
        }
        AccessPlan::Hip(hip) => {
            let HipTerms { rekey_child, nat_keepalive, unused_after, .. } = hip.terms;
            let of_endpoint = vec![("nat_keepalive", nat_keepalive), ("unused_after", unused_after)];
            (vec![("rekey_child", rekey_child)], of_endpoint)
        }
    };
    late::check_sessions(connection, &own, population, within)?;
    late::check_sessions(document, &of_endpoint, population, within)
}

/// Refuses an identity that all devices would have.
pub(super) fn identity(connection: &Table) -> Result<(), ScenarioError> {
    connection.entry("identity").map_or(Ok(()), |entry| {
        let error = entry.key_spot.error("every device of a load has an identity of its own", "not used");
        Err(error.hint("leave `identity` out: `[identities]` names the devices"))
    })
}

/// The name of the access server.
pub(super) fn identifier(item: &Item) -> Result<String, ScenarioError> {
    let name = item.text("a name")?;
    if let Some(why) = too_long("`identifier`", name) {
        return Err(item.spot.error(why, "a shorter name"));
    }
    Ok(name.to_owned())
}

/// Refuses names that do not fit into an attribute of RADIUS, to which those of EAP come at the latest.
pub(super) fn names(plan: &LoadPlan) -> Result<(), ScenarioError> {
    let is_by_radius = match &plan.access {
        AccessPlan::Radius(_) => true,
        AccessPlan::Ike(ike) => ike.method.is_some(),
        AccessPlan::Hip(_) => false,
    };
    let name = plan.identities.value.longest_name();
    let long = too_long("the longest name of a device", &name).filter(|_| is_by_radius);
    long.map_or(Ok(()), |why| Err(plan.identities.error(why, "these identities")))
}

fn too_long(what: &str, text: &str) -> Option<String> {
    let length = text.len();
    (length > ATTRIBUTE_BYTES_MAX).then(|| {
        format!("{what} has {length} bytes, and an attribute of RADIUS has {ATTRIBUTE_BYTES_MAX} at most")
    })
}

/// What an identity has that nothing uses. A file may serve several loads; of a pattern all is meant for this one.
pub(super) fn unused(plan: &LoadPlan, identity: &Identity) -> Option<&'static str> {
    if identity.key.is_some() {
        return Some("a `key` without `certificate`");
    }
    if matches!(plan.identities.value, Identities::Listed(_)) {
        return None;
    }
    let (method, has_psk, has_password) = match &plan.access {
        AccessPlan::Radius(radius) => match radius.method {
            RadiusMethod::Eap(method) => (Some(method), false, false),
            RadiusMethod::Pap | RadiusMethod::Chap => (None, false, true),
        },
        AccessPlan::Ike(ike) => (ike.method, matches!(ike.connection.prove, ProvePlan::Psk(_)), false),
        AccessPlan::Hip(_) => return None,
    };
    let is_by = |proofs: &[Proof]| method.is_some_and(|method: &EapMethod| proofs.contains(&method.proof));
    let unused = [
        (identity.password.is_some() && !has_password && !is_by(&[Proof::Password]), "a `password`"),
        (identity.psk.is_some() && !has_psk, "a `psk`"),
        (identity.card.is_some() && !is_by(&[Proof::Sim, Proof::Usim]), "`k` and `opc`"),
    ];
    unused.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
