//! The delay of an authentication under load: its delay without load plus the waits of its steps at every node.
//!
//! The waits are assumed to be independent: an authentication's steps at a node are a round trip apart, in which the queue changes
//! completely. The transform of their sum is then the product of their transforms, and is inverted numerically: read Abate and Whitt, ORSA
//! Journal on Computing 7 (1995) 36, for the method Euler.

use std::ops::{Add, Mul};

use keytoll_analysis::stats::ranks95;
use keytoll_analysis::summary::{Delay, SummaryRow};

use crate::doubt::share_of;
use crate::station::{Queue, Station};

/// The quantiles of the delay without load, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct Unloaded {
    /// Shares and delays in seconds.
    points: Vec<(f64, f64)>,
}

/// The number of delays without load for which [`exceed`] computes the probability of a wait.
const POINTS: u32 = 100;
/// A time below the accuracy of any measured delay.
const INSTANT_S: f64 = 1e-9;

impl Unloaded {
    /// The quantiles of the measured delays of a row, shifted by `later_s`, which is negative for a faster processor; `None` without any.
    pub fn of(row: &SummaryRow, later_s: f64) -> Option<Self> {
        let Delay { min, p5, p50, p95, p99, max, n, .. } = row.delay_ms?;
        let mut points = vec![(0.0, min), (0.05, p5), (0.5, p50), (0.95, p95), (0.99, p99), (1.0, max)];
        for (share, interval) in [(0.95, row.delay_ms?.p95_interval()), (0.99, row.delay_ms?.p99_interval())]
        {
            let ranks = ranks95(n, share).zip(interval);
            let ends = ranks.map(|(ranks, ends)| [0, 1].map(|end| (share_of(ranks[end], n), ends[end])));
            points.extend(ends.into_iter().flatten());
        }
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        // Where packets are lost, delays jump by a retransmission timer between two of these quantiles.
        if let Some((share, retransmitted_ms)) = retransmitted(row) {
            let above = points.iter().position(|(at, _)| *at > share)?;
            let (below_ms, above_ms) = (points[above - 1].1, points[above].1);
            let jump = [below_ms, retransmitted_ms.clamp(below_ms, above_ms.max(below_ms))];
            points.splice(above..above, jump.map(|ms| (share, ms)));
        }
        // The values of a file may be in any order, and a faster processor may shift them below zero: both are corrected here.
        let in_order = points.into_iter().scan(0.0, |least, (share, ms)| {
            *least = f64::max(*least, ms / 1e3 + later_s);
            Some((share, *least))
        });
        Some(Self { points: in_order.collect() })
    }

    /// The same delays, so much later; none is below zero.
    #[must_use]
    pub fn shifted(&self, later_s: f64) -> Self {
        Self { points: self.points.iter().map(|(share, s)| (*share, (s + later_s).max(0.0))).collect() }
    }

    /// A mixture of these delays, each part with its share and by how much its delays are longer.
    #[must_use]
    pub fn mixed(&self, parts: &[(f64, f64)]) -> Self {
        let steps = parts.iter().flat_map(|(_, later_s)| self.points.iter().map(move |(_, s)| s + later_s));
        let mut steps: Vec<f64> = steps.collect();
        steps.sort_by(f64::total_cmp);
        steps.dedup_by(|later, s| *later - *s < 3.0 * INSTANT_S);
        let within =
            |s: f64| parts.iter().map(|(share, later_s)| share * self.share_within(s - later_s)).sum::<f64>();
        // Shares just before and just after each step: it may be a jump.
        let points = steps.into_iter().flat_map(|s| [-INSTANT_S, INSTANT_S].map(|by| (within(s + by), s)));
        Self { points: points.collect() }
    }

    /// A delay that is always the same.
    pub fn constant(delay_s: f64) -> Self {
        Self { points: vec![(0.0, delay_s), (1.0, delay_s)] }
    }

