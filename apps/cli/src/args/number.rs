//! Whole numbers and times on the command line; the error message has the valid range, or an example.

use std::str::FromStr;
use std::time::Duration;

/// A parser of whole numbers from `low` to `high`, all of which `T` can hold.
pub(super) fn whole<T: FromStr>(low: u64, high: u64) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse::<u64>().ok().filter(|number| (low..=high).contains(number));
        let number = number.and_then(|number| number.to_string().parse().ok());
        number.ok_or_else(|| format!("expected a whole number from {low} to {high}"))
    }
}

/// A duration, like `200ms`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    keytoll_scenario::quantity::parse_duration(text)
        .map_err(|error| format!("{error}, expected one like 200ms"))
}

/// A duration in which something can happen.
pub(super) fn some_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration.is_zero() {
        Err("in no time nothing happens, expected one like 200ms".to_owned())
    } else {
        Ok(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_the_range_are_refused_with_the_range() {
        let parse = whole::<u16>(1, 700);
        assert_eq!([parse("1"), parse("+7"), parse("700")], [Ok(1), Ok(7), Ok(700)]);
        for text in ["", "0", "-1", "701", "1.5", "many", "99999999999999999999999"] {
            assert_eq!(parse(text), Err("expected a whole number from 1 to 700".to_owned()), "{text}");
        }
    }
}
