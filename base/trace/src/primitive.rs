//! How long single primitives took on a machine, measurement by measurement: `primitives.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::Machine;

/// The format of [`Timings`].
pub const FORMAT: u32 = 1;

/// What was measured in one go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timings {
    /// The version of this interface.
    pub format: u32,
    /// The version of keytoll that measured.
    pub keytoll_version: String,
    /// When, in seconds since 1970-01-01T00:00:00Z.
    pub measured_unix_s: u64,
    /// What it ran on; `core_hz` is the frequency seen before and after, averaged.
    pub machine: Machine,
    /// The crypto library that computed.
    pub library: String,
    /// One for each primitive, in the order of the catalogue.
    pub timings: Vec<Timing>,
}

/// One primitive's times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// What kind of primitive, e.g. `groups`.
    pub family: String,
    /// The operation as the meter calls it, e.g. `agree`.
    pub operation: String,
    /// The algorithm as the meter calls it, e.g. `modp2048`.
    pub algorithm: String,
    /// How long private exponents were, if there are any: `short` or `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponents: Option<String>,
    /// That length in bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponent_bits: Option<u64>,
    /// Bytes that one operation worked on, if its cost depends on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// `weak`, `broken`, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub standing: String,
    /// Operations in each measurement: more than one where one alone is too short for the clock.
    pub batch: u32,
    /// CPU time of one operation in each measurement, in nanoseconds; none was left out.
    pub ns: Vec<f64>,
}
