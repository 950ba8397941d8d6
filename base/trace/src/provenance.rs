//! Where figures come from: which keytoll, told what, when, and the machine it had. Facts do not depend on it, costs do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::Machine;
use crate::utc;

/// Where a run comes from, measured where and when it was run: whoever reports it again changes nothing here.
///
/// Members are always there; `null` is what could not be found out, or what keytoll did not note yet when it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The version of keytoll that measured.
    pub keytoll_version: String,
    /// The commit that it was built from, with `-dirty` behind it if the sources were not as they are there; `null` if it
    /// was not built in its repository.
    #[serde(default)]
    pub keytoll_commit: Option<String>,
    /// Cargo's build profile: `dist` (fully optimized: packages, published figures), `release` (built faster), `debug`, or
    /// another of `Cargo.toml`. Before profiles were named, `release` meant what `dist` means now.
    #[serde(default)]
    pub keytoll_build: Option<String>,
    /// Name and version of the library that computed, like `AWS-LC 1.57.0`; `null` where no cryptography was computed.
    #[serde(default)]
    pub crypto_library: Option<String>,
    /// The command line, word by word. No option of keytoll takes a secret.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// When it began, in UTC as RFC 3339 writes it.
    #[serde(default)]
    pub began_at: Option<String>,
    /// When it ended; `null` if it was killed.
    #[serde(default)]
    pub ended_at: Option<String>,
    /// How busy the machine was when it began.
    #[serde(default)]
    pub load_at_begin: Option<Load>,
    /// How busy it was when it ended, the run itself included.
    #[serde(default)]
    pub load_at_end: Option<Load>,
    /// What it ran on.
    pub machine: Machine,
}

/// Load averages as Linux has them: how many threads computed or waited for a disk or a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Over the last minute.
    pub over_1_min: f64,
    /// Over the last five minutes.
    pub over_5_min: f64,
    /// Over the last fifteen minutes.
    pub over_15_min: f64,
}

impl Load {
    /// From the averages of one, five and fifteen minutes.
    pub fn of([over_1_min, over_5_min, over_15_min]: [f64; 3]) -> Self {
        Self { over_1_min, over_5_min, over_15_min }
    }
}

impl Provenance {
    /// What is known of a keytoll of this version on this machine, and nothing else.
    pub fn of(keytoll_version: &str, machine: Machine) -> Self {
        Self {
            keytoll_version: keytoll_version.to_owned(),
            keytoll_commit: None,
            keytoll_build: None,
            crypto_library: None,
            command: None,
            began_at: None,
            ended_at: None,
            load_at_begin: None,
            load_at_end: None,
            machine,
        }
    }

    /// Notes that it has ended, and how busy the machine was then.
    pub fn end(&mut self, unix_s: u64, load: Option<Load>) {
        self.ended_at = Some(utc::moment(unix_s));
        self.load_at_end = load;
    }

    /// The build profile, unless it is `dist` or unknown: one that costs more CPU time than published figures.
    pub fn slow_build(&self) -> Option<&str> {
        self.keytoll_build.as_deref().filter(|build| *build != "dist")
    }

    /// The version with the commit behind it: `0.1.0 (1b27e3e1c1f1)`.
    pub fn version(&self) -> String {
        match &self.keytoll_commit {
            Some(commit) => format!("{} ({})", self.keytoll_version, shortened(commit)),
            None => self.keytoll_version.clone(),
        }
    }
}

/// A commit as people write it: twelve digits are enough to find it.
pub fn shortened(commit: &str) -> String {
    let (hash, mark) = commit.split_once('-').unwrap_or((commit, ""));
    let dash = if mark.is_empty() { "" } else { "-" };
    format!("{}{dash}{mark}", hash.get(..12).unwrap_or(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_short_and_keeps_its_mark() {
        assert_eq!(shortened("1b27e3e1c1f1aa"), "1b27e3e1c1f1");
        assert_eq!(shortened("1b27e3e1c1f1aa-dirty"), "1b27e3e1c1f1-dirty");
        let mut provenance = Provenance::of("0.1.0", Machine::default());
        assert_eq!(provenance.version(), "0.1.0");
        provenance.keytoll_commit = Some("1b27".into());
        assert_eq!(provenance.version(), "0.1.0 (1b27)");
    }

    #[test]
    fn what_is_not_known_is_null() {
        let json = serde_json::to_value(Provenance::of("0.1.0", Machine::default())).unwrap();
        for name in ["keytoll_commit", "crypto_library", "command", "began_at", "ended_at", "load_at_end"] {
            assert!(json[name].is_null() && json.get(name).is_some(), "{name} in {json}");
        }
    }
}
