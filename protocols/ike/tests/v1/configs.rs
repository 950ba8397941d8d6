//! Configurations for two endpoints with IKEv1.

use std::sync::Arc;

use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_ike::config::{Believe, Config, Phase1, Prove, Reauthenticate, V1, Version};

use crate::support::lab::{self, Pki, both, esp, ike, only, seconds};

pub(crate) const IKE_SUITE: &str = "aes128-sha256-modp2048";
pub(crate) const ESP_SUITE: &str = "aes128-sha256";

/// Both sides use IKEv1 with the usual suites.
pub(crate) fn v1(configs: (Config, Config), phase1: Phase1) -> (Config, Config) {
    both(configs, |connection| {
        connection.version = Version::V1(V1::new(phase1));
        connection.suites = ike(IKE_SUITE);
        connection.reauthenticate = Reauthenticate::Ahead(seconds(100));
        connection.child.as_mut().unwrap().suites = esp(ESP_SUITE);
    })
}

/// With a shared key.
pub(crate) fn psk(phase1: Phase1) -> (Config, Config) {
    v1(lab::psk(), phase1)
}

/// With certificates.
pub(crate) fn certificates(phase1: Phase1) -> (Config, Config) {
    v1(Pki::new(KeyKind::Rsa2048, 2).configs(), phase1)
}

/// With keys that both know.
pub(crate) fn raw_keys(phase1: Phase1) -> (Config, Config) {
    let pki = Pki::new(KeyKind::Rsa2048, 1);
    let (device, gateway) = (pki.device.key, pki.gateway.key);
    let (mut i, mut r) = psk(phase1);
    only(&mut i).local = Prove::RawKey(device.clone());
    only(&mut i).remote = Believe::RawKey(Arc::clone(&gateway.spki));
    only(&mut r).local = Prove::RawKey(gateway);
    only(&mut r).remote = Believe::RawKey(device.spki);
    (i, r)
}
