//! Options of the certificates in IKE or in TLS.

use super::settings::{Settings, value_of};
use super::{BOOLEAN, Setting, field};
use crate::catalogue::facet::{CERTIFICATES, SIGNATURES};
use crate::catalogue::{Fault, Method};
use crate::diagnostic::ScenarioError;
use crate::tree::Item;

/// The options of certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The length of the chains; only for methods with certificates.
    pub chain: Chain,
    /// Whether certificates are checked against revocation lists, which both sides have.
    pub crls: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { chain: Chain { initiator: 2, responder: 2 }, crls: false }
    }
}

/// Certificates from the end entity's to the trust anchor's, both counted: 2 is an end entity that the anchor signed.
/// The trust anchor's certificate itself is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    /// Of the device.
    pub initiator: u8,
    /// Of the gateway.
    pub responder: u8,
}

const CRLS: &str = "crls";

/// Every key, in the order in which it is printed.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting::new(
        "chain",
        &["1 to 4", "[DEVICE, GATEWAY]"],
        "certificates that each side sends",
        field!(options.certificates.chain, chain, |chain| {
            format!("[{}, {}]", chain.initiator, chain.responder)
        }),
    )
    .of(&CERTIFICATES)
    .needs(|options, _| options.sends_certificates(), "with `raw_keys = true`: nobody sends a certificate"),
    Setting::new(
        CRLS,
        BOOLEAN,
        "whoever is shown a certificate asks revocation lists",
        field!(options.certificates.crls, Item::boolean, ToString::to_string),
    )
    .of(&SIGNATURES),
];

/// `4` for both, or `[2, 4]` for device and gateway. Paper 000 has chains of two and four.
fn chain(item: &Item) -> Result<Chain, ScenarioError> {
    let length = |item: &Item| item.integer(1..=4).map(|length| length as u8);
    match item.elements() {
        [both] => Ok(Chain { initiator: length(both)?, responder: length(both)? }),
        [initiator, responder] => Ok(Chain { initiator: length(initiator)?, responder: length(responder)? }),
        _ => Err(item
            .spot
            .error("expected one or two chain lengths", "one for both, or the device's and the gateway's")),
    }
}

/// Refuses certificate options without effect.
pub(super) fn check(settings: &Settings, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let options = &settings.options;
    let refuse = |key: &str, why: &str, hint: &'static str| {
        let message = format!("`{key}` means nothing to `{}` {why}", method.name());
        Err(value_of(blame, key).spot.error(message, "this value").hint(hint))
    };
    if options.certificates.crls && !options.shows_certificates(method) {
        return refuse(CRLS, "here: nobody shows a certificate", "leave it out");
    }
    // RFC 5280 §6.3: revocation lists are of issuers; a self-signed anchor is not checked.
    let signs_itself = method.has_chain() && options.certificates.chain.responder == 1;
    if options.fault == Some(Fault::RevokedCertificate) && signs_itself {
        let why = "with a certificate that signs itself";
        return refuse(super::nodes::FAULT, why, "`chain` of 2 or more");
    }
    Ok(())
}
