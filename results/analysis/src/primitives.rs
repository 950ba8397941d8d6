//! Statistics of single primitives, and their uses: a table of costs, the tables of papers.
//!
//! No measurement is excluded: extremes and spread are those of everything that was measured.

mod costs;

use keytoll_trace::manifest::Machine;
use keytoll_trace::primitive::{Timing, Timings};
use keytoll_trace::provenance::Provenance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::{Welford, interval95, median95};
use crate::summary::Median;

pub use costs::table as costs;

/// The format of [`Primitives`].
pub const FORMAT: u32 = 1;

/// What primitives cost on a machine. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Primitives {
    /// The version of this interface.
    pub format: u32,
    /// Version, arguments, time and machine of the measurement; absent in files from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The version of keytoll that measured.
    pub keytoll_version: String,
    /// The time of the measurement, in seconds since 1970-01-01T00:00:00Z.
    pub measured_unix_s: u64,
    /// The machine.
    pub machine: Machine,
    /// The crypto library that computed.
    pub library: String,
    /// One for each primitive, in the order of the catalogue.
    pub primitives: Vec<PrimitiveCost>,
}

/// The cost of one primitive: CPU time of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrimitiveCost {
    /// The kind of primitive.
    pub family: String,
    /// The operation.
    pub operation: String,
    /// The algorithm.
    pub algorithm: String,
    /// The length of private exponents, if there are any: `short` or `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponents: Option<String>,
    /// That length in bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent_bits: Option<u64>,
    /// Bytes per operation, if its cost depends on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// `weak`, `broken`, or empty.
    pub standing: String,
    /// How many measurements.
    pub n: u64,
    /// Operations per measurement: extremes and deviation are those of their means.
    pub batch: u32,
    /// Median, in nanoseconds.
    pub p50_ns: f64,
    /// Lower end of its distribution-free 95 % interval; absent below six measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci95_low_ns: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ci95_high_ns: Option<f64>,
    /// Mean, in nanoseconds.
    pub mean_ns: f64,
    /// Half the width of the mean's 95 % interval, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95_half_ns: Option<f64>,
    /// The least.
    pub min_ns: f64,
    /// The greatest.
    pub max_ns: f64,
    /// Standard deviation of the sample, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stddev_ns: Option<f64>,
    /// The median in cycles of the core at its observed frequency.
    pub cycles: f64,
    /// Operations per second on one core, from the median.
    pub operations_per_s: f64,
    /// Bytes per second on one core, if the cost depends on them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
}

impl PrimitiveCost {
    /// The median with its interval, in nanoseconds.
    pub fn median(&self) -> Median {
        Median { value: self.p50_ns, interval: self.p50_ci95_low_ns.zip(self.p50_ci95_high_ns) }
    }
}

/// Computes the statistics of all measurements.
pub fn summarise(timings: &Timings) -> Primitives {
    let cost = |timing: &Timing| cost(timing, timings.machine.core_hz);
    Primitives {
        format: FORMAT,
        provenance: None,
        keytoll_version: timings.keytoll_version.clone(),
        measured_unix_s: timings.measured_unix_s,
        machine: timings.machine.clone(),
        library: timings.library.clone(),
        primitives: timings.timings.iter().filter_map(cost).collect(),
    }
}

/// None if nothing was measured.
fn cost(timing: &Timing, core_hz: f64) -> Option<PrimitiveCost> {
    let values = values(timing);
    let (p50_ns, interval) = median95(timing.ns.iter().copied())?;
    let operations_per_s = 1e9 / p50_ns;
    Some(PrimitiveCost {
        family: timing.family.clone(),
        operation: timing.operation.clone(),
        algorithm: timing.algorithm.clone(),
        exponents: timing.exponents.clone(),
        exponent_bits: timing.exponent_bits,
        bytes: timing.bytes,
        standing: timing.standing.clone(),
        n: values.n(),
        batch: timing.batch,
        p50_ns,
        p50_ci95_low_ns: interval.map(|interval| interval.low),
        p50_ci95_high_ns: interval.map(|interval| interval.high),
        mean_ns: values.mean()?,
        ci95_half_ns: interval95(&values).map(|interval| (interval.high - interval.low) / 2.0),
        min_ns: values.min()?,
        max_ns: values.max()?,
        stddev_ns: values.stddev(),
        cycles: p50_ns * core_hz / 1e9,
        operations_per_s,
        bytes_per_s: timing.bytes.map(|bytes| bytes as f64 * operations_per_s),
    })
}

fn values(timing: &Timing) -> Welford {
    let mut values = Welford::default();
    timing.ns.iter().for_each(|&ns| values.add(ns));
    values
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

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

    #[test]
    fn a_worked_example() {
        let measured = timings(vec![timing("hash", "sha1", Some(100), &[10.0, 20.0, 30.0])]);
        let summary = summarise(&measured);
        let cost = &summary.primitives[0];
        assert_eq!((cost.n, cost.mean_ns, cost.min_ns, cost.max_ns), (3, 20.0, 10.0, 30.0));
        assert_eq!((cost.stddev_ns, cost.cycles), (Some(10.0), 80.0));
        assert_eq!(cost.median(), Median { value: 20.0, interval: None });
        assert_eq!((cost.operations_per_s, cost.bytes_per_s), (5e7, Some(5e9)));
        // t(0.975; 2) = 4.3026527, half = t · 10 ÷ √3.
        assert!((cost.ci95_half_ns.unwrap() - 4.302_652_7 * 10.0 / 3.0_f64.sqrt()).abs() < 1e-4);
    }

    #[test]
    fn one_interruption_moves_the_mean_and_not_the_rate() {
        let interrupted = [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 4000.0];
        let cost =
            summarise(&timings(vec![timing("sign", "rsa2048", None, &interrupted)])).primitives.remove(0);
        assert_eq!((cost.p50_ns, cost.operations_per_s, cost.cycles), (10.0, 1e8, 40.0));
        assert!(cost.mean_ns > 500.0);
    }

    #[test]
    fn unmeasured_primitives_are_left_out() {
        assert_eq!(summarise(&timings(vec![timing("hash", "sha1", None, &[])])).primitives, []);
    }
}
