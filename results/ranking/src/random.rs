//! Random numbers of other distributions than the uniform one, from a named stream.

use std::f64::consts::TAU;

use keytoll_crypto_api::Rng;

/// Standard normal numbers by the method of Box and Muller, which makes two at a time.
#[derive(Debug, Default)]
pub struct Normal {
    spare: Option<f64>,
}

impl Normal {
    /// The next one.
    pub fn draw(&mut self, random: &mut Rng) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // 1 − u is in (0, 1], whose logarithm is finite.
        let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
        let (sine, cosine) = (TAU * random.unit()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }
}

/// An exponential number with the mean 1. Divided by their sum, several are uniform on the simplex.
pub fn exponential(random: &mut Rng) -> f64 {
    -(1.0 - random.unit()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation.
    fn moments(mut draw: impl FnMut() -> f64) -> [f64; 2] {
        let drawn: Vec<f64> = (0..20_000).map(|_| draw()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let square = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        [mean, square.sqrt()]
    }

    #[test]
    fn numbers_have_their_moments() {
        let (mut random, mut normal) = (Rng::named(7, "test"), Normal::default());
        let [mean, stddev] = moments(|| normal.draw(&mut random));
        assert!(mean.abs() < 0.03 && (stddev - 1.0).abs() < 0.03, "{mean} {stddev}");
        let [mean, stddev] = moments(|| exponential(&mut random));
        assert!((mean - 1.0).abs() < 0.03 && (stddev - 1.0).abs() < 0.04, "{mean} {stddev}");
    }
}
