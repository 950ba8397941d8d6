//! Made-up times of primitives.

use keytoll_trace::manifest::Machine;
use keytoll_trace::primitive::{Timing, Timings};

pub(crate) fn timing(operation: &str, algorithm: &str, bytes: Option<u64>, ns: &[f64]) -> Timing {
    Timing {
        family: "family".into(),
        operation: operation.into(),
        algorithm: algorithm.into(),
        exponents: None,
        exponent_bits: None,
        bytes,
        standing: String::new(),
        batch: 1,
        ns: ns.to_vec(),
    }
}

pub(crate) fn timings(timings: Vec<Timing>) -> Timings {
    Timings {
        format: keytoll_trace::primitive::FORMAT,
        keytoll_version: "0.1.0".into(),
        measured_unix_s: 1_800_000_000,
        machine: Machine {
            cpu: "cpu".into(),
            kernel: "Linux".into(),
            cores: 2,
            ticks_hz: 2e9,
            core_hz: 4e9,
            ..Machine::default()
        },
        library: "AWS-LC 1".into(),
        timings,
    }
}
