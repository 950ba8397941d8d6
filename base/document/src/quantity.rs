//! Quantities with units, `20 ms`, `384 kbit/s`, `0.1 %`, parsed and printed exactly: decimal arithmetic, no floats.

use std::fmt;
use std::time::Duration;

/// A probability, in parts per billion, so that it can be compared and printed exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Probability(u32);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0);
    /// Always.
    pub const ONE: Self = Self(1_000_000_000);

    /// A probability in parts per billion; more than a billion gives [`Self::ONE`].
    pub const fn from_parts_per_billion(parts: u32) -> Self {
        if parts > Self::ONE.0 { Self::ONE } else { Self(parts) }
    }

    /// Parts per billion.
    pub const fn parts_per_billion(self) -> u32 {
        self.0
    }

    /// Between 0 and 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE.0)
    }
}

/// The kind of a quantity, with its units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In nanoseconds.
    Duration,
    /// In bits per second.
    Rate,
    /// In parts per billion.
    Probability,
    /// In bytes.
    Size,
    /// In hertz.
    Frequency,
}

/// A unit and its size in base units.
type Unit = (&'static str, u64);

impl Kind {
    /// The units, smallest first; those that are not powers of ten are parsed but not printed.
    const fn units(self) -> &'static [Unit] {
        match self {
            Self::Duration => &[
                ("ns", 1),
                ("us", 1_000),
                ("ms", 1_000_000),
                ("s", 1_000_000_000),
                ("min", 60_000_000_000),
                ("h", 3_600_000_000_000),
            ],
            Self::Rate => {
                &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)]
            }
            Self::Probability => &[("%", 10_000_000)],
            Self::Size => &[("B", 1), ("kB", 1_000), ("KiB", 1024), ("MB", 1_000_000), ("MiB", 1_048_576)],
            Self::Frequency => &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)],
        }
    }

    /// Its name in error messages.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Duration => "a duration",
            Self::Rate => "a rate",
            Self::Probability => "a probability",
            Self::Size => "a size",
            Self::Frequency => "a frequency",
        }
    }

    /// An example to show.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Duration => "20 ms",
            Self::Rate => "384 kbit/s",
            Self::Probability => "0.1 %",
            Self::Size => "64 kB",
            Self::Frequency => "1.6 GHz",
        }
    }

    /// The units as a list for people.
    pub fn unit_names(self) -> String {
        self.units().iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}

/// Why a text is not a quantity of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuantityError {
    /// It does not start with a decimal number.
    NoNumber,
    /// No unit follows the number.
    NoUnit,
    /// The unit is not one of the kind's.
    UnknownUnit(String),
    /// It is not a whole number of the smallest unit.
    TooFine(&'static str),
    /// It is out of range.
    TooLarge,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber => f.write_str("no decimal number at its start"),
            Self::NoUnit => f.write_str("no unit after the number"),
            Self::UnknownUnit(unit) => write!(f, "unknown unit `{unit}`"),
            Self::TooFine(step) => write!(f, "it is finer than {step}"),
            Self::TooLarge => f.write_str("it is too large"),
        }
    }
}

/// Parses a duration, `200 ms`.
///
/// # Errors
/// With a sentence on what is wrong.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    read(Kind::Duration, text).map(Duration::from_nanos).map_err(|error| error.to_string())
}

/// Parses a quantity into the base unit of its kind.
///
/// # Errors
/// With what is wrong.
pub fn read(kind: Kind, text: &str) -> Result<u64, QuantityError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, decimals) = mantissa(&text[..end])?;
    let scale = unit(kind, text[end..].trim_start())?;
    let scaled = digits.checked_mul(u128::from(scale)).ok_or(QuantityError::TooLarge)?;
    let divisor = 10_u128.checked_pow(decimals).ok_or(QuantityError::TooLarge)?;
    if !scaled.is_multiple_of(divisor) {
        return Err(QuantityError::TooFine(finest(kind)));
    }
    u64::try_from(scaled / divisor).map_err(|_| QuantityError::TooLarge)
}

/// `12.50` as 1250 with two decimals.
fn mantissa(number: &str) -> Result<(u128, u32), QuantityError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(QuantityError::NoNumber);
    }
    let digits = format!("{whole}{fraction}").parse().map_err(|_| QuantityError::TooLarge)?;
    Ok((digits, u32::try_from(fraction.len()).map_err(|_| QuantityError::TooLarge)?))
}

fn unit(kind: Kind, name: &str) -> Result<u64, QuantityError> {
    if name.is_empty() {
        return Err(QuantityError::NoUnit);
    }
    let found = kind.units().iter().find(|(unit, _)| *unit == name);
    found.map(|(_, scale)| *scale).ok_or_else(|| QuantityError::UnknownUnit(name.to_owned()))
}

