//! `keytoll check` of a node file: describes the node, with all files opened that it names, but no socket bound.

use keytoll_rigs::node::{Blueprint, Place, Wanted};
use keytoll_scenario::catalogue::EapMethod;
use keytoll_scenario::node::{
    AaaPlan, BelievePlan, ConnectionPlan, DevicePlan, GatewayPlan, HssPlan, ProvePlan, VersionPlan,
};
use keytoll_scenario::{NodeFile, NodePlan, Source};
use miette::Report;
use schemars::JsonSchema;
use serde::Serialize;

use crate::screen;

/// The description of a node file. Fields are only ever added.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Described {
    /// `gateway`, `device`, `aaa` or `hss`.
    role: &'static str,
    /// The verb that accepts it.
    verb: &'static str,
    /// The description, for people; a subject may occur several times.
    says: Vec<Says>,
}

/// A line of the description.
#[derive(Serialize, JsonSchema)]
struct Says {
    /// The subject.
    what: &'static str,
    /// How that is.
    how: String,
}

/// A line of the description: subject and description.
type Line = (&'static str, String);

/// Prints a description of the node, as JSON on request.
pub(crate) fn describe(source: &Source, as_json: bool) -> Result<(), Report> {
    let NodeFile { plan, warnings } = source.node()?;
    let blueprint = Blueprint::draw(&plan)?;
    warnings.iter().for_each(|warning| screen::note(&format!("warning: {warning}\n")));
    let lines = [sockets(&blueprint), lines(&plan)].concat();
    let (role, verb) = (plan.role().name(), plan.role().verb());
    if as_json {
        let says = lines.into_iter().map(|(what, how)| Says { what, how }).collect();
        return screen::print_json(&Described { role, verb, says });
    }
    let rows = lines.into_iter().map(|(what, how)| vec![what.to_owned(), how]).collect::<Vec<_>>();
    screen::print(&format!("a node for `keytoll {verb}`\n{}", screen::table(&rows)))
}

fn sockets(blueprint: &Blueprint) -> Vec<Line> {
    blueprint.sockets().into_iter().map(socket).collect()
}

fn socket(wanted: Wanted) -> Line {
    match wanted {
        Wanted::Udp(Place::At(address)) if address.port() != 0 => ("listens", format!("UDP {address}")),
        Wanted::Udp(place) => ("sends", format!("UDP from {}", from(place))),
        Wanted::Listen(address) => ("listens", format!("TCP {address}")),
        Wanted::Call(place) => ("connects", format!("TCP from {}", from(place))),
    }
}

fn from(place: Place) -> String {
    match place {
        Place::At(address) => address.ip().to_string(),
        Place::Towards(other, _) => format!("whichever address leads to {}", other.ip()),
    }
}

fn lines(plan: &NodePlan) -> Vec<Line> {
    match plan {
        NodePlan::Gateway(plan) => gateway(plan),
        NodePlan::Device(plan) => device(plan),
        NodePlan::Aaa(plan) => aaa(plan),
        NodePlan::Hss(plan) => hss(plan),
    }
}

fn gateway(plan: &GatewayPlan) -> Vec<Line> {
    let mut lines: Vec<_> = plan.connections.iter().flat_map(connection).collect();
    if let Some(radius) = &plan.radius {
        lines.push(("AAA server", radius.server.to_string()));
    }
    if !plan.inner.is_empty() {
        lines.push(("answers echoes for", list(&plan.inner)));
    }
    lines
}

fn device(plan: &DevicePlan) -> Vec<Line> {
    let mut lines = vec![("gateway", plan.gateway.to_string())];
    lines.extend(connection(&plan.connection));
    lines.extend(plan.eap.as_ref().map(|eap| ("EAP", methods(&eap.methods))));
    lines.extend(plan.ping.map(|ping| ("pings", ping.to_string())));
    lines
}

fn aaa(plan: &AaaPlan) -> Vec<Line> {
    let clients = plan.clients.iter().map(|(ip, _)| *ip).collect::<Vec<_>>();
    let mut lines = vec![("EAP", methods(&plan.methods)), ("RADIUS clients", list(&clients))];
    lines.push(("users", plan.users.len().to_string()));
    match &plan.hss {
        Some(hss) => {
            lines.push(("HSS", hss.server.to_string()));
            lines.extend(hss.tls.as_ref().map(|tls| ("  in TLS", tls.value.peer_names.join(" "))));
        }
        None => lines.push(("subscribers", plan.subscribers.len().to_string())),
    }
    lines
}

fn hss(plan: &HssPlan) -> Vec<Line> {
    let peers = plan.peers.as_ref().map_or_else(|| "anybody".to_owned(), |peers| list(peers));
    let mut lines = vec![("Diameter peers", peers)];
    lines.extend(plan.tls.as_ref().map(|tls| ("  in TLS", tls.value.peer_names.join(" "))));
    lines.push(("subscribers", plan.subscribers.len().to_string()));
    lines
}

fn connection(plan: &ConnectionPlan) -> Vec<Line> {
    let identity = plan.identity.as_ref().map_or("whom EAP says", |identity| &identity.value);
    let peer = plan.peer.as_ref().map_or("anybody", |peer| &peer.value);
    let suites = plan.suites.iter().map(ToString::to_string).collect::<Vec<_>>();
    let esp_suites = plan.esp_suites.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut lines = vec![
        ("connection", plan.name.clone()),
        ("  we are", format!("{identity}, by {}", prove(&plan.prove))),
        ("  with", format!("{peer}, by {}", believe(&plan.believe))),
        ("  IKE suites", suites.join(" ")),
        ("  ESP suites", if plan.childless { "none: childless".to_owned() } else { esp_suites.join(" ") }),
    ];
    if let VersionPlan::V1 { phase1, .. } = plan.version {
        lines.insert(1, ("  speaks", format!("IKEv1, {}", phase1.described())));
    }
    lines.extend(
        plan.pool.map(|pool| ("  gives away", format!("{} addresses from {}", pool.size, pool.first))),
    );
    lines
}

const fn prove(plan: &ProvePlan) -> &'static str {
    match plan {
        ProvePlan::Psk(_) => "a shared key",
        ProvePlan::Certificate(_) => "a certificate",
        ProvePlan::RawKey(_) => "a key that the peer knows",
        ProvePlan::Eap => "EAP",
    }
}

const fn believe(plan: &BelievePlan) -> &'static str {
    match plan {
        BelievePlan::Psk { .. } => "a shared key",
        BelievePlan::Roots(_) => "a certificate",
        BelievePlan::RawKey(_) => "a key that we know",
        BelievePlan::Eap => "EAP",
    }
}

fn methods(methods: &[&EapMethod]) -> String {
    methods.iter().map(|method| method.name).collect::<Vec<_>>().join(", ")
}

fn list(all: &[std::net::IpAddr]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
