//! IKEv2: a shared key and two kinds of certificates.

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::Crypto;
use keytoll_crypto_api::algorithm::KeyKind;

use crate::cases::{self, Case};
use crate::pair::Pair;
use crate::{Authenticate, Subject, record};

const CASES: [Case; 3] = [
    cases::PSK,
    Case { method: "ikev2-rsa2048", suite: "aes128gcm16-prfsha256-ecp256", key: Some(KeyKind::Rsa2048) },
    Case { method: "ikev2-ecdsa-p256", suite: "aes128gcm16-prfsha256-ecp256", key: Some(KeyKind::EcdsaP256) },
];

impl<C: Crypto> Authenticate for Pair<C> {
    fn authenticate(&mut self) {
        Self::authenticate(self);
    }

    fn close(&mut self) {
        Self::close(self);
    }
}

/// Measures and prints every case.
pub(crate) fn measure_all() {
    for case in &CASES {
        let configs = case.configs();
        let recorded = record(
            |meter| Pair::new(configs.clone(), meter),
            |pair| [&pair.initiator, &pair.responder].map(|seat| &seat.crypto),
        );
        let subject = Subject {
            title: format!("{} with {}", case.method, case.suite),
            real: Box::new(Pair::new(configs.clone(), Real::default)),
            null: Box::new(Pair::new(configs, || Null)),
            recorded,
            turns: if case.key == Some(KeyKind::Rsa2048) { 40 } else { 200 },
        };
        subject.measure();
    }
}
