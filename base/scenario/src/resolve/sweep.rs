//! `suites` and `[sweep]`: every combination of their values.

use crate::catalogue::Method;
use crate::diagnostic::ScenarioError;
use crate::families::setting;
use crate::options::settings::{SUITE, Settings, keys};
use crate::tree::{Item, Table, Value};

/// One combination of a sweep.
pub(super) struct Variation<'a> {
    pub(super) settings: Settings,
    /// The place of an error in the combination.
    pub(super) blame: Option<&'a Item>,
    swept: Vec<&'static str>,
}

impl Variation<'_> {
    /// The keys to name in the variant.
    pub(super) fn swept_for(&self, method: &Method) -> Vec<&'static str> {
        let told = |key: &&str| setting(key).is_some_and(|setting| setting.tells(method));
        self.swept.iter().copied().filter(told).collect()
    }
}

/// Every combination of the values in `suites` and `[sweep]`, the last key varying fastest.
pub(super) fn variations<'a>(
    document: &'a Table,
    base: &Settings,
) -> Result<Vec<Variation<'a>>, ScenarioError> {
    let blame = document.get("options");
    let mut variations = vec![Variation { settings: base.clone(), blame, swept: Vec::new() }];
    if let Some(item) = document.get("suites") {
        alone(SUITE, &[blame, document.get("sweep")])?;
        variations = vary(&variations, SUITE, item)?;
    }
    let Some(sweep) = document.get("sweep") else {
        return Ok(variations);
    };
    let sweep = sweep.table()?;
    sweep.only("`sweep`", &keys())?;
    for entry in &sweep.entries {
        let key = setting(&entry.key).map(|setting| setting.key).expect("the keys were just checked");
        let Value::List(_) = &entry.item.value else {
            return Err(entry.item.wrong("a list of values to try"));
        };
        alone(key, &[blame])?;
        variations = vary(&variations, key, &entry.item)?;
        super::limit(document, variations.len())?;
    }
    Ok(variations)
}

/// Refuses a swept key that also has a single value.
fn alone(key: &str, places: &[Option<&Item>]) -> Result<(), ScenarioError> {
    let named = places.iter().flatten().find_map(|item| item.table().ok()?.entry(key));
    named.map(|entry| &entry.key_spot).map_or(Ok(()), |spot| {
        let message = format!("`{key}` has a value here and others that are swept");
        Err(spot.error(message, "never used").hint("keep one of the two"))
    })
}

/// Multiplies the combinations with the values of one more key.
fn vary<'a>(
    variations: &[Variation<'a>],
    key: &'static str,
    values: &'a Item,
) -> Result<Vec<Variation<'a>>, ScenarioError> {
    let mut product: Vec<Variation<'a>> = Vec::new();
    for variation in variations {
        let first = product.len();
        for value in values.some_elements("value")? {
            let mut settings = variation.settings.clone();
            settings.change(key, value)?;
            if product[first..].iter().any(|known| known.settings == settings) {
                let message = format!("the same value of `{key}` is there twice");
                return Err(value.spot.error(message, "again").hint("leave it out"));
            }
            let swept = variation.swept.iter().copied().chain([key]).collect();
            product.push(Variation { settings, blame: Some(value), swept });
        }
    }
    Ok(product)
}
