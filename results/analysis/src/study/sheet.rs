//! A paper's table that needs no run, only primitives.

use keytoll_trace::provenance::Provenance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, Table};

/// Measured numbers beside published ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sheet {
    /// Its subject.
    pub title: String,
    /// The paper.
    pub source: String,
    /// Its tables, again.
    pub tables: Vec<Table>,
    /// Its claims, judged.
    pub findings: Vec<Finding>,
    /// Notes for readers.
    pub notes: Vec<String>,
    /// Version, arguments, time and machine of the measurement; absent in files from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}
