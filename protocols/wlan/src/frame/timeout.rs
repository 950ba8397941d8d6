//! The Timeout Interval element, 802.11-2020 §9.4.2.48.
//!
//!   Timeout Interval Type(1) Timeout Interval Value(4)

use std::time::Duration;

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::element::{ElementId, write_element};

/// The type of an association comeback time.
const ASSOCIATION_COMEBACK: u8 = 3;
/// A time unit.
const TIME_UNIT_US: u64 = 1024;

/// After how long a station may ask again to associate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comeback {
    /// In time units of 1024 microseconds.
    pub time_units: u32,
}

impl Comeback {
    /// At least this time.
    pub fn after(time: Duration) -> Self {
        let time_units = time.as_micros().div_ceil(TIME_UNIT_US.into());
        Self { time_units: u32::try_from(time_units).unwrap_or(u32::MAX) }
    }

    /// The time.
    pub const fn time(self) -> Duration {
        Duration::from_micros(self.time_units as u64 * TIME_UNIT_US)
    }

    /// Reads the information of the element.
    ///
    /// # Errors
    /// It is cut short, or about another time.
    pub fn read(body: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(body);
        let kind = r.u8("timeout interval type")?;
        if kind != ASSOCIATION_COMEBACK {
            return Err(r.error("timeout interval type", Problem::Value(kind.into())));
        }
        Ok(Self { time_units: u32::from_le_bytes(r.array("timeout interval value")?) })
    }

    /// The element with id and length.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut w = Writer::with_capacity(7);
        write_element(&mut w, ElementId::TIMEOUT_INTERVAL, |w| {
            w.u8(ASSOCIATION_COMEBACK);
            w.bytes(&self.time_units.to_le_bytes());
        });
        w.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comeback_is_in_time_units() {
        let comeback = Comeback::after(Duration::from_millis(1024));
        assert_eq!(comeback.to_bytes(), [56, 5, 3, 0xe8, 3, 0, 0]);
        assert_eq!(Comeback::read(&comeback.to_bytes()[2..]), Ok(comeback));
        assert_eq!(
            (comeback.time(), Comeback::after(Duration::MAX).time_units),
            (Duration::from_millis(1024), u32::MAX)
        );
        assert!(Comeback::read(&[2, 0, 0, 0, 0]).is_err() && Comeback::read(&[3, 0, 0, 0]).is_err());
    }
}
