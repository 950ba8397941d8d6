//! What the benchmarks authenticate with: a shared key, or certificates of one kind of key.

use std::sync::Arc;

use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{AlternativeName, Credential};
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, Seed};
use keytoll_ike::config::{Believe, ChildConfig, Config, Connection, Mode, Prove, Reauthenticate, Version};
use keytoll_ike::wire::Identity;
use keytoll_pki::{Anchors, Authority, Request, Validity};

const DEVICE: &str = "ue@lab";
const GATEWAY: &str = "gw.lab";
/// 2026-01-01 to 2036-01-01, judged on 2026-06-01.
const VALIDITY: Validity = Validity { from_unix_seconds: 1_767_225_600, until_unix_seconds: 2_082_758_400 };
const TODAY_UNIX_SECONDS: u64 = 1_780_272_000;

/// As in scenarios that say nothing: the root, which stays at home, and the certificate it issued.
const CHAIN_LENGTH: usize = 2;

/// One way to authenticate.
pub(crate) struct Case {
    pub(crate) method: &'static str,
    pub(crate) suite: &'static str,
    /// The kind of the keys in the certificates; a shared key without.
    pub(crate) key: Option<KeyKind>,
}

/// The shared key with X25519.
pub(crate) const PSK: Case = Case { method: "ikev2-psk", suite: "aes128gcm16-prfsha256-x25519", key: None };

impl Case {
    /// Configurations of initiator and responder.
    pub(crate) fn configs(&self) -> (Config, Config) {
        let [device, gateway] = self.credentials();
        (self.config((DEVICE, GATEWAY), device), self.config((GATEWAY, DEVICE), gateway))
    }

    fn config(&self, (local, remote): (&str, &str), (prove, believe): (Prove, Believe)) -> Config {
        let mut config = Config::new(vec![Connection {
            name: self.method.to_owned(),
            version: Version::V2,
            local_id: identity(local),
            remote_id: Some(identity(remote)),
            signatures: Vec::new(),
            local: prove,
            remote: believe,
            suites: vec![Suite::ike(self.suite).expect("a literal suite")],
            child: Some(child()),
            request_address: false,
            pool: None,
            auth_lifetime: None,
            weakest: keytoll_ike::config::Weakest::default(),
            reauthenticate: Reauthenticate::OnDemand,
            rekey_after: None,
            liveness_after: None,
        }]);
        // The benches set up thousands of them in one device's name.
        config.ike_sas_max = usize::MAX;
        config
    }

    /// How each side proves itself, and whom it believes.
    fn credentials(&self) -> [(Prove, Believe); 2] {
        let Some(kind) = self.key else {
            let psk = || Secret::from(&[7; 32][..]);
            return [(); 2].map(|()| (Prove::Psk(psk()), Believe::psk(psk())));
        };
        let mut real = Real::default();
        let mut authority = Authority::new(kind, VALIDITY, &Seed::from(1), &mut keys::generate, &mut real);
        let mut issue = |name: &str, alternative| {
            let request = Request { name, alternatives: &[alternative], kind, chain_length: CHAIN_LENGTH };
            let credential = authority.issue(&request, &mut keys::generate, &mut real);
            let anchor = authority.anchor_for(&credential);
            let anchors = Anchors::new([&anchor[..]], TODAY_UNIX_SECONDS, &mut real);
            (credential, Arc::new(anchors.expect("the authority's own certificate parses")))
        };
        let device: (Credential, _) = issue(DEVICE, AlternativeName::Email(DEVICE.to_owned()));
        let gateway: (Credential, _) = issue(GATEWAY, AlternativeName::Dns(GATEWAY.to_owned()));
        [
            (Prove::Certificate(device.0), Believe::Certificate(gateway.1)),
            (Prove::Certificate(gateway.0), Believe::Certificate(device.1)),
        ]
    }
}

fn identity(name: &str) -> Identity {
    name.parse().expect("a literal identity")
}

fn child() -> ChildConfig {
    ChildConfig {
        suites: vec![Suite::esp("aes128gcm16").expect("a literal suite")],
        mode: Mode::Tunnel,
        local: Vec::new(),
        remote: Vec::new(),
        rekey_after: None,
    }
}
