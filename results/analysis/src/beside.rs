//! Comparison of our nodes with other makers' programs: for two rows that differ in one node's maker, the CPU time of that
//! node, and the duration of an authentication.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::summary::SummaryRow;

/// The options in a variant that name the maker of a node.
const MAKER_KEYS: [&str; 3] = ["ue", "gw", "aaa"];
/// The maker if the option is absent.
const OURS: &str = "keytoll";

/// One node in two rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// The method's name.
    pub method: String,
    /// The other options that differ from the method's default, in both rows.
    pub variant: String,
    /// The network's name.
    pub network: String,
    /// The node.
    pub node: String,
    /// The other maker.
    pub maker: String,
    /// Median CPU time of our node per authentication, in nanoseconds.
    pub cpu_ns: f64,
    /// Median CPU time of the other maker's, in nanoseconds.
    pub maker_cpu_ns: f64,
    /// `cpu_ns` ÷ `maker_cpu_ns`.
    pub cpu_ratio: f64,
    /// Median delay with our node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<f64>,
    /// Median delay with the other maker's, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maker_delay_ms: Option<f64>,
}

/// Every row with one node of another maker, paired with the same row with only ours.
pub fn beside(rows: &[SummaryRow]) -> Vec<Beside> {
    let pair = |row: &SummaryRow| {
        let (makers, variant) = makers(row);
        let [maker] = makers[..] else { return None };
        let ours = rows.iter().find(|other| is_ours(other, row, &variant))?;
        compare(ours, row, maker, &variant)
    };
    rows.iter().filter_map(pair).collect()
}

/// Whether a row has only our nodes, and otherwise equals another row with this variant except for its makers.
fn is_ours(row: &SummaryRow, other: &SummaryRow, variant: &str) -> bool {
    let is_comparable = row.setting() == other.setting() && row.method == other.method;
    is_comparable && matches!(makers(row), (makers, rest) if makers.is_empty() && rest == variant)
}

/// The other makers' nodes of a row, and the rest of its variant.
fn makers(row: &SummaryRow) -> (Vec<(&str, &str)>, String) {
    let variant = row.subject().variant;
    let foreign = variant.words().filter_map(maker).filter(|(_, maker)| *maker != OURS);
    (foreign.collect(), variant.without(|word| maker(word).is_some()))
}

/// The node and its maker, if an option of a variant names one.
fn maker(word: &str) -> Option<(&str, &str)> {
    word.split_once('=').filter(|(key, _)| MAKER_KEYS.contains(key))
}

fn compare(
    ours: &SummaryRow,
    row: &SummaryRow,
    (node, maker): (&str, &str),
    variant: &str,
) -> Option<Beside> {
    let (cpu_ns, maker_cpu_ns) = (ours.cpu.get(node)?.ns_p50, row.cpu.get(node)?.ns_p50);
    if maker_cpu_ns <= 0.0 {
        return None;
    }
    let delay = |row: &SummaryRow| row.delay_ms.as_ref().map(|delay| delay.p50);
    Some(Beside {
        method: row.method.clone(),
        variant: variant.to_owned(),
        network: row.network.clone(),
        node: node.to_owned(),
        maker: maker.to_owned(),
        cpu_ns,
        maker_cpu_ns,
        cpu_ratio: cpu_ns / maker_cpu_ns,
        delay_ms: delay(ours),
        maker_delay_ms: delay(row),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tally;
    use crate::metrics::NodeTally;
    use crate::stats::Distribution;
    use crate::summary::summarise_row;
    use crate::trace::Node;
    use crate::trace::manifest::ManifestRow;

    fn row(method: &str, variant: &str, gw_ns: u64) -> SummaryRow {
        let mut cpu_ns = Distribution::default();
        cpu_ns.add(gw_ns);
        let mut tally = Tally::default();
        tally.nodes.insert(Node::Gw, NodeTally { cpu_ns, ..NodeTally::default() });
        let text = |text: &str| text.to_owned();
        let manifest = ManifestRow {
            index: 0,
            method: text(method),
            variant: text(variant),
            network: text("loopback"),
            topology: text("raw"),
            world: text("live"),
            crypto: text("real"),
            samples_planned: 1,
            trace: String::new(),
            costs: String::new(),
            notes: Vec::new(),
        };
        summarise_row(&manifest, &tally)
    }

    #[test]
    fn a_row_is_paired_with_the_one_that_differs_only_in_the_maker() {
        let rows = [
            row("psk", "mode=tunnel gw=keytoll", 200),
            row("psk", "mode=tunnel gw=strongswan", 1000),
            row("psk", "mode=tunnel ue=strongswan gw=strongswan", 900),
            row("psk", "gw=strongswan", 800),
            row("md5", "mode=tunnel gw=strongswan", 700),
        ];
        let found = beside(&rows);
        assert_eq!(found.len(), 1, "{found:?}");
        let pair = &found[0];
        assert_eq!(
            (pair.node.as_str(), pair.maker.as_str(), pair.variant.as_str()),
            ("gw", "strongswan", "mode=tunnel")
        );
        assert_eq!((pair.cpu_ns, pair.maker_cpu_ns, pair.cpu_ratio), (200.0, 1000.0, 0.2));
    }

    #[test]
    fn ours_need_not_be_named() {
        let rows = [row("psk", "", 1), row("psk", "gw=strongswan", 4)];
        assert_eq!(beside(&rows)[0].cpu_ratio, 0.25);
        assert_eq!(beside(&rows[..1]), []);
    }
}
