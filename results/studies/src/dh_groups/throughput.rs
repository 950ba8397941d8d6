//! Table 2: throughput, plain and through IPsec set up with each group, with one key exchange at the beginning, and with
//! rekeying every two seconds.

use super::published;
use crate::claim::Claim;
use crate::doubtful::Doubtful;
use crate::{Basis, Evidence, Figure, Finding, Line, Table, Verdict};
use keytoll_analysis::summary::{Measure, Summary, SummaryRow};

/// The row without IPsec.
const PLAIN: &str = "plain";
/// The suffix of a row's variant with rekeying.
const REKEYED: &str = ", re-keyed";

/// Table 2.
pub(super) fn table(summary: &Summary) -> Table {
    let rows = summary.rows.iter().filter(|row| row.traffic.is_some());
    Table {
        title: "Table 2: throughput of bulk data, in Mbit/s".to_owned(),
        unit: "Mbit/s".to_owned(),
        columns: ["mean", "min", "max", "stddev", "re-keyings"].map(str::to_owned).to_vec(),
        lines: rows.flat_map(|row| [Some(line(row)), line_of_paper(row)]).flatten().collect(),
    }
}

fn line(row: &SummaryRow) -> Line {
    let measured = |value: f64| Figure::of_run(Basis::Measured, value, None);
    let goodput = goodput(row);
    Line {
        label: row.variant.clone(),
        cells: vec![
            goodput.map(|it| Figure::of_median(it.mean_interval())),
            goodput.map(|it| measured(it.min)),
            goodput.map(|it| measured(it.max)),
            goodput.and_then(|it| it.stddev).map(measured),
            row.traffic.as_ref().map(|traffic| measured(traffic.rekeys)),
        ],
    }
}

/// The paper's line for a row, which it has if there is no re-keying.
fn line_of_paper(row: &SummaryRow) -> Option<Line> {
    let statistics = published::throughput_mbit_s(&row.variant)?;
    let cells = statistics.map(Some).into_iter().chain([None]).collect();
    Some(Line { label: format!("  {}, paper", row.variant), cells })
}

/// The paper's conclusions from it, and what remains of them.
pub(super) fn findings(summary: &Summary) -> Vec<Finding> {
    [ipsec_costs, the_group_decides, ecp384_is_fastest, rekeying_costs]
        .map(|claim| claim(summary).resting_on(FITTED))
        .to_vec()
}

/// The input of all findings about throughput.
const FITTED: &str = "CPUs at 60 MHz, set by the time of a key exchange in Table 1, and a link as fast as the paper's plain throughput";

fn goodput(row: &SummaryRow) -> Option<&Measure> {
    row.traffic.as_ref()?.goodput_mbit_s.get("up")
}

fn of<'a>(summary: &'a Summary, variant: &str) -> Option<&'a Measure> {
    summary.rows.iter().find(|row| row.variant == variant).and_then(goodput)
}

/// The paper's measured groups, without rekeying.
fn once(summary: &Summary) -> Vec<(&'static str, &Measure)> {
    published::GROUPS.iter().filter_map(|&group| Some((group, of(summary, group)?))).collect()
}

fn mean(of_group: &Measure) -> Doubtful {
    of_group.mean_interval().into()
}

/// The loss against plain with each group, in per cent.
fn losses(summary: &Summary) -> Vec<(&'static str, Doubtful)> {
    let loss = |(group, it): (&'static str, &Measure)| {
        let part = mean(it).per(mean(of(summary, PLAIN)?));
        Some((group, Doubtful::from(1.0).less(part).times(100.0)))
    };
    once(summary).into_iter().filter_map(loss).collect()
}

fn percent(group: &str, loss: Doubtful) -> Evidence {
    loss.evidence(format!("{group}, below plain"), "%")
}

fn ipsec_costs(summary: &Summary) -> Finding {
    Claim {
        name: "ipsec-costs-throughput",
        claim: "Without IPsec the throughput is highest, as there is no overhead on the transmission.",
        source: "§4.2, Table 2",
        taken_as: "the mean through every group's SA is below the plain mean",
    }
    .of_cases(
        losses(summary).into_iter().map(|(group, loss)| (loss.exceeds(0.0.into()), percent(group, loss))),
    )
}

/// The allowed distance of a loss from the paper's percentage, in points.
const POINTS: f64 = 5.0;

