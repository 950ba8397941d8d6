//! From a row of the plan to a device and a gateway.

use keytoll_crypto_api::Seed;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_hip::HostIdentity;
use keytoll_hip::config::{self, Config, Puzzles, Retransmission};
use keytoll_hip::number::{Cipher, EspSuite};
use keytoll_scenario::families::hip as catalogue;
use keytoll_scenario::plan::RowPlan;

use super::hosts::{Card, Device, DeviceConfig, Gateway, GatewayConfig, Hss, Journey};
use super::identities::{of_dex, of_p256};
use super::sites::Sites;
use crate::eap;
use crate::ipsec::sa_limits;

/// The serving network of the vectors: MCC 001, MNC 01 (TS 24.301 §9.9.3.32).
const SERVING_NETWORK: [u8; 3] = [0x00, 0xf1, 0x10];

/// The device of a row.
pub(super) fn device(
    (row, sites): (&RowPlan, &Sites),
    [own, gateway]: [&HostIdentity; 2],
    card: Option<(&str, SharedCard)>,
    seed: &Seed,
) -> Device {
    let mut hip = endpoint(row, own);
    hip.admits = config::Admits::Hits([gateway.hit()].into());
    if let Some((imsi, _)) = &card {
        hip.aka = config::Aka::Subscriber(imsi.as_bytes().to_vec());
    }
    // The gateway closes what is unused; a device that does not hear of it waits until the gateway has given up, too.
    hip.unused_after = hip.unused_after.map(|after| after + hip.retransmission.total());
    let config = DeviceConfig {
        hip,
        local: sites.signalling(sites.ue),
        gateway: sites.signalling(sites.gw),
        peer: Some(gateway.hit()),
        card: card.map(|(_, card)| Card { card, aka: row.options.hip.aka, network: SERVING_NETWORK }),
        limits: sa_limits(row.options.ipsec.limits),
        journey: journey(row, sites),
    };
    Device::new(config, seed, "ue")
}

fn journey(row: &RowPlan, sites: &Sites) -> Option<Journey> {
    Some(Journey::new(row.options.hip.move_after?, sites.signalling(sites.elsewhere?)))
}

/// The gateway of a row, whose random streams are named `{name}/…`.
pub(super) fn gateway(
    (row, sites): (&RowPlan, &Sites),
    own: &HostIdentity,
    admits: config::Admits,
    (seed, name): (&Seed, &str),
) -> Gateway {
    let mut hip = endpoint(row, own);
    hip.admits = admits;
    let hss = super::has_card(row).then(|| {
        hip.aka = config::Aka::Required;
        let diameter = eap::diameter((sites.back_end.core, &format!("{name}.lab")), &sites.back_end);
        Hss { diameter, aka: row.options.hip.aka, network: SERVING_NETWORK }
    });
    let config = GatewayConfig { hip, hss, limits: sa_limits(row.options.ipsec.limits) };
    Gateway::new(config, seed, name)
}

fn endpoint(row: &RowPlan, identity: &HostIdentity) -> Config {
    let options = &row.options.hip;
    let retransmission =
        Retransmission { first: options.retransmission.first, tries: options.retransmission.tries.into() };
    let esp_suites = row.esp_suites.iter().filter_map(|suite| EspSuite::of(*suite)).collect();
    Config {
        variant: of_dex(options.dex).1,
        p256_hash: of_p256(options.p256_hash),
        groups: options.groups.clone(),
        ciphers: options.ciphers.iter().copied().map(cipher).collect(),
        esp_suites,
        puzzle: Puzzles { difficulty_bits: options.puzzle_bits, ..puzzles() },
        encrypt_host_id: options.encrypt_host_id,
        rekey_with_new_keys: options.rekey_with_new_keys,
        rekey_after: row.options.ipsec.rekey_after,
        retransmission,
        unused_after: Some(options.unused_after),
        ..Config::new(vec![identity.clone()])
    }
}

/// The laboratory's device knows its gateway, and solves whatever it sets.
fn puzzles() -> Puzzles {
    Puzzles { unproved_difficulty_bits_max: Puzzles::BITS_MAX, ..Puzzles::default() }
}

const fn cipher(cipher: catalogue::Cipher) -> Cipher {
    match cipher {
        catalogue::Cipher::Aes128Cbc => Cipher::Aes128Cbc,
        catalogue::Cipher::Aes256Cbc => Cipher::Aes256Cbc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_and_hip_have_the_same_suites_and_groups() {
        let suites =
            EspSuite::ALL.map(|suite| suite.suite().map(|suite| (suite.encryption, suite.integrity)));
        assert!(catalogue::ESP_SUITES.iter().all(|suite| suites.contains(&Some(*suite))));
        assert_eq!(suites.len(), catalogue::ESP_SUITES.len());
        assert!(catalogue::GROUPS.iter().all(|group| keytoll_hip::number::GroupId::of(*group).is_some()));
    }
}
