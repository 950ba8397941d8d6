//! Messages out of TCP streams: RFC 9293 §3.4 (sequence numbers). Families say how their messages begin and how long they are.
//!
//! Each direction of a connection is a stream. Segments that came too early wait; what never comes is skipped, and reading
//! goes on where a segment begins with a message. A stream of TLS is told by its records and left alone, both ways: in what is
//! encrypted anything can look like a message.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use keytoll_engine::Datagram;
use keytoll_family::{Families, Framing, LinkSeal, Passed};
use keytoll_net::Addr;
use keytoll_net::tcp::{Header, flag};

use super::{IpPacket, Origin};
use crate::passage;

/// More streams at once: the one that was silent longest is forgotten.
const STREAMS_MAX: usize = 256;
/// More segments that came too early, or more bytes in them: the gap is given up.
const EARLY_MAX: usize = 64;
const EARLY_BYTES_MAX: usize = 256 * 1024;
/// More streams of TLS at once: the one that was told first is forgotten.
const SEALED_MAX: usize = 1024;
/// RFC 5246 §6.2.3: 2^14 bytes, and what encryption adds.
const RECORD_BYTES_MAX: u16 = (1 << 14) + 2048;

/// Streams of messages.
#[derive(Debug)]
pub(super) struct Streams {
    framings: Vec<Framing>,
    streams: BTreeMap<(Addr, Addr), Stream>,
    sealed: Sealed,
    /// Counts segments, to know which stream was silent longest.
    clock: u64,
}

/// Streams of TLS.
#[derive(Debug, Default)]
struct Sealed {
    streams: BTreeSet<(Addr, Addr)>,
    order: VecDeque<(Addr, Addr)>,
}

impl Sealed {
    fn contains(&self, ends: (Addr, Addr)) -> bool {
        self.streams.contains(&ends)
    }

    /// Both directions.
    fn insert(&mut self, (from, to): (Addr, Addr)) {
        for ends in [(from, to), (to, from)] {
            if self.streams.insert(ends) {
                self.order.push_back(ends);
            }
        }
        while self.order.len() > SEALED_MAX {
            self.order.pop_front().inspect(|oldest| _ = self.streams.remove(oldest));
        }
    }

    fn remove(&mut self, ends: (Addr, Addr)) {
        if self.streams.remove(&ends) {
            self.order.retain(|other| *other != ends);
        }
    }
}

#[derive(Debug)]
struct Stream {
    framing: Framing,
    /// Only what it carries says whose it is.
    is_guessed: bool,
    /// The sequence number that comes next.
    next: u32,
    buffer: Vec<u8>,
    early: VecDeque<(u32, Vec<u8>, Cost)>,
    /// Packets that were not yet counted with a message.
    cost: Cost,
    used: u64,
}

/// What the bytes in the buffer cost on the wire.
#[derive(Debug, Default, Clone)]
struct Cost {
    first_ns: Option<u64>,
    packets: u16,
    wire_bytes: u32,
    origin: Option<Origin>,
}

impl Cost {
    fn of(packet: &IpPacket) -> Self {
        Self {
            first_ns: Some(packet.first_ns),
            packets: packet.packets,
            wire_bytes: packet.wire_bytes,
            origin: Some(packet.origin.clone()),
        }
    }

    fn add(&mut self, other: Self) {
        self.first_ns = self.first_ns.or(other.first_ns);
        self.packets = self.packets.saturating_add(other.packets);
        self.wire_bytes = self.wire_bytes.saturating_add(other.wire_bytes);
        self.origin = other.origin;
    }
}

/// RFC 9293 §3.1, as far as it is needed.
struct Segment {
    from: Addr,
    to: Addr,
    sequence: u32,
    synchronises: bool,
    data: Vec<u8>,
    cost: Cost,
}

