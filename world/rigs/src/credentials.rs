//! Keys and certificates of a plan: generated once, before any row runs, and shared by all rows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use keytoll_crypto::{Null, Provider, Real, keys};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{AlternativeName, Credential, Trust};
use keytoll_crypto_api::{Rng, Seed, SigningKey};
use keytoll_pki::{Anchors, Authority, Request, RevocationList, Validity};
use keytoll_scenario::catalogue::Fault;
use keytoll_scenario::plan::{Chain, CryptoMode, Plan, RowPlan};

use crate::fault;

/// The identity of the device.
pub const UE_ID: &str = "ue@lab";
/// The identity of the gateway.
pub const GW_ID: &str = "gw.lab";
/// The identity of the AAA server.
pub const AAA_ID: &str = "aaa.lab";

/// 2026-01-01 to 2036-01-01.
const VALIDITY: Validity = Validity { from_unix_seconds: 1_767_225_600, until_unix_seconds: 2_082_758_400 };
/// The fixed date of certificate checks, 2026-06-01, so that certificates of one seed are always judged alike.
const TODAY_UNIX_SECONDS: u64 = 1_780_272_000;

/// The certificates of every row of a plan.
#[derive(Clone)]
pub(crate) struct Credentials {
    sets: Arc<BTreeMap<Set, Certificates>>,
}

/// The parameters of certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Set {
    pub(crate) purpose: Purpose,
    pub(crate) kind: KeyKind,
    /// Lengths of the chains: the device's, and the server's.
    pub(crate) initiator: u8,
    pub(crate) responder: u8,
    /// Whether both sides have the revocation lists of their issuers and check them.
    pub(crate) crls: bool,
    /// The fault of the server's certificate.
    pub(crate) fault: Option<Fault>,
}

/// The use of the certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// Device and gateway, in IKE.
    Ike,
    /// Device and AAA server, in TLS.
    Tls,
}

/// The certificates and trust anchors of both sides.
pub struct Certificates {
    /// The device's.
    pub ue: Credential,
    /// The gateway's, or in TLS the AAA server's.
    pub gw: Credential,
    pub(crate) ue_trusts: Arc<dyn Trust>,
    pub(crate) gw_trusts: Arc<dyn Trust>,
    /// The trust anchor of the device's certificate, as DER for foreign daemons.
    pub ue_anchor: Vec<u8>,
    /// The trust anchor of the server's certificate.
    pub gw_anchor: Vec<u8>,
    /// Issues certificates of single devices of a population.
    issuing: Mutex<Issuing>,
}

/// Issues certificates.
struct Issuing {
    authority: Authority,
    crypto: Provider,
    kind: KeyKind,
    chain_length: usize,
}

impl Certificates {
    /// The certificate of a device of a population, with an identity of its own. All devices have one key, for generating keys would
    /// take longer than everything else. A wrong one signs itself.
    pub(crate) fn of_device(&self, identity: &str, is_wrong: bool) -> Credential {
        let Issuing { authority, crypto, kind, chain_length } =
            &mut *self.issuing.lock().unwrap_or_else(PoisonError::into_inner);
        let alternatives = [AlternativeName::Email(identity.to_owned())];
        let chain_length = if is_wrong { 1 } else { *chain_length };
        let request = Request { name: identity, alternatives: &alternatives, kind: *kind, chain_length };
        authority.issue(&request, &mut |_, _| self.ue.key.clone(), crypto)
    }
}

impl Credentials {
    /// Generates the keys and certificates that the rows of a plan need in TLS, and those that `own` returns for a row.
    pub(crate) fn prepare(plan: &Plan, own: fn(&RowPlan) -> Option<Set>) -> Self {
        let mut sets = BTreeMap::new();
        for key in plan.rows.iter().flat_map(|row| [own(row), tls_set(row)]).flatten() {
            sets.entry(key).or_insert_with(|| Certificates::make(plan, key));
        }
        Self { sets: Arc::new(sets) }
    }

    /// The certificates of a set.
    pub(crate) fn of(&self, set: &Set) -> Option<&Certificates> {
        self.sets.get(set)
    }

    /// The certificates of TLS inside EAP.
    pub(crate) fn tls(&self, row: &RowPlan) -> Option<&Certificates> {
        self.sets.get(&tls_set(row)?)
    }
}

/// The certificates a row needs in TLS.
fn tls_set(row: &RowPlan) -> Option<Set> {
    let Chain { initiator, responder } = row.options.certificates.chain;
    let (kind, crls, fault) =
        (row.options.tls.key, row.options.certificates.crls, fault::of_certificate(row));
    let set = || Set { purpose: Purpose::Tls, kind, initiator, responder, crls, fault };
    row.method.has_tls().then(set)
}

