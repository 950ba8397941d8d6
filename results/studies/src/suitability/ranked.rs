//! The rankings of the study: of this run, with its processors and with others, and of what is known of the slides.

use keytoll_analysis::summary::SummaryRow;
use keytoll_ranking::file::Grading;
use keytoll_ranking::methods::METHODS as RULES;
use keytoll_ranking::outcome::{Change, Ranked, Sensitivity, Weight};
use keytoll_ranking::weighed::Chosen;
use keytoll_ranking::{Criteria, Options, Ranking, rank};

use super::published;
use crate::hip_dex_aka::{METHODS, Method, Speed};
use crate::published::Published;
use crate::{Material, Summary};

/// The criteria of the slides.
const CRITERIA: &str = "epc-2012";

/// Draws of weights and grades: so many tell shares of a per cent.
const DRAWS: u32 = 10_000;

/// Without cryptography no performance is that of the methods.
const UNCHARGED: &str = "computation takes no time in it";

/// All of them.
pub(super) struct Rankings {
    /// By what is printed and what follows from it.
    pub(super) paper: Ranking,
    /// By this run with the processors of each speed, or why not.
    ours: Vec<(Speed, Result<Ranking, String>)>,
}

impl Rankings {
    pub(super) fn of(material: &Material<'_>) -> Self {
        let criteria = Criteria::find(CRITERIA).expect("a test reads all criteria that are compiled in");
        let paper = rank(&of_the_slides(&criteria), &six_methods(), &options(1))
            .expect("every method has a value for every criterion, as a test says");
        let ranked = |speed: Speed| {
            let summary = speed.of(material)?;
            let is_charged = summary.rows.iter().any(|row| row.charged);
            let ranking = rank(&criteria, summary, &options(DRAWS)).map_err(|error| error.to_string());
            Some((speed, if is_charged { ranking } else { Err(UNCHARGED.to_owned()) }))
        };
        Self { paper, ours: Speed::ALL.into_iter().filter_map(ranked).collect() }
    }

    /// That of this run with the processors of a speed.
    pub(super) fn at(&self, speed: Speed) -> Option<&Ranking> {
        self.ours.iter().find(|(of, _)| *of == speed)?.1.as_ref().ok()
    }

    /// The one that is judged: with processors as slow as those of the slides, for their delays were graded.
    pub(super) fn judged(&self) -> Option<&Ranking> {
        self.at(Speed::Calibrated)
    }

    /// Why the run cannot be ranked, if it cannot.
    pub(super) fn why_not(&self) -> Option<&str> {
        self.ours.iter().find_map(|(_, ranking)| ranking.as_ref().err()).map(String::as_str)
    }
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

    /// A run that measured what the slides did.
    pub(in super::super) fn as_printed() -> Rankings {
        let rankings = nothing();
        let paper = rankings.paper.clone();
        Rankings { paper: rankings.paper, ours: vec![(Speed::Calibrated, Ok(paper))] }
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
    fn methods_have_the_names_of_the_criteria() {
        let criteria = Criteria::find(CRITERIA).unwrap();
        let names: Vec<_> = criteria.alternatives.iter().map(|one| one.name.clone()).collect();
        assert_eq!(names, METHODS.map(name));
        assert_eq!(METHODS.map(|method| label(&name(method))), METHODS.map(|method| method.label));
    }
}
