//! `manifest.json`: what was run, on what machine, and which files hold which row.
//!
//! It is written when a run begins (`complete: false`) and again when it ends, so that a run that was
//! interrupted still says what its files are. When it has ended, `files` says how long each of them is.

use std::io::{Read, Write};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::listing::{RunFile, is_of_a_run};
use crate::provenance::Provenance;

/// The format written and the only one read.
pub const FORMAT: u32 = 2;

/// No manifest is longer: ten thousand rows take a tenth of it.
const BYTES_MAX: u64 = 1 << 28;

/// What every manifest says it is, because other programs have files of this name.
pub const KIND: &str = "keytoll run";

/// The note of a row with a cost table without prices of messages; columns of CPU time have the same mark.
pub const CRYPTOGRAPHY_ONLY: &str =
    "† CPU time of cryptography only (nodes need more), because the cost table has no price of a message";

/// The table of contents of a run directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// What every manifest of keytoll says it is.
    pub kind: String,
    /// The version of this interface.
    pub format: u32,
    /// Which keytoll measured, told what, when and on what machine: members of this very object.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// The title of the scenario.
    pub title: String,
    /// The study that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    /// The seed as text: JavaScript loses the low bits of 64-bit numbers.
    pub seed: String,
    /// The resolved plan as a scenario file, which repeats the run.
    pub plan: String,
    /// False if the run was interrupted or is still going on.
    pub complete: bool,
    /// Whether traces and costs were kept.
    pub traced: bool,
    /// The rows, in the order of the plan.
    pub rows: Vec<ManifestRow>,
    /// The other files of the run as they were written; empty while it is going on, and if it was killed.
    pub files: Vec<RunFile>,
}

/// The machine of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Its name in its network; `null` if it was not noted.
    #[serde(default)]
    pub host: Option<String>,
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
    /// Who sets the frequency of its first CPU, like `performance`; `null` where Linux does not, as in most virtual
    /// machines, or if it was not noted.
    #[serde(default)]
    pub governor: Option<String>,
}

/// One row: one method over one network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// `real`, `openssl`, `null`, `table` or `captured`.
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

impl ManifestRow {
    /// The note on a row of which fewer authentications were measured than planned.
    pub fn shortfall(&self, measured: u64) -> Option<String> {
        let planned = self.samples_planned;
        (measured < planned.into()).then(|| {
            format!("{measured} of {planned} authentications were measured: this row is not complete")
        })
    }
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not JSON, or not with these fields.
    #[error("not a whole manifest: {0}")]
    Json(#[from] serde_json::Error),
    /// Somebody else's.
    #[error("it was not written by keytoll: it does not say `\"kind\": \"{KIND}\"`")]
    Foreign,
    /// It names a file that no run has.
    #[error("it names `{0}`, which is no file of a run")]
    Outside(String),
    /// Of another version.
    #[error("manifest of format {found}, this keytoll reads format {FORMAT}")]
    Format {
        /// The format it says it has.
        found: u64,
    },
}

impl Manifest {
    /// Writes it as indented JSON with a final newline.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn write(&self, mut out: impl Write) -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut out, self)?;
        writeln!(out)
    }

    /// Reads it; one of somebody else and one of another format are refused before their fields are looked at, and one that
    /// leads out of its directory.
    ///
    /// # Errors
    /// When it cannot be read, or is one of these.
    pub fn read(input: impl Read) -> Result<Self, ManifestError> {
        let mut text = String::new();
        input.take(BYTES_MAX).read_to_string(&mut text).map_err(serde_json::Error::io)?;
        let value: serde_json::Value = serde_json::from_str(&text)?;
        if !is_ours(&value) {
            return Err(ManifestError::Foreign);
        }
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(FORMAT) => Err(ManifestError::Format { found }),
            _ => serde_json::from_value::<Self>(value)?.within_its_directory(),
        }
    }

    /// The same, if every file that it names has a name of ours.
    fn within_its_directory(self) -> Result<Self, ManifestError> {
        let of_rows = self.rows.iter().flat_map(|row| [&row.trace, &row.costs]);
        let named: Vec<&String> = of_rows.chain(self.files.iter().map(|file| &file.path)).collect();
        match named.into_iter().find(|path| !is_of_a_run(Path::new(path))) {
            Some(outside) => Err(ManifestError::Outside(outside.clone())),
            None => Ok(self),
        }
    }

    /// The file of this path as it was written.
    pub fn file(&self, path: &str) -> Option<&RunFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether it says how long its files are.
    pub fn is_sealed(&self) -> bool {
        !self.files.is_empty()
    }
}

