//! What our devices are told: one connection, shared key or certificates, with a child or without.

use std::path::Path;
use std::sync::Arc;

use keytoll_crypto::{Real, keys};
use keytoll_crypto_api::Secret;
use keytoll_crypto_api::credentials::{Credential, Trust};
use keytoll_crypto_api::suite::Suite;
use keytoll_ike::config::{Believe, ChildConfig, Connection, Prove, Reauthenticate, Version};
use keytoll_ike::{Config, Mode};
use keytoll_interop::Node;
use keytoll_interop::swanctl::SECRET;
use keytoll_native::clock::unix_seconds;
use keytoll_pki::{Anchors, pem};

use crate::trouble::Result;

/// How both ends prove themselves.
pub(crate) enum Auth {
    /// The lab's shared key.
    Psk,
    /// A certificate, to whoever trusts the same root.
    Certificate(Credential, Arc<dyn Trust>),
    /// A shared key that is not the lab's.
    WrongPsk,
    /// With EAP, to a gateway with a certificate below the root.
    Eap(Arc<dyn Trust>),
}

impl Auth {
    /// The device's files in a directory of certificates, or the shared key if there is none.
    pub(crate) fn load(pki: Option<&Path>) -> Result<Self> {
        let Some(dir) = pki else { return Ok(Self::Psk) };
        let (name, trust) = (Node::Ue.name(), trust(dir)?);
        let chain = pem::load_certificates(&dir.join(format!("{name}.crt")))?;
        let key = keys::from_pkcs8(&pem::load_private_key(&dir.join(format!("{name}.key")))?)?;
        Ok(Self::Certificate(Credential { chain: chain.into(), key }, trust))
    }

    /// EAP, and whoever trusts the root in a directory of certificates.
    pub(crate) fn eap(pki: &Path) -> Result<Self> {
        Ok(Self::Eap(trust(pki)?))
    }

    fn proofs(&self) -> (Prove, Believe) {
        let psk = |secret: &str| {
            let secret = Secret::from(secret.as_bytes());
            (Prove::Psk(secret.clone()), Believe::psk(secret))
        };
        match self {
            Self::Psk => psk(SECRET),
            Self::WrongPsk => psk("not the lab's"),
            Self::Eap(trust) => (Prove::Eap, Believe::Certificate(Arc::clone(trust))),
            Self::Certificate(credential, trust) => {
                (Prove::Certificate(credential.clone()), Believe::Certificate(Arc::clone(trust)))
            }
        }
    }
}

/// The root in a directory of certificates.
fn trust(dir: &Path) -> Result<Arc<dyn Trust>> {
    let roots = pem::load_certificates(&dir.join("root.crt"))?;
    let roots = roots.iter().map(Vec::as_slice);
    Ok(Arc::new(Anchors::new(roots, unix_seconds(), &mut Real::default())?))
}

/// An endpoint with one connection; `esp` none: childless.
pub(crate) fn config(auth: &Auth, ike: &str, esp: Option<&str>) -> Result<Config> {
    let (local, remote) = auth.proofs();
    let child = esp.map(child).transpose()?;
    let connection = Connection {
        name: "bench".into(),
        version: Version::V2,
        local_id: Node::Ue.id().parse()?,
        remote_id: Some(Node::Gw.id().parse()?),
        local,
        signatures: Vec::new(),
        remote,
        suites: vec![Suite::ike(ike)?],
        child,
        request_address: false,
        pool: None,
        auth_lifetime: None,
        weakest: keytoll_ike::config::Weakest::default(),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    };
    Ok(Config::new(vec![connection]))
}

fn child(esp: &str) -> Result<ChildConfig> {
    let suites = vec![Suite::esp(esp)?];
    Ok(ChildConfig { suites, mode: Mode::Tunnel, local: vec![], remote: vec![], rekey_after: None })
}
