//! What a message costs a node besides cryptography, from a live run of this machine: the node's own code and the kernel's.

use keytoll_trace::Node;
use keytoll_trace::cost_table::{Cryptography, LoadPrice, MessagePrice, PausePrice};

use crate::stats::median95;
use crate::summary::{Summary, SummaryRow, WakeCount};

/// Why a run does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Untold {
    /// Computed in the simulator, or captured.
    #[error("has no row of the live world with real cryptography")]
    NotLive,
    /// No node of ours serves there, or none was measured.
    #[error("has no CPU time of a node of ours that serves devices")]
    Unmeasured,
}

/// What a load tells about the messages of a process: of its target, or of the generator.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadCost {
    /// The share of the time in which the process computed.
    pub utilisation: f64,
    /// CPU time besides cryptography for each message, in nanoseconds.
    pub ns: f64,
    /// Messages that the process receives in a second.
    pub received_per_s: f64,
    /// The authentications behind it.
    pub n: u64,
    /// How late half of the starts were at least, of a generator that mostly slept until then, in microseconds.
    pub wake_us: Option<f64>,
    /// What it took to be woken, if the process tells.
    pub wakes: Vec<WakeCount>,
    /// What cryptography is taken to cost, for each second that it took by the process's own clock.
    pub crypto_scale: f64,
}

/// Utilisations of loads that are closer than this cannot tell the prices apart.
pub const UTILISATIONS_APART: f64 = 0.25;

/// Loads that are closer are one.
const UTILISATIONS_ALIKE: f64 = 0.02;

/// With fewer wakes nothing is said about a class of pauses.
const WAKES_MIN: u64 = 200;

/// The prices of a message that finds its node idle, and of one that has waited: of processes that tell what it took to be woken, also by
/// their utilisation and the length of the pause before. None if the utilisations are not far enough apart, or if nothing comes out.
pub fn prices(loads: &[LoadCost], cryptography: Cryptography) -> Option<MessagePrice> {
    let (least, most) = loads.iter().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), load| {
        (least.min(load.utilisation), most.max(load.utilisation))
    });
    if most - least < UTILISATIONS_APART {
        return None;
    }
    let tell_wakes = loads.iter().all(|load| !load.wakes.is_empty());
    let wake_us = waking(loads);
    let of_wakes = if tell_wakes { of_wakes(loads, wake_us) } else { None };
    let price = of_wakes.or_else(|| of_utilisations(loads, wake_us.unwrap_or(0.0)))?;
    let n = loads.iter().fold(0, |sum: u64, load| sum.saturating_add(load.n));
    Some(MessagePrice { wake_us, cryptography: Some(cryptography), n, ..price })
}

/// How long it takes until a process that sleeps computes: the median of what the loads tell.
fn waking(loads: &[LoadCost]) -> Option<f64> {
    median95(loads.iter().filter_map(|load| load.wake_us)).map(|(median, _)| median)
}

/// A price of which only this much is known yet.
const fn bare(ns: f64, queued_ns: Option<f64>) -> MessagePrice {
    MessagePrice { ns, queued_ns, loads: Vec::new(), wake_us: None, cryptography: None, n: 0 }
}

/// Wakes after pauses of some length, besides cryptography.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Woken {
    pause_us: u32,
    wakes: u64,
    timed: u64,
    messages: u64,
    ns: f64,
    after_answer_ns: f64,
    latency_ns: f64,
}

impl Woken {
    fn of(count: &WakeCount, crypto_scale: f64) -> Self {
        Self {
            pause_us: count.pause_us,
            wakes: count.count,
            timed: count.timed_count,
            messages: count.messages,
            ns: count.cpu_ns as f64 - crypto_scale * count.crypto_ns as f64,
            after_answer_ns: count.cpu_ns.saturating_sub(count.answered_ns) as f64,
            latency_ns: count.latency_ns as f64,
        }
    }

    /// Both, with the shorter pause.
    fn and(self, other: Self) -> Self {
        Self {
            pause_us: self.pause_us.min(other.pause_us),
            wakes: self.wakes.saturating_add(other.wakes),
            timed: self.timed.saturating_add(other.timed),
            messages: self.messages.saturating_add(other.messages),
            ns: self.ns + other.ns,
            after_answer_ns: self.after_answer_ns + other.after_answer_ns,
            latency_ns: self.latency_ns + other.latency_ns,
        }
    }

    /// None if cryptography alone is charged more than what was measured.
    fn each_ns(self) -> Option<f64> {
        (self.ns > 0.0).then(|| self.ns / self.messages.max(1) as f64)
    }

