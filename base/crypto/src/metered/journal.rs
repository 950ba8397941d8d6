//! The journal of a meter: every single operation.

use keytoll_crypto_api::{Part, Phase};

use super::Row;
use super::slot::Slot;

/// The journal keeps at most so many operations: an authentication has hundreds.
const ENTRIES_MAX: usize = 1 << 20;

/// Initial capacity of a journal, so that it does not grow while measuring.
const ENTRIES: usize = 4096;

/// One operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) phase: Phase,
    pub(super) purpose: &'static str,
    pub(super) slot: Slot,
    pub(super) ticks: u64,
    pub(super) bytes: u64,
}

/// Operations in the order in which they ran.
#[derive(Debug)]
pub(super) struct Journal(Vec<Entry>);

impl Default for Journal {
    fn default() -> Self {
        Self(Vec::with_capacity(ENTRIES))
    }
}

impl Journal {
    pub(super) fn push(&mut self, entry: Entry) {
        if self.0.len() < ENTRIES_MAX {
            self.0.push(entry);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The entries as rows, with the names that sums have.
    pub(super) fn rows(&self) -> Vec<Row> {
        let names: Vec<_> = Slot::all().collect();
        let row = |entry: &Entry| {
            let (operation, algorithm) = names[entry.slot.index()];
            let Entry { phase, purpose, ticks, bytes, .. } = *entry;
            Row {
                part: Part::default(),
                phase,
                purpose,
                operation,
                algorithm: algorithm.name(),
                count: 1,
                ticks,
                bytes,
            }
        };
        self.0.iter().map(row).collect()
    }
}
