//! Packets at a point of capture.

use std::time::Duration;

use keytoll_engine::Datagram;
use keytoll_net::Addr;
use keytoll_trace::Fate;

/// A datagram at the point of capture; a message of a stream or an association; a PDU of a LAN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// When its first packet was captured, in nanoseconds.
    pub first_ns: u64,
    /// When its last one was captured.
    pub at_ns: u64,
    /// The frame of the last packet.
    pub frame: u64,
    /// IP packets, or frames of a LAN.
    pub packets: u16,
    /// Their bytes, IP headers included.
    pub wire_bytes: u32,
    /// The datagram, with source and destination.
    pub datagram: Datagram,
    /// False in cooked captures of a LAN, which lack the receiver: `datagram` then has the sender in its place.
    pub is_receiver_known: bool,
    /// Not all of the bytes are there.
    pub cut: Option<Cut>,
    /// Whether the link encrypted it, as 802.11 does.
    pub seal: LinkSeal,
    /// Its fate and transit time, if the capture has them.
    pub fate: Option<(Fate, Duration)>,
}

impl Passed {
    /// The receiver, possibly a group; `None` if the capture lacks it.
    pub fn to(&self) -> Option<Addr> {
        self.is_receiver_known.then_some(self.datagram.to)
    }

    /// Whether it arrives unchanged, as far as the capture shows.
    pub const fn arrives(&self) -> bool {
        arrives(self.fate)
    }
}

/// What became of the encryption of the link itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LinkSeal {
    /// There is none.
    #[default]
    None,
    /// Decrypted.
    Opened,
    /// Encrypted with a key that is not known.
    Closed,
}

/// Why bytes are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The capture truncated its packets.
    Captured,
    /// A fragment never passed.
    FragmentMissing,
}

/// Whether a packet arrives unchanged, as far as the capture shows: a copy does, whatever happens to the other one.
pub const fn arrives(fate: Option<(Fate, Duration)>) -> bool {
    matches!(fate, None | Some((Fate::Delivered | Fate::Duplicate, _)))
}