impl Segment {
    fn read(packet: &IpPacket) -> Option<Self> {
        let cost = Cost::of(packet);
        let header = Header::read(&packet.payload).ok()?;
        Some(Self {
            from: Addr::tcp(packet.source, header.source),
            to: Addr::tcp(packet.destination, header.destination),
            sequence: header.sequence,
            synchronises: header.flags & flag::SYN != 0,
            data: packet.payload[header.header_len..].to_vec(),
            cost,
        })
    }

    fn is_at(&self, framing: &Framing) -> bool {
        let ports = [self.from, self.to].into_iter().filter_map(Addr::port);
        ports.into_iter().any(|port| framing.ports.contains(&port))
    }
}

impl Streams {
    /// Streams with messages of these families.
    pub(super) fn new(families: Families) -> Self {
        let framings = families.iter().filter_map(|family| family.framing()).collect();
        Self { framings, streams: BTreeMap::new(), sealed: Sealed::default(), clock: 0 }
    }

    /// Takes a segment and gives the messages that it completes.
    pub(super) fn add(&mut self, packet: &IpPacket) -> Result<Vec<Passed>, &'static str> {
        let segment = Segment::read(packet).ok_or("TCP header cut short")?;
        let ends = (segment.from, segment.to);
        if segment.synchronises {
            self.sealed.remove(ends);
        }
        if self.is_sealed(&segment, ends) {
            return Err("TLS, which is not decrypted here");
        }
        let Some((framing, is_guessed)) = self.framing(&segment, ends) else {
            return Err("TCP of other protocols");
        };
        self.clock += 1;
        if self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&ends) {
            self.forget_one();
        }
        let fresh = |next| Stream::new(framing, is_guessed, next);
        let stream = self.streams.entry(ends).or_insert_with(|| fresh(segment.sequence));
        if segment.synchronises {
            *stream = fresh(segment.sequence.wrapping_add(1));
        }
        stream.used = self.clock;
        if segment.data.is_empty() {
            return Err("TCP without data (acknowledgements, beginnings and ends)");
        }
        stream.add(segment.sequence, segment.data, segment.cost);
        Ok(stream.messages(ends))
    }

    /// Whether a segment is of TLS, which shows where a stream begins or a message would.
    fn is_sealed(&mut self, segment: &Segment, ends: (Addr, Addr)) -> bool {
        if self.sealed.contains(ends) {
            return true;
        }
        let is_amid = self.streams.get(&ends).is_some_and(|stream| !stream.buffer.is_empty());
        let is_sealed = !is_amid && begins_record(&segment.data);
        if is_sealed {
            let (from, to) = ends;
            self.sealed.insert(ends);
            [(from, to), (to, from)].iter().for_each(|ends| _ = self.streams.remove(ends));
        }
        is_sealed
    }

    /// How messages are found in the stream of a segment, and whether only what it carries says so.
    fn framing(&self, segment: &Segment, ends: (Addr, Addr)) -> Option<(Framing, bool)> {
        let by_port = self.framings.iter().find(|framing| segment.is_at(framing)).map(|it| (*it, false));
        let known = || self.streams.get(&ends).map(|stream| (stream.framing, stream.is_guessed));
        let by_looks = || self.framings.iter().find(|it| (it.is_surely)(&segment.data)).map(|it| (*it, true));
        by_port.or_else(known).or_else(by_looks)
    }

    fn forget_one(&mut self) {
        let silent = self.streams.iter().min_by_key(|(_, stream)| stream.used).map(|(&ends, _)| ends);
        silent.inspect(|ends| _ = self.streams.remove(ends));
    }
}

impl Stream {
    fn new(framing: Framing, is_guessed: bool, next: u32) -> Self {
        let (buffer, early, cost) = (Vec::new(), VecDeque::new(), Cost::default());
        Self { framing, is_guessed, next, buffer, early, cost, used: 0 }
    }

