//! Multiplicative AHP: the weighted geometric mean of the values, as shares of all alternatives.

use super::{Combine, Method, as_they_are};

pub(super) const METHOD: Method = Method {
    name: "mahp",
    about: "multiplicative AHP: geometric means of 2^(γ·grade), as shares",
    source: "Lootsma 1993; Faigl et al.",
    prepare: as_they_are,
    combine: Combine::Sum,
    score: shares,
};

/// 2^u over the sum of all 2^u.
fn shares(utilities: &[f64]) -> Vec<f64> {
    let greatest = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = utilities.iter().map(|utility| (utility - greatest).exp2()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}
