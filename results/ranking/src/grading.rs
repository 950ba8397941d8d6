//! Grades from values: by thresholds, and by how many factors of two a value is better or worse than a reference.

use schemars::JsonSchema;
use serde::Serialize;

/// How a value becomes a grade.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// Thresholds, the least first: a value up to the first has the highest grade, which is how many thresholds there are; one
    /// beyond the last has the grade 0. Faigl et al. grade delays so by the budgets of TS 23.203.
    Thresholds(Vec<f64>),
    /// Against a reference.
    Relative(Relative),
}

/// Grades relative to a reference P_r: g = log2(P_r ÷ P) ÷ γ where less is better, within −L_r … L_l.
///
/// Faigl et al. print γ, L_l, L_r and P_r and not the formula; this one is reconstructed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relative {
    /// γ: a grade is the factor 2^γ; positive.
    pub gamma: f64,
    /// L_l: the highest grade.
    pub better_max: u32,
    /// L_r: the lowest grade, without its sign.
    pub worse_max: u32,
    /// Whether more is better.
    pub more_is_better: bool,
    /// What happens to fractions.
    pub rounding: Rounding,
}

/// What happens to fractions of a grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rounding {
    /// To the nearest grade, halves away from zero.
    Nearest,
    /// To the next lower grade.
    Floor,
    /// They stay.
    None,
}

impl Rounding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nearest, Self::Floor, Self::None];

    /// Its name in criteria files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Floor => "floor",
            Self::None => "none",
        }
    }

    fn round(self, grade: f64) -> f64 {
        match self {
            Self::Nearest => grade.round(),
            Self::Floor => grade.floor(),
            Self::None => grade,
        }
    }
}

impl Rule {
    /// The grade of a value of 0 or more; the reference is positive, and is not asked for by thresholds.
    pub fn grade(&self, value: f64, reference: f64) -> f64 {
        match self {
            Self::Thresholds(limits) => limits.iter().filter(|limit| value <= **limit).count() as f64,
            Self::Relative(relative) => relative.grade(value, reference),
        }
    }

    /// The best of some values.
    pub fn best(&self, values: &[f64]) -> f64 {
        match self {
            Self::Relative(Relative { more_is_better: true, .. }) => {
                values.iter().copied().fold(0.0, f64::max)
            }
            _ => values.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    /// The same rule with its fractions kept. Thresholds have none.
    #[must_use]
    pub fn unrounded(&self) -> Self {
        match self {
            Self::Relative(relative) => Self::Relative(Relative { rounding: Rounding::None, ..*relative }),
            thresholds @ Self::Thresholds(_) => thresholds.clone(),
        }
    }
}

impl Relative {
    fn grade(&self, value: f64, reference: f64) -> f64 {
        // A value of 0 is as good, or as bad, as can be; its sign, which sums of nothing may have, is none.
        let value = value.abs();
        if value.total_cmp(&reference).is_eq() {
            return 0.0;
        }
        let better = if self.more_is_better { value / reference } else { reference / value };
        let grade = self.rounding.round(better.log2() / self.gamma);
        // Zero without a sign.
        grade.clamp(-f64::from(self.worse_max), f64::from(self.better_max)) + 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Relative = Relative {
        gamma: 1.0,
        better_max: 3,
        worse_max: 2,
        more_is_better: false,
        rounding: Rounding::Nearest,
    };

    #[test]
    fn delays_are_graded_by_the_printed_budgets() {
        let rule = Rule::Thresholds(vec![50.0, 100.0, 150.0, 300.0]);
        let printed =
            [(50.0, 4.0), (50.1, 3.0), (100.0, 3.0), (150.0, 2.0), (300.0, 1.0), (300.1, 0.0), (0.0, 4.0)];
        for (delay_ms, grade) in printed {
            assert_eq!(rule.grade(delay_ms, f64::NAN), grade, "{delay_ms} ms");
        }
    }

    #[test]
    fn counts_are_graded_by_the_printed_rule() {
        let rule = Rule::Thresholds(vec![0.0]);
        assert_eq!([0.0, 1.0, 2.0].map(|count| rule.grade(count, f64::NAN)), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn values_are_graded_by_their_distance_from_the_reference() {
        let rule = Rule::Relative(PAPER);
        // The printed relations of DEX-AKA to EAP-AKA: cycles, memory, packets.
        let printed = [
            (0.12 * 2.48e8, 2.48e8, 3.0),
            (0.02 * 2.37e8, 2.37e8, 3.0),
            (0.2, 1.0, 2.0),
            (6.0, 11.0, 1.0),
            (3.0, 5.0, 1.0),
        ];
        for (value, reference, grade) in printed {
            assert_eq!(rule.grade(value, reference), grade, "{value} of {reference}");
        }
        assert_eq!([1.0, 2.0, 4.0, 8.0].map(|value| rule.grade(value, 1.0)), [0.0, -1.0, -2.0, -2.0]);
        assert_eq!([0.0, -0.0].map(|value| rule.grade(value, 5.0)), [3.0, 3.0]);
        assert!(rule.grade(5.5, 5.0).is_sign_positive());
        let more = Rule::Relative(Relative { more_is_better: true, ..PAPER });
        assert_eq!([0.0, 0.5, 4.0].map(|value| more.grade(value, 1.0)), [-2.0, -1.0, 2.0]);
    }

    #[test]
    fn fractions_are_rounded_as_asked() {
        let graded = |rounding| Rule::Relative(Relative { rounding, ..PAPER }).grade(1.0, 3.0);
        assert_eq!([Rounding::Nearest, Rounding::Floor].map(graded), [2.0, 1.0]);
        assert_eq!(graded(Rounding::None), 3_f64.log2());
        let unrounded = Rule::Relative(PAPER).unrounded();
        assert_eq!(unrounded.grade(1.0, 3.0), 3_f64.log2());
        let coarse = Rule::Relative(Relative { gamma: 2.0, ..PAPER });
        assert_eq!(coarse.grade(1.0, 16.0), 2.0);
    }
}
