//! The authentication methods: what an entry says of one. The entries stand in the files of their families.

use std::any::Any;
use std::fmt;

use keytoll_crypto_api::algorithm::{KeyKind, Standing};
use keytoll_engine::trace::Node;

use super::facet::{self, Facet};
use super::{EapMethod, Entry};
use crate::families::{FAMILIES, Family};

/// How device and network authenticate each other: an entry of the catalogue.
pub struct Method {
    /// The name used in scenarios, files and on the screen.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: String,
    /// The documents that specify it.
    pub source: String,
    /// The family of protocols that it belongs to.
    pub family: &'static Family,
    /// The nodes that take part in it.
    pub nodes: &'static [Node],
    /// What it has that options and faults are about.
    pub facets: Vec<&'static Facet>,
    /// The EAP method, if there is one.
    pub eap: Option<&'static EapMethod>,
    /// The kind of the keys that sign, unless the options say another; none without signatures.
    pub key: Option<KeyKind>,
    /// The suite of the IKE SA that it sets up, unless the scenario says otherwise; none of a family without IKE SAs.
    pub suite: Option<&'static str>,
    /// How much trust the exchange itself deserves, whatever the algorithms.
    pub standing: Standing,
    /// What only its family understands: see [`Method::own`].
    pub own: &'static (dyn Any + Send + Sync),
}

impl Method {
    /// Every method, in the order of the catalogue. Those of example families are not among them.
    pub fn all() -> impl Iterator<Item = &'static Self> + Clone {
        FAMILIES.iter().filter(|family| !family.is_example).flat_map(|family| (family.methods)())
    }

    /// Every method that a scenario can name, those of example families at the end.
    pub fn with_examples() -> impl Iterator<Item = &'static Self> + Clone {
        let examples = FAMILIES.iter().filter(|family| family.is_example);
        Self::all().chain(examples.flat_map(|family| (family.methods)()))
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::with_examples().find(|method| method.name == name)
    }

    /// The name used in scenarios, files and on the screen.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it has a facet.
    pub fn has(&self, facet: &Facet) -> bool {
        self.facets.contains(&facet)
    }

    /// What its family says of it, if that is what the family says of its methods: a rig asks for the type of its family.
    pub fn own<T: 'static>(&self) -> Option<&'static T> {
        self.own.downcast_ref()
    }

    /// The EAP method, if there is one.
    pub const fn eap(&self) -> Option<&'static EapMethod> {
        self.eap
    }

    /// The kind of the keys that sign, unless the options say another; none without signatures.
    pub const fn key_kind(&self) -> Option<KeyKind> {
        self.key
    }

    /// Whether device and gateway share a key and nothing else.
    pub fn is_psk(&self) -> bool {
        self.has(&facet::SHARED_KEY)
    }

    /// Whether chains of certificates are shown, in the exchange itself or in TLS.
    pub fn has_chain(&self) -> bool {
        self.has(&facet::CERTIFICATES)
    }

    /// Whether TLS runs inside EAP.
    pub fn has_tls(&self) -> bool {
        self.has(&facet::TLS)
    }

    /// Whether the device proves itself with a SIM or USIM, so that the HSS is asked for vectors.
    pub fn has_card(&self) -> bool {
        self.has(&facet::CARD)
    }

    /// How the list shows it.
    pub(super) fn entry(&self) -> Entry {
        let standing = self.key.map_or(self.standing, |kind| kind.standing().max(self.standing));
        Entry {
            name: self.name.to_owned(),
            summary: self.summary.clone(),
            source: self.source.clone(),
            standing: standing.mark(),
        }
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Names are unique.
impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Method {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::suites::standing;
    use keytoll_crypto_api::suite::Suite;

    #[test]
    fn every_method_has_a_name_of_its_own_and_a_suite_that_can_be_read() {
        let mut names: Vec<_> = Method::with_examples().map(Method::name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for method in Method::with_examples() {
            let Some(suite) = method.suite else { continue };
            let suite = Suite::ike(suite).unwrap_or_else(|error| panic!("{method:?}: {error}"));
            assert_eq!(standing(&suite), Standing::Good, "{method:?}");
        }
    }

    #[test]
    fn what_a_method_has_agrees_with_its_facets() {
        for method in Method::with_examples() {
            assert_eq!(method.eap.is_some(), method.has(&facet::EAP), "{method:?}");
            assert_eq!(method.key.is_some(), method.has(&facet::SIGNATURES), "{method:?}");
            assert_eq!(method.nodes.contains(&Node::Aaa), method.has(&facet::EAP), "{method:?}");
            assert_eq!(method.nodes.contains(&Node::Hss), method.has(&facet::CARD), "{method:?}");
            assert!((method.family.methods)().contains(method), "{method:?}");
        }
    }
}
