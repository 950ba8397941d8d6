//! Table 1: the time of a key exchange with each group. "One pair key exchange generation" may mean the generation of a key
//! pair, or of a key pair and the shared secret; both are shown, with exponents of both lengths.

use keytoll_trace::primitive::Timings;

use super::published;
use crate::claim::Claim;
use crate::doubtful::{Doubtful, all};
use crate::{Basis, Evidence, Figure, Finding, Line, Table, Verdict};
use keytoll_analysis::primitives::{PrimitiveCost, summarise};

/// The possible meanings of "one pair key exchange generation".
const READINGS: [(&str, &str); 2] =
    [("generate", "a key pair generated"), ("exchange", "a key pair generated and the secret agreed on")];

/// Lengths of private exponents.
const LENGTHS: [&str; 2] = ["full", "short"];

/// Table 1, once for each reading.
pub(super) fn tables(timings: &Timings) -> Vec<Table> {
    let measured = summarise(timings).primitives;
    READINGS.iter().map(|(operation, what)| table(&measured, operation, what)).collect()
}

fn table(measured: &[PrimitiveCost], operation: &str, what: &str) -> Table {
    let of_operation: Vec<&PrimitiveCost> =
        measured.iter().filter(|cost| cost.operation == operation).collect();
    let mut lines = Vec::new();
    for (index, cost) in of_operation.iter().enumerate() {
        lines.push(line(cost));
        let is_last = of_operation.get(index + 1).is_none_or(|next| next.algorithm != cost.algorithm);
        if let (true, Some(paper)) = (is_last, published::exchange_us(&cost.algorithm)) {
            // The paper has no median.
            let cells = std::iter::once(None).chain(paper.map(Some)).collect();
            lines.push(Line { label: format!("  {}, paper", cost.algorithm), cells });
        }
    }
    Table {
        title: format!("Table 1: {what}, in µs; behind MODP the bits of the exponent"),
        unit: "µs".to_owned(),
        columns: ["median", "mean", "min", "max", "stddev"].map(str::to_owned).to_vec(),
        lines,
    }
}

fn line(cost: &PrimitiveCost) -> Line {
    let measured = |ns: f64| Figure::of_run(Basis::Measured, ns / 1000.0, None);
    let bits = cost.exponent_bits.map_or_else(String::new, |bits| format!(" {bits}"));
    Line {
        label: format!("{}{bits} {}", cost.algorithm, cost.standing).trim_end().to_owned(),
        cells: vec![
            Some(Figure::of_median(cost.median().times(1e-3))),
            Some(measured(cost.mean_ns)),
            Some(measured(cost.min_ns)),
            Some(measured(cost.max_ns)),
            cost.stddev_ns.map(measured),
        ],
    }
}

/// The paper's conclusions from it.
pub(super) fn findings(timings: &Timings) -> Vec<Finding> {
    let measured = summarise(timings).primitives;
    vec![order(&measured), larger_is_slower(&measured), steady(&measured)]
}

/// The cost of a group; ECP groups have no exponents.
fn cost<'a>(
    measured: &'a [PrimitiveCost],
    operation: &str,
    group: &str,
    length: &str,
) -> Option<&'a PrimitiveCost> {
    measured.iter().find(|cost| {
        cost.operation == operation
            && cost.algorithm == group
            && cost.exponents.as_deref().is_none_or(|exponents| exponents == length)
    })
}

