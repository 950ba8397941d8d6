//! What users send once the SAs are there.

use std::time::Duration;

/// What users send through the SAs after each authentication, or past them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// What kind; none: nothing is sent.
    pub kind: Option<TrafficKind>,
    /// For how long it is sent.
    pub duration: Duration,
    /// Length of its IP packets; none: the longest that go unfragmented, or a `ping`'s.
    pub packet_bytes: Option<u16>,
    /// Which way; echoes are answered the other way, bulk data is acknowledged.
    pub direction: TrafficDirection,
    /// Bits of IP packets a second; only for constant traffic.
    pub rate_bits_per_s: u64,
    /// From one echo request to the next.
    pub interval: Duration,
    /// The most bulk data that may be on its way.
    pub window_bytes: u32,
    /// Whether it goes through the child SA; otherwise past IPsec, for comparison.
    pub protected: bool,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            kind: None,
            duration: Duration::from_secs(10),
            packet_bytes: None,
            direction: TrafficDirection::Up,
            rate_bits_per_s: 1_000_000,
            interval: Duration::from_secs(1),
            window_bytes: 1 << 19,
            protected: true,
        }
    }
}

impl Traffic {
    /// With the default for everything that means nothing to its kind, so that rows that do not differ are equal.
    #[must_use]
    pub fn fitted(mut self) -> Self {
        let default = Self::default();
        if self.kind.is_none() {
            return default;
        }
        if self.kind != Some(TrafficKind::Constant) {
            self.rate_bits_per_s = default.rate_bits_per_s;
        }
        if self.kind != Some(TrafficKind::Echo) {
            self.interval = default.interval;
        }
        if self.kind != Some(TrafficKind::Bulk) {
            self.window_bytes = default.window_bytes;
        }
        self
    }
}

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficKind {
    /// ICMP echo requests at an interval.
    Echo,
    /// UDP datagrams at a constant rate.
    Constant,
    /// As much as a TCP-like window allows.
    Bulk,
}

impl TrafficKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Echo, Self::Constant, Self::Bulk];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "icmp",
            Self::Constant => "constant",
            Self::Bulk => "bulk",
        }
    }
}

/// Which way traffic flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficDirection {
    /// From the device.
    Up,
    /// To the device.
    Down,
    /// Both at once.
    Both,
}

impl TrafficDirection {
    /// Every direction.
    pub const ALL: [Self; 3] = [Self::Up, Self::Down, Self::Both];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
        }
    }

    /// Whether the device is a source.
    pub fn is_up(self) -> bool {
        self != Self::Down
    }

    /// Whether the gateway is one.
    pub fn is_down(self) -> bool {
        self != Self::Up
    }
}
