//! The paper's findings, judged by the measurements. Delays are compared by their medians; if computation took no time, only
//! findings that depend on messages and the network are judged.

use super::measured::Measured;
use super::responder::Responder;
use super::{Kind, MD5, PSK, Place, SIM, TLS_2_2, TLS_4_4, VARIANTS, Variant};
use crate::claim::Claim;
use crate::{Evidence, Finding, Verdict};
use keytoll_analysis::stats::Line;
use keytoll_analysis::summary::Summary;

/// Every finding, in the order of the paper.
pub(super) fn findings(summary: &Summary) -> Vec<Finding> {
    let measured = Measured(summary);
    let claims: [fn(Measured<'_>) -> Finding; 9] = [
        umts_follows_the_messages,
        tls_is_above_its_rank,
        wifi_is_computation,
        wifi_exceeds_150_ms,
        tls_is_several_times_slower,
        tls_costs_the_initiator_most,
        the_responder_pays_for_bytes,
        tls_costs_the_server_a_hundredfold,
        longer_chains_cost_the_server_more,
    ];
    claims.into_iter().map(|claim| claim(measured)).collect()
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

fn umts_follows_the_messages(measured: Measured<'_>) -> Finding {
    let mut delays = known(those(|variant| variant.kind != Kind::Mutual), |variant| {
        Some((measured.ike_messages(variant)?, measured.median_ms(variant, Place::Umts)?))
    });
    delays.sort_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
    let pairs = pairs(&delays).filter(|(fewer, more)| fewer.0 < more.0).collect::<Vec<_>>();
    let in_order = pairs.iter().filter(|(fewer, more)| fewer.1 < more.1).count();
    let named = |(variant, (messages, ms)): &(Variant, (f64, f64))| {
        Evidence::new(format!("{} with {messages:.0} messages", variant.label), *ms, "ms")
    };
    Claim {
        name: "umts-follows-the-messages",
        claim: "Over UMTS the delays are ordered as the numbers of messages, TLS-x-y apart.",
        source: "§IV-B",
        taken_as: "of any two methods, the one with more messages between device and gateway has the longer median",
    }
    .judged(Verdict::of_cases(in_order, pairs.len()), delays.iter().map(named).collect())
}

/// All pairs of values, the earlier one first.
fn pairs<T: Copy>(values: &[(Variant, T)]) -> impl Iterator<Item = (T, T)> {
    values
        .iter()
        .enumerate()
        .flat_map(|(place, (_, one))| values[place + 1..].iter().map(|(_, other)| (*one, *other)))
}

fn tls_is_above_its_rank(measured: Measured<'_>) -> Finding {
    let point =
        |variant| Some((measured.ike_messages(variant)?, measured.charged_median_ms(variant, Place::Umts)?));
    let others = known(those(|variant| variant.kind != Kind::Mutual), point);
    let others = others.into_iter().map(|(_, point)| point).collect::<Vec<_>>();
    let line = if others.len() < 3 { None } else { Line::through(&others) };
    let beyond = |line: Line, (messages, ms): (f64, f64)| ms - line.at(messages);
    let mutual = known([TLS_2_2, TLS_4_4], |variant| {
        let (point, line) = (point(variant)?, line?);
        Some((point.1, beyond(line, point)))
    });
    let scatter = line.map(|line| others.iter().map(|&point| beyond(line, point).abs()).fold(0.0, f64::max));
    let above =
        mutual.iter().filter(|(_, (_, beyond))| scatter.is_some_and(|scatter| *beyond > scatter)).count();
    let evidence = mutual.iter().flat_map(|(variant, (ms, beyond))| {
        let beyond = Evidence::new("above the line", *beyond, "ms");
        [Evidence::new(variant.label, *ms, "ms"), beyond]
    });
    let scatter = scatter.map(|scatter| Evidence::new("greatest distance of another method", scatter, "ms"));
    Claim {
        name: "tls-is-above-its-rank",
        claim: "Over UMTS TLS-2-2 and TLS-4-4 take longer than their numbers of messages let expect.",
        source: "§IV-B",
        taken_as: "above a straight line of median delay over messages through the other methods, by more than any of \
                   these is off it",
    }
    .judged(Verdict::of_cases(above, mutual.len()), evidence.chain(scatter).collect())
}

fn wifi_is_computation(measured: Measured<'_>) -> Finding {
    const CONSIDERABLE: f64 = 0.25;
    let share = |variant, place| {
        let row = measured.charged_row(variant, place)?;
        Some(row.delay_split_ms.as_ref()?.computation / row.delay_ms?.p50)
    };
    let shares = known(those(Variant::is_tls_based), |variant| share(variant, Place::Wifi));
    let considerable = shares.iter().filter(|(_, share)| *share >= CONSIDERABLE).count();
    let of = |place: Place| {
        move |(variant, share): (Variant, f64)| {
            Evidence::new(format!("{} over {}", variant.label, place.name()), 100.0 * share, "%")
        }
    };
    let beside = known([TLS_4_4], |variant| share(variant, Place::Umts));
    let verdict = Verdict::of_cases(considerable, shares.len());
    let evidence = shares.into_iter().map(of(Place::Wifi)).chain(beside.into_iter().map(of(Place::Umts)));
    Claim {
        name: "wifi-is-computation",
        claim: "Over WiFi computation contributes considerably to the delay.",
        source: "§IV-B",
        taken_as: "for TLS-based methods, a quarter of the median or more",
    }
    .judged(verdict, evidence.collect())
}

fn wifi_exceeds_150_ms(measured: Measured<'_>) -> Finding {
    const LIMIT_MS: f64 = 150.0;
    let mut delays = known(VARIANTS, |variant| measured.charged_median_ms(variant, Place::Wifi));
    delays.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let some_exceed = delays.first().map(|(_, ms)| *ms > LIMIT_MS);
    let verdict = match some_exceed {
        None => Verdict::CannotBeJudged,
        Some(true) => Verdict::Holds,
        Some(false) => Verdict::DoesNotHold,
    };
    let exceeding = delays.iter().filter(|(_, ms)| *ms > LIMIT_MS).count().max(1);
    let evidence = delays.iter().take(exceeding);
    Claim {
        name: "wifi-exceeds-150-ms",
        claim: "Already over WiFi certain methods take more than 150 ms.",
        source: "§IV-B",
        taken_as: "the median of at least one method",
    }
    .judged(verdict, evidence.map(|(variant, ms)| Evidence::new(variant.label, *ms, "ms")).collect())
}

fn tls_is_several_times_slower(measured: Measured<'_>) -> Finding {
    const SEVERAL: f64 = 2.0;
    let (mut several, mut all, mut evidence) = (0, 0, Vec::new());
    for place in Place::ALL {
        let median = |variant| measured.charged_median_ms(variant, place);
        let (plain, tls) = (known([PSK, MD5, SIM], median), known(those(Variant::is_tls_based), median));
        let ratios = tls.iter().flat_map(|(slow, slow_ms)| {
            plain.iter().map(move |(fast, fast_ms)| (slow.label, fast.label, slow_ms / fast_ms))
        });
        let ratios = ratios.collect::<Vec<_>>();
        several += ratios.iter().filter(|(.., ratio)| *ratio >= SEVERAL).count();
        all += ratios.len();
        let by_ratio = |one: &&(&str, &str, f64), other: &&(&str, &str, f64)| one.2.total_cmp(&other.2);
        let extremes = [ratios.iter().min_by(by_ratio), ratios.iter().max_by(by_ratio)];
        evidence.extend(extremes.into_iter().flatten().map(|(slow, fast, ratio)| {
            Evidence::new(format!("{slow} to {fast} over {}", place.name()), *ratio, "times")
        }));
    }
    Claim {
        name: "tls-is-several-times-slower",
        claim: "TLS-based methods are several times slower than PSK, MD5 and SIM.",
        source: "§IV-B",
        taken_as: "each at least twice as slow as each of the three, in both networks; the closest and the widest pair",
    }
    .judged(Verdict::of_cases(several, all), evidence)
}

fn tls_costs_the_initiator_most(measured: Measured<'_>) -> Finding {
    let cycles = |variant| Some(measured.megacycles(variant, "ue")?.value);
    let mutual = known([TLS_2_2, TLS_4_4], cycles);
    let others = known(those(|variant| variant.kind != Kind::Mutual), cycles);
    let most = others.iter().max_by(|(_, one), (_, other)| one.total_cmp(other)).copied();
    let above = mutual.iter().filter(|(_, cycles)| most.is_some_and(|(_, most)| *cycles > most)).count();
    let all = if most.is_some() { mutual.len() } else { 0 };
    let evidence = mutual.iter().copied().chain(most);
    let evidence = evidence.map(|(variant, cycles)| Evidence::new(variant.label, cycles, "Mcycles"));
    Claim {
        name: "tls-costs-the-initiator-most",
        claim: "The TLS methods are computationally most demanding for the initiator.",
        source: "§IV-C",
        taken_as: "TLS-2-2 and TLS-4-4 each above every other method, of which the greatest is shown",
    }
    .judged(Verdict::of_cases(above, all), evidence.collect())
}

fn the_responder_pays_for_bytes(measured: Measured<'_>) -> Finding {
    const CLEAR: f64 = 0.9;
    const SOME: f64 = 0.5;
    let responder = Responder::of(measured);
    let verdict = match responder.correlation() {
        None => Verdict::CannotBeJudged,
        Some(clear) if clear >= CLEAR => Verdict::Holds,
        Some(some) if some >= SOME => Verdict::HoldsInPart,
        Some(_) => Verdict::DoesNotHold,
    };
    Claim {
        name: "the-responder-pays-for-bytes",
        claim: "The computational costs at the responder mainly depend on the number of bytes.",
        source: "§IV-C",
        taken_as: "for the EAP methods, cycles and bytes between device and gateway correlate: from 0.9 on mainly, from 0.5 on in \
                   part; judged if the methods differ by twice what is in doubt, the widest interval or what the rows of the \
                   two networks differ by",
    }
    .judged(verdict, responder.evidence())
}

fn tls_costs_the_server_a_hundredfold(measured: Measured<'_>) -> Finding {
    let cycles = |variant| Some(measured.megacycles(variant, "aaa")?.value);
    let (few, many) = (known([MD5, SIM], cycles), known(those(Variant::is_tls_based), cycles));
    let ratio = geometric_mean(&many).zip(geometric_mean(&few)).map(|(many, few)| many / few);
    let verdict = match ratio {
        None => Verdict::CannotBeJudged,
        Some(ratio) if (30.0..=300.0).contains(&ratio) => Verdict::Holds,
        Some(ratio) if ratio >= 10.0 => Verdict::HoldsInPart,
        Some(_) => Verdict::DoesNotHold,
    };
    let evidence = few.iter().chain(&many);
    let evidence = evidence.map(|(variant, cycles)| Evidence::new(variant.label, *cycles, "Mcycles"));
    let ratio = ratio.map(|ratio| Evidence::new("ratio of the geometric means", ratio, "times"));
    Claim {
        name: "tls-costs-the-server-a-hundredfold",
        claim: "TLS-based methods cost the AAA server typically 100 times what MD5 and SIM do.",
        source: "§IV-C",
        taken_as: "the ratio of the geometric means is 30 to 300; from 10 on it holds in part",
    }
    .judged(verdict, evidence.chain(ratio).collect())
}

fn geometric_mean(values: &[(Variant, f64)]) -> Option<f64> {
    let logarithms = values.iter().map(|(_, value)| value.ln()).sum::<f64>();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

fn longer_chains_cost_the_server_more(measured: Measured<'_>) -> Finding {
    let cycles = |variant| measured.megacycles(variant, "aaa").map(|figure| figure.value);
    let ratio = cycles(TLS_4_4).zip(cycles(TLS_2_2)).map(|(long, short)| long / short);
    let verdict = match ratio {
        None => Verdict::CannotBeJudged,
        Some(ratio) if ratio > 1.0 && ratio < 2.0 => Verdict::Holds,
        Some(_) => Verdict::DoesNotHold,
    };
    let evidence = ratio.map(|ratio| Evidence::new("TLS-4-4 to TLS-2-2", ratio, "times"));
    Claim {
        name: "longer-chains-cost-the-server-more",
        claim: "TLS-4-4 costs the AAA server moderately more than TLS-2-2.",
        source: "§IV-C",
        taken_as: "more, but less than twice",
    }
    .judged(verdict, evidence.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::super::example::{Cell, summary};
    use super::*;

    fn verdict(name: &str, cells: &[Cell]) -> Verdict {
        let findings = findings(&summary(cells));
        findings.into_iter().find(|finding| finding.name == name).unwrap().verdict
    }

    /// Label, messages, medians over WiFi and UMTS in milliseconds, cycles of ue, gw and aaa in millions.
    const AS_IN_THE_PAPER: [Cell; 7] = [
        Cell("PSK", 4.0, [25.0, 700.0], [10.0, 10.0, 0.0]),
        Cell("MD5", 10.0, [40.0, 1900.0], [12.0, 12.0, 1.0]),
        Cell("SIM", 12.0, [50.0, 2300.0], [13.0, 13.0, 1.0]),
        Cell("TTLS-2-MD5", 18.0, [110.0, 5000.0], [40.0, 18.0, 90.0]),
        Cell("TTLS-4-MD5", 22.0, [130.0, 5400.0], [42.0, 22.0, 90.0]),
        Cell("TLS-2-2", 18.0, [140.0, 5800.0], [90.0, 18.0, 100.0]),
        Cell("TLS-4-4", 26.0, [170.0, 7900.0], [95.0, 26.0, 120.0]),
    ];

    #[test]
    fn numbers_like_the_papers_confirm_it() {
        let findings = findings(&summary(&AS_IN_THE_PAPER));
        let others = findings.iter().filter(|finding| finding.verdict != Verdict::Holds);
        assert_eq!(others.map(|finding| finding.name.as_str()).collect::<Vec<_>>(), [""; 0]);
        assert!(findings.iter().all(|finding| !finding.evidence.is_empty()));
    }

    #[test]
    fn without_measurements_nothing_is_judged() {
        let findings = findings(&summary(&[]));
        assert!(findings.iter().all(|finding| finding.verdict == Verdict::CannotBeJudged));
    }

    #[test]
    fn without_computation_only_the_messages_are_judged() {
        let mut uncharged = summary(&AS_IN_THE_PAPER);
        uncharged.rows.iter_mut().for_each(|row| row.charged = false);
        let findings = findings(&uncharged);
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
        let level = changed(|cell| cell.2[1] = 200.0 * cell.1);
        assert_eq!(verdict("tls-is-above-its-rank", &level), Verdict::DoesNotHold);
        let cheap = changed(|cell| cell.3 = [1.0, 30.0 - cell.1, 1.0]);
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
