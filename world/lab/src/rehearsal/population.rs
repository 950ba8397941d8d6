//! How much work populations will be: as some hundred of their devices take, one after the other, without cryptography.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_native::clock;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::population::{Population, Spread};

use super::memory::{DEVICES, few, worlds};
use crate::population::populate;
use crate::row::Stop;

/// The time limit of an estimate; the remaining worlds are assumed to be like the others.
const LONGEST: Duration = Duration::from_secs(3);

/// CPU time of the simulator for an authentication, over all worlds; `None` if one cannot run.
pub(super) fn each(plan: &Plan, population: &Population) -> Option<Duration> {
    let begun_ns = clock::monotonic_ns();
    let has_time = |_: &&[RowPlan]| clock::monotonic_ns() - begun_ns < LONGEST.as_nanos() as u64;
    let worlds = worlds(plan, population);
    let tried = worlds.into_iter().take_while(has_time).map(|rows| of_world(plan, population, rows));
    let tried = tried.collect::<Option<Vec<Duration>>>()?;
    tried.iter().sum::<Duration>().checked_div(u32::try_from(tried.len()).ok()?)
}

/// The same for each further device of a world.
fn of_world(plan: &Plan, population: &Population, rows: &[RowPlan]) -> Option<Duration> {
    let half = u64::from(DEVICES);
    let [count, at_half, at_end] = [0, 0, 0].map(AtomicU64::new);
    // It is called on the thread that runs the only world.
    let look = || {
        let so_far = count.fetch_add(1, Ordering::Relaxed) + 1;
        match so_far {
            _ if so_far == half => at_half.store(clock::thread_cpu_ns(), Ordering::Relaxed),
            _ if so_far == 2 * half => at_end.store(clock::thread_cpu_ns(), Ordering::Relaxed),
            _ => {}
        }
    };
    populate(&few(plan, population, rows, 2 * DEVICES), 1, &look, &Stop::new(false)).ok()?;
    let took_ns = at_end.into_inner().saturating_sub(at_half.into_inner());
    Some(Duration::from_nanos(took_ns / half))
}

/// How often a device authenticates: when it arrives, and then as often as it wants to while it is there.
pub(super) fn attempts_each(plan: &Plan, population: &Population) -> f64 {
    let seed: Seed = plan.seed.into();
    let span = population.span(&seed).ok().flatten().unwrap_or_default();
    // On the mean it arrives in the middle of the schedule.
    let left = population.duration.unwrap_or(span).saturating_sub(span / 2).as_secs_f64();
    let there = population.stay.map_or(left, |stay| stay.mean().as_secs_f64().min(left));
    let every = [population.reauthenticate, population.moves.map(Spread::mean)];
    let again = every.into_iter().flatten().filter(|every| !every.is_zero());
    1.0 + again.map(|every| there / every.as_secs_f64()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use keytoll_scenario::parse;

    use super::*;

    fn plan(population: &str) -> Plan {
        let head = "crypto = 'null'\nnetworks = 'lte'\nmethods = 'ikev2-psk'\n[population]\n";
        parse("population", &format!("{head}{population}")).unwrap()
    }

    fn attempts(population: &str) -> f64 {
        let plan = plan(population);
        attempts_each(&plan, plan.population.as_ref().unwrap())
    }

    #[test]
    fn devices_authenticate_as_often_as_they_are_there_for() {
        assert_eq!(attempts("devices = 100\narrivals = 'constant 10/s'"), 1.0);
        let hourly = "devices = 100\narrivals = 'constant 10/s'\nreauthenticate = '15 min'\nduration = '1 h'";
        assert!((attempts(hourly) - 4.99).abs() < 0.02, "{}", attempts(hourly));
        let short = format!("{hourly}\nstay = '30 min'");
        assert_eq!(attempts(&short), 3.0);
    }

    #[test]
    fn the_estimate_is_near_what_a_population_takes() {
        let plan = plan("devices = 3000\narrivals = 'constant 200/s'");
        let one = each(&plan, plan.population.as_ref().unwrap()).unwrap();
        let took = AtomicU64::new(0);
        let look = || took.store(clock::thread_cpu_ns(), Ordering::Relaxed);
        populate(&plan, 1, &look, &Stop::new(false)).unwrap();
        let (told, took) = (one.as_secs_f64() * 3000.0, took.into_inner() as f64 / 1e9);
        assert!((0.5..2.0).contains(&(told / took)), "{told} s were told, and it took {took} s");
    }
}
