//! What the paper says that its costs are good for, judged.

use keytoll_analysis::simulation::Simulation;

use super::sized::{Server, Sized};
use crate::claim::Claim;
use crate::ikev2_wireless::{MD5, SIM, VARIANTS, Variant};
use crate::{Evidence, Finding, Verdict};

/// Every finding.
pub(super) fn findings(sized: &Sized<'_>) -> Vec<Finding> {
    let claims: [fn(&Sized<'_>) -> Finding; 4] = [
        capacity_is_cost_times_rate,
        tls_needs_a_hundredfold,
        computation_is_cost_by_clock,
        delays_can_be_estimated,
    ];
    claims.into_iter().map(|claim| claim(sized)).collect()
}

/// By how much a computed number may be off: a population of thousands is itself uncertain by a per cent or two.
const CLOSE: f64 = 0.05;

fn is_close(one: f64, other: f64, part: f64) -> bool {
    (one / other - 1.0).abs() <= part
}

fn capacity_is_cost_times_rate(sized: &Sized<'_>) -> Finding {
    let case = |variant: Variant, server: Server| {
        let simulation = sized.simulation(variant)?;
        let [predicted, simulated] = [&simulation.predicted, &simulation.simulated]
            .map(|side| side.utilisation.get(server.node()).copied());
        let (predicted, simulated) = (predicted?, simulated?);
        let what = format!("{} {}, simulated to computed", variant.label, server.name());
        Some((
            Some(is_close(simulated, predicted, CLOSE)),
            Evidence::new(what, simulated / predicted, "times"),
        ))
    };
    let cases = VARIANTS.into_iter().flat_map(|variant| Server::ALL.map(|server| case(variant, server)));
    Claim {
        name: "capacity-is-cost-times-rate",
        claim: "Knowing the costs of one authentication and the arrival rate of re-authentications, the required computational \
                capacity can be calculated.",
        source: "§V",
        taken_as: "cost times rate is within 5 % of how busy each node is if a population of real engines arrives at that rate",
    }
    .of_cases(cases.flatten())
}

fn tls_needs_a_hundredfold(sized: &Sized<'_>) -> Finding {
    let busy = |variant: &Variant| Some(sized.node(*variant, Server::Aaa)?.busy_cores);
    let (few, many): (Vec<Variant>, Vec<Variant>) =
        ([MD5, SIM].to_vec(), VARIANTS.into_iter().filter(|one| one.is_tls_based()).collect());
    let known = |variants: &[Variant]| variants.iter().filter_map(busy).collect::<Vec<_>>();
    let ratio = geometric_mean(&known(&many)).zip(geometric_mean(&known(&few))).map(|(many, few)| many / few);
    let verdict = match ratio {
        None => Verdict::CannotBeJudged,
        Some(ratio) if (30.0..=300.0).contains(&ratio) => Verdict::Holds,
        Some(ratio) if ratio >= 10.0 => Verdict::HoldsInPart,
        Some(_) => Verdict::DoesNotHold,
    };
    let evidence = few.iter().chain(&many).filter_map(|variant| {
        Some(Evidence::new(format!("{}, busy cores", variant.label), busy(variant)?, ""))
    });
    let ratio = ratio.map(|ratio| Evidence::new("ratio of the geometric means", ratio, "times"));
    Claim {
        name: "tls-needs-a-hundredfold",
        claim: "For the dimensioning of AAA servers TLS-based authentications are typically 100 times more demanding.",
        source: "§IV-C",
        taken_as: "the ratio of the geometric means of busy cores, TLS-based methods to MD5 and SIM, is 30 to 300; from 10 on it holds in \
                   part",
    }
    .judged(verdict, evidence.chain(ratio).collect())
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms = values.iter().map(|value| value.ln()).sum::<f64>();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

/// Some computation is beside the delay, such as what follows a last message, and some while another is under way.
const CLOSE_BY_CLOCK: f64 = 0.15;

fn computation_is_cost_by_clock(sized: &Sized<'_>) -> Finding {
    let case = |variant: Variant| {
        let of_nodes = ["ue", "gw", "aaa"].into_iter().filter_map(|node| sized.computed_ms(variant, node));
        let sum = of_nodes.reduce(|one, other| one + other)?;
        let ratio = sized.computation_ms(variant)? / sum;
        let what = format!("{}, in the delay to computed", variant.label);
        Some((Some((ratio - 1.0).abs() <= CLOSE_BY_CLOCK), Evidence::new(what, ratio, "times")))
    };
    Claim {
        name: "computation-is-cost-by-clock",
        claim: "The computation time of an authentication can be estimated by dividing its cost by the frequency of the CPU.",
        source: "§IV-C",
        taken_as: "the sum of all nodes' cycles by their clocks is within 15 % of the time in which nodes compute in the delay over WiFi, \
                   both medians",
    }
    .of_cases(VARIANTS.into_iter().filter_map(case))
}

fn delays_can_be_estimated(sized: &Sized<'_>) -> Finding {
    let delay = |simulation: &Simulation| {
        Some((simulation.predicted.delay_ms?.p50, simulation.simulated.delay_ms?.p50))
    };
    let case = |variant: Variant| {
        let (predicted, simulated) = delay(sized.simulation(variant)?)?;
        let what = format!("{}, simulated to computed", variant.label);
        Some((
            Some(is_close(simulated, predicted, CLOSE)),
            Evidence::new(what, simulated / predicted, "times"),
        ))
    };
    Claim {
        name: "delays-can-be-estimated",
        claim: "Computational times at the nodes help to estimate the delays that users experience.",
        source: "§V",
        taken_as: "with a population at that rate, the median delay is within 5 % of the one without load plus computed waits",
    }
    .of_cases(VARIANTS.into_iter().filter_map(case))
}

#[cfg(test)]
mod tests {
    use super::super::sized::tests::{Example, cells};
    use super::*;

    fn verdicts(example: &Example) -> Vec<Verdict> {
        findings(&example.sized()).into_iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn numbers_like_the_papers_confirm_it() {
        let example = Example::of(&cells());
        assert_eq!(verdicts(&example), [Verdict::Holds; 4]);
        assert!(findings(&example.sized()).iter().all(|finding| !finding.evidence.is_empty()));
    }

    #[test]
    fn without_measurements_nothing_is_judged() {
        assert_eq!(verdicts(&Example::of(&[])), [Verdict::CannotBeJudged; 4]);
    }

    #[test]
    fn each_finding_can_fail() {
        let mut example = Example::of(&cells().map(|mut cell| {
            cell.3[2] = cell.3[2].min(3.0);
            cell
        }));
        for simulation in &mut example.supplement.simulations {
            simulation.simulated.utilisation.values_mut().for_each(|share| *share *= 1.06);
            simulation.simulated.delay_ms.as_mut().unwrap().p50 *= 1.06;
        }
        let [capacity, hundredfold, _, delays] = verdicts(&example)[..] else { panic!("there are four") };
        assert_eq!([capacity, hundredfold, delays], [Verdict::DoesNotHold; 3]);
    }
}
