//! The provider for rustls: suites, groups and randomness, all from the engine.

use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::algorithm::Group;
use rustls::crypto::{
    CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, SupportedKxGroup, WebPkiSupportedAlgorithms,
};
use rustls::pki_types::{PrivateKeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup};

use crate::agreement::GROUPS;
use crate::lent::lent;
use crate::suites::SUITES;

/// The provider, with the groups in this order; groups without support in TLS are omitted.
pub(crate) fn provider(groups: &[Group]) -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: SUITES.to_vec(),
        kx_groups: groups.iter().filter_map(|group| agreement(*group)).collect(),
        // Certificates are checked by the engine's `Trust`, see `verifier`.
        signature_verification_algorithms: WebPkiSupportedAlgorithms { all: &[], mapping: &[] },
        secure_random: &LentRandom,
        key_provider: &NoKeys,
    })
}

fn agreement(group: Group) -> Option<&'static dyn SupportedKxGroup> {
    let name = match group {
        Group::X25519 => NamedGroup::X25519,
        Group::Ecp256 => NamedGroup::secp256r1,
        Group::Ecp384 => NamedGroup::secp384r1,
        Group::Ecp521 => NamedGroup::secp521r1,
        _ => return None,
    };
    GROUPS.into_iter().find(|agreement| agreement.name() == name)
}

/// Randomness from the lent generator only.
#[derive(Debug)]
struct LentRandom;

impl SecureRandom for LentRandom {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        lent(|lent| lent.rng.map(|rng| rng.fill(buffer))).ok_or(GetRandomFailed)
    }
}

/// Rejects DER keys: keys come from the engine directly.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(
        &self,
        _key: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn rustls::sign::SigningKey>, Error> {
        Err(Error::General("keys are loaded by the crypto provider of the engine".into()))
    }
}

/// The engine's time: rustls needs it for the age of tickets; `Trust` checks the dates of certificates.
#[derive(Debug)]
pub(crate) struct LentTime;

impl TimeProvider for LentTime {
    fn current_time(&self) -> Option<UnixTime> {
        let nanos = lent(|lent| lent.now).as_nanos();
        Some(UnixTime::since_unix_epoch(Duration::from_nanos(nanos)))
    }
}
