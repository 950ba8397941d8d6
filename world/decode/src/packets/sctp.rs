//! Messages out of SCTP associations: RFC 9260 §3 (packets, DATA chunks), §6.9 (fragments). Families say which payload protocol
//! identifiers are theirs.
//!
//! A message is one DATA chunk, or several with transmission sequence numbers in a row. What is inside DTLS cannot be read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use keytoll_engine::Datagram;
use keytoll_family::{Chunks, Families, LinkSeal, Passed};
use keytoll_net::{Addr, Socket};

use super::IpPacket;
use crate::passage;

/// More fragments are not kept while others are missing; the oldest goes first.
const FRAGMENTS_MAX: usize = 256;
/// More chunks are not remembered; the oldest is forgotten first.
const SEEN_MAX: usize = 16_384;
/// RFC 9260 §3.1:  Source Port(2) Destination Port(2) Verification Tag(4) Checksum(4)
const HEADER_LEN: usize = 12;
/// RFC 9260 §3.2:  Type(1) Flags(1) Length(2)
const CHUNK_HEADER_LEN: usize = 4;

/// DATA chunks on their way to messages.
#[derive(Debug)]
pub(super) struct Sctp {
    known: Vec<Chunks>,
    fragments: BTreeMap<Chunk, Fragment>,
    oldest: VecDeque<Chunk>,
    /// Chunks that were part of a message: they may be sent again.
    seen: BTreeSet<Chunk>,
    seen_order: VecDeque<Chunk>,
}

/// The ends, the association's verification tag, the transmission sequence number.
type Chunk = (Addr, Addr, u32, u32);

#[derive(Debug)]
struct Fragment {
    begins: bool,
    ends: bool,
    data: Vec<u8>,
    first_ns: u64,
    packets: u16,
    wire_bytes: u32,
}

/// RFC 9260 §3.3.1:  TSN(4) Stream(2) Stream Sequence(2) Payload Protocol(4) Data
struct Data<'a> {
    begins: bool,
    ends: bool,
    tsn: u32,
    ppid: u32,
    data: &'a [u8],
}

impl<'a> Data<'a> {
    const TYPE: u8 = 0;
    const BEGINS: u8 = 0x02;
    const ENDS: u8 = 0x01;

    fn read(flags: u8, value: &'a [u8]) -> Option<Self> {
        let u32_at = |at: usize| value.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        Some(Self {
            begins: flags & Self::BEGINS != 0,
            ends: flags & Self::ENDS != 0,
            tsn: u32_at(0)?,
            ppid: u32_at(8)?,
            data: value.get(12..)?,
        })
    }
}

/// The chunks of a packet: type, flags, value.
fn chunks(mut bytes: &[u8]) -> impl Iterator<Item = (u8, u8, &[u8])> {
    std::iter::from_fn(move || {
        let &[kind, flags, l0, l1] = bytes.first_chunk::<CHUNK_HEADER_LEN>()?;
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        let value = bytes.get(CHUNK_HEADER_LEN..length)?;
        // RFC 9260 §3.2: padded to four bytes, which the last one may lack.
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, flags, value))
    })
}

impl Sctp {
    /// Associations with messages of these families.
    pub(super) fn new(families: Families) -> Self {
        Self {
            known: families.iter().filter_map(|family| family.chunks()).collect(),
            fragments: BTreeMap::new(),
            oldest: VecDeque::new(),
            seen: BTreeSet::new(),
            seen_order: VecDeque::new(),
        }
    }