/// Whether keytoll wrote it, this version or another. The first format did not say what it is.
fn is_ours(manifest: &serde_json::Value) -> bool {
    let is_first = || {
        let has = |field| manifest.get(field).is_some();
        manifest.get("format").and_then(serde_json::Value::as_u64) == Some(1)
            && ["keytoll_version", "machine", "plan", "rows"].into_iter().all(has)
    };
    manifest.get("kind").and_then(serde_json::Value::as_str) == Some(KIND) || is_first()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Load;

    fn provenance() -> Provenance {
        Provenance {
            keytoll_commit: Some("1b27e3e".into()),
            crypto_library: Some("AWS-LC 1".into()),
            command: Some(vec!["keytoll".into(), "run".into()]),
            load_at_begin: Some(Load::of([0.5, 0.25, 1.0])),
            ..Provenance::of("0.1.0", machine())
        }
    }

    fn machine() -> Machine {
        Machine {
            host: Some("host".into()),
            cpu: "cpu".into(),
            kernel: "Linux 6.1".into(),
            cores: 2,
            ticks_hz: 2.1e9,
            core_hz: 3.05e9,
            governor: Some("performance".into()),
        }
    }

    fn manifest() -> Manifest {
        Manifest {
            kind: KIND.into(),
            format: FORMAT,
            provenance: provenance(),
            title: "quickstart".into(),
            study: Some("a study".into()),
            seed: u64::MAX.to_string(),
            plan: "samples = 30\n".into(),
            complete: true,
            traced: true,
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
            files: vec![RunFile { path: "samples.csv".into(), bytes: 17, crc32: 4711, rows: Some(1) }],
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let mut bytes = Vec::new();
        manifest().write(&mut bytes).unwrap();
        assert!(bytes.ends_with(b"}\n"));
        assert_eq!(Manifest::read(&bytes[..]).unwrap(), manifest());
    }

    /// Runs of before there was provenance can be reported, and nobody invents any for them.
    #[test]
    fn a_manifest_without_provenance_is_read() {
        let mut old = serde_json::to_value(manifest()).unwrap();
        let members = old.as_object_mut().unwrap();
        let new = ["keytoll_commit", "keytoll_build", "crypto_library", "command", "began_at", "ended_at"];
        new.into_iter().chain(["load_at_begin", "load_at_end"]).for_each(|name| {
            members.remove(name).unwrap();
        });
        let of_machine = members["machine"].as_object_mut().unwrap();
        ["host", "governor"].into_iter().for_each(|name| {
            of_machine.remove(name).unwrap();
        });
        let machine = Machine { host: None, governor: None, ..machine() };
        let wanted = Manifest { provenance: Provenance::of("0.1.0", machine), ..manifest() };
        assert_eq!(Manifest::read(old.to_string().as_bytes()).unwrap(), wanted);
    }

    #[test]
    fn another_format_is_refused_by_number() {
        let read = |text: &str| Manifest::read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            read(r#"{ "kind": "keytoll run", "format": 7 }"#),
            "manifest of format 7, this keytoll reads format 2"
        );
        let first = r#"{ "format": 1, "keytoll_version": "0.1.0", "machine": {}, "plan": "", "rows": [] }"#;
        assert_eq!(read(first), "manifest of format 1, this keytoll reads format 2");
    }

    #[test]
    fn what_others_call_a_manifest_is_none() {
        for text in [r#"{ "manifest_version": 3, "name": "an extension" }"#, "{}", "[]", r#"{ "format": 1 }"#]
        {
            let error = Manifest::read(text.as_bytes()).unwrap_err();
            assert!(matches!(error, ManifestError::Foreign), "{text}: {error}");
        }
    }

    #[test]
    fn a_manifest_that_leads_out_of_its_directory_is_refused() {
        for outside in ["/etc/passwd", "../../thesis.tex", "trace/../../x", "notes.txt", "manifest.json", ""]
        {
            let (mut file, mut trace, mut costs) = (manifest(), manifest(), manifest());
            file.files[0].path = outside.into();
            trace.rows[0].trace = outside.into();
            costs.rows[0].costs = outside.into();
            for manifest in [file, trace, costs] {
                let mut bytes = Vec::new();
                manifest.write(&mut bytes).unwrap();
                let error = Manifest::read(&bytes[..]).unwrap_err();
                assert_eq!(error.to_string(), format!("it names `{outside}`, which is no file of a run"));
            }
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        let text = r#"{ "kind": "keytoll run", "format": 2, "title": "t" }"#;
        let error = Manifest::read(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("seed"), "{error}");
    }
}
