//! The family of the Host Identity Protocol: its methods, each an entry. Read RFC 7401 §4.1 and draft-ietf-hip-dex-24 §1.1
//! first.

mod check;
mod options;

use std::sync::LazyLock;

use keytoll_crypto_api::algorithm::{KeyKind, Standing};
use keytoll_engine::trace::Node;

use super::{Family, REKEYS_CHILD, Unfit};
use crate::catalogue::Method;
use crate::catalogue::facet::{CARD, Facet, IPSEC, USIM};
use crate::plan::RowPlan;
use crate::population::Population;
pub use check::ESP_SUITES;
pub(crate) use check::check_suites;
pub use options::{Aka, Cipher, Dex, GROUPS, Options, P256Hash, Retransmission};

/// HIP version 2.
pub static FAMILY: Family = Family {
    name: "hip",
    is_example: false,
    methods: || &METHODS,
    settings: options::SETTINGS,
    check: |settings, _, blame, _| check::check(settings, blame),
    foreign_limits: &[],
    profile_suites: |_| &[],
    key_kind: |options, method| method.has(&HIP_BASE).then_some(options.hip.host_identity),
    groups: |options, method| if method.has(&HIP_BASE) { &options.hip.groups } else { &[] },
    advice: |_| None,
    asks_for: |_| None,
    cookies_from: |_| None,
    without: |_| &[],
    simulated_only: |row| row.options.hip.move_after.map(|_| options::MOVE_AFTER),
    populates,
    occasions: &[REKEYS_CHILD],
    unmixed: Some("a gateway of HIP has one exchange for everybody"),
};

/// RSA keys need a prime search each.
fn populates(row: &RowPlan, _: &Population) -> Result<(), Unfit> {
    let key_kind = (row.method.family.key_kind)(&row.options, row.method);
    match key_kind {
        Some(KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096) => Err(Unfit {
            key: Some("host_identity"),
            why: "every device has a Host Identity of its own, and RSA keys take long to make, unlike those of `host_identity = \"ed25519\"`",
            hint: "`host_identity = \"ed25519\"` in `[options]`",
        }),
        _ => Ok(()),
    }
}

/// What HIP knows of a method besides what every family does: the exchange that sets up its associations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// The base exchange of RFC 7401.
    Base,
    /// The diet exchange.
    Diet,
    /// The diet exchange in which a subscription is proved, too.
    DietAka,
}

/// Every method of HIP.
static HIP: Facet = Facet { whom: "HIP", noun: "HIP" };
static HIP_BASE: Facet = Facet { whom: "HIP's base exchange", noun: "HIP's base exchange" };
static HIP_DIET: Facet = Facet { whom: "HIP's diet exchanges", noun: "HIP's diet exchange" };
static HIP_AKA: Facet = Facet { whom: "HIP's diet exchange with AKA", noun: "HIP's diet exchange with AKA" };

static METHODS: LazyLock<Vec<Method>> = LazyLock::new(|| {
    vec![
        Method {
            name: "hip-bex",
            summary: "HIP base exchange, signatures of host identities, RSA 2048 bits unless `host_identity`"
                .to_owned(),
            source: "RFC 7401, RFC 7402".to_owned(),
            facets: vec![&HIP, &IPSEC, &HIP_BASE],
            own: &Exchange::Base,
            ..diet()
        },
        diet(),
        Method {
            name: "hip-dex-aka",
            summary: "HIP diet exchange with EPS AKA, a reconstruction: no text of it is published"
                .to_owned(),
            source: "Faigl 2012 (`keytoll list papers`), TS 33.401 §6.1".to_owned(),
            nodes: &[Node::Ue, Node::Gw, Node::Hss],
            facets: vec![&HIP, &IPSEC, &HIP_DIET, &HIP_AKA, &CARD, &USIM],
            own: &Exchange::DietAka,
            ..diet()
        },
    ]
});

fn diet() -> Method {
    Method {
        name: "hip-dex",
        summary: "HIP diet exchange, static Diffie-Hellman keys and no forward secrecy".to_owned(),
        source: "draft-ietf-hip-dex-24, RFC 7402".to_owned(),
        family: &FAMILY,
        nodes: &[Node::Ue, Node::Gw],
        facets: vec![&HIP, &IPSEC, &HIP_DIET],
        eap: None,
        key: None,
        suite: None,
        standing: Standing::Good,
        own: &Exchange::Diet,
    }
}
