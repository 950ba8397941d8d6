//! The SPD cache of RFC 4301 §4.4.1: flows seen lately, and the SA that each was found to need.
//!
//! One flow costs no table: a host that talks to one peer, as most do, keeps none. The table grows while flows in use put
//! each other out of it, up to a bound.

use crate::sad::Place;
use crate::selector::Flow;

/// How many flows are remembered once there is more than one, and at most.
const FLOWS: std::ops::RangeInclusive<usize> = 64..=4096;

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
    /// A power of two of slots, or none.
    table: Vec<Option<Entry>>,
    /// Flows that others have put out since the table grew.
    put_out: usize,
}

impl Cache {
    /// The SA of a flow, if it was looked up since the database changed.
    #[inline]
    pub(crate) fn get(&mut self, flow: &Flow, generation: u32) -> Option<Place> {
        let is_it = |entry: &&Entry| entry.generation == generation && entry.flow == *flow;
        if let Some(entry) = self.last.as_ref().filter(is_it) {
            return Some(entry.place);
        }
        let entry = self.table.get(self.slot(flow)).and_then(Option::as_ref).filter(is_it)?;
        let place = entry.place;
        self.last = Some(*entry);
        Some(place)
    }

    /// Remembers the SA of a flow.
    pub(crate) fn put(&mut self, flow: Flow, place: Place, generation: u32) {
        let entry = Entry { flow, place, generation };
        let before = self.last.replace(entry);
        if self.table.is_empty() && before.is_some_and(|before| before.flow != flow) {
            self.table = vec![None; *FLOWS.start()];
        }
        let slot = self.slot(&flow);
        let Some(before) = self.table.get_mut(slot).map(|slot| slot.replace(entry)) else { return };
        if before.is_some_and(|before| before.generation == generation && before.flow != flow) {
            self.put_out += 1;
            self.grow();
        }
    }

    /// As many flows as there are slots have lost theirs: that is no accident any more.
    fn grow(&mut self) {
        if self.put_out < self.table.len() || self.table.len() >= *FLOWS.end() {
            return;
        }
        self.put_out = 0;
        let larger = vec![None; self.table.len() * 2];
        let before = std::mem::replace(&mut self.table, larger);
        for entry in before.into_iter().flatten() {
            let slot = self.slot(&entry.flow);
            self.table[slot] = Some(entry);
        }
    }

    /// Where in the table a flow belongs.
    #[inline]
    fn slot(&self, flow: &Flow) -> usize {
        (flow.mixed() >> 32) as usize & self.table.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(n: usize) -> Flow {
        let [from, to] = [n as u32, !n as u32].map(|bits| std::net::Ipv4Addr::from_bits(bits).into());
        Flow::of_payload(from, to, 17, &[0, 1, 0, 2])
    }

    /// As often as `rounds`, every flow in turn; how many were known in the last round.
    fn known(cache: &mut Cache, flows: usize, rounds: usize) -> usize {
        let mut known = 0;
        for _ in 0..rounds {
            known = 0;
            for n in 0..flows {
                match cache.get(&flow(n), 1) {
                    Some(place) => {
                        assert_eq!(place, Place::after(n));
                        known += 1;
                    }
                    None => cache.put(flow(n), Place::after(n), 1),
                }
            }
        }
        known
    }

    #[test]
    fn one_flow_needs_no_table_and_many_get_a_larger_one_up_to_a_bound() {
        let mut cache = Cache::default();
        assert_eq!((known(&mut cache, 1, 2), cache.table.len()), (1, 0));
        assert_eq!((known(&mut cache, 2, 3), cache.table.len()), (2, 64));
        assert!(known(&mut cache, 1000, 30) > 700, "{} slots", cache.table.len());
        known(&mut cache, 30_000, 3);
        assert_eq!(cache.table.len(), 4096);
    }

    #[test]
    fn what_was_found_before_the_database_changed_is_forgotten() {
        let mut cache = Cache::default();
        known(&mut cache, 3, 3);
        assert!((0..3).all(|n| cache.get(&flow(n), 1).is_some() && cache.get(&flow(n), 2).is_none()));
    }
}
