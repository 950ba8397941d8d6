//! Datagrams of one size at a constant rate, numbered and stamped with their departure time. Both stations use the same
//! virtual clock, so one-way delays can be measured.
//!
//! A source whose processor is too slow skips datagrams rather than sending them in a burst later.

use std::time::Duration;

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Deadline, Time};
use keytoll_esp::replay::Window;
use keytoll_net::wire::{DecodeError, Reader};

use super::{Common, Source, nanos, udp};
use crate::ip;

/// RFC 863, "discard".
const PORT: u16 = 9;
/// Number(8) Departure(8), then zeros.
const HEAD_BYTES: usize = 16;
/// At most so many datagrams are sent together when the source is late.
const LATE_MAX: u64 = 16;
/// How far behind the newest number a datagram may arrive and still be recognised as new.
const WINDOW: u32 = *Window::SIZES.end();

#[derive(Debug)]
pub(super) struct Flow {
    source: Option<Datagrams>,
    /// The numbers received, once there is one.
    seen: Option<Window>,
}

/// The source.
#[derive(Debug)]
struct Datagrams {
    at: Time,
    interval: Duration,
    /// How many intervals have started.
    turn: u64,
    sequence: u64,
    data_bytes: usize,
    ended: bool,
}

impl Flow {
    pub(super) fn new(source: Option<Source>, header_bytes: usize, bits_per_s: u64) -> Self {
        let source = source.map(|Source { at, payload_bytes }| {
            let data_bytes = payload_bytes.saturating_sub(udp::HEADER_BYTES).max(HEAD_BYTES);
            let bits = 8 * (header_bytes + udp::HEADER_BYTES + data_bytes) as u64;
            let interval = Duration::from_nanos((bits * 1_000_000_000 / bits_per_s.max(1)).max(1));
            Datagrams { at, interval, turn: 0, sequence: 0, data_bytes, ended: false }
        });
        Self { source, seen: None }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let source = self.source.as_ref().filter(|source| !source.ended)?;
        Some(Deadline { at: source.due(), why: "next datagram" })
    }

    pub(super) fn tick(&mut self, now: Time, common: &mut Common) {
        let Some(source) = &mut self.source else { return };
        let mut burst = 0;
        while source.due() <= now && !source.ended {
            source.ended = source.due() >= common.until;
            if burst < LATE_MAX && !source.ended {
                source.send(now, common);
                burst += 1;
            }
            source.turn += 1;
        }
    }

    pub(super) fn arrived(&mut self, packet: &ip::Packet<'_>, cx: &mut Ctx<'_>, common: &mut Common) -> bool {
        if packet.protocol != udp::UDP {
            return false;
        }
        match read(packet) {
            Ok((number, departed, data_bytes)) => {
                common.account.data_packets_got += 1;
                if self.is_new(number) {
                    common.account.one_way.add(nanos(cx.now.since(departed)));
                    common.got(data_bytes, cx.now);
                }
            }
            Err(_) => cx.discard(Protocol::IP, "udp: malformed"),
        }
        true
    }

    /// Whether a number arrives for the first time. A window counts from one; the largest number has no successor.
    fn is_new(&mut self, number: u64) -> bool {
        let seen = self.seen.get_or_insert_with(|| Window::new(WINDOW));
        let Some(place) = number.checked_add(1).filter(|&place| seen.accepts(place)) else { return false };
        seen.mark(place);
        true
    }
}

impl Datagrams {
    fn due(&self) -> Time {
        let nanos = u128::from(self.turn) * self.interval.as_nanos();
        self.at + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn send(&mut self, now: Time, common: &mut Common) {
        let mut data = vec![0; self.data_bytes];
        data[..8].copy_from_slice(&self.sequence.to_be_bytes());
        data[8..HEAD_BYTES].copy_from_slice(&now.as_nanos().to_be_bytes());
        self.sequence += 1;
        common.account.data_packets_sent += 1;
        common.send(udp::UDP, udp::write((common.local, common.remote), PORT, &data));
    }
}

/// Number, departure, and bytes of data.
fn read(packet: &ip::Packet<'_>) -> Result<(u64, Time, u64), DecodeError> {
    let data = udp::read((packet.source, packet.destination), PORT, packet.payload)?;
    let mut r = Reader::new(data);
    let (number, departed) = (r.array("number")?, r.array("departure")?);
    let number = u64::from_be_bytes(number);
    Ok((number, Time::from_nanos(u64::from_be_bytes(departed)), data.len() as u64))
}
