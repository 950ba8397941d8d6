//! The claims of the slides' second half, judged. Its figures are not at hand, so what it says of them in words is judged, and the order
//! and the ends of its figures are compared with what follows from the printed numbers.

use keytoll_ranking::Ranking;
use keytoll_ranking::outcome::{Ranked, Weight};

use super::ranked::{self, Rankings, best_at_last, label, mean_grade, nearest, of_performance, place, sweep};
use super::{MAINS, VARIED, WEIGHTS_OF, published};
use crate::claim::Claim;
use crate::doubtful::Doubtful;
use crate::hip_dex_aka::{DEX_AKA, EAP_AKA, METHODS, Method};
use crate::{Basis, Evidence, Finding, Verdict};

/// Every finding, in the order of the slides.
pub(super) fn findings(rankings: &Rankings) -> Vec<Finding> {
    let claims: [fn(&Rankings) -> Finding; 8] = [
        weights_follow_from_the_experts,
        grades_are_those_of_the_slides,
        the_order_is_that_of_the_slides,
        weights_are_near_a_change,
        more_weight_favours_the_same,
        dex_aka_is_competitive,
        dex_aka_gains_in_performance,
        dex_aka_is_weaker_in_security,
    ];
    claims.into_iter().map(|claim| claim(rankings)).collect()
}

fn weights_follow_from_the_experts(rankings: &Rankings) -> Finding {
    let weights = rankings.paper.opinions.first().map(|opinion| &opinion.weights);
    let case = |main: &str| {
        let (found, printed) = (WEIGHTS_OF * weights?.get(main)?, published::weight(main)?.value);
        Some((Some((found - printed).abs() < 0.5), Evidence::new(main, found, "of 10 000")))
    };
    Claim {
        name: "weights-follow-from-the-experts",
        claim: "The opinions of seven decision makers make the weights 0.3075, 0.207, 0.2785 and 0.207.",
        source: "slide \"Weight assignment\"",
        taken_as: "least squares of logarithms, each gradation the factor 2, rounds to these; no run decides it, and the judgements of \
                   three experts were derived from the weights, so that the method is confirmed and they are not",
    }
    .of_cases(MAINS.into_iter().filter_map(case))
}

/// The input of findings on this run's performance.
const FITTED: &str =
    "delays on CPUs fitted to EAP-AKA's printed cycles, over access networks fitted to the delays of DEX";

/// Whole grades are the same if they differ by less.
const SAME_GRADE: f64 = 0.25;

/// Grades of performance that follow without assumptions, EAP-AKA's left out, which are 0 by definition.
fn grades_are_those_of_the_slides(rankings: &Rankings) -> Finding {
    let case = |ours: &Weight, theirs: &Weight, method: Method| {
        let from = ranked::origin(theirs, method)?;
        let is_told = from.basis != Basis::Reconstructed && (method != EAP_AKA || theirs.name == "delay");
        let there = ranked::grade(theirs, method)?;
        let here = rankings.number(|ranking| {
            ranked::grade(of_performance(ranking).find(|criterion| criterion.name == ours.name)?, method)
        })?;
        let is_same = here.is_near(there, SAME_GRADE);
        let what = if is_same == Some(true) { String::new() } else { format!(" ({there} by the slides)") };
        is_told.then(|| (is_same, here.evidence(format!("{} {}{what}", method.label, ours.name), "")))
    };
    let pairs = rankings
        .judged()
        .into_iter()
        .flat_map(|ranking| of_performance(ranking).zip(of_performance(&rankings.paper)));
    let cases = pairs.flat_map(|(ours, theirs)| METHODS.map(|method| case(ours, theirs, method)));
    Claim {
        name: "performance-grades-are-those-of-the-slides",
        claim: "The measured performance has the grades that follow from the slides' measurements.",
        source: "slide \"Performance grade assignment\", with delays, cycles and memory of the first half",
        taken_as: "the same grade, for each that follows from printed numbers without assumptions; delays on fitted CPUs",
    }
    .of_cases(cases.flatten())
    .resting_on(FITTED)
}

fn the_order_is_that_of_the_slides(rankings: &Rankings) -> Finding {
    let theirs: Vec<&Ranked> = rankings.paper.alternatives.iter().collect();
    let pairs = theirs.iter().enumerate().flat_map(|(place, first)| {
        theirs[place + 1..].iter().map(move |second| (first.name.as_str(), second.name.as_str()))
    });
    let utility = |ranking: &Ranking, name: &str| {
        ranking.alternatives.iter().find(|one| one.name == name).map(|one| one.utility)
    };
    let case = |(first, second): (&str, &str)| {
        let lead = rankings.number(|ours| Some(utility(ours, first)? - utility(ours, second)?))?;
        let what = format!("{} before {}, by steps", label(first), label(second));
        Some((lead.exceeds(0.0.into()), lead.evidence(what, "")))
    };
    Claim {
        name: "the-order-is-that-of-the-slides",
        claim: "The order is DEX-AKA, DEX, BEX, PSK, EAP-AKA, EAP-TLS.",
        source: "figures of the suitability analysis, which are not at hand: it is what the printed weights, grades and rules make of \
                 the slides' values",
        taken_as: "of any two methods the same is before the other, whichever values within their intervals the measurements have",
    }
    .of_cases(pairs.filter_map(case))
    .resting_on(FITTED)
}

