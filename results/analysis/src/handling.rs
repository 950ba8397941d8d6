//! What a message costs a node besides cryptography, from a live run of this machine: the node's own code and the kernel's.

use keytoll_trace::Node;
use keytoll_trace::cost_table::MessagePrice;

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

/// What a load of this machine's generator tells about messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadCost {
    /// The share of the time in which the generator computed.
    pub utilisation: f64,
    /// CPU time besides cryptography for each message, in nanoseconds.
    pub ns: f64,
    /// The authentications behind it.
    pub n: u64,
}

/// Utilisations of loads that are closer than this cannot tell the two prices apart.
pub const UTILISATIONS_APART: f64 = 0.25;

/// The prices of a message that finds its node idle and of one that has waited, from loads of different rates: a share of the
/// messages that is the utilisation has to wait, so that the mean price is a straight line over it, whose ends are these two. Least
/// squares over all loads; none if their utilisations are not far enough apart.
pub fn prices(loads: &[LoadCost]) -> Option<MessagePrice> {
    let count = loads.len() as f64;
    let mean = |of: fn(&LoadCost) -> f64| loads.iter().map(of).sum::<f64>() / count;
    let (utilisation, ns) = (mean(|load| load.utilisation), mean(|load| load.ns));
    let (least, most) = loads.iter().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), load| {
        (least.min(load.utilisation), most.max(load.utilisation))
    });
    if most - least < UTILISATIONS_APART {
        return None;
    }
    let sum = |of: &dyn Fn(&LoadCost) -> f64| loads.iter().map(of).sum::<f64>();
    let slope = sum(&|load| (load.utilisation - utilisation) * (load.ns - ns))
        / sum(&|load| (load.utilisation - utilisation).powi(2));
    let idle_ns = ns - slope * utilisation;
    let n = loads.iter().map(|load| load.n).sum();
    Some(MessagePrice { ns: idle_ns.max(0.0), queued_ns: Some((idle_ns + slope).max(0.0)), n })
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
        Ok(MessagePrice { ns: besides_ns / messages, queued_ns: None, n })
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

    #[test]
    fn two_loads_tell_what_a_message_costs_that_waits_and_one_that_does_not() {
        let load = |utilisation: f64, ns: f64| LoadCost { utilisation, ns, n: 100 };
        let prices_of = |loads: &[LoadCost]| prices(loads);
        let told = prices_of(&[load(0.2, 26_000.0), load(0.7, 16_000.0)]).unwrap();
        assert!((told.ns - 30_000.0).abs() < 1e-6 && told.n == 200, "{told:?}");
        assert!((told.queued_ns.unwrap() - 10_000.0).abs() < 1e-6, "{told:?}");
        let third = prices_of(&[load(0.2, 26_000.0), load(0.7, 16_000.0), load(0.45, 21_000.0)]).unwrap();
        assert!((third.ns - told.ns).abs() < 1e-6, "{third:?}");
        assert_eq!(prices_of(&[load(0.2, 26_000.0), load(0.3, 16_000.0)]), None);
        assert_eq!((prices_of(&[]), prices_of(&[load(0.5, 1.0)])), (None, None));
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