    /// The delay that this share does not exceed, by linear interpolation.
    pub fn quantile_s(&self, share: f64) -> f64 {
        let above = self.points.iter().position(|(at, _)| *at >= share).unwrap_or(self.points.len() - 1);
        let (from, to) = (self.points[above.saturating_sub(1)], self.points[above]);
        let width = to.0 - from.0;
        let way = if width > 0.0 { (share - from.0) / width } else { 1.0 };
        from.1 + way.clamp(0.0, 1.0) * (to.1 - from.1)
    }

    /// The share of delays of at most `s` seconds.
    pub(crate) fn share_within(&self, s: f64) -> f64 {
        let Some(above) = self.points.iter().position(|(_, delay)| *delay > s) else { return 1.0 };
        let Some(below) = above.checked_sub(1) else { return 0.0 };
        let (from, to) = (self.points[below], self.points[above]);
        from.0 + (s - from.1) / (to.1 - from.1) * (to.0 - from.0)
    }
}

/// The share of authentications that did not wait for the retransmission of a lost packet, and the least delay of the others in
/// milliseconds; `None` if there are no others.
fn retransmitted(row: &SummaryRow) -> Option<(f64, f64)> {
    let (delay, waited) = (row.delay_ms?, row.waited_for_lost_ms?);
    let share = waited.n as f64 / delay.n.max(1) as f64;
    (share > 0.0 && share < 1.0).then_some((1.0 - share, delay.p50 + waited.min))
}

/// The waits of an authentication at the nodes that it visits.
#[derive(Debug, Clone)]
pub struct Waits {
    visits: Vec<Visits>,
    mean_s: f64,
}

/// The steps of an authentication at one node.
#[derive(Debug, Clone, Copy)]
struct Visits {
    count: f64,
    /// The probability that a step waits.
    share: f64,
    /// The wait.
    queue: Queue,
}

impl Waits {
    /// The waits at nodes that all keep up with their load.
    pub fn at(stations: &[Station]) -> Self {
        let visits = |station: &Station| {
            let (share, ends_per_s) = (station.waits_share(), station.wait_ends_per_s());
            let exponential = Queue { first_s: 0.0, others_share: 1.0, ends_per_s };
            let queue = station.queue.unwrap_or(exponential);
            let waits = share > 0.0 && ends_per_s.is_finite();
            waits.then_some(Visits { count: station.visits, share, queue })
        };
        Self {
            visits: stations.iter().filter_map(visits).collect(),
            mean_s: stations.iter().map(Station::waits_of_all_mean_s).sum(),
        }
    }

    /// The mean of the sum of the waits.
    pub const fn mean_s(&self) -> f64 {
        self.mean_s
    }

    /// The probability that the sum of the waits is longer than `s` seconds.
    pub fn exceed(&self, s: f64) -> f64 {
        if s < 0.0 {
            return 1.0;
        }
        if self.mean_s() <= 0.0 {
            return 0.0;
        }
        // The distribution has a step at zero, where the inversion is not accurate.
        inverted(|at| self.transform(at), s.max(1e-9 * self.mean_s())).clamp(0.0, 1.0)
    }

    /// The sum of the waits that this share does not exceed.
    pub fn quantile_s(&self, share: f64) -> f64 {
        least(1.0 - share, 0.0, self.mean_s(), |s| self.exceed(s))
    }

    /// The Laplace-Stieltjes transform E exp(-sW) of the sum W of the waits.
    fn transform(&self, s: Complex) -> Complex {
        let of_one = |&Visits { count, share, queue }: &Visits| {
            let Queue { first_s, others_share, ends_per_s } = queue;
            let further = (s + Complex::from(ends_per_s)).inverse() * (others_share * ends_per_s)
                + Complex::from(1.0 - others_share);
            // The rest of a constant time is uniform.
            let first = (s * (2.0 * first_s)).uniform();
            (first * further * share + Complex::from(1.0 - share)).power(count)
        };
        self.visits.iter().map(of_one).fold(Complex::ONE, |product, one| product * one)
    }
}

