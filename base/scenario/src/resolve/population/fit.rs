//! Whether the rows of a plan can have its population, as their families say.

use super::written;
use crate::diagnostic::{ScenarioError, Spot};
use crate::families::Unfit;
use crate::plan::{Plan, RowPlan};
use crate::population::Population;
use crate::tree::{Item, Table, Value};

/// Refuses the first row that cannot, where the population, the options or the method stand.
pub(super) fn check(
    (document, item): (&Table, &Item),
    plan: &Plan,
    population: &Population,
) -> Result<(), ScenarioError> {
    plan.rows.iter().try_for_each(|row| {
        (row.method.family.populates)(row, population).map_err(|Unfit { key, why, hint }| {
            let message = format!("`{}` cannot have this population: {why}", row.method.name());
            let of_key = key.and_then(|key| spot_of(key, document, item));
            let spot = of_key.or_else(|| spot_of_method(document, row)).unwrap_or(&item.spot);
            spot.error(message, "not here").hint(hint)
        })
    })
}

/// Where a key of the population or of the options stands.
fn spot_of<'a>(key: &str, document: &'a Table, item: &'a Item) -> Option<&'a Spot> {
    let of_population = item.table().ok().and_then(|table| table.entry(key));
    of_population.or_else(|| written(document, key)).map(|entry| &entry.key_spot)
}

/// Where the method of a row is named.
fn spot_of_method<'a>(document: &'a Table, row: &RowPlan) -> Option<&'a Spot> {
    let rows = document.get("row").map_or(&[][..], Item::elements).iter();
    let of_rows = rows.filter_map(|row| row.table().ok()?.get("method"));
    let listed = document.get("methods").map_or(&[][..], Item::elements).iter();
    let is_it = |item: &&Item| matches!(&item.value, Value::Text(name) if name == row.method.name());
    listed.chain(of_rows).find(is_it).map(|item| &item.spot)
}
