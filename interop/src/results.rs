//! The tables of `RESULTS.md`: what [`Chain::outcome`] says of every EAP method, which `tests/eap_chains.rs` proves cell by
//! cell, and what [`Feature::outcome`] says of IKEv2, which `tests/ikev2.rs` proves, and [`ikev1::Feature::outcome`] of IKEv1,
//! [`libreswan::Feature::outcome`] of libreswan, [`esp::Suite::outcome`] of ESP, [`Kind::outcome`] of 802.11, [`strongswan_6`] of
//! strongSwan 6.1, [`proxy::Chain::outcome`] of RADIUS proxies, and [`ryke::Feature::outcome`] of ryke.

use std::fmt::Display;

use crate::chain::{Chain, Outcome};
use crate::eap::Method;
use crate::esp;
use crate::hwsim::Role;
use crate::ikev1;
use crate::ikev2::{Direction, Feature};
use crate::libreswan;
use crate::on_air::Kind;
use crate::{proxy, ryke, strongswan_6};

/// EAP methods in chains of peers.
pub fn eap_table() -> String {
    table("method", &Method::all(), Chain::ALL, |method, chain| chain.outcome(*method))
}

/// IKEv2 in both directions.
pub fn ikev2_table() -> String {
    table("suite or feature", Feature::ALL, Direction::ALL, |feature, direction| feature.outcome(*direction))
}

/// IKEv1 in both directions.
pub fn ikev1_table() -> String {
    let outcome = |feature: &ikev1::Feature, direction: &Direction| feature.outcome(*direction);
    table("suite or feature", ikev1::Feature::ALL, Direction::ALL, outcome)
}

/// Both versions of IKE with libreswan, in both directions.
pub fn libreswan_table() -> String {
    let outcome =
        |feature: &libreswan::Feature, direction: &libreswan::Direction| feature.outcome(*direction);
    table("suite or feature", libreswan::Feature::ALL, libreswan::Direction::ALL, outcome)
}

/// Algorithms of ESP, by both versions of IKE in both directions.
pub fn esp_table() -> String {
    table("ESP", esp::Suite::ALL, esp::Way::ALL, |suite, way| suite.outcome(*way))
}

/// 802.11 in both roles.
pub fn wlan_table() -> String {
    table("network", &Kind::ALL, Role::ALL, |kind, role| kind.outcome(*role))
}

/// IKEv2 with strongSwan 6.1 in both directions.
pub fn strongswan_6_table() -> String {
    let outcome = |feature: &Feature, direction: &strongswan_6::Direction| direction.outcome(*feature);
    table("suite or feature", Feature::ALL, strongswan_6::Direction::ALL, outcome)
}

/// EAP with strongSwan 6.1, and with strongSwan's own EAP server.
pub fn strongswan_6_eap_table() -> String {
    table("method", &Method::all(), strongswan_6::Chain::ALL, |method, chain| chain.outcome(*method))
}

/// EAP through RADIUS proxies.
pub fn proxy_table() -> String {
    table("method", &Method::all(), proxy::Chain::ALL, |method, chain| chain.outcome(*method))
}

/// IKEv2 with ryke, in both directions.
pub fn ryke_table() -> String {
    let outcome = |feature: &ryke::Feature, direction: &ryke::Direction| feature.outcome(*direction);
    table("suite or feature", ryke::Feature::ALL, ryke::Direction::ALL, outcome)
}

/// A table, and below it what its numbers stand for.
fn table<R: Display, C: Display>(
    corner: &str,
    rows: &[R],
    columns: &[C],
    outcome: impl Fn(&R, &C) -> Outcome,
) -> String {
    let mut notes = Vec::new();
    let mut row = |name: &R| {
        let cells: Vec<_> = columns.iter().map(|column| cell(outcome(name, column), &mut notes)).collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let rows: String = rows.iter().map(&mut row).collect();
    let columns: Vec<_> = columns.iter().map(ToString::to_string).collect();
    let head = format!("| {corner} | {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len() + 1));
    let notes: String = notes.iter().zip(1..).map(|(note, n)| format!("\n{n}. {note}")).collect();
    format!("{head}{rows}{notes}")
}

fn cell(outcome: Outcome, notes: &mut Vec<&'static str>) -> String {
    let mut note = |why| {
        let known = notes.iter().position(|note| *note == why);
        known.unwrap_or_else(|| {
            notes.push(why);
            notes.len() - 1
        }) + 1
    };
    match outcome {
        Outcome::Passed => "passed".into(),
        Outcome::PassedWith(what) => format!("passed ({})", note(what)),
        Outcome::Failed { why, .. } => format!("fails ({})", note(why)),
        Outcome::NotOffered(why) => format!("not offered ({})", note(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_md_shows_what_the_tests_prove() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");
        let shown = std::fs::read_to_string(file).unwrap();
        for table in [
            eap_table(),
            ikev2_table(),
            ikev1_table(),
            libreswan_table(),
            esp_table(),
            wlan_table(),
            strongswan_6_table(),
            strongswan_6_eap_table(),
            proxy_table(),
            ryke_table(),
        ] {
            assert!(shown.contains(&table), "RESULTS.md must contain this table:\n\n{table}");
        }
    }

    #[test]
    fn equal_reasons_share_a_number() {
        let mut notes = Vec::new();
        let cells =
            [Outcome::NotOffered("a"), Outcome::Failed { words: "", why: "b" }, Outcome::NotOffered("a")];
        let cells = cells.map(|outcome| cell(outcome, &mut notes));
        assert_eq!(cells, ["not offered (1)", "fails (2)", "not offered (1)"]);
    }
}
