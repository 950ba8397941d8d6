//! A population: many devices that come and go in one world, in the simulator or as load on real targets.
//!
//! ```text
//!   [population] --> Population --schedule(seed)--> Schedule: when the next device is meant to begin
//!                               '-member(seed, n)-> Member:   what device n is
//! ```
//!
//! A schedule knows nothing of what becomes of the devices: a start is meant for a moment whether those before have ended or not
//! (an open loop). Only [`Arrivals::AtATime`] waits (a closed loop), and has no schedule.

mod advice;
mod arrivals;
mod gateways;
mod maths;
mod rate;
mod schedule;
mod spread;
mod times;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use keytoll_crypto_api::Seed;

use crate::catalogue::Method;
use crate::quantity::Probability;

pub use arrivals::{Arrivals, Stage};
pub use gateways::{GATEWAYS, Lost};
pub use rate::Rate;
pub use schedule::Schedule;
pub use spread::{Spread, Spreads};
pub use times::TimesError;

pub(crate) use arrivals::{ABOUT, read as read_arrivals};
pub(crate) use gateways::{LOST_FORM, read as read_lost};
pub(crate) use spread::{FORMS as SPREAD_FORMS, read as read_spread};

/// The devices of a population.
pub const DEVICES: RangeInclusive<u64> = 1..=2_000_000;
/// The longest time over which devices arrive, or a population lives: a week.
pub const LENGTH_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// Many devices in one world.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// How many devices there are. Each arrives once.
    pub devices: u32,
    /// When they arrive.
    pub arrivals: Arrivals,
    /// The methods of the devices and their weights; empty: the rows of a plan are populations of their own.
    pub mix: Vec<Share>,
    /// How long a device stays once it is established; `None`: until the end.
    pub stay: Option<Spread>,
    /// How long after an authentication a device that stayed authenticates anew; `None`: never.
    pub reauthenticate: Option<Duration>,
    /// How long a device stays where it is: then it attaches elsewhere, as a newcomer; `None`: it never moves.
    pub moves: Option<Spread>,
    /// The share of devices with wrong credentials.
    pub wrong: Probability,
    /// How many devices share an access link.
    pub devices_per_link: u32,
    /// How many gateways share the devices by a hash of their addresses.
    pub gateways: u32,
    /// The gateway that is lost, and when; `None`: none is.
    pub gateway_lost: Option<Lost>,
    /// The silence after which a device asks whether its gateway is still there; `None`: it never does.
    pub liveness: Option<Duration>,
    /// How long the AAA server's store takes to find a user; `None`: no time.
    pub aaa_store: Option<Spread>,
    /// How long the HSS's store takes to find a subscriber; `None`: no time.
    pub hss_store: Option<Spread>,
    /// The end, from the first arrival on; `None`: when all devices have arrived and the last one has its outcome.
    pub duration: Option<Duration>,
}

/// A method of a mix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The method.
    pub method: &'static Method,
    /// Its weight among the others, at least 1.
    pub weight: u32,
}

/// What a device of a population is, whenever it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its number, from 0.
    pub number: u32,
    /// The index of its method in [`Population::mix`]; 0 without a mix.
    pub share: usize,
    /// Whether its credentials are wrong.
    pub is_wrong: bool,
}

impl Population {
    /// The times at which devices are meant to begin, from the start of the load, never decreasing, at most one for each device;
    /// `None` in a closed loop. They depend on the seed only.
    ///
    /// # Errors
    /// When a file of times cannot be read or is wrong.
    pub fn schedule(&self, seed: &Seed) -> Result<Option<Schedule>, TimesError> {
        Schedule::of(&self.arrivals, self.devices, seed)
    }

    /// How long the schedule is, over which its rate is the mean rate of arrivals; `None` in a closed loop.
    ///
    /// # Errors
    /// As those of [`Self::schedule`].
    pub fn span(&self, seed: &Seed) -> Result<Option<Duration>, TimesError> {
        let span = Schedule::span(&self.arrivals, self.devices, seed)?;
        Ok(span.map(|span| self.duration.map_or(span, |end| span.min(end))))
    }

    /// What device `number` is. It depends on the seed and the number only, not on when others arrive.
    pub fn member(&self, seed: &Seed, number: u32) -> Member {
        if self.mix.len() <= 1 && self.wrong.parts_per_billion() == 0 {
            return Member { number, share: 0, is_wrong: false };
        }
        let mut rng = seed.stream_of(format_args!("population/{number}"));
        let total = self.mix.iter().map(|share| u64::from(share.weight)).sum();
        let drawn = rng.below(total);
        let mut sum = 0;
        let share = self.mix.iter().position(|share| {
            sum += u64::from(share.weight);
            drawn < sum
        });
        let is_wrong = rng.below(1_000_000_000) < self.wrong.parts_per_billion().into();
        Member { number, share: share.unwrap_or(0), is_wrong }
    }

    /// A share of the mix that no device has.
    pub(crate) fn unused_share(&self, seed: &Seed) -> Option<&Share> {
        let mut unused: BTreeSet<usize> = (0..self.mix.len()).collect();
        for number in 0..self.devices {
            if unused.is_empty() {
                break;
            }
            unused.remove(&self.member(seed, number).share);
        }
        unused.first().and_then(|&share| self.mix.get(share))
    }

    /// A spread's draws for one node or purpose, from a random stream of their own.
    pub fn draws(spread: Spread, seed: &Seed, name: &str) -> Spreads {
        Spreads::new(spread, seed.stream_of(format_args!("population/{name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn of(mix: &[(&str, u32)], wrong_ppb: u32) -> Population {
        let share = |&(name, weight): &(&str, u32)| Share { method: Method::named(name).unwrap(), weight };
        Population {
            devices: 100_000,
            arrivals: Arrivals::AtATime(1),
            mix: mix.iter().map(share).collect(),
            stay: None,
            reauthenticate: None,
            moves: None,
            wrong: Probability::from_parts_per_billion(wrong_ppb),
            devices_per_link: 1,
            gateways: 1,
            gateway_lost: None,
            liveness: None,
            aaa_store: None,
            hss_store: None,
            duration: None,
        }
    }

    #[test]
    fn members_are_shared_out_by_weight_and_depend_on_their_number_alone() {
        let population = of(&[("ikev2-psk", 1), ("ikev2-eap-aka", 3)], 10_000_000);
        let seed = Seed::from(1);
        let members: Vec<_> = (0..100_000).map(|number| population.member(&seed, number)).collect();
        let with_aka = members.iter().filter(|member| member.share == 1).count();
        let wrong = members.iter().filter(|member| member.is_wrong).count();
        // Five standard deviations of the binomial distribution.
        assert!((75_000_i64 - with_aka as i64).abs() < 685, "{with_aka}");
        assert!((1000_i64 - wrong as i64).abs() < 158, "{wrong}");
        assert_eq!(population.member(&seed, 77), members[77]);
        assert_eq!(of(&[], 0).member(&seed, 5), Member { number: 5, share: 0, is_wrong: false });
    }
}
