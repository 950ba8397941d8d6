//! What a message costs a node besides cryptography, from a live run of this machine: the node's own code and the kernel's.

use keytoll_trace::Node;
use keytoll_trace::cost_table::{ColdPrice, Cryptography, MessagePrice};

use crate::stats::median95;
use crate::summary::{Summary, SummaryRow};

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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadCost {
    /// The share of the time in which the process computed.
    pub utilisation: f64,
    /// CPU time besides cryptography for each message, in nanoseconds.
    pub ns: f64,
    /// Authentications in a second.
    pub rate_per_s: f64,
    /// The messages that the process receives in an authentication.
    pub received: f64,
    /// The authentications behind it.
    pub n: u64,
    /// How late half of the starts were at least, of a generator that mostly slept until then, in microseconds.
    pub wake_us: Option<f64>,
}

/// Utilisations of loads that are closer than this cannot tell the prices apart.
pub const UTILISATIONS_APART: f64 = 0.25;

/// With fewer loads nothing is said about pauses: three prices and the length of the pause are fitted.
const LOADS_OF_PAUSES: usize = 5;

/// The pauses that are tried, in microseconds: each a tenth longer than the one before, up to so many times the mean time from one
/// authentication to the next at the slowest load. Of longer ones there are too few to tell what they cost.
const PAUSES_TRIED: i32 = 128;
const SHORTEST_PAUSE_US: f64 = 20.0;
const LONGEST_PAUSE: f64 = 1.0;

/// A pause explains what it leaves less than this of, of what the squares are without it.
const EXPLAINED: f64 = 0.5;

/// The prices of a message that finds its node idle, of one that has waited and, from five loads on, of one that comes after a pause.
///
/// Of the messages of a Poisson process a share has to wait that is the utilisation, and the share of time in which the process wakes up,
/// which it does for all the others: `1 - utilisation = asleep · (1 + rate · received · wake)`. Of those that find it asleep, the first of an
/// authentication comes after a pause of `t` if no other authentication has begun meanwhile: a share of `exp(-rate · t)`. So the mean
/// price is `queued + asleep · (woken + cold · exp(-rate · t) / received)`: least squares of relative errors over all loads,
/// for the `t` that leaves the least. None if the utilisations are not far enough apart.
pub fn prices(loads: &[LoadCost], cryptography: Cryptography) -> Option<MessagePrice> {
    let (least, most) = loads.iter().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), load| {
        (least.min(load.utilisation), most.max(load.utilisation))
    });
    if most - least < UTILISATIONS_APART {
        return None;
    }
    let wake_us = waking(loads);
    let fit = |pause_us: Option<f64>| fit(loads, wake_us.unwrap_or(0.0), pause_us);
    let without = fit(None)?;
    let with =
        if loads.len() < LOADS_OF_PAUSES { None } else { best_of_pauses(longest_pause_us(loads), fit) };
    let best = with.filter(|with| with.left < EXPLAINED * without.left).unwrap_or(without);
    let n = loads.iter().fold(0, |sum: u64, load| sum.saturating_add(load.n));
    Some(MessagePrice { wake_us, cryptography: Some(cryptography), ..best.price(n) })
}

/// How long it takes until a process that sleeps computes: the median of what the loads tell.
fn waking(loads: &[LoadCost]) -> Option<f64> {
    median95(loads.iter().filter_map(|load| load.wake_us)).map(|(median, _)| median)
}

/// Prices, and what they do not explain.
#[derive(Debug, Clone, Copy)]
struct Fit {
    queued_ns: f64,
    /// How much more a message costs that wakes the process.
    woken_ns: f64,
    /// How much more than that one costs after the pause.
    cold_ns: f64,
    pause_us: Option<f64>,
    /// The sum of squares of relative errors.
    left: f64,
}

impl Fit {
    fn price(self, n: u64) -> MessagePrice {
        let ns = self.queued_ns + self.woken_ns;
        let cold = self.pause_us.map(|after_us| ColdPrice { ns: ns + self.cold_ns, after_us });
        MessagePrice { ns, queued_ns: Some(self.queued_ns), cold, wake_us: None, cryptography: None, n }
    }
}