/// One case for each meaning and length of exponents: the costs of some groups.
fn cases<'a, const N: usize>(
    measured: &'a [PrimitiveCost],
    groups: [&str; N],
) -> Vec<(String, [&'a PrimitiveCost; N])> {
    let case = |(operation, length): (&'static str, &'static str)| {
        let found: Vec<_> =
            groups.iter().filter_map(|group| cost(measured, operation, group, length)).collect();
        Some((format!("{operation}, {length} exponents"), found.try_into().ok()?))
    };
    let all = READINGS.iter().flat_map(|(operation, _)| LENGTHS.map(|length| (*operation, length)));
    all.filter_map(case).collect()
}

fn micro(name: &str, costs: &[&PrimitiveCost]) -> Vec<Evidence> {
    let one = |cost: &&PrimitiveCost| {
        Doubtful::from(cost.median()).times(1e-3).evidence(format!("{name}: {}", cost.algorithm), "µs")
    };
    costs.iter().map(one).collect()
}

fn verdict<const N: usize>(
    cases: &[(String, [&PrimitiveCost; N])],
    holds: impl Fn(&[&PrimitiveCost; N]) -> Option<bool>,
) -> Verdict {
    Verdict::of_doubtful(&cases.iter().map(|(_, costs)| holds(costs)).collect::<Vec<_>>())
}

/// Whether one takes longer than another; `None` if their intervals overlap.
fn is_slower(one: &PrimitiveCost, other: &PrimitiveCost) -> Option<bool> {
    Doubtful::from(one.median()).exceeds(other.median().into())
}

fn order(measured: &[PrimitiveCost]) -> Finding {
    let cases = cases(measured, ["ecp384", "modp1024", "modp3072"]);
    let rises = |[a, b, c]: &[&PrimitiveCost; 3]| all([is_slower(b, a), is_slower(c, b)]);
    let evidence = cases.iter().flat_map(|(name, costs)| micro(name, costs)).collect();
    let claim = Claim {
        name: "ecp384-is-fastest",
        claim: "ecp384 takes the shortest time, followed by modp1024, and modp3072 comes last.",
        source: "§4.1, Table 1",
        taken_as: "the medians are in this order and their 95 % intervals apart, for both readings of the table and both lengths of exponents",
    };
    claim.judged(verdict(&cases, rises), evidence)
}

fn larger_is_slower(measured: &[PrimitiveCost]) -> Finding {
    let cases = cases(measured, ["modp1024", "modp3072"]);
    let ratio = |(name, [small, large]): &(String, [&PrimitiveCost; 2])| {
        let ratio = Doubtful::from(large.median()).per(small.median().into());
        ratio.evidence(format!("{name}: modp3072 ÷ modp1024"), "")
    };
    let evidence = cases.iter().map(ratio).collect();
    let claim = Claim {
        name: "larger-is-slower",
        claim: "modp1024 is faster than modp3072.",
        source: "§4.1, where 71.8 ms ÷ 17.2 ms make a ratio of 4.2",
        taken_as: "its median is smaller in every case, the 95 % intervals apart",
    };
    claim.judged(verdict(&cases, |[small, large]| is_slower(large, small)), evidence)
}

/// The paper's clock counts whole milliseconds and shows less than half of one as 0.
const ZERO_BELOW_US: f64 = 500.0;

/// The standard deviation in µs. A single interruption decides about that of ten runs, so no distribution is assumed: its interval begins at the
/// standard deviation without the run that is farthest from the mean, and ends at the distance of the fastest run from the slowest.
fn deviation_us(cost: &PrimitiveCost) -> Option<Doubtful> {
    let (stddev_ns, n) = (cost.stddev_ns?, cost.n as f64);
    let farthest_ns = (cost.max_ns - cost.mean_ns).max(cost.mean_ns - cost.min_ns);
    let squares = stddev_ns.powi(2) * (n - 1.0) - farthest_ns.powi(2) * n / (n - 1.0);
    let others_ns = (squares.max(0.0) / (n - 2.0).max(1.0)).sqrt();
    let apart_ns = (cost.max_ns - cost.min_ns).max(stddev_ns);
    Some(Doubtful::between(others_ns.min(stddev_ns), stddev_ns, apart_ns).times(1e-3))
}

fn steady(measured: &[PrimitiveCost]) -> Finding {
    let of_ecp384 = READINGS.iter().filter_map(|(operation, _)| cost(measured, operation, "ecp384", "full"));
    let deviations: Vec<_> = of_ecp384.filter_map(|cost| Some((cost, deviation_us(cost)?))).collect();
    let is_zero = |(_, deviation): &(_, Doubtful)| deviation.is_at_most(ZERO_BELOW_US);
    let evidence = |(cost, deviation): &(&PrimitiveCost, Doubtful)| {
        deviation.evidence(format!("{}: standard deviation of ecp384", cost.operation), "µs")
    };
    let claim = Claim {
        name: "ecp384-deviation-is-zero",
        claim: "The standard deviation of ecp384 is 0, which shows a high stability.",
        source: "§4.1, Table 1",
        taken_as: "the paper's clock counts whole milliseconds: for both readings of the table the standard deviation is below 0.5 ms, and so is \
                   the distance of the fastest run from the slowest",
    };
    let cases: Vec<Option<bool>> = deviations.iter().map(is_zero).collect();
    claim.judged(Verdict::of_doubtful(&cases), deviations.iter().map(evidence).collect())
}

/// Notes for readers.
pub(super) fn notes(timings: &Timings) -> Vec<String> {
    let operations = timings.timings.first().map_or(0, |timing| timing.ns.len());
    vec![
        format!(
            "{operations} runs each, with {} on {}; CPU time of one operation at a time, none left out. Weak groups are \
             measured, never offered.",
            timings.library, timings.machine.cpu
        ),
        "Full-size exponents are as long as the prime, short ones twice the group's strength (SP 800-56A): for modp3072 the \
         difference is larger than that between the groups. The paper does not say which its program drew."
            .to_owned(),
        format!(
            "Which group has the least standard deviation cannot be said of {operations} runs: one interruption of the machine \
             decides."
        ),
        "Where ecp384 stands depends on the build of the library: OpenSSL 3.0's generic P-384 takes 0.5 ms for one \
         agreement, AWS-LC's a fifth of it. So only modp1024 before modp3072 can be expected \
         everywhere."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timed::{timing, timings};

    fn exchange(
        operation: &str,
        group: &str,
        exponents: Option<&str>,
        ns: f64,
    ) -> keytoll_trace::primitive::Timing {
        keytoll_trace::primitive::Timing {
            exponents: exponents.map(str::to_owned),
            exponent_bits: exponents.map(|_| 160),
            ..timing(operation, group, None, &[ns; 6])
        }
    }

    fn measured(ecp384_ns: f64) -> Timings {
        let of = |operation: &'static str| {
            [
                exchange(operation, "modp1024", Some("short"), 1e5),
                exchange(operation, "modp1024", Some("full"), 4e5),
                exchange(operation, "modp3072", Some("short"), 9e5),
                exchange(operation, "modp3072", Some("full"), 9e6),
                exchange(operation, "ecp384", None, ecp384_ns),
            ]
        };
        timings(["generate", "exchange"].map(of).concat())
    }

    #[test]
    fn each_group_is_listed_above_the_paper() {
        let tables = tables(&measured(2e5));
        let labels: Vec<_> = tables[1].lines.iter().map(|line| line.label.as_str()).collect();
        let expected = [
            "modp1024 160",
            "modp1024 160",
            "  modp1024, paper",
            "modp3072 160",
            "modp3072 160",
            "  modp3072, paper",
            "ecp384",
            "  ecp384, paper",
        ];
        assert_eq!(labels, expected);
        let value = |line: usize, cell: usize| tables[0].lines[line].cells[cell].as_ref().map(|it| it.value);
        assert_eq!((value(1, 0), value(2, 0), value(7, 0)), (Some(400.0), None, None), "medians");
        assert_eq!((value(2, 1), value(7, 1)), (Some(17_200.0), Some(7_000.0)), "means of the paper");
    }

    #[test]
    fn the_order_is_judged_for_every_meaning_and_length() {
        let verdicts =
            |ecp384_ns| findings(&measured(ecp384_ns)).into_iter().map(|it| it.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(5e4)[0], Verdict::Holds);
        assert_eq!(verdicts(2e5)[0], Verdict::HoldsInPart, "with short exponents modp1024 is faster");
        assert_eq!(verdicts(1e7)[..2], [Verdict::DoesNotHold, Verdict::Holds]);
        assert_eq!(findings(&timings(Vec::new()))[0].verdict, Verdict::CannotBeJudged);
    }

    /// Ten runs, one of which was interrupted for so long.
    fn interrupted_for(ns: f64) -> Verdict {
        let mut runs = vec![2e5; 10];
        runs[3] += ns;
        let ecp384 = ["generate", "exchange"].map(|operation| timing(operation, "ecp384", None, &runs));
        findings(&timings(ecp384.to_vec()))[2].verdict
    }

    #[test]
    fn one_interruption_does_not_decide_about_the_deviation() {
        assert_eq!(interrupted_for(0.0), Verdict::Holds);
        assert_eq!(interrupted_for(2e5), Verdict::Holds, "0.06 ms");
        assert_eq!(interrupted_for(1e6), Verdict::CannotBeJudged, "0.3 ms, but the runs are 1 ms apart");
        let doubled: Vec<f64> = (0..10).map(|run| if run % 2 == 0 { 1e6 } else { 3e6 }).collect();
        let ecp384 = timing("generate", "ecp384", None, &doubled);
        assert_eq!(findings(&timings(vec![ecp384]))[2].verdict, Verdict::DoesNotHold);
    }
}
