//! The rankings of the study: of this run, on its CPUs and on others, and by the known numbers of the slides.

use keytoll_analysis::summary::SummaryRow;
use keytoll_ranking::file::Grading;
use keytoll_ranking::methods::METHODS as RULES;
use keytoll_ranking::outcome::{Change, Ranked, Sensitivity, Weight};
use keytoll_ranking::weighed::Chosen;
use keytoll_ranking::{Criteria, Options, Ranking, rank};

use super::published;
use crate::doubtful::Doubtful;
use crate::hip_dex_aka::{METHODS, Method, Speed};
use crate::published::Published;
use crate::{Material, Summary};

/// The criteria of the slides.
pub(super) const CRITERIA: &str = "epc-2012";

/// Draws of weights and grades: so many tell shares of a per cent.
const DRAWS: u32 = 10_000;

/// The speed of the CPUs in the judged ranking.
const JUDGED: Speed = Speed::Calibrated;

/// Without cryptography no performance is that of the methods.
const UNCHARGED: &str = "computation takes no time in it";

/// All of them.
pub(super) struct Rankings {
    /// By what is printed and what follows from it.
    pub(super) paper: Ranking,
    /// By this run on the CPUs of each speed, or why not.
    ours: Vec<(Speed, Result<Ranking, String>)>,
    /// The judged one with the measured values of one method after the other at the ends of their intervals.
    at_ends: Vec<[Ranking; 2]>,
}

impl Rankings {
    pub(super) fn of(material: &Material<'_>) -> Self {
        Self::drawn(material, DRAWS)
    }

    /// All of them with so many draws.
    pub(super) fn drawn(material: &Material<'_>, draws: u32) -> Self {
        let criteria = Criteria::find(CRITERIA).expect("a test reads all criteria that are compiled in");
        let paper = rank(&of_the_slides(&criteria), &six_methods(), &options(1))
            .expect("every method has a value for every criterion, as a test says");
        let ranked = |speed: Speed| {
            let summary = speed.of(material)?;
            let is_charged = summary.rows.iter().any(|row| row.charged);
            let ranking = rank(&criteria, summary, &options(draws)).map_err(|error| error.to_string());
            Some((speed, if is_charged { ranking } else { Err(UNCHARGED.to_owned()) }))
        };
        let at_ends = JUDGED.of(material).map(|summary| at_ends(&criteria, summary)).unwrap_or_default();
        Self { paper, ours: Speed::ALL.into_iter().filter_map(ranked).collect(), at_ends }
    }

    /// That of this run on the CPUs of a speed.
    pub(super) fn at(&self, speed: Speed) -> Option<&Ranking> {
        self.ours.iter().find(|(of, _)| *of == speed)?.1.as_ref().ok()
    }

    /// The judged one: on fitted CPUs, because the slides grade the testbed's delays.
    pub(super) fn judged(&self) -> Option<&Ranking> {
        self.at(JUDGED)
    }

    /// A number of the judged ranking. Its interval adds up by how much each method's measurements can move it.
    pub(super) fn number(&self, of: impl Fn(&Ranking) -> Option<f64>) -> Option<Doubtful> {
        let value = of(self.judged()?)?;
        let moved =
            |ends: &[Ranking; 2]| ends.each_ref().map(|end| of(end).map_or(0.0, |there| there - value));
        let sum = |pick: fn(f64, f64) -> f64| {
            self.at_ends.iter().map(|ends| moved(ends).into_iter().fold(0.0, pick)).sum::<f64>()
        };
        Some(Doubtful::between(value + sum(f64::min), value, value + sum(f64::max)))
    }

    /// Whether something is true of the judged ranking; `None` if a method's measurements can change that.
    pub(super) fn is(&self, of: impl Fn(&Ranking) -> Option<bool>) -> Option<bool> {
        let is = of(self.judged()?)?;
        self.at_ends.iter().flatten().all(|end| of(end) == Some(is)).then_some(is)
    }

    /// Why the run cannot be ranked, if it cannot.
    pub(super) fn why_not(&self) -> Option<&str> {
        self.ours.iter().find_map(|(_, ranking)| ranking.as_ref().err()).map(String::as_str)
    }
}

/// The rankings with each method's measured values at the lower and at the upper ends of their intervals; none if the run cannot be
/// ranked.
fn at_ends(criteria: &Criteria, summary: &Summary) -> Vec<[Ranking; 2]> {
    let ranked = |method: Method, end: End| rank(criteria, &moved(summary, method, end), &options(1)).ok();
    let of_method = |method: Method| Some([ranked(method, End::Lower)?, ranked(method, End::Upper)?]);
    METHODS.into_iter().filter_map(of_method).collect()
}

