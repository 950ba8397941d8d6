//! The claims of the slides, judged. Delays are judged on fitted CPUs, because the claims are about the testbed; the evidence shows them at the
//! testbed clock and on this machine's CPU, too.

use super::measured::Measured;
use super::published::{self, Quantity};
use super::tables::proportion;
use super::{
    Access, Architecture, BUDGETS_MS, DEX_AKA, EAP_AKA, METHODS, Method, Speed, named, places, shares,
};
use crate::claim::Claim;
use crate::doubtful::{Doubtful, all};
use crate::{Evidence, Finding, Verdict};

/// Every finding, in the order of the slides.
pub(super) fn findings(measured: Measured<'_>) -> Vec<Finding> {
    let claims: [fn(Measured<'_>) -> Finding; 13] = [
        dex_aka_saves_cycles_of_the_device,
        dex_aka_saves_cycles_of_the_gateway,
        computation_rises_in_the_derived_order,
        computation_is_a_smaller_part,
        shares::are_the_printed_ones,
        dex_aka_needs_no_aaa_server,
        dex_aka_saves_memory,
        dex_aka_keeps_300_ms_over_wifi,
        eap_aka_exceeds_300_ms_over_wifi,
        dex_aka_exceeds_300_ms_over_hspa,
        no_method_keeps_50_ms,
        dex_aka_saves_messages,
        dex_aka_saves_bytes,
    ];
    claims.into_iter().map(|claim| claim(measured)).collect()
}

/// A number within this factor of the printed one, either way, counts as the printed one.
pub(super) const NEAR: f64 = 1.25;

const TAKEN_AS: &str = "the printed part within a factor of 1.25, either way";

/// The input of delays on fitted CPUs.
pub(super) const FITTED: &str = "CPUs fitted to EAP-AKA's printed cycles, so that EAP-AKA's own computation is the paper's, and access networks \
                                 fitted to the delays of DEX";

/// The input of delays on fitted CPUs that include the wait at the HSS.
const FITTED_WITH_HSS: &str = "CPUs fitted to EAP-AKA's printed cycles, access networks fitted to the delays of DEX, and the HSS's wait of 65 ms, \
                               which follows from the derived delays";

/// The input of shares in delays at the testbed clock.
const FITTED_LINKS: &str = "access networks fitted to the delays of DEX, and the HSS's wait of 65 ms, which follows from the derived delays";

/// Judges the ratio of DEX-AKA to EAP-AKA for each quantity by the printed ratio.
fn saving(claim: Claim, measured: Measured<'_>, quantities: &[Quantity]) -> Finding {
    let found = quantities.iter().filter_map(|&quantity| Some((quantity, proportion(measured, quantity)?)));
    claim.of_cases(found.map(|(quantity, figure)| {
        let percent = if quantity.varies() { Doubtful::of_varying(&figure) } else { Doubtful::from(&figure) };
        let case = percent.is_within_factor(quantity.printed_percent().value, NEAR);
        (case, percent.evidence(quantity.label(), "% of EAP-AKA's"))
    }))
}

fn dex_aka_saves_cycles_of_the_device(measured: Measured<'_>) -> Finding {
    let claim = Claim {
        name: "dex-aka-saves-cycles-of-the-device",
        claim: "On the UE DEX-AKA takes 12 % of the CPU cycles of EAP-AKA.",
        source: Quantity::CpuUe.source(),
        taken_as: TAKEN_AS,
    };
    saving(claim, measured, &[Quantity::CpuUe])
}

fn dex_aka_saves_cycles_of_the_gateway(measured: Measured<'_>) -> Finding {
    let claim = Claim {
        name: "dex-aka-saves-cycles-of-the-gateway",
        claim: "On the GW DEX-AKA takes 2 % of the CPU cycles of EAP-AKA.",
        source: Quantity::CpuGw.source(),
        taken_as: TAKEN_AS,
    };
    saving(claim, measured, &[Quantity::CpuGw])
}

fn computation_rises_in_the_derived_order(measured: Measured<'_>) -> Finding {
    let known = published::by_computation().into_iter().filter_map(|method| {
        Some((method, Doubtful::of_varying(&measured.computation_ms(method, Speed::Clocks)?)))
    });
    let known: Vec<(Method, Doubtful)> = known.collect();
    let rises: Vec<Option<bool>> = known.windows(2).map(|pair| pair[1].1.exceeds(pair[0].1)).collect();
    let evidence = known.iter().map(|(method, ms)| ms.evidence(method.label, "ms"));
    let overlap = known.windows(2).zip(&rises).filter(|(_, rises)| rises.is_none());
    let overlap = overlap.map(|(pair, _)| {
        let what = format!("{} − {}, undecided", pair[1].0.label, pair[0].0.label);
        pair[1].1.less(pair[0].1).evidence(what, "ms")
    });
    Claim {
        name: "computation-rises-in-the-derived-order",
        claim: "Computation rises in the order DEX, DEX-AKA, BEX, PSK, EAP-AKA, EAP-TLS.",
        source: "slide \"Proportion of computational delays in the authentication delay\", from which it follows",
        taken_as: "each takes longer than the one before, in milliseconds at the testbed clock, without overlap of their \
                   intervals; pairs with overlapping intervals cannot be judged",
    }
    .judged(Verdict::of_doubtful(&rises), evidence.chain(overlap).collect())
}

/// A share is "much smaller" if it is at most this part of the other one.
const MUCH_SMALLER: f64 = 0.5;

fn computation_is_a_smaller_part(measured: Measured<'_>) -> Finding {
    let share =
        |method, at| Some(Doubtful::of_varying(&measured.share_percent(method, Speed::Clocks, at)?));
    let ratios =
        places(Access::ALL).filter_map(|at| Some((at, share(DEX_AKA, at)?.per(share(EAP_AKA, at)?))));
    Claim {
        name: "computation-is-a-smaller-part",
        claim: "Computation is a much smaller part of the delay of DEX-AKA than of EAP-AKA.",
        source: "slide \"Proportion of computational delays in the authentication delay\"",
        taken_as: "at most half of EAP-AKA's share in every architecture and access, at the testbed clock",
    }
    .of_cases(ratios.map(|(at, ratio)| {
        (ratio.is_at_most(MUCH_SMALLER), ratio.evidence(format!("share ÷ EAP-AKA's, {}", named(at)), ""))
    }))
    .resting_on(FITTED_LINKS)
}

fn dex_aka_needs_no_aaa_server(measured: Measured<'_>) -> Finding {
    let on = |link| measured.messages_on(DEX_AKA, link).unwrap_or(0.0);
    let (aaa, hss) = (on("gw-aaa") + on("aaa-hss"), on("gw-hss"));
    let cases = measured.has(DEX_AKA).then(|| {
        [
            (Some(aaa == 0.0), Evidence::new("messages to and from the AAA server", aaa, "")),
            (Some((hss - 2.0).abs() < 0.1), Evidence::new("between GW and HSS", hss, "")),
        ]
    });
    Claim {
        name: "dex-aka-needs-no-aaa-server",
        claim: "With DEX-AKA the AAA server is not utilized, but the HSS is accessed at each authentication run.",
        source: "slide \"CPU cost\"",
        taken_as: "no message at the AAA server, and a request and its answer between GW and HSS",
    }
    .of_cases(cases.into_iter().flatten())
}

fn dex_aka_saves_memory(measured: Measured<'_>) -> Finding {
    let claim = Claim {
        name: "dex-aka-saves-memory",
        claim: "On UE and GW DEX-AKA takes 20 % of the memory of EAP-AKA.",
        source: Quantity::MemoryUe.source(),
        taken_as: TAKEN_AS,
    };
    saving(claim, measured, &[Quantity::MemoryUe, Quantity::MemoryGw])
}

fn delay(
    measured: Measured<'_>,
    method: Method,
    speed: Speed,
    at: (Access, Architecture),
) -> Option<Doubtful> {
    measured.charged_delay_ms(method, speed, at).as_ref().map(Doubtful::of_varying)
}

/// Whether a method is within a budget in every architecture over a network.
fn within(
    measured: Measured<'_>,
    method: Method,
    access: Access,
    budget_ms: f64,
) -> Vec<(Option<bool>, Evidence)> {
    let case = |at: (Access, Architecture)| {
        let fitted = delay(measured, method, Speed::Calibrated, at)?;
        Some((fitted.is_at_most(budget_ms), fitted.evidence(at.1.name(), "ms")))
    };
    places([access]).filter_map(case).collect()
}

/// The same delays at the testbed clock, and on this machine's CPU.
fn on_others(measured: Measured<'_>, method: Method, access: Access) -> Vec<Evidence> {
    let speeds = [(Speed::Clocks, "testbed clock,"), (Speed::Host, "this machine,")];
    let evidence = |(speed, name): (Speed, &str), at: (Access, Architecture)| {
        Some(delay(measured, method, speed, at)?.evidence(format!("{name} {}", at.1.name()), "ms"))
    };
    speeds.into_iter().flat_map(|of| places([access]).filter_map(move |at| evidence(of, at))).collect()
}

/// Judges whether a method keeps a budget everywhere over a network, or nowhere.
fn budgeted(claim: Claim, measured: Measured<'_>, of: (Method, Access), keeps: bool) -> Finding {
    let (method, access) = of;
    let cases = within(measured, method, access, BUDGETS_MS[3]);
    let (cases, evidence): (Vec<Option<bool>>, Vec<Evidence>) = cases.into_iter().unzip();
    let cases: Vec<Option<bool>> = cases.into_iter().map(|case| case.map(|is| is == keeps)).collect();
    let beside = if cases.is_empty() { Vec::new() } else { on_others(measured, method, access) };
    let fitted = if method == DEX_AKA { FITTED_WITH_HSS } else { FITTED };
    claim
        .judged(Verdict::of_doubtful(&cases), evidence.into_iter().chain(beside).collect())
        .resting_on(fitted)
}

const ON_FITTED: &str = "on fitted CPUs, in each architecture";

fn dex_aka_keeps_300_ms_over_wifi(measured: Measured<'_>) -> Finding {
    let claim = Claim {
        name: "dex-aka-keeps-300-ms-over-wifi",
        claim: "Over WiFi DEX-AKA takes less than 300 ms in all scenarios, the budget of buffered video streaming.",
        source: "slides \"Authentication delay\", \"Conclusions\"",
        taken_as: ON_FITTED,
    };
    budgeted(claim, measured, (DEX_AKA, Access::Wifi), true)
}

fn eap_aka_exceeds_300_ms_over_wifi(measured: Measured<'_>) -> Finding {
    let claim = Claim {
        name: "eap-aka-exceeds-300-ms-over-wifi",
        claim: "Over WiFi EAP-AKA takes more than 300 ms, which is inappropriate for services with a guaranteed bit rate.",
        source: "slide \"Conclusions\"",
        taken_as: ON_FITTED,
    };
    budgeted(claim, measured, (EAP_AKA, Access::Wifi), false)
}

fn dex_aka_exceeds_300_ms_over_hspa(measured: Measured<'_>) -> Finding {
    let claim = Claim {
        name: "dex-aka-exceeds-300-ms-over-hspa",
        claim: "Only over WiFi does DEX-AKA keep one of the delay budgets, and not over HSPA.",
        source: "slide \"Authentication delay\"",
        taken_as: ON_FITTED,
    };
    budgeted(claim, measured, (DEX_AKA, Access::Hspa), false)
}

fn no_method_keeps_50_ms(measured: Measured<'_>) -> Finding {
    let least = |method: Method| {
        let ms = places(Access::ALL).filter_map(|at| delay(measured, method, Speed::Calibrated, at));
        ms.min_by(|one, other| one.value.total_cmp(&other.value))
    };
    let known = METHODS.into_iter().filter_map(|method| Some((method, least(method)?)));
    let cases = known.map(|(method, ms)| {
        let exceeds = ms.is_at_most(BUDGETS_MS[0]).map(|is| !is);
        (exceeds, ms.evidence(format!("{} at best", method.label), "ms"))
    });
    Claim {
        name: "no-method-keeps-50-ms",
        claim: "No method re-authenticates within 50 ms (the slide: the methods \"were not designed with fast re-authentication in \
                mind\").",
        source: "slide \"Authentication delay\"",
        taken_as: "each takes longer than the budget of real-time gaming, 50 ms, in every architecture, on fitted CPUs",
    }
    .of_cases(cases)
    .resting_on(FITTED_WITH_HSS)
}

fn dex_aka_saves_messages(measured: Measured<'_>) -> Finding {
    let claim = Claim {
        name: "dex-aka-saves-messages",
        claim: "DEX-AKA sends 56 % as many messages as EAP-AKA.",
        source: Quantity::Messages.source(),
        taken_as: "within 5 points of that, as protocol messages and as IP packets, in all parts of the network together",
    };
    let found = [Quantity::Messages, Quantity::Packets];
    let found = found.into_iter().filter_map(|quantity| Some((quantity, proportion(measured, quantity)?)));
    claim.of_cases(found.map(|(quantity, percent)| {
        let (percent, printed) = (Doubtful::from(&percent), quantity.printed_percent().value);
        let is_less = percent.is_at_most(100.0);
        (all([is_less, percent.is_near(printed, 5.0)]), percent.evidence(quantity.label(), "% of EAP-AKA's"))
    }))
}

fn dex_aka_saves_bytes(measured: Measured<'_>) -> Finding {
    let claim = Claim {
        name: "dex-aka-saves-bytes",
        claim: "DEX-AKA sends 37 % as many bytes as EAP-AKA.",
        source: Quantity::Bytes.source(),
        taken_as: TAKEN_AS,
    };
    saving(claim, measured, &[Quantity::Bytes])
}

#[cfg(test)]
mod tests {
    use super::super::example::{Example, Numbers, as_printed};
    use super::*;

    fn verdict(name: &str, numbers: &[Numbers]) -> Verdict {
        let example = Example::of(numbers);
        let findings = findings(Measured(&example.material()));
        findings.into_iter().find(|finding| finding.name == name).unwrap().verdict
    }

    /// The slides' numbers, those of DEX-AKA changed.
    fn changed(change: impl Fn(&mut Numbers)) -> Vec<Numbers> {
        let mut numbers = METHODS.map(as_printed);
        numbers.iter_mut().filter(|numbers| numbers.method == DEX_AKA).for_each(change);
        numbers.to_vec()
    }

    #[test]
    fn the_slides_numbers_confirm_them() {
        let example = Example::as_printed();
        let findings = findings(Measured(&example.material()));
        let others = findings.iter().filter(|finding| finding.verdict != Verdict::Holds);
        assert_eq!(others.map(|finding| finding.name.as_str()).collect::<Vec<_>>(), [""; 0]);
        assert!(findings.iter().all(|finding| !finding.evidence.is_empty()));
    }

    #[test]
    fn without_measurements_nothing_is_judged() {
        let example = Example::of(&[]);
        let findings = findings(Measured(&example.material()));
        assert!(findings.iter().all(|finding| finding.verdict == Verdict::CannotBeJudged), "{findings:?}");
    }

    #[test]
    fn times_without_an_interval_are_not_judged() {
        let names = ["dex-aka-saves-cycles-of-the-device", "dex-aka-saves-cycles-of-the-gateway"];
        let verdicts = |example: Example| {
            let findings = findings(Measured(&example.material()));
            let of = |name| findings.iter().find(|finding| finding.name == name).unwrap().verdict;
            names.map(of)
        };
        assert_eq!(verdicts(Example::as_printed().over_one_network()), [Verdict::CannotBeJudged; 2]);
        assert_eq!(verdicts(Example::as_printed()), [Verdict::Holds; 2]);
    }

    #[test]
    fn without_computation_messages_and_memory_are_judged() {
        let example = Example::as_printed().uncharged();
        let findings = findings(Measured(&example.material()));
        let judged = findings.iter().filter(|finding| finding.verdict != Verdict::CannotBeJudged);
        let judged = judged.map(|finding| finding.name.as_str()).collect::<Vec<_>>();
        assert_eq!(
            judged,
            [
                "dex-aka-needs-no-aaa-server",
                "dex-aka-saves-memory",
                "dex-aka-saves-messages",
                "dex-aka-saves-bytes"
            ]
        );
    }

    #[test]
    fn a_part_far_above_or_below_the_printed_one_does_not_hold() {
        for part in [0.3, 0.12 / 1.4] {
            let numbers = changed(|numbers| numbers.megacycles = [248.0 * part, 237.0 * 0.02]);
            assert_eq!(verdict("dex-aka-saves-cycles-of-the-device", &numbers), Verdict::DoesNotHold);
            assert_eq!(verdict("dex-aka-saves-cycles-of-the-gateway", &numbers), Verdict::Holds);
        }
        let numbers = changed(|numbers| numbers.megacycles = [248.0 * 0.15, 237.0]);
        assert_eq!(verdict("dex-aka-saves-cycles-of-the-device", &numbers), Verdict::CannotBeJudged);
        let numbers = changed(|numbers| numbers.kilobytes = [24, 80]);
        assert_eq!(verdict("dex-aka-saves-memory", &numbers), Verdict::HoldsInPart);
        let numbers = changed(|numbers| numbers.messages = [4.0, 2.0]);
        assert_eq!(verdict("dex-aka-saves-messages", &numbers), Verdict::DoesNotHold);
    }

    #[test]
    fn a_budget_that_is_exceeded_somewhere_is_kept_in_part() {
        let later = |ms| changed(|numbers| numbers.later_ms = ms);
        assert_eq!(verdict("dex-aka-keeps-300-ms-over-wifi", &later(50.0)), Verdict::HoldsInPart);
        assert_eq!(verdict("dex-aka-keeps-300-ms-over-wifi", &later(100.0)), Verdict::DoesNotHold);
        assert_eq!(verdict("dex-aka-exceeds-300-ms-over-hspa", &later(-400.0)), Verdict::DoesNotHold);
    }
}
