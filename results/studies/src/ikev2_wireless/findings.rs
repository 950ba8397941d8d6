//! The paper's findings, judged by the measurements. Delays are those of pings, compared by their medians; if computation took no
//! time, only findings that depend on messages and the network are judged. A case is decided only if its whole interval is on one side.

use super::measured::Measured;
use super::responder::Responder;
use super::{Kind, MD5, PSK, Place, SIM, Speeds, TLS_2_2, TLS_4_4, VARIANTS, Variant};
use crate::claim::Claim;
use crate::doubtful::{Doubtful, all};
use crate::{Finding, Verdict};
use keytoll_analysis::stats::Line;

/// Every finding, in the order of the paper.
pub(super) fn findings(speeds: &Speeds<'_>) -> Vec<Finding> {
    let at_clocks: [fn(Measured<'_>) -> Finding; 6] = [
        umts_follows_the_messages,
        tls_is_above_its_rank,
        tls_costs_the_initiator_most,
        the_responder_pays_for_bytes,
        tls_costs_the_server_a_hundredfold,
        longer_chains_cost_the_server_more,
    ];
    let on_fitted: [fn(Option<Measured<'_>>) -> Finding; 4] = [
        wifi_is_computation,
        delays_range_from_25_ms_to_6_s,
        wifi_exceeds_150_ms,
        tls_is_several_times_slower,
    ];
    let (delays, costs) = at_clocks.split_at(2);
    let of_clocks = |claims: &[fn(Measured<'_>) -> Finding]| {
        claims.iter().map(|claim| claim(speeds.clocks)).collect::<Vec<_>>()
    };
    let of_fitted = on_fitted.map(|claim| claim(speeds.fitted())).map(resting_on_cpus).to_vec();
    let of_delays = of_clocks(delays).into_iter().map(|finding| finding.resting_on(FITTED_LINK)).collect();
    [of_delays, of_fitted, of_clocks(costs)].concat()
}

/// The input of findings about delays over UMTS.
const FITTED_LINK: &str = "the delay of the link umts-r99-64, set so that TLS-4-4 takes 6.2 s";

/// The input of findings about delays on fitted CPUs.
const FITTED_CPUS: &str =
    "CPUs on which PSK takes 25 ms over WiFi and the TLS-based methods 10⁸ cycles at the AAA server";

/// A finding that names no other fitted input rests on the fitted CPUs.
fn resting_on_cpus(finding: Finding) -> Finding {
    if finding.fitted.is_some() { finding } else { finding.resting_on(FITTED_CPUS) }
}

/// The variants for which something is known, with it.
fn known<T>(
    variants: impl IntoIterator<Item = Variant>,
    of: impl Fn(Variant) -> Option<T>,
) -> Vec<(Variant, T)> {
    variants.into_iter().filter_map(|variant| Some((variant, of(variant)?))).collect()
}

fn those(is: impl Fn(Variant) -> bool) -> Vec<Variant> {
    VARIANTS.into_iter().filter(|&variant| is(variant)).collect()
}

fn numbers(known: &[(Variant, Doubtful)]) -> Vec<Doubtful> {
    known.iter().map(|(_, number)| *number).collect()
}

fn umts_follows_the_messages(measured: Measured<'_>) -> Finding {
    let mut delays = known(those(|variant| variant.kind != Kind::Mutual), |variant| {
        Some((measured.ike_messages(variant)?, measured.ping_ms(variant, Place::Umts)?))
    });
    delays.sort_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
    let pairs = pairs(&delays).filter(|(fewer, more)| fewer.0 < more.0);
    let cases = pairs.map(|(fewer, more)| more.1.exceeds(fewer.1)).collect::<Vec<_>>();
    let named = |(variant, (messages, ms)): &(Variant, (f64, Doubtful))| {
        ms.evidence(format!("{} with {messages:.0} messages", variant.label), "ms")
    };
    Claim {
        name: "umts-follows-the-messages",
        claim: "Over UMTS delays rise with the number of messages, except EAP-TLS with chains of x (server) and y (device) \
                certificates, TLS-x-y.",
        source: "§IV-B",
        taken_as: "of any two methods, the one with more messages between device and gateway has the longer median",
    }
    .judged(Verdict::of_doubtful(&cases), delays.iter().map(named).collect())
}

/// All pairs of values, the earlier one first.
fn pairs<T: Copy>(values: &[(Variant, T)]) -> impl Iterator<Item = (T, T)> {
    values
        .iter()
        .enumerate()
        .flat_map(|(place, (_, one))| values[place + 1..].iter().map(|(_, other)| (*one, *other)))
}

/// A straight line of delay over messages, and how far its own points are off it.
struct Trend {
    line: Line,
    /// The greatest distance of a point.
    scatter: Doubtful,
    /// Half the widest interval of a point.
    doubt_ms: f64,
}

impl Trend {
    /// Through the points of some methods.
    fn through(points: &[(f64, Doubtful)]) -> Option<Self> {
        let values: Vec<(f64, f64)> = points.iter().map(|(messages, ms)| (*messages, ms.value)).collect();
        let line = if points.len() < 3 { None } else { Line::through(&values) }?;
        let doubt_ms = points.iter().map(|(_, ms)| ms.half_width()).fold(0.0, f64::max);
        let off = values.iter().map(|&(messages, ms)| (ms - line.at(messages)).abs()).fold(0.0, f64::max);
        Some(Self { line, scatter: Doubtful::from(off).widened(doubt_ms), doubt_ms })
    }

    fn beyond(&self, (messages, ms): (f64, Doubtful)) -> Doubtful {
        ms.less(Doubtful::from(self.line.at(messages)).widened(self.doubt_ms))
    }
}

fn tls_is_above_its_rank(measured: Measured<'_>) -> Finding {
    let point =
        |variant| Some((measured.ike_messages(variant)?, measured.charged_ping_ms(variant, Place::Umts)?));
    let others = known(those(|variant| variant.kind != Kind::Mutual), point);
    let trend = Trend::through(&others.into_iter().map(|(_, point)| point).collect::<Vec<_>>());
    let mutual = |trend: &Trend| known([TLS_2_2, TLS_4_4], |variant| Some(trend.beyond(point(variant)?)));
    let mutual = trend.as_ref().map(mutual).unwrap_or_default();
    let scatter = trend.filter(|_| !mutual.is_empty()).map(|trend| trend.scatter);
    let cases = mutual.iter().map(|(_, beyond)| beyond.exceeds(scatter?)).collect::<Vec<_>>();
    let above = |(variant, beyond): &(Variant, Doubtful)| {
        beyond.evidence(format!("{} above the line", variant.label), "ms")
    };
    let scatter = scatter.map(|ms| ms.evidence("greatest distance of another method", "ms"));
    Claim {
        name: "tls-is-above-its-rank",
        claim: "Over UMTS TLS-2-2 and TLS-4-4 take longer than their numbers of messages explain.",
        source: "§IV-B",
        taken_as: "above a straight line of median delay over messages through the other methods, by more than any of \
                   these is off it; the line is as uncertain as the least certain of their medians",
    }
    .judged(Verdict::of_doubtful(&cases), mutual.iter().map(above).chain(scatter).collect())
}

fn wifi_is_computation(measured: Option<Measured<'_>>) -> Finding {
    const CONSIDERABLE: f64 = 0.25;
    let share = |variant, place| measured?.computation_share(variant, place);
    let shares = known(those(Variant::is_tls_based), |variant| share(variant, Place::Wifi));
    let evidence = |(variant, share): &(Variant, Doubtful), place: Place| {
        share.times(100.0).evidence(format!("{} over {}", variant.label, place.name()), "%")
    };
    let considerable = |share: Doubtful| as_fitted(share, Place::Wifi).is_at_least(CONSIDERABLE);
    let cases = shares.iter().map(|(_, share)| considerable(*share)).collect::<Vec<_>>();
    let beside = known([TLS_4_4], |variant| share(variant, Place::Umts));
    let of_wifi = shares.iter().map(|share| evidence(share, Place::Wifi));
    Claim {
        name: "wifi-is-computation",
        claim: "Over WiFi computation contributes considerably to the delay.",
        source: "§IV-B",
        taken_as: "for TLS-based methods, a quarter of the median or more; the fit adds ±20 %",
    }
    .judged(
        Verdict::of_doubtful(&cases),
        of_wifi.chain(beside.iter().map(|share| evidence(share, Place::Umts))).collect(),
    )
}

/// The ends of the range may be off by so much, as a part of them.
const NEAR: f64 = 0.05;
const LEAST_MS: f64 = 25.0;
const GREATEST_MS: f64 = 6000.0;

fn delays_range_from_25_ms_to_6_s(measured: Option<Measured<'_>>) -> Finding {
    let of = |place: Place| {
        let mut delays = known(VARIANTS, |variant| measured?.charged_ping_ms(variant, place));
        delays.sort_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
        delays
    };
    let named = |(variant, ms): &(Variant, Doubtful), place: Place| {
        ms.evidence(format!("{} over {}", variant.label, place.name()), "ms")
    };
    let least = of(Place::Wifi)
        .first()
        .map(|least| (least.1.is_near(LEAST_MS, NEAR * LEAST_MS), named(least, Place::Wifi)));
    let greatest = of(Place::Umts)
        .last()
        .map(|greatest| (greatest.1.is_at_least(GREATEST_MS), named(greatest, Place::Umts)));
    Claim {
        name: "delays-range-from-25-ms-to-6-s",
        claim: "Values from 25 ms to over 6 seconds can be seen.",
        source: "§IV-B",
        taken_as: "the least median over WiFi is 25 ms within 5 %, the greatest over UMTS more than 6 s",
    }
    .of_cases(least.into_iter().chain(greatest))
    .resting_on(FITTED_ENDS)
}

/// The inputs of the range of delays.
const FITTED_ENDS: &str = "PSK's 25 ms sets the clocks of the fitted CPUs, and TLS-4-4's 6.2 s the delay of the link umts-r99-64; both ends \
                           are inputs, so this verdict confirms nothing";

/// The fit adds this part to the uncertainty of delays over WiFi: it gives gateway and AAA server different speeds (one is about 1.5 times as
/// slow as the other), although both had the same CPU. Over UMTS computation is 2 % of a delay, so that this part of it does not count.
const OF_THE_FIT: f64 = 0.2;

/// With the uncertainty of the fit.
fn as_fitted(number: Doubtful, place: Place) -> Doubtful {
    match place {
        Place::Wifi => number.widened(OF_THE_FIT * number.value),
        Place::Umts => number,
    }
}

fn wifi_exceeds_150_ms(measured: Option<Measured<'_>>) -> Finding {
    const LIMIT_MS: f64 = 150.0;
    let mut delays = known(VARIANTS, |variant| measured?.charged_ping_ms(variant, Place::Wifi));
    delays.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
    let exceeds = |ms: &Doubtful| as_fitted(*ms, Place::Wifi).is_at_least(LIMIT_MS);
    let cases = delays.iter().map(|(_, ms)| exceeds(ms)).collect::<Vec<_>>();
    let exceeding = cases.iter().filter(|&&case| case == Some(true)).count().max(1);
    Claim {
        name: "wifi-exceeds-150-ms",
        claim: "Already over WiFi certain methods take more than 150 ms.",
        source: "§IV-B",
        taken_as: "at least one median exceeds 150 ms; the fit adds ±20 %, because it gives gateway and AAA server different \
                   speeds although both had the same CPU",
    }
    .judged(
        Verdict::of_any(&cases),
        delays.iter().take(exceeding).map(|(variant, ms)| ms.evidence(variant.label, "ms")).collect(),
    )
}

fn tls_is_several_times_slower(measured: Option<Measured<'_>>) -> Finding {
    const SEVERAL: f64 = 2.0;
    let (mut cases, mut evidence) = (Vec::new(), Vec::new());
    for place in Place::ALL {
        let median = |variant| measured?.charged_ping_ms(variant, place);
        let (plain, tls) = (known([PSK, MD5, SIM], median), known(those(Variant::is_tls_based), median));
        let ratios = tls.iter().flat_map(|(slow, slow_ms)| {
            plain.iter().map(move |(fast, fast_ms)| (slow.label, fast.label, slow_ms.per(*fast_ms)))
        });
        let ratios = ratios.collect::<Vec<_>>();
        cases.extend(ratios.iter().map(|(.., ratio)| as_fitted(*ratio, place).is_at_least(SEVERAL)));
        let by_ratio = |one: &&(&str, &str, Doubtful), other: &&(&str, &str, Doubtful)| {
            one.2.value.total_cmp(&other.2.value)
        };
        let extremes = [ratios.iter().min_by(by_ratio), ratios.iter().max_by(by_ratio)];
        evidence.extend(extremes.into_iter().flatten().map(|(slow, fast, ratio)| {
            ratio.evidence(format!("{slow} to {fast} over {}", place.name()), "times")
        }));
    }
    Claim {
        name: "tls-is-several-times-slower",
        claim: "TLS-based methods are several times slower than PSK, MD5 and SIM.",
        source: "§IV-B",
        taken_as: "each takes at least twice as long as each of the three, in both networks; the fit adds ±20 % over WiFi; the closest \
                   and the widest pair are shown",
    }
    .judged(Verdict::of_doubtful(&cases), evidence)
}

fn tls_costs_the_initiator_most(measured: Measured<'_>) -> Finding {
    let cycles = |variant| measured.cycles(variant, "ue");
    let mutual = known([TLS_2_2, TLS_4_4], cycles);
    let others = known(those(|variant| variant.kind != Kind::Mutual), cycles);
    let exceeds_all = |cycles: Doubtful| {
        (!others.is_empty()).then(|| all(others.iter().map(|(_, other)| cycles.exceeds(*other))))?
    };
    let cases = mutual.iter().map(|(_, cycles)| exceeds_all(*cycles)).collect::<Vec<_>>();
    let most = others.iter().max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    let evidence = mutual.iter().chain(most);
    Claim {
        name: "tls-costs-the-initiator-most",
        claim: "The TLS methods are computationally most demanding for the initiator.",
        source: "§IV-C",
        taken_as: "TLS-2-2 and TLS-4-4 each above every other method, of which the greatest is shown",
    }
    .judged(
        Verdict::of_doubtful(&cases),
        evidence.map(|(variant, cycles)| cycles.evidence(variant.label, "Mcycles")).collect(),
    )
}

fn the_responder_pays_for_bytes(measured: Measured<'_>) -> Finding {
    const CLEAR: f64 = 0.9;
    const SOME: f64 = 0.5;
    let correlation = Responder::of(measured).correlation();
    let is_at_least = |limit| correlation.and_then(|coefficient| coefficient.is_at_least(limit));
    let verdict = match (is_at_least(CLEAR), is_at_least(SOME)) {
        (Some(true), _) => Verdict::Holds,
        (_, Some(true)) => Verdict::HoldsInPart,
        (_, Some(false)) => Verdict::DoesNotHold,
        _ => Verdict::CannotBeJudged,
    };
    let evidence = correlation.map(|coefficient| coefficient.evidence("coefficient of correlation", ""));
    Claim {
        name: "the-responder-pays-for-bytes",
        claim: "The computational costs at the responder mainly depend on the number of bytes.",
        source: "§IV-C",
        taken_as: "for the EAP methods, cycles and bytes between device and gateway correlate: from 0.9 on mainly, from 0.5 on in \
                   part; each method's cycles are as uncertain as their interval or the difference of its two networks' rows",
    }
    .judged(verdict, evidence.into_iter().collect())
}

/// A ratio of about 100 is within this factor of it.
const ABOUT: f64 = 3.0;

fn tls_costs_the_server_a_hundredfold(measured: Measured<'_>) -> Finding {
    let cycles = |variant| measured.cycles(variant, "aaa");
    let (few, many) = (known([MD5, SIM], cycles), known(those(Variant::is_tls_based), cycles));
    let means = [&many, &few].map(|known| Doubtful::geometric_mean(&numbers(known)));
    let ratio = means[0].zip(means[1]).map(|(many, few)| many.per(few));
    let evidence = few.iter().chain(&many);
    let evidence = evidence.map(|(variant, cycles)| cycles.evidence(variant.label, "Mcycles"));
    Claim {
        name: "tls-costs-the-server-a-hundredfold",
        claim: "TLS-based methods cost the AAA server typically 100 times what MD5 and SIM do.",
        source: "§IV-C",
        taken_as: "the ratio of the geometric means is 100 within a factor of 3, either way; from 10 on it holds in part",
    }
    .judged(
        hundredfold(ratio),
        evidence.chain(ratio.map(|ratio| ratio.evidence("ratio of the geometric means", "times"))).collect(),
    )
}

/// The verdict on a ratio of about 100 in the paper.
pub(crate) fn hundredfold(ratio: Option<Doubtful>) -> Verdict {
    let Some(ratio) = ratio else { return Verdict::CannotBeJudged };
    match (ratio.is_within_factor(100.0, ABOUT), ratio.is_at_least(10.0)) {
        (Some(true), _) => Verdict::Holds,
        (_, Some(true)) => Verdict::HoldsInPart,
        (_, Some(false)) => Verdict::DoesNotHold,
        _ => Verdict::CannotBeJudged,
    }
}

fn longer_chains_cost_the_server_more(measured: Measured<'_>) -> Finding {
    let cycles = |variant| measured.cycles(variant, "aaa");
    let ratio = cycles(TLS_4_4).zip(cycles(TLS_2_2)).map(|(long, short)| long.per(short));
    Claim {
        name: "longer-chains-cost-the-server-more",
        claim: "TLS-4-4 costs the AAA server moderately more than TLS-2-2.",
        source: "§IV-C",
        taken_as: "more, but less than twice",
    }
    .of_cases(ratio.map(|ratio| {
        let moderately = all([ratio.exceeds(1.0.into()), Doubtful::from(2.0).exceeds(ratio)]);
        (moderately, ratio.evidence("TLS-4-4 to TLS-2-2", "times"))
    }))
}

#[cfg(test)]
mod tests {
    use super::super::example::{Cell, Example, summary};
    use super::*;

    fn findings(cells: &[Cell]) -> Vec<Finding> {
        super::findings(&Example::of(cells).speeds())
    }

    fn verdict(name: &str, cells: &[Cell]) -> Verdict {
        findings(cells).into_iter().find(|finding| finding.name == name).unwrap().verdict
    }

    /// Label, messages, medians over WiFi and UMTS in milliseconds, cycles of ue, gw and aaa in millions.
    const AS_IN_THE_PAPER: [Cell; 7] = [
        Cell("PSK", 4.0, [24.5, 700.0], [10.0, 10.0, 0.0]),
        Cell("MD5", 10.0, [40.0, 1900.0], [12.0, 12.0, 1.0]),
        Cell("SIM", 12.0, [42.0, 2300.0], [13.0, 13.0, 1.0]),
        Cell("TTLS-2-MD5", 18.0, [140.0, 5000.0], [40.0, 18.0, 90.0]),
        Cell("TTLS-4-MD5", 22.0, [150.0, 5400.0], [42.0, 22.0, 90.0]),
        Cell("TLS-2-2", 18.0, [160.0, 5800.0], [90.0, 18.0, 100.0]),
        Cell("TLS-4-4", 26.0, [200.0, 7900.0], [95.0, 26.0, 120.0]),
    ];

    #[test]
    fn numbers_like_the_papers_confirm_it() {
        let findings = findings(&AS_IN_THE_PAPER);
        let others = findings.iter().filter(|finding| finding.verdict != Verdict::Holds);
        assert_eq!(others.map(|finding| finding.name.as_str()).collect::<Vec<_>>(), [""; 0]);
        assert!(findings.iter().all(|finding| !finding.evidence.is_empty()));
    }

    #[test]
    fn without_measurements_nothing_is_judged() {
        let findings = findings(&[]);
        assert!(findings.iter().all(|finding| finding.verdict == Verdict::CannotBeJudged));
    }

    #[test]
    fn without_computation_only_the_messages_are_judged() {
        let mut uncharged = summary(&AS_IN_THE_PAPER);
        uncharged.rows.iter_mut().for_each(|row| row.charged = false);
        let findings = super::findings(&Example::of_summary(uncharged).speeds());
        let judged = findings.iter().filter(|finding| finding.verdict != Verdict::CannotBeJudged);
        let judged = judged.map(|finding| (finding.name.as_str(), finding.verdict)).collect::<Vec<_>>();
        assert_eq!(judged, [("umts-follows-the-messages", Verdict::Holds)]);
    }

    #[test]
    fn each_finding_can_fail() {
        let changed = |change: fn(&mut Cell)| {
            let mut cells = AS_IN_THE_PAPER;
            cells.iter_mut().for_each(change);
            cells
        };
        let fast = changed(|cell| cell.2 = [20.0, 500.0]);
        for name in ["wifi-exceeds-150-ms", "tls-is-several-times-slower", "umts-follows-the-messages"] {
            assert_eq!(verdict(name, &fast), Verdict::DoesNotHold, "{name}");
        }
        let below =
            changed(|cell| cell.2[1] = if cell.0.starts_with("TLS") { 150.0 } else { 200.0 } * cell.1);
        assert_eq!(verdict("tls-is-above-its-rank", &below), Verdict::DoesNotHold);
        let level = changed(|cell| cell.2[1] = 200.0 * cell.1);
        assert_eq!(verdict("tls-is-above-its-rank", &level), Verdict::CannotBeJudged, "on the line");
        let narrow = changed(|cell| cell.2 = [cell.2[0].max(30.0), cell.2[1].min(5500.0)]);
        assert_eq!(verdict("delays-range-from-25-ms-to-6-s", &narrow), Verdict::DoesNotHold);
        let cheap = changed(|cell| cell.3 = [1.0, 30.0 - cell.1, 30.0 - cell.1]);
        for name in [
            "tls-costs-the-initiator-most",
            "the-responder-pays-for-bytes",
            "tls-costs-the-server-a-hundredfold",
            "longer-chains-cost-the-server-more",
        ] {
            assert_eq!(verdict(name, &cheap), Verdict::DoesNotHold, "{name}");
        }
        let slow = changed(|cell| cell.2[0] = 10_000.0);
        assert_eq!(verdict("wifi-is-computation", &slow), Verdict::DoesNotHold);
    }

    #[test]
    fn some_of_the_pairs_hold_in_part() {
        let mut cells = AS_IN_THE_PAPER;
        cells[3].2 = [90.0, 4500.0];
        assert_eq!(verdict("tls-is-several-times-slower", &cells), Verdict::HoldsInPart);
        cells[0].2[1] = 2000.0;
        assert_eq!(verdict("umts-follows-the-messages", &cells), Verdict::HoldsInPart);
        cells.iter_mut().filter(|cell| cell.3[2] > 1.0).for_each(|cell| cell.3[2] = 20.0);
        assert_eq!(verdict("tls-costs-the-server-a-hundredfold", &cells), Verdict::HoldsInPart);
    }
}
