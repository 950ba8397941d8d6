//! The same packet captured at two points, as on `any` of a machine that forwards it, or in merged captures. A sender's own
//! repetition is another packet: it has another identification, or it is captured twice at the same point.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::lan::Lan;
use keytoll_net::ip::Piece;

/// Longer than this no packet is under way between two points of capture.
const UNDER_WAY_NS: u64 = 2_000_000_000;
/// More packets are not remembered; the oldest is forgotten first.
const MEMORY_MAX: usize = 16_384;

/// Packets seen lately, and where.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// When, and where first; by digest.
    seen: BTreeMap<u64, Seen>,
    order: VecDeque<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    at_ns: u64,
    point: (u32, u32),
}

impl Repeats {
    /// Whether this packet was seen at another point a moment ago; if not, it is remembered.
    pub(super) fn is_repeat(&mut self, digest: u64, at_ns: u64, point: (u32, u32)) -> bool {
        if let Some(seen) = self.seen.get_mut(&digest) {
            let elsewhere = seen.point != point && at_ns.abs_diff(seen.at_ns) <= UNDER_WAY_NS;
            if !elsewhere {
                *seen = Seen { at_ns, point };
            }
            return elsewhere;
        }
        self.seen.insert(digest, Seen { at_ns, point });
        self.order.push_back(digest);
        if self.order.len() > MEMORY_MAX {
            let oldest = self.order.pop_front();
            oldest.inspect(|oldest| _ = self.seen.remove(oldest));
        }
        false
    }
}

/// Time to live and checksums change on the way, the rest does not.
pub(super) fn of_piece(piece: &Piece<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (piece.source, piece.destination, piece.protocol, piece.identification, piece.offset).hash(&mut hasher);
    piece.payload.hash(&mut hasher);
    hasher.finish()
}

/// Only some captures tell the receiver.
pub(super) fn of_pdu(lan: &Lan<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (lan.from, lan.pdu).hash(&mut hasher);
    hasher.finish()
}
