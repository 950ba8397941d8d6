//! Traffic of users: what a node sent and received of it, in one fact when it has ended. A fact for each packet would be too
//! many.

use std::collections::BTreeMap;

use crate::stored;

/// What one node sent and received of the traffic that followed one authentication. Packets are those of users: before IPsec
/// protects them, and after it has opened them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// For how long the sources were to send, in nanoseconds.
    pub duration_ns: u64,
    /// IP packets sent, answers and acknowledgements included.
    pub out_packets: u64,
    /// Their bytes, IP headers included.
    pub out_bytes: u64,
    /// Of them, packets of the source here: requests, datagrams, segments with data; those sent again included.
    pub data_packets_sent: u64,
    /// Of these, segments sent again.
    pub repeated_packets: u64,
    /// How often the source gave up waiting for an acknowledgement.
    pub timeouts: u64,
    /// Packets with data that arrived here: replies, datagrams, segments; copies included.
    pub data_packets_got: u64,
    /// Data in them without headers, every byte counted once.
    pub payload_bytes: u64,
    /// When the last new byte arrived, in nanoseconds since the beginning.
    pub last_arrival_ns: u64,
    /// The longest time between two arrivals of new bytes, in nanoseconds.
    pub longest_gap_ns: u64,
    /// From a packet's departure to its answer's arrival, in nanoseconds.
    pub round_trips: Spread,
    /// From a packet's departure at the other node to its arrival here, in nanoseconds.
    pub one_way: Spread,
}

/// How values are spread, to within 1/128 of each: buckets that are a 64th of an octave wide.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spread {
    counts: BTreeMap<u32, u64>,
}

stored!(struct Traffic {
    duration_ns, out_packets, out_bytes, data_packets_sent, repeated_packets, timeouts, data_packets_got, payload_bytes,
    last_arrival_ns, longest_gap_ns, round_trips, one_way,
});
stored!(struct Spread { counts });

/// Buckets an octave, as a power of two.
const OCTAVE_BITS: u32 = 6;

impl Spread {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        *self.counts.entry(bucket(value)).or_default() += 1;
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The middles of the buckets that were hit, the least first, with how often.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(&bucket, &count)| (middle(bucket), count))
    }
}

/// Values up to 127 have a bucket each.
const fn bucket(value: u64) -> u32 {
    let octave = value.checked_ilog2();
    let shift = match octave {
        Some(octave) => octave.saturating_sub(OCTAVE_BITS),
        None => 0,
    };
    (shift << OCTAVE_BITS) + (value >> shift) as u32
}

const fn middle(bucket: u32) -> u64 {
    let shift = (bucket >> OCTAVE_BITS).saturating_sub(1);
    // A damaged file may hold any number.
    let shift = if shift > 63 - OCTAVE_BITS { 63 - OCTAVE_BITS } else { shift };
    let mantissa = (bucket as u64).saturating_sub((shift as u64) << OCTAVE_BITS);
    let half = (1 << shift) >> 1;
    match mantissa.checked_mul(1 << shift) {
        Some(low) => low.saturating_add(half),
        None => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_less_than_a_64th_wide() {
        for octave in 0..64 {
            for value in
                [1_u64 << octave, (1 << octave) + (1 << octave) / 3, (1_u64 << octave) | ((1 << octave) - 1)]
            {
                let near = middle(bucket(value));
                assert!(near.abs_diff(value) <= value / 128, "{value} counts as {near}");
            }
        }
        assert_eq!((middle(bucket(0)), middle(bucket(127))), (0, 127));
    }

    #[test]
    fn buckets_rise_with_their_values_and_any_number_is_no_panic() {
        let mut last = 0;
        for value in (0..100_000).chain([u64::MAX / 2, u64::MAX]) {
            assert!(bucket(value) >= last);
            last = bucket(value);
        }
        assert!([0, last, last + 1, u32::MAX].map(middle).is_sorted());
    }

    #[test]
    fn values_come_back_with_their_counts() {
        let mut spread = Spread::default();
        [5, 5, 1_000_000, 3].iter().for_each(|&value| spread.add(value));
        let values: Vec<_> = spread.values().collect();
        assert_eq!((values[0], values[1], values[2].1, spread.count()), ((3, 1), (5, 2), 1, 4));
    }
}