/// This near to a weight is near: the weights are printed as the result of gradations, of which one changes them by more.
pub(super) const NEAR: f64 = 0.05;

/// How far the nearest change of places is from a weight.
pub(super) fn distance(ranking: &Ranking, main: &str) -> Option<f64> {
    let sweep = sweep(ranking, main)?;
    Some((nearest(sweep)?.at - sweep.weight).abs())
}

fn weights_are_near_a_change(rankings: &Rankings) -> Finding {
    let known = |main: &str| {
        let change = nearest(sweep(rankings.judged()?, main)?)?;
        let away = rankings.number(|ranking| distance(ranking, main))?;
        let what = format!("{main}: from {} to {}, away by", label(&change.below), label(&change.above));
        Some((away.is_at_most(NEAR), away.evidence(what, "")))
    };
    let by_paper = |main: &str| {
        let away = Doubtful::from(distance(&rankings.paper, main)?);
        Some(away.evidence(format!("{main} by the slides' values, away by"), ""))
    };
    let (cases, evidence): (Vec<_>, Vec<_>) = VARIED.into_iter().filter_map(known).unzip();
    let beside = VARIED.into_iter().filter_map(by_paper).filter(|_| !cases.is_empty());
    Claim {
        name: "weights-are-near-a-change",
        claim: "The weights obtained from the opinions are near to weight allocations where the order of the methods changes.",
        source: "slide \"Conclusions\" of the suitability analysis",
        taken_as: "in each of the three figures places change within 0.05 of the weight, by this run's performance; the distances by \
                   the slides' values are shown and decide nothing",
    }
    .judged(Verdict::of_doubtful(&cases), evidence.into_iter().chain(beside).collect())
    .resting_on(FITTED)
}

fn more_weight_favours_the_same(rankings: &Rankings) -> Finding {
    let case = |main: &str| {
        let (ours, from) = best_at_last(sweep(rankings.judged()?, main)?)?;
        let (theirs, _) = best_at_last(sweep(&rankings.paper, main)?)?;
        let names = ours.iter().map(|name| label(name)).collect::<Vec<_>>().join(" and ");
        let is_same = rankings.is(|ranking| Some(best_at_last(sweep(ranking, main)?)?.0 == theirs));
        Some((is_same, Evidence::new(format!("{main}: {names} from"), from, "")))
    };
    Claim {
        name: "more-weight-favours-the-same",
        claim: "With all the weight on performance DEX is the best, on deployment EAP-AKA, on security EAP-AKA and EAP-TLS.",
        source: "slides \"Sensitivity analysis\", whose figures are not at hand: it follows from the printed numbers",
        taken_as: "the same at the right end of each figure, and from which weight on",
    }
    .of_cases(VARIED.into_iter().filter_map(case))
    .resting_on(FITTED)
}

fn dex_aka_is_competitive(rankings: &Rankings) -> Finding {
    let lead = |ranking: &Ranking| Some(place(ranking, DEX_AKA)?.utility - place(ranking, EAP_AKA)?.utility);
    let rank = |ranking: &Ranking| Some(place(ranking, DEX_AKA)?.rank as f64);
    let (lead, rank) = (rankings.number(lead), rankings.number(rank));
    let cases = [lead.map(|lead| lead.exceeds(0.0.into())), rank.map(|rank| rank.is_at_most(3.0))];
    let drawn = rankings.judged().and_then(first_places);
    let evidence = [
        lead.map(|lead| lead.evidence("DEX-AKA before EAP-AKA, by steps", "")),
        rank.map(|rank| rank.evidence("place of DEX-AKA", "")),
        drawn.map(|part| Evidence::new("DEX-AKA the best in draws of weights and grades", 100.0 * part, "%")),
    ];
    Claim {
        name: "dex-aka-is-competitive",
        claim: "HIP DEX-AKA is competitive with the other methods, such as EAP-AKA, which is recommended today.",
        source: "slide \"Conclusions\" of the suitability analysis",
        taken_as: "it is before EAP-AKA and among the first three of six; how often it is the best if weights and grades are as uncertain \
                   as half a gradation is shown and decides nothing",
    }
    .judged(
        Verdict::of_doubtful(&cases.into_iter().flatten().collect::<Vec<_>>()),
        evidence.into_iter().flatten().collect(),
    )
    .resting_on(FITTED)
}

