//! Cookies: a gateway with many half-open SAs asks a device for a cookie before it keeps state for it (RFC 7296 §2.6), which takes
//! another round trip.
//!
//! Authentications begin independently of each other, and each is half open until the gateway has authenticated the device. Their number
//! is that of busy servers in M/G/∞: a Poisson variable for any distribution of the times (Tijms, A First Course in Stochastic
//! Models (2003) §1.1.3). A new authentication meets the same distribution (Wolff, Operations Research 30 (1982) 223).

use crate::delay::Unloaded;

/// The cookies of a row's gateway.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cookies {
    /// The number of half-open SAs from which it asks.
    pub half_open: u32,
    /// The additional round trip, if no packet of it is lost.
    pub round_trip_s: f64,
    /// The probability that one is.
    pub lost_share: f64,
    /// How long a device waits then before it retransmits.
    pub retransmit_after_s: f64,
}

impl Cookies {
    /// The mean number of half-open SAs: all that began within the mean delay, but for the way of the first message and of the last one.
    pub(crate) fn half_open_mean(&self, per_s: f64, delay_mean_s: f64) -> f64 {
        per_s * (delay_mean_s - self.round_trip_s).max(0.0)
    }

    /// The share of authentications with a cookie. If a gateway always requires one, the measured authentications have it, too.
    pub(crate) fn asked_share(&self, half_open_mean: f64) -> f64 {
        match self.half_open {
            0 => 0.0,
            from => 1.0 - poisson_within(u64::from(from) - 1, half_open_mean),
        }
    }

    /// Delays without waits of which this share has the additional round trip.
    pub(crate) fn delayed(&self, unloaded: &Unloaded, asked_share: f64) -> Unloaded {
        if asked_share < 1e-9 {
            return unloaded.clone();
        }
        let lost = asked_share * self.lost_share;
        unloaded.mixed(&[
            (1.0 - asked_share, 0.0),
            (asked_share - lost, self.round_trip_s),
            (lost, self.round_trip_s + self.retransmit_after_s),
        ])
    }
}

/// The probability of at most `k` events of a Poisson variable.
fn poisson_within(k: u64, mean: f64) -> f64 {
    // Terms by their logarithms, because the first ones of a large mean are too small for a number.
    let terms = (1..=k).scan(-mean, |log, k| {
        *log += (mean / k as f64).ln();
        Some(log.exp())
    });
    ((-mean).exp() + terms.sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOKIES: Cookies =
        Cookies { half_open: 125, round_trip_s: 0.1, lost_share: 0.01, retransmit_after_s: 4.0 };

    /// Tables of the Poisson distribution: P(X ≤ 10) = 0.5830 and P(X ≤ 15) = 0.9513 with a mean of 10.
    #[test]
    fn half_open_sas_are_a_poisson_variable() {
        assert!(
            (poisson_within(10, 10.0) - 0.5830).abs() < 5e-5
                && (poisson_within(15, 10.0) - 0.9513).abs() < 5e-5
        );
        assert!((poisson_within(0, 0.0) - 1.0).abs() < 1e-12 && poisson_within(124, 1e5) == 0.0);
        assert!(COOKIES.asked_share(80.0) < 1e-5 && COOKIES.asked_share(170.0) > 0.999);
        assert!((COOKIES.asked_share(125.0) - 0.5).abs() < 0.02, "{}", COOKIES.asked_share(125.0));
        assert_eq!(Cookies { half_open: 0, ..COOKIES }.asked_share(125.0), 0.0);
    }

    #[test]
    fn an_sa_is_half_open_for_the_delay_without_a_round_trip() {
        assert!((COOKIES.half_open_mean(1000.0, 0.25) - 150.0).abs() < 1e-9);
        assert_eq!(COOKIES.half_open_mean(1000.0, 0.05), 0.0);
    }

    /// Of the devices with a cookie, one in a hundred loses a packet and waits for 4 s.
    #[test]
    fn asked_devices_take_a_round_trip_more() {
        let delayed = COOKIES.delayed(&Unloaded::constant(0.2), 0.5);
        let quantiles = [0.25, 0.75, 0.994, 0.996].map(|share| delayed.quantile_s(share));
        let expected = [0.2, 0.3, 0.3, 4.3];
        assert!(
            quantiles.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-6),
            "{quantiles:?}"
        );
        assert_eq!(COOKIES.delayed(&Unloaded::constant(0.2), 0.0), Unloaded::constant(0.2));
    }
}