impl Certificates {
    fn make(plan: &Plan, set: Set) -> Self {
        let Set { purpose, kind, initiator, responder, fault, .. } = set;
        let mut crypto = issuing_provider(plan);
        let mut make_key = make_key(plan);
        let seed = Seed::from(plan.seed);
        let mut authority = Authority::new(kind, VALIDITY, &seed, &mut make_key, &mut crypto);
        let mut past = fault::past_validity(fault)
            .map(|validity| Authority::new(kind, validity, &seed, &mut make_key, &mut crypto));
        let mut issue = |authority: &mut Authority, name, alternative, length| {
            let alternatives = [alternative];
            let request =
                Request { name, alternatives: &alternatives, kind, chain_length: usize::from(length) };
            let credential = authority.issue(&request, &mut make_key, &mut crypto);
            let anchor = authority.anchor_for(&credential);
            let credential = Credential { key: adopted(plan, credential.key), ..credential };
            let anchors = Anchors::new([&anchor[..]], TODAY_UNIX_SECONDS, &mut crypto);
            (credential, Arc::new(anchors.expect("the authority's own certificate parses")), anchor)
        };
        let (server, server_id) = match purpose {
            Purpose::Ike => ("gw", GW_ID),
            Purpose::Tls => ("aaa", AAA_ID),
        };
        let server_id = AlternativeName::Dns(fault::name_in_certificate(fault, server_id));
        let device_id = AlternativeName::Email(UE_ID.to_owned());
        let (ue, gw_trusts, ue_anchor) = issue(&mut authority, "ue", device_id.clone(), initiator);
        let (gw, mut ue_trusts, gw_anchor) =
            issue(past.as_mut().unwrap_or(&mut authority), server, server_id, responder);
        if fault == Some(Fault::UnknownCa) {
            // A self-signed certificate is an authority of its own, with another name.
            (_, ue_trusts, _) = issue(&mut authority, "another authority", device_id, 1);
        }
        let mut lists = |authority: &Authority, revoked: Option<&Credential>| {
            revocation_lists(authority, revoked, &mut crypto)
        };
        let revoked = (fault == Some(Fault::RevokedCertificate)).then_some(&gw);
        if set.crls || revoked.is_some() {
            ue_trusts.renew_lists(lists(past.as_ref().unwrap_or(&authority), revoked));
        }
        if set.crls {
            gw_trusts.renew_lists(lists(&authority, None));
        }
        let issuing = Issuing { authority, crypto, kind, chain_length: initiator.into() };
        Self { ue, gw, ue_trusts, gw_trusts, ue_anchor, gw_anchor, issuing: Mutex::new(issuing) }
    }
}

/// The revocation lists of all issuers, valid as long as their certificates.
fn revocation_lists(
    authority: &Authority,
    revoked: Option<&Credential>,
    crypto: &mut Provider,
) -> Vec<RevocationList> {
    let revoked: Vec<&[u8]> = revoked.iter().map(|credential| &credential.chain[0][..]).collect();
    let lists = authority.revocation_lists(&revoked, VALIDITY, crypto);
    lists.iter().map(|der| RevocationList::read(der).expect("the authority's own list parses")).collect()
}

/// Certificates are issued by AWS-LC even if OpenSSL is measured: the keys are generated with it.
fn issuing_provider(plan: &Plan) -> Provider {
    match plan.crypto {
        CryptoMode::Null | CryptoMode::Table => Provider::Null(Null),
        CryptoMode::Real | CryptoMode::OpenSsl => Provider::Real(Real::default()),
    }
}

/// A key in the library that will sign.
#[cfg(feature = "ossl")]
pub(crate) fn adopted(plan: &Plan, key: SigningKey) -> SigningKey {
    match plan.crypto {
        CryptoMode::OpenSsl => {
            keytoll_crypto::Ossl::adopt(&key).expect("both libraries know every kind of key")
        }
        CryptoMode::Real | CryptoMode::Null | CryptoMode::Table => key,
    }
}

/// The unchanged key: there is only one library.
#[cfg(not(feature = "ossl"))]
pub(crate) fn adopted(_plan: &Plan, key: SigningKey) -> SigningKey {
    key
}

/// What makes a signing key for the provider of a plan.
pub(crate) fn make_key(plan: &Plan) -> fn(KeyKind, &mut Rng) -> SigningKey {
    if plan.crypto.computes() { keys::generate } else { keys::generate_null }
}
