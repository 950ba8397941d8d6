//! Weighted sum (simple additive weighting): every value as a part of the greatest under its criterion, weighted and added.

use super::{Combine, Matrix, Method, values};

pub(super) const METHOD: Method = Method {
    name: "wsm",
    about: "weighted sum of 2^(γ·grade), each as a part of the greatest",
    source: "Fishburn 1967",
    prepare: parts_of_the_greatest,
    combine: Combine::Sum,
    score: <[f64]>::to_vec,
};

fn parts_of_the_greatest(steps: &Matrix) -> Matrix {
    values(steps, |row| row.iter().copied().fold(0.0, f64::max))
}
