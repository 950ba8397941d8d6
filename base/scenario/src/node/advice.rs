//! Warnings about valid node files: settings that weaken security.

use super::{BelievePlan, ConnectionPlan, DevicePlan, NodePlan, ProvePlan};
use crate::catalogue::eap::Proof;

/// One sentence each.
pub(super) fn of(plan: &NodePlan) -> Vec<String> {
    match plan {
        NodePlan::Gateway(gateway) => gateway.connections.iter().filter_map(shared_key_before_eap).collect(),
        NodePlan::Device(device) => {
            [password_behind_shared_key(device), forgetful_card(device)].into_iter().flatten().collect()
        }
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
    let forgets = eap.card.as_ref()?.state.is_none() && has_numbers;
    forgets.then(|| {
        "the card forgets with the program which challenges it has answered, and would answer a recorded one again. Use \
         `state = \"FILE\"` in `[card]`"
            .to_owned()
    })
}
