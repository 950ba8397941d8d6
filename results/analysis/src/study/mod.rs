//! What a study of a paper gives: measured figures beside published ones, and the paper's claims with verdicts. The papers themselves,
//! and what they make of a run, are in `keytoll-studies`.

mod cell;
mod figure;
mod finding;
mod fit;
mod load;
mod sheet;
mod supplement;
mod table;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cell::{Cell, CellWant, OperationSum};
pub use figure::{Basis, Bound, Figure};
pub use finding::{Evidence, Finding, Verdict};
pub use fit::{Fit, FittedCycles, FittedDelay};
pub use load::LoadWant;
pub use sheet::Sheet;
pub use supplement::{
    Calibration, FILE as SUPPLEMENT, Printed, Processors, ProfileWant, Repetition, Supplement,
    SupplementError, Wants,
};
pub use table::{Line, Table};

/// The format of [`Account`].
pub const FORMAT: u32 = 1;

/// `study.json`: the results of a study. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// The version of this interface.
    pub format: u32,
    /// The name of the study.
    pub study: String,
    /// Its subject.
    pub title: String,
    /// The paper.
    pub source: String,
    /// The number of measured authentications.
    pub authentications: u64,
    /// The seed as text, because JavaScript loses the low bits of 64-bit numbers.
    pub seed: String,
    /// False if the run was interrupted, or a row has fewer authentications than planned.
    pub complete: bool,
    /// The paper's figures and tables, repeated.
    pub tables: Vec<Table>,
    /// The paper's claims, judged.
    pub findings: Vec<Finding>,
    /// Notes for readers.
    pub notes: Vec<String>,
}

/// Several studies, as `keytoll study all --json` prints them. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accounts {
    /// The version of this interface.
    pub format: u32,
    /// Those that were run, also in part.
    pub studies: Vec<Account>,
    /// The names of those that were not run, or of which something is missing.
    pub missing: Vec<String>,
}

impl Accounts {
    /// Those that were run, of these names.
    pub fn new<'a>(studies: Vec<Account>, names: impl IntoIterator<Item = &'a str>) -> Self {
        let is_whole = |name: &&str| studies.iter().any(|account| account.study == *name && account.complete);
        let missing = names.into_iter().filter(|name| !is_whole(name)).map(str::to_owned).collect();
        Self { format: FORMAT, studies, missing }
    }
}
