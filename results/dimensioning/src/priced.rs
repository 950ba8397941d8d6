//! Messages with a price that depends on the load: one that has waited for a busy node costs less than one that wakes it, and a busier node
//! sleeps less. The work of a node depends on its load, and its load on its work: a fixed point.
//!
//! A table has prices by the recent load of a node (a tenth of a second in the simulator). The formulas use the mean load in its place, so steps
//! must be much shorter than that time.
//!
//! With one core it is a queue in which a service that begins at once differs from one that was waited for: read Welch, Operations Research 12
//! (1964) 736. With several cores a step has the mean of both kinds of service.

use keytoll_analysis::trace::cost_table::{LoadPrice, MessagePrice};

use crate::station::{Queue, Station, erlang_c};

/// The messages of a node's steps and their price.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Priced {
    /// The cost of a message.
    pub price: MessagePrice,
    /// Time on the node's processor over that in the table.
    pub slower: f64,
    /// The part of an authentication's work that is messages, alone.
    pub messages_s: f64,
    /// The part of a step that is messages, alone.
    pub step_messages_s: f64,
}

/// The work of a node at a load with steps of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Busy cores with the prices of an authentication alone.
    pub(crate) busy_cores: f64,
    /// The part of it that is messages.
    pub(crate) message_cores: f64,
    /// Steps a second.
    pub(crate) steps_per_s: f64,
}

/// The costs of a step, without cryptography.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// Each message, in nanoseconds of the table.
    ns: f64,
    /// The part of a step that comes after its answers, in nanoseconds of the table.
    after_ns: f64,
    /// How long a core wakes up.
    wake_s: f64,
}

/// Steps that a core takes at once, and steps that have waited for one.
#[derive(Debug, Clone, Copy)]
struct Kinds {
    at_once: Cost,
    waited: Cost,
}

/// When a step reaches a node.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    utilisation: f64,
    steps_per_s: f64,
    /// The probability that no core computes, where one is free.
    is_idle: f64,
}

impl Arrival {
    /// An authentication alone: all nodes have slept for long.
    const ALONE: Self = Self { utilisation: 0.0, steps_per_s: 0.0, is_idle: 1.0 };

    /// The probability that no core has computed for so long. Where steps are a Poisson process, an idle time ends with the next one.
    fn slept_for(self, s: f64) -> f64 {
        if s <= 0.0 { 1.0 } else { self.is_idle * (-self.steps_per_s * s).exp() }
    }
}

impl Cost {
    const fn of(ns: f64) -> Self {
        Self { ns, after_ns: 0.0, wake_s: 0.0 }
    }

    fn plus(self, part: f64, other: Self) -> Self {
        Self {
            ns: self.ns + part * other.ns,
            after_ns: self.after_ns + part * other.after_ns,
            wake_s: self.wake_s + part * other.wake_s,
        }
    }
}

impl Kinds {
    fn at(price: &MessagePrice, arrival: Arrival) -> Self {
        let above = price.loads.partition_point(|load| load.utilisation < arrival.utilisation);
        let below = above.saturating_sub(1);
        let (Some(below), Some(above)) =
            (price.loads.get(below), price.loads.get(above.min(price.loads.len().saturating_sub(1))))
        else {
            return Self::at_any_load(price);
        };
        let apart = above.utilisation - below.utilisation;
        let part = if apart > 0.0 { (arrival.utilisation - below.utilisation) / apart } else { 0.0 };
        let [below, above] = [below, above].map(|load| Self::at_load(load, arrival));
        let between =
            |of: fn(&Self) -> Cost| Cost::default().plus(1.0 - part, of(&below)).plus(part, of(&above));
        Self { at_once: between(|kinds| kinds.at_once), waited: between(|kinds| kinds.waited) }
    }

    fn at_any_load(price: &MessagePrice) -> Self {
        let wake_s = price.wake_us.unwrap_or(0.0) / 1e6;
        Self {
            at_once: Cost { wake_s, ..Cost::of(price.ns) },
            waited: Cost::of(price.queued_ns.unwrap_or(price.ns)),
        }
    }

    /// Means over the pauses before a step.
    fn at_load(load: &LoadPrice, arrival: Arrival) -> Self {
        let begins_s =
            |place: usize| load.pauses.get(place).map(|pause| (pause.after_us - pause.wake_us) / 1e6);
        let at_least = |place: usize| match place {
            0 => 1.0,
            _ => begins_s(place).map_or(0.0, |s| arrival.slept_for(s)),
        };
        let of_pauses = load.pauses.iter().enumerate().map(|(place, pause)| {
            let cost = Cost { ns: pause.ns, after_ns: pause.after_answer_ns, wake_s: pause.wake_us / 1e6 };
            (at_least(place) - at_least(place + 1), cost)
        });
        let at_once = of_pauses.fold(Cost::default(), |sum, (part, cost)| sum.plus(part, cost));
        Self { at_once, waited: Cost::of(load.queued_ns) }
    }
}

