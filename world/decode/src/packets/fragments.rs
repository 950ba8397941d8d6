//! IP reassembly: RFC 791 §3.2, RFC 8200 §4.5, RFC 5722. Buffers are limited; incomplete packets are
//! returned as far as they go, because a missing fragment may be what the reader is looking for.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Cut, IpPacket, Origin};
use keytoll_net::ip::Piece;

// RFC 8200 §4.5: reassembly is abandoned after 60 s.
const PATIENCE_NS: u64 = 60_000_000_000;
/// The limit on packets in reassembly; beyond it the oldest is abandoned.
const OPEN_MAX: usize = 256;
/// The limit on fragments of a packet: 64 KiB in the smallest fragments of IPv4 links.
const PIECES_MAX: usize = 1400;
/// The longest payload that both IP versions allow.
const PAYLOAD_BYTES_MAX: usize = 65_535;

/// Identifies a packet in reassembly.
type Key = (IpAddr, IpAddr, u8, u32);

/// Packets in reassembly.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    open: BTreeMap<Key, Open>,
}

#[derive(Debug)]
struct Open {
    first_ns: u64,
    last: Origin,
    pieces: BTreeMap<usize, Vec<u8>>,
    /// The length of the payload, once the last fragment was received.
    total: Option<usize>,
    packets: u16,
    wire_bytes: u32,
    missing: bool,
    /// Fragments overlap and differ.
    contradicts: bool,
}

impl Fragments {
    /// Takes an IP packet; returns the whole packet if it is or completes one.
    pub(super) fn add(&mut self, piece: &Piece<'_>, origin: Origin) -> Option<IpPacket> {
        if !piece.is_fragment() {
            return Some(whole(piece, origin));
        }
        let key = (piece.source, piece.destination, piece.protocol, piece.identification);
        let open = self.open.entry(key).or_insert_with(|| Open::new(&origin));
        open.add(piece, &origin);
        if open.is_complete() {
            return self.open.remove(&key).map(|open| open.give(key, None));
        }
        None
    }

    /// Abandons packets after the timeout or beyond the limit.
    pub(super) fn given_up(&mut self, now_ns: u64) -> Vec<IpPacket> {
        let mut given_up = Vec::new();
        while let Some(key) = self.overdue(now_ns) {
            let open = self.open.remove(&key).expect("overdue found it");
            given_up.push(open.give(key, Some(Cut::FragmentMissing)));
        }
        given_up
    }

    fn overdue(&self, now_ns: u64) -> Option<Key> {
        let (key, oldest) = self.open.iter().min_by_key(|(_, open)| open.first_ns)?;
        let due = now_ns.saturating_sub(oldest.first_ns) > PATIENCE_NS || now_ns == u64::MAX;
        (due || self.open.len() > OPEN_MAX).then_some(*key)
    }
}

fn whole(piece: &Piece<'_>, origin: Origin) -> IpPacket {
    IpPacket {
        first_ns: origin.at_ns,
        origin,
        source: piece.source,
        destination: piece.destination,
        protocol: piece.protocol,
        payload: piece.payload.to_vec(),
        packets: 1,
        wire_bytes: piece.wire_bytes,
        cut: (piece.missing > 0).then_some(Cut::Captured),
    }
}

impl Open {
    fn new(origin: &Origin) -> Self {
        Self {
            first_ns: origin.at_ns,
            last: origin.clone(),
            pieces: BTreeMap::new(),
            total: None,
            packets: 0,
            wire_bytes: 0,
            missing: false,
            contradicts: false,
        }
    }

    fn add(&mut self, piece: &Piece<'_>, origin: &Origin) {
        let end = piece.offset + piece.payload.len() + piece.missing;
        self.packets = self.packets.saturating_add(1);
        self.wire_bytes = self.wire_bytes.saturating_add(piece.wire_bytes);
        self.missing |= piece.missing > 0;
        self.contradicts |= end > PAYLOAD_BYTES_MAX || self.pieces.len() >= PIECES_MAX;
        let comment = self.last.comment.take().or_else(|| origin.comment.clone());
        self.last = Origin { comment, ..origin.clone() };
        if self.contradicts {
            return;
        }
        if !piece.more {
            self.contradicts |= self.total.is_some_and(|total| total != end);
            self.total = Some(end);
        }
        // RFC 5722 §4: packets with overlapping fragments are abandoned; an identical copy is no overlap.
        match self.pieces.insert(piece.offset, piece.payload.to_vec()) {
            Some(before) if before != piece.payload => self.contradicts = true,
            _ => {}
        }
    }

    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.contiguous() >= total) && !self.contradicts && !self.missing
    }

    /// The length without a gap or an overlap.
    fn contiguous(&self) -> usize {
        let mut end = 0;
        for (&offset, bytes) in &self.pieces {
            if offset != end {
                break;
            }
            end += bytes.len();
        }
        end
    }

    /// The payload up to the first gap.
    fn give(self, (source, destination, protocol, _): Key, cut: Option<Cut>) -> IpPacket {
        let end = self.contiguous();
        let mut payload = Vec::with_capacity(end);
        for bytes in self.pieces.values() {
            let left = end - payload.len();
            payload.extend_from_slice(&bytes[..bytes.len().min(left)]);
        }
        let cut = cut.map(|cut| if self.missing { Cut::Captured } else { cut });
        IpPacket {
            origin: self.last,
            first_ns: self.first_ns,
            source,
            destination,
            protocol,
            payload,
            packets: self.packets,
            wire_bytes: self.wire_bytes,
            cut,
        }
    }
}
