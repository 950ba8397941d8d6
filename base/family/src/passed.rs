//! What passed a point of capture.

use std::time::Duration;

use keytoll_engine::Datagram;
use keytoll_net::Addr;
use keytoll_trace::Fate;

/// A datagram as it passed the point of capture; of a stream or an association, a message; of a LAN, a PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// When its first packet was captured, in nanoseconds.
    pub first_ns: u64,
    /// When its last one was.
    pub at_ns: u64,
    /// The frame of the last packet.
    pub frame: u64,
    /// IP packets, or frames of a LAN.
    pub packets: u16,
    /// Their bytes, IP headers included.
    pub wire_bytes: u32,
    /// What was carried from whom to whom.
    pub datagram: Datagram,
    /// Cooked captures of a LAN keep no receiver: then the receiver in `datagram` is the sender, and means nothing.
    pub is_receiver_known: bool,
    /// Not all of the bytes are there.
    pub cut: Option<Cut>,
    /// What became of it, and how long it took, where the capture says so.
    pub fate: Option<(Fate, Duration)>,
}

impl Passed {
    /// To whom, perhaps a group; none where the capture does not keep it.
    pub fn to(&self) -> Option<Addr> {
        self.is_receiver_known.then_some(self.datagram.to)
    }

    /// Whether it arrives as it was sent, as far as the capture says.
    pub const fn arrives(&self) -> bool {
        arrives(self.fate)
    }
}

/// Why bytes are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The capture kept only the beginning of each packet.
    Captured,
    /// A fragment never passed.
    FragmentMissing,
}

/// Whether a packet arrives as it was sent, as far as the capture says: a copy does, whatever becomes of the other one.
pub const fn arrives(fate: Option<(Fate, Duration)>) -> bool {
    matches!(fate, None | Some((Fate::Delivered | Fate::Duplicate, _)))
}