/// An end of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lower,
    Upper,
}

impl End {
    fn of(self, low: Option<f64>, value: f64, high: Option<f64>) -> f64 {
        if self == Self::Lower { low.unwrap_or(value) } else { high.unwrap_or(value) }
    }
}

/// The run with the delays and CPU costs of a method at an end of their intervals.
fn moved(summary: &Summary, method: Method, end: End) -> Summary {
    let mut summary = summary.clone();
    for row in summary.rows.iter_mut().filter(|row| row.method == method.method) {
        if let Some(delay) = &mut row.delay_ms {
            let (low, high) = delay.median_of_blocks().interval.unzip();
            delay.p50 = end.of(low, delay.p50, high);
        }
        for cpu in row.cpu.values_mut() {
            let half = cpu.cycles_p50_half_width();
            let moved =
                |cycles: f64| end.of(half.map(|half| cycles - half), cycles, half.map(|half| cycles + half));
            cpu.cycles_p50 = cpu.cycles_p50.map(moved);
        }
    }
    summary
}

fn options(draws: u32) -> Options {
    Options { method: &RULES[0], weights: Chosen::default(), draws, seed: 1 }
}

/// The same criteria with what is known of the slides' values in place of measured ones.
fn of_the_slides(criteria: &Criteria) -> Criteria {
    let mut criteria = criteria.clone();
    for criterion in &mut criteria.criteria {
        let Some(Grading::Measured(_, scale)) = &criterion.grading else { continue };
        let values = METHODS.map(|method| published::value(&criterion.name, method));
        let values = values.into_iter().flatten().map(|published| published.value);
        criterion.grading = Some(Grading::Valued(values.collect(), scale.clone()));
    }
    criteria
}

/// A run of the six methods of which nothing was measured.
fn six_methods() -> Summary {
    let row = |method: Method| SummaryRow { method: method.method.to_owned(), ..SummaryRow::default() };
    Summary {
        format: keytoll_analysis::summary::FORMAT,
        title: String::new(),
        seed: String::new(),
        complete: true,
        provenance: None,
        beside: Vec::new(),
        rows: METHODS.map(row).to_vec(),
    }
}

/// A method's name in the criteria.
pub(super) fn name(method: Method) -> String {
    method.label.to_lowercase()
}

/// The methods by their rank.
pub(super) fn order(ranking: &Ranking) -> String {
    ranking.alternatives.iter().map(|one| label(&one.name)).collect::<Vec<_>>().join(", ")
}

/// A method's name on the slides.
pub(super) fn label(name: &str) -> String {
    name.to_uppercase()
}

/// A method's place in a ranking.
pub(super) fn place(ranking: &Ranking, method: Method) -> Option<&Ranked> {
    ranking.alternatives.iter().find(|one| one.name == name(method))
}

/// The criteria of performance.
pub(super) fn of_performance(ranking: &Ranking) -> impl Iterator<Item = &Weight> {
    below(ranking, "performance")
}

fn below<'a>(ranking: &'a Ranking, main: &'a str) -> impl Iterator<Item = &'a Weight> {
    ranking.criteria.iter().filter(move |criterion| criterion.under.as_deref() == Some(main))
}

/// A method's grade by a criterion.
pub(super) fn grade(criterion: &Weight, method: Method) -> Option<f64> {
    criterion.grades.as_ref()?.get(&name(method)).copied()
}

/// The mean of a method's grades below a main criterion, which all weigh the same.
pub(super) fn mean_grade(ranking: &Ranking, main: &str, method: Method) -> Option<f64> {
    let grades: Vec<f64> = below(ranking, main).filter_map(|criterion| grade(criterion, method)).collect();
    (!grades.is_empty()).then(|| grades.iter().sum::<f64>() / grades.len() as f64)
}

/// What happens while the weight of a main criterion changes.
pub(super) fn sweep<'a>(ranking: &'a Ranking, main: &str) -> Option<&'a Sensitivity> {
    ranking.sensitivity.iter().find(|sweep| sweep.criterion == main)
}

/// The change of places nearest to the weight as it is.
pub(super) fn nearest(sweep: &Sensitivity) -> Option<&Change> {
    let distance = |change: &&Change| (change.at - sweep.weight).abs();
    sweep.crossings.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)))
}

