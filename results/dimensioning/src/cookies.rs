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
    /// The number of half-open SAs that it keeps at most.
    pub half_open_max: u32,
    /// The mean of the additional round trip, if no packet of it is lost; without computation.
    pub round_trip_s: f64,
    /// Its standard deviation.
    pub jitter_s: f64,
    /// The probability that a packet of it is lost.
    pub lost_share: f64,
    /// How long a device waits then before it retransmits.
    pub retransmit_after_s: f64,
    /// What every further wait is multiplied with.
    pub retransmit_base: f64,
    /// How often it retransmits.
    pub retransmissions_max: u8,
}

/// A normal variable of variance 1 in ten parts of the same probability: the quantiles at 5 %, 15 %, …, divided by the root of their mean
/// square.
const NORMAL_PARTS: [f64; 10] = [-1.754, -1.105, -0.719, -0.411, -0.134, 0.134, 0.411, 0.719, 1.105, 1.754];

impl Cookies {
    /// The mean number of half-open SAs: all that began within the mean delay, but for the way of the first message and of the last one.
    pub(crate) fn half_open_mean(&self, per_s: f64, delay_mean_s: f64) -> f64 {
        per_s * (delay_mean_s - self.round_trip_s).max(0.0)
    }

    /// The share of authentications with a cookie. If a gateway always requires one, the measured authentications have it, too.
    pub(crate) fn asked_share(&self, half_open_mean: f64) -> f64 {
        match self.half_open {
            0 => 0.0,
            _ if half_open_mean.is_infinite() => 1.0,
            from => 1.0 - poisson_within(u64::from(from) - 1, half_open_mean),
        }
    }

    /// Delays without waits of which this share has the additional round trip, with so much computation in it.
    pub(crate) fn delayed(&self, unloaded: &Unloaded, asked_share: f64, computation_s: f64) -> Unloaded {
        if asked_share < 1e-9 {
            return unloaded.clone();
        }
        let round_trip_s = self.round_trip_s + computation_s;
        let arrive = asked_share * (1.0 - self.lost_share);
        let jittery = NORMAL_PARTS
            .map(|part| (arrive / NORMAL_PARTS.len() as f64, (round_trip_s + part * self.jitter_s).max(0.0)));
        let lost = self.retransmitted().map(|(share, wait_s)| (asked_share * share, round_trip_s + wait_s));
        let parts: Vec<(f64, f64)> =
            std::iter::once((1.0 - asked_share, 0.0)).chain(jittery).chain(lost).collect();
        unloaded.mixed(&parts)
    }

    /// The shares of round trips with one retransmission, two, and so on, and how long devices wait for them. The last one
    /// includes all that lose more messages, which fail.
    fn retransmitted(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let last = self.retransmissions_max.max(1);
        (1..=last).scan((0.0, self.retransmit_after_s), move |(waited_s, wait_s), count| {
            *waited_s += *wait_s;
            *wait_s *= self.retransmit_base;
            let arrives = if count == last { 1.0 } else { 1.0 - self.lost_share };
            Some((self.lost_share.powi(count.into()) * arrives, *waited_s))
        })
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

    const COOKIES: Cookies = Cookies {
        half_open: 125,
        half_open_max: 1000,
        round_trip_s: 0.1,
        jitter_s: 0.0,
        lost_share: 0.01,
        retransmit_after_s: 4.0,
        retransmit_base: 1.8,
        retransmissions_max: 5,
    };

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
        let delayed = COOKIES.delayed(&Unloaded::constant(0.2), 0.5, 0.0);
        let quantiles = [0.25, 0.75, 0.994, 0.996].map(|share| delayed.quantile_s(share));
        let expected = [0.2, 0.3, 0.3, 4.3];
        assert!(
            quantiles.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-6),
            "{quantiles:?}"
        );
        assert_eq!(COOKIES.delayed(&Unloaded::constant(0.2), 0.0, 0.01), Unloaded::constant(0.2));
        let computed = COOKIES.delayed(&Unloaded::constant(0.2), 1.0, 0.01);
        assert!((computed.quantile_s(0.5) - 0.31).abs() < 1e-6, "{computed:?}");
    }

    /// Half of all round trips lose a packet: a quarter takes 4 s more, an eighth 4 · (1 + 1.8), a 32nd 4 · (1 + 1.8 + 1.8² + 1.8³).
    #[test]
    fn packets_are_lost_again_and_again() {
        let lossy = Cookies { lost_share: 0.5, retransmissions_max: 4, ..COOKIES };
        let delayed = lossy.delayed(&Unloaded::constant(0.2), 1.0, 0.0);
        for (share, later_s) in [(0.4, 0.0), (0.6, 4.0), (0.8, 11.2), (0.9, 24.16), (0.97, 47.488)] {
            let found = delayed.quantile_s(share);
            assert!((found - 0.3 - later_s).abs() < 1e-6, "{share}: {found}");
        }
    }

    #[test]
    fn jitter_of_the_round_trip_is_that_of_a_normal_variable() {
        let n = NORMAL_PARTS.len() as f64;
        let [sum, squares] =
            [1, 2].map(|power| NORMAL_PARTS.iter().map(|part| part.powi(power)).sum::<f64>());
        assert!(sum.abs() < 1e-9 && (squares / n - 1.0).abs() < 2e-3, "{sum} {squares}");
        let jittery = Cookies { jitter_s: 0.01, lost_share: 0.0, ..COOKIES };
        let delayed = jittery.delayed(&Unloaded::constant(0.2), 1.0, 0.0);
        // Quantiles of the normal distribution: 1.645 standard deviations at 95 %, here within a tenth of one.
        for (share, deviations) in [(0.05, -1.645), (0.5, 0.0), (0.95, 1.645)] {
            let found = (delayed.quantile_s(share) - 0.3) / 0.01;
            assert!((found - deviations).abs() < 0.15, "{share}: {found}");
        }
    }
}
