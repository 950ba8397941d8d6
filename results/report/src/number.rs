//! Numbers for people, rounded to significant digits.

use keytoll_analysis::summary::Median;

/// A value with three to four significant digits; whole numbers are not rounded.
pub(crate) fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e12 {
        return format!("{value:.0}");
    }
    format!("{value:.*}", decimals_of(value))
}

/// A printed number with all of its digits: with so many decimals, or with those that its value needs.
pub(crate) fn printed(value: f64, decimals: Option<u8>) -> String {
    decimals.map_or_else(|| value.to_string(), |decimals| format!("{value:.*}", usize::from(decimals)))
}

/// A mean and half the width of its interval, the latter with two significant digits: `6.123 ± 0.045`.
/// Without an interval there is nothing after the mean.
pub(crate) fn uncertain(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        None => plain(mean),
        Some(half) if half > 0.0 => {
            let decimals = (1 - half.log10().floor() as i32).clamp(0, 4) as usize;
            format!("{mean:.decimals$} ± {half:.decimals$}")
        }
        Some(_) => format!("{} ± 0", plain(mean)),
    }
}

/// A median and the ends of its interval: `6.32 [6.05, 6.71]`, two significant digits of the distance between median and ends.
pub(crate) fn ranged(median: Median) -> String {
    let Some((low, high)) = median.interval else { return plain(median.value) };
    let decimals = match (high - low) / 2.0 {
        half if half > 0.0 => (1 - half.log10().floor() as i32).clamp(0, 4) as usize,
        _ => decimals_of(median.value),
    };
    format!("{:.decimals$} [{low:.decimals$}, {high:.decimals$}]", median.value)
}

/// A value that may not be known.
pub(crate) fn known(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), plain)
}

fn decimals_of(value: f64) -> usize {
    match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    }
}

/// So many of something.
pub fn counted(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_to_significant_digits() {
        let shown = [0.0, 4.0, 0.12345, 6.1234, 123.456, 12345.6].map(plain);
        assert_eq!(shown, ["0", "4", "0.123", "6.12", "123.5", "12346"]);
    }

    #[test]
    fn printed_numbers_keep_their_digits() {
        let exact = |value| printed(value, None);
        assert_eq!(
            [7997.5, 117.59, 17.3, 29.0, 0.001].map(exact),
            ["7997.5", "117.59", "17.3", "29", "0.001"]
        );
        let tenths = |value| printed(value, Some(1));
        assert_eq!([49.3, 20.0, 56.0].map(tenths), ["49.3", "20.0", "56.0"]);
        assert_eq!(printed(214.3, Some(2)), "214.30");
    }

    #[test]
    fn the_interval_decides_on_the_digits() {
        assert_eq!(uncertain(6.12345, Some(0.04567)), "6.123 ± 0.046");
        assert_eq!(uncertain(6123.45, Some(45.67)), "6123 ± 46");
        assert_eq!(uncertain(6123.47, Some(4.567)), "6123.5 ± 4.6");
        assert_eq!(uncertain(6.5, Some(0.0)), "6.50 ± 0");
        assert_eq!(uncertain(6.5, Some(1e-9)), "6.5000 ± 0.0000");
        assert_eq!(uncertain(6.5, None), "6.50");
        assert_eq!(known(None), "–");
        let median = |value, interval| ranged(Median { value, interval });
        assert_eq!(median(6.3234, Some((6.05, 6.71))), "6.32 [6.05, 6.71]");
        assert_eq!(median(6323.4, Some((6250.0, 6471.0))), "6323 [6250, 6471]");
        assert_eq!(median(6.0, Some((6.0, 6.0))), "6.00 [6.00, 6.00]");
        assert_eq!(median(6.5, None), "6.50");
    }
}
