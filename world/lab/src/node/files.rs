//! Certificates, keys and trust anchors of the files that a node file names. Whatever is wrong with one is said with the
//! line that names it.

use std::path::PathBuf;
use std::sync::Arc;

use keytoll_crypto::{Real, keys};
use keytoll_engine::credentials::{Credential, Trust};
use keytoll_engine::crypto::SigningKey;
use keytoll_ike::wire::Identity;
use keytoll_native::clock::unix_seconds;
use keytoll_pki::{Anchors, describe, pem};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::{CertificatePlan, Placed};

/// A certificate with what leads to its root, and its key.
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

/// A private key.
pub(super) fn key(path: &Placed<PathBuf>) -> Result<SigningKey, ScenarioError> {
    let pkcs8 = pem::load_private_key(&path.value)
        .map_err(|error| path.error(format!("cannot {error}"), "this file"))?;
    let shown = path.value.display();
    keys::from_pkcs8(&pkcs8)
        .map_err(|error| path.error(format!("cannot use the private key in {shown}: {error}"), "this file"))
}

/// A public key.
pub(super) fn public_key(path: &Placed<PathBuf>) -> Result<Arc<[u8]>, ScenarioError> {
    let spki = pem::load_public_key(&path.value);
    spki.map(Arc::from).map_err(|error| path.error(format!("cannot {error}"), "this file"))
}

/// Whoever has a path to the certificates of a file.
pub(super) fn trust(roots: &Placed<PathBuf>) -> Result<Arc<dyn Trust>, ScenarioError> {
    let found = certificates(roots)?;
    let anchors = Anchors::new(found.iter().map(Vec::as_slice), unix_seconds(), &mut Real::default());
    let shown = roots.value.display();
    anchors.map(|anchors| Arc::new(anchors) as Arc<dyn Trust>).map_err(|error| {
        roots.error(format!("cannot trust the certificates in {shown}: {error}"), "this file")
    })
}

fn certificates(path: &Placed<PathBuf>) -> Result<Vec<Vec<u8>>, ScenarioError> {
    pem::load_certificates(&path.value).map_err(|error| path.error(format!("cannot {error}"), "this file"))
}

/// An identity, as strongSwan would write it.
pub(super) fn identity(text: &Placed<String>) -> Result<Identity, ScenarioError> {
    text.value
        .parse()
        .map_err(|error| text.error(format!("`{}` is no identity: {error}", text.value), "this identity"))
}
