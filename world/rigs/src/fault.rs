//! Deliberate faults: changes of a row's credentials, configuration or links. The rest of the laboratory is built without regard to
//! faults, and calls these functions where there can be one.

use std::sync::Arc;

use keytoll_crypto_api::Seed;
use keytoll_eap::PeerConfig;
use keytoll_eap::simaka::centre::AuthenticationCentre;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_hosts::{AaaConfig, HssConfig};
use keytoll_pki::Validity;
use keytoll_scenario::catalogue::{EapMethod, Fault};
use keytoll_scenario::plan::RowPlan;
use keytoll_sim::{LinkConfig, Loss};

use crate::credentials::Credentials;
use crate::eap::Ends;

/// 2016-01-01 to 2026-01-01: before the date of certificate checks.
const PAST: Validity = Validity { from_unix_seconds: 1_451_606_400, until_unix_seconds: 1_767_225_600 };
/// The name in another server's certificate.
const SOMEBODY_ELSE: &str = "somebody-else.lab";
/// Authentications of a card elsewhere, between two of ours.
const AUTHENTICATIONS_ELSEWHERE: u64 = 1024;

/// The seed of the device's shared key.
pub(crate) fn seed_of_device(row: &RowPlan, seed: &Seed) -> Seed {
    wrong_if(row.options.fault == Some(Fault::WrongPsk), seed)
}

/// The seed of the device's card, for a protocol that asks it without EAP.
pub(crate) fn seed_of_card(row: &RowPlan, seed: &Seed) -> Seed {
    wrong_if(row.options.fault == Some(Fault::WrongSimKey), seed)
}

/// The seed of the gateway's RADIUS secret.
pub(crate) fn seed_of_gateway(row: &RowPlan, seed: &Seed) -> Seed {
    wrong_if(row.options.fault == Some(Fault::RadiusWrongSecret), seed)
}

fn wrong_if(wrong: bool, seed: &Seed) -> Seed {
    if wrong { seed.stream("wrong").seed() } else { seed.clone() }
}

/// Both ends of EAP. A device with a wrong secret is one with the secret of another AAA server.
pub(crate) fn ends(row: &RowPlan, eap: &EapMethod, credentials: &Credentials, seed: &Seed) -> Ends {
    let mut ends = Ends::of(row, eap, credentials, seed);
    match row.options.fault {
        Some(Fault::WrongPassword | Fault::WrongSimKey) => {
            ends.device = Ends::of(row, eap, credentials, &wrong_if(true, seed)).device;
        }
        Some(Fault::NoCommonMethod) => ends.device.config = Arc::new(PeerConfig::default()),
        _ => {}
    }
    ends
}

/// The AAA server of a row.
pub(crate) fn aaa(row: &RowPlan, mut config: AaaConfig) -> AaaConfig {
    if row.options.fault == Some(Fault::RadiusUnknownClient) {
        config.radius.clients.clear();
    }
    config
}

/// The link between device and gateway.
pub(crate) fn access_link(row: &RowPlan, mut link: LinkConfig) -> LinkConfig {
    let unchecked = row.options.fault == Some(Fault::ChecksumsIgnored);
    (link.a_to_b.unchecked, link.b_to_a.unchecked) = (unchecked, unchecked);
    link
}

/// The link to the AAA server.
pub(crate) fn aaa_link(row: &RowPlan, mut link: LinkConfig) -> LinkConfig {
    if row.options.fault == Some(Fault::AaaSilent) {
        link.a_to_b.loss = Loss::Uniform(1.0);
    }
    link
}

/// The link to the HSS.
pub(crate) fn hss_link(row: &RowPlan, mut link: LinkConfig) -> LinkConfig {
    if row.options.fault == Some(Fault::HssDown) {
        link.a_to_b.loss = Loss::Uniform(1.0);
    }
    link
}

/// The HSS of a row.
pub(crate) fn hss(row: &RowPlan, mut config: HssConfig, seed: &Seed) -> HssConfig {
    if row.options.fault == Some(Fault::UnknownSubscriber) {
        config.subscribers = AuthenticationCentre::new(seed.stream("nobody"));
    }
    config
}

/// The device's card, if it is used elsewhere between authentications.
pub(crate) fn travelling_card(row: &RowPlan, card: Option<&SharedCard>) -> Option<SharedCard> {
    card.filter(|_| row.options.fault == Some(Fault::SqnOutOfRange)).cloned()
}

/// Advances the card's sequence number beyond that of the subscriber database.
pub(crate) fn travel(card: &SharedCard) {
    card.used_elsewhere(AUTHENTICATIONS_ELSEWHERE);
}

/// The fault of the server's certificate.
pub(crate) fn of_certificate(row: &RowPlan) -> Option<Fault> {
    row.options.fault.filter(|fault| fault.is_of_certificate())
}

/// The validity of an expired server certificate.
pub(crate) fn past_validity(fault: Option<Fault>) -> Option<Validity> {
    (fault == Some(Fault::ExpiredCertificate)).then_some(PAST)
}

/// The name in the server's certificate.
pub(crate) fn name_in_certificate(fault: Option<Fault>, right: &str) -> String {
    if fault == Some(Fault::WrongName) { SOMEBODY_ELSE.to_owned() } else { right.to_owned() }
}
