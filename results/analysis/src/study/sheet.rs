//! A paper's table that needs no run: primitives alone decide.

use keytoll_trace::provenance::Provenance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, Table};

/// What was measured beside what was published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sheet {
    /// What it is about.
    pub title: String,
    /// The paper.
    pub source: String,
    /// Its tables, again.
    pub tables: Vec<Table>,
    /// Its claims, judged.
    pub findings: Vec<Finding>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Which keytoll measured, told what, when and on what machine; absent in what was written before this was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}
