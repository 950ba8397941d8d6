//! What is to be said of a schedule that leaves devices out: its stages end before all have arrived, or the population does. And of the
//! loss of a gateway from which no device can be back before the end.

use std::time::Duration;

use keytoll_crypto_api::Seed;

use super::{Arrivals, Population, Stage};
use crate::quantity::{Probability, duration};

impl Population {
    /// A sentence, if devices have no start in the schedule; where that is drawn it depends on the seed, and is about so.
    pub fn advice(&self, seed: &Seed) -> Option<String> {
        if !self.may_leave_out() {
            return None;
        }
        let times = self.schedule(seed).ok()??;
        let starts = times.take_while(|at| self.duration.is_none_or(|end| *at < end)).count();
        let told = self.left_out(starts as u64)?;
        Some(if self.arrivals.is_drawn() { format!("about {told}") } else { told })
    }

    /// The sentence, if a schedule has so many starts.
    pub fn left_out(&self, starts: u64) -> Option<String> {
        let devices = u64::from(self.devices);
        let count = devices.checked_sub(starts).filter(|count| *count > 0)?;
        let why = "its stages, or `duration`, end before";
        Some(format!("{count} of {devices} devices have no start in this schedule: {why}"))
    }

    /// A sentence, if no device is wrong although a share of them is meant to be.
    pub(crate) fn nobody_wrong(&self, name: &str, seed: &Seed) -> Option<String> {
        if self.wrong == Probability::ZERO {
            return None;
        }
        let is_anybody = (0..self.devices).any(|number| self.member(seed, number).is_wrong);
        (!is_anybody).then(|| {
            let (devices, wrong) = (self.devices, self.wrong);
            let whose = if self.mix.is_empty() { format!(" of `{name}`") } else { String::new() };
            format!("none of {devices} devices{whose} has wrong credentials with this seed: `wrong` is {wrong} of them")
        })
    }

    /// Why no device can be back from the loss of its gateway, if it asks so long before it gives the gateway up.
    pub fn nobody_back(&self, asks_for: Duration) -> Option<String> {
        let lost = self.gateway_lost.filter(|_| self.reauthenticate.is_none())?;
        let left = self.duration?.saturating_sub(lost.at);
        (asks_for >= left).then(|| {
            format!(
                "no device can be back from the loss of gateway {}: one that is not answered gives it up after all retransmissions, \
                 {:.0} s (`retransmit_first`, `retransmit_base`, `retransmit_tries`), and the population ends {} \
                 after the loss",
                lost.gateway,
                asks_for.as_secs_f64(),
                duration(left)
            )
        })
    }

    fn may_leave_out(&self) -> bool {
        let ends = |stages: &[Stage]| stages.last().is_some_and(|last| last.length().is_some());
        self.duration.is_some() || matches!(&self.arrivals, Arrivals::Stages(stages) if ends(stages))
    }
}

impl Arrivals {
    fn is_drawn(&self) -> bool {
        let is_drawn = |stage: &Stage| matches!(stage, Stage::Poisson(..) | Stage::Storm(..));
        matches!(self, Self::Stages(stages) if stages.iter().any(is_drawn))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Lost;
    use super::super::arrivals::read;
    use super::super::tests::of;
    use super::*;

    fn told(arrivals: &str, duration_s: Option<u64>) -> String {
        let population = Population {
            devices: 200,
            arrivals: read(arrivals).unwrap(),
            duration: duration_s.map(Duration::from_secs),
            ..of(&[], 0)
        };
        population.advice(&Seed::from(1)).unwrap_or_default()
    }

    #[test]
    fn devices_without_a_start_are_told() {
        let of_200 = "of 200 devices have no start in this schedule: its stages, or `duration`, end before";
        assert_eq!(told("constant 11/s for 4s", None), format!("156 {of_200}"));
        assert_eq!(told("constant 11/s", Some(4)), format!("156 {of_200}"));
        for drawn in ["poisson 11/s for 4s", "storm 150 in 1s"] {
            let told = told(drawn, None);
            assert!(told.starts_with("about ") && told.ends_with(of_200), "{told}");
        }
        for whole in ["constant 11/s", "constant 50/s for 4s", "poisson 11/s", "5 at a time"] {
            assert_eq!(told(whole, None), "", "{whole}");
        }
    }

    #[test]
    fn a_share_of_wrong_devices_in_which_nobody_is_is_told() {
        let told = |devices, wrong_ppb| {
            let population = Population { devices, ..of(&[], wrong_ppb) };
            population.nobody_wrong("ikev2-psk", &Seed::from(1))
        };
        let why = "none of 50 devices of `ikev2-psk` has wrong credentials with this seed: `wrong` is 0.001 % of them";
        assert_eq!(told(50, 10_000).as_deref(), Some(why));
        assert_eq!((told(50, 500_000_000), told(50, 0)), (None, None));
    }

    #[test]
    fn a_loss_from_which_nobody_can_be_back_is_told() {
        let seconds = Duration::from_secs;
        let told = |end_s: u64, reauthenticate| {
            let population = Population {
                gateways: 2,
                gateway_lost: Some(Lost { gateway: 2, at: seconds(30) }),
                liveness: Some(seconds(20)),
                duration: Some(seconds(end_s)),
                reauthenticate,
                ..of(&[], 0)
            };
            population.nobody_back(seconds(165))
        };
        let why = told(120, None).unwrap();
        assert!(
            why.starts_with("no device can be back from the loss of gateway 2") && why.contains(", 165 s ("),
            "{why}"
        );
        assert!(why.ends_with("the population ends 90 s after the loss"), "{why}");
        assert_eq!((told(196, None), told(120, Some(seconds(60)))), (None, None));
    }
}
