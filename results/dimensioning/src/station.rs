//! A node as a queue: steps arrive as a Poisson process and wait for one of so many cores, first come, first served.
//!
//! Read Erlang, Post Office Electrical Engineers' Journal 10 (1918) 189, for the wait in M/M/c; Pollaczek, Mathematische Zeitschrift 32
//! (1930) 64, for M/G/1; Allen, Probability, Statistics, and Queueing Theory (1990) §5.3, for Allen and Cunneen's correction; Cosmetatos,
//! Infor 13 (1975) 328, for constant service times. The probability of a wait is that of M/M/c, the mean wait is that of M/M/c times
//! (1 + CV²)/2 and Cosmetatos' factor, and a wait that happens is exponential. With one core the mean and the probability are exact for
//! any distribution of service times, and with exponential service times everything is exact for any number of cores.

/// The steps of a node and its cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Station {
    /// How many steps it handles at once.
    pub cores: u32,
    /// How many cores are busy on average: arrivals × time of service, in erlangs.
    pub busy_cores: f64,
    /// How many wake up on average: they are taken, but do not compute.
    pub waking_cores: f64,
    /// Mean time of service of a step.
    pub step_s: f64,
    /// Mean of its square.
    pub step_square_s2: f64,
    /// How many steps an authentication has here.
    pub visits: f64,
    /// By how much all of them together take longer than in an authentication alone, waits left out; below zero where they are quicker.
    pub later_s: f64,
    /// How steps wait if a step that has waited takes another time than one that a core takes at once.
    pub queue: Option<Queue>,
}

/// The wait of a step that finds all cores busy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queue {
    /// Mean time until a core has ended the step that it took at once.
    pub first_s: f64,
    /// The probability of a further wait for others that wait.
    pub others_share: f64,
    /// The rate at which that ends.
    pub ends_per_s: f64,
}

impl Queue {
    fn mean_s(self) -> f64 {
        self.first_s + self.others_share / self.ends_per_s
    }
}

impl Station {
    /// The share of its cores' time that it is busy.
    pub fn utilisation(&self) -> f64 {
        self.busy_cores / f64::from(self.cores)
    }

    /// How many cores are taken on average.
    fn taken_cores(&self) -> f64 {
        self.busy_cores + self.waking_cores
    }

    /// Whether it keeps up.
    pub fn is_stable(&self) -> bool {
        self.taken_cores() < f64::from(self.cores)
    }

    /// The probability that a step has to wait; 1 if it does not keep up.
    pub fn waits_share(&self) -> f64 {
        if self.is_stable() { erlang_c(self.cores, self.taken_cores()) } else { 1.0 }
    }

    /// The rate at which a wait that happens ends; zero if it does not keep up, infinite if steps take no time.
    pub fn wait_ends_per_s(&self) -> f64 {
        let free = f64::from(self.cores) - self.taken_cores();
        let step_square_s2 = self.step_square_s2 + self.constancy_s2();
        if free <= 0.0 { 0.0 } else { 2.0 * self.step_s * free / step_square_s2 }
    }

    /// Cosmetatos' correction: several cores with constant service times have longer waits than half of those with exponential ones.
    fn constancy_s2(&self) -> f64 {
        let cores = f64::from(self.cores);
        let load = self.taken_cores() / cores;
        if load <= 0.0 {
            return 0.0;
        }
        let constancy =
            (1.0 - load) * (cores - 1.0) * ((4.0 + 5.0 * cores).sqrt() - 2.0) / (16.0 * load * cores);
        let square_s2 = self.step_s.powi(2);
        // It is that of constant times, 1 - CV² of which remain; irregular ones need none.
        constancy.min(1.0) * (2.0 * square_s2 - self.step_square_s2).max(0.0)
    }

    /// The mean wait of a step.
    pub fn wait_mean_s(&self) -> f64 {
        match self.waits_share() {
            0.0 => 0.0,
            share => share * self.queue.map_or_else(|| 1.0 / self.wait_ends_per_s(), Queue::mean_s),
        }
    }

