//! The sender's bit rate, and the queue in front of it.
//!
//! The queue is a drop-tail queue, measured in bytes that have not left yet, including the packet being sent. An idle sender
//! accepts any datagram.

use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::Time;
use keytoll_engine::trace::Fate;

use super::{Direction, Effect, Impairment, Kind, Passage};

/// The kind of impairment.
pub(super) const KIND: Kind = Kind { by_key: None, make };

fn make(direction: &Direction, _stream: &dyn Fn(&str) -> Rng) -> Option<Effect> {
    let bits_per_s = direction.rate_bits_per_s?.max(1);
    let queue_bytes_max = direction.queue_bytes_max;
    Some(Effect::Rate(Sender { bits_per_s, queue_bytes_max, idle_from: Time::ZERO }))
}

pub(crate) struct Sender {
    bits_per_s: u64,
    queue_bytes_max: u64,
    /// When everything accepted so far has left.
    idle_from: Time,
}

impl Impairment for Sender {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        let bytes = u64::from(passage.on_wire.bytes);
        let backlog = self.backlog_bytes(passage.handed);
        if backlog > 0 && backlog.saturating_add(bytes) > self.queue_bytes_max {
            passage.fate = Fate::QueueFull;
            return;
        }
        self.idle_from = self.idle_from.max(passage.handed) + self.serialisation(bytes);
        passage.arrives += self.idle_from.since(passage.handed);
    }

    fn busy_until(&self) -> Time {
        self.idle_from
    }

    fn renew(&mut self, _stream: &dyn Fn(&str) -> Rng) {
        self.idle_from = Time::ZERO;
    }
}

impl Sender {
    /// Rounded up: never faster than the rate.
    fn serialisation(&self, bytes: u64) -> Duration {
        // At most 2³² bytes × 8 bits × 10⁹: does not fit 64 bits, and must not wrap.
        let nanos = (u128::from(bytes) * 8 * 1_000_000_000).div_ceil(u128::from(self.bits_per_s));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Accepted bytes that have not left yet, rounded up.
    fn backlog_bytes(&self, now: Time) -> u64 {
        let left = self.idle_from.since(now);
        let bytes = (left.as_nanos() * u128::from(self.bits_per_s)).div_ceil(8 * 1_000_000_000);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}