/// A node at a load, found by iteration.
#[derive(Debug, Clone, Copy)]
struct Found {
    kinds: Kinds,
    /// The share of steps that wait.
    waits_share: f64,
}

/// The shares of waiting steps of two turns that are the same.
const SAME: f64 = 1e-9;
/// So many turns find the point.
const TURNS: u32 = 1000;
/// The part of the way to the next turn's shares.
const STEP: f64 = 0.5;

impl Priced {
    fn alone(&self) -> Cost {
        Kinds::at(&self.price, Arrival::ALONE).at_once
    }

    /// The price of a message over that in an authentication alone.
    fn ratio(&self, cost: Cost) -> f64 {
        let alone = self.alone().ns;
        if alone > 0.0 { cost.ns / alone } else { 1.0 }
    }

    /// Cores that compute where every step is of this kind.
    fn computing_cores(&self, load: Load, cost: Cost) -> f64 {
        load.busy_cores - load.message_cores * (1.0 - self.ratio(cost))
    }

    /// The same with those that wake up.
    fn occupied_cores(&self, load: Load, cost: Cost) -> f64 {
        self.computing_cores(load, cost) + load.steps_per_s * cost.wake_s
    }

    /// What keeps cores busy where all of them are busy all the time.
    pub(crate) fn saturated_cores(&self, load: Load) -> f64 {
        let arrival = Arrival { utilisation: 1.0, steps_per_s: load.steps_per_s, is_idle: 0.0 };
        self.computing_cores(load, Kinds::at(&self.price, arrival).waited)
    }

    /// The node with this load.
    pub(crate) fn station(&self, plain: Station, load: Load) -> Station {
        let found = self.found(plain.cores, load);
        let Found { kinds: Kinds { at_once, waited }, waits_share } = found;
        let mixed = Cost::default().plus(1.0 - waits_share, at_once).plus(waits_share, waited);
        let (computing, occupied) = (self.computing_cores(load, mixed), self.occupied_cores(load, mixed));
        let [step_at_once, step_waited, step_s] =
            [at_once, waited, mixed].map(|cost| self.step_s(&plain, cost));
        let station = Station {
            busy_cores: computing,
            waking_cores: occupied - computing,
            step_s,
            step_square_s2: self.square_s2(&plain, step_s),
            later_s: plain.visits * (self.answer_s(&plain, mixed) - self.answer_s(&plain, self.alone())),
            ..plain
        };
        let queue = station
            .is_stable()
            .then(|| self.queue(&plain, load, [(at_once, step_at_once), (waited, step_waited)]));
        Station { queue, ..station }
    }

    /// With one core this is exact: the wait of a step that waits is what is left of the step that began the busy time, and the wait in a queue
    /// without such steps.
    fn queue(
        &self,
        plain: &Station,
        load: Load,
        [(_, at_once_s), (waited, waited_s)]: [(Cost, f64); 2],
    ) -> Queue {
        let cores = f64::from(plain.cores);
        let busy_cores = self.occupied_cores(load, waited);
        let others = Station {
            busy_cores,
            step_s: waited_s,
            step_square_s2: self.square_s2(plain, waited_s),
            ..*plain
        };
        Queue {
            first_s: self.square_s2(plain, at_once_s) / at_once_s / 2.0 / cores,
            others_share: (busy_cores / cores).min(1.0),
            ends_per_s: others.wait_ends_per_s(),
        }
    }

    /// How long a step occupies a core.
    fn step_s(&self, plain: &Station, cost: Cost) -> f64 {
        plain.step_s - self.step_messages_s * (1.0 - self.ratio(cost)) + cost.wake_s
    }

    /// A dearer message changes the mean of steps and not how they differ.
    fn square_s2(&self, plain: &Station, step_s: f64) -> f64 {
        step_s.powi(2) + plain.step_square_s2 - plain.step_s.powi(2)
    }

    /// How long a step takes until its answer.
    fn answer_s(&self, plain: &Station, cost: Cost) -> f64 {
        let step_s = self.step_s(plain, cost);
        step_s - (cost.after_ns * 1e-9 * self.slower).min(step_s - cost.wake_s)
    }

