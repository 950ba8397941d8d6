//! The sender of bulk data: the congestion window and retransmissions. RFC 5681, RFC 6582, RFC 6298.

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_engine::{Deadline, Time};

use super::unwrapped;
use crate::traffic::{Common, nanos};

/// RFC 6928: the initial window.
const INITIAL_SEGMENTS: u64 = 10;
/// RFC 6298 §2: before the first measurement.
const TIMEOUT_FIRST: Duration = Duration::from_secs(1);
/// Linux's minimum; RFC 6298 §2.4 requires one second, but permits changing it.
const TIMEOUT_MIN: Duration = Duration::from_millis(200);
/// RFC 6298 §2.5.
const TIMEOUT_MAX: Duration = Duration::from_secs(60);
/// RFC 5681 §3.2: so many duplicate acknowledgements indicate a lost segment.
const DUPLICATES: u32 = 3;

/// A segment to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) sequence: u32,
    pub(super) bytes: u64,
    pub(super) repeated: bool,
}

#[derive(Debug)]
pub(super) struct Sender {
    segment_bytes: u64,
    window_bytes: u64,
    /// The first unacknowledged byte, and the next to be sent.
    unacknowledged: u64,
    next: u64,
    /// End of everything ever sent: data below it is a retransmission.
    highest: u64,
    /// RFC 5681 §3.1: cwnd and ssthresh.
    congestion_bytes: u64,
    threshold_bytes: u64,
    /// RFC 3465: bytes acknowledged since the window last grew.
    counted_bytes: u64,
    duplicates: u32,
    phase: Phase,
    /// Segments in flight, the oldest first: their end, departure, and whether their round-trip time may be measured.
    flying: VecDeque<Flying>,
    /// To be sent again at once.
    again: bool,
    round_trip: Option<RoundTrip>,
    backoff: u32,
    timer: Option<Time>,
    begins: Option<Time>,
}

/// RFC 6582 §3.2: the purpose of `recover`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No known loss. Duplicate acknowledgements below this byte stem from the last recovery.
    Open { since: u64 },
    /// A loss is being repaired until this byte is acknowledged.
    Recovery { until: u64 },
}

#[derive(Debug, Clone, Copy)]
struct Flying {
    end: u64,
    left: Time,
    repeated: bool,
}

/// RFC 6298 §2.
#[derive(Debug, Clone, Copy)]
struct RoundTrip {
    smoothed: Duration,
    variation: Duration,
}

impl RoundTrip {
    fn first(measured: Duration) -> Self {
        Self { smoothed: measured, variation: measured / 2 }
    }

    /// RFC 6298 §2.3: alpha is an eighth, beta a quarter.
    fn next(self, measured: Duration) -> Self {
        let variation = (self.variation * 3 + self.smoothed.abs_diff(measured)) / 4;
        Self { smoothed: (self.smoothed * 7 + measured) / 8, variation }
    }

    fn timeout(self) -> Duration {
        (self.smoothed + self.variation * 4).clamp(TIMEOUT_MIN, TIMEOUT_MAX)
    }
}

