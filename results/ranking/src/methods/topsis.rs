//! TOPSIS: how near an alternative is to the best value under every criterion, and how far from the worst.

use super::{Combine, Matrix, Method, values};

pub(super) const METHOD: Method = Method {
    name: "topsis",
    about: "TOPSIS: closeness to the best of all 2^(γ·grade), divided by their length",
    source: "Hwang and Yoon 1981",
    prepare: directions,
    combine: Combine::By(closeness),
    score: <[f64]>::to_vec,
};

/// Every row divided by its Euclidean length.
fn directions(steps: &Matrix) -> Matrix {
    values(steps, |row| row.iter().map(|value| value * value).sum::<f64>().sqrt())
}

fn closeness(weights: &[f64], rows: &Matrix, utilities: &mut [f64]) {
    for (alternative, utility) in utilities.iter_mut().enumerate() {
        let [best, worst] = squares(weights, rows, alternative).map(f64::sqrt);
        // All alternatives are alike: each is as near to the best as to the worst.
        *utility = if best + worst > 0.0 { worst / (best + worst) } else { 0.5 };
    }
}

/// Squares of the distances from the best and from the worst values.
fn squares(weights: &[f64], rows: &Matrix, alternative: usize) -> [f64; 2] {
    let mut squares = [0.0; 2];
    for (weight, row) in weights.iter().zip(rows) {
        let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = row.iter().copied().fold(f64::INFINITY, f64::min);
        let own = row[alternative];
        squares[0] += (weight * (greatest - own)).powi(2);
        squares[1] += (weight * (own - least)).powi(2);
    }
    squares
}
