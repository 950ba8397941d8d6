//! Options of EAP and of the AAA server behind the gateway.

use super::settings::Settings;
use super::{BOOLEAN, Setting, field};
use crate::catalogue::Method;
use crate::catalogue::facet::{EAP, EAP_CARD, NAMED_BEFORE_EAP, SIM};
use crate::diagnostic::ScenarioError;
use crate::tree::Item;

/// The options of EAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether the gateway requests the EAP identity over the air; otherwise IKE's is used (RFC 7296 §2.16).
    pub asks_identity: bool,
    /// For how many authentications the AAA server requests vectors of the HSS at a time; it stores spare ones.
    pub vector_batch: u8,
    /// How many GSM challenges EAP-SIM takes, two or three.
    pub triplets: u8,
    /// Whether the AAA server assigns pseudonyms.
    pub pseudonyms: bool,
    /// How many fast re-authentications it allows after a full authentication (RFC 4186 §5, RFC 4187 §5).
    pub fast_reauth: u16,
    /// Whether the gateway sends accounting requests to the AAA server (RFC 2866).
    pub accounting: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            asks_identity: false,
            vector_batch: 1,
            triplets: 3,
            pseudonyms: false,
            fast_reauth: 0,
            accounting: false,
        }
    }
}

/// Every key, in the order in which it is printed.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting::new(
        "eap_identity",
        BOOLEAN,
        "the gateway asks for the EAP identity over the air",
        field!(options.eap.asks_identity, Item::boolean, ToString::to_string),
    )
    .of(&NAMED_BEFORE_EAP),
    Setting::new(
        "vector_batch",
        &["1 to 10"],
        "authentications for which vectors are asked of the HSS at a time",
        // Three triplets an authentication, and at most 32 vectors an answer.
        field!(
            options.eap.vector_batch,
            |item| item.integer(1..=10).map(|count| count as u8),
            ToString::to_string
        ),
    )
    .of(&EAP_CARD),
    Setting::new(
        "triplets",
        &["2 to 3"],
        "GSM challenges of EAP-SIM",
        field!(
            options.eap.triplets,
            |item| item.integer(2..=3).map(|count| count as u8),
            ToString::to_string
        ),
    )
    .of(&SIM),
    Setting::new(
        "pseudonyms",
        BOOLEAN,
        "the AAA server gives out pseudonyms",
        field!(options.eap.pseudonyms, Item::boolean, ToString::to_string),
    )
    .of(&EAP_CARD),
    Setting::new(
        "fast_reauth",
        &["0 to 65535"],
        "fast re-authentications after a full authentication",
        field!(
            options.eap.fast_reauth,
            |item| item.integer(0..=65_535).map(|count| count as u16),
            ToString::to_string
        ),
    )
    .of(&EAP_CARD),
    Setting::new(
        "accounting",
        BOOLEAN,
        "gateway or access point tell the AAA server when sessions begin and end (RFC 2866)",
        field!(options.eap.accounting, Item::boolean, ToString::to_string),
    )
    .of(&EAP),
];

/// The identity of the card must reach the AAA server.
pub(super) fn check(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let Options { asks_identity, pseudonyms, fast_reauth, .. } = settings.options.eap;
    if asks_identity || !method.has(&NAMED_BEFORE_EAP) || !(pseudonyms || fast_reauth > 0) {
        return Ok(());
    }
    let message = "a pseudonym or a fast re-authentication begins with an identity of its own";
    let hint = "`eap_identity = true`: what IKE passes on is the permanent one";
    Err(blame.spot.error(message, "`pseudonyms` or `fast_reauth` without `eap_identity`").hint(hint))
}
