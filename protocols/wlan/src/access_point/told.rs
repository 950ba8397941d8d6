//! How often a station is told that it is not authenticated or not associated (802.11-2020 §11.3.5.3, §11.3.5.8). Whoever sends in the
//! names of others would have the access point fill the air with answers, so that they are few.

use std::time::Duration;

use keytoll_engine::Time;

use super::table::Expiring;
use crate::MacAddr;

/// So many stations are told in a second.
pub(super) const STATIONS_MAX: usize = 64;
/// So often each of them.
pub(super) const TIMES_MAX: u8 = 4;

/// Who was told within a second.
#[derive(Debug)]
pub(super) struct Told(Expiring<u8>);

impl Told {
    pub(super) const fn new() -> Self {
        Self(Expiring::new(STATIONS_MAX, Duration::from_secs(1)))
    }

    /// Counts one to this station, and says whether that is still within the limits.
    pub(super) fn allows(&mut self, station: MacAddr, now: Time) -> bool {
        while self.0.pop_over(now).is_some() {}
        let Some(times) = self.0.get_mut(station) else {
            let has_room = self.0.len() < STATIONS_MAX;
            if has_room {
                self.0.insert(station, 1, now);
            }
            return has_room;
        };
        *times = times.saturating_add(1);
        *times <= TIMES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_is_told_a_few_times_in_a_second_and_only_some_are() {
        let (mut told, second) = (Told::new(), Duration::from_secs(1));
        let now = Time::ZERO + second;
        let answers = |told: &mut Told, station, now| (0..20).filter(|_| told.allows(station, now)).count();
        assert_eq!(answers(&mut told, [2; 6], now), 4);
        let others = (0..200).filter(|number| told.allows([2, 2, 2, 2, 3, *number], now)).count();
        assert_eq!(others, STATIONS_MAX - 1);
        assert_eq!(answers(&mut told, [2; 6], now + second), 4);
    }
}
