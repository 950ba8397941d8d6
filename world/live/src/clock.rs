//! The real clock as engines know time, and the operating system's randomness as the root of their streams.

use std::io;

use keytoll_engine::{Seed, Time};
use keytoll_native::clock;

/// Time since this clock was made.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self { origin_ns: clock::monotonic_ns() }
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
