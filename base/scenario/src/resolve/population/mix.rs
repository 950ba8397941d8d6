//! `mix`: the methods of one population, each of which has a row, a weight and devices.

use crate::catalogue::Method;
use crate::diagnostic::{ScenarioError, Spot};
use crate::plan::Plan;
use crate::population::{Population, Share};
use crate::tree::Item;

/// One population with a mix has each of its methods in one row.
pub(super) fn check(item: &Item, plan: &Plan, population: &Population) -> Result<(), ScenarioError> {
    if population.mix.is_empty() {
        return Ok(());
    }
    let spot = item.table()?.get("mix").map_or(&item.spot, |item| &item.spot);
    for share in &population.mix {
        let rows = plan.rows.iter().filter(|row| row.method == share.method).count();
        if rows != 1 {
            let message = format!("`mix` needs one row of `{}`, and there are {rows}", share.method.name());
            let hint = "`methods` names the methods of the mix, each in one network, topology and variant";
            return Err(spot.error(message, "one row for each method").hint(hint));
        }
    }
    check_weights(spot, plan, population)?;
    check_common(spot, &population.mix)?;
    check_shares(item, plan, population)
}

/// Every row has a weight.
fn check_weights(spot: &Spot, plan: &Plan, population: &Population) -> Result<(), ScenarioError> {
    let is_in = |method: &Method| population.mix.iter().any(|share| share.method == method);
    match plan.rows.iter().find(|row| !is_in(row.method)) {
        Some(row) => {
            let message = format!("`mix` has no weight for `{}`", row.method.name());
            Err(spot.error(message, "which share is it?").hint("a weight, or leave the method out"))
        }
        None => Ok(()),
    }
}

/// All methods of a mix have one gateway.
fn check_common(spot: &Spot, mix: &[Share]) -> Result<(), ScenarioError> {
    let Some((first, others)) = mix.split_first() else { return Ok(()) };
    let family = first.method.family;
    let stranger = others.iter().find(|share| share.method.family.name != family.name);
    let of_two = stranger.map(|share| (share, "a mix has one gateway, and they are of two families"));
    let Some((other, why)) = of_two.or_else(|| Some((others.first()?, family.unmixed?))) else {
        return Ok(());
    };
    let [first, other] = [first, other].map(|share| share.method.name());
    let message = format!("`{first}` and `{other}` cannot be in one population: {why}");
    let hint = "leave one of them out, or leave `mix` out: each method then has a population of its own";
    Err(spot.error(message, "this mix").hint(hint))
}

/// Every method of a mix has a device.
fn check_shares(item: &Item, plan: &Plan, population: &Population) -> Result<(), ScenarioError> {
    let row =
        population.mix.first().and_then(|first| plan.rows.iter().find(|row| row.method == first.method));
    let Some(share) = row.and_then(|row| population.unused_share(&plan.seed_of(row))) else { return Ok(()) };
    let name = share.method.name();
    let table = item.table()?.get("mix").map(Item::table).transpose()?;
    let spot = table.and_then(|table| table.entry(name)).map_or(&item.spot, |entry| &entry.key_spot);
    let total: u64 = population.mix.iter().map(|share| u64::from(share.weight)).sum();
    let message = format!(
        "none of {} devices gets the method `{name}` with `seed = {}`: its weight is {} of {total}",
        population.devices, plan.seed, share.weight
    );
    Err(spot.error(message, "no device").hint("more `devices`, or a larger weight"))
}
