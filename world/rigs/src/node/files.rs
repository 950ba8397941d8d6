//! Certificates and keys in the files that a node file names. An error about one refers to the line that names it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keytoll_crypto::keys::{self, KeyError};
use keytoll_crypto_api::credentials::Credential;
use keytoll_crypto_api::{KeyPair, SigningKey};
use keytoll_ike::wire::Identity;
use keytoll_pki::{describe, pem};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::{CertificatePlan, Placed};

/// A certificate with its chain, and its key.
pub(super) fn credential(plan: &CertificatePlan) -> Result<Credential, ScenarioError> {
    let (of_certificate, of_key) = (&plan.certificate, &plan.key);
    let chain = certificates(of_certificate)?;
    let key = key(of_key)?;
    let shown = of_key.value.display();
    let described = chain.first().and_then(|leaf| describe(leaf).ok());
    if described.is_none_or(|leaf| leaf.spki != *key.spki) {
        let certificate = of_certificate.value.display();
        let message =
            format!("the private key in {shown} is not the one of the certificate in {certificate}");
        let error = of_key.error(message, "this key");
        return Err(error.hint("the end entity's certificate stands first in its file"));
    }
    Ok(Credential { chain: chain.into(), key })
}

/// A certificate with its chain, and its key, from files that no line of their own names; an error is a sentence.
pub(super) fn credential_of([certificate, key]: [&Path; 2]) -> Result<Credential, String> {
    let told = |error: pem::FileError| format!("cannot {error}");
    let chain = pem::load_certificates(certificate).map_err(told)?;
    let pkcs8 = pem::load_private_key(key).map_err(told)?;
    let shown = key.display();
    let key =
        keys::from_pkcs8(&pkcs8).map_err(|why| format!("cannot use the private key in {shown}: {why}"))?;
    let described = chain.first().and_then(|leaf| describe(leaf).ok());
    if described.is_none_or(|leaf| leaf.spki != *key.spki) {
        let certificate = certificate.display();
        return Err(format!("the private key in {shown} is not the one of the certificate in {certificate}"));
    }
    Ok(Credential { chain: chain.into(), key })
}

/// A private key.
pub(super) fn key(path: &Placed<PathBuf>) -> Result<SigningKey, ScenarioError> {
    let pkcs8 = pem::load_private_key(&path.value)
        .map_err(|error| path.error(format!("cannot {error}"), "this file"))?;
    let shown = path.value.display();
    keys::from_pkcs8(&pkcs8)
        .map_err(|error| path.error(format!("cannot use the private key in {shown}: {error}"), "this file"))
}

/// A private key of X25519.
pub(super) fn agreement_key(path: &Placed<PathBuf>) -> Result<KeyPair, ScenarioError> {
    let pkcs8 = pem::load_private_key(&path.value)
        .map_err(|error| path.error(format!("cannot {error}"), "this file"))?;
    let shown = path.value.display();
    keys::agreement_from_pkcs8(&pkcs8).map_err(|error| match error {
        KeyError::Unknown => {
            let message = format!("the diet exchange needs a key of X25519, and {shown} has another one");
            path.error(message, "this file").hint("openssl genpkey -algorithm x25519 -out FILE")
        }
        KeyError::Malformed => {
            path.error(format!("cannot use the private key in {shown}: {error}"), "this file")
        }
    })
}

/// A public key.
pub(super) fn public_key(path: &Placed<PathBuf>) -> Result<Arc<[u8]>, ScenarioError> {
    let spki = pem::load_public_key(&path.value);
    spki.map(Arc::from).map_err(|error| path.error(format!("cannot {error}"), "this file"))
}

/// The certificates of a file.
pub(super) fn certificates(path: &Placed<PathBuf>) -> Result<Vec<Vec<u8>>, ScenarioError> {
    pem::load_certificates(&path.value).map_err(|error| path.error(format!("cannot {error}"), "this file"))
}

/// An identity in strongSwan's syntax.
pub(super) fn identity(text: &Placed<String>) -> Result<Identity, ScenarioError> {
    text.value
        .parse()
        .map_err(|error| text.error(format!("`{}` is no identity: {error}", text.value), "this identity"))
}
