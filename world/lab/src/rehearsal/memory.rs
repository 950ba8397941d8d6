//! How much memory a population will need: as some hundred of its devices take, without cryptography.

use std::fs;
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

/// Resident memory for each byte of the heap: between 60 000 devices more with a shared key (1.06), 36 000 more of IKEv1 (1.11), with
/// EAP-AKA (1.12), and a million with a shared key (1.11). It is rounding of the blocks, tables that are growing, and SAs that were closed.
const RESIDENT: f64 = 1.12;

/// The estimated memory of a run with a population.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// When all devices are there, with what the program takes itself.
    pub bytes: f64,
    /// Of that without any device: the program, and the nodes that serve.
    pub empty_bytes: f64,
    /// The heap of all nodes when all devices are there.
    pub heap_bytes: f64,
    /// The largest share of one device of the heap, in all nodes together.
    pub each_bytes: f64,
    /// How many devices were tried.
    pub tried: u32,
}

/// The heap of a world.
#[derive(Debug, Clone, Copy)]
struct Heap {
    empty_bytes: f64,
    each_bytes: f64,
}

impl Heap {
    fn with(&self, devices: u32) -> f64 {
        self.empty_bytes + self.each_bytes * f64::from(devices)
    }
}

/// Estimates the memory of a plan's populations on so many threads; `None` without a population, or where the heap is not counted.
pub fn rehearse_memory(plan: &Plan, threads: usize) -> Option<Room> {
    let population = plan.population.as_ref()?;
    let worlds = worlds(plan, population);
    let begun_ns = clock::monotonic_ns();
    let has_time = |_: &&[RowPlan]| clock::monotonic_ns() - begun_ns < LONGEST.as_nanos() as u64;
    let mut heaps: Vec<Heap> = Vec::new();
    for rows in worlds.iter().copied().take_while(has_time) {
        heaps.push(heap(plan, population, rows)?);
    }
    let devices = population.devices;
    heaps.sort_by(|a, b| b.with(devices).total_cmp(&a.with(devices)));
    let largest = *heaps.first()?;
    heaps.splice(0..0, std::iter::repeat_n(largest, worlds.len() - heaps.len()));
    let at_once = &heaps[..threads.clamp(1, heaps.len())];
    let with = |devices| at_once.iter().map(|heap| heap.with(devices)).sum::<f64>();
    let program = resident_bytes().unwrap_or_default();
    Some(Room {
        bytes: program + RESIDENT * with(devices),
        empty_bytes: program + RESIDENT * with(0),
        heap_bytes: with(devices),
        each_bytes: largest.each_bytes,
        tried: 2 * DEVICES,
    })
}

/// What this program takes; `VmRSS` of proc(5).
fn resident_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0)
}

/// The rows of each world: one row each, or those of a mix.
pub(super) fn worlds<'a>(plan: &'a Plan, population: &Population) -> Vec<&'a [RowPlan]> {
    if population.mix.is_empty() { plan.rows.chunks(1).collect() } else { vec![&plan.rows[..]] }
}

/// What a world takes without devices, and each of them in it.
fn heap(plan: &Plan, population: &Population, rows: &[RowPlan]) -> Option<Heap> {
    let bytes = |devices| {
        let few = few(plan, population, rows, devices);
        let ends = populate(&few, 1, &|| {}, &Stop::new(false)).ok()?;
        Some(ends.into_iter().flatten().next()?.heap_bytes? as f64)
    };
    let [some, twice] = [bytes(DEVICES)?, bytes(2 * DEVICES)?];
    let each_bytes = (twice - some) / f64::from(DEVICES);
    Some(Heap { empty_bytes: (some - each_bytes * f64::from(DEVICES)).max(0.0), each_bytes })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_takes_some_megabytes() {
        let bytes = resident_bytes().unwrap();
        assert!((1e6..1e10).contains(&bytes), "{bytes}");
    }
}
