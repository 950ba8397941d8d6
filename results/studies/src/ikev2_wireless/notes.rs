//! Notes for readers: how the cycles were estimated, why counts differ, and where this differs from the paper's testbed.
//! A summary does not contain the options that ran: for these a note describes only the shipped scenario.

use super::measured::Measured;
use super::{VARIANTS, Variant, published};
use keytoll_analysis::summary::Summary;

/// All notes.
pub(super) fn notes(summary: &Summary) -> Vec<String> {
    let measured = Measured(summary);
    let of_run = [uncharged(measured), message_counts(measured), vectors(measured)];
    [LEGEND, MEDIANS, SAMPLING]
        .into_iter()
        .map(str::to_owned)
        .chain(of_run.into_iter().flatten())
        .chain(TESTBED.map(str::to_owned))
        .collect()
}

const LEGEND: &str = "paper: printed in its text; derived from it or from a standard; reconstructed with assumptions \
                      that nobody printed. Its figures 4 to 10 are not at hand, so most cells are empty. Messages, \
                      bytes and cycles are means over both networks.";

const MEDIANS: &str = "Findings compare medians: a packet lost now and then makes IKE wait four seconds and moves a \
                       mean by more than the methods differ.";

const SAMPLING: &str = "Estimate by (1), the paper's equation: what a timer of 1000 Hz, OProfile's in the paper, finds when it \
                        looks at the node during the same computations in virtual time, C = S f_CPU / (n f_timer); \
                        with the paper's n = 20 one sample is 0.08 Mcycles at the initiator and 0.15 at the others.";

const TESTBED: [&str; 4] = [
    "Cycles are this machine's, with today's library and instructions: the CPU profiles stretch them to the paper's \
     clocks, but those processors took many times as many for the same work.",
    "Both links are presets calibrated on this paper (25 ms, 6 s), so those two delays confirm nothing by themselves; \
     how the methods compare does.",
    "As the scenario is shipped, the gateway proves itself with a shared secret, of which the paper speaks (§II-B). \
     RFC 7296 §2.16 demands a signature of it with EAP: `--set options.gateway_auth=\"certificate\"` shows what that adds.",
    "The paper prints neither suite nor key lengths: as shipped, the scenario takes RFC 4307's AES-128, SHA-1 and \
     modp1024, and RSA-2048. What ran, any `--set` included, is the plan in manifest.json.",
];

/// A note if computation was not charged.
fn uncharged(measured: Measured<'_>) -> Option<String> {
    let free = measured.0.rows.iter().any(|row| !row.charged);
    free.then(|| UNCHARGED.to_owned())
}

const UNCHARGED: &str = "Computation took no time here (in some rows or all): their delays are the network's alone, and \
                         findings that computation has a part in are not judged by them.";

/// A note on methods with a server behind the AAA server.
fn vectors(measured: Measured<'_>) -> Option<String> {
    let asks = |variant: &Variant| measured.link(*variant, "aaa-hss", |means| means.messages).is_some();
    let asking = VARIANTS.iter().filter(|variant| asks(variant)).map(|variant| variant.label);
    let asking = asking.collect::<Vec<_>>().join(", ");
    (!asking.is_empty()).then(|| format!("{asking}: {VECTORS}"))
}

const VECTORS: &str = "the AAA server asks an HSS for the vectors, over Diameter. The wait is part of the delay and the \
                       messages are those of aaa-hss, but what the HSS computes is not among the AAA server's cycles.";

/// A note on whether the counts are those of the arithmetic, and if not, by how many round trips they differ.
fn message_counts(measured: Measured<'_>) -> Option<String> {
    let deviations = VARIANTS.iter().filter_map(|&variant| Deviation::of(measured, variant));
    let deviations = deviations.collect::<Vec<_>>();
    if deviations.is_empty() {
        return None;
    }
    let differing = deviations.iter().filter(|deviation| deviation.differs()).collect::<Vec<_>>();
    if differing.is_empty() {
        return Some("The message counts are those of the arithmetic: with R round trips of EAP, 2 + 2 (2 + R + 1) of IKE and 2 (R + 1) of RADIUS.".to_owned());
    }
    let named = differing.iter().map(|deviation| deviation.words()).collect::<Vec<_>>().join("; ");
    let unasked = if differing.iter().any(|deviation| deviation.is_the_identity()) { UNASKED } else { "" };
    let but = format!(
        "The message counts are those of the arithmetic (with R round trips of EAP, 2 + 2 (2 + R + 1) of IKE and 2 (R + 1) of RADIUS) but for {named}."
    );
    Some([&but, WHY, unasked].join(" ").trim_end().to_owned())
}

