//! A claim of a paper, judged by what was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A claim and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// A name to refer to it by.
    pub name: String,
    /// What the paper says.
    pub claim: String,
    /// Where it says so.
    pub source: String,
    /// How its words were made numbers.
    pub taken_as: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What decided it.
    pub evidence: Vec<Evidence>,
}

/// Whether a claim holds in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Holds,
    /// For some of what it speaks of.
    HoldsInPart,
    /// No.
    DoesNotHold,
    /// What would decide it was not measured.
    CannotBeJudged,
}

impl Verdict {
    /// As it is shown.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsInPart => "holds in part",
            Self::DoesNotHold => "does not hold",
            Self::CannotBeJudged => "cannot be judged",
        }
    }

    /// Of `all` cases that a claim speaks of, it is true of `agreeing`.
    pub(super) const fn of_cases(agreeing: usize, all: usize) -> Self {
        match (agreeing, all) {
            (_, 0) => Self::CannotBeJudged,
            (0, _) => Self::DoesNotHold,
            _ if agreeing == all => Self::Holds,
            _ => Self::HoldsInPart,
        }
    }
}

/// A number that decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What it is.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit; empty for counts and ratios.
    pub unit: String,
}

impl Evidence {
    pub(super) fn new(what: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { what: what.into(), value, unit: unit.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_cases_are_a_part() {
        let verdicts =
            [(0, 0), (0, 3), (2, 3), (3, 3)].map(|(agreeing, all)| Verdict::of_cases(agreeing, all));
        let words = verdicts.map(Verdict::words);
        assert_eq!(words, ["cannot be judged", "does not hold", "holds in part", "holds"]);
    }
}