impl Sender {
    pub(super) fn new(at: Time, segment_bytes: u64, window_bytes: u64) -> Self {
        Self {
            segment_bytes,
            window_bytes,
            unacknowledged: 0,
            next: 0,
            highest: 0,
            congestion_bytes: INITIAL_SEGMENTS * segment_bytes,
            threshold_bytes: u64::MAX,
            counted_bytes: 0,
            duplicates: 0,
            phase: Phase::Open { since: 0 },
            flying: VecDeque::new(),
            again: false,
            round_trip: None,
            backoff: 0,
            timer: None,
            begins: Some(at),
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let begins = self.begins.map(|at| Deadline { at, why: "bulk data begins" });
        begins.or(self.timer.map(|at| Deadline { at, why: "retransmission timeout" }))
    }

    /// The next segment that may be sent; only retransmissions unless `fresh`.
    pub(super) fn poll(&mut self, now: Time, fresh: bool) -> Option<Sent> {
        if std::mem::take(&mut self.again) {
            return Some(self.repeat_first(now));
        }
        let end = self.next + self.segment_bytes;
        let repeated = self.next < self.highest;
        let allowed = self.unacknowledged + self.congestion_bytes.min(self.window_bytes);
        if end > allowed || (!repeated && !fresh) || self.begins.is_some() {
            return None;
        }
        let sent = Sent { sequence: self.next as u32, bytes: self.segment_bytes, repeated };
        self.flying.push_back(Flying { end, left: now, repeated });
        self.next = end;
        self.highest = self.highest.max(end);
        self.timer = self.timer.or(Some(now + self.timeout()));
        Some(sent)
    }

    pub(super) fn tick(&mut self, now: Time, common: &mut Common) {
        self.begins = self.begins.filter(|begins| *begins > now);
        if self.timer.is_some_and(|timer| timer <= now) {
            common.account.timeouts += 1;
            self.timed_out(now);
        }
    }

    pub(super) fn acknowledged(&mut self, number: u32, now: Time, common: &mut Common) {
        let Some(place) = unwrapped(number, self.unacknowledged) else { return };
        if place > self.highest {
            return;
        }
        if place > self.unacknowledged {
            self.measure(place, now, common);
            self.advance(place, now);
        } else if place == self.unacknowledged && self.next > place {
            self.duplicate(now);
        }
    }

    /// RFC 6298 §3 (Karn): segments that were retransmitted, or that waited behind one at the receiver, are not measured.
    fn measure(&mut self, place: u64, now: Time, common: &mut Common) {
        let (mut newest, mut repeated) = (None, false);
        while let Some(flying) = self.flying.front().copied().filter(|flying| flying.end <= place) {
            newest = Some(flying);
            repeated |= flying.repeated;
            self.flying.pop_front();
        }
        let Some(flying) = newest.filter(|_| !repeated) else { return };
        let measured = now.since(flying.left);
        common.account.round_trips.add(nanos(measured));
        self.round_trip =
            Some(self.round_trip.map_or_else(|| RoundTrip::first(measured), |rtt| rtt.next(measured)));
        self.backoff = 0;
    }

    fn advance(&mut self, place: u64, now: Time) {
        let bytes = place - self.unacknowledged;
        self.unacknowledged = place;
        self.next = self.next.max(place);
        self.duplicates = 0;
        match self.phase {
            Phase::Recovery { until } if place < until => self.partial(bytes),
            Phase::Recovery { .. } => {
                // RFC 6582 §3.2: the window that the loss left, but no burst.
                self.congestion_bytes =
                    self.threshold_bytes.min(self.flight().max(self.segment_bytes) + self.segment_bytes);
                self.phase = Phase::Open { since: place };
            }
            Phase::Open { .. } => self.grow(bytes),
        }
        // RFC 6298 §5.2 and §5.3.
        self.timer = (self.next > self.unacknowledged).then(|| now + self.timeout());
    }

    /// RFC 6582 §3.2: a partial acknowledgement means that the next segment is lost, too.
    fn partial(&mut self, bytes: u64) {
        self.again = true;
        self.congestion_bytes = self.congestion_bytes.saturating_sub(bytes).max(self.segment_bytes);
        if bytes >= self.segment_bytes {
            self.congestion_bytes += self.segment_bytes;
        }
    }

    /// RFC 5681 §3.1, counted in bytes as in RFC 3465.
    fn grow(&mut self, bytes: u64) {
        if self.congestion_bytes < self.threshold_bytes {
            self.congestion_bytes += bytes.min(2 * self.segment_bytes);
        } else {
            self.counted_bytes += bytes;
            if self.counted_bytes >= self.congestion_bytes {
                self.counted_bytes -= self.congestion_bytes;
                self.congestion_bytes += self.segment_bytes;
            }
        }
        // Growth beyond the receiver's window has no effect.
        self.congestion_bytes = self.congestion_bytes.min(2 * self.window_bytes);
    }

    /// RFC 5681 §3.2.
    fn duplicate(&mut self, now: Time) {
        self.duplicates += 1;
        match self.phase {
            Phase::Recovery { .. } => self.congestion_bytes += self.segment_bytes,
            Phase::Open { since } if self.duplicates == DUPLICATES && self.unacknowledged >= since => {
                self.halve();
                self.congestion_bytes = self.threshold_bytes + u64::from(DUPLICATES) * self.segment_bytes;
                self.phase = Phase::Recovery { until: self.highest };
                self.again = true;
                self.timer = Some(now + self.timeout());
            }
            Phase::Open { .. } => {}
        }
    }

    /// RFC 5681 §3.1 and RFC 6298 §5: everything from the first unacknowledged byte on is retransmitted, slowly.
    fn timed_out(&mut self, now: Time) {
        self.halve();
        self.congestion_bytes = self.segment_bytes;
        (self.counted_bytes, self.duplicates) = (0, 0);
        self.phase = Phase::Open { since: self.highest };
        self.next = self.unacknowledged;
        self.flying.clear();
        self.backoff = (self.backoff + 1).min(16);
        self.timer = Some(now + self.timeout());
    }

    fn halve(&mut self) {
        self.threshold_bytes = (self.flight() / 2).max(2 * self.segment_bytes);
    }

    fn repeat_first(&mut self, now: Time) -> Sent {
        if let Some(first) = self.flying.front_mut() {
            (first.repeated, first.left) = (true, now);
        }
        Sent { sequence: self.unacknowledged as u32, bytes: self.segment_bytes, repeated: true }
    }

    /// RFC 5681 §2: bytes sent and not acknowledged.
    const fn flight(&self) -> u64 {
        self.next - self.unacknowledged
    }

    fn timeout(&self) -> Duration {
        let timeout = self.round_trip.map_or(TIMEOUT_FIRST, RoundTrip::timeout);
        timeout.saturating_mul(1 << self.backoff).min(TIMEOUT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::traffic::{Config, Kind};

    /// RFC 6298 §3: a segment behind a gap is acknowledged when the gap is filled, which says nothing about the path.
    #[test]
    fn segments_behind_a_retransmission_are_not_measured() {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let config = Config {
            kind: Kind::Bulk { window_bytes: 10_000 },
            sends: true,
            duration: Duration::from_secs(9),
            packet_bytes: None,
            protected: false,
            local: ip,
            remote: ip,
            mtu_bytes: 1500,
        };
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut common = Common::open(&config, at(0));
        let mut sender = Sender::new(at(0), 100, 500);
        sender.tick(at(0), &mut common);
        assert_eq!(std::iter::from_fn(|| sender.poll(at(0), true)).count(), 5);
        (0..3).for_each(|_| sender.acknowledged(0, at(10), &mut common));
        let repeated = sender.poll(at(10), true).unwrap();
        assert_eq!((repeated.sequence, repeated.repeated), (0, true));
        sender.acknowledged(500, at(190), &mut common);
        assert_eq!((common.account.round_trips.count(), sender.round_trip.is_none()), (0, true));
        assert!(sender.poll(at(190), true).is_some());
        sender.acknowledged(600, at(200), &mut common);
        assert_eq!(common.account.round_trips.count(), 1);
    }
}
