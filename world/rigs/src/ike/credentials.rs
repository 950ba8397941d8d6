//! Keys and certificates of IKE, and those of TLS inside EAP, for all rows of a plan.

use std::sync::Arc;

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::credentials::Credential;
use keytoll_ike::config::{Believe, Prove};
use keytoll_scenario::families::ike::GatewayAuth;
use keytoll_scenario::plan::{Chain, Plan, RowPlan};

use crate::credentials::{self, Certificates, Purpose, Set};
use crate::fault;

/// The keys and certificates of a plan.
#[derive(Clone)]
pub struct Credentials(credentials::Credentials);

impl Credentials {
    /// Generates what the rows of a plan need. RSA keys need a prime search each.
    pub fn prepare(plan: &Plan) -> Self {
        Self(credentials::Credentials::prepare(plan, ike_set))
    }

    /// The certificates of IKE.
    pub fn of(&self, row: &RowPlan) -> Option<&Certificates> {
        self.0.of(&ike_set(row)?)
    }

    /// The certificates of TLS inside EAP.
    pub fn tls(&self, row: &RowPlan) -> Option<&Certificates> {
        self.0.tls(row)
    }

    /// The credentials that all rigs with EAP share.
    pub(super) const fn shared(&self) -> &credentials::Credentials {
        &self.0
    }

    /// The device's authentication, and the one it requires.
    pub(crate) fn of_device(&self, row: &RowPlan, psk: &Secret) -> (Prove, Believe) {
        let (prove, believe) = match self.of(row) {
            None => (Prove::Psk(psk.clone()), Believe::psk(psk.clone())),
            Some(set) if row.options.ike.raw_keys => raw_keys(&set.ue, &set.gw),
            Some(set) => {
                (Prove::Certificate(set.ue.clone()), Believe::Certificate(Arc::clone(&set.ue_trusts)))
            }
        };
        match (row.method.eap(), row.options.ike.gateway_auth) {
            (None, _) => (prove, believe),
            (Some(_), GatewayAuth::Certificate | GatewayAuth::Psk) => (Prove::Eap, believe),
            (Some(_), GatewayAuth::EapOnly) => (Prove::Eap, Believe::Eap),
        }
    }

    /// The gateway's authentication, and the one it requires.
    pub(crate) fn of_gateway(&self, row: &RowPlan, psk: &Secret) -> (Prove, Believe) {
        let (prove, believe) = match self.of(row) {
            None => (Prove::Psk(psk.clone()), Believe::psk(psk.clone())),
            Some(set) if row.options.ike.raw_keys => raw_keys(&set.gw, &set.ue),
            Some(set) => {
                (Prove::Certificate(set.gw.clone()), Believe::Certificate(Arc::clone(&set.gw_trusts)))
            }
        };
        match (row.method.eap(), row.options.ike.gateway_auth) {
            (None, _) => (prove, believe),
            (Some(_), GatewayAuth::Certificate | GatewayAuth::Psk) => (prove, Believe::Eap),
            (Some(_), GatewayAuth::EapOnly) => (Prove::Eap, Believe::Eap),
        }
    }
}

/// Raw public keys, known to the peer: the certificates are left out.
fn raw_keys(own: &Credential, peer: &Credential) -> (Prove, Believe) {
    (Prove::RawKey(own.key.clone()), Believe::RawKey(Arc::clone(&peer.key.spki)))
}

/// The certificates or keys that a row needs in IKE. With EAP only the gateway has one, under a root of its own.
fn ike_set(row: &RowPlan) -> Option<Set> {
    let Chain { initiator, responder } = row.options.certificates.chain;
    let kind = row.options.key_kind(row.method).filter(|_| row.options.has_ike_signatures(row.method))?;
    // If TLS has certificates, too, the fault is in those.
    let fault = fault::of_certificate(row).filter(|_| !row.method.has_tls());
    let (initiator, responder) = if row.method.eap().is_none() { (initiator, responder) } else { (2, 2) };
    Some(Set {
        purpose: Purpose::Ike,
        kind,
        initiator,
        responder,
        crls: row.options.certificates.crls,
        fault,
    })
}
