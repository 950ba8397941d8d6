//! What does not go together in IKE, refused with a sentence each.

use super::options::{GATEWAY_KEY, GatewayAuth, SIGNATURES};
use super::{Options, v1};
use crate::catalogue::Method;
use crate::catalogue::signatures::fit;
use crate::diagnostic::ScenarioError;
use crate::options::ipsec::Mode;
use crate::options::settings::{Settings, value_of};
use crate::tree::Item;

/// Refuses settings of a row.
pub(super) fn check(settings: &Settings, method: &'static Method, blame: &Item) -> Result<(), ScenarioError> {
    check_address(settings, blame)?;
    check_signatures(settings, method, blame)?;
    check_gateway_auth(settings, method, blame)?;
    check_gateway_key(settings, method, blame)?;
    if method.phase1().is_some() { v1::check(settings, method, blame) } else { Ok(()) }
}

fn check_address(settings: &Settings, blame: &Item) -> Result<(), ScenarioError> {
    let options = &settings.options;
    if options.ike.virtual_address && options.ipsec.mode == Mode::Transport {
        let message = "a virtual address needs tunnel mode";
        return Err(blame.spot.error(message, "`virtual_address` with `mode = \"transport\"`"));
    }
    Ok(())
}

/// The keys of a row are of one kind.
fn check_signatures(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let options = &settings.options;
    let signs = method.phase1().is_none() && options.has_ike_signatures(method);
    let kind = options.key_kind(method).filter(|_| signs);
    let (Some(schemes), Some(kind)) = (&options.ike.signatures, kind) else { return Ok(()) };
    fit(schemes, kind).map_err(|unfit| {
        let label = format!("with `{}`", method.name());
        value_of(blame, SIGNATURES).spot.error(unfit.message, label).hint(unfit.hint)
    })
}

/// RFC 5998 §4: with EAP alone the method has to make a key, prove both sides and withstand who tries passwords.
fn check_gateway_auth(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let Some(why) = method.eap().and_then(|eap| eap.not_alone) else { return Ok(()) };
    if settings.options.ike.gateway_auth != GatewayAuth::EapOnly {
        return Ok(());
    }
    let label = format!("`gateway_auth = \"eap-only\"` with `{}`", method.name());
    let hint = "`gateway_auth = \"certificate\"` or `\"psk\"`";
    Err(blame.spot.error(why, label).hint(hint))
}

/// The key is of a certificate, which must be shown.
fn check_gateway_key(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let options = &settings.options;
    let is_chosen = options.ike.gateway_key != Options::default().gateway_key;
    if !is_chosen || options.has_ike_signatures(method) {
        return Ok(());
    }
    let way = options.ike.gateway_auth.name();
    let message =
        format!("`{GATEWAY_KEY}` means nothing to `{}` with `gateway_auth = \"{way}\"`", method.name());
    let error = value_of(blame, GATEWAY_KEY).spot.error(message, "this value");
    Err(error.hint("`gateway_auth = \"certificate\"`, or leave it out"))
}