    /// Takes a packet and gives the messages that it completes.
    pub(super) fn add(&mut self, packet: &IpPacket) -> Result<Vec<Passed>, &'static str> {
        let header: &[u8; HEADER_LEN] = packet.payload.first_chunk().ok_or("SCTP header cut short")?;
        let u16_at = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let from = Addr::Sctp(Socket::new(packet.source, u16_at(0)));
        let to = Addr::Sctp(Socket::new(packet.destination, u16_at(2)));
        let tag = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let data = chunks(&packet.payload[HEADER_LEN..]).filter(|(kind, ..)| *kind == Data::TYPE);
        let data: Vec<_> = data.filter_map(|(_, flags, value)| Data::read(flags, value)).collect();
        if data.is_empty() {
            return Err("SCTP without data");
        }
        let sealed = self.known.iter().filter_map(|known| known.sealed);
        for (ppid, what) in sealed {
            if data.iter().all(|data| data.ppid == ppid) {
                return Err(what);
            }
        }
        let ports = [u16_at(0), u16_at(2)];
        let of = |ppid: u32| {
            let is_it = |known: &&Chunks| known.ppid == ppid || ppid == 0 && ports.contains(&known.port);
            self.known.iter().find(is_it).copied()
        };
        let data: Vec<_> = data.into_iter().filter_map(|data| Some((of(data.ppid)?, data))).collect();
        if data.is_empty() {
            return Err("SCTP of other protocols");
        }
        // The packet is counted with its first chunk.
        let costs = std::iter::once((packet.packets, packet.wire_bytes)).chain(std::iter::repeat((0, 0)));
        let messages = data.into_iter().zip(costs);
        let found = messages
            .filter_map(|((known, data), cost)| self.chunk((from, to, tag), (&known, &data), cost, packet));
        Ok(found.collect())
    }

    fn chunk(
        &mut self,
        (from, to, tag): (Addr, Addr, u32),
        (known, data): (&Chunks, &Data<'_>),
        (packets, wire_bytes): (u16, u32),
        packet: &IpPacket,
    ) -> Option<Passed> {
        let chunk = (from, to, tag, data.tsn);
        if self.seen.contains(&chunk) {
            return None;
        }
        self.remember(chunk);
        let (begins, ends, first_ns) = (data.begins, data.ends, packet.first_ns);
        let fragment = Fragment { begins, ends, data: data.data.to_vec(), first_ns, packets, wire_bytes };
        self.fragments.insert(chunk, fragment);
        self.oldest.push_back(chunk);
        let message = self.whole(chunk).filter(|whole| whole.data.len() <= known.bytes_max);
        while self.fragments.len() > FRAGMENTS_MAX || self.oldest.len() > 2 * FRAGMENTS_MAX {
            let oldest = self.oldest.pop_front();
            oldest.inspect(|oldest| _ = self.fragments.remove(oldest));
        }
        let message = message?;
        Some(Passed {
            first_ns: message.first_ns,
            at_ns: packet.origin.at_ns,
            frame: packet.origin.frame,
            packets: message.packets,
            wire_bytes: message.wire_bytes,
            datagram: Datagram { protocol: known.protocol, from, to, bytes: message.data },
            is_receiver_known: true,
            seal: LinkSeal::None,
            cut: packet.cut,
            fate: packet.origin.comment.as_deref().and_then(passage::fate),
        })
    }

    fn remember(&mut self, chunk: Chunk) {
        self.seen.insert(chunk);
        self.seen_order.push_back(chunk);
        if self.seen_order.len() > SEEN_MAX {
            let oldest = self.seen_order.pop_front();
            oldest.inspect(|oldest| _ = self.seen.remove(oldest));
        }
    }

    /// The message that this chunk is part of, if all of it is there.
    // RFC 9260 §6.9: the fragments of a message have numbers in a row.
    fn whole(&mut self, (from, to, tag, tsn): Chunk) -> Option<Fragment> {
        let at = |tsn| (from, to, tag, tsn);
        let mut first = tsn;
        while !self.fragments.get(&at(first))?.begins {
            first = first.wrapping_sub(1);
        }
        let mut last = tsn;
        while !self.fragments.get(&at(last))?.ends {
            last = last.wrapping_add(1);
        }
        let mut whole = self.fragments.remove(&at(first))?;
        while first != last {
            first = first.wrapping_add(1);
            let next = self.fragments.remove(&at(first))?;
            whole.data.extend_from_slice(&next.data);
            whole.first_ns = whole.first_ns.min(next.first_ns);
            whole.packets = whole.packets.saturating_add(next.packets);
            whole.wire_bytes = whole.wire_bytes.saturating_add(next.wire_bytes);
        }
        Some(whole)
    }
}