    /// Streams do not tell when a message arrived: then it takes as long to wake up as starts of loads are late.
    fn price(self, late_us: Option<f64>) -> Option<PausePrice> {
        let wakes = self.wakes.max(1) as f64;
        let told_us = (self.timed > 0).then(|| self.latency_ns / 1000.0 / self.timed as f64);
        Some(PausePrice {
            after_us: f64::from(self.pause_us),
            ns: self.each_ns()?,
            after_answer_ns: self.after_answer_ns / wakes,
            wake_us: told_us.or(late_us).unwrap_or(0.0),
        })
    }
}

/// The prices at each load, of which none comes out of a load of few wakes.
fn of_wakes(loads: &[LoadCost], late_us: Option<f64>) -> Option<MessagePrice> {
    let alone = classes(loads, false);
    let first_ns = alone.first()?.each_ns()?;
    let queued = queued_ns(loads, &alone);
    let others_ns = queued.unwrap_or(first_ns);
    let prices = alike(loads).into_iter().filter_map(|alike| at_load(&alike, others_ns, late_us)).collect();
    Some(MessagePrice { loads: prices, ..bare(first_ns, queued) })
}

/// The loads by their utilisation, those together that are nearly the same.
fn alike(loads: &[LoadCost]) -> Vec<Vec<LoadCost>> {
    let mut sorted = loads.to_vec();
    sorted.sort_by(|a, b| a.utilisation.total_cmp(&b.utilisation));
    let mut groups: Vec<Vec<LoadCost>> = Vec::new();
    for load in sorted {
        match groups.last_mut() {
            Some(group) if load.utilisation - group[0].utilisation < UTILISATIONS_ALIKE => group.push(load),
            _ => groups.push(vec![load]),
        }
    }
    groups
}

/// A message that was the only one costs what its wake cost. Of those that came together the first costs as much after such a
/// pause, and what remains is for the others, which have waited: if they are few, as much as those of all loads.
fn at_load(alike: &[LoadCost], others_ns: f64, late_us: Option<f64>) -> Option<LoadPrice> {
    let utilisation = alike.iter().map(|load| load.utilisation).sum::<f64>() / alike.len() as f64;
    let alone = classes(alike, false);
    let queued_ns = queued_ns(alike, &alone).unwrap_or(others_ns);
    let pauses = alone.iter().map(|class| class.price(late_us)).collect::<Option<Vec<_>>>()?;
    (!pauses.is_empty()).then_some(LoadPrice { utilisation, queued_ns, pauses })
}

