//! The Host Identities of all rows of a plan: generated once, before any row runs.

use std::collections::BTreeMap;

use keytoll_crypto::{Provider, Real};
use keytoll_crypto_api::algorithm::{Group, KeyKind};
use keytoll_crypto_api::{Crypto, Seed};
use keytoll_hip::HostIdentity;
use keytoll_hip::identity::{self, DietVariant};
use keytoll_scenario::families::hip::{Dex, Exchange, P256Hash};
use keytoll_scenario::plan::{Plan, RowPlan};

use crate::credentials::{adopted, make_key};
use crate::provider;

/// What a pair of identities is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Keys that sign.
    Base(KeyKind, P256Hash),
    /// Keys that agree.
    Diet(Dex),
}

impl Kind {
    fn of(row: &RowPlan) -> Option<Self> {
        let options = &row.options.hip;
        Some(match row.method.own::<Exchange>()? {
            Exchange::Base => Self::Base(options.host_identity, options.p256_hash),
            Exchange::Diet | Exchange::DietAka => Self::Diet(options.dex),
        })
    }
}

/// The identities of a plan.
#[derive(Clone)]
pub(super) struct Identities {
    /// Of each kind the device's and the gateway's.
    made: BTreeMap<Kind, [HostIdentity; 2]>,
    /// How others are made.
    plan: Plan,
}

impl Identities {
    /// Generates what the rows of a plan need. RSA keys need a prime search each.
    pub(super) fn prepare(plan: &Plan) -> Self {
        let kinds = plan.rows.iter().filter_map(Kind::of);
        let mut made = BTreeMap::new();
        for kind in kinds {
            made.entry(kind).or_insert_with(|| ["ue", "gw"].map(|name| make(plan, kind, name)));
        }
        Self { made, plan: plan.clone() }
    }

    /// That of somebody else than the device and the gateway, by name.
    pub(super) fn named(&self, row: &RowPlan, name: &str) -> HostIdentity {
        make(&self.plan, Kind::of(row).expect("a row of HIP has a kind of identities"), name)
    }

    /// Those of a row.
    pub(super) fn of(&self, row: &RowPlan) -> [HostIdentity; 2] {
        let kind = Kind::of(row).and_then(|kind| self.made.get(&kind));
        kind.expect("prepared for the plan of this row").clone()
    }
}

/// An identity of the seed of a plan.
fn make(plan: &Plan, kind: Kind, name: &str) -> HostIdentity {
    let rng = &mut Seed::from(plan.seed).stream(&format!("hip/{name}"));
    match kind {
        // Keys that only pretend have HITs that are computed without a hash, too.
        Kind::Base(kind, hash) => {
            HostIdentity::signing(adopted(plan, make_key(plan)(kind, rng)), &mut provider(plan))
                .map(|identity| identity.with_p256_hash(of_p256(hash)))
        }
        Kind::Diet(dex) => {
            let (group, variant) = of_dex(dex);
            HostIdentity::agreeing(agreeing(plan).generate(group, rng), variant)
        }
    }
    .expect("HIP has a Host Identity for every kind of the catalogue")
}

/// The hash of signatures with keys of P-256.
pub(crate) const fn of_p256(hash: P256Hash) -> identity::P256Hash {
    match hash {
        P256Hash::Sha256 => identity::P256Hash::Sha256,
        P256Hash::Sha384 => identity::P256Hash::Sha384,
    }
}

/// The group of the static keys of a text of the diet exchange, and the text.
pub(super) const fn of_dex(dex: Dex) -> (Group, DietVariant) {
    match dex {
        Dex::Draft24 => (Group::X25519, DietVariant::Draft24),
        Dex::Prototype => (Group::Ecp256, DietVariant::Prototype),
    }
}

/// Who makes static keys: HITs are made of them, so they are real ones even where nothing is computed with them.
fn agreeing(plan: &Plan) -> Provider {
    if plan.crypto.computes() { provider(plan) } else { Provider::Real(Real::default()) }
}
