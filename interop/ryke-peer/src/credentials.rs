//! Identities, shared keys, certificates and passwords from the settings.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use ryke::ikev2::ike_auth::{LocalAuth, PeerAuth};
use ryke::ikev2::payload::id_type;
use ryke::{AuthConfig, Identification, ServerAuth, ServerVerify, SigningKey};

use crate::Outcome;
use crate::settings::Settings;

/// An identity of the type that it looks like.
pub fn identity(name: &str) -> Identification {
    let kind = if name.contains('@') { id_type::RFC822_ADDR } else { id_type::FQDN };
    Identification { id_type: kind, data: name.as_bytes().to_vec() }
}

/// An identity as text.
pub fn shown(id: &Identification) -> String {
    String::from_utf8_lossy(&id.data).into_owned()
}

/// A shared key for both sides, or a certificate for each.
pub fn of_both(settings: &Settings) -> Outcome<AuthConfig> {
    let id = identity(settings.need("id")?);
    if let Some(secret) = settings.get("psk") {
        return Ok(AuthConfig::psk(id, secret.as_bytes().to_vec()));
    }
    let (key, chain) = own_certificate(settings)?;
    let cas = vec![fs::read(settings.need("root")?)?];
    let peer =
        PeerAuth::Cert { cas, expected_dns: settings.get("peer").map(str::to_owned), now_unix: now()? };
    Ok(AuthConfig { id, local: LocalAuth::Cert { key, chain }, peer })
}

/// The certificate of a gateway for devices with EAP.
pub fn of_gateway(settings: &Settings) -> Outcome<ServerAuth> {
    let (key, chain) = own_certificate(settings)?;
    Ok(ServerAuth::Cert { key, chain })
}

/// The authority that a device with EAP trusts, and the name that it expects.
pub fn trust(settings: &Settings) -> Outcome<ServerVerify> {
    let cas = vec![fs::read(settings.need("root")?)?];
    Ok(ServerVerify::TrustedCas { cas, expected_dns: settings.need("peer")?.to_owned(), now_unix: now()? })
}

/// A key (PKCS #8) and a certificate with those of intermediate authorities, all DER. ryke has no function that reads an RSA key.
fn own_certificate(settings: &Settings) -> Outcome<(SigningKey, Vec<Vec<u8>>)> {
    let key = SigningKey::ecdsa_p256_from_pkcs8_der(&fs::read(settings.need("key")?)?)?;
    let mut chain = vec![fs::read(settings.need("certificate")?)?];
    for number in 0.. {
        let Some(path) = settings.get(&format!("intermediate{number}")) else { break };
        chain.push(fs::read(path)?);
    }
    Ok((key, chain))
}

fn now() -> Outcome<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}
