//! A claim of a paper, judged by the measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::summary::Median;

/// A claim and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its name, for reference.
    pub name: String,
    /// What the paper says.
    pub claim: String,
    /// Where it is in the paper.
    pub source: String,
    /// How its words were made numbers.
    pub taken_as: String,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The numbers that decided.
    pub evidence: Vec<Evidence>,
    /// The input that was fitted to the paper's numbers and that the verdict rests on, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted: Option<String>,
}

impl Finding {
    /// Marks a verdict that rests on an input fitted to the paper's numbers.
    #[must_use]
    pub fn resting_on(self, fitted: &str) -> Self {
        Self { fitted: Some(fitted.to_owned()), ..self }
    }

    /// The verdict as output shows it: with a mark if it rests on a fitted input.
    pub fn verdict_words(&self) -> String {
        let mark = if self.fitted.is_some() { ", on a fitted input" } else { "" };
        format!("{}{mark}", self.verdict.words())
    }
}

/// Whether a claim holds in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Holds,
    /// For some of its cases.
    HoldsInPart,
    /// No.
    DoesNotHold,
    /// The deciding quantity was not measured, or is uncertain.
    CannotBeJudged,
}

impl Verdict {
    /// Its text in output.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsInPart => "holds in part",
            Self::DoesNotHold => "does not hold",
            Self::CannotBeJudged => "cannot be judged",
        }
    }

    /// From cases of which some may be undecided: these count neither for the claim nor against it.
    pub fn of_doubtful(cases: &[Option<bool>]) -> Self {
        let count = |wanted| cases.iter().filter(|&&case| case == wanted).count();
        match (count(Some(true)), count(Some(false))) {
            (0, 0) => Self::CannotBeJudged,
            (yes, 0) => Self::of_cases(yes, cases.len()),
            (yes, no) => Self::of_cases(yes, yes + no),
        }
    }

    /// From cases of which one is enough, and some may be undecided.
    pub fn of_any(cases: &[Option<bool>]) -> Self {
        match cases {
            [] => Self::CannotBeJudged,
            _ if cases.contains(&Some(true)) => Self::Holds,
            _ if cases.contains(&None) => Self::CannotBeJudged,
            _ => Self::DoesNotHold,
        }
    }

    /// Of `all` cases that a claim speaks of, it is true of `agreeing`.
    pub const fn of_cases(agreeing: usize, all: usize) -> Self {
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
    /// The quantity.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Lower end of its 95 % interval, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Its unit; empty for counts and ratios.
    pub unit: String,
}

impl Evidence {
    /// A number without an interval.
    pub fn new(what: impl Into<String>, value: f64, unit: &str) -> Self {
        Self::ranged(what, Median { value, interval: None }, unit)
    }

    /// A number with its interval.
    pub fn ranged(what: impl Into<String>, median: Median, unit: &str) -> Self {
        let (low, high) = median.interval.unzip();
        Self { what: what.into(), value: median.value, low, high, unit: unit.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_decides_nothing() {
        let (yes, no) = (Some(true), Some(false));
        let cases: [&[Option<bool>]; 6] =
            [&[], &[None, None], &[yes, None], &[no, None], &[yes, no], &[yes, yes]];
        let words = cases.map(|cases| Verdict::of_doubtful(cases).words());
        let decided = ["cannot be judged", "holds in part", "does not hold", "holds in part", "holds"];
        assert_eq!(words[1..], decided);
        assert_eq!(words[0], words[1]);
    }

    #[test]
    fn one_case_can_be_enough() {
        let (yes, no) = (Some(true), Some(false));
        let cases: [&[Option<bool>]; 4] = [&[], &[no, yes, None], &[no, None], &[no, no]];
        let words = cases.map(|cases| Verdict::of_any(cases).words());
        assert_eq!(words, ["cannot be judged", "holds", "cannot be judged", "does not hold"]);
    }

    #[test]
    fn some_cases_are_a_part() {
        let verdicts =
            [(0, 0), (0, 3), (2, 3), (3, 3)].map(|(agreeing, all)| Verdict::of_cases(agreeing, all));
        let words = verdicts.map(Verdict::words);
        assert_eq!(words, ["cannot be judged", "does not hold", "holds in part", "holds"]);
    }
}