/// The delay that this share of authentications does not exceed.
pub fn quantile_s(unloaded: &Unloaded, waits: &Waits, share: f64) -> f64 {
    let (least_s, mean_s) = (unloaded.quantile_s(share), waits.mean_s());
    if mean_s <= 0.0 {
        return least_s;
    }
    // Where exactly so many waited for a lost packet, the share that waits in a queue never ends, and is nothing: a hundred-thousandth of the share.
    least((1.0 - share) * (1.0 + 1e-5), least_s, mean_s, |s| exceed(unloaded, waits, s))
}

/// The share of authentications with a longer delay: with a longer delay without load, or with a wait that is long enough.
pub fn exceed(unloaded: &Unloaded, waits: &Waits, s: f64) -> f64 {
    let within = unloaded.share_within(s);
    // Waits are short compared with the spread of delays without load, so most points are near `s`, where a short wait is enough.
    let waiting = |place: u32| {
        let way = (f64::from(place) + 0.5) / f64::from(POINTS);
        waits.exceed(s - unloaded.quantile_s(within * (1.0 - way.powi(4)))) * 4.0 * way.powi(3)
    };
    1.0 - within + within * (0..POINTS).map(waiting).sum::<f64>() / f64::from(POINTS)
}

/// The least value, not below `from`, at which the falling function `exceed` is at most `probability`.
fn least(probability: f64, from: f64, step: f64, exceed: impl Fn(f64) -> f64) -> f64 {
    if !step.is_finite() {
        return f64::INFINITY;
    }
    if exceed(from) <= probability || step <= 0.0 {
        return from;
    }
    // A shorter step would be lost in the last digit of `from`.
    let step = step.max(1e-9 * from);
    // Tails fall about exponentially, so their logarithms are nearly straight lines.
    let excess = |s: f64| (exceed(s).max(f64::MIN_POSITIVE) / probability).ln();
    let mut below = End::at(from, &excess);
    let mut above = End::at(from + step, &excess);
    while above.excess > 0.0 && above.s.is_finite() {
        let further = End::at(from + 2.0 * (above.s - from), &excess);
        (below, above) = (above, further);
    }
    narrowed(below, above, from, excess)
}

/// One end of the interval that contains the value, and how far the function is above its target there.
#[derive(Debug, Clone, Copy)]
struct End {
    s: f64,
    excess: f64,
}

impl End {
    fn at(s: f64, excess: &impl Fn(f64) -> f64) -> Self {
        Self { s, excess: excess(s) }
    }
}

/// The upper end of the interval, after it has been narrowed to a millionth of its distance from `from`: regula falsi with the Illinois rule,
/// which halves the function value at an end that has not moved.
fn narrowed(mut below: End, mut above: End, from: f64, excess: impl Fn(f64) -> f64) -> f64 {
    let mut raised = false;
    for turn in 0..66 {
        let tolerance = 1e-6 * (above.s - from);
        let width = above.s - below.s;
        if width <= tolerance || !width.is_finite() {
            break;
        }
        let chord = below.s + width * below.excess / (below.excess - above.excess);
        // A little beyond the root, so that the other end comes close as well. Every third turn bisects, because the chord gains little where a
        // tail is steep.
        let beyond = match turn % 3 {
            2 => f64::midpoint(below.s, above.s),
            _ if raised => chord + tolerance / 3.0,
            _ => chord - tolerance / 3.0,
        };
        let next = End::at(beyond.clamp(below.s + tolerance / 4.0, above.s - tolerance / 4.0), &excess);
        let stays = if next.excess > 0.0 { &mut above } else { &mut below };
        if raised == (next.excess > 0.0) {
            stays.excess /= 2.0;
        }
        raised = next.excess > 0.0;
        *(if raised { &mut below } else { &mut above }) = next;
    }
    above.s
}

