//! Processors a node can be given instead of the one keytoll runs on.
//!
//! Scaling is by clock frequency only: a computation that took so many cycles here is charged as many cycles at the
//! profile's frequency. Instruction sets (AES, wide multiplication), caches and the width of the pipeline stay those of
//! the host, so an old processor comes out too fast, the more so the more the work profits from new instructions.

use super::Entry;
use crate::plan::CpuProfile;
use crate::quantity::{Kind, print};

/// A processor of the catalogue.
pub(crate) struct Cpu {
    /// The name scenarios use.
    pub(crate) name: &'static str,
    /// Clock frequency; none for the host's own.
    pub(crate) hz: Option<u64>,
    summary: &'static str,
    source: &'static str,
}

/// Every processor, in the order of the catalogue.
pub(crate) const ALL: &[Cpu] = &[
    Cpu {
        name: "host",
        hz: None,
        summary: "the machine keytoll runs on, not scaled",
        source: "measured at the start of the run",
    },
    Cpu {
        name: "pentium-m-1600",
        hz: Some(1_600_000_000),
        summary: "Intel Pentium M",
        source: "Faigl 2009, testbed: UE",
    },
    Cpu {
        name: "p4-3000",
        hz: Some(3_000_000_000),
        summary: "Intel Pentium 4",
        source: "Faigl 2009, testbed: GW and AAA server",
    },
    Cpu {
        name: "mips-125",
        hz: Some(125_000_000),
        summary: "MIPS of an embedded device",
        source: "the RRKM thesis: 10 000 hashes in 55 ms",
    },
];

impl Cpu {
    /// How the list shows it.
    pub(super) fn entry(&self) -> Entry {
        let frequency = self.hz.map_or_else(String::new, |hz| format!(", {}", print(Kind::Frequency, hz)));
        Entry {
            name: self.name.to_owned(),
            summary: format!("{}{frequency}", self.summary),
            source: self.source.to_owned(),
            standing: if self.hz.is_some() { "scaled by clock only" } else { "" },
        }
    }
}

impl CpuProfile {
    /// A processor of the catalogue with one core.
    pub fn named(name: &str) -> Option<Self> {
        let cpu = ALL.iter().find(|cpu| cpu.name == name)?;
        Some(Self { name: name.to_owned(), hz: cpu.hz.map(|hz| hz as f64), cores: 1, costs: None })
    }
}

impl Default for CpuProfile {
    /// The host, one core.
    fn default() -> Self {
        Self { name: "host".to_owned(), hz: None, cores: 1, costs: None }
    }
}
