//! Radio channels, which all stations in reach share: one frame at a time, whoever sends it, with contention before it and an
//! acknowledgement after it. 802.11-2020 §10.3: the distributed coordination function without collisions, which few stations
//! with short frames rarely have; retries are part of the loss and delay of a link.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto_api::{Rng, Seed};
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Datagram, Time};
use keytoll_net::Addr;

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
    /// Bytes on the air that are not in a datagram: the frame check sequence.
    pub trailer_bytes: u32,
}

impl Air {
    /// How long a frame is on the air, without what comes before and after it.
    pub fn duration(&self, frame: &Datagram) -> Duration {
        let is_basic = frame.protocol == self.basic || is_group(frame.to);
        let bits_per_s = if is_basic { self.basic_rate_bits_per_s } else { self.rate_bits_per_s };
        let bits = (frame.bytes.len() as u128 + u128::from(self.trailer_bytes)) * 8;
        let nanos = (bits * 1_000_000_000).div_ceil(u128::from(bits_per_s.max(1)));
        self.preamble + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    const fn acknowledgement(&self, to: Addr) -> Duration {
        if is_group(to) { Duration::ZERO } else { self.acknowledgement }
    }
}

/// 802.11-2020 §9.2.2: the first bit on the air tells groups from stations.
pub(crate) const fn is_group(to: Addr) -> bool {
    matches!(to, Addr::Mac([first, ..]) if first & 1 == 1)
}

/// The channels of a world.
#[derive(Debug, Default)]
pub(crate) struct Channels(BTreeMap<u8, Busy>);

/// A channel in use.
#[derive(Debug)]
struct Busy {
    until: Time,
    waits: Rng,
}

impl Channels {
    /// Lets a frame have its channel; returns when it has been sent.
    pub(crate) fn occupy(&mut self, air: &Air, now: Time, frame: &Datagram, seed: &Seed) -> Time {
        let new =
            || Busy { until: Time::ZERO, waits: seed.stream(&format!("air/{}/contention", air.channel)) };
        let busy = self.0.entry(air.channel).or_insert_with(new);
        let slots = busy.waits.below(u64::from(air.slots_max) + 1);
        let wait = air.idle_before + air.slot * u32::try_from(slots).unwrap_or(u32::MAX);
        let sent = busy.until.max(now) + wait + air.duration(frame);
        busy.until = sent + air.acknowledgement(frame.to);
        sent
    }
}