/// The wakes of all loads by their pauses, the shortest first: of several messages each, or of one. Classes with few are one with the
/// next longer ones.
fn classes(loads: &[LoadCost], is_several: bool) -> Vec<Woken> {
    let told = |load: &LoadCost| {
        let scale = load.crypto_scale;
        load.wakes.iter().map(move |count| (count.is_several, Woken::of(count, scale))).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = loads.iter().flat_map(told).filter(|(several, _)| *several == is_several).collect();
    all.sort_by_key(|(_, woken)| woken.pause_us);
    let mut classes: Vec<Woken> = Vec::new();
    for (_, woken) in all {
        match classes.last_mut() {
            Some(last) if last.pause_us == woken.pause_us || last.wakes < WAKES_MIN => {
                *last = last.and(woken);
            }
            _ => classes.push(woken),
        }
    }
    if let [.., before, last] = &mut *classes
        && last.wakes < WAKES_MIN
    {
        *before = before.and(*last);
        classes.pop();
    }
    classes.retain(|class| class.wakes >= WAKES_MIN);
    classes
}

/// What a message costs that has waited, if enough have.
fn queued_ns(loads: &[LoadCost], alone: &[Woken]) -> Option<f64> {
    let (mut messages, mut ns) = (0.0, 0.0);
    for woken in classes(loads, true) {
        let like = alone.iter().rev().find(|class| class.pause_us <= woken.pause_us).or(alone.first())?;
        let share = woken.wakes as f64 / like.wakes.max(1) as f64;
        messages += woken.messages as f64 - share * like.messages as f64;
        ns += woken.ns - share * like.ns;
    }
    (messages >= WAKES_MIN as f64).then(|| (ns / messages).max(0.0))
}

/// Of the messages of a Poisson process a share has to wait that is the utilisation, and the share of time in which the process wakes up,
/// which it does for all the others: `1 - utilisation = asleep · (1 + received per second · wake)`. So the mean price is `queued +
/// asleep · woken`: least squares of relative errors over all loads, with neither below zero.
fn of_utilisations(loads: &[LoadCost], wake_us: f64) -> Option<MessagePrice> {
    let asleep =
        |load: &LoadCost| (1.0 - load.utilisation).max(0.0) / (1.0 + load.received_per_s * wake_us / 1e6);
    let rows: Vec<_> = loads.iter().map(|load| [1.0, asleep(load)].map(|share| share / load.ns)).collect();
    let left =
        |x: &[f64; 2]| -> f64 { rows.iter().map(|row| (row[0] * x[0] + row[1] * x[1] - 1.0).powi(2)).sum() };
    let solutions = [both(&rows), only(&rows, 0), only(&rows, 1)].into_iter().flatten();
    let sound = solutions.filter(|x| x.iter().all(|value| *value >= 0.0));
    let [queued_ns, woken_ns] = sound.min_by(|a, b| left(a).total_cmp(&left(b)))?;
    Some(bare(queued_ns + woken_ns, Some(queued_ns)))
}

/// The sums of a matrix of normal equations, and its right side.
fn sums(rows: &[[f64; 2]]) -> ([[f64; 2]; 2], [f64; 2]) {
    let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
    let matrix = [0, 1].map(|a| [0, 1].map(|b| product(a, b)));
    (matrix, [0, 1].map(|column| rows.iter().map(|row| row[column]).sum()))
}

/// The two numbers whose weighted sum is nearest to one.
fn both(rows: &[[f64; 2]]) -> Option<[f64; 2]> {
    let ([[aa, ab], [_, bb]], [a, b]) = sums(rows);
    let whole = aa * bb - ab * ab;
    (whole > aa * bb * 1e-12).then(|| [(a * bb - b * ab) / whole, (b * aa - a * ab) / whole])
}

/// One of the two, where the other is zero.
fn only(rows: &[[f64; 2]], column: usize) -> Option<[f64; 2]> {
    let (matrix, right) = sums(rows);
    let mut solution = [0.0; 2];
    solution[column] = right[column] / matrix[column][column];
    solution[column].is_finite().then_some(solution)
}

/// The price of a message: over all live rows, the CPU time of the nodes of ours but the device, less that of their crypto
/// operations, for each message that they received or sent. Means, for that is what many devices need.
///
/// # Errors
/// When the run does not tell.
pub fn price(summary: &Summary) -> Result<MessagePrice, Untold> {
    let is_live =
        |row: &&SummaryRow| row.world == "live" && ["real", "openssl"].contains(&row.crypto.as_str());
    let rows: Vec<_> = summary.rows.iter().filter(is_live).collect();
    if rows.is_empty() {
        return Err(Untold::NotLive);
    }
    let (mut besides_ns, mut messages, mut n) = (0.0, 0.0, 0);
    for row in rows {
        for (node, cpu) in row.cpu.iter().filter(|(node, _)| *node != Node::Ue.name()) {
            let Some(crypto_ns) = cpu.crypto_ns else { continue };
            besides_ns += (cpu.ns - crypto_ns).max(0.0);
            messages += messages_of(row, node);
            n = cpu.n.saturating_add(n);
        }
    }
    if messages > 0.0 {
        let cryptography = Some(Cryptography::Timed);
        Ok(MessagePrice { cryptography, n, ..bare(besides_ns / messages, None) })
    } else {
        Err(Untold::Unmeasured)
    }
}

/// The messages that a node received or sent in an authentication.
fn messages_of(row: &SummaryRow, node: &str) -> f64 {
    let links = row.links.iter().filter(|(link, _)| link.split('-').any(|end| end == node));
    links.map(|(_, link)| link.messages + link.retransmissions).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, to_value};

    use super::*;

    fn row(world: &str, cpu: &Value) -> SummaryRow {
        let link = |messages| json!({ "messages": messages, "packets": 0, "bytes": 0, "retransmissions": 0, "lost_packets": 0 });
        let mut row = to_value(SummaryRow::default()).unwrap();
        row["world"] = world.into();
        row["crypto"] = "real".into();
        row["links"] = json!({ "ue-gw": link(4), "gw-aaa": link(2) });
        row["cpu"] = cpu.clone();
        serde_json::from_value(row).unwrap()
    }

    fn price_of(row: SummaryRow) -> Result<MessagePrice, Untold> {
        let rows = vec![row];
        let title = String::new();
        price(&Summary {
            format: 1,
            seed: title.clone(),
            title,
            complete: true,
            provenance: None,
            rows,
            beside: Vec::new(),
        })
    }

    fn load(utilisation: f64, ns: f64) -> LoadCost {
        let (received_per_s, wakes) = (2000.0, Vec::new());
        LoadCost { utilisation, ns, received_per_s, n: 100, wake_us: None, wakes, crypto_scale: 1.0 }
    }

    fn prices(loads: &[LoadCost]) -> Option<MessagePrice> {
        super::prices(loads, Cryptography::Priced)
    }

    #[test]
    fn two_loads_tell_what_a_message_costs_that_waits_and_one_that_does_not() {
        let told = prices(&[load(0.2, 26_000.0), load(0.7, 16_000.0)]).unwrap();
        assert!((told.ns - 30_000.0).abs() < 1e-3 && told.n == 200, "{told:?}");
        assert!((told.queued_ns.unwrap() - 10_000.0).abs() < 1e-3, "{told:?}");
        let all = [load(0.2, 26_000.0), load(0.7, 16_000.0), load(0.45, 21_000.0)];
        let third = prices(&all).unwrap();
        assert!((third.ns - told.ns).abs() < 1e-3 && third.loads.is_empty(), "{third:?}");
        let woken = [Some(40.0), None, Some(50.0)].into_iter().zip(all);
        let woken: Vec<_> = woken.map(|(wake_us, load)| LoadCost { wake_us, ..load }).collect();
        assert_eq!((third.wake_us, prices(&woken).unwrap().wake_us), (None, Some(45.0)));
        let priced = |utilisation: f64, received_per_s: f64| {
            let asleep = (1.0 - utilisation) / (1.0 + received_per_s * 50e-6);
            let ns = 10_000.0 + 20_000.0 * asleep;
            LoadCost { wake_us: Some(50.0), received_per_s, ..load(utilisation, ns) }
        };
        let told = prices(&[priced(0.2, 2e3), priced(0.45, 8e3), priced(0.7, 14e3)]).unwrap();
        assert!((told.ns - 30_000.0).abs() < 1e-3, "who arrives while it wakes up waits: {told:?}");
        assert_eq!(prices(&[load(0.2, 26_000.0), load(0.3, 16_000.0)]), None);
        assert_eq!((prices(&[]), prices(&[load(0.5, 1.0)])), (None, None));
    }

    #[test]
    fn nothing_costs_less_than_nothing() {
        let told = prices(&[load(0.2, 26_000.0), load(0.8, 5_000.0)]).unwrap();
        assert_eq!(told.queued_ns, Some(0.0));
        assert!(told.ns > 25_000.0 && told.ns < 33_000.0, "{told:?}");
        let told = prices(&[load(0.2, 10_000.0), load(0.8, 16_000.0)]).unwrap();
        assert_eq!(told.queued_ns, Some(told.ns), "one that waits costs no less: {told:?}");
    }

    /// So many wakes after a pause, with this many further messages and their answers, at these prices of a message; each wake has 40 us of
    /// cryptography besides, and needs 5 us after its answer.
    fn wakes(pause_us: u32, wakes: u64, further: u64, [first_ns, queued_ns]: [u64; 2]) -> WakeCount {
        let (crypto_ns, besides_ns) = (40_000 * wakes, wakes * 2 * (first_ns + further * queued_ns));
        let cpu_ns = besides_ns + crypto_ns;
        let (is_several, messages) = (further > 0, 2 * wakes * (1 + further));
        let (answered_ns, latency_ns) = (cpu_ns - 5000 * wakes, wakes / 2 * u64::from(30_000 + pause_us));
        WakeCount {
            pause_us,
            is_several,
            count: wakes,
            timed_count: wakes / 2,
            messages,
            cpu_ns,
            crypto_ns,
            answered_ns,
            latency_ns,
        }
    }

    #[test]
    fn wakes_tell_what_messages_cost_by_the_pause_before_them() {
        let slow = vec![wakes(200, 900, 0, [30_000, 0]), wakes(800, 900, 0, [50_000, 0])];
        let fast = vec![
            wakes(0, 5000, 0, [20_000, 0]),
            wakes(0, 3000, 2, [20_000, 12_000]),
            wakes(200, 100, 0, [30_000, 0]),
            wakes(400, 199, 0, [50_000, 0]),
        ];
        let with = |utilisation, wakes| LoadCost { wakes, ..load(utilisation, 26_000.0) };
        let told = prices(&[with(0.1, slow.clone()), with(0.6, fast.clone())]).unwrap();
        let of = |load: &LoadPrice| {
            let pauses: Vec<_> = load.pauses.iter().map(|pause| (pause.after_us, pause.ns)).collect();
            (load.utilisation, load.queued_ns, pauses)
        };
        let slow_pauses = vec![(200.0, 30_000.0), (800.0, 50_000.0)];
        let few = (30_000.0 * 100.0 + 50_000.0 * 199.0) / 299.0;
        let expected = [(0.1, 12_000.0, slow_pauses), (0.6, 12_000.0, vec![(0.0, 20_000.0), (200.0, few)])];
        assert_eq!(
            told.loads.iter().map(of).collect::<Vec<_>>(),
            expected,
            "few are one class with the next"
        );
        assert_eq!((told.ns, told.queued_ns), (20_000.0, Some(12_000.0)));
        let [first, second, ..] = told.loads[0].pauses[..] else { panic!("{told:?}") };
        assert_eq!(
            [first.after_answer_ns, second.after_answer_ns, first.wake_us, second.wake_us],
            [5000.0, 5000.0, 30.2, 30.8]
        );
        let twice = |wakes| LoadCost { crypto_scale: 1.5, ..with(0.1, wakes) };
        let dearer = prices(&[twice(slow), with(0.6, fast.clone())]).unwrap();
        assert_eq!(dearer.ns, 20_000.0, "cryptography is taken away as it is charged");
        assert!((dearer.loads[0].pauses[0].ns - 20_000.0).abs() < 1e-6, "{dearer:?}");
        let dear = |utilisation, wakes| LoadCost { crypto_scale: 3.0, ..with(utilisation, wakes) };
        let few = vec![wakes(0, 199, 0, [20_000, 0])];
        for (wakes, why) in [(&fast, "no message costs less than nothing"), (&few, "few tell nothing")] {
            let told = prices(&[dear(0.2, wakes.clone()), dear(0.7, wakes.clone())]).unwrap();
            assert!(told.loads.is_empty() && told.ns > 20_000.0, "{why}: {told:?}");
        }
        let silent = [load(0.2, 26_000.0), with(0.7, fast.clone())];
        assert!(prices(&silent).unwrap().loads.is_empty(), "all have to tell");
        let crowded = |utilisation, ns| LoadCost { wakes: vec![fast[1].clone()], ..load(utilisation, ns) };
        let told = prices(&[crowded(0.2, 26_000.0), crowded(0.7, 16_000.0)]).unwrap();
        assert!(told.loads.is_empty() && (told.ns - 30_000.0).abs() < 1e-3, "none came alone: {told:?}");
    }

    #[test]
    fn where_nobody_tells_when_messages_arrived_it_takes_as_long_to_wake_as_starts_are_late() {
        let streamed = vec![WakeCount { timed_count: 0, latency_ns: 0, ..wakes(50, 900, 0, [30_000, 0]) }];
        let with =
            |utilisation, wake_us| LoadCost { wake_us, wakes: streamed.clone(), ..load(utilisation, 1.0) };
        let wake_us =
            |late_us| prices(&[with(0.1, late_us), with(0.6, None)]).unwrap().loads[0].pauses[0].wake_us;
        assert_eq!((wake_us(Some(45.0)), wake_us(None)), (45.0, 0.0));
    }

    #[test]
    fn wakes_of_nonsense_are_no_prices_below_zero() {
        let strange =
            WakeCount { crypto_ns: u64::MAX, cpu_ns: 1, ..wakes(0, u64::MAX / 1_000_000, 1, [1, 1]) };
        let loads = [0.1, 0.9].map(|utilisation| LoadCost {
            wakes: vec![strange.clone(), wakes(0, 1, 0, [1, 1])],
            ..load(utilisation, 1.0)
        });
        let told = prices(&loads).unwrap();
        assert!(told.ns >= 0.0 && told.queued_ns.is_none_or(|ns| ns >= 0.0), "{told:?}");
    }

    #[test]
    fn the_time_besides_cryptography_is_shared_by_the_messages_of_serving_nodes() {
        let cpu = json!({
            "ue": { "ns": 9e9, "crypto_ns": 0.0, "n": 30 },
            "gw": { "ns": 130_000.0, "crypto_ns": 100_000.0, "n": 30 },
            "aaa": { "ns": 50_000.0, "n": 30 },
        });
        let price = price_of(row("live", &cpu)).unwrap();
        assert_eq!((price.ns, price.n), (5000.0, 30), "six messages; a foreign AAA server tells nothing");
        assert_eq!(price_of(row("sim", &cpu)).unwrap_err(), Untold::NotLive);
        assert_eq!(price_of(row("live", &json!({}))).unwrap_err(), Untold::Unmeasured);
    }
}
