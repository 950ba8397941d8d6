//! The times at which devices are meant to begin: integers of nanoseconds from the start of the load, computed for each arrival
//! from the beginning of its stage, so that nothing adds up.

use std::time::Duration;
use std::vec::IntoIter;

use keytoll_crypto_api::{Rng, Seed};

use super::spread::exponential;
use super::times::{self, TimesError};
use super::{Arrivals, Rate, Stage};

/// The intended starts of the devices of a population, never decreasing.
#[derive(Debug)]
pub struct Schedule {
    stages: IntoIter<Stage>,
    running: Option<Running>,
    /// When the running stage began.
    begun_ns: u64,
    /// The devices that have not arrived.
    left: u32,
    seed: Seed,
    /// How many stages have begun.
    begun: u32,
}

/// A stage in progress: its next arrivals, counted from its beginning.
#[derive(Debug)]
struct Running {
    course: Course,
    length_ns: Option<u64>,
}

#[derive(Debug)]
enum Course {
    Even { rate: Rate, count: u64 },
    Poisson { mean_gap_ns: f64, at_ns: u64, rng: Rng },
    Ramp(Ramp),
    Sorted(IntoIter<u64>),
    Diurnal(Diurnal),
}

impl Schedule {
    /// That of arrivals; `None` in a closed loop.
    pub(super) fn of(arrivals: &Arrivals, devices: u32, seed: &Seed) -> Result<Option<Self>, TimesError> {
        let (stages, running) = match arrivals {
            Arrivals::AtATime(_) => return Ok(None),
            Arrivals::Stages(stages) => (stages.clone(), None),
            Arrivals::Times(path) => {
                let course = Course::Sorted(times::read(path, devices)?.into_iter());
                (Vec::new(), Some(Running { course, length_ns: None }))
            }
        };
        let (seed, stages) = (seed.clone(), stages.into_iter());
        Ok(Some(Self { stages, running, begun_ns: 0, left: devices, seed, begun: 0 }))
    }

    /// How long a schedule is: until a device more would begin, or its stages have ended. A file has no more times, but they have a
    /// mean distance.
    pub(super) fn span(
        arrivals: &Arrivals,
        devices: u32,
        seed: &Seed,
    ) -> Result<Option<Duration>, TimesError> {
        let Arrivals::Stages(stages) = arrivals else {
            let last = Self::of(arrivals, devices, seed)?.and_then(Iterator::last);
            let distance = |last: Duration| last.checked_div(devices - 1).unwrap_or_default();
            return Ok(last.map(|last| last + distance(last)));
        };
        let one_more = Self::of(arrivals, devices.saturating_add(1), seed)?;
        let ends = one_more.and_then(|mut times| times.nth(devices as usize));
        Ok(Some(ends.unwrap_or_else(|| stages.iter().filter_map(Stage::length).sum())))
    }

    fn begin(&mut self, stage: Stage) {
        let rng = self.seed.stream(&format!("arrivals/{}", self.begun));
        self.begun += 1;
        let length_ns = stage.length().map(nanos);
        self.running = Some(Running { course: Course::new(stage, rng), length_ns });
    }
}

impl Iterator for Schedule {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        loop {
            if let Some(running) = &mut self.running {
                if let Some(at_ns) = running.next_ns() {
                    return Some(Duration::from_nanos(self.begun_ns.saturating_add(at_ns)));
                }
                self.begun_ns = self.begun_ns.saturating_add(running.length_ns.unwrap_or(0));
                self.running = None;
            }
            let stage = self.stages.next()?;
            self.begin(stage);
        }
    }
}

impl Running {
    /// The next arrival before the end of the stage.
    fn next_ns(&mut self) -> Option<u64> {
        let at_ns = match &mut self.course {
            Course::Even { rate, count } => {
                *count += 1;
                rate.nth_ns(*count - 1)?
            }
            Course::Poisson { mean_gap_ns, at_ns, rng } => {
                let gap_ns = (*mean_gap_ns * exponential(rng)).round() as u64;
                *at_ns = at_ns.saturating_add(gap_ns);
                *at_ns
            }
            Course::Ramp(ramp) => ramp.next_ns()?,
            Course::Sorted(times) => times.next()?,
            Course::Diurnal(diurnal) => diurnal.next_ns(),
        };
        self.length_ns.is_none_or(|length_ns| at_ns < length_ns).then_some(at_ns)
    }
}