/// The best fit with a pause.
fn best_of_pauses(longest_us: f64, fit: impl Fn(Option<f64>) -> Option<Fit>) -> Option<Fit> {
    let pauses = (0..PAUSES_TRIED).map(|step| SHORTEST_PAUSE_US * 1.1_f64.powi(step));
    let tried = pauses.take_while(|us| *us <= longest_us).filter_map(|us| fit(Some(us)));
    tried.min_by(|a, b| a.left.total_cmp(&b.left))
}

/// The longest pause that enough authentications of the slowest load come after, in microseconds.
fn longest_pause_us(loads: &[LoadCost]) -> f64 {
    let slowest_per_s = loads.iter().map(|load| load.rate_per_s).fold(f64::INFINITY, f64::min);
    LONGEST_PAUSE * 1e6 / slowest_per_s
}

/// Prices that are not negative, for a pause.
fn fit(loads: &[LoadCost], wake_us: f64, pause_us: Option<f64>) -> Option<Fit> {
    let shares = |load: &LoadCost| {
        let wakes = load.rate_per_s * load.received * wake_us / 1e6;
        let asleep = (1.0 - load.utilisation).max(0.0) / (1.0 + wakes);
        let paused = |us: f64| asleep * (-load.rate_per_s * us / 1e6).exp() / load.received;
        [1.0, asleep, pause_us.map_or(0.0, paused)]
    };
    let rows: Vec<_> = loads.iter().map(|load| shares(load).map(|share| share / load.ns)).collect();
    let [queued_ns, woken_ns, cold_ns] = least_squares(&rows)?;
    let price = |row: &[f64; 3]| row[0] * queued_ns + row[1] * woken_ns + row[2] * cold_ns;
    let left = rows.iter().map(|row| (price(row) - 1.0).powi(2)).sum();
    Some(Fit { queued_ns, woken_ns, cold_ns, pause_us, left })
}

/// The numbers that are not negative whose sum over a row, weighted with it, is nearest to one: of all choices of those that are not
/// zero the one that leaves the least (three numbers have seven).
fn least_squares(rows: &[[f64; 3]]) -> Option<[f64; 3]> {
    let left = |x: &[f64; 3]| -> f64 {
        rows.iter().map(|row| (row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>() - 1.0).powi(2)).sum()
    };
    let solutions = (1..8_u8).filter_map(|chosen| solved(rows, chosen));
    let sound = solutions.filter(|x| x.iter().all(|value| *value >= 0.0));
    sound.min_by(|a, b| left(a).total_cmp(&left(b)))
}

/// The normal equations of the chosen numbers, by Cramer's rule; the others are zero.
fn solved(rows: &[[f64; 3]], chosen: u8) -> Option<[f64; 3]> {
    let is_chosen = |index: usize| chosen & (1 << index) != 0;
    let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
    let entry = |a: usize, b: usize| match is_chosen(a) && is_chosen(b) {
        true => product(a, b),
        false => f64::from(a == b),
    };
    let matrix: [[f64; 3]; 3] = std::array::from_fn(|a| std::array::from_fn(|b| entry(a, b)));
    let wanted: [f64; 3] =
        std::array::from_fn(|a| if is_chosen(a) { rows.iter().map(|row| row[a]).sum() } else { 0.0 });
    let whole = determinant(&matrix);
    let scale: f64 = (0..3).map(|index| matrix[index][index]).product();
    if whole.abs() <= scale * 1e-12 {
        return None;
    }
    let with = |column: usize| {
        let mut replaced = matrix;
        replaced.iter_mut().zip(wanted).for_each(|(row, value)| row[column] = value);
        determinant(&replaced) / whole
    };
    Some([with(0), with(1), with(2)])
}