/// Abate and Whitt's A: the error of the discretisation is e⁻ᴬ.
const ACCURACY: f64 = 18.4;
/// The number of terms before Euler's summation, and the number of terms in it.
const TERMS: u32 = 15;
const EULER: u32 = 11;

/// The probability that a variable with this Laplace-Stieltjes transform exceeds `t`.
fn inverted(transform: impl Fn(Complex) -> Complex, t: f64) -> f64 {
    let of_tail = |imaginary: f64| {
        let s = Complex { re: ACCURACY / (2.0 * t), im: imaginary };
        ((Complex::ONE + transform(s) * -1.0) * s.inverse()).re
    };
    let scale = (ACCURACY / 2.0).exp() / t;
    let mut sum = of_tail(0.0) / 2.0;
    let (mut averaged, mut weight, mut weights) = (0.0, 1.0, 0.0);
    for k in 1..=TERMS + EULER {
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * of_tail(f64::from(k) * std::f64::consts::PI / t);
        if k >= TERMS {
            averaged += weight * sum;
            weights += weight;
            let chosen = f64::from(k - TERMS);
            weight *= (f64::from(EULER) - chosen) / (chosen + 1.0);
        }
    }
    scale * averaged / weights
}

/// A complex number.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    const ONE: Self = Self { re: 1.0, im: 0.0 };

    fn inverse(self) -> Self {
        let square = self.re * self.re + self.im * self.im;
        Self { re: self.re / square, im: -self.im / square }
    }

    /// (1 - exp(-z)) ÷ z: the transform of a uniform variable from 0 on.
    fn uniform(self) -> Self {
        let decay = (-self.re).exp();
        let rest = Self { re: 1.0 - decay * self.im.cos(), im: decay * self.im.sin() };
        if self == Self::from(0.0) { Self::ONE } else { rest * self.inverse() }
    }

    fn power(self, exponent: f64) -> Self {
        let square = self.re * self.re + self.im * self.im;
        let (length, angle) = (square.powf(exponent / 2.0), self.im.atan2(self.re) * exponent);
        Self { re: length * angle.cos(), im: length * angle.sin() }
    }
}

