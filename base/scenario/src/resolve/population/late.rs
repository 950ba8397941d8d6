//! Times that never come: the population ends before, or every device has left. Such keys are refused, for the user expects an effect.

use std::time::Duration;

use super::written;
use crate::diagnostic::{ScenarioError, Spot};
use crate::plan::{Plan, RowPlan};
use crate::population::{Population, Spread};
use crate::tree::{Item, Table};

/// Refuses the times of a population that never come.
pub(super) fn check(table: &Table, population: &Population) -> Result<(), ScenarioError> {
    let times = [
        ("liveness", population.liveness),
        ("stay", population.stay.map(Spread::least)),
        ("reauthenticate", population.reauthenticate),
        ("moves", population.moves.map(Spread::least)),
    ];
    times.into_iter().try_for_each(|(key, after)| {
        let spot = table.entry(key).map_or(&table.spot, |entry| &entry.key_spot);
        let message = match key {
            "liveness" => "the population ends before any device has been silent for so long",
            _ => "the population ends before that",
        };
        let after = after.unwrap_or_default();
        before_the_end((key, spot), after, population, message)?;
        before_all_have_left((key, spot), after, population)
    })
}

/// An option that is a time, and what it is on a row.
type Timed = (&'static str, fn(&RowPlan) -> Option<Duration>);

/// Those of a device, counted from its SA on.
const OF_DEVICES: [Timed; 2] =
    [("rekey_ike", |row| row.options.ike.rekey_after), ("rekey_child", |row| row.options.ipsec.rekey_after)];
/// That of an access point, whoever is there.
const OF_ACCESS_POINT: Timed = ("group_rekey", |row| row.options.wlan.group_rekey);

/// Refuses options that are times that never come on a row.
pub(super) fn check_options(
    (document, item): (&Table, &Item),
    plan: &Plan,
    population: &Population,
) -> Result<(), ScenarioError> {
    let latest = |(_, of): Timed| plan.rows.iter().filter_map(of).max().unwrap_or_default();
    let spot = |key| written(document, key).map_or(&item.spot, |entry| &entry.key_spot);
    for timed in OF_DEVICES.into_iter().chain([OF_ACCESS_POINT]) {
        before_the_end(
            (timed.0, spot(timed.0)),
            latest(timed),
            population,
            "the population ends before that",
        )?;
    }
    OF_DEVICES
        .into_iter()
        .try_for_each(|timed| before_all_have_left((timed.0, spot(timed.0)), latest(timed), population))
}

fn before_the_end(
    (key, spot): (&str, &Spot),
    after: Duration,
    population: &Population,
    message: &str,
) -> Result<(), ScenarioError> {
    match population.duration {
        Some(end) if after > end => Err(spot
            .error(message, "makes no difference here")
            .hint(format!("a longer `duration`, or a shorter `{key}`"))),
        _ => Ok(()),
    }
}

fn before_all_have_left(
    (key, spot): (&str, &Spot),
    after: Duration,
    population: &Population,
) -> Result<(), ScenarioError> {
    match longest_stay(population) {
        Some(stay) if after > stay => Err(spot
            .error("every device has left before that", "makes no difference here")
            .hint(format!("a longer `stay`, or a shorter `{key}`"))),
        _ => Ok(()),
    }
}

/// How long after it is established every device has left, if that is certain: one that is about to authenticate again, here or
/// elsewhere, leaves when it has the outcome.
fn longest_stay(population: &Population) -> Option<Duration> {
    let stay = population.stay?.most()?;
    let again = [population.reauthenticate, population.moves.map(Spread::least)];
    again.into_iter().flatten().all(|after| after > stay).then_some(stay)
}
