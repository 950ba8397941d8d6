//! The heap of a population: what each serving node has allocated, and the devices with the network between them all.

use keytoll_native::heap;

/// The heap tag of devices and network.
const WORLD: u8 = 1;

/// More nodes than serve any population.
pub(super) const SERVING_MAX: usize = 128;

/// The heap tag of the serving node with this number.
pub(super) fn role(number: u32) -> u8 {
    u8::try_from(number).ok().and_then(|number| number.checked_add(WORLD + 1)).expect("few nodes serve")
}

/// Enters the role of the world, to build it.
pub(super) fn enter_world() -> heap::Guard {
    heap::enter(WORLD)
}

/// Heap by serving node, and of all together.
#[derive(Debug, Clone, Default)]
pub(super) struct Heaps {
    serving: Vec<i64>,
    pub(super) all: i64,
}

impl Heaps {
    /// What this thread has allocated for a world with so many serving nodes.
    pub(super) fn now(serving: usize) -> Self {
        let serving: Vec<i64> = (0..serving as u32).map(|number| heap::live(role(number))).collect();
        Self { all: heap::live(WORLD) + serving.iter().sum::<i64>(), serving }
    }

    /// What has come since then.
    pub(super) fn since(&self, before: &Self) -> Self {
        let was = |place: usize| before.serving.get(place).copied().unwrap_or(0);
        let serving = self.serving.iter().enumerate().map(|(place, now)| now - was(place));
        Self { serving: serving.collect(), all: self.all - before.all }
    }

    /// Of how many serving nodes it tells.
    pub(super) const fn count(&self) -> usize {
        self.serving.len()
    }

    /// That of a serving node; none where nothing is counted.
    pub(super) fn of(&self, number: u32) -> Option<u64> {
        let bytes = *self.serving.get(number as usize)?;
        u64::try_from(bytes).ok().filter(|bytes| *bytes > 0)
    }
}