    /// Where one turn overshoots, because a little more waiting makes steps so much cheaper that hardly any waits, the steps of the iteration
    /// become shorter until it settles.
    fn found(&self, cores: u32, load: Load) -> Found {
        let (mut utilisation, mut waits_share) = (0.5, 0.5);
        let (mut step, mut before) = (STEP, 0.0_f64);
        let mut kinds = Kinds::at(&self.price, Arrival::ALONE);
        for _ in 0..TURNS {
            let is_idle = idle_share(cores, utilisation * f64::from(cores));
            kinds = Kinds::at(&self.price, Arrival { utilisation, steps_per_s: load.steps_per_s, is_idle });
            let next = self.next(cores, load, &kinds, waits_share);
            let mixed = Cost::default().plus(1.0 - next, kinds.at_once).plus(next, kinds.waited);
            let busy = (self.computing_cores(load, mixed) / f64::from(cores)).min(1.0);
            let by = next - waits_share;
            if by * before < 0.0 && by.abs() > 0.5 * before.abs() {
                step /= 2.0;
            }
            before = by;
            let moved = by.abs() + (busy - utilisation).abs();
            (waits_share, utilisation) = (waits_share + step * by, utilisation + step * (busy - utilisation));
            if moved < SAME {
                break;
            }
        }
        Found { kinds, waits_share }
    }

    /// The share of steps that wait with these costs.
    fn next(&self, cores: u32, load: Load, kinds: &Kinds, waits_share: f64) -> f64 {
        let [first, rho] = [kinds.at_once, kinds.waited].map(|cost| self.occupied_cores(load, cost));
        if rho >= f64::from(cores) {
            return 1.0;
        }
        if cores == 1 {
            return first / (1.0 - rho + first);
        }
        let occupied = waits_share * rho + (1.0 - waits_share) * first;
        if occupied < f64::from(cores) { erlang_c(cores, occupied) } else { 1.0 }
    }
}