/// How often DEX-AKA is the best if weights and grades are drawn.
fn first_places(ranking: &Ranking) -> Option<f64> {
    let drawn = ranking.acceptability.first()?;
    let of = drawn.alternatives.iter().find(|one| one.name == ranked::name(DEX_AKA))?;
    of.ranks.first().copied()
}

fn dex_aka_gains_in_performance(rankings: &Rankings) -> Finding {
    let mean = |ranking: &Ranking, method| mean_grade(ranking, "performance", method);
    let gain = rankings.number(|ranking| Some(mean(ranking, DEX_AKA)? - mean(ranking, EAP_AKA)?));
    let case =
        |gain: Doubtful| (gain.is_at_least(1.0), gain.evidence("DEX-AKA over EAP-AKA, in mean grades", ""));
    Claim {
        name: "dex-aka-gains-in-performance",
        claim: "HIP DEX-AKA achieves significant gains in terms of performance.",
        source: "slide \"Conclusions\" of the suitability analysis",
        taken_as: "its grades of performance are better than EAP-AKA's by one on average, which is the factor 2",
    }
    .of_cases(gain.map(case))
    .resting_on(FITTED)
}

fn dex_aka_is_weaker_in_security(rankings: &Rankings) -> Finding {
    let behind = |main| {
        let mean = |method| mean_grade(&rankings.paper, main, method);
        Some(mean(EAP_AKA)? - mean(DEX_AKA)?)
    };
    let security = behind("security").map(|steps| {
        (
            Some(steps > 0.0 && steps < 1.0),
            Evidence::new("security, EAP-AKA over DEX-AKA in mean grades", steps, ""),
        )
    });
    let deployment = behind("deployment").map(|steps| {
        (Some(steps > 0.0), Evidence::new("deployment, EAP-AKA over DEX-AKA in mean grades", steps, ""))
    });
    Claim {
        name: "dex-aka-is-weaker-in-security",
        claim: "HIP DEX-AKA has slightly weaker security than EAP-AKA and high deployment cost.",
        source: "slide \"Conclusions\" of the suitability analysis",
        taken_as: "by the printed grades, so no run decides it: less security by under a grade on average, and a lower grade of deployment",
    }
    .of_cases(security.into_iter().chain(deployment))
}

#[cfg(test)]
mod tests {
    use super::super::ranked::tests::{as_printed, nothing, with_doubt};
    use super::*;

    fn verdicts(rankings: &Rankings) -> Vec<(String, Verdict)> {
        findings(rankings).into_iter().map(|finding| (finding.name, finding.verdict)).collect()
    }

    #[test]
    fn the_claimed_order_is_what_follows_from_the_slides() {
        let order = as_printed().paper.alternatives.iter().map(|one| label(&one.name)).collect::<Vec<_>>();
        assert_eq!(order, ["DEX-AKA", "DEX", "BEX", "PSK", "EAP-AKA", "EAP-TLS"]);
        let at_last = VARIED.map(|main| best_at_last(sweep(&as_printed().paper, main).unwrap()).unwrap().0);
        assert_eq!(at_last, [vec!["dex"], vec!["eap-aka"], vec!["eap-aka", "eap-tls"]]);
    }

    #[test]
    fn the_slides_numbers_confirm_all_but_that_every_weight_is_near_a_change() {
        let others = verdicts(&as_printed()).into_iter().filter(|(_, verdict)| *verdict != Verdict::Holds);
        let near = ("weights-are-near-a-change".to_owned(), Verdict::HoldsInPart);
        assert_eq!(others.collect::<Vec<_>>(), [near]);
        assert!(findings(&as_printed()).iter().all(|finding| !finding.evidence.is_empty()));
    }

    #[test]
    fn places_that_measurements_can_change_are_not_judged() {
        let order = |rankings: &Rankings| {
            verdicts(rankings)
                .into_iter()
                .find(|(name, _)| name == "the-order-is-that-of-the-slides")
                .unwrap()
                .1
        };
        assert_eq!([order(&as_printed()), order(&with_doubt())], [Verdict::Holds, Verdict::HoldsInPart]);
    }

    #[test]
    fn without_a_run_only_arithmetic_is_judged() {
        let judged =
            verdicts(&nothing()).into_iter().filter(|(_, verdict)| *verdict != Verdict::CannotBeJudged);
        let names = judged.map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names, ["weights-follow-from-the-experts", "dex-aka-is-weaker-in-security"]);
    }
}
