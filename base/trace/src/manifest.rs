//! `manifest.json`: what was run, on what machine, and which files hold which row.
//!
//! It is written when a run begins (`complete: false`) and again when it ends, so that a run that was
//! interrupted still says what its files are.

use std::io::{Read, Write};

use serde::{Deserialize, Serialize};

/// The format written and the only one read.
pub const FORMAT: u32 = 1;

/// The table of contents of a run directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of keytoll that measured.
    pub keytoll_version: String,
    /// The title of the scenario.
    pub title: String,
    /// The study that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    /// The seed as text: JavaScript loses the low bits of 64-bit numbers.
    pub seed: String,
    /// What it ran on.
    pub machine: Machine,
    /// The resolved plan as a scenario file, which repeats the run.
    pub plan: String,
    /// False if the run was interrupted or is still going on.
    pub complete: bool,
    /// The rows, in the order of the plan.
    pub rows: Vec<ManifestRow>,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU as it calls itself.
    pub cpu: String,
    /// Kernel name and version.
    pub kernel: String,
    /// Logical CPUs.
    pub cores: u32,
    /// Ticks of the cycle counter per second.
    pub ticks_hz: f64,
    /// The frequency a core was seen running at.
    pub core_hz: f64,
}

/// One row: one method over one network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestRow {
    /// Counted from 0 in the order of the plan.
    pub index: u32,
    /// The method's name in the catalogue.
    pub method: String,
    /// What differs from the method's default, `chain=4,4`; empty for the default itself.
    pub variant: String,
    /// The network's name.
    pub network: String,
    /// The topology's name.
    pub topology: String,
    /// `sim` or `live`.
    pub world: String,
    /// `real`, `null` or `table`.
    pub crypto: String,
    /// How many authentications the plan asked for.
    pub samples_planned: u32,
    /// The file of its records, relative to the run directory.
    pub trace: String,
    /// The file of its costs, relative to the run directory.
    pub costs: String,
    /// What a reader of this row should know.
    pub notes: Vec<String>,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not JSON, or not with these fields.
    #[error("not a manifest: {0}")]
    Json(#[from] serde_json::Error),
    /// Of another version.
    #[error("manifest of format {found}, this keytoll reads format {FORMAT}")]
    Format {
        /// The format it says it has.
        found: u64,
    },
}

impl Manifest {
    /// Writes it as indented JSON with a final newline.
    pub fn write(&self, mut out: impl Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)
    }

    /// Reads it; another format is refused before its fields are looked at.
    pub fn read(mut input: impl Read) -> Result<Self, ManifestError> {
        let mut text = String::new();
        input.read_to_string(&mut text).map_err(serde_json::Error::io)?;
        let value: serde_json::Value = serde_json::from_str(&text)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(FORMAT) => Err(ManifestError::Format { found }),
            _ => Ok(serde_json::from_value(value)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            format: FORMAT,
            keytoll_version: "0.1.0".into(),
            title: "quickstart".into(),
            study: Some("a study".into()),
            seed: u64::MAX.to_string(),
            machine: Machine {
                cpu: "cpu".into(),
                kernel: "Linux 6.1".into(),
                cores: 2,
                ticks_hz: 2.1e9,
                core_hz: 3.05e9,
            },
            plan: "samples = 30\n".into(),
            complete: true,
            rows: vec![ManifestRow {
                index: 0,
                method: "ikev2-psk".into(),
                variant: String::new(),
                network: "wifi-11g".into(),
                topology: "raw".into(),
                world: "sim".into(),
                crypto: "real".into(),
                samples_planned: 30,
                trace: "trace/000.trace".into(),
                costs: "costs/000.costs".into(),
                notes: vec!["a note".into()],
            }],
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let mut bytes = Vec::new();
        manifest().write(&mut bytes).unwrap();
        assert!(bytes.ends_with(b"}\n"));
        assert_eq!(Manifest::read(&bytes[..]).unwrap(), manifest());
    }

    #[test]
    fn another_format_is_refused_by_number() {
        let error = Manifest::read(&br#"{ "format": 7 }"#[..]).unwrap_err();
        assert_eq!(error.to_string(), "manifest of format 7, this keytoll reads format 1");
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = Manifest::read(&br#"{ "format": 1, "title": "t" }"#[..]).unwrap_err();
        assert!(error.to_string().contains("keytoll_version"), "{error}");
    }
}
