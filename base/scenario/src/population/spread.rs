//! How times are spread: `10 min`, `uniform 1 s to 5 s`, `exponential 10 min`, `lognormal 500 us p99 5 ms`.

use std::fmt;
use std::time::Duration;

use keytoll_crypto_api::Rng;

use super::maths::{exp, ln};
use crate::quantity::{self, Kind};

/// The distribution of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Always the same.
    Fixed(Duration),
    /// Every time from the first to the second is as likely.
    Uniform(Duration, Duration),
    /// Exponential with this mean.
    Exponential(Duration),
    /// The logarithm is normally distributed: half are below the first, 99 % below the second.
    Lognormal(Duration, Duration),
}

impl Spread {
    /// No draw is shorter.
    pub(crate) const fn least(self) -> Duration {
        match self {
            Self::Fixed(time) | Self::Uniform(time, _) => time,
            Self::Exponential(_) | Self::Lognormal(..) => Duration::ZERO,
        }
    }

    /// No draw is longer; `None`: that is not certain.
    pub(crate) const fn most(self) -> Option<Duration> {
        match self {
            Self::Fixed(time) | Self::Uniform(_, time) => Some(time),
            Self::Exponential(_) | Self::Lognormal(..) => None,
        }
    }

    /// The mean of its draws.
    pub fn mean(self) -> Duration {
        match self {
            Self::Fixed(time) | Self::Exponential(time) => time,
            Self::Uniform(least, most) => (least + most) / 2,
            Self::Lognormal(median, p99) => {
                // The 99th percentile of the standard normal distribution.
                let deviation = (p99.as_secs_f64() / median.as_secs_f64()).ln() / 2.326_347_874;
                median.mul_f64((deviation * deviation / 2.0).exp())
            }
        }
    }
}

/// How it is written.
pub(crate) const FORMS: &[&str] =
    &["TIME", "uniform TIME to TIME", "exponential TIME", "lognormal TIME p99 TIME"];

/// The 99th percentile of the standard normal distribution.
const P99: f64 = 2.326_347_874_040_841;
/// No draw is longer than this many means, or medians.
const TIMES_MAX: f64 = 1_000_000.0;

/// Reads a spread.
///
/// # Errors
/// With a sentence on what is wrong.
pub(crate) fn read(text: &str) -> Result<Spread, String> {
    let two = |rest: &str, between: &str| {
        let (low, high) = rest.split_once(between)?;
        Some((time(low), time(high)))
    };
    let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    match word {
        "exponential" => time(rest).map(Spread::Exponential),
        "uniform" => match two(rest, " to ") {
            Some((low, high)) => ordered(low?, high?, text).map(|(low, high)| Spread::Uniform(low, high)),
            None => Err(form(text)),
        },
        "lognormal" => match two(rest, " p99 ") {
            Some((low, high)) => ordered(low?, high?, text).map(|(low, high)| Spread::Lognormal(low, high)),
            None => Err(form(text)),
        },
        _ if word.starts_with(|c: char| c.is_ascii_digit()) => time(text).map(Spread::Fixed),
        _ => Err(form(text)),
    }
}

fn form(text: &str) -> String {
    let forms: Vec<_> = FORMS.iter().map(|form| format!("`{form}`")).collect();
    format!("`{text}` is none of {}", forms.join(", "))
}

/// A time above zero, at most a week.
fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let nanos = quantity::read(Kind::Duration, text).map_err(|error| format!("`{text}`: {error}"))?;
    let time = Duration::from_nanos(nanos);
    match time {
        Duration::ZERO => Err(format!("`{text}` is no time at all")),
        time if time > super::LENGTH_MAX => Err(format!("`{text}` is more than a week")),
        time => Ok(time),
    }
}

fn ordered(low: Duration, high: Duration, text: &str) -> Result<(Duration, Duration), String> {
    if low < high { Ok((low, high)) } else { Err(format!("in `{text}` the second time is not the longer")) }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = quantity::duration;
        match *self {
            Self::Fixed(time) => f.write_str(&text(time)),
            Self::Uniform(low, high) => write!(f, "uniform {} to {}", text(low), text(high)),
            Self::Exponential(mean) => write!(f, "exponential {}", text(mean)),
            Self::Lognormal(median, p99) => write!(f, "lognormal {} p99 {}", text(median), text(p99)),
        }
    }
}

/// Draws from a spread.
#[derive(Debug)]
pub struct Spreads {
    spread: Spread,
    rng: Rng,
}

impl Spreads {
    pub(super) const fn new(spread: Spread, rng: Rng) -> Self {
        Self { spread, rng }
    }

    /// The next time.
    pub fn draw(&mut self) -> Duration {
        match self.spread {
            Spread::Fixed(time) => time,
            Spread::Uniform(low, high) => {
                low + Duration::from_nanos(self.rng.below(nanos(high.saturating_sub(low)) + 1))
            }
            Spread::Exponential(mean) => scaled(mean, exponential(&mut self.rng)),
            Spread::Lognormal(median, p99) => {
                let sigma = ln(nanos(p99) as f64 / nanos(median) as f64) / P99;
                scaled(median, exp(sigma * normal(&mut self.rng)))
            }
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn scaled(time: Duration, by: f64) -> Duration {
    Duration::from_nanos((nanos(time) as f64 * by.min(TIMES_MAX)) as u64)
}

/// A draw from the exponential distribution of mean 1.
pub(super) fn exponential(rng: &mut Rng) -> f64 {
    // In (0, 1], so that the logarithm is finite.
    -ln(1.0 - rng.unit())
}

/// A draw from the standard normal distribution, by Marsaglia's polar method.
fn normal(rng: &mut Rng) -> f64 {
    loop {
        let [x, y] = [(); 2].map(|()| 2.0 * rng.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(text: &str) -> Vec<f64> {
        let mut spreads = Spreads::new(read(text).unwrap(), Rng::named(1, "spread"));
        let mut draws: Vec<_> = (0..20_000).map(|_| spreads.draw().as_secs_f64()).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    fn mean(draws: &[f64]) -> f64 {
        draws.iter().sum::<f64>() / draws.len() as f64
    }

    #[test]
    fn draws_have_the_mean_and_percentiles_asked_for() {
        let exponential = draws("exponential 10 s");
        assert!((mean(&exponential) - 10.0).abs() < 0.3, "{}", mean(&exponential));
        let uniform = draws("uniform 1 s to 5 s");
        assert!(uniform[0] >= 1.0 && uniform[19_999] <= 5.0 && (mean(&uniform) - 3.0).abs() < 0.05);
        let lognormal = draws("lognormal 1 s p99 10 s");
        assert!((lognormal[10_000] - 1.0).abs() < 0.05, "{}", lognormal[10_000]);
        assert!((lognormal[19_800] - 10.0).abs() < 1.0, "{}", lognormal[19_800]);
        assert!(draws("3 s").iter().all(|&draw| draw == 3.0));
    }

    #[test]
    fn spreads_print_as_they_are_read() {
        for text in ["3 s", "uniform 1 s to 5 s", "exponential 10 s", "lognormal 500 us p99 5 ms"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "5",
            "0 s",
            "uniform 5 s to 1 s",
            "uniform 1 s",
            "normal 1 s",
            "lognormal 1 s p99 1 s",
            "200 h",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
