//! RADIUS of a load: how devices prove themselves, and what their access server speaks with the target. RFC 2865; RFC 6614 for TLS.

use keytoll_crypto_api::Secret;

use super::super::Placed;
use super::super::files::Files;
use super::super::peer_tls::{PeerTlsPlan, radius_tls};
use super::{AccessPlan, EapLoad, WHAT, eap, effect};
use crate::catalogue::EapMethod;
use crate::catalogue::eap::EAP_METHODS;
use crate::diagnostic::ScenarioError;
use crate::tree::Table;

pub(super) const KEYS: &[&str] =
    &["secret", "method", "identifier", "transport", "radius_tls", "ports", "tls", "card"];

/// RFC 6614 §2.3: the secret where TLS protects.
const SECRET: &[u8] = b"radsec";

/// Access by RADIUS.
#[derive(Debug, Clone)]
pub struct RadiusLoad {
    /// The secret shared with the server.
    pub secret: Secret,
    /// How devices prove themselves.
    pub method: RadiusMethod,
    /// NAS-Identifier.
    pub identifier: String,
    /// TLS around it; `None`: RADIUS over UDP.
    pub tls: Option<Placed<PeerTlsPlan>>,
    /// Source ports of each worker or its connections, with 256 outstanding requests each.
    pub ports: u16,
    /// Devices' cards and TLS.
    pub eap: EapLoad,
}

impl RadiusLoad {
    /// Its port at the target, if none is named: RFC 2865 §3, RFC 6614 §2.1.
    pub(super) const fn port(&self) -> u16 {
        if self.tls.is_some() { 2083 } else { 1812 }
    }

    /// For people: `RADIUS mschapv2`, `RADIUS/TLS mschapv2`.
    pub(super) fn name(&self) -> String {
        let protocol = if self.tls.is_some() { "RADIUS/TLS" } else { "RADIUS" };
        format!("{protocol} {}", self.method.name())
    }
}

/// How devices prove themselves over RADIUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RadiusMethod {
    /// With a password.
    Pap,
    /// With the proof of a password.
    Chap,
    /// With EAP.
    Eap(&'static EapMethod),
}

impl RadiusMethod {
    /// All of them.
    fn all() -> Vec<Self> {
        [Self::Pap, Self::Chap].into_iter().chain(EAP_METHODS.iter().map(Self::Eap)).collect()
    }

    /// The name in load files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pap => "pap",
            Self::Chap => "chap",
            Self::Eap(method) => method.name,
        }
    }
}

/// What carries RADIUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Udp,
    Tls,
}

impl Transport {
    const ALL: [Self; 2] = [Self::Udp, Self::Tls];

    const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tls => "tls",
        }
    }

    /// How many ports or connections a worker has: four thousand outstanding requests, or as many connections as servers take of
    /// several workers (sixteen, with FreeRADIUS, unless it is told otherwise).
    const fn ports(self) -> u64 {
        match self {
            Self::Udp => 16,
            Self::Tls => 4,
        }
    }
}

pub(super) fn read(document: &Table, files: &mut Files) -> Result<AccessPlan, ScenarioError> {
    let method = document.need("method", WHAT)?;
    let method = method.pick("method", &RadiusMethod::all(), RadiusMethod::name)?;
    let of_eap = match method {
        RadiusMethod::Eap(method) => vec![method],
        RadiusMethod::Pap | RadiusMethod::Chap => Vec::new(),
    };
    let transport = document
        .or("transport", Transport::Udp, |item| item.pick("transport", &Transport::ALL, Transport::name))?;
    Ok(AccessPlan::Radius(Box::new(RadiusLoad {
        secret: secret(document, transport, files)?,
        method,
        identifier: document.or("identifier", "keytoll-load".to_owned(), effect::identifier)?,
        tls: tls(document, transport, files)?,
        ports: document.or("ports", transport.ports(), |item| item.integer(1..=4096))? as u16,
        eap: eap(document, &of_eap, files)?,
    })))
}

fn secret(document: &Table, transport: Transport, files: &mut Files) -> Result<Secret, ScenarioError> {
    match (document.get("secret"), transport) {
        (Some(secret), _) => files.shared(secret),
        (None, Transport::Tls) => Ok(Secret::from(SECRET)),
        (None, Transport::Udp) => {
            let error = document
                .spot
                .error("a load without `secret` and without `[connection]`", "of RADIUS or of IKE?");
            Err(error.hint(
                "`secret = { file = … }` is what a RADIUS server and its clients share; `[connection]` is for IKE",
            ))
        }
    }
}

fn tls(
    document: &Table,
    transport: Transport,
    files: &mut Files,
) -> Result<Option<Placed<PeerTlsPlan>>, ScenarioError> {
    match (document.entry("radius_tls"), transport) {
        (Some(entry), Transport::Tls) => radius_tls(&entry.item, files).map(Some),
        (None, Transport::Udp) => Ok(None),
        (None, Transport::Tls) => {
            let message = "RADIUS over TLS needs a table `[radius_tls]`";
            let error = document.spot.error(message, "`[radius_tls]` is missing");
            Err(error.hint("with `roots`, `server_name`, and the access server's `certificate` and `key`"))
        }
        (Some(entry), Transport::Udp) => {
            let error = entry.key_spot.error("`radius_tls` without `transport = \"tls\"`", "is not used");
            Err(error.hint("`[tls]` is for TLS inside EAP"))
        }
    }
}
