//! Notes for readers: how the cycles were estimated, why counts differ, and where this differs from the paper's testbed.
//! A summary does not contain the options that ran: for these a note describes only the shipped scenario.

use super::measured::Measured;
use super::{Fitted, OF_2009, SERVER_HZ, Speeds, UE_HZ, VARIANTS, Variant, published};

/// All notes.
pub(super) fn notes(speeds: &Speeds<'_>) -> Vec<String> {
    let measured = speeds.clocks;
    let of_run = [fitted(speeds), uncharged(measured), message_counts(measured), vectors(measured)];
    [LEGEND, SPEEDS, MEDIANS, SAMPLING]
        .into_iter()
        .map(str::to_owned)
        .chain(of_run.into_iter().flatten())
        .chain(TESTBED.map(str::to_owned))
        .collect()
}

const LEGEND: &str = "paper: printed in its text; derived from it or from a standard; reconstructed with assumptions \
                      that nobody printed. Its figures 4 to 10 are not at hand, so most cells are empty. Messages, \
                      bytes and cycles are means over both networks. TTLS-x-MD5 and PEAP-x-MSCHAPv2: the server has a chain of x \
                      certificates; TLS-x-y, EAP-TLS: the server has a chain of x, the device one of y.";

const SPEEDS: &str = "Testbed clock: the cycles of this machine at the testbed's MHz. Those CPUs took many times as many cycles for \
                      the same work. Fitted CPU: a clock lowered until a published number results.";

const MEDIANS: &str = "Mean: the paper's statistic, the round-trip time of the ping that triggers the authentication, with the \
                       symmetric interval of Student's t. SA: until the SA is usable, without the echo. Findings compare \
                       medians of pings: a lost packet makes IKE wait four seconds and moves a mean by more than the methods \
                       differ.";

const SAMPLING: &str = "Estimate by (1), the paper's equation: what a timer of 1000 Hz, OProfile's in the paper, finds when it \
                        looks at the node during the same computations in virtual time, C = S f_CPU / (n f_timer); \
                        with the paper's n = 20 one sample is 0.08 Mcycles at the initiator and 0.15 at the others.";

const TESTBED: [&str; 3] = [
    "The link wifi-11g-good is assumed; the CPUs are fitted so that PSK takes 25 ms over it. The link umts-r99-64 is calibrated on this \
     paper: on the fitted CPUs TLS-4-4 takes 6.2 s, where the paper has values of \"over 6 seconds\". So these two delays confirm nothing; \
     the comparison of the methods does.",
    "As the scenario is shipped, the gateway proves itself with a shared secret, of which the paper speaks (§II-B). \
     RFC 7296 §2.16 demands a signature of it with EAP: `--set options.gateway_auth=\"certificate\"` shows what that adds.",
    "The paper prints neither suite nor key lengths: as shipped, the scenario takes RFC 4307's AES-128, SHA-1 and \
     modp1024 with short exponents, and RSA-2048. With exponents as long as the modulus (`--exponents full`) the fit would make \
     the gateway's CPU some six times as fast as the AAA server's, although both had the same CPU. What ran, any `--set` included, is \
     the plan in manifest.json.",
];

/// A note on the clocks of the fitted CPUs.
fn fitted(speeds: &Speeds<'_>) -> Option<String> {
    let Fitted { clocks_hz, .. } = speeds.fitted?;
    let of = |name: &str, node: &str, testbed_hz: u64| {
        let hz = clocks_hz.get(node)?;
        Some(format!("{name} {:.0} MHz (÷ {:.0})", hz / 1e6, testbed_hz as f64 / hz))
    };
    let clocks =
        [of("UE", "ue", UE_HZ)?, of("GW", "gw", SERVER_HZ)?, of("AAA", "aaa", SERVER_HZ)?].join(", ");
    Some(format!(
        "Fitted: the run again on fitted CPUs, {clocks}, where ÷ is the factor below the testbed clock. The ping with PSK over \
         WiFi takes {} ms, the least value that the paper prints; that it is PSK's is derived. The TLS-based methods compute at \
         the AAA server as long as the printed 10⁸ cycles took.",
        OF_2009.delay.ms
    ))
}

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
    use super::super::example::{Cell, Example, summary};
    use super::*;

    /// The notes on a run with these cells, after a change of its summary.
    fn notes_after(cells: &[Cell], change: impl Fn(&mut Example)) -> Vec<String> {
        let mut example = Example::of(cells);
        change(&mut example);
        notes(&example.speeds())
    }

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
        let notes = notes_after(&[], |_| {});
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
        let notes = notes(&Example::of_summary(asked).speeds());
        assert!(notes.iter().any(|note| note.starts_with("SIM: the AAA server asks an HSS")));
    }

    #[test]
    fn computation_that_took_no_time_is_told() {
        let told = |notes: &[String]| notes.iter().any(|note| note.starts_with("Computation took no time"));
        let cells = [Cell("MD5", 10.0, [1.0; 2], [1.0; 3])];
        assert!(!told(&notes_after(&cells, |_| {})));
        assert!(told(&notes_after(&cells, |example| example.summary.rows[1].charged = false)));
    }

    #[test]
    fn the_clocks_of_the_fit_are_told() {
        let clocks = "UE 40 MHz (÷ 40), GW 75 MHz (÷ 40), AAA 60 MHz (÷ 50)";
        let told = |notes: &[String]| notes.iter().any(|note| note.contains(clocks));
        assert!(told(&notes_after(&[], |_| {})));
        assert!(!told(&notes_after(&[], |example| example.supplement.repetitions.clear())));
    }
}
