//! Radio channels, which all stations in reach share: one frame at a time, whoever sends it, with contention before it and an
//! acknowledgement after it. 802.11-2020 §10.3: the distributed coordination function without collisions, which few stations
//! with short frames rarely have; retries are part of the loss and delay of a link.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use keytoll_crypto_api::{Rng, Seed};
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Datagram, Time};
use keytoll_net::{Addr, OnWire};

use crate::links::Channel;

/// A link's part in a radio channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Air {
    /// The number of the channel: links with the same number share it.
    pub channel: u8,
    /// The protocol whose frames are sent at the basic rate, as are frames to groups.
    pub basic: Protocol,
    /// The basic rate.
    pub basic_rate_bits_per_s: u64,
    /// The rate of all other frames.
    pub rate_bits_per_s: u64,
    /// DIFS: how long the channel must be idle before a frame.
    pub idle_before: Duration,
    /// The unit of the random wait that follows.
    pub slot: Duration,
    /// The largest number of slots of that wait, CWmin.
    pub slots_max: u32,
    /// Preamble and PLCP header of a frame.
    pub preamble: Duration,
    /// SIFS and ACK after a frame to one station.
    pub acknowledgement: Duration,
    /// Bytes on the air that are not in a frame: its check sequence.
    pub frame_bytes: u32,
    /// Bytes on the air that are not in an IP packet: its frame's header, and the check sequence.
    pub packet_bytes: u32,
}

impl Air {
    /// How long a datagram's frames are on the air, without what comes before and after them.
    fn duration(&self, datagram: &Datagram, on_wire: OnWire) -> Duration {
        let is_basic = datagram.protocol == self.basic || is_group(datagram.to);
        let bits_per_s = if is_basic { self.basic_rate_bits_per_s } else { self.rate_bits_per_s };
        let is_frame = matches!(datagram.to, Addr::Mac(_));
        let around = if is_frame { self.frame_bytes } else { self.packet_bytes };
        let bits = (u128::from(on_wire.bytes) + u128::from(around) * u128::from(on_wire.packets)) * 8;
        let nanos = (bits * 1_000_000_000).div_ceil(u128::from(bits_per_s.max(1)));
        self.preamble * on_wire.packets.into()
            + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    const fn acknowledgement(&self, to: Addr) -> Duration {
        if is_group(to) { Duration::ZERO } else { self.acknowledgement }
    }
}

/// 802.11-2020 §9.2.2: the first bit on the air tells groups from stations.
pub(crate) const fn is_group(to: Addr) -> bool {
    matches!(to, Addr::Mac([first, ..]) if first & 1 == 1)
}

/// What a sender has in front of a radio channel: a drop-tail queue, as of [`links`](crate::links), in bytes that have not left yet.
#[derive(Debug)]
pub(crate) struct Waiting {
    bytes_max: u64,
    bytes: u64,
    /// When each leaves, in order, and its bytes.
    leaving: VecDeque<(Time, u32)>,
}

impl Waiting {
    pub(crate) const fn new(bytes_max: u64) -> Self {
        Self { bytes_max, bytes: 0, leaving: VecDeque::new() }
    }

    /// Whether a datagram is accepted: any is by an idle sender.
    fn has_room(&mut self, bytes: u32, now: Time) -> bool {
        while let Some(&(_, gone)) = self.leaving.front().filter(|(at, _)| *at <= now) {
            self.leaving.pop_front();
            self.bytes = self.bytes.saturating_sub(gone.into());
        }
        self.leaving.is_empty() || self.bytes.saturating_add(bytes.into()) <= self.bytes_max
    }

    /// Whether everything has left.
    pub(crate) fn is_idle(&self, now: Time) -> bool {
        self.leaving.back().is_none_or(|(at, _)| *at <= now)
    }

    fn push(&mut self, bytes: u32, leaves: Time) {
        self.bytes = self.bytes.saturating_add(bytes.into());
        self.leaving.push_back((leaves, bytes));
    }
}

/// The radio channels of a world.
#[derive(Debug, Default)]
pub(crate) struct Channels(BTreeMap<u8, Busy>);

/// A channel in use.
#[derive(Debug)]
struct Busy {
    until: Time,
    waits: Rng,
}

impl Channels {
    /// When a datagram leaves its sender: at once, or when it has been sent on a radio channel; never if it finds the queue full.
    #[inline]
    pub(crate) fn leaves(
        &mut self,
        channel: &mut Channel,
        now: Time,
        datagram: (&Datagram, OnWire),
        seed: &Seed,
    ) -> Option<Time> {
        let Some(air) = channel.air else { return Some(now) };
        let (_, on_wire) = datagram;
        if !channel.waiting.has_room(on_wire.bytes, now) {
            return None;
        }
        let leaves = self.occupy(&air, now, datagram, seed);
        channel.waiting.push(on_wire.bytes, leaves);
        Some(leaves)
    }

    /// Lets the frames of a datagram have their channel; returns when the last one has been sent.
    fn occupy(
        &mut self,
        air: &Air,
        now: Time,
        (datagram, on_wire): (&Datagram, OnWire),
        seed: &Seed,
    ) -> Time {
        let new =
            || Busy { until: Time::ZERO, waits: seed.stream(&format!("air/{}/contention", air.channel)) };
        let busy = self.0.entry(air.channel).or_insert_with(new);
        let slots =
            |waits: &mut Rng| u32::try_from(waits.below(u64::from(air.slots_max) + 1)).unwrap_or(u32::MAX);
        let contention = |waits: &mut Rng| air.idle_before + air.slot * slots(waits);
        let waits: Duration = (0..on_wire.packets).map(|_| contention(&mut busy.waits)).sum();
        let acknowledgement = air.acknowledgement(datagram.to);
        // All but the last frame are acknowledged before the last one is sent.
        let others = acknowledgement * u32::from(on_wire.packets.saturating_sub(1));
        let sent = busy.until.max(now) + waits + others + air.duration(datagram, on_wire);
        busy.until = sent + acknowledgement;
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_keeps_so_many_bytes_that_have_not_left() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut waiting = Waiting::new(1000);
        assert!(waiting.has_room(5000, at(0)), "an idle sender takes anything");
        waiting.push(600, at(10));
        assert!(waiting.has_room(400, at(0)) && !waiting.has_room(401, at(0)));
        waiting.push(400, at(20));
        assert!(
            !waiting.has_room(1, at(9)) && waiting.has_room(600, at(10)) && !waiting.has_room(601, at(19))
        );
        assert!(waiting.has_room(5000, at(20)));
        assert_eq!((waiting.bytes, waiting.leaving.len()), (0, 0));
    }
}