const fn finest(kind: Kind) -> &'static str {
    match kind {
        Kind::Duration => "1 ns",
        Kind::Rate => "1 bit/s",
        Kind::Probability => "0.0000001 %",
        Kind::Size => "1 B",
        Kind::Frequency => "1 Hz",
    }
}

/// Prints base units in the largest decimal unit in which the number is at least one; sizes without decimals.
pub fn print(kind: Kind, value: u64) -> String {
    let decimal = kind.units().iter().filter(|(_, scale)| is_decimal(*scale));
    let whole = |scale: u64| kind != Kind::Size || value.is_multiple_of(scale);
    let fitting = decimal.clone().rev().find(|(_, scale)| *scale <= value && whole(*scale));
    let (name, scale) = fitting.or_else(|| decimal.clone().next()).expect("every kind has a decimal unit");
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return format!("{whole} {name}");
    }
    let width = scale.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{} {name}", fraction.trim_end_matches('0'))
}

const fn is_decimal(scale: u64) -> bool {
    10_u64.pow(scale.ilog10()) == scale
}

/// A duration in the syntax of scenarios, at most 584 years.
pub fn duration(value: Duration) -> String {
    print(Kind::Duration, u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
}

/// A rate in the syntax of scenarios.
pub fn rate(bits_per_s: u64) -> String {
    print(Kind::Rate, bits_per_s)
}

/// A size in the syntax of scenarios.
pub fn size(bytes: u64) -> String {
    print(Kind::Size, bytes)
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&print(Kind::Probability, u64::from(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(kind: Kind, text: &str, expected: Result<u64, QuantityError>) {
        assert_eq!((text, read(kind, text)), (text, expected));
    }

    #[test]
    fn quantities_are_parsed_exactly() {
        check(Kind::Duration, "20 ms", Ok(20_000_000));
        check(Kind::Duration, "1.5ms", Ok(1_500_000));
        check(Kind::Duration, "8 s", Ok(8_000_000_000));
        check(Kind::Duration, "0.5 us", Ok(500));
        check(Kind::Duration, "1.5 min", Ok(90_000_000_000));
        check(Kind::Rate, "7.2 Mbit/s", Ok(7_200_000));
        check(Kind::Probability, "0.1 %", Ok(1_000_000));
        check(Kind::Probability, "100%", Ok(1_000_000_000));
        check(Kind::Size, "64 KiB", Ok(65_536));
        check(Kind::Frequency, "1.6 GHz", Ok(1_600_000_000));
    }

    #[test]
    fn invalid_quantities_are_explained() {
        use QuantityError::{NoNumber, NoUnit, TooFine, TooLarge, UnknownUnit};
        check(Kind::Duration, "", Err(NoNumber));
        check(Kind::Duration, "ms", Err(NoNumber));
        check(Kind::Duration, "-1 ms", Err(NoNumber));
        check(Kind::Duration, "1.2.3 ms", Err(NoNumber));
        check(Kind::Duration, "1. ms", Err(NoNumber));
        check(Kind::Duration, "20", Err(NoUnit));
        check(Kind::Duration, "20 sec", Err(UnknownUnit("sec".into())));
        check(Kind::Duration, "1e3 ms", Err(UnknownUnit("e3 ms".into())));
        check(Kind::Rate, "2 mbit/s", Err(UnknownUnit("mbit/s".into())));
        check(Kind::Duration, "0.5 ns", Err(TooFine("1 ns")));
        check(Kind::Duration, "999999999999 h", Err(TooLarge));
        check(Kind::Size, &"9".repeat(60), Err(TooLarge));
    }

    #[test]
    fn quantities_print_in_the_usual_unit() {
        assert_eq!(print(Kind::Duration, 1_500_000), "1.5 ms");
        assert_eq!(print(Kind::Duration, 0), "0 ns");
        assert_eq!(print(Kind::Duration, 90_000_000_000), "90 s");
        assert_eq!(print(Kind::Rate, 384_000), "384 kbit/s");
        assert_eq!(print(Kind::Probability, 1_000_000), "0.1 %");
        assert_eq!(print(Kind::Probability, 0), "0 %");
        assert_eq!(print(Kind::Size, 65_536), "65536 B");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(value: u64) {
            for kind in [Kind::Duration, Kind::Rate, Kind::Probability, Kind::Size, Kind::Frequency] {
                prop_assert_eq!(read(kind, &print(kind, value)), Ok(value));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            for kind in [Kind::Duration, Kind::Rate, Kind::Probability, Kind::Size, Kind::Frequency] {
                let _ = read(kind, &text);
            }
        }
    }
}
