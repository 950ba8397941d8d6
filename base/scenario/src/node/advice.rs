//! Warnings about valid node files: settings that weaken security.

use std::net::IpAddr;

use keytoll_crypto_api::algorithm::Standing;

use super::{
    BelievePlan, CardPlan, ConnectionPlan, DevicePlan, HipPlan, HipSide, HostPlan, NodePlan, ProvePlan,
};
use crate::catalogue::eap::Proof;
use crate::catalogue::suites;
use crate::families::hip::Exchange;

/// One sentence each.
pub(super) fn of(plan: &NodePlan) -> Vec<String> {
    match plan {
        NodePlan::Gateway(gateway) => {
            let connections = gateway.connections.iter();
            connections.flat_map(|one| shared_key_before_eap(one).into_iter().chain(broken(one))).collect()
        }
        NodePlan::Device(device) => {
            let of_device = [password_behind_shared_key(device), forgetful_card(device)];
            of_device.into_iter().flatten().chain(broken(&device.connection)).collect()
        }
        NodePlan::Hip(plan) => of_hip(plan),
        NodePlan::Aaa(_) | NodePlan::Hss(_) => Vec::new(),
    }
}

// RFC 7296 §2.16: with a signature of the responder no other initiator can impersonate it.
fn shared_key_before_eap(connection: &ConnectionPlan) -> Option<String> {
    let is_open = matches!((&connection.prove, &connection.believe), (ProvePlan::Psk(_), BelievePlan::Eap));
    is_open.then(|| {
        format!(
            "connection `{}` proves the gateway with a shared key, which every device knows: whoever has one can play the \
             gateway and collect passwords. Use `auth = {{ certificate = …, key = … }}`",
            connection.name
        )
    })
}

/// Suites with a broken algorithm.
fn broken(connection: &ConnectionPlan) -> Option<String> {
    let all = connection.suites.iter().chain(&connection.esp_suites);
    let broken: Vec<String> =
        all.filter(|suite| suites::standing(suite) == Standing::Broken).map(ToString::to_string).collect();
    (!broken.is_empty()).then(|| {
        format!(
            "connection `{}` takes {}: an attacker who records it can read it, sooner or later. Leave broken suites out (`keytoll \
             list suites`)",
            connection.name,
            broken.join(", ")
        )
    })
}

fn password_behind_shared_key(device: &DevicePlan) -> Option<String> {
    let BelievePlan::Psk { .. } = device.connection.believe else { return None };
    let shown = device.eap.as_ref()?.methods.iter().find(|method| !method.proves_server())?;
    Some(format!(
        "EAP method `{}` shows the password to whoever knows the shared key of the gateway, as every other device does. Use \
         `peer_auth = {{ roots = … }}`",
        shown.name
    ))
}

fn forgetful_card(device: &DevicePlan) -> Option<String> {
    let eap = device.eap.as_ref()?;
    let has_numbers = eap.methods.iter().any(|method| method.proof == Proof::Usim);
    eap.card.as_ref().filter(|_| has_numbers).and_then(forgetful)
}

/// A card without a file.
fn forgetful(card: &CardPlan) -> Option<String> {
    card.state.is_none().then(|| {
        "the card forgets with the program which challenges it has answered, and would answer a recorded one again. Use \
         `state = \"FILE\"` in `[card]`"
            .to_owned()
    })
}

fn of_hip(plan: &HipPlan) -> Vec<String> {
    match &plan.side {
        HipSide::Device { peer, card, .. } => {
            [opportunistic(peer.as_ref()), card.as_ref().and_then(forgetful)].into_iter().flatten().collect()
        }
        HipSide::Gateway { listen, admits, .. } => {
            open_to_all(plan, *listen, admits.is_some()).into_iter().collect()
        }
    }
}

// RFC 7401 §4.1.8: whoever stands between both in opportunistic mode is believed.
fn opportunistic(peer: Option<&HostPlan>) -> Option<String> {
    peer.is_none().then(|| {
        "the device believes whoever answers at the gateway's address. Use `peer = \"HIT\"`, or `peer_auth = { public_key = … }`"
            .to_owned()
    })
}

fn open_to_all(plan: &HipPlan, listen: IpAddr, has_list: bool) -> Option<String> {
    let is_open = plan.terms.exchange != Exchange::DietAka && !has_list && !listen.is_loopback();
    is_open.then(|| {
        format!("whoever reaches {listen} is admitted, for everybody can make a Host Identity. Use `admits = [\"HIT\", …]`")
    })
}
