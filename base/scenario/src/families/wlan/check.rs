//! What does not go together in a wireless LAN, refused with a sentence each.

use std::time::Duration;

use super::options::{ROAM_AFTER, ROAMING};
use super::{Admission, EapServer, Roaming};
use crate::catalogue::{Fault, Method, networks};
use crate::diagnostic::ScenarioError;
use crate::options::settings::{Settings, value_of};
use crate::plan::Network;
use crate::tree::Item;

/// The MTU of wireless LANs that are bridged to Ethernet, as all are.
const PACKET_BYTES_MAX: u16 = 1500;

/// Refuses settings of a row.
pub(super) fn check(
    settings: &Settings,
    method: &'static Method,
    blame: &Item,
    network: (&Item, &Network),
) -> Result<(), ScenarioError> {
    check_network(method, network)?;
    check_traffic(settings, blame)?;
    check_roaming(settings, method, blame)?;
    match settings.options.wlan.eap_server {
        EapServer::Radius => Ok(()),
        EapServer::AccessPoint => check_inside(settings, method, blame),
    }
}

/// Presets that carry frames of 802.11; one has no properties at all, and a scenario's own may be anything.
const NETWORKS: [&str; 5] = ["loopback", "wifi-11g", "wifi-11g-good", "wlan-11b", "wlan-11g"];

/// Frames of a wireless LAN do not go over the links of others.
fn check_network(method: &Method, (item, network): (&Item, &Network)) -> Result<(), ScenarioError> {
    let is_foreign = networks::named(&network.name).as_ref() == Some(network);
    if !is_foreign || NETWORKS.contains(&network.name.as_str()) {
        return Ok(());
    }
    let message = format!("`{}` is a wireless LAN, and `{}` is none", method.name, network.name);
    let hint = format!("one of `{}`, or a network of your own", NETWORKS.join("`, `"));
    Err(item.spot.error(message, "this network").hint(hint))
}

/// The laboratory's hosts send no IP fragments, and frames are never fragmented for it.
fn check_traffic(settings: &Settings, blame: &Item) -> Result<(), ScenarioError> {
    let traffic = &settings.options.traffic;
    if traffic.kind.is_none() || traffic.packet_bytes.is_none_or(|bytes| bytes <= PACKET_BYTES_MAX) {
        return Ok(());
    }
    let message = format!("a wireless LAN carries packets of at most {PACKET_BYTES_MAX} B");
    let item = value_of(blame, "traffic_packet");
    Err(item.spot.error(message, "this length").hint("`traffic_packet = \"path\"` for the longest ones"))
}

/// A station goes while it is a member, and caching saves an authentication that there is.
fn check_roaming(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let (wlan, traffic) = (&settings.options.wlan, &settings.options.traffic);
    let Some(roam_after) = wlan.roam_after else { return Ok(()) };
    let lasts = traffic.kind.map_or(Duration::ZERO, |_| traffic.duration) + wlan.stays_idle;
    if roam_after >= lasts {
        let error =
            value_of(blame, ROAM_AFTER).spot.error("a station that has left goes nowhere", "as late as this");
        let hint = "`roam_after` less than `traffic_duration` and `stays_idle` together";
        return Err(error.hint(hint));
    }
    let has_nothing = method.own::<Admission>() == Some(&Admission::Wpa2Psk);
    if wlan.roaming == Roaming::PmksaCaching && has_nothing {
        let message = format!("`{}` has no authentication that caching could save", method.name);
        let error = value_of(blame, ROAMING).spot.error(message, "this way of roaming");
        return Err(error.hint("`roaming = \"reassociation\"` or `\"fast-transition\"`"));
    }
    Ok(())
}

/// With the EAP server inside the access point there is no AAA server, and nobody asks an HSS.
fn check_inside(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let refused = |key: &str, message: String, label: &str| {
        let error = value_of(blame, key).spot.error(message, label);
        Err(error.hint("`eap_server = \"radius\"`"))
    };
    if method.has_card() {
        let message =
            format!("an access point has no vectors for `{}`: the HSS answers AAA servers", method.name);
        return refused("eap_server", message, "the EAP server here");
    }
    if settings.options.eap.accounting {
        let message = "without an AAA server nobody keeps accounts".to_owned();
        return refused("accounting", message, "with this `eap_server`");
    }
    match settings.options.fault {
        Some(fault) if is_behind(fault) => {
            let message = format!("without an AAA server there is no `{}`", fault.name());
            refused("fault", message, "with this `eap_server`")
        }
        _ => Ok(()),
    }
}

/// Whether it is one of the AAA server or of RADIUS.
const fn is_behind(fault: Fault) -> bool {
    matches!(fault, Fault::RadiusWrongSecret | Fault::RadiusUnknownClient | Fault::AaaSilent)
}