/// The probability that no core computes where one is free, by M/M/c.
fn idle_share(cores: u32, busy: f64) -> f64 {
    // So many are never idle at once: the probability is below 10⁻⁴³.
    if busy > 100.0 {
        return 0.0;
    }
    let terms = (1..cores).scan(1.0, |term, k| {
        *term *= busy / f64::from(k);
        Some(*term)
    });
    1.0 / (1.0 + terms.take_while(|term| *term > f64::EPSILON).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use keytoll_analysis::trace::cost_table::PausePrice;

    use super::*;
    use crate::delay::Waits;

    /// Steps of a millisecond alone, of which this part is messages.
    fn priced(price: MessagePrice, part: f64) -> Priced {
        Priced { price, slower: 1.0, messages_s: part * 1e-3, step_messages_s: part * 1e-3 }
    }

    fn price(ns: f64, queued_ns: f64) -> MessagePrice {
        let (loads, cryptography) = (Vec::new(), None);
        MessagePrice { ns, queued_ns: Some(queued_ns), loads, wake_us: None, cryptography, n: 1 }
    }

    /// So many steps a second at so many cores, with the prices of an authentication alone.
    fn plain(cores: u32, per_s: f64) -> Station {
        Station {
            cores,
            busy_cores: per_s * 1e-3,
            waking_cores: 0.0,
            step_s: 1e-3,
            step_square_s2: 1e-6,
            visits: 1.0,
            later_s: 0.0,
            queue: None,
        }
    }

    fn station(priced: &Priced, cores: u32, per_s: f64) -> Station {
        let plain = plain(cores, per_s);
        let load = Load {
            busy_cores: plain.busy_cores,
            message_cores: per_s * priced.messages_s,
            steps_per_s: per_s,
        };
        priced.station(plain, load)
    }

    /// Numbers from 0 to 1, by a linear congruential generator (Knuth's MMIX).
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// The share of time that one core is busy, the mean wait and its 99th percentile, of a Poisson process of steps that take longer if the core
    /// takes them at once.
    fn simulated(per_s: f64, [at_once_s, waited_s]: [f64; 2]) -> [f64; 3] {
        let (mut state, mut now, mut free_at, mut busy) = (1, 0.0, 0.0, 0.0);
        let mut waits = vec![0.0; 200_000];
        for wait in &mut waits {
            now += -uniform(&mut state).ln() / per_s;
            *wait = f64::max(free_at - now, 0.0);
            let service = if *wait > 0.0 { waited_s } else { at_once_s };
            (busy, free_at) = (busy + service, now + *wait + service);
        }
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        waits.sort_unstable_by(f64::total_cmp);
        [busy / now, mean, waits[waits.len() * 99 / 100]]
    }

    #[test]
    fn messages_that_cost_the_same_everywhere_change_nothing() {
        for (cores, per_s) in [(1, 700.0), (3, 2400.0)] {
            let (plain, found) =
                (plain(cores, per_s), station(&priced(price(50.0, 50.0), 0.5), cores, per_s));
            assert!((found.utilisation() - plain.utilisation()).abs() < 1e-9, "{found:?}");
            // Several cores have Cosmetatos' correction in a part of the wait only.
            let tolerance = if cores == 1 { 1e-6 } else { 0.01 };
            assert!((found.wait_mean_s() / plain.wait_mean_s() - 1.0).abs() < tolerance, "{found:?}");
            assert!(found.later_s.abs() < 1e-12, "{found:?}");
        }
    }

    /// With the prices of a single authentication the last of these loads would be more than the core can do.
    #[test]
    fn a_core_with_cheaper_steps_in_its_queue_is_as_busy_as_simulated() {
        for per_s in [300.0, 700.0, 1200.0] {
            let found = station(&priced(price(100.0, 40.0), 1.0), 1, per_s);
            let [busy, wait_s, p99_s] = simulated(per_s, [1e-3, 4e-4]);
            assert!((found.utilisation() / busy - 1.0).abs() < 0.01, "{per_s}: {busy} {found:?}");
            assert!((found.wait_mean_s() / wait_s - 1.0).abs() < 0.04, "{per_s}: {wait_s} {found:?}");
            let found_p99_s = Waits::at(&[found]).quantile_s(0.99);
            assert!((found_p99_s / p99_s - 1.0).abs() < 0.12, "{per_s}: {p99_s} {found_p99_s}");
            let later_s = -6e-4 * found.waits_share();
            assert!((found.later_s - later_s).abs() < 1e-9, "{per_s}: {found:?}");
        }
    }

    #[test]
    fn the_price_falls_with_the_load_and_the_pause() {
        let pause = |after_us, ns| PausePrice { after_us, ns, after_answer_ns: 0.0, wake_us: 0.0 };
        let load = |utilisation, factor: f64| LoadPrice {
            utilisation,
            queued_ns: 20.0 * factor,
            pauses: vec![pause(0.0, 50.0 * factor), pause(1000.0, 100.0 * factor)],
        };
        let loads = vec![load(0.0, 1.0), load(1.0, 0.5)];
        let priced = priced(MessagePrice { loads, ..price(70.0, 70.0) }, 1.0);
        let at = |utilisation, steps_per_s| {
            Kinds::at(&priced.price, Arrival { utilisation, steps_per_s, is_idle: 1.0 })
        };
        assert_eq!((priced.alone().ns, at(0.0, 0.0).waited.ns), (100.0, 20.0));
        assert!(
            (at(0.5, 0.0).at_once.ns - 75.0).abs() < 1e-9 && (at(0.5, 0.0).waited.ns - 15.0).abs() < 1e-9
        );
        // Of a thousand steps a second, 1 in e comes after a pause of a millisecond.
        let mean = 50.0 + 50.0 * (-1.0_f64).exp();
        assert!((at(0.0, 1000.0).at_once.ns - mean).abs() < 1e-9);
        let load = Load { busy_cores: 10.0, message_cores: 10.0, steps_per_s: 1e4 };
        assert!((priced.saturated_cores(load) - 1.0).abs() < 1e-9, "10 ns of 100");
    }

    #[test]
    fn several_cores_are_idle_more_seldom() {
        assert_eq!(idle_share(1, 0.9), 1.0);
        // M/M/2 with an erlang: 1 ÷ (1 + 1).
        assert!((idle_share(2, 1.0) - 0.5).abs() < 1e-12 && idle_share(100_000, 9e4) == 0.0);
    }

    /// Waiting makes steps cheaper, and with many cores a little cheaper means that hardly any waits: the iteration settles nevertheless.
    #[test]
    fn the_share_of_waiting_steps_is_one_that_follows_from_itself() {
        let priced = priced(price(4e5, 5e4), 1.0);
        for cores in [1, 4, 16, 64, 256] {
            for per_core_s in (1..40).map(|step| f64::from(step) * 50.0) {
                let per_s = per_core_s * f64::from(cores);
                let load = Load {
                    busy_cores: per_s * 1e-3,
                    message_cores: per_s * priced.messages_s,
                    steps_per_s: per_s,
                };
                let Found { kinds, waits_share } = priced.found(cores, load);
                let next = priced.next(cores, load, &kinds, waits_share);
                assert!(
                    (next - waits_share).abs() < 1e-6,
                    "{cores} cores, {per_core_s}/s: {waits_share}, then {next}"
                );
            }
        }
    }
}
