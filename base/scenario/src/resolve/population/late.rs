//! Times that never come: the population ends before, or every device has left. Such keys are refused, for the user expects an effect.

use std::time::Duration;

use super::written;
use crate::diagnostic::{ScenarioError, Spot};
use crate::families::Occasion;
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

/// Refuses options that are times that never come on a row.
pub(super) fn check_options(
    (document, item): (&Table, &Item),
    plan: &Plan,
    population: &Population,
) -> Result<(), ScenarioError> {
    let spot = |key| written(document, key).map_or(&item.spot, |entry| &entry.key_spot);
    let check = |row: &RowPlan, &Occasion { key, after, is_of_devices }: &Occasion| {
        let (named, after) = ((key, spot(key)), after(row).unwrap_or_default());
        before_the_end(named, after, population, "the population ends before that")?;
        if is_of_devices { before_all_have_left(named, after, population) } else { Ok(()) }
    };
    plan.rows
        .iter()
        .try_for_each(|row| row.method.family.occasions.iter().try_for_each(|occasion| check(row, occasion)))
}

/// Refuses times of the sessions of a load that are written in `table` and never come. Those that begin at once may be held until the
/// last of all has its outcome, which takes no longer than `within`.
pub(crate) fn check_sessions(
    table: &Table,
    times: &[(&str, Option<Duration>)],
    population: &Population,
    within: Duration,
) -> Result<(), ScenarioError> {
    times.iter().try_for_each(|&(key, after)| {
        let Some((entry, after)) = table.entry(key).zip(after) else { return Ok(()) };
        let in_session = after.saturating_sub(within);
        before_the_end((key, &entry.key_spot), in_session, population, "the load ends before that")?;
        before_all_have_left((key, &entry.key_spot), after, population)
    })
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
