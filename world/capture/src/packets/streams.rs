//! Diameter messages out of TCP streams: RFC 9293 §3.4 (sequence numbers), RFC 6733 §2.1 and §3 (messages over TCP).
//!
//! Each direction of a connection is a stream. Segments that came too early wait; what never comes is skipped, and reading
//! goes on where a segment begins with a message. A stream of TLS is told by its records and left alone, both ways: in what is
//! encrypted anything can look like a message.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use keytoll_diameter::wire::message::MESSAGE_BYTES_MAX;
use keytoll_engine::Datagram;
use keytoll_net::Addr;
use keytoll_net::tcp::{Header, flag};

use super::{IpPacket, Origin, Passed};

/// More streams at once: the one that was silent longest is forgotten.
const STREAMS_MAX: usize = 256;
/// More segments that came too early, or more bytes in them: the gap is given up.
const EARLY_MAX: usize = 64;
const EARLY_BYTES_MAX: usize = 256 * 1024;
/// More streams of TLS at once: the one that was told first is forgotten.
const SEALED_MAX: usize = 1024;
/// RFC 6733 §2.1: in the clear and with TLS; IANA has another number for that.
const DIAMETER: [u16; 3] = [3868, 5658, 5868];
/// RFC 6733 §3: version, length, flags, command.
const HEADER_LEN: usize = 20;
/// RFC 5246 §6.2.3: 2^14 bytes, and what encryption adds.
const RECORD_BYTES_MAX: u16 = (1 << 14) + 2048;
/// A longer message is none of ours: reading goes on at the next segment.
const LENGTH_MAX: usize = MESSAGE_BYTES_MAX;

/// Streams of Diameter.
#[derive(Debug, Default)]
pub(super) struct Streams {
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

#[derive(Debug, Default)]
struct Stream {
    /// The sequence number that comes next.
    next: u32,
    buffer: Vec<u8>,
    early: VecDeque<(u32, Vec<u8>, Cost)>,
    /// Packets that were not yet counted with a message.
    cost: Cost,
    used: u64,
    /// Only what it carries says that it is Diameter.
    is_guessed: bool,
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

    fn has_port_of_diameter(&self) -> bool {
        [self.from, self.to].into_iter().filter_map(Addr::port).any(|port| DIAMETER.contains(&port))
    }

    fn is_diameter(&self) -> bool {
        self.has_port_of_diameter() || is_surely_message(&self.data)
    }
}

impl Streams {
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
        if !self.streams.contains_key(&ends) && !segment.is_diameter() {
            return Err("TCP of other protocols");
        }
        self.clock += 1;
        if self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&ends) {
            self.forget_one();
        }
        let is_guessed = !segment.has_port_of_diameter();
        let fresh = || Stream { next: segment.sequence, is_guessed, ..Stream::default() };
        let stream = self.streams.entry(ends).or_insert_with(fresh);
        stream.used = self.clock;
        if segment.synchronises {
            let next = segment.sequence.wrapping_add(1);
            *stream = Stream { next, used: self.clock, is_guessed, ..Stream::default() };
        }
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

    fn forget_one(&mut self) {
        let silent = self.streams.iter().min_by_key(|(_, stream)| stream.used).map(|(&ends, _)| ends);
        silent.inspect(|ends| _ = self.streams.remove(ends));
    }
}

impl Stream {
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
        let enough = HEADER_LEN + if self.is_guessed { AVP_HEADER_LEN } else { 0 };
        if self.buffer.len() < enough {
            return None;
        }
        let begins = if self.is_guessed { is_surely_message } else { begins_message };
        if !begins(&self.buffer) {
            self.buffer.clear();
            return None;
        }
        Some(length_of(&self.buffer))
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
            datagram: Datagram { protocol: keytoll_diameter::DIAMETER, from, to, bytes },
            cut: None,
            comment: origin.comment,
        })
    }
}

const fn is_ahead(sequence: u32, next: u32) -> bool {
    let ahead = sequence.wrapping_sub(next);
    ahead != 0 && ahead < 1 << 31
}

fn length_of(message: &[u8]) -> usize {
    u24(&message[1..]) as usize
}

/// On a port that anybody may use, only what nothing else looks like: a header, flags that may stand together, a command
/// that is one, and AVPs that fill the message as far as it is there.
fn is_surely_message(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>().filter(|_| begins_message(bytes)) else {
        return false;
    };
    let command = u24(&header[5..]);
    let [is_request, is_error, is_again] = [0x80, 0x20, 0x10].map(|flag| header[4] & flag != 0);
    // RFC 6733 §3: no error bit in a request, no answer is sent again.
    let flags_agree = if is_request { !is_error } else { !is_again };
    let is_command = COMMANDS.iter().any(|commands| commands.contains(&command));
    // RFC 6733 §5.3 to §5.5: the base protocol's own commands.
    let is_base = matches!(command, 257 | 280 | 282);
    let has_no_application = header[8..12] == [0; 4];
    flags_agree && is_command && (!is_base || has_no_application) && avps_fit(bytes)
}

/// RFC 6733 §4.1:  Code(4) Flags(1) Length(3) [Vendor(4)] Data, padded to four bytes
fn avps_fit(message: &[u8]) -> bool {
    let (length, mut at) = (length_of(message), HEADER_LEN);
    while at < length {
        let Some(avp) = message.get(at..).and_then(<[u8]>::first_chunk::<AVP_HEADER_LEN>) else {
            return at > HEADER_LEN;
        };
        let vendor_len = if avp[4] & 0x80 == 0 { 0 } else { 4 };
        let avp_length = u24(&avp[5..]) as usize;
        if avp[4] & 0x1f != 0 || avp_length < AVP_HEADER_LEN + vendor_len {
            return false;
        }
        at += avp_length.next_multiple_of(4);
    }
    at == length && length > HEADER_LEN
}

const AVP_HEADER_LEN: usize = 8;
/// RFC 6733 §11.1.2, RFC 5719: below 256 are RADIUS codes; standards have come to about 350; from 8 388 608 on 3GPP and others.
const COMMANDS: [std::ops::Range<u32>; 2] = [257..400, 8_388_608..16_777_214];

fn u24(bytes: &[u8]) -> u32 {
    bytes[..3].iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

/// RFC 8446 §5.1, RFC 5246 §6.2: a type, version 3 of whatever kind, and no more bytes than a record may have.
fn begins_record(bytes: &[u8]) -> bool {
    let &[kind, 3, minor, high, low, ..] = bytes else { return false };
    let length = u16::from_be_bytes([high, low]);
    (20..=24).contains(&kind) && minor <= 4 && (1..=RECORD_BYTES_MAX).contains(&length)
}

/// RFC 6733 §3: version 1, a length of whole words, the lower four flags zero.
fn begins_message(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return false };
    let length = length_of(header);
    header[0] == 1
        && (HEADER_LEN..=LENGTH_MAX).contains(&length)
        && length.is_multiple_of(4)
        && header[4] & 0x0f == 0
}
