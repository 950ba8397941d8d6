//! HIP of a load: what its devices speak, and what of their identities HIP uses. Each has a Host Identity of its own. RFC 7401 §3.

use super::super::files::Files;
use super::super::hip::{self, HipTerms, HostPlan, Transport};
use super::{Identities, Identity};
use crate::diagnostic::ScenarioError;
use crate::families::hip::Exchange;
use crate::tree::{Item, Table};

pub(super) use super::super::hip::{PORT, SPEAKER_KEYS, is_meant};

/// Access by HIP.
#[derive(Debug, Clone)]
pub struct HipLoad {
    /// What all devices speak.
    pub terms: HipTerms,
    /// Who the gateway is; `None`: whoever answers (RFC 7401 §4.1.8).
    pub peer: Option<HostPlan>,
}

/// Refuses a method beside the connection, where one of RADIUS and of EAP stands.
pub(super) fn no_method_beside(document: &Table) -> Result<(), ScenarioError> {
    document.entry("method").map_or(Ok(()), |entry| {
        let error = entry.key_spot.error("a method of HIP stands in `[connection]`", "beside it");
        Err(error.hint("leave one of both out"))
    })
}

pub(super) fn read(document: &Table, files: &Files) -> Result<HipLoad, ScenarioError> {
    let item = document.need("connection", "a load of HIP")?;
    one_for_all(item)?;
    let connection = hip::connection(document, &["peer", "peer_auth"])?;
    let terms = hip::terms(document, connection, 0)?;
    if let (Transport::Raw, Some(entry)) = (terms.transport, document.entry("transport")) {
        return Err(entry
            .key_spot
            .error("a load of HIP goes through UDP", "`\"udp\"`, which is the default"));
    }
    let card = (terms.exchange == Exchange::DietAka).then_some(&item.spot);
    let peer = hip::peer(connection, card, files)?;
    Ok(HipLoad { terms, peer })
}

/// Refuses a key that all devices would have: two hosts with one HIT are one host.
fn one_for_all(connection: &Item) -> Result<(), ScenarioError> {
    let Some(entry) = connection.elements().iter().find_map(|item| item.table().ok()?.entry("auth")) else {
        return Ok(());
    };
    let error = entry.key_spot.error("every device of a load has a Host Identity of its own", "one for all");
    Err(error.hint("leave `auth` out: keys are made, or read from the files in the column `key` of `csv`"))
}

/// What an identity lacks.
pub(super) fn lacks(load: &HipLoad, identities: &Identities, identity: &Identity) -> Option<&'static str> {
    if load.terms.exchange == Exchange::DietAka && identity.card.is_none() {
        return Some("`k` and `opc`");
    }
    (identities.have_keys() && identity.key.is_none()).then_some("a `key`, which others have")
}

/// What an identity has that HIP does not use.
pub(super) fn unused(load: &HipLoad, identity: &Identity) -> Option<&'static str> {
    let has_card = identity.card.is_some() && load.terms.exchange != Exchange::DietAka;
    let unused = [
        (identity.password.is_some(), "`password`"),
        (identity.psk.is_some(), "`psk`"),
        (identity.certificate.is_some(), "`certificate`"),
        (has_card, "`k` and `opc`"),
    ];
    unused.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
