//! Measurements of a study besides the authentications of its run: `supplement.json` in the run directory.

use std::io::{Read, Write};

use keytoll_trace::Node;
use keytoll_trace::primitive::Timings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, CellWant, Fit, LoadWant};
use crate::Named;
use crate::profile::{Packets, Profile};
use crate::simulation::Simulation;
use crate::stats::median95;
use crate::summary::Summary;

/// The format of [`Supplement`].
const FORMAT: u32 = 1;

pub use keytoll_trace::listing::SUPPLEMENT as FILE;

/// Measurements besides the run. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Supplement {
    /// The version of this interface.
    pub format: u32,
    /// A profile of the gateway for each method of the plan, with its suites side by side and their skeletons.
    #[serde(default)]
    pub profiles: Vec<Profile>,
    /// Packets through a tunnel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<Packets>,
    /// Key exchanges with every group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<Timings>,
    /// RSA, RC4 and SHA-1, as a paper timed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primitives: Option<Timings>,
    /// Many stations at one access point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
    /// Many devices at once, by formulas and in the simulator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub simulations: Vec<Simulation>,
    /// The run again, on other processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repetitions: Vec<Repetition>,
}

/// The run on other processors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// Their name: `host`, `calibrated` or `fitted`.
    pub processors: String,
    /// Their clocks in Hz; absent for nodes with this machine's.
    pub clocks_hz: Named<f64>,
    /// Its results.
    pub summary: Summary,
}

impl Default for Supplement {
    fn default() -> Self {
        Self {
            format: FORMAT,
            profiles: Vec::new(),
            packets: None,
            exchanges: None,
            primitives: None,
            cells: Vec::new(),
            simulations: Vec::new(),
            repetitions: Vec::new(),
        }
    }
}

/// The parts that a study needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants {
    /// A profile of each method, and of packets.
    pub profile: Option<ProfileWant>,
    /// The number of key exchanges with every group.
    pub exchanges: u64,
    /// The number of operations with each of RSA, RC4 and SHA-1.
    pub rsa_rc4_sha1: u64,
    /// Many stations at one access point: simulated, and counted.
    pub cells: &'static [CellWant],
    /// Many devices at once: computed, and simulated with the costs of a table.
    pub load: Option<LoadWant>,
    /// The run again with these processors, one after the other.
    pub processors: &'static [Processors],
}

/// A profile of each method, and of packets through a tunnel in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileWant {
    /// How many times the samples of the plan are profiled, and how many times a profile's usual packets are sent.
    pub times: u32,
    /// The ESP suites of the tunnels.
    pub esp_suites: &'static [&'static str],
}

/// Processors with which a study repeats its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processors {
    /// This machine's, not scaled.
    Host,
    /// So slow that a method takes as long as printed.
    Calibrated(&'static Calibration),
    /// So slow that a published delay and published cycles come out.
    Fitted(&'static Fit),
}

/// The printed computation of a method.
#[derive(Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The method.
    pub method: &'static str,
    /// Its numbers.
    pub printed: &'static [Printed],
}

/// The printed computation of a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    /// The node whose processor is calibrated.
    pub node: Node,
    /// The node whose computation was printed.
    pub of: Node,
    /// Its cycles in an authentication.
    pub cycles: u64,
    /// Its clock.
    pub clock_hz: u64,
}

impl Processors {
    /// Their name in the supplement.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Calibrated(_) => "calibrated",
            Self::Fitted(_) => "fitted",
        }
    }

    /// The clock of each node that has not this machine's; `earlier` are the repetitions made before this one. `None` if these lack
    /// a measurement that a calibration or a fit needs.
    pub fn clocks_hz(self, earlier: &[Repetition]) -> Option<Vec<(Node, f64)>> {
        match self {
            Self::Host => Some(Vec::new()),
            Self::Calibrated(calibration) => calibration.clocks_hz(&earlier.first()?.summary),
            Self::Fitted(fit) => fit.clocks_hz(&earlier.first()?.summary),
        }
    }

    /// Other clocks than those of a repetition with these processors, if it missed the number to which they are fitted.
    pub fn corrected_hz(self, earlier: &[Repetition], made: &Repetition) -> Option<Vec<(Node, f64)>> {
        match self {
            Self::Host | Self::Calibrated(_) => None,
            Self::Fitted(fit) => fit.corrected_hz(&earlier.first()?.summary, made),
        }
    }
}

impl Calibration {
    /// At these clocks the cycles that a node took in this run take as long as the printed ones did at theirs: the median of the
    /// method's rows, for a single row may have been measured while the machine was busy.
    fn clocks_hz(&self, run: &Summary) -> Option<Vec<(Node, f64)>> {
        let clock = |printed: &Printed| {
            let cycles = self.cycles(run, printed.of)?;
            Some((printed.node, cycles / printed.cycles as f64 * printed.clock_hz as f64))
        };
        self.printed.iter().map(clock).collect()
    }

    fn cycles(&self, run: &Summary, node: Node) -> Option<f64> {
        let rows = run.rows.iter().filter(|row| row.method == self.method);
        let cycles = rows.filter_map(|row| row.cpu.get(node.name())?.cycles_p50);
        median95(cycles).map(|(median, _)| median)
    }
}

impl Wants {
    /// The run alone.
    pub const NOTHING: Self =
        Self { profile: None, exchanges: 0, rsa_rc4_sha1: 0, cells: &[], load: None, processors: &[] };

    /// Whether the run alone will do.
    pub fn is_nothing(self) -> bool {
        self == Self::NOTHING
    }
}

/// Why a supplement cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SupplementError {
    /// Not JSON, or not with these fields.
    #[error("not a supplement: {0}")]
    Json(#[from] serde_json::Error),
    /// Of another version.
    #[error("supplement of format {found}, this keytoll reads format {FORMAT}")]
    Format {
        /// The format that it states.
        found: u32,
    },
}

impl Supplement {
    /// Writes it as indented JSON with a final newline.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, mut out: impl Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)
    }

    /// Reads it.
    ///
    /// # Errors
    /// It cannot be read, or is not a supplement of this format.
    pub fn read(input: impl Read) -> Result<Self, SupplementError> {
        let read: Self = serde_json::from_reader(input)?;
        match read.format {
            FORMAT => Ok(read),
            found => Err(SupplementError::Format { found }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_another_format_refused() {
        let mut bytes = Vec::new();
        Supplement::default().write(&mut bytes).unwrap();
        assert_eq!(Supplement::read(&bytes[..]).unwrap(), Supplement::default());
        let error = Supplement::read(&br#"{ "format": 7 }"#[..]).unwrap_err();
        assert_eq!(error.to_string(), "supplement of format 7, this keytoll reads format 1");
        assert!(Supplement::read(&b"{"[..]).is_err());
    }
}
