//! Configurations for the two: shared keys, certificates, and variations of tests.

use std::sync::Arc;

use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{AlternativeName, Credential, Trust};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, Seed};
use keytoll_ike::Config;
use keytoll_ike::config::{
    Believe, ChildConfig, Connection, Mode, Pool, Prove, Reauthenticate, Retransmission, Version,
};
use keytoll_ike::wire::{Identity, TrafficSelector};
use keytoll_pki::{Anchors, Authority, Request, Validity};

pub(crate) const DEVICE: &str = "device.example.org";
pub(crate) const GATEWAY: &str = "gw.example.org";

/// The suites of most tests.
pub(crate) const IKE_SUITE: &str = "aes128gcm16-prfsha256-x25519";
pub(crate) const ESP_SUITE: &str = "aes128gcm16";

pub(crate) fn secret(text: &str) -> Secret {
    Secret::from(text.as_bytes())
}

pub(crate) fn id(text: &str) -> Identity {
    text.parse().unwrap()
}

pub(crate) fn ike(text: &str) -> Vec<Suite> {
    text.split(' ').map(|suite| Suite::ike(suite).unwrap()).collect()
}

pub(crate) fn esp(text: &str) -> Vec<Suite> {
    text.split(' ').map(|suite| Suite::esp(suite).unwrap()).collect()
}

pub(crate) fn net(text: &str) -> TrafficSelector {
    let (address, length) = text.split_once('/').unwrap();
    TrafficSelector::prefix(address.parse().unwrap(), length.parse().unwrap())
}

pub(crate) fn child() -> ChildConfig {
    ChildConfig {
        suites: esp(ESP_SUITE),
        mode: Mode::Tunnel,
        local: vec![],
        remote: vec![],
        rekey_after: None,
    }
}

/// One side's connection with a shared key.
pub(crate) fn connection(local: &str, remote: &str) -> Connection {
    Connection {
        name: "lab".to_owned(),
        version: Version::V2,
        local_id: id(local),
        remote_id: Some(id(remote)),
        signatures: Vec::new(),
        local: Prove::Psk(secret("correct horse battery staple")),
        remote: Believe::psk(secret("correct horse battery staple")),
        suites: ike(IKE_SUITE),
        child: Some(child()),
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    }
}

/// Both sides with a shared key and one connection.
pub(crate) fn psk() -> (Config, Config) {
    (Config::new(vec![connection(DEVICE, GATEWAY)]), Config::new(vec![connection(GATEWAY, DEVICE)]))
}

/// The only connection of a configuration.
pub(crate) fn only(config: &mut Config) -> &mut Connection {
    &mut config.connections[0]
}

/// The child of the only connection.
pub(crate) fn only_child(config: &mut Config) -> &mut ChildConfig {
    only(config).child.as_mut().unwrap()
}

/// A test's change of a connection.
pub(crate) type Change = fn(&mut Connection);

/// The same change on both sides.
pub(crate) fn both((mut i, mut r): (Config, Config), change: impl Fn(&mut Connection)) -> (Config, Config) {
    change(only(&mut i));
    change(only(&mut r));
    (i, r)
}

/// 2026-01-01 to 2036-01-01.
pub(crate) const DECADE: Validity =
    Validity { from_unix_seconds: 1_767_225_600, until_unix_seconds: 2_082_758_400 };
/// 2026-11-21.
pub(crate) const NOW: u64 = 1_795_219_200;

/// An authority with certificates for both sides.
pub(crate) struct Pki {
    pub(crate) authority: Authority,
    pub(crate) device: Credential,
    pub(crate) gateway: Credential,
}

impl Pki {
    pub(crate) fn new(kind: KeyKind, chain_length: usize) -> Self {
        Self::seeded(kind, chain_length, 1)
    }

    pub(crate) fn seeded(kind: KeyKind, chain_length: usize, seed: u64) -> Self {
        let mut real = Real::default();
        let mut authority = Authority::new(kind, DECADE, &Seed::from(seed), &mut keys::generate, &mut real);
        let mut issue = |name: &str| {
            let alternatives = [AlternativeName::Dns(name.to_owned())];
            let request = Request { name, alternatives: &alternatives, kind, chain_length };
            authority.issue(&request, &mut keys::generate, &mut real)
        };
        let (device, gateway) = (issue(DEVICE), issue(GATEWAY));
        Self { authority, device, gateway }
    }

    /// Trusts the issuer of this credential, at this time.
    pub(crate) fn trust(&self, credential: &Credential, unix_seconds: u64) -> Arc<dyn Trust> {
        let anchor = self.authority.anchor_for(credential);
        Arc::new(Anchors::new([&anchor[..]], unix_seconds, &mut Real::default()).unwrap())
    }

    /// Both sides authenticate with certificates.
    pub(crate) fn configs(&self) -> (Config, Config) {
        let (mut i, mut r) = psk();
        only(&mut i).local = Prove::Certificate(self.device.clone());
        only(&mut i).remote = Believe::Certificate(self.trust(&self.gateway, NOW));
        only(&mut r).local = Prove::Certificate(self.gateway.clone());
        only(&mut r).remote = Believe::Certificate(self.trust(&self.device, NOW));
        (i, r)
    }
}

/// Ten inner addresses.
pub(crate) fn pool() -> Pool {
    Pool { first: "10.0.0.1".parse().unwrap(), size: 10 }
}

/// Short waits: 0.5 s, doubled, four retransmissions.
pub(crate) fn brisk() -> Retransmission {
    Retransmission { first: std::time::Duration::from_millis(500), base: 2.0, tries: 4 }
}

/// A separate key for each identity.
pub(crate) fn keys_by_identity(keys: &[(&str, &str)]) -> Believe {
    let by_identity = keys.iter().map(|(name, key)| (id(name), secret(key)));
    Believe::Psk { any: None, by_identity: by_identity.collect() }
}

pub(crate) const fn seconds(n: u64) -> std::time::Duration {
    std::time::Duration::from_secs(n)
}
