//! What an attacker has got of its victim: how much in all, and how much at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::siege::Attack;

/// Whoever is refused hears of it within this, on a machine that is busy, too; what lasts longer is had. What is had for the
/// shortest time, identifiers until the AAA server gives its HSS up, lasts three times as long.
const SETTLED: Duration = Duration::from_secs(2);

/// What came of an attack.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// How often it was tried.
    tried: u64,
    /// How many different ones were given.
    given: u64,
    /// The most that it had at a time, each for two seconds at least.
    held_max: u64,
    /// How often the victim said no, by its reason; silence is none.
    refused: BTreeMap<String, u64>,
    seconds: f64,
}

impl Attack for Taken {
    fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// Counts while it happens.
#[derive(Debug)]
pub(super) struct Tally {
    begun: Instant,
    /// After this the victim forgets by itself.
    kept: Duration,
    pub(super) tried: u64,
    given: BTreeSet<u64>,
    held: BTreeMap<u64, Instant>,
    held_max: usize,
    refused: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn new(kept: Duration) -> Self {
        Self {
            begun: Instant::now(),
            kept,
            tried: 0,
            given: BTreeSet::new(),
            held: BTreeMap::new(),
            held_max: 0,
            refused: BTreeMap::new(),
        }
    }

    /// So long it has gone on.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether it is time to try again, at so many a second.
    pub(super) fn is_due(&self, rate: u64) -> bool {
        u128::from(self.tried) < self.begun.elapsed().as_millis() * u128::from(rate) / 1000
    }

    /// The one of this number is had, if it was not before.
    pub(super) fn take(&mut self, which: u64) {
        if self.given.insert(which) {
            self.held.insert(which, Instant::now());
        }
    }

    /// It is had no longer.
    pub(super) fn lose(&mut self, which: u64) {
        self.held.remove(&which);
    }

    pub(super) fn refuse(&mut self, why: &str) {
        *self.refused.entry(why.to_owned()).or_default() += 1;
    }

    /// Counts what is had now.
    pub(super) fn look(&mut self) {
        let now = Instant::now();
        self.held.retain(|_, since| now - *since < self.kept);
        let settled = self.held.values().filter(|since| now - **since >= SETTLED);
        self.held_max = self.held_max.max(settled.count());
    }

    pub(super) fn end(mut self) -> Taken {
        self.look();
        Taken {
            tried: self.tried,
            given: self.given.len() as u64,
            held_max: self.held_max as u64,
            refused: self.refused,
            seconds: self.begun.elapsed().as_secs_f64(),
        }
    }
}
