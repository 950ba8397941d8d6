//! What the paper says that its costs are good for, judged.

use keytoll_analysis::simulation::{Percentiles, Simulation};

use super::sized::{Server, Sized};
use crate::Finding;
use crate::claim::Claim;
use crate::doubtful::Doubtful;
use crate::ikev2_wireless::findings::hundredfold;
use crate::ikev2_wireless::{MD5, SIM, VARIANTS, Variant};

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

/// By how much a computed number may be off.
const CLOSE: f64 = 0.05;

/// The quantile of the normal distribution at 97.5 %.
const NORMAL_975: f64 = 1.96;

/// A mean of so many simulated authentications, as if their work had a coefficient of variation of 1, which is more than it has.
fn simulated_mean(value: f64, devices: u64) -> Doubtful {
    Doubtful::from(value).widened(NORMAL_975 * value / (devices.max(1) as f64).sqrt())
}

/// The median of so many delays. Its standard error is √(π/2) σ ÷ √n for a normal distribution; σ is the distance of the 95th percentile
/// from the median, over 1.645.
fn simulated_median(delay: Percentiles, devices: u64) -> Doubtful {
    let stddev = (delay.p95 - delay.p50) / 1.645;
    let error = std::f64::consts::FRAC_PI_2.sqrt() * stddev / (devices.max(1) as f64).sqrt();
    Doubtful::from(delay.p50).widened(NORMAL_975 * error)
}

fn capacity_is_cost_times_rate(sized: &Sized<'_>) -> Finding {
    let case = |variant: Variant, server: Server| {
        let simulation = sized.simulation(variant)?;
        let [predicted, simulated] = [&simulation.predicted, &simulation.simulated]
            .map(|side| side.utilisation.get(server.node()).copied());
        let ratio = simulated_mean(simulated?, simulation.devices).per(predicted?.into());
        let what = format!("{} {}, simulated to computed", variant.label, server.name());
        Some((ratio.is_near(1.0, CLOSE), ratio.evidence(what, "times")))
    };
    let cases = VARIANTS.into_iter().flat_map(|variant| Server::ALL.map(|server| case(variant, server)));
    Claim {
        name: "capacity-is-cost-times-rate",
        claim: "Knowing the costs of one authentication and the arrival rate of re-authentications, the required computational \
                capacity can be calculated.",
        source: "§V",
        taken_as: "cost times rate is within 5 % of each node's utilisation by a population of real engines that arrives at that rate; the \
                   population's mean has the relative uncertainty 1.96/√n",
    }
    .of_cases(cases.flatten())
}

fn tls_needs_a_hundredfold(sized: &Sized<'_>) -> Finding {
    let busy = |variant: &Variant| Some((*variant, sized.busy_cores(*variant, Server::Aaa)?));
    let known = |variants: &[Variant]| variants.iter().filter_map(busy).collect::<Vec<_>>();
    let tls_based: Vec<Variant> = VARIANTS.into_iter().filter(|one| one.is_tls_based()).collect();
    let (few, many) = (known(&[MD5, SIM]), known(&tls_based));
    let mean = |known: &[(Variant, Doubtful)]| {
        Doubtful::geometric_mean(&known.iter().map(|(_, cores)| *cores).collect::<Vec<_>>())
    };
    let ratio = mean(&many).zip(mean(&few)).map(|(many, few)| many.per(few));
    let evidence = few.iter().chain(&many);
    let evidence =
        evidence.map(|(variant, cores)| cores.evidence(format!("{}, busy cores", variant.label), ""));
    Claim {
        name: "tls-needs-a-hundredfold",
        claim: "For the dimensioning of AAA servers TLS-based authentications are typically 100 times more demanding.",
        source: "§IV-C",
        taken_as: "the ratio of the geometric means of busy cores, TLS-based methods to MD5 and SIM, is 100 within a factor of 3, either \
                   way; from 10 on it holds in part",
    }
    .judged(
        hundredfold(ratio),
        evidence.chain(ratio.map(|ratio| ratio.evidence("ratio of the geometric means", "times"))).collect(),
    )
}

/// Some computation is beside the delay, such as what follows a last message, and some while another is under way.
const CLOSE_BY_CLOCK: f64 = 0.15;

fn computation_is_cost_by_clock(sized: &Sized<'_>) -> Finding {
    let case = |variant: Variant| {
        let of_nodes = ["ue", "gw", "aaa"].into_iter().filter_map(|node| sized.computed(variant, node));
        let sum = of_nodes.reduce(Doubtful::plus)?;
        let ratio = Doubtful::from(sized.computation_ms(variant)?).per(sum);
        let what = format!("{}, in the delay to computed", variant.label);
        Some((ratio.is_near(1.0, CLOSE_BY_CLOCK), ratio.evidence(what, "times")))
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
    let ratio = |simulation: &Simulation| {
        let (predicted, simulated) = (simulation.predicted.delay_ms?, simulation.simulated.delay_ms?);
        Some(simulated_median(simulated, simulation.devices).per(predicted.p50.into()))
    };
    let case = |variant: Variant| {
        let ratio = ratio(sized.simulation(variant)?)?;
        let what = format!("{}, simulated to computed", variant.label);
        Some((ratio.is_near(1.0, CLOSE), ratio.evidence(what, "times")))
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
    use crate::Verdict;

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
            simulation.simulated.utilisation.values_mut().for_each(|share| *share *= 1.08);
            simulation.simulated.delay_ms.as_mut().unwrap().p50 *= 1.08;
        }
        let [capacity, hundredfold, _, delays] = verdicts(&example)[..] else { panic!("there are four") };
        assert_eq!([capacity, hundredfold, delays], [Verdict::DoesNotHold; 3]);
    }
}