fn the_group_decides(summary: &Summary) -> Finding {
    let losses = losses(summary);
    let printed = |group: &str| {
        let mean = |of: &str| Some(published::throughput_mbit_s(of)?[0].value);
        Some((1.0 - mean(group)? / mean(PLAIN)?) * 100.0)
    };
    let cases = losses.iter().map(|(group, loss)| loss.is_near(printed(group)?, POINTS)).collect::<Vec<_>>();
    let ends = losses.iter().map(|(_, loss)| loss);
    let by_value = |one: &&Doubtful, other: &&Doubtful| one.value.total_cmp(&other.value);
    let spread = ends.clone().max_by(by_value).zip(ends.min_by(by_value)).filter(|_| losses.len() > 1);
    let spread =
        spread.map(|(most, least)| most.less(*least).evidence("between the groups", "percentage points"));
    Claim {
        name: "the-group-decides",
        claim: "ecp384 costs 26 % of the plain throughput, modp1024 37 % and modp3072 45 %.",
        source: "§4.2",
        taken_as: "the loss with each group, set up once, is within 5 percentage points of the paper's",
    }
    .judged(
        Verdict::of_doubtful(&cases),
        losses.iter().map(|&(group, loss)| percent(group, loss)).chain(spread).collect(),
    )
}

/// Throughputs that differ by less are the same, as a part of them.
const SAME: f64 = 0.01;

/// How much more of one throughput there is than of another, as a part of it.
fn advantage(one: &Measure, other: &Measure) -> Doubtful {
    mean(one).per(mean(other)).less(1.0.into())
}

fn ecp384_is_fastest(summary: &Summary) -> Finding {
    let once = once(summary);
    let ecp384 = once.iter().find(|(group, _)| *group == "ecp384").map(|(_, it)| *it);
    let others = once.iter().filter(|(group, _)| *group != "ecp384");
    let cases = ecp384.into_iter().flat_map(|ecp384| {
        others.clone().map(move |(group, other)| {
            let more = advantage(ecp384, other);
            (more.is_at_least(SAME), more.times(100.0).evidence(format!("more than with {group}"), "%"))
        })
    });
    Claim {
        name: "ecp384-has-the-highest-throughput",
        claim: "The implementation with ecp384 has the highest throughput of the three.",
        source: "§4.2",
        taken_as: "its mean is at least 1 % above that of each of the others, all set up once",
    }
    .of_cases(cases)
}

/// Not the paper's claim, but the only way in which a group can have the claimed effect.
fn rekeying_costs(summary: &Summary) -> Finding {
    let both = |&group: &&'static str| {
        let rekeyed = of(summary, &format!("{group}{REKEYED}"))?;
        Some((group, of(summary, group)?, rekeyed))
    };
    let groups: Vec<_> = published::GROUPS.iter().filter_map(both).collect();
    let differ = |one: &Measure, other: &Measure| Some(!advantage(one, other).is_near(0.0, SAME)?);
    let pairs = groups
        .iter()
        .enumerate()
        .flat_map(|(place, (.., one))| groups[place + 1..].iter().map(move |(.., other)| differ(one, other)));
    let evidence = groups.iter().map(|(group, once, rekeyed)| {
        let lost = Doubtful::from(1.0).less(mean(rekeyed).per(mean(once)));
        lost.times(100.0).evidence(format!("{group}, lost to re-keying"), "%")
    });
    Claim {
        name: "re-keying-brings-the-group-into-the-traffic",
        claim: "The group makes a difference to throughput; here: if the SA is re-keyed every two seconds.",
        source: "§4.2, which mentions no re-keying; the condition is keytoll's",
        taken_as: "re-keyed, the means of at least two of the groups differ by 1 % or more",
    }
    .judged(Verdict::of_any(&pairs.collect::<Vec<_>>()), evidence.collect())
}