impl Course {
    fn new(stage: Stage, mut rng: Rng) -> Self {
        match stage {
            Stage::Constant(rate, _) => Self::Even { rate, count: 0 },
            Stage::Poisson(rate, _) => Self::Poisson { mean_gap_ns: rate.mean_gap_ns(), at_ns: 0, rng },
            Stage::Ramp(from, to, length) => Self::Ramp(Ramp::new(from, to, length)),
            Stage::Storm(count, length) => {
                let mut times: Vec<_> = (0..count).map(|_| rng.below(nanos(length))).collect();
                times.sort_unstable();
                Self::Sorted(times.into_iter())
            }
            Stage::Diurnal(low, high, period) => Self::Diurnal(Diurnal::new(low, high, period)),
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A rate that grows or falls evenly. Arrival `k` comes in the first microsecond by whose end `k` arrivals are due.
#[derive(Debug)]
struct Ramp {
    from: i128,
    change: i128,
    length_us: i128,
    count: i128,
    at_us: i128,
    /// The distance from the last arrival to the one before, from where the next one is searched.
    gap_us: i128,
}

/// Thousandths of an hour's arrivals, in microseconds.
const HOUR_US: i128 = 3_600_000_000 * 1000;

impl Ramp {
    fn new(from: Rate, to: Rate, length: Duration) -> Self {
        let [from, to] = [from, to].map(|rate| i128::from(rate.thousandths_per_hour()));
        let length_us = i128::try_from(length.as_micros()).expect("at most a week");
        Self { from, change: to - from, length_us: length_us.max(1), count: 0, at_us: 0, gap_us: 1 }
    }

    /// Whether `count` arrivals are due after so many microseconds: from t + change t² / 2T, in thousandths per hour.
    fn is_due(&self, us: i128) -> bool {
        2 * self.from * self.length_us * us + self.change * us * us
            >= self.count * HOUR_US * 2 * self.length_us
    }

    /// The next arrival; `None` if none is due by the end.
    fn next_ns(&mut self) -> Option<u64> {
        if !self.is_due(self.length_us) {
            return None;
        }
        let mut low = self.at_us;
        let mut step = self.gap_us.max(1);
        // The first bound by which it is due, at most the end; then the first microsecond.
        let mut high = self.at_us;
        while !self.is_due(high) {
            low = high;
            high = (high + step).min(self.length_us);
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_due(middle) { high = middle } else { low = middle + 1 }
        }
        (self.gap_us, self.at_us) = (high - self.at_us, high);
        self.count += 1;
        u64::try_from(high * 1000).ok()
    }
}

/// Half a day of a raised cosine, in thousandths: from the low rate to the high one in twelve ramps.
const COURSE: [u64; 13] = [0, 17, 67, 146, 250, 371, 500, 629, 750, 854, 933, 983, 1000];

/// Days, each of 24 ramps.
#[derive(Debug)]
struct Diurnal {
    low: Rate,
    high: Rate,
    period_ns: u64,
    ramp: Ramp,
    /// The number of the ramp in all days.
    hour: u64,
}

impl Diurnal {
    fn new(low: Rate, high: Rate, period: Duration) -> Self {
        let period_ns = nanos(period);
        Self { low, high, period_ns, ramp: Self::ramp(low, high, period_ns, 0), hour: 0 }
    }

    fn ramp(low: Rate, high: Rate, period_ns: u64, hour: u64) -> Ramp {
        let rate = |hour: u64| {
            let hour = usize::try_from(hour % 24).expect("below 24");
            low.towards(high, COURSE[hour.min(24 - hour)])
        };
        Ramp::new(rate(hour), rate(hour + 1), Duration::from_nanos(period_ns / 24))
    }

    fn next_ns(&mut self) -> u64 {
        let length_ns = self.period_ns / 24;
        loop {
            if let Some(ns) = self.ramp.next_ns().filter(|&ns| ns < length_ns) {
                return self.hour.saturating_mul(length_ns).saturating_add(ns);
            }
            self.hour += 1;
            self.ramp = Self::ramp(self.low, self.high, self.period_ns, self.hour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::read;
    use super::*;
    use proptest::prelude::*;

    /// The times in nanoseconds.
    fn times(texts: &[&str], devices: u32, seed: u64) -> Vec<u64> {
        let stages = texts.iter().flat_map(|text| match read(text).unwrap() {
            Arrivals::Stages(stages) => stages,
            other => panic!("{other:?}"),
        });
        let arrivals = Arrivals::Stages(stages.collect());
        Schedule::of(&arrivals, devices, &Seed::from(seed)).unwrap().unwrap().map(nanos).collect()
    }

    #[test]
    fn a_constant_rate_does_not_drift() {
        let at = times(&["constant 300/s"], 1_000_000, 1);
        assert_eq!(at.len(), 1_000_000);
        assert_eq!((at[0], at[1], at[300], at[999_900]), (0, 3_333_333, 1_000_000_000, 3_333_000_000_000));
    }

    #[test]
    fn a_schedule_is_as_long_as_it_takes_to_arrive() {
        for (text, devices, ms) in [
            ("constant 100/s", 205, 2050),
            ("constant 100/s for 2 s", 200, 2000),
            ("storm 4000 in 1 s", 4000, 1000),
            ("ramp 0/s to 100/s in 10 s", 500, 10_000),
            ("constant 20/s", 1, 50),
        ] {
            let span = Schedule::span(&read(text).unwrap(), devices, &Seed::from(1));
            assert_eq!((text, span), (text, Ok(Some(Duration::from_millis(ms)))));
        }
        assert_eq!(Schedule::span(&Arrivals::AtATime(2), 5, &Seed::from(1)), Ok(None));
    }

    #[test]
    fn stages_follow_each_other_and_end_on_time() {
        let at = times(&["constant 10/s for 2 s", "storm 5 in 1 s", "constant 1/s"], 27, 1);
        assert_eq!(at.len(), 27);
        assert_eq!((at[19], at[25], at[26]), (1_900_000_000, 3_000_000_000, 4_000_000_000));
        assert!(at[20..25].iter().all(|&at| (2_000_000_000..3_000_000_000).contains(&at)));
    }

    #[test]
    fn a_poisson_process_has_a_variance_like_its_mean_and_no_memory() {
        let at = times(&["poisson 1000/s for 100 s"], 200_000, 7);
        let mut counts = vec![0_u32; 1000];
        at.iter().for_each(|&at| counts[usize::try_from(at / 100_000_000).unwrap()] += 1);
        let mean = counts.iter().map(|&n| f64::from(n)).sum::<f64>() / 1000.0;
        let variance = counts.iter().map(|&n| (f64::from(n) - mean).powi(2)).sum::<f64>() / 999.0;
        // Mean 100 ± 5 standard errors; variance over mean 1 ± 5 √(2/999).
        assert!((mean - 100.0).abs() < 1.6, "{mean}");
        assert!((variance / mean - 1.0).abs() < 0.23, "{variance} {mean}");
        let together = counts.windows(2).map(|two| (f64::from(two[0]) - mean) * (f64::from(two[1]) - mean));
        let correlation = together.sum::<f64>() / 999.0 / variance;
        assert!(correlation.abs() < 0.16, "{correlation}");
    }

    #[test]
    fn a_ramp_has_the_rate_it_says_at_each_moment() {
        let at = times(&["ramp 0/s to 1000/s in 10 s"], 5000, 1);
        assert_eq!(at.len(), 5000);
        for second in 0..10_u64 {
            let range = second * 1_000_000_000..(second + 1) * 1_000_000_000;
            let count = at.iter().filter(|at| range.contains(at)).count() as u64;
            // The mean rate of this second, and one of either end.
            assert!(count.abs_diff(100 * second + 50) <= 1, "second {second}: {count}");
        }
        let down = times(&["ramp 100/s to 0/s in 10 s"], 500, 1);
        assert_eq!((down.len(), down[0]), (500, 0));
    }

    #[test]
    fn a_storm_is_spread_evenly_at_random() {
        let at = times(&["storm 50000 in 10 s"], 50_000, 1);
        let mut counts = [0_u32; 10];
        at.iter().for_each(|&at| counts[usize::try_from(at / 1_000_000_000).unwrap()] += 1);
        // χ² with 9 degrees of freedom is below 27.9 with a probability of 99.9 %.
        let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 5000.0).powi(2) / 5000.0).sum();
        assert!(chi2 < 27.9, "{counts:?}");
        assert_ne!(at, times(&["storm 50000 in 10 s"], 50_000, 2));
    }

    #[test]
    fn a_day_has_its_peak_in_the_middle_and_is_repeated() {
        let at = times(&["diurnal 0/s to 2/s in 2400 s"], 4800, 1);
        let count = |from_s: u64, to_s: u64| {
            at.iter().filter(|&&at| (from_s * 1_000_000_000..to_s * 1_000_000_000).contains(&at)).count()
        };
        let [first, second] = [count(0, 2400), count(2400, 4800)];
        assert!(first.abs_diff(2400) < 30 && first.abs_diff(second) < 30, "{first} {second}");
        assert!(count(0, 200) < 20 && count(1100, 1300) > 380);
    }

    proptest! {
        #[test]
        fn a_schedule_never_goes_back_and_is_the_same_again(
            kinds in prop::collection::vec(0..4_u8, 1..4), devices in 1..500_u32, rate in 1..10_000_u32, seed: u64,
        ) {
            let texts: Vec<_> = kinds.iter().map(|kind| match kind {
                0 => format!("constant {rate}/min for 20 s"),
                1 => format!("poisson {rate}/min for 20 s"),
                2 => format!("ramp {rate}/min to 1/s in 7.5 s"),
                _ => format!("storm {rate} in 3 s"),
            }).chain(["constant 5/s".to_owned()]).collect();
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            let at = times(&texts, devices, seed);
            prop_assert_eq!(at.len(), devices as usize);
            prop_assert!(at.is_sorted());
            prop_assert_eq!(times(&texts, devices, seed), at);
        }
    }
}
