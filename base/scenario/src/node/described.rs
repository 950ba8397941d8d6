//! Node files in words: what `keytoll check` says of one.

use std::net::IpAddr;

use super::{
    AaaPlan, BelievePlan, ConnectionPlan, DevicePlan, GatewayPlan, HipPlan, HipSide, HostPlan, HssPlan,
    NodePlan, ProvePlan, Transport, VersionPlan,
};
use crate::catalogue::EapMethod;

/// A subject, and what is to be said of it.
pub type Line = (&'static str, String);

impl NodePlan {
    /// What it means, for people; a subject may occur several times.
    pub fn lines(&self) -> Vec<Line> {
        match self {
            Self::Gateway(plan) => gateway(plan),
            Self::Device(plan) => device(plan),
            Self::Aaa(plan) => aaa(plan),
            Self::Hss(plan) => hss(plan),
            Self::Hip(plan) => hip(plan),
        }
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

fn hip(plan: &HipPlan) -> Vec<Line> {
    let carried = match plan.terms.transport {
        Transport::Udp(_) => "HIP and ESP in UDP",
        Transport::Raw => "HIP and ESP directly on IP",
    };
    let mut lines = vec![("method", plan.terms.method.name.to_owned()), ("speaks", carried.to_owned())];
    if !plan.terms.leniency.is_empty() {
        let keys: Vec<&str> = plan.terms.leniency.iter().map(|departure| departure.name()).collect();
        lines.push(("leniency", keys.join(", ")));
    }
    match &plan.side {
        HipSide::Gateway { admits, puzzle_difficulty_bits, hss, .. } => {
            let admitted = admits.as_ref().map_or_else(|| "anybody".to_owned(), |all| hosts(all));
            lines.push(("admits", admitted));
            lines.push(("puzzles", format!("K={puzzle_difficulty_bits}")));
            lines.extend(hss.as_ref().map(|(_, hss)| ("HSS", hss.server.to_string())));
        }
        HipSide::Device { gateway, peer, card, .. } => {
            let known = peer.as_ref().map_or_else(|| "whoever answers".to_owned(), shown);
            let at = if gateway.port() == 0 { gateway.ip().to_string() } else { gateway.to_string() };
            lines.push(("gateway", format!("{known} at {at}")));
            lines.extend(card.as_ref().map(|card| ("card", card.subscriber.imsi.value.clone())));
        }
    }
    lines
}

fn hosts(all: &[HostPlan]) -> String {
    all.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn shown(host: &HostPlan) -> String {
    match host {
        HostPlan::Hit(hit) => hit.value.to_string(),
        HostPlan::PublicKey(path) => format!("whoever has the key of {}", path.value.display()),
    }
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

fn list(all: &[IpAddr]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
