//! Refused proposals on their way to the log. Strangers can cause any number of them: the log has one per address and period, for
//! a limited number of addresses; the others are counted.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_net::Host;
use serde_json::Value;

use super::happening::{Happening, shown};

/// The length of a period.
const WHILE: Duration = Duration::from_secs(10);
/// Distinct addresses in a period.
const ADDRESSES_MAX: usize = 16;

/// The proposals refused in the current period.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// The end of the period.
    until: Time,
    /// Refusals that were not logged, by address; one of each was.
    left_out: BTreeMap<Host, u64>,
    /// Refusals that were not logged, of further addresses.
    further: u64,
    /// The reason of the last one.
    why: &'static str,
}

impl Refusals {
    /// The event for a refused proposal from this address, unless it is suppressed.
    pub(crate) fn note(
        &mut self,
        now: Time,
        from: Host,
        why: &'static str,
        told: impl FnOnce() -> Option<Happening>,
    ) -> Option<Happening> {
        if self.left_out.is_empty() {
            self.until = now + WHILE;
        }
        self.why = why;
        let is_full = self.left_out.len() >= ADDRESSES_MAX;
        match self.left_out.get_mut(&from) {
            Some(count) => *count += 1,
            None if is_full => self.further += 1,
            None => {
                self.left_out.insert(from, 0);
                return told();
            }
        }
        None
    }

    /// The events for suppressed refusals, at the end of the period.
    pub(crate) fn flush(&mut self, now: Time) -> Vec<Happening> {
        if now < self.until { Vec::new() } else { self.rest() }
    }

    /// The same at any time.
    pub(crate) fn rest(&mut self) -> Vec<Happening> {
        let Self { left_out, further, why, .. } = std::mem::take(self);
        let of_address = left_out.into_iter().filter(|(_, count)| *count > 0);
        let mut told: Vec<_> =
            of_address.map(|(host, count)| more(why, count).with("remote", shown(host))).collect();
        told.extend((further > 0).then(|| more(why, further)));
        told
    }
}

fn more(why: &str, count: u64) -> Happening {
    Happening::of_refused_proposal(why).with("more", Value::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn note(refusals: &mut Refusals, seconds: u64, from: u32) -> bool {
        let from = Host::Ip(std::net::IpAddr::from(from.to_be_bytes()));
        refusals.note(at(seconds), from, "NO_PROPOSAL_CHOSEN", || Some(Happening::new("told"))).is_some()
    }

    fn lines(told: &[Happening]) -> Vec<String> {
        told.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_per_address_is_logged_and_the_others_are_counted() {
        let mut refusals = Refusals::default();
        assert!(note(&mut refusals, 1, 0x7f00_0001) && note(&mut refusals, 2, 0x7f00_0002));
        assert!((0..1000).all(|_| !note(&mut refusals, 3, 0x7f00_0001)));
        assert_eq!(lines(&refusals.flush(at(10))), [""; 0]);
        let more = "proposal-refused why=NO_PROPOSAL_CHOSEN more=1000 remote=127.0.0.1";
        assert_eq!(lines(&refusals.flush(at(11))), [more]);
        assert_eq!(lines(&refusals.rest()), [""; 0]);
        assert!(note(&mut refusals, 12, 0x7f00_0001), "the while is over");
    }

    /// Forged addresses cause few lines and take no memory.
    #[test]
    fn a_flood_from_everywhere_is_counted() {
        let mut refusals = Refusals::default();
        let told = (0..100_000).filter(|from| note(&mut refusals, 0, *from)).count();
        assert_eq!((told, refusals.left_out.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
        assert_eq!(lines(&refusals.rest()), ["proposal-refused why=NO_PROPOSAL_CHOSEN more=99984"]);
    }
}
