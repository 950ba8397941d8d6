//! Warnings about valid scenarios: rows with settings that nobody should deploy. `node/advice.rs` has those about nodes.

use std::collections::BTreeSet;

use keytoll_crypto_api::Seed;

use crate::plan::Plan;

impl Plan {
    /// One sentence each; empty for a study, which repeats a paper's settings and says so in its notes.
    pub fn advice(&self) -> Vec<String> {
        if self.study.is_some() {
            return Vec::new();
        }
        let all: BTreeSet<_> = self.rows.iter().filter_map(|row| (row.method.family.advice)(row)).collect();
        let seed = Seed::from(self.seed);
        let left_out = self.population.as_ref().and_then(|population| population.advice(&seed));
        all.into_iter().chain(left_out).chain(self.nobody_wrong()).chain(self.nobody_back()).collect()
    }

    /// A population in which no device is wrong although a share of them is meant to be. With a mix there is one, that of the first share.
    fn nobody_wrong(&self) -> Option<String> {
        let population = self.population.as_ref()?;
        let first = population.mix.first().map(|share| share.method);
        let mut rows = self.rows.iter().filter(|row| first.is_none_or(|method| row.method == method));
        rows.find_map(|row| population.nobody_wrong(row.method.name(), &self.seed_of(row)))
    }

    /// Why no device can be back from the loss of its gateway before the end, if so.
    pub fn nobody_back(&self) -> Option<String> {
        let asks_for = self.rows.iter().filter_map(|row| (row.method.family.asks_for)(row)).min()?;
        self.population.as_ref()?.nobody_back(asks_for)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Source};

    fn advice(sets: &[&str]) -> Vec<String> {
        let overrides = Overrides::parse(sets).unwrap();
        Source::builtin("quickstart").unwrap().plan(&overrides).unwrap().advice()
    }

    #[test]
    fn a_shared_key_before_a_password_is_named_once_per_method() {
        let open = "methods=ikev2-eap-md5,ikev2-eap-mschapv2,ikev2-eap-ttls-md5,ikev2-eap-aka,ikev2-psk";
        let open = open.replace("methods=", "methods=[\"").replace(',', "\",\"") + "\"]";
        let networks = "networks=[\"lte\", \"loopback\"]";
        let advice_with = |way: &str| advice(&[&open, networks, &format!("options.gateway_auth=\"{way}\"")]);
        let said = advice_with("psk");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("`ikev2-eap-md5`") && said[1].starts_with("`ikev2-eap-mschapv2`"));
        assert_eq!(advice_with("certificate"), [""; 0]);
    }

    #[test]
    fn builtin_scenarios_need_no_advice() {
        for builtin in crate::catalogue::scenarios::BUILTIN {
            let plan = crate::builtin(builtin.name).unwrap();
            assert_eq!(plan.advice(), [""; 0], "{}", builtin.name);
        }
    }
}