/// Notes for readers.
pub(super) fn notes() -> Vec<String> {
    vec![
        format!(
            "A group makes keys when an SA is set up or re-keyed; the cipher of its packets is the same for all groups. So after one \
             set-up the rows of Table 2 must be equal except for chance. With re-keying they differ by the time in which the CPU \
             computes keys and processes no packet. The group cannot cause different throughput after one set-up; the paper's means \
             differ by {} between groups.",
            differences_of_paper()
        ),
        "CPUs run at 60 MHz, scaled by clock frequency alone, so that a key exchange with modp3072 takes about as long as in Table 1 \
         (72 ms). Exponents are short. Measured on an AMD EPYC with AWS-LC on 2026-11-29: 73 ms with modp3072, 7 ms with modp1024 \
         (Table 1: 17) and 12 ms with ecp384 (Table 1: 7). The paper's exponents for modp3072 cannot have been \
         full-size: its cost would be over twenty times that of modp1024, not four times. The link is set to the paper's plain \
         throughput. With re-keying both the IKE SA and its child get new keys every two seconds, each with a new key exchange; \
         `--exponents full` uses full-size exponents."
            .to_owned(),
    ]
}

/// By how much the lower of two published means is below the higher: the least and the greatest difference between groups.
fn differences_of_paper() -> String {
    let means =
        published::GROUPS.map(|group| published::throughput_mbit_s(group).map_or(0.0, |it| it[0].value));
    let pairs = means
        .iter()
        .enumerate()
        .flat_map(|(place, one)| means[place + 1..].iter().map(move |two| (*one, *two)));
    let percents: Vec<f64> = pairs.map(|(one, two)| (1.0 - one.min(two) / one.max(two)) * 100.0).collect();
    let (least, greatest) = percents.iter().fold((f64::INFINITY, 0.0_f64), |(least, greatest), &percent| {
        (least.min(percent), greatest.max(percent))
    });
    format!("{least:.0} to {greatest:.0} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use keytoll_analysis::Named;
    use keytoll_analysis::summary::{TrafficPackets, TrafficSummary};

    #[test]
    fn nothing_measured_is_not_judged() {
        let summary = Summary { rows: Vec::new(), ..example() };
        for finding in findings(&summary) {
            assert_eq!(finding.verdict, Verdict::CannotBeJudged, "{}", finding.name);
            assert!(finding.fitted.is_some(), "{}: CPUs and link are fitted", finding.name);
        }
        assert_eq!(table(&summary).lines, []);
    }

    /// 19.81 and 17.3, and 23.39 and 17.3 Mbit/s.
    #[test]
    fn the_notes_name_the_differences_between_the_papers_groups() {
        assert!(
            notes()[0].ends_with("the paper's means differ by 13 to 26 % between groups."),
            "{}",
            notes()[0]
        );
    }

    /// Table 2 as it is printed, and constant measurements.
    #[test]
    fn the_paper_has_a_line_of_its_own_with_all_of_its_statistics() {
        let measure = Measure {
            mean: 29.8,
            ci95_low: Some(29.7),
            ci95_high: Some(29.9),
            p50: None,
            p50_ci95_low: None,
            p50_ci95_high: None,
            min: 29.0,
            max: 30.0,
            stddev: Some(0.5),
            n: 30,
        };
        let lines = table(&Summary {
            rows: vec![row("modp1024", measure), row("modp1024, re-keyed", measure)],
            ..example()
        })
        .lines;
        let values =
            |line: &Line| line.cells.iter().map(|cell| cell.as_ref().map(|it| it.value)).collect::<Vec<_>>();
        assert_eq!(values(&lines[0]), [29.8, 29.0, 30.0, 0.5, 4.0].map(Some));
        assert_eq!(values(&lines[1]), [Some(19.81), Some(15.6), Some(23.5), Some(2.52), None]);
        assert_eq!(
            lines.iter().map(|line| &*line.label).collect::<Vec<_>>(),
            ["modp1024", "  modp1024, paper", "modp1024, re-keyed"]
        );
    }

    fn row(variant: &str, goodput: Measure) -> SummaryRow {
        let traffic = TrafficSummary {
            n: 30,
            goodput_mbit_s: [("up".to_owned(), goodput)].into_iter().collect(),
            packets: TrafficPackets { sent: 0.0, repeated: 0.0, lost: 0.0, timeouts: 0.0 },
            round_trip_ms: None,
            one_way_ms: None,
            longest_gap_ms: None,
            overhead_bytes: None,
            rekeys: 4.0,
            nodes: Named::default(),
        };
        SummaryRow { variant: variant.into(), traffic: Some(traffic), ..SummaryRow::default() }
    }

    fn example() -> Summary {
        Summary {
            format: 1,
            title: "t".into(),
            seed: "1".into(),
            complete: true,
            provenance: None,
            rows: Vec::new(),
            beside: Vec::new(),
        }
    }
}