    /// Appends what is next, keeps what is early, drops what was there.
    fn add(&mut self, sequence: u32, data: Vec<u8>, cost: Cost) {
        let ahead = sequence.wrapping_sub(self.next);
        // RFC 9293 §3.4: numbers are compared modulo 2^32; what is more than half a circle ahead is behind.
        if ahead == 0 {
            self.append(&data, cost);
        } else if ahead < 1 << 31 {
            self.early.push_back((sequence, data, cost));
        } else {
            // Sent again: its packets were on the wire all the same, and it may bring something new at its end.
            let known = usize::try_from(self.next.wrapping_sub(sequence)).unwrap_or(usize::MAX);
            self.append(data.get(known..).unwrap_or_default(), cost);
        }
        while let Some(place) = self.early.iter().position(|(early, ..)| !is_ahead(*early, self.next)) {
            let (sequence, data, cost) = self.early.remove(place).expect("position found it");
            self.add(sequence, data, cost);
        }
        let early_bytes: usize = self.early.iter().map(|(_, data, _)| data.len()).sum();
        if self.early.len() > EARLY_MAX || early_bytes > EARLY_BYTES_MAX {
            self.skip_gap();
        }
    }

    fn append(&mut self, data: &[u8], cost: Cost) {
        self.next = self.next.wrapping_add(u32::try_from(data.len()).expect("segments fit IP packets"));
        self.buffer.extend_from_slice(data);
        self.cost.add(cost);
    }

    /// Gives up bytes that the capture lacks.
    fn skip_gap(&mut self) {
        self.buffer.clear();
        let next = self.early.iter().map(|(sequence, ..)| *sequence);
        if let Some(next) = next.min_by_key(|sequence| sequence.wrapping_sub(self.next)) {
            self.next = next;
        }
        if let Some(place) = self.early.iter().position(|(sequence, ..)| *sequence == self.next) {
            let (sequence, data, cost) = self.early.remove(place).expect("position found it");
            self.add(sequence, data, cost);
        }
    }

    /// Takes the whole messages out of the buffer. The packets are counted with the first message that they complete.
    fn messages(&mut self, ends: (Addr, Addr)) -> Vec<Passed> {
        let mut messages = Vec::new();
        while let Some(length) = self.length() {
            if self.buffer.len() < length {
                break;
            }
            let bytes = self.buffer.drain(..length).collect();
            messages.extend(self.passed(ends, bytes));
        }
        messages
    }

    /// The length of the message that the buffer begins with; what begins with none is dropped.
    fn length(&mut self) -> Option<usize> {
        let Framing { header_len, sure_len, begins, is_surely, length, .. } = self.framing;
        if self.buffer.len() < if self.is_guessed { sure_len } else { header_len } {
            return None;
        }
        let begins = if self.is_guessed { is_surely } else { begins };
        if !begins(&self.buffer) {
            self.buffer.clear();
            return None;
        }
        Some(length(&self.buffer))
    }

    fn passed(&mut self, (from, to): (Addr, Addr), bytes: Vec<u8>) -> Option<Passed> {
        let origin = self.cost.origin.clone()?;
        let first_ns = self.cost.first_ns.take().unwrap_or(origin.at_ns);
        let (packets, wire_bytes) =
            (std::mem::take(&mut self.cost.packets), std::mem::take(&mut self.cost.wire_bytes));
        Some(Passed {
            first_ns,
            at_ns: origin.at_ns,
            frame: origin.frame,
            packets,
            wire_bytes,
            datagram: Datagram { protocol: self.framing.protocol, from, to, bytes },
            is_receiver_known: true,
            seal: LinkSeal::None,
            cut: None,
            fate: origin.comment.as_deref().and_then(passage::fate),
        })
    }
}

const fn is_ahead(sequence: u32, next: u32) -> bool {
    let ahead = sequence.wrapping_sub(next);
    ahead != 0 && ahead < 1 << 31
}

/// RFC 8446 §5.1, RFC 5246 §6.2: a type, version 3 of whatever kind, and no more bytes than a record may have.
fn begins_record(bytes: &[u8]) -> bool {
    let &[kind, 3, minor, high, low, ..] = bytes else { return false };
    let length = u16::from_be_bytes([high, low]);
    (20..=24).contains(&kind) && minor <= 4 && (1..=RECORD_BYTES_MAX).contains(&length)
}
