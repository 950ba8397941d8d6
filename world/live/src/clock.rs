//! The real clock as engines know time, and the operating system's randomness as the root of their streams.

use std::io;

use keytoll_crypto_api::Seed;
use keytoll_engine::Time;
use keytoll_native::clock;

/// Time since this clock's origin.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self::at(clock::monotonic_ns())
    }

    /// A clock that began at this moment of the machine's CLOCK_MONOTONIC: processes that are told the same origin see
    /// the same time, so that what they note can be merged.
    pub const fn at(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    /// When it began, on the machine's CLOCK_MONOTONIC.
    pub const fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Now.
    pub fn now(&self) -> Time {
        Time::from_nanos(clock::monotonic_ns().saturating_sub(self.origin_ns))
    }
}

/// A root for random streams that nobody can guess.
pub fn os_seed() -> io::Result<Seed> {
    let mut bytes = [0; 32];
    clock::os_random(&mut bytes)?;
    Ok(Seed::from_bytes(bytes))
}
