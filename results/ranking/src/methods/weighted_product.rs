//! Weighted product: Π 2^(γ·g·w). Its order is that of the multiplicative AHP, its scores are no shares.

use super::{Combine, Method, as_they_are};

pub(super) const METHOD: Method = Method {
    name: "wpm",
    about: "weighted product of 2^(γ·grade)",
    source: "Bridgman 1922",
    prepare: as_they_are,
    combine: Combine::Sum,
    score: powers,
};

fn powers(utilities: &[f64]) -> Vec<f64> {
    utilities.iter().map(|utility| utility.exp2()).collect()
}
