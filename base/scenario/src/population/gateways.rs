//! Several gateways that share the devices, and the loss of one of them: `2 at 30 s`.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::quantity::{self, Kind};

/// How many gateways a population may have.
pub const GATEWAYS: RangeInclusive<u64> = 1..=64;

/// How the loss of a gateway is written.
pub(crate) const LOST_FORM: &str = "GATEWAY at TIME";

/// A gateway that is gone from some time on, with everything it knew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Which, from 1.
    pub gateway: u32,
    /// When, from the start of the load.
    pub at: Duration,
}

/// Reads the loss of one of so many gateways.
///
/// # Errors
/// With a sentence on what is wrong.
pub(crate) fn read(text: &str, gateways: u32) -> Result<Lost, String> {
    let form = || format!("`{text}` is not of the form `{LOST_FORM}`");
    let (number, at) = text.trim().split_once(" at ").ok_or_else(form)?;
    let gateway: u32 = number.trim().parse().map_err(|_| form())?;
    if !(1..=gateways).contains(&gateway) {
        return Err(format!("there is no gateway {gateway} among {gateways}, which are counted from 1"));
    }
    let nanos =
        quantity::read(Kind::Duration, at.trim()).map_err(|error| format!("`{}`: {error}", at.trim()))?;
    let at = Duration::from_nanos(nanos);
    if at.is_zero() || at > super::LENGTH_MAX {
        return Err(format!("`{}` is not between the start of the load and a week", quantity::duration(at)));
    }
    Ok(Lost { gateway, at })
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.gateway, quantity::duration(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_read_as_it_is_written() {
        let lost = Lost { gateway: 2, at: Duration::from_secs(30) };
        assert_eq!(read("2 at 30 s", 4), Ok(lost));
        assert_eq!(read(&lost.to_string(), 2), Ok(lost));
    }

    #[test]
    fn what_is_wrong_with_a_loss_is_told() {
        for (text, why) in [
            ("2", "is not of the form"),
            ("two at 30 s", "is not of the form"),
            ("5 at 30 s", "no gateway 5 among 4"),
            ("0 at 30 s", "no gateway 0 among 4"),
            ("1 at 30", "`30`:"),
            ("1 at 0 s", "is not between"),
            ("1 at 200 h", "is not between"),
        ] {
            let told = read(text, 4).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
    }
}