/// The best with nothing but one main criterion, and from which weight of it on. Several may share that place: then those that were
/// better before are left out.
pub(super) fn best_at_last(sweep: &Sensitivity) -> Option<(Vec<String>, f64)> {
    let scores = &sweep.curve.last()?.scores;
    let most = scores.iter().map(|(_, score)| *score).fold(f64::MIN, f64::max);
    let best: Vec<String> =
        scores.iter().filter(|(_, score)| most - **score < 1e-9).map(|(name, _)| name.to_owned()).collect();
    let overtaking = sweep.crossings.iter().filter(|change| best.contains(&change.above));
    let from = overtaking.map(|change| change.at).fold(0.0, f64::max);
    Some((best, from))
}

/// Where a value of the slides is from.
pub(super) fn origin(criterion: &Weight, method: Method) -> Option<Published> {
    published::value(&criterion.name, method)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Supplement;
    use keytoll_analysis::summary::{Cpu, Delay};

    /// A run that measured what the slides did.
    pub(in super::super) fn as_printed() -> Rankings {
        let rankings = nothing();
        let paper = rankings.paper.clone();
        Rankings { paper: rankings.paper, ours: vec![(JUDGED, Ok(paper))], at_ends: Vec::new() }
    }

    /// The same, but that the measurements of a method allow a ranking in which another is first.
    pub(in super::super) fn with_doubt() -> Rankings {
        let rankings = as_printed();
        let mut other = rankings.paper.clone();
        let first = other.alternatives[0].utility;
        other.alternatives[1].utility = first + 0.1;
        Rankings { at_ends: vec![[rankings.paper.clone(), other]], ..rankings }
    }

    /// A run without computation.
    pub(in super::super) fn nothing() -> Rankings {
        let (summary, supplement) = (six_methods(), Supplement::default());
        Rankings::of(&Material { summary: &summary, supplement: &supplement })
    }

    #[test]
    fn a_run_without_measurements_says_why_it_is_not_ranked() {
        let rankings = nothing();
        assert!(rankings.judged().is_none() && rankings.at(Speed::Clocks).is_none());
        assert!(rankings.why_not().unwrap().starts_with(UNCHARGED), "{:?}", rankings.why_not());
    }

    #[test]
    fn a_number_is_as_uncertain_as_the_measurements() {
        let lead =
            |ranking: &Ranking| Some(ranking.alternatives[0].utility - ranking.alternatives[1].utility);
        let value = lead(&as_printed().paper).unwrap();
        assert_eq!(as_printed().number(lead), Some(value.into()));
        let doubted = with_doubt().number(lead).unwrap();
        assert_eq!((doubted.value, doubted.exceeds(0.0.into())), (value, None));
        let leads = |ranking: &Ranking| Some(lead(ranking)? > 0.0);
        assert_eq!((as_printed().is(leads), with_doubt().is(leads)), (Some(true), None));
    }

    #[test]
    fn only_the_values_of_the_moved_method_are_at_an_end() {
        let (mut summary, cpu) = (
            six_methods(),
            Cpu {
                ns_p50: 10.0,
                ns_p50_ci95_low: Some(5.0),
                ns_p50_ci95_high: Some(15.0),
                cycles_p50: Some(100.0),
                ..Cpu::default()
            },
        );
        let delay = Delay { p50: 3.0, p50_ci95_low: Some(2.0), p50_ci95_high: Some(4.0), ..Delay::default() };
        for row in &mut summary.rows {
            row.delay_ms = Some(delay);
            row.cpu = [("ue".to_owned(), cpu)].into_iter().collect();
        }
        let values = |end| {
            let moved = moved(&summary, METHODS[1], end);
            moved
                .rows
                .iter()
                .map(|row| (row.delay_ms.unwrap().p50, row.cpu.get("ue").unwrap().cycles_p50))
                .collect::<Vec<_>>()
        };
        assert_eq!(values(End::Lower)[..3], [(3.0, Some(100.0)), (2.0, Some(50.0)), (3.0, Some(100.0))]);
        assert_eq!(values(End::Upper)[1], (4.0, Some(150.0)));
    }

    #[test]
    fn methods_have_the_names_of_the_criteria() {
        let criteria = Criteria::find(CRITERIA).unwrap();
        let names: Vec<_> = criteria.alternatives.iter().map(|one| one.name.clone()).collect();
        assert_eq!(names, METHODS.map(name));
        assert_eq!(METHODS.map(|method| label(&name(method))), METHODS.map(|method| method.label));
    }
}