fn determinant([a, b, c]: &[[f64; 3]; 3]) -> f64 {
    a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
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
            n += cpu.n;
        }
    }
    if messages > 0.0 {
        let cryptography = Some(Cryptography::Timed);
        Ok(MessagePrice {
            ns: besides_ns / messages,
            queued_ns: None,
            cold: None,
            wake_us: None,
            cryptography,
            n,
        })
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

    fn load(utilisation: f64, rate_per_s: f64, ns: f64) -> LoadCost {
        LoadCost { utilisation, ns, rate_per_s, received: 2.0, n: 100, wake_us: None }
    }

    fn prices(loads: &[LoadCost]) -> Option<MessagePrice> {
        super::prices(loads, Cryptography::Priced)
    }

    #[test]
    fn two_loads_tell_what_a_message_costs_that_waits_and_one_that_does_not() {
        let told = prices(&[load(0.2, 1e3, 26_000.0), load(0.7, 7e3, 16_000.0)]).unwrap();
        assert!((told.ns - 30_000.0).abs() < 1e-3 && told.n == 200, "{told:?}");
        assert!((told.queued_ns.unwrap() - 10_000.0).abs() < 1e-3, "{told:?}");
        let all = [load(0.2, 1e3, 26_000.0), load(0.7, 7e3, 16_000.0), load(0.45, 4e3, 21_000.0)];
        let third = prices(&all).unwrap();
        assert!((third.ns - told.ns).abs() < 1e-3 && third.cold.is_none(), "{third:?}");
        let woken = [Some(40.0), None, Some(50.0)].into_iter().zip(all);
        let woken: Vec<_> = woken.map(|(wake_us, load)| LoadCost { wake_us, ..load }).collect();
        assert_eq!((third.wake_us, prices(&woken).unwrap().wake_us), (None, Some(45.0)));
        let asleep = |utilisation: f64, rate: f64| (1.0 - utilisation) / (1.0 + rate * 2.0 * 50e-6);
        let priced = |utilisation: f64, rate: f64| {
            let ns = 10_000.0 + 20_000.0 * asleep(utilisation, rate);
            LoadCost { wake_us: Some(50.0), ..load(utilisation, rate, ns) }
        };
        let told = prices(&[priced(0.2, 1e3), priced(0.45, 4e3), priced(0.7, 7e3)]).unwrap();
        assert!((told.ns - 30_000.0).abs() < 1e-3, "who arrives while it wakes up waits: {told:?}");
        assert_eq!(prices(&[load(0.2, 1e3, 26_000.0), load(0.3, 2e3, 16_000.0)]), None);
        assert_eq!((prices(&[]), prices(&[load(0.5, 1e3, 1.0)])), (None, None));
    }

    #[test]
    fn nothing_costs_less_than_nothing() {
        let told = prices(&[load(0.2, 1e3, 26_000.0), load(0.8, 7e3, 5_000.0)]).unwrap();
        assert_eq!(told.queued_ns, Some(0.0));
        assert!(told.ns > 25_000.0 && told.ns < 33_000.0, "{told:?}");
    }

    #[test]
    fn five_loads_tell_what_a_message_costs_after_a_pause() {
        let priced = |utilisation: f64, rate: f64| {
            let cold = 24_000.0 * (-rate * 1.5e-3).exp() / 2.0;
            load(utilisation, rate, 10_000.0 + (1.0 - utilisation) * (20_000.0 + cold))
        };
        let loads = [(0.1, 500.0), (0.2, 1e3), (0.3, 2e3), (0.5, 4e3), (0.7, 7e3)].map(|(u, r)| priced(u, r));
        let told = prices(&loads).unwrap();
        let cold = told.cold.unwrap();
        assert!((cold.after_us - 1500.0).abs() < 100.0 && (cold.ns - 54_000.0).abs() < 1000.0, "{told:?}");
        assert!((told.ns - 30_000.0).abs() < 200.0, "{told:?}");
        assert_eq!(prices(&loads[1..]).unwrap().cold, None, "four are too few");
        let slow =
            loads.map(|it| LoadCost { ns: if it.rate_per_s < 600.0 { 3.0 * it.ns } else { it.ns }, ..it });
        let cold = prices(&slow).unwrap().cold.unwrap();
        assert!(
            cold.after_us <= 2000.0 && cold.ns < 1e6,
            "what nobody has waited for has no price: {cold:?}"
        );
        let straight =
            loads.map(|it| load(it.utilisation, it.rate_per_s, 30_000.0 - 20_000.0 * it.utilisation));
        let told = prices(&straight).unwrap();
        assert!(told.cold.is_none_or(|cold| (cold.ns - told.ns).abs() < 500.0), "{told:?}");
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
