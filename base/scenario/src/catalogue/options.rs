//! The keys of `[options]`, which `[sweep]` and `--set options.KEY=VALUE` take, too: what each may be, what it is without being
//! named, and for which methods it makes a difference.

use super::{EapKind, Method};
use crate::resolve::ikev1;
use crate::resolve::settings::{SETTINGS, Setting, Settings, tells};

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionEntry {
    /// The name scenarios use.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// What it may be: words as they are written, ranges with ` to `, and forms in capitals.
    pub values: &'static [&'static str],
    /// What it is without being named, without the punctuation of TOML.
    pub default: String,
    /// The methods that it makes a difference to.
    pub methods: Vec<&'static str>,
    /// The same in words.
    pub effect: String,
}

/// Every key, in the order of a printed scenario.
pub fn all() -> Vec<OptionEntry> {
    SETTINGS.iter().map(entry).collect()
}

fn entry(setting: &Setting) -> OptionEntry {
    let concerned = |method: &Method| concerns(setting.key, *method);
    let methods: Vec<Method> = Method::ALL.into_iter().filter(concerned).collect();
    OptionEntry {
        name: setting.key,
        summary: setting.about,
        values: setting.values,
        default: (setting.print)(&Settings::default()).replace('"', ""),
        effect: in_words(&methods),
        methods: methods.into_iter().map(Method::name).collect(),
    }
}

/// IKEv1 does without what only IKEv2 has.
fn concerns(key: &str, method: Method) -> bool {
    tells(key, method) && (method.phase1().is_none() || !ikev1::REFUSED.contains(&key))
}

/// Groups of methods that options are for.
type Group = (&'static str, fn(Method) -> bool);

const GROUPS: &[Group] = &[
    ("all methods", |_| true),
    ("IKEv2", |method| method.phase1().is_none()),
    ("IKEv1", |method| method.phase1().is_some()),
    ("IKEv1 with RSA", |method| matches!(method, Method::Ikev1Rsa(_))),
    ("methods with signatures", |method| method.key_kind().is_some()),
    ("IKEv2 with signatures", |method| method.phase1().is_none() && method.key_kind().is_some()),
    ("methods with certificates", Method::has_chain),
    ("methods with EAP", |method| method.eap().is_some()),
    ("methods with TLS", Method::has_tls),
    ("methods with a card", Method::has_card),
    ("EAP-SIM", |method| method.eap() == Some(EapKind::Sim)),
];

/// The name of the group that these methods are, or their names.
fn in_words(methods: &[Method]) -> String {
    let is_group = |(_, is_in): &&Group| {
        Method::ALL.into_iter().filter(|method| is_in(*method)).eq(methods.iter().copied())
    };
    let group = GROUPS.iter().find(is_group).map(|(name, _)| (*name).to_owned());
    group.unwrap_or_else(|| methods.iter().map(|method| method.name()).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diagnostic::Text;
    use crate::quantity::{self, Kind};
    use crate::{Overrides, ScenarioError, Source, tree};

    /// Whether, and why not, an option takes a value, judged by the parser of scenarios alone.
    fn set(key: &str, value: &str) -> Result<(), ScenarioError> {
        let overrides = Overrides::parse(&[format!("options.{key}={value}")])?;
        let mut table = tree::document(&Arc::new(Text::new("test", "")))?;
        overrides.apply(&mut table)?;
        Settings::default().changed_by(table.get("options")).map(drop)
    }

    fn takes(key: &str, value: &str) {
        assert!(set(key, value).is_ok(), "{key}={value}: {:?}", set(key, value));
    }

    /// The values just below and above a bound, in the notation of the bound.
    fn neighbours(bound: &str) -> [Option<String>; 2] {
        if let Ok(number) = bound.parse::<u64>() {
            return [number.checked_sub(1), number.checked_add(1)].map(|one| one.map(|one| one.to_string()));
        }
        if let Ok(number) = bound.parse::<f64>() {
            return [number - 0.01, number + 0.01].map(|one| Some(one.to_string()));
        }
        let kinds = [Kind::Duration, Kind::Rate, Kind::Size];
        let read =
            kinds.into_iter().find_map(|kind| quantity::read(kind, bound).ok().map(|value| (kind, value)));
        let (kind, value) = read.expect("a bound is a number or a quantity");
        [value.checked_sub(1), value.checked_add(1)].map(|one| one.map(|one| quantity::print(kind, one)))
    }

    fn bounds_hold(key: &str, low: &str, high: &str) {
        takes(key, low);
        takes(key, high);
        let [below, _] = neighbours(low);
        let [_, above] = neighbours(high);
        for beyond in [below, above].into_iter().flatten() {
            assert!(set(key, &beyond).is_err(), "{key} takes {beyond}");
        }
    }

    #[test]
    fn every_option_that_a_scenario_may_have_is_listed() {
        let refused = set("nonsense", "1").unwrap_err();
        let allowed = refused.advice().unwrap_or_default().to_owned();
        let listed = all().iter().map(|one| format!("`{}`", one.name)).collect::<Vec<_>>().join(", ");
        assert!(allowed.ends_with(&listed), "{allowed}");
    }

    #[test]
    fn the_parser_takes_what_is_listed_and_nothing_beyond_the_bounds() {
        for OptionEntry { name, values, .. } in all() {
            for value in values {
                match value.split_once(" to ") {
                    Some((low, high)) => bounds_hold(name, low, high),
                    None if value.chars().any(|c| c.is_ascii_uppercase()) => {}
                    None => takes(name, value),
                }
            }
        }
    }

    #[test]
    fn where_the_parser_names_what_it_allows_all_of_it_is_listed() {
        let mut named = 0;
        for OptionEntry { name, values, .. } in
            all().into_iter().filter(|one| !["fault", "signatures"].contains(&one.name))
        {
            let refused = set(name, "!").unwrap_err();
            let Some(allowed) = refused.advice().and_then(|advice| advice.strip_prefix("allowed: ")) else {
                continue;
            };
            let mut allowed: Vec<_> = allowed.split(", ").map(|word| word.trim_matches('`')).collect();
            let mut listed = values.to_vec();
            allowed.sort_unstable();
            listed.sort_unstable();
            assert_eq!((name, listed), (name, allowed));
            named += 1;
        }
        assert!(named >= 8, "{named} options name what they allow");
    }

    #[test]
    fn ikev1_refuses_what_is_listed_as_of_ikev2() {
        let others = ["true", "always", "1000 B", "true", "1 s"];
        for (key, other) in ikev1::REFUSED.into_iter().zip(others) {
            let changed = format!("options.{key}={other}");
            let changes = ["methods=ikev1-main-psk", "options.mode=tunnel", changed.as_str()];
            let overrides = Overrides::parse(&changes).unwrap();
            let refused = Source::builtin("quickstart").unwrap().plan(&overrides).unwrap_err();
            assert!(
                format!("{refused:?}").contains(&format!("`{key}` with `ikev1-main-psk`")),
                "{key}: {refused}"
            );
        }
    }

    #[test]
    fn the_methods_of_an_option_have_a_name() {
        for one in all() {
            assert!(GROUPS.iter().any(|(name, _)| *name == one.effect), "{}: {}", one.name, one.effect);
        }
    }
}
