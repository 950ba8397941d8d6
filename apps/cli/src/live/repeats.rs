//! What strangers can cause any number of times, on its way to the log: a line at once for each address, and at the end of the period one with
//! the number of the others.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_net::Host;
use serde_json::Value;

use super::happening::{Happening, shown};

/// The length of a period.
const PERIOD: Duration = Duration::from_secs(60);
/// Distinct events and addresses in a period.
const ADDRESSES_MAX: usize = 100;

/// Events of one kind that were not logged.
#[derive(Debug, Default)]
struct LeftOut {
    count: u64,
    /// The reason of the last one.
    why: String,
}

impl LeftOut {
    fn more(self, name: &'static str, from: Option<Host>) -> Option<Happening> {
        let Self { count, why } = self;
        let happening = Happening::new(name).with("why", Value::from(why)).with("more", Value::from(count));
        (count > 0).then(|| happening.with("remote", from.map(shown)))
    }
}

/// The events of the current period.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// The end of the period.
    until: Time,
    /// Events that were not logged, by name and address; one of each was.
    left_out: BTreeMap<(&'static str, Host), LeftOut>,
    /// Events that were not logged, of further addresses.
    further: BTreeMap<&'static str, LeftOut>,
}

impl Repeats {
    /// Whether an event with this name, from this address and for this reason is logged. If not, it is counted.
    pub(crate) fn admits(&mut self, now: Time, from: Host, (name, why): (&'static str, &str)) -> bool {
        if self.left_out.is_empty() {
            self.until = now + PERIOD;
        }
        let is_full = self.left_out.len() >= ADDRESSES_MAX;
        let left_out = match self.left_out.get_mut(&(name, from)) {
            Some(left_out) => left_out,
            None if is_full => self.further.entry(name).or_default(),
            None => {
                self.left_out.insert((name, from), LeftOut::default());
                return true;
            }
        };
        left_out.count += 1;
        why.clone_into(&mut left_out.why);
        false
    }

    /// The summary of events without a line, at the end of the period.
    pub(crate) fn flush(&mut self, now: Time) -> Vec<Happening> {
        if now < self.until { Vec::new() } else { self.rest() }
    }

    /// The same at any time.
    pub(crate) fn rest(&mut self) -> Vec<Happening> {
        let Self { left_out, further, .. } = std::mem::take(self);
        let of_address =
            left_out.into_iter().filter_map(|((name, from), left_out)| left_out.more(name, Some(from)));
        of_address
            .chain(further.into_iter().filter_map(|(name, left_out)| left_out.more(name, None)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "proposal-refused";

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn is_logged(repeats: &mut Repeats, seconds: u64, from: u32) -> bool {
        let from = Host::Ip(std::net::IpAddr::from(from.to_be_bytes()));
        repeats.admits(at(seconds), from, (REFUSED, "NO_PROPOSAL_CHOSEN"))
    }

    fn lines(told: &[Happening]) -> Vec<String> {
        told.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_per_address_is_logged_and_the_others_are_counted() {
        let mut repeats = Repeats::default();
        assert!(is_logged(&mut repeats, 1, 0x7f00_0001) && is_logged(&mut repeats, 2, 0x7f00_0002));
        assert!((0..1000).all(|_| !is_logged(&mut repeats, 3, 0x7f00_0001)));
        let local = Host::Ip([127, 0, 0, 1].into());
        assert!(repeats.admits(at(3), local, ("failed", "other")), "another event is logged");
        assert_eq!(lines(&repeats.flush(at(60))), [""; 0]);
        let more = "proposal-refused why=NO_PROPOSAL_CHOSEN more=1000 remote=127.0.0.1";
        assert_eq!(lines(&repeats.flush(at(61))), [more]);
        assert_eq!(lines(&repeats.rest()), [""; 0]);
        assert!(is_logged(&mut repeats, 62, 0x7f00_0001), "the period is over");
    }

    /// Forged addresses cause few lines and take no memory.
    #[test]
    fn a_flood_from_everywhere_is_counted() {
        let mut repeats = Repeats::default();
        let told = (0..100_000).filter(|from| is_logged(&mut repeats, 0, *from)).count();
        assert_eq!((told, repeats.left_out.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
        assert_eq!(lines(&repeats.rest()), ["proposal-refused why=NO_PROPOSAL_CHOSEN more=99900"]);
    }
}
