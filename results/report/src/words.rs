//! The meaning of abbreviations in tables and headings: below the first line on the screen, and in the sections of a page.

use keytoll_analysis::profile::Profile;
use keytoll_analysis::summary::{Summary, SummaryRow};

/// An abbreviation, and its meaning.
type Word = (&'static str, &'static str);

/// Nodes, in the order of the reports.
const NODES: [Word; 5] = [
    ("ue", "the device (user equipment)"),
    ("gw", "the gateway"),
    (
        "ap",
        "the access point of a wireless LAN: to it packets are 802.11 frames without FCS, an SA is an association",
    ),
    ("aaa", "the AAA server behind gateway or access point"),
    ("hss", "the operator's server with the subscribers' keys"),
];

/// How nodes are arranged.
const TOPOLOGIES: [Word; 5] = [
    ("raw", "nothing but the named network between device and gateway"),
    ("centralized", "30 ms more to a central gateway that is near the AAA server"),
    ("distributed", "15 ms more to a regional gateway, 15 ms from there to the AAA server"),
    ("flat", "10 ms more to a gateway at the edge, 30 ms from there to the AAA server"),
    ("wlan", "an access point and its AAA server on one site, 1 ms apart"),
];

/// The worlds.
const WORLDS: [Word; 3] = [
    ("sim", "emulated links in virtual time"),
    ("live", "real sockets and the real clock"),
    ("captured", "packets of a capture from elsewhere"),
];

/// The sentence above the results of a run that is not complete.
pub(crate) const UNFINISHED: &str = "The run is not complete: this is what was measured of it.";

/// That sentence, and how many rows lack authentications: an interruption may leave all of them short.
pub(crate) fn unfinished(summary: &Summary) -> Option<String> {
    let rows = &summary.rows;
    let short = rows.iter().filter(|row| row.n < row.planned).count();
    let why = (short > 1).then(|| {
        let all = rows.len();
        format!(" {short} of {all} rows have fewer authentications than planned, because several rows are measured at a time.")
    });
    (!summary.complete).then(|| format!("{UNFINISHED}{}", why.unwrap_or_default()))
}

/// The abbreviations in a run's headings and nodes.
pub(crate) fn of_run(summary: &Summary) -> Option<String> {
    of_rows(&summary.rows)
}

/// The abbreviations of some rows.
pub(crate) fn of_rows<'a>(rows: impl IntoIterator<Item = &'a SummaryRow>) -> Option<String> {
    let rows: Vec<&SummaryRow> = rows.into_iter().collect();
    let any = |is: &dyn Fn(&SummaryRow) -> bool| rows.iter().any(|row| is(row));
    let has_node = |name: &str| {
        any(&|row| {
            row.memory_bytes.get(name).is_some() || row.links.iter().any(|(link, _)| is_end(link, name))
        })
    };
    let nodes = NODES.iter().filter(|(name, _)| has_node(name));
    let topologies = TOPOLOGIES.iter().filter(|(name, _)| any(&|row| row.topology == *name));
    let worlds = WORLDS.iter().filter(|(name, _)| any(&|row| row.world == *name));
    sentence(nodes.chain(topologies).chain(worlds))
}

/// Whether a node is an end of a link: `ue-gw` has the ends `ue` and `gw`.
fn is_end(link: &str, node: &str) -> bool {
    link.split('-').any(|end| end == node)
}

/// The abbreviations of a profile: its nodes and its topology.
pub(crate) fn of_profile(profile: &Profile) -> Option<String> {
    let nodes = || profile.columns.iter().flat_map(|column| &column.nodes);
    let known = NODES.iter().filter(|(name, _)| nodes().any(|node| node.node == *name));
    let topology =
        TOPOLOGIES.iter().filter(|(name, _)| profile.network.split(", ").any(|word| word == *name));
    sentence(known.chain(topology))
}

fn sentence<'a>(words: impl Iterator<Item = &'a Word>) -> Option<String> {
    let words: Vec<_> = words.map(|(word, meaning)| format!("{word}: {meaning}")).collect();
    (!words.is_empty()).then(|| format!("{}.", words.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn only_what_a_run_has_is_explained() {
        let said = of_run(&example::findings().summary).unwrap();
        assert!(said.starts_with("ue: the device (user equipment); gw: the gateway; raw: "), "{said}");
        assert!(!said.contains("hss") && !said.contains("live"), "{said}");
    }
}
