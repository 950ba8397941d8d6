//! The 36 printed shares of computation in the delay, judged one by one on fitted CPUs.

use super::findings::{FITTED, NEAR};
use super::measured::Measured;
use super::published::share_percent;
use super::{Access, Architecture, EAP_AKA, METHODS, Method, Speed, named, places};
use crate::claim::Claim;
use crate::doubtful::Doubtful;
use crate::published::Published;
use crate::{Basis, Evidence, Figure, Finding, Line, Table, Verdict};

/// A printed share and the one here.
struct Share {
    method: Method,
    at: (Access, Architecture),
    here: Figure,
    printed: Published,
    /// Whether they are the same; `None`: undecided.
    is_printed: Option<bool>,
}

impl Share {
    fn of(measured: Measured<'_>, method: Method, at: (Access, Architecture)) -> Option<Self> {
        let here = measured.share_percent(method, Speed::Calibrated, at)?;
        let printed = share_percent(method, at)?;
        let is_printed = Doubtful::of_varying(&here).is_within_factor(printed.value, NEAR);
        Some(Self { method, at, here, printed, is_printed })
    }

    fn line(self) -> Line {
        let verdict = Verdict::of_doubtful(&[self.is_printed]).words();
        let ratio = Figure::of_run(Basis::Measured, self.here.value / self.printed.value, None);
        Line {
            label: format!("{} {}: {verdict}", self.method.label, named(self.at)),
            cells: vec![Some(self.here), Some(self.printed.into()), Some(ratio)],
        }
    }
}

/// Every printed share that has one here.
fn all(measured: Measured<'_>) -> Vec<Share> {
    let places = METHODS.into_iter().flat_map(|method| places(Access::ALL).map(move |at| (method, at)));
    places.filter_map(|(method, at)| Share::of(measured, method, at)).collect()
}

/// A line for each, with its verdict.
pub(super) fn table(measured: Measured<'_>) -> Table {
    Table {
        title: "The 36 printed shares of computation, judged one by one: on fitted CPUs, within a factor of 1.25, either way"
            .to_owned(),
        unit: "%".to_owned(),
        columns: ["fitted", "paper", "fitted ÷ paper"].map(str::to_owned).to_vec(),
        lines: all(measured).into_iter().map(Share::line).collect(),
    }
}

/// Counts them.
pub(super) fn are_the_printed_ones(measured: Measured<'_>) -> Finding {
    let shares = all(measured);
    let cases: Vec<Option<bool>> = shares.iter().map(|share| share.is_printed).collect();
    let counts = if shares.is_empty() { Vec::new() } else { counts(&shares) };
    Claim {
        name: "shares-are-the-printed-ones",
        claim: "Computation has the 36 printed shares of the delay.",
        source: "slide \"Proportion of computational delays in the authentication delay\"",
        taken_as: "each share is the printed one within a factor of 1.25, either way, on fitted CPUs; a table has them one by one",
    }
    .judged(Verdict::of_doubtful(&cases), counts)
    .resting_on(FITTED)
}

fn counts(shares: &[Share]) -> Vec<Evidence> {
    let count = |wanted: &dyn Fn(&Share) -> bool| shares.iter().filter(|share| wanted(share)).count() as f64;
    let within = |share: &Share| share.is_printed == Some(true);
    [
        ("shares", count(&|_| true)),
        ("within the factor", count(&within)),
        ("of these of EAP-AKA", count(&|share| within(share) && share.method == EAP_AKA)),
        ("outside", count(&|share| share.is_printed == Some(false))),
        ("undecided", count(&|share| share.is_printed.is_none())),
    ]
    .map(|(what, count)| Evidence::new(what, count, ""))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::example::{Example, Numbers, as_printed};
    use super::*;

    fn verdicts(example: &Example) -> Vec<String> {
        let lines = table(Measured(&example.material())).lines.into_iter();
        lines.map(|line| line.label.rsplit_once(": ").unwrap().1.to_owned()).collect()
    }

    #[test]
    fn each_printed_share_has_a_verdict_and_a_longer_delay_changes_it() {
        assert_eq!(verdicts(&Example::as_printed()), vec!["holds"; 36]);
        let later = METHODS.map(|method| Numbers { later_ms: 1e4, ..as_printed(method) });
        assert_eq!(verdicts(&Example::of(&later)), vec!["does not hold"; 36]);
    }

    #[test]
    fn the_finding_counts_the_shares_and_names_the_fitted_method() {
        let mut numbers = METHODS.map(as_printed);
        numbers[0].later_ms = 1e4;
        let example = Example::of(&numbers);
        let finding = are_the_printed_ones(Measured(&example.material()));
        assert_eq!(finding.verdict, Verdict::HoldsInPart);
        let counts: Vec<f64> = finding.evidence.iter().map(|it| it.value).collect();
        assert_eq!(counts, [36.0, 30.0, 6.0, 6.0, 0.0]);
        assert!(finding.fitted.is_some());
    }
}
