//! The cost of single primitives, measured through the same `Crypto` trait that the protocols use.
//!
//! ```text
//! Ask --catalogue--> Primitive --workload--> what to repeat --stopwatch--> CPU time of each measurement
//! ```
//!
//! * [`catalogue`] lists all primitives of the trait, and finds them by name.
//! * `workload` prepares keys and messages, so that only the primitive is repeated.
//! * `stopwatch` warms up and measures; no measurement is discarded.

pub mod catalogue;
mod stopwatch;
mod workload;

use std::sync::atomic::{AtomicBool, Ordering};

use keytoll_crypto::{Exponents, Provider, Real};
use keytoll_native::clock;
use keytoll_trace::manifest::Machine;
use keytoll_trace::primitive::{FORMAT, Timing, Timings};

pub use catalogue::{Ask, Family, Operation, Primitive};
pub use stopwatch::Effort;

use stopwatch::Stopwatch;
use workload::Workloads;

/// The crypto library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Library {
    /// AWS-LC.
    #[default]
    AwsLc,
    /// The system's OpenSSL.
    #[cfg(feature = "ossl")]
    OpenSsl,
}

impl Library {
    /// Its name, with its version if it has one.
    pub fn version(self) -> String {
        match self {
            Self::AwsLc => keytoll_native::awslc::version().to_owned(),
            #[cfg(feature = "ossl")]
            Self::OpenSsl => keytoll_crypto::Ossl::version().to_owned(),
        }
    }

    /// Whether it supports this operation.
    pub fn has(self, operation: Operation) -> bool {
        match self {
            Self::AwsLc => match operation {
                Operation::Generate(group) | Operation::Agree(group) | Operation::Exchange(group) => {
                    Real::supports(group)
                }
                _ => true,
            },
            #[cfg(feature = "ossl")]
            Self::OpenSsl => operation.algorithm() != "aesxcbc" && operation.algorithm() != "prfaesxcbc",
        }
    }

    fn provider(self, exponents: Exponents) -> Provider {
        match self {
            Self::AwsLc => Provider::Real(Real::new(exponents)),
            #[cfg(feature = "ossl")]
            Self::OpenSsl => Provider::Ossl(keytoll_crypto::Ossl::new(exponents)),
        }
    }
}

/// Measures every primitive in turn on this thread; `progress` is called after each. `None` if stopped.
pub fn measure(
    primitives: &[Primitive],
    library: Library,
    effort: Effort,
    machine: Machine,
    progress: &dyn Fn(),
    stop: &AtomicBool,
) -> Option<Timings> {
    let before_hz = clock::core_hz();
    let (stopwatch, mut workloads) = (Stopwatch::new(effort), Workloads::new(library));
    let mut timings = Vec::with_capacity(primitives.len());
    for primitive in primitives {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let (batch, ns) = stopwatch.time(&mut workloads.of(primitive));
        timings.push(timing(primitive, batch, ns));
        progress();
    }
    Some(Timings {
        format: FORMAT,
        keytoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured_unix_s: clock::unix_seconds(),
        machine: Machine { core_hz: f64::midpoint(before_hz, clock::core_hz()), ..machine },
        library: library.version(),
        timings,
    })
}

fn timing(primitive: &Primitive, batch: u32, ns: Vec<f64>) -> Timing {
    let operation = primitive.operation;
    let of_group = operation.group().zip(primitive.exponents);
    Timing {
        family: operation.family().name().to_owned(),
        operation: operation.name().to_owned(),
        algorithm: operation.algorithm(),
        exponents: primitive.exponents.map(|exponents| catalogue::name_of(exponents).to_owned()),
        exponent_bits: of_group.and_then(|(group, exponents)| exponents.bits(group)).map(|bits| bits as u64),
        bytes: primitive.sized.then_some(primitive.bytes as u64),
        standing: operation.standing().mark().to_owned(),
        batch,
        ns,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn machine() -> Machine {
        Machine { cpu: "test".into(), cores: 1, ticks_hz: 1e9, core_hz: 1e9, ..Machine::default() }
    }

    /// Every primitive of the catalogue runs, is counted, and takes time.
    #[test]
    fn everything_in_the_catalogue_can_be_measured() {
        let ask = Ask { sizes: vec![64], ..Ask::default() };
        let quick =
            |primitive: &Primitive| primitive.operation.group().is_none_or(|group| group.public_len() < 400);
        let primitives: Vec<_> = catalogue::all(&ask, Library::default()).into_iter().filter(quick).collect();
        let (ticks, stop) = (Cell::new(0), AtomicBool::new(false));
        let effort = Effort { operations: Some(2), ..Effort::default() };
        let tick = || ticks.set(ticks.get() + 1);
        let timings = measure(&primitives, Library::default(), effort, machine(), &tick, &stop).unwrap();
        assert_eq!((timings.timings.len(), ticks.get()), (primitives.len(), primitives.len()));
        for timing in &timings.timings {
            assert_eq!((timing.batch, timing.ns.len()), (1, 2), "{timing:?}");
        }
        let mean = |operation: &str, algorithm: &str| {
            let found = |timing: &&Timing| timing.operation == operation && timing.algorithm == algorithm;
            timings.timings.iter().find(found).unwrap().ns.iter().sum::<f64>()
        };
        assert!(mean("rsa-decrypt", "rsa4096") > mean("hash", "sha1"), "the clock counts");
    }

    #[test]
    fn a_stopped_measurement_gives_nothing() {
        let primitives = catalogue::all(&Ask::default(), Library::default());
        let stop = AtomicBool::new(true);
        let timings = measure(&primitives, Library::default(), Effort::default(), machine(), &|| (), &stop);
        assert_eq!(timings, None);
    }
}
