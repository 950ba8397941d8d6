//! Refused proposals on their way to the log. Strangers cause as many as they like: one of an address is told in a while, of few
//! addresses, and the others are counted.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_net::Host;
use serde_json::Value;

use super::happening::{Happening, shown};

/// How long a while is.
const WHILE: Duration = Duration::from_secs(10);
/// So many addresses are told apart in a while.
const ADDRESSES_MAX: usize = 16;

/// What was refused lately.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// When the while ends in which these were counted.
    until: Time,
    /// What was not told, by address; of these one each was.
    left_out: BTreeMap<Host, u64>,
    /// What was not told of further addresses.
    further: u64,
    /// Why the last one was refused.
    why: &'static str,
}

impl Refusals {
    /// What is to be told of a proposal from this address that was refused, if it is.
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

    /// What is to be told of those that were not, if it is time.
    pub(crate) fn flush(&mut self, now: Time) -> Vec<Happening> {
        if now < self.until { Vec::new() } else { self.rest() }
    }

    /// The same whenever it is.
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
    fn one_of_an_address_is_told_and_the_others_are_counted() {
        let mut refusals = Refusals::default();
        assert!(note(&mut refusals, 1, 0x7f00_0001) && note(&mut refusals, 2, 0x7f00_0002));
        assert!((0..1000).all(|_| !note(&mut refusals, 3, 0x7f00_0001)));
        assert_eq!(lines(&refusals.flush(at(10))), [""; 0]);
        let more = "proposal-refused why=NO_PROPOSAL_CHOSEN more=1000 remote=127.0.0.1";
        assert_eq!(lines(&refusals.flush(at(11))), [more]);
        assert_eq!(lines(&refusals.rest()), [""; 0]);
        assert!(note(&mut refusals, 12, 0x7f00_0001), "the while is over");
    }

    /// Whoever forges addresses gets few lines, and takes no memory.
    #[test]
    fn a_flood_from_everywhere_is_counted() {
        let mut refusals = Refusals::default();
        let told = (0..100_000).filter(|from| note(&mut refusals, 0, *from)).count();
        assert_eq!((told, refusals.left_out.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
        assert_eq!(lines(&refusals.rest()), ["proposal-refused why=NO_PROPOSAL_CHOSEN more=99984"]);
    }
}