    /// The mean of what all steps of an authentication wait.
    pub fn waits_of_all_mean_s(&self) -> f64 {
        match self.wait_mean_s() {
            0.0 => 0.0,
            mean => mean * self.visits,
        }
    }

    /// The same at another load.
    #[must_use]
    pub fn loaded(self, times: f64) -> Self {
        let (busy_cores, waking_cores) = (self.busy_cores * times, self.waking_cores * times);
        Self { busy_cores, waking_cores, queue: None, ..self }
    }
}

/// Erlang's second formula: the probability of a wait in M/M/c with `busy` erlangs, which must be below `cores`.
pub fn erlang_c(cores: u32, busy: f64) -> f64 {
    let utilisation = busy / f64::from(cores);
    let blocked = erlang_b(cores, busy);
    blocked / (1.0 - utilisation * (1.0 - blocked))
}

/// Erlang's first formula: the probability of a loss in M/M/c/c. Its reciprocal is the sum of c! ÷ ((c - k)! aᵏ) for k = 0, 1, …; of many cores a
/// few terms around the greatest one count.
pub fn erlang_b(cores: u32, busy: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for free in (1..=cores).rev() {
        term *= f64::from(free) / busy;
        sum += term;
        if term < f64::EPSILON * sum || sum > RECIPROCAL_MAX {
            break;
        }
    }
    if sum > RECIPROCAL_MAX { 0.0 } else { 1.0 / sum }
}

