//! Rates of arrivals, `500/s`, `30/min`, `1.5/h`: exact, in thousandths of an arrival per hour.

use std::fmt;

/// Arrivals per time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

/// A million a second.
const MAX: Rate = Rate(1_000_000 * S);
const S: u64 = 3600 * H;
const MIN: u64 = 60 * H;
const H: u64 = 1000;
/// The units, and how much one of them is.
const UNITS: [(&str, u64); 3] = [("s", S), ("min", MIN), ("h", H)];
/// Nanoseconds per hour, in thousandths.
const HOUR_NS: u128 = 3_600_000_000_000 * H as u128;

impl Rate {
    /// No arrivals.
    pub const ZERO: Self = Self(0);

    /// So many arrivals a second; `None` above a million.
    pub fn per_s(count: u32) -> Option<Self> {
        let rate = Self(u64::from(count) * S);
        (rate <= MAX).then_some(rate)
    }

    /// The rate nearest to so many arrivals a second; `None` if it is none, or above a million.
    pub fn nearest(per_s: f64) -> Option<Self> {
        let thousandths = (per_s * S as f64).round();
        (1.0..=MAX.0 as f64).contains(&thousandths).then_some(Self(thousandths as u64))
    }

    /// In thousandths of an arrival per hour.
    pub const fn thousandths_per_hour(self) -> u64 {
        self.0
    }

    /// Arrivals per second.
    pub fn as_per_s(self) -> f64 {
        self.0 as f64 / S as f64
    }

    /// Reads `500/s`.
    ///
    /// # Errors
    /// With a sentence on what is wrong.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no rate, like `500/s`, `30/min` or `1.5/h`");
        let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
        let (_, scale) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let (digits, decimals) = decimal(number).ok_or_else(wrong)?;
        let scaled = digits.checked_mul(scale.into()).ok_or_else(wrong)?;
        let divisor = 10_u128.checked_pow(decimals).ok_or_else(wrong)?;
        let rate = u64::try_from(scaled / divisor).map(Self).ok().filter(|rate| *rate <= MAX);
        match rate {
            None => Err(format!("`{text}` is more than {MAX}")),
            Some(_) if scaled % divisor > 0 => Err(format!("`{text}` is finer than 0.001/h")),
            Some(rate) => Ok(rate),
        }
    }

    /// Reads a rate at which somebody arrives.
    ///
    /// # Errors
    /// With a sentence on what is wrong.
    pub fn read_some(text: &str) -> Result<Self, String> {
        match Self::read(text)? {
            Self::ZERO => Err(format!("at `{text}` nobody arrives")),
            rate => Ok(rate),
        }
    }

    /// The moment of arrival `k`, from 0, at this rate, in nanoseconds; `None` if it never comes or 500 years later.
    pub fn nth_ns(self, k: u64) -> Option<u64> {
        (u128::from(k) * HOUR_NS).checked_div(self.0.into()).and_then(|ns| u64::try_from(ns).ok())
    }

    /// Mean time between arrivals in nanoseconds.
    pub(super) fn mean_gap_ns(self) -> f64 {
        HOUR_NS as f64 / self.0.max(1) as f64
    }

    /// What lies between two rates, so many thousandths of the way.
    pub(super) fn towards(self, other: Self, thousandths: u64) -> Self {
        let way = |from: u64, to: u64| {
            let far = u128::from(to - from) * u128::from(thousandths.min(1000)) / 1000;
            u64::try_from(far).expect("no more than the whole way")
        };
        if other >= self { Self(self.0 + way(self.0, other.0)) } else { Self(self.0 - way(other.0, self.0)) }
    }
}

/// `12.50` as 1250 with two decimals.
fn decimal(number: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    Some((format!("{whole}{fraction}").parse().ok()?, u32::try_from(fraction.len()).ok()?))
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.into_iter().find(|(_, scale)| self.0.is_multiple_of(scale / 1000));
        let (name, scale) = whole.unwrap_or(("h", H));
        let (whole, thousandths) = (self.0 / scale, self.0 % scale / (scale / 1000));
        if thousandths == 0 {
            return write!(f, "{whole}/{name}");
        }
        let decimals = format!("{thousandths:03}");
        write!(f, "{whole}.{}/{name}", decimals.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_exact_and_bounded() {
        assert_eq!(Rate::read("500/s"), Ok(Rate::per_s(500).unwrap()));
        assert_eq!(Rate::read("0.5/s"), Rate::read("30/min"));
        assert_eq!(Rate::read("30/min").unwrap().nth_ns(3), Some(6_000_000_000));
        assert_eq!(Rate::read("1/h").unwrap().nth_ns(1), Some(3_600_000_000_000));
        assert_eq!(Rate::read("0/s").unwrap().nth_ns(1), None);
        for wrong in ["", "500", "500/d", "-1/s", "1e3/s", "1./s", "0.0001/h", "1000001/s", "9/s/s"] {
            assert!(Rate::read(wrong).is_err(), "{wrong}");
        }
        assert!(Rate::read(&format!("{}/s", "9".repeat(60))).is_err());
        assert_eq!(Rate::nearest(2.5), Rate::read("2.5/s").ok());
        assert_eq!([0.0, f64::NAN, -1.0, 1.1e6].map(Rate::nearest), [None; 4]);
    }

    #[test]
    fn a_rate_a_third_of_a_second_does_not_drift() {
        let third = Rate::read("3/s").unwrap();
        assert_eq!(third.nth_ns(3_000_000), Some(1_000_000_000_000_000));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(thousandths in 0..=MAX.0) {
            let rate = Rate(thousandths);
            prop_assert_eq!(Rate::read(&rate.to_string()), Ok(rate));
        }
    }
}