impl From<f64> for Complex {
    fn from(re: f64) -> Self {
        Self { re, im: 0.0 }
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl Mul<f64> for Complex {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { re: self.re * factor, im: self.im * factor }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An M/M/1 queue with a mean service time of a second.
    fn station(load: f64, visits: f64) -> Station {
        let (waking_cores, later_s, queue) = (0.0, 0.0, None);
        let (step_s, step_square_s2) = (1.0, 2.0);
        Station { cores: 1, busy_cores: load, waking_cores, step_s, step_square_s2, visits, later_s, queue }
    }

    /// M/M/1: P(W > t) = ρ e^{-(1-ρ)t}.
    #[test]
    fn one_wait_is_exponential() {
        let stations = [station(0.8, 1.0)];
        let waits = Waits::at(&stations);
        for t in [0.1_f64, 1.0, 10.0, 30.0] {
            assert!((waits.exceed(t) - 0.8 * (-0.2 * t).exp()).abs() < 1e-6, "{t}: {}", waits.exceed(t));
        }
        assert!((waits.quantile_s(0.99) - (80.0_f64).ln() / 0.2).abs() < 1e-3, "{}", waits.quantile_s(0.99));
        assert_eq!(waits.quantile_s(0.1), 0.0);
    }

    /// The logarithm of a step is not straight, and a delay may be infinite.
    #[test]
    fn a_step_is_found_and_an_endless_delay_stays_endless() {
        for step_s in [0.01, 3.0, 2000.0] {
            let found = least(0.01, 0.0, 1.0, |s| f64::from(u8::from(s < step_s)));
            assert!(found >= step_s && found <= step_s * (1.0 + 2e-6), "{step_s}: {found}");
        }
        assert_eq!(least(0.01, f64::INFINITY, 1.0, |_| 0.5), f64::INFINITY);
        assert_eq!(least(0.01, 0.0, 1.0, |_| 0.5), f64::INFINITY);
    }

    /// Two visits, of which both or one wait: P(W > t) = e^{-θt}(1 - (1-ρ)² + ρ²θt).
    #[test]
    fn waits_add_up() {
        for stations in [vec![station(0.6, 2.0)], vec![station(0.6, 1.0); 2]] {
            let waits = Waits::at(&stations);
            for t in [0.5_f64, 3.0, 12.0] {
                let exact = (-0.4 * t).exp() * (1.0 - 0.4_f64.powi(2) + 0.36 * 0.4 * t);
                assert!((waits.exceed(t) - exact).abs() < 1e-6, "{t}: {} {exact}", waits.exceed(t));
            }
            assert!((waits.mean_s() - 2.0 * 0.6 / 0.4).abs() < 1e-12);
        }
    }

    #[test]
    fn a_delay_is_what_it_is_without_load_and_the_wait() {
        let stations = [station(0.5, 1.0)];
        let waits = Waits::at(&stations);
        let constant = Unloaded::constant(7.0);
        assert!((quantile_s(&constant, &waits, 0.99) - 7.0 - waits.quantile_s(0.99)).abs() < 1e-3);
        let (nowhere, idle) = (Unloaded::constant(3.0), [station(0.0, 4.0)]);
        assert_eq!(quantile_s(&nowhere, &Waits::at(&idle), 0.99), 3.0);
        // If delays without load vary far more than waits, a percentile is longer by about the mean wait, which is a second.
        let delay = Delay {
            mean: 5e4,
            min: 0.0,
            p5: 5e3,
            p50: 5e4,
            p95: 9.5e4,
            p99: 9.9e4,
            max: 1e5,
            n: 1000,
            ..Delay::default()
        };
        let wide = Unloaded::of(&SummaryRow { delay_ms: Some(delay), ..SummaryRow::default() }, 1.0).unwrap();
        assert!((wide.quantile_s(0.25) - 26.0).abs() < 1e-9);
        let delay = quantile_s(&wide, &waits, 0.9);
        assert!((delay - 92.0).abs() < 0.2, "{delay}");
        // With hardly any waits, the percentile is the one without load.
        let barely = [Station { busy_cores: 1e-6, ..station(0.5, 1.0) }];
        assert!((quantile_s(&wide, &Waits::at(&barely), 0.99) - wide.quantile_s(0.99)).abs() < 0.1);
    }

    /// 8 in 1000 waited for 4 s or longer: what 99.1 % take is not between both.
    #[test]
    fn delays_jump_by_the_timer_of_lost_packets() {
        let of = |ms: f64, n: u64| Delay {
            min: ms,
            p5: ms,
            p50: ms,
            p95: ms,
            p99: ms,
            max: ms,
            n,
            ..Delay::default()
        };
        let delay_ms = Some(Delay { max: 5000.0, ..of(600.0, 1000) });
        let row = SummaryRow { delay_ms, waited_for_lost_ms: Some(of(4000.0, 8)), ..SummaryRow::default() };
        let unloaded = Unloaded::of(&row, 0.0).unwrap();
        assert_eq!([0.5, 0.991].map(|share| unloaded.quantile_s(share)), [0.6, 0.6]);
        assert!((unloaded.quantile_s(0.9921) - 4.6).abs() < 0.01, "{}", unloaded.quantile_s(0.9921));
        assert!((unloaded.share_within(3.0) - 0.992).abs() < 1e-12);
        let none = Unloaded::of(&SummaryRow { waited_for_lost_ms: None, ..row }, 0.0).unwrap();
        assert!(none.share_within(3.0) > 0.995, "a straight line between the quantiles");
        assert_eq!(Unloaded::of(&SummaryRow::default(), 0.0), None);
    }

    /// The interval of the 99th percentile of 1000 delays has the 983rd and the 997th of them as its ends.
    #[test]
    fn the_ends_of_a_measured_interval_are_quantiles() {
        let [p50, p95, p99, max] = [10.0, 10.9, 11.2, 30.0];
        let delay = Delay { min: 9.0, p5: 9.5, p50, p95, p99, max, n: 1000, ..Delay::default() };
        let measured = Delay { p99_ci95_low: Some(10.95), p99_ci95_high: Some(12.94), ..delay };
        let ends = |delay: Delay| {
            let waited_for_lost_ms = Some(Delay { n: 8, min: 3.0, ..Delay::default() });
            let row = SummaryRow { delay_ms: Some(delay), waited_for_lost_ms, ..SummaryRow::default() };
            let unloaded = Unloaded::of(&row, 0.0).unwrap();
            let shares = [share_of(983, 1000), 0.99, share_of(997, 1000)];
            shares.map(|share| (unloaded.quantile_s(share) * 1e6).round() / 1e3)
        };
        assert_eq!(ends(measured), [10.95, 11.2, 12.94]);
        assert_ne!(ends(delay), [10.95, 11.2, 12.94], "without the interval");
    }

    /// One in a hundred waited for a lost packet: 99 % did not, however little they wait in a queue.
    #[test]
    fn a_percentile_at_a_jump_is_below_it() {
        let delay = Delay {
            min: 9.0,
            p5: 9.5,
            p50: 10.0,
            p95: 10.9,
            p99: 11.2,
            max: 4010.0,
            n: 100,
            ..Delay::default()
        };
        let waited_for_lost_ms = Some(Delay { n: 1, min: 4000.0, ..Delay::default() });
        let row = SummaryRow { delay_ms: Some(delay), waited_for_lost_ms, ..SummaryRow::default() };
        let unloaded = Unloaded::of(&row, 0.0).unwrap();
        let idle = [Station { busy_cores: 1e-3, step_s: 1e-5, step_square_s2: 2e-10, ..station(0.5, 1.0) }];
        let p99_s = quantile_s(&unloaded, &Waits::at(&idle), 0.99);
        assert!((p99_s - 0.0112).abs() < 1e-3, "{p99_s}");
    }

    /// Half of all take a second more: the median is between both.
    #[test]
    fn a_mixture_has_the_shares_of_its_parts() {
        let line = Unloaded { points: vec![(0.0, 1.0), (1.0, 2.0)] };
        let mixed = line.mixed(&[(0.5, 0.0), (0.5, 4.0)]);
        for (share, s) in [(0.25, 1.5), (0.5, 2.0), (0.75, 5.5), (1.0, 6.0)] {
            assert!((mixed.quantile_s(share) - s).abs() < 1e-7, "{share}: {}", mixed.quantile_s(share));
        }
        assert!((mixed.share_within(3.0) - 0.5).abs() < 1e-7);
    }

    proptest! {
        #[test]
        fn tails_fall_and_quantiles_find_them(
            load in 0.05..0.95_f64, visits in 1.0..12.0_f64, share in 0.5..0.999_f64, t in 0.0..50.0_f64,
        ) {
            let stations = [station(load, visits), station(load / 2.0, 2.0)];
            let waits = Waits::at(&stations);
            prop_assert!(waits.exceed(t) >= waits.exceed(t + 1.0) - 1e-6);
            let found = waits.quantile_s(share);
            prop_assert!(found == 0.0 || (waits.exceed(found) - (1.0 - share)).abs() < 1e-4, "{}", found);
        }

        #[test]
        fn more_load_is_a_longer_delay(load in 0.1..0.9_f64, visits in 1.0..8.0_f64) {
            let of = |load: f64| {
                let stations = [station(load, visits)];
                quantile_s(&Unloaded::constant(1.0), &Waits::at(&stations), 0.99)
            };
            prop_assert!(of(load * 1.05) > of(load));
        }
    }
}
