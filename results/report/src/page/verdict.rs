//! The verdict: a few sentences about what follows from a run.

use keytoll_analysis::Findings;
use keytoll_analysis::comparable::{Setting, shared};
use keytoll_analysis::summary::SummaryRow;
use keytoll_analysis::verdict::{CpuTimes, Delays, Failed, Placed, Spent, Verdict};

use crate::number::{counted, plain, ranged};
use crate::study;

/// So many settings are told; the rest have their sections.
const SETTINGS_MAX: usize = 3;

/// The sentences, a paragraph each.
pub(super) fn sentences(findings: &Findings) -> Vec<String> {
    let verdict = Verdict::of(&findings.summary);
    let names = Names { shared: shared(&findings.summary.rows), verdict: &verdict };
    let found = findings.study.as_ref().map(study::tally);
    let (load, populations) = (super::load::headline(findings), super::population::sentence(findings));
    let all = [load, found, names.delays(), populations, names.cpu(), Some(names.outcomes())];
    all.into_iter().flatten().collect()
}

/// A verdict, and how rows are named in it.
struct Names<'a> {
    shared: Vec<&'a str>,
    verdict: &'a Verdict<'a>,
}

impl Names<'_> {
    fn of(&self, row: &SummaryRow) -> String {
        row.subject().without(&self.shared)
    }

    /// Where, unless all rows were measured there: the network, or all of it if networks do not tell settings apart.
    fn setting(&self, setting: &Setting<'_>) -> String {
        let all = &self.verdict.delays;
        let alike = all.iter().filter(|other| other.setting.network == setting.network).count();
        match (all.len(), alike) {
            (1, _) => String::new(),
            (_, 1) => format!("Over {}: ", setting.network),
            _ => format!("Over {setting}: "),
        }
    }

    fn delays(&self) -> Option<String> {
        let all = &self.verdict.delays;
        let told: Vec<String> = all.iter().take(SETTINGS_MAX).map(|delays| self.of_delays(delays)).collect();
        let more = match all.len().saturating_sub(SETTINGS_MAX) {
            0 => None,
            1 => Some("A further setting is below.".to_owned()),
            more => Some(format!("{more} further settings are below.")),
        };
        (!told.is_empty()).then(|| told.into_iter().chain(more).collect::<Vec<_>>().join(" "))
    }

    fn of_delays(&self, Delays { setting, least, like_the_least, greatest }: &Delays<'_>) -> String {
        let (setting, least) = (self.setting(setting), (least, self.placed(least)));
        let Some(greatest) = greatest else { return format!("{setting}{} is the median delay.", least.1) };
        let slowest = self.placed(greatest);
        if like_the_least.iter().any(|row| std::ptr::eq(*row, greatest.row)) {
            return format!(
                "{setting}{} and {slowest}, the least and the greatest median delay, cannot be told apart.",
                least.1
            );
        }
        let alike = match &like_the_least[..] {
            [] => String::new(),
            [one] => format!("; {} cannot be told apart from it", self.of(one)),
            all => format!("; {} others cannot be told apart from it", all.len()),
        };
        format!("{setting}{} is quickest at the median{alike}, and slowest {slowest}.", least.1)
    }

    /// `ikev2-psk (12.3 ms [11.9, 13.1])`.
    fn placed(&self, Placed { row, median_ms }: &Placed<'_>) -> String {
        format!("{} ({} ms)", self.of(row), ranged(*median_ms))
    }

    fn cpu(&self) -> Option<String> {
        let CpuTimes { least, greatest, .. } = self.verdict.cpu.as_ref()?;
        let spent = |Spent { row, ns, node, share }: &Spent<'_>| {
            let (us, percent) = (plain(ns / 1e3), (100.0 * share).round());
            format!("{} ({us} µs on average at all nodes, {percent} % of it at {node})", self.of(row))
        };
        Some(match greatest {
            None => format!("CPU time of an authentication with {}.", spent(least)),
            Some(most) => format!("Most CPU time is taken by {}, least by {}.", spent(most), spent(least)),
        })
    }

    fn outcomes(&self) -> String {
        let Verdict { n, succeeded, failed_most, waited, .. } = self.verdict;
        let waited = match waited {
            0 => String::new(),
            1 => " One waited until a lost message was sent again.".to_owned(),
            waited => format!(" {waited} waited until a lost message was sent again."),
        };
        match failed_most {
            _ if n == succeeded => format!("All {} succeeded.{waited}", counted(*n, "authentication")),
            None => format!("{} of {} succeeded.{waited}", succeeded, counted(*n, "authentication")),
            Some(Failed { row, why, count }) => {
                let most = format!("most of all with {}: {why} ({count} of {})", self.of(row), row.n);
                format!(
                    "{} of {} did not succeed, {most}.{waited}",
                    n.saturating_sub(*succeeded),
                    counted(*n, "authentication")
                )
            }
        }
    }
}
