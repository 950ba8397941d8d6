//! Options and suites of a row during resolution: parsing them, reducing them to those with an effect, and refusing
//! contradictions.

use keytoll_crypto_api::suite::Suite;

use super::{certificates, eap, nodes, traffic};
use crate::catalogue::suites::DEFAULT_ESP;
use crate::catalogue::{Method, facet};
use crate::diagnostic::ScenarioError;
use crate::families::{Options, setting, settings};
use crate::plan::Network;
use crate::resolve::makers;
use crate::tree::Item;

/// The option of the IKE SA's suites, for which a scenario also has `suites`.
pub(crate) const SUITE: &str = "suite";

/// Options and suites of a row during resolution.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) options: Options,
    /// `None`: the method's default.
    pub(crate) suites: Option<Vec<Suite>>,
    pub(crate) esp_suites: Vec<Suite>,
}

impl Default for Settings {
    fn default() -> Self {
        let esp = Suite::esp(DEFAULT_ESP).expect("a test parses the default suite");
        Self { options: Options::default(), suites: None, esp_suites: vec![esp] }
    }
}

impl Settings {
    /// Applies an `[options]` table.
    pub(crate) fn changed_by(mut self, item: Option<&Item>) -> Result<Self, ScenarioError> {
        let Some(item) = item else {
            return Ok(self);
        };
        let table = item.table()?;
        table.only("`options`", &keys())?;
        for entry in &table.entries {
            self.change(&entry.key, &entry.item)?;
        }
        Ok(self)
    }

    pub(crate) fn change(&mut self, key: &str, item: &Item) -> Result<(), ScenarioError> {
        setting(key).map_or(Ok(()), |setting| setting.field.read(self, item))
    }

    /// Resets everything without effect to the default, so that equal rows compare equal: first by the method, then by the other
    /// options.
    pub(crate) fn fitted_to(mut self, method: &Method) -> Self {
        let default = Self::default();
        for setting in settings() {
            if !setting.concerns(method) && setting.refused(&self.options, method).is_none() {
                setting.field.copy(&mut self, &default);
            }
        }
        for setting in settings() {
            if setting.unmet(&self.options, method).is_some() {
                setting.field.copy(&mut self, &default);
            }
        }
        self
    }

    /// The suites of the IKE SA, by default the usual ones; empty for a method without one.
    pub(crate) fn suites(&self, method: &Method) -> Vec<Suite> {
        let parse = |suite| Suite::ike(suite).expect("a test parses the suite of every method");
        let usual = || method.suite.map(parse).into_iter().collect();
        self.suites.clone().unwrap_or_else(usual)
    }

    /// The suites of child SAs; empty for a method without IPsec.
    pub(crate) fn esp_suites(&self, method: &Method) -> Vec<Suite> {
        if method.has(&facet::IPSEC) { self.esp_suites.clone() } else { Vec::new() }
    }

    /// Refuses contradictions.
    pub(crate) fn check(
        &self,
        method: &'static Method,
        blame: &Item,
        (network_item, network): (&Item, &Network),
    ) -> Result<(), ScenarioError> {
        nodes::check_fault(self, method, blame)?;
        nodes::check_mtu(self, (network_item, network))?;
        self.options.ipsec.limits.check(|key| Some(value_of(blame, key)))?;
        eap::check(self, method, blame)?;
        (method.family.check)(self, method, blame, (network_item, network))?;
        self.check_refused(method, blame)?;
        certificates::check(self, method, blame)?;
        traffic::check(&self.options, blame, (network_item, network))?;
        makers::check(&self.options, method, blame)
    }

    /// Refuses values that the method cannot have.
    fn check_refused(&self, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
        let refused = |setting: &super::Setting| Some((setting.key, setting.refused(&self.options, method)?));
        let Some((key, why)) = settings().find_map(refused) else { return Ok(()) };
        let label = format!("`{key}` with `{}`", method.name());
        Err(value_of(blame, key).spot.error(why.message, label).hint(why.hint))
    }

    /// The differences from the default, and the swept options: `chain=4,4 suite=…`.
    pub(crate) fn variant(&self, swept: &[&str]) -> String {
        let default = Self::default();
        let named = settings().filter(|setting| {
            swept.contains(&setting.key) || setting.field.print(self) != setting.field.print(&default)
        });
        let words = named.map(|setting| format!("{}={}", setting.key, plain(setting.field.print(self))));
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Options {
    /// Resets everything without effect on the method or beside the other options to the default, so that equal rows compare equal.
    #[must_use]
    pub fn fitted_to(self, method: &Method) -> Self {
        Settings { options: self, ..Settings::default() }.fitted_to(method).options
    }
}

/// The value of a key if the item is a table that has it, otherwise the item itself.
pub(crate) fn value_of<'a>(item: &'a Item, key: &str) -> &'a Item {
    item.table().ok().and_then(|table| table.get(key)).unwrap_or(item)
}

/// A TOML value without punctuation: `["a", "b"]` is `a,b`.
fn plain(mut toml: String) -> String {
    toml.retain(|c| !"[]\" ".contains(c));
    toml
}

/// The names of every key.
pub(crate) fn keys() -> Vec<&'static str> {
    settings().map(|setting| setting.key).collect()
}
