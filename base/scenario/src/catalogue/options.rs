//! What `--set` can set: the keys of a scenario, those of `[options]`, which `[sweep]` takes, too, and those of `[population]`. What each may be, what it
//! is without being named, and for which methods it makes a difference.

use super::keys::{KEYS, Key};
use super::{Method, facet};
use crate::families::settings;
use crate::options::Setting;
use crate::options::settings::Settings;
use crate::resolve::population;

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionEntry {
    /// The name scenarios use.
    pub name: &'static str,
    /// How `--set` calls it.
    pub path: String,
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

/// Every key outside `[options]`, then every one inside, then those of `[population]`.
pub fn all() -> Vec<OptionEntry> {
    KEYS.iter().map(of_scenario).chain(inside()).chain(population::KEYS.iter().map(of_population)).collect()
}

/// Every key of `[options]`.
fn inside() -> impl Iterator<Item = OptionEntry> {
    settings().map(entry)
}

fn of_scenario(key: &Key) -> OptionEntry {
    OptionEntry {
        name: key.name,
        path: key.name.to_owned(),
        summary: key.about,
        values: key.values,
        default: key.default.to_owned(),
        methods: Method::all().map(Method::name).collect(),
        effect: "the whole scenario".to_owned(),
    }
}

fn of_population(key: &Key) -> OptionEntry {
    let path = format!("{}.{}", population::POPULATION, key.name);
    OptionEntry { path, effect: "a population".to_owned(), ..of_scenario(key) }
}

pub(crate) fn entry(setting: &Setting) -> OptionEntry {
    let methods: Vec<_> = Method::all().filter(|method| setting.concerns(method)).collect();
    OptionEntry {
        name: setting.key,
        path: format!("options.{}", setting.key),
        summary: setting.about,
        values: setting.values,
        default: setting.field.print(&Settings::default()).replace('"', ""),
        effect: facet::whom(&methods),
        methods: methods.into_iter().map(Method::name).collect(),
    }
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
        let kinds = [Kind::Duration, Kind::Rate, Kind::Size, Kind::Probability];
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

    /// Whether it is a form of a distribution of times.
    fn is_spread(value: &str) -> bool {
        value.contains("TIME")
    }

    /// One of a form.
    fn spread(form: &str) -> String {
        form.replacen("TIME", "1 ms", 1).replace("TIME", "65 ms")
    }

    #[test]
    fn every_option_that_a_scenario_may_have_is_listed() {
        let refused = set("nonsense", "1").unwrap_err();
        let allowed = refused.advice().unwrap_or_default().to_owned();
        let listed = inside().map(|one| format!("`{}`", one.name)).collect::<Vec<_>>().join(", ");
        assert!(allowed.ends_with(&listed), "{allowed}");
    }

    #[test]
    fn the_parser_takes_what_is_listed_and_nothing_beyond_the_bounds() {
        for OptionEntry { name, values, .. } in inside() {
            for value in values {
                match value.split_once(" to ") {
                    Some(_) if is_spread(value) => takes(name, &spread(value)),
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
            inside().filter(|one| !["fault", "signatures"].contains(&one.name))
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
        let refused = [
            ("childless", "true"),
            ("fragmentation", "1000 B"),
            ("cookies", "always"),
            ("rekey_ike", "1 s"),
            ("virtual_address", "true"),
        ];
        assert!(
            settings().filter(|one| one.exception.is_some()).map(|one| one.key).eq(refused.map(|one| one.0))
        );
        for (key, other) in refused {
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
        for one in inside() {
            assert!(!one.effect.contains(one.methods[0]), "{}: {}", one.name, one.effect);
        }
    }

    /// What a scenario of one method says to a key, in the file and on the command line.
    fn said(method: &Method, key: &str, value: &str) -> [Result<(), ScenarioError>; 2] {
        let quoted = if value.starts_with('[') { value.to_owned() } else { format!("{value:?}") };
        let bare = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
        let head = format!("methods = {:?}\nnetworks = \"wifi-11g\"\n", method.name());
        let written = if bare { value } else { &quoted };
        let none = Overrides::default();
        let in_file = Source::text("one", &format!("{head}[options]\n{key} = {written}\n")).plan(&none);
        let set = Overrides::parse(&[format!("options.{key}={value}")]);
        let by_set = set.and_then(|set| Source::text("one", &head).plan(&set));
        [in_file, by_set].map(|plan| plan.map(drop))
    }

    /// Values to try: words as they are, and both ends of ranges; of forms one.
    fn values(OptionEntry { name, values, .. }: &OptionEntry) -> Vec<String> {
        let of_form = |form: &str| match (*name, form) {
            ("suite", _) => "aes128-sha256-modp2048",
            ("esp_suite", _) => "aes128-sha256",
            ("signatures", _) => "rsa-pss-sha256",
            ("fault", _) => "wrong-psk",
            ("chain", _) => "[1, 2]",
            _ => panic!("no value for {name}: {form}"),
        };
        let each = values.iter().flat_map(|value| match value.split_once(" to ") {
            _ if is_spread(value) => vec![spread(value)],
            Some((low, high)) => vec![low.to_owned(), high.to_owned()],
            None if value.chars().any(|c| c.is_ascii_uppercase()) => vec![of_form(value).to_owned()],
            None => vec![(*value).to_owned()],
        });
        each.collect()
    }

    #[test]
    fn what_makes_no_difference_to_a_method_is_refused_in_files_and_on_the_command_line() {
        let mut refused = 0;
        for method in Method::all() {
            for option in inside().filter(|option| !option.methods.contains(&method.name())) {
                for value in values(&option) {
                    for said in said(method, option.name, &value) {
                        let said =
                            said.expect_err(&format!("{} takes {}={value}", method.name(), option.name));
                        assert!(format!("{said:?}").contains(option.name), "{}: {said:?}", method.name());
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused > 1000, "{refused}");
    }

    /// Whatever else may be wrong with a value, it is never said of it that it means nothing to the method.
    #[test]
    fn what_makes_a_difference_to_a_method_can_be_set() {
        for method in Method::all() {
            for option in inside().filter(|option| option.methods.contains(&method.name())) {
                let needs_traffic = option.name.starts_with("traffic_") || option.name == "ipsec";
                for said in values(&option).iter().flat_map(|value| said(method, option.name, value)) {
                    let Err(said) = said else { continue };
                    let means_nothing = said.to_string().contains("means nothing to");
                    let is_fault = option.name == "fault";
                    assert!(!means_nothing || is_fault, "{} {}: {said:?}", method.name(), option.name);
                    let without = said.to_string().contains("means nothing without `traffic");
                    assert_eq!(without, needs_traffic, "{} {}: {said:?}", method.name(), option.name);
                }
            }
        }
    }

    #[test]
    fn the_parser_takes_the_listed_words_and_bounds_of_a_population() {
        let plan = |key: &str, value: &str| {
            let text = "methods = 'ikev2-eap-aka'\nnetworks = 'lte'\n[population]\ndevices = 2000000\n\
                        arrivals = 'constant 500/s'\nduration = '168 h'";
            let set = Overrides::parse(&[format!("population.{key}={value}")]).unwrap();
            Source::text("test", text).plan(&set)
        };
        for Key { name, values, .. } in population::KEYS {
            for value in *values {
                let Some((low, high)) = value.split_once(" to ").filter(|_| !value.contains("TIME")) else {
                    let is_form = value.chars().any(|c| c.is_ascii_uppercase());
                    assert!(is_form || plan(name, value).is_ok(), "{name}={value}");
                    continue;
                };
                if low.contains("RATE") {
                    continue;
                }
                assert!(plan(name, low).is_ok() && plan(name, high).is_ok(), "{name}");
                for beyond in [neighbours(low)[0].clone(), neighbours(high)[1].clone()].into_iter().flatten()
                {
                    assert!(plan(name, &beyond).is_err(), "{name} takes {beyond}");
                }
            }
        }
    }

    #[test]
    fn the_parser_takes_the_listed_words_and_bounds_of_a_scenario() {
        // With MODP groups, without which `exponents` means nothing.
        let plan =
            |change: &str| Source::builtin("suites").unwrap().plan(&Overrides::parse(&[change]).unwrap());
        for Key { name, values, .. } in KEYS {
            for value in *values {
                let Some((low, high)) = value.split_once(" to ") else { continue };
                for bound in [low, high] {
                    assert!(plan(&format!("{name}={bound}")).is_ok(), "{name}={bound}");
                }
                let (below, above) = (neighbours(low)[0].clone(), neighbours(high)[1].clone());
                for beyond in [below, above].into_iter().flatten() {
                    assert!(plan(&format!("{name}={beyond}")).is_err(), "{name} takes {beyond}");
                }
            }
        }
        for (name, word) in [("crypto", "openssl"), ("exponents", "full"), ("world", "live")] {
            assert!(KEYS.iter().any(|key| key.name == name && key.values.contains(&word)));
            assert!(plan(&format!("{name}={word}")).is_ok(), "{name}={word}");
        }
    }
}
