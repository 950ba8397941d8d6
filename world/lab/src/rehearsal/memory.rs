//! How much memory a population will need: as some hundred of its devices take, without cryptography.

use std::time::Duration;

use keytoll_native::clock;
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};
use keytoll_scenario::population::{Arrivals, Population};
use keytoll_scenario::quantity::Probability;

use crate::population::populate;
use crate::row::Stop;

/// Twice as many are tried, too: what a world takes without devices is in both, and tables that double their length are as full.
pub(super) const DEVICES: u32 = 400;

/// So many authenticate at a time.
const AT_A_TIME: u32 = 20;

/// The time limit of an estimate; the remaining worlds are assumed to be like the largest one.
const LONGEST: Duration = Duration::from_secs(2);

/// Resident memory for each byte of the heap: a million devices with a shared key whose share of the heap was 3.2 kB each took 3.92 GiB.
/// In it are tags and rounding of the blocks, tables that are growing, and SAs that were closed.
const RESIDENT: f64 = 1.3;

/// The estimated memory of a run with a population.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// When all devices are there.
    pub bytes: f64,
    /// The largest share of one device, in all nodes together.
    pub each_bytes: f64,
    /// How many devices were tried.
    pub tried: u32,
}

/// Estimates the memory of a plan's populations on so many threads; `None` without a population, or where the heap is not counted.
pub fn rehearse_memory(plan: &Plan, threads: usize) -> Option<Room> {
    let population = plan.population.as_ref()?;
    let worlds = worlds(plan, population);
    let begun_ns = clock::monotonic_ns();
    let has_time = |_: &&[RowPlan]| clock::monotonic_ns() - begun_ns < LONGEST.as_nanos() as u64;
    let mut each: Vec<f64> = Vec::new();
    for rows in worlds.iter().copied().take_while(has_time) {
        each.push(each_bytes(plan, population, rows)?);
    }
    each.sort_by(|a, b| b.total_cmp(a));
    let largest = *each.first()?;
    each.splice(0..0, std::iter::repeat_n(largest, worlds.len() - each.len()));
    let at_once: f64 = each.iter().take(threads.max(1)).sum();
    let bytes = at_once * f64::from(population.devices);
    Some(Room { bytes, each_bytes: largest, tried: 2 * DEVICES })
}

/// The rows of each world: one row each, or those of a mix.
pub(super) fn worlds<'a>(plan: &'a Plan, population: &Population) -> Vec<&'a [RowPlan]> {
    if population.mix.is_empty() { plan.rows.chunks(1).collect() } else { vec![&plan.rows[..]] }
}

/// What each further device of a world takes.
fn each_bytes(plan: &Plan, population: &Population, rows: &[RowPlan]) -> Option<f64> {
    let heap = |devices| heap_bytes(&few(plan, population, rows, devices));
    let [some, twice] = [heap(DEVICES)?, heap(2 * DEVICES)?];
    Some((twice - some) / f64::from(DEVICES) * RESIDENT)
}

/// The devices' share of the heap when all are there.
fn heap_bytes(plan: &Plan) -> Option<f64> {
    let ends = populate(plan, 1, &|| {}, &Stop::new(false)).ok()?;
    let summary = ends.into_iter().flatten().next()?.account.summary;
    Some(summary.bytes_per_device? * f64::from(plan.population.as_ref()?.devices))
}

/// The same with so many devices, which come one after the other and stay.
pub(super) fn few(plan: &Plan, population: &Population, rows: &[RowPlan], devices: u32) -> Plan {
    let population = Population {
        devices,
        arrivals: Arrivals::AtATime(AT_A_TIME),
        stay: None,
        reauthenticate: None,
        moves: None,
        gateway_lost: None,
        liveness: None,
        wrong: Probability::from_parts_per_billion(0),
        aaa_store: None,
        hss_store: None,
        duration: None,
        ..population.clone()
    };
    let rows = rows.to_vec();
    Plan { crypto: CryptoMode::Null, costs: None, population: Some(population), rows, ..plan.clone() }
}