const WHY: &str = "A round trip of EAP is two messages on each link. The arithmetic counts one fragment for each \
                   certificate of a chain, the anchor's included, which is not sent here, and the rounds of TLS 1.2 \
                   and before: TLS 1.3 saves a tunnel one.";

const UNASKED: &str =
    "Two IKE messages fewer and none of RADIUS: the gateway did not ask for the identity over the air.";

/// How a variant's counts differ from the arithmetic, in messages.
struct Deviation {
    label: &'static str,
    ike: f64,
    radius: f64,
}

impl Deviation {
    fn of(measured: Measured<'_>, variant: Variant) -> Option<Self> {
        let beyond = |link: &str| {
            let counted = measured.link(variant, link, |means| means.messages)?.value;
            Some(counted - published::messages(variant, link)?.value)
        };
        Some(Self { label: variant.label, ike: beyond("ue-gw")?, radius: beyond("gw-aaa").unwrap_or(0.0) })
    }

    fn differs(&self) -> bool {
        [self.ike, self.radius].iter().any(|messages| messages.abs() >= 0.5)
    }

    fn is_the_identity(&self) -> bool {
        self.ike.round() == -2.0 && self.radius.round() == 0.0
    }

    fn words(&self) -> String {
        let Self { label, ike, radius } = self;
        format!("{label} ({ike:+.0} IKE, {radius:+.0} RADIUS)")
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{Cell, summary};
    use super::*;

    fn note(cells: &[Cell]) -> Option<String> {
        message_counts(Measured(&summary(cells)))
    }

    #[test]
    fn counts_that_differ_are_named_with_the_reason() {
        let cell = |label, messages| Cell(label, messages, [1.0; 2], [1.0; 3]);
        assert_eq!(note(&[]), None);
        let as_computed = note(&[cell("SIM", 12.0), cell("TLS-4-4", 26.0)]).unwrap();
        assert_eq!(
            as_computed,
            "The message counts are those of the arithmetic: with R round trips of EAP, 2 + 2 (2 + R + 1) of IKE and 2 (R + 1) of RADIUS."
        );
        let fewer = note(&[cell("SIM", 12.0), cell("TLS-4-4", 24.0)]).unwrap();
        assert!(fewer.contains("but for TLS-4-4 (-2 IKE, -2 RADIUS). A round trip"), "{fewer}");
        assert!(!fewer.contains("SIM") && !fewer.contains("identity"), "{fewer}");
    }

    #[test]
    fn an_identity_that_was_not_asked_for_is_told() {
        let mut unasked = summary(&[Cell("MD5", 10.0, [1.0; 2], [1.0; 3])]);
        for row in &mut unasked.rows {
            row.links.values_mut().next().unwrap().messages = 8.0;
        }
        let note = message_counts(Measured(&unasked)).unwrap();
        assert!(note.contains("MD5 (-2 IKE, +0 RADIUS)") && note.ends_with("over the air."), "{note}");
    }

    #[test]
    fn what_options_may_change_is_said_of_the_shipped_scenario() {
        let notes = notes(&summary(&[]));
        for changeable in ["shared secret", "RSA-2048"] {
            let note = notes.iter().find(|note| note.contains(changeable)).unwrap();
            assert!(note.contains("shipped"), "{note}");
        }
    }

    #[test]
    fn an_hss_that_was_asked_is_told() {
        let mut asked =
            summary(&[Cell("MD5", 10.0, [1.0; 2], [1.0; 3]), Cell("SIM", 12.0, [1.0; 2], [1.0; 3])]);
        assert_eq!(vectors(Measured(&asked)), None);
        for row in asked.rows.iter_mut().filter(|row| row.variant == "SIM") {
            let links = row.links.iter().map(|(link, means)| (link.to_owned(), *means));
            row.links =
                links.chain([("aaa-hss".to_owned(), row.links.get("ue-gw").copied().unwrap())]).collect();
        }
        assert!(notes(&asked).iter().any(|note| note.starts_with("SIM: the AAA server asks an HSS")));
    }

    #[test]
    fn computation_that_took_no_time_is_told() {
        let mut null = summary(&[Cell("MD5", 10.0, [1.0; 2], [1.0; 3])]);
        assert_eq!(uncharged(Measured(&null)), None);
        null.rows[1].charged = false;
        assert!(notes(&null).iter().any(|note| note.starts_with("Computation took no time")));
    }
}
