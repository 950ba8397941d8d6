//! The heap of one node on a thread that may also measure other rows, with nodes of the same role.

use keytoll_native::heap;

/// The memory of the node itself, apart from other nodes of its role.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeHeap {
    role: u8,
    /// What other nodes of the role hold.
    others: i64,
    /// The most that this one held before the current turn.
    peak: i64,
    /// What this one held at the end of the last turn.
    live: i64,
}

impl NodeHeap {
    /// Before the node is built.
    pub(crate) fn new(role: u8) -> Self {
        heap::reset_peak(role);
        Self { role, others: heap::live(role), peak: 0, live: 0 }
    }

    /// A turn of its row begins.
    pub(crate) fn resume(&mut self) {
        self.others = heap::live(self.role) - self.live;
        heap::reset_peak(self.role);
    }

    /// A turn of its row ends.
    pub(crate) fn pause(&mut self) {
        (self.live, self.peak) = (self.live(), self.peak());
    }

    /// Bytes that it holds.
    pub(crate) fn live(&self) -> i64 {
        heap::live(self.role) - self.others
    }

    /// The most that it has held.
    pub(crate) fn peak(&self) -> i64 {
        self.peak.max(heap::peak(self.role) - self.others)
    }
}
