//! Measurements of a study besides the authentications of its run: `supplement.json` in the run directory.

use std::io::{Read, Write};

use keytoll_trace::primitive::Timings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::{Packets, Profile};

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
}

impl Default for Supplement {
    fn default() -> Self {
        Self { format: FORMAT, profiles: Vec::new(), packets: None, exchanges: None }
    }
}

/// The parts that a study needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants {
    /// A profile of each method.
    pub profiles: bool,
    /// Packets through a tunnel, with these ESP suites; none if empty.
    pub esp_suites: &'static [&'static str],
    /// The number of key exchanges with every group.
    pub exchanges: u64,
}

impl Wants {
    /// The run alone.
    pub const NOTHING: Self = Self { profiles: false, esp_suites: &[], exchanges: 0 };

    /// Whether the run alone will do.
    pub const fn is_nothing(self) -> bool {
        !self.profiles && self.esp_suites.is_empty() && self.exchanges == 0
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
