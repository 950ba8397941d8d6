//! Radio channels of wireless LANs: what a frame costs besides its bits, with the clause of IEEE Std 802.11-2020 of every number.

use std::time::Duration;

/// A kind of radio channel, at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Air {
    /// The name used in scenarios.
    pub name: &'static str,
    /// The rate of management frames and of frames to groups.
    pub basic_rate_bits_per_s: u64,
    /// The rate of all other frames.
    pub rate_bits_per_s: u64,
    /// DIFS.
    pub difs: Duration,
    /// The time of a slot.
    pub slot: Duration,
    /// CWmin: the most slots that a sender waits by lot before a frame.
    pub slots_max: u32,
    /// Preamble and PLCP header.
    pub preamble: Duration,
    /// SIFS and the ACK at the basic rate.
    pub acknowledgement: Duration,
    /// The clause that the numbers are from.
    pub source: &'static str,
}

/// Every kind. An ACK has 14 bytes.
pub static AIRS: [Air; 3] = [
    Air {
        name: "802.11b",
        basic_rate_bits_per_s: 1_000_000,
        rate_bits_per_s: 11_000_000,
        difs: Duration::from_micros(50),
        slot: Duration::from_micros(20),
        slots_max: 31,
        preamble: Duration::from_micros(192),
        // SIFS 10 µs, long preamble, 14 bytes at 1 Mbit/s.
        acknowledgement: Duration::from_micros(10 + 192 + 112),
        source: "IEEE 802.11-2020 §16.3.4 (HR/DSSS), long preamble",
    },
    Air {
        name: "802.11g",
        basic_rate_bits_per_s: 6_000_000,
        rate_bits_per_s: 54_000_000,
        difs: Duration::from_micros(28),
        slot: Duration::from_micros(9),
        slots_max: 15,
        // 20 µs, and the signal extension of 6 µs behind the frame.
        preamble: Duration::from_micros(26),
        // SIFS 10 µs; 16 bits of service, 112 of the ACK and 6 of the tail in 6 symbols of 4 µs at 6 Mbit/s.
        acknowledgement: Duration::from_micros(10 + 26 + 24),
        source: "IEEE 802.11-2020 §18.4.4 (ERP), short slot, no protection",
    },
    Air {
        name: "802.11a",
        basic_rate_bits_per_s: 6_000_000,
        rate_bits_per_s: 54_000_000,
        difs: Duration::from_micros(34),
        slot: Duration::from_micros(9),
        slots_max: 15,
        preamble: Duration::from_micros(20),
        acknowledgement: Duration::from_micros(16 + 20 + 24),
        source: "IEEE 802.11-2020 §17.4.4 (OFDM)",
    },
];

impl Air {
    /// The kind with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        AIRS.iter().find(|air| air.name == name)
    }
}
