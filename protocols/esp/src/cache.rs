//! The SPD cache of RFC 4301 §4.4.1: flows seen lately, and the SA that each was found to need.
//!
//! One flow costs no table: a host that talks to one peer, as most do, keeps none.

use std::net::IpAddr;

use crate::sad::Place;
use crate::selector::Flow;

/// How many flows are remembered once there is more than one.
const FLOWS: usize = 64;

/// What was found for a flow.
#[derive(Debug, Clone, Copy)]
struct Entry {
    flow: Flow,
    place: Place,
    generation: u32,
}

/// The cache.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    last: Option<Entry>,
    table: Vec<Option<Entry>>,
}

impl Cache {
    /// The SA of a flow, if it was looked up since the database changed.
    #[inline]
    pub(crate) fn get(&mut self, flow: &Flow, generation: u32) -> Option<Place> {
        let is_it = |entry: &&Entry| entry.generation == generation && entry.flow == *flow;
        if let Some(entry) = self.last.as_ref().filter(is_it) {
            return Some(entry.place);
        }
        let entry = self.table.get(slot(flow)).and_then(Option::as_ref).filter(is_it)?;
        self.last = Some(*entry);
        Some(entry.place)
    }

    /// Remembers the SA of a flow.
    pub(crate) fn put(&mut self, flow: Flow, place: Place, generation: u32) {
        let entry = Entry { flow, place, generation };
        let before = self.last.replace(entry);
        if self.table.is_empty() && before.is_some_and(|before| before.flow != flow) {
            self.table = vec![None; FLOWS];
        }
        if let Some(slot) = self.table.get_mut(slot(&flow)) {
            *slot = Some(entry);
        }
    }
}

/// Where in the table a flow belongs.
#[inline]
fn slot(flow: &Flow) -> usize {
    let (source_port, destination_port) = flow.ports.unwrap_or_default();
    let ports = u64::from(source_port) << 24 | u64::from(destination_port) << 8 | u64::from(flow.protocol);
    let mixed = [fold(flow.source), fold(flow.destination).rotate_left(17), ports].into_iter().fold(0, mix);
    (mixed >> 32) as usize % FLOWS
}

/// One round of the finalizer of SplitMix64.
const fn mix(sum: u64, word: u64) -> u64 {
    let z = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z ^ (z >> 29)
}

fn fold(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64 ^ address.to_bits() as u64,
    }
}