/// The reciprocal of a probability that is nothing.
const RECIPROCAL_MAX: f64 = 1e300;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Steps of a mean time of one second with this squared coefficient of variation.
    fn station(cores: u32, busy_cores: f64, squared_cv: f64) -> Station {
        let (waking_cores, later_s) = (0.0, 0.0);
        let step_square_s2 = 1.0 + squared_cv;
        let queue = None;
        Station { cores, busy_cores, waking_cores, step_s: 1.0, step_square_s2, visits: 1.0, later_s, queue }
    }

    /// Exact rationals: B(2, 1) = 1/5, C(2, 1) = 1/3, C(3, 2) = 4/9; and the usual tables of Erlang's formulas: 10 servers lose one in a
    /// hundred of 4.461 erlangs, 100 of 84.06; with 10 erlangs and 12 servers 44.9 % wait.
    #[test]
    fn erlangs_formulas_have_their_tabulated_values() {
        for (cores, busy, blocked) in
            [(2, 1.0, 0.2), (1, 0.5, 1.0 / 3.0), (10, 4.461, 0.01), (100, 84.06, 0.01)]
        {
            assert!(
                (erlang_b(cores, busy) - blocked).abs() < 2e-5,
                "{cores} {busy}: {}",
                erlang_b(cores, busy)
            );
        }
        for (cores, busy, waits, exact) in [
            (1, 0.7, 0.7, 1e-12),
            (2, 1.0, 1.0 / 3.0, 1e-12),
            (3, 2.0, 4.0 / 9.0, 1e-12),
            (12, 10.0, 0.449, 5e-4),
        ] {
            assert!(
                (erlang_c(cores, busy) - waits).abs() < exact,
                "{cores} {busy}: {}",
                erlang_c(cores, busy)
            );
        }
    }

    /// Pollaczek and Khinchine: E W = λ E S² ÷ 2(1 - ρ), so ρ/2(1 - ρ) services for constant ones, ρ/(1 - ρ) for exponential ones.
    #[test]
    fn one_core_waits_as_pollaczek_and_khinchine_say() {
        for load in [0.1, 0.5, 0.8, 0.95] {
            let [constant, exponential] = [0.0, 1.0].map(|cv| station(1, load, cv).wait_mean_s());
            assert!((constant - load / (2.0 * (1.0 - load))).abs() < 1e-12, "{load}: {constant}");
            assert!((exponential - load / (1.0 - load)).abs() < 1e-12, "{load}: {exponential}");
        }
    }

    /// The mean wait in M/D/c with services of a second: Crommelin, Post Office Electrical Engineers' Journal 25 (1932) 41.
    fn crommelin_s(cores: u32, busy: f64) -> f64 {
        // P(X ≥ k) of a Poisson variable of this mean, its largest terms by logarithms.
        let tail = |mean: f64, k: u32| {
            let first = (1..=k).map(|k| (mean / f64::from(k)).ln()).sum::<f64>() - mean;
            let terms = (k + 1..k + 2000).scan(first, |log, next| {
                *log += (mean / f64::from(next)).ln();
                Some(log.exp())
            });
            first.exp() + terms.sum::<f64>()
        };
        let of_span = |spans: u32| {
            let (mean, k) = (f64::from(spans) * busy, spans * cores);
            tail(mean, k) - f64::from(cores) / busy * tail(mean, k + 1)
        };
        (1..150).map(of_span).sum()
    }

    #[test]
    fn several_cores_with_constant_services_wait_as_crommelin_says() {
        for (cores, load) in [(1, 0.7), (2, 0.8), (4, 0.7), (8, 0.5), (8, 0.8), (16, 0.8), (32, 0.8)] {
            let busy = load * f64::from(cores);
            let (wait, exact) = (station(cores, busy, 0.0).wait_mean_s(), crommelin_s(cores, busy));
            assert!((wait / exact - 1.0).abs() < 0.012, "{cores} {load}: {wait} {exact}");
        }
    }

    #[test]
    fn who_does_not_keep_up_waits_for_ever_and_who_does_nothing_never() {
        let full = station(2, 2.0, 0.0);
        assert!(!full.is_stable() && full.wait_mean_s().is_infinite() && full.waits_share() == 1.0);
        let idle = station(2, 0.0, 0.0);
        assert_eq!((idle.utilisation(), idle.wait_mean_s()), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn more_load_waits_longer_and_more_cores_wait_less(
            cores in 1..200_u32, load in 0.01..0.97_f64, more in 1.001..1.02_f64, cv in 0.0..9.0_f64,
        ) {
            let one = station(cores, load * f64::from(cores), cv);
            let loaded = one.loaded(more);
            prop_assert!(loaded.waits_share() > one.waits_share() && loaded.wait_mean_s() > one.wait_mean_s());
            let wider = Station { cores: cores + 1, ..one };
            prop_assert!(wider.waits_share() < one.waits_share() && wider.wait_mean_s() < one.wait_mean_s());
            prop_assert!((0.0..=1.0).contains(&one.waits_share()));
        }

        #[test]
        fn waits_grow_without_end_towards_full_load(cores in 1..100_u32, cv in 0.0..9.0_f64) {
            let at = |load: f64| station(cores, load * f64::from(cores), cv).wait_mean_s();
            prop_assert!(at(0.9999) > 8.0 * at(0.999) && at(0.9999) * f64::from(cores) > 4000.0 * (1.0 + cv) / 2.0);
        }

        /// Erlang's formulas by sums of Poisson probabilities, whose terms are large only for few cores.
        #[test]
        fn the_recursion_agrees_with_the_sums(cores in 1..30_u32, load in 0.05..0.95_f64) {
            let busy = load * f64::from(cores);
            let term = |k: u32| (1..=k).fold(1.0, |term, k| term * busy / f64::from(k));
            let sum: f64 = (0..cores).map(term).sum();
            let last = term(cores);
            let waits = last / (1.0 - load) / (sum + last / (1.0 - load));
            prop_assert!((erlang_b(cores, busy) - last / (sum + last)).abs() < 1e-12);
            prop_assert!((erlang_c(cores, busy) - waits).abs() < 1e-12);
        }
    }
}
