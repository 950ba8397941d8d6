//! Knock, the example of a family: see `protocols/knock`.

use std::sync::LazyLock;

use keytoll_crypto_api::algorithm::Standing;
use keytoll_engine::trace::Node;

use super::{Family, Unfit};
use crate::catalogue::Method;
use crate::catalogue::facet::SHARED_KEY;

/// The family.
pub static FAMILY: Family = Family {
    name: "knock",
    is_example: true,
    methods: || &METHODS,
    settings: &[],
    check: |_, _, _, _| Ok(()),
    foreign_limits: &[],
    profile_suites: |_| &[],
    key_kind: |_, _| None,
    groups: |_, _| &[],
    advice: |_| None,
    asks_for: |_| None,
    cookies_from: |_| None,
    without: |_| &[],
    simulated_only: |_| None,
    populates: |_, _| Err(UNPOPULATED),
    occasions: &[],
    unmixed: None,
};

const UNPOPULATED: Unfit = Unfit {
    key: None,
    why: "its rig builds one device only",
    hint: "leave `[population]` out, or name another method",
};

/// What the family knows of a method besides what every family does: nothing.
#[derive(Debug)]
pub struct Knocks;

static METHODS: LazyLock<Vec<Method>> = LazyLock::new(|| {
    vec![Method {
        name: "knock-psk",
        summary: "an example for developers, no real protocol".to_owned(),
        source: "protocols/knock".to_owned(),
        family: &FAMILY,
        nodes: &[Node::Ue, Node::Gw],
        facets: vec![&SHARED_KEY],
        eap: None,
        key: None,
        suite: None,
        standing: Standing::Weak,
        own: &Knocks,
    }]
});
