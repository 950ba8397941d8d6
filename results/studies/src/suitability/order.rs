//! Why the order of a run is not the slides' order: which of its grades would have to be the slides', and what fitted CPUs change.

use keytoll_ranking::Ranking;
use keytoll_ranking::outcome::Weight;

use super::ranked::{self, CRITERIA, Rankings, label};
use crate::Material;
use crate::hip_dex_aka::{METHODS, Speed};

/// Two utilities this near are equal.
const EQUAL: f64 = 1e-9;

/// Compares the order of a run with the slides'; none by other criteria than theirs, or if the run does not have their methods.
pub fn against_the_slides(criteria: &str, material: &Material<'_>) -> Option<String> {
    if criteria != CRITERIA {
        return None;
    }
    let rankings = Rankings::drawn(material, 1);
    let slides = &rankings.paper;
    let ours = rankings.at(Speed::Clocks)?;
    let order = ranked::order(slides);
    if is_their_order(&utilities(slides, ours, &[])) {
        return Some(format!("The order is that of the slides' own values, {order}."));
    }
    let fitted = rankings.judged().map(|fitted| on_fitted_cpus(slides, fitted)).unwrap_or_default();
    Some(format!("By the slides' own values the order is {order}. {}{fitted}", why(slides, ours)))
}

/// The fewest criteria for which grades of the slides make the order of the slides.
fn why(slides: &Ranking, ours: &Ranking) -> String {
    let other = differing(slides, ours);
    let subsets = (1..1_usize << other.len()).map(|bits| chosen(&other, bits));
    let enough = subsets.filter(|names| is_their_order(&utilities(slides, ours, names)));
    let Some(least) = enough.min_by_key(Vec::len) else {
        return "No grades of performance by the slides change this run's order into it: weights differ."
            .to_owned();
    };
    let grades: Vec<String> = least.iter().map(|name| grades(slides, ours, name)).collect();
    format!("It becomes this run's order, too, with the slides' grades of {}.", grades.join(" and of "))
}

fn on_fitted_cpus(slides: &Ranking, fitted: &Ranking) -> String {
    let order = ranked::order(fitted);
    let is_theirs = if is_their_order(&utilities(slides, fitted, &[])) { ", as by the slides" } else { "" };
    let percent = (fitted.lead.exp2() - 1.0) * 100.0;
    format!(
        " On fitted CPUs (supplement.json) this run's order is {order}{is_theirs}; the first scores {percent:.0} % higher than the second."
    )
}

/// The criteria by which a method has another grade here than by the slides.
fn differing<'a>(slides: &'a Ranking, ours: &Ranking) -> Vec<&'a str> {
    let is_other = |(theirs, ours): &(&Weight, &Weight)| theirs.grades != ours.grades;
    slides
        .criteria
        .iter()
        .zip(&ours.criteria)
        .filter(is_other)
        .map(|(theirs, _)| theirs.name.as_str())
        .collect()
}

fn chosen<'a>(names: &[&'a str], bits: usize) -> Vec<&'a str> {
    names.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1).map(|(_, name)| *name).collect()
}

/// The weighted sum of grades of each method, in the slides' order, with the slides' grades of some criteria.
fn utilities(slides: &Ranking, ours: &Ranking, of_the_slides: &[&str]) -> Vec<f64> {
    let utility = |name: &str| {
        let step = |(theirs, ours): (&Weight, &Weight)| {
            let from = if of_the_slides.contains(&theirs.name.as_str()) { theirs } else { ours };
            from.grades.as_ref().and_then(|grades| grades.get(name)).map_or(0.0, |grade| ours.share * grade)
        };
        slides.criteria.iter().zip(&ours.criteria).map(step).sum()
    };
    slides.alternatives.iter().map(|one| utility(&one.name)).collect()
}

/// Whether utilities, given in the slides' order, do not grow.
fn is_their_order(utilities: &[f64]) -> bool {
    utilities.windows(2).all(|pair| pair[0] >= pair[1] - EQUAL)
}

/// `delay (DEX-AKA 4 here and 2 there, PSK …)`
fn grades(slides: &Ranking, ours: &Ranking, name: &str) -> String {
    let of = |ranking: &Ranking| ranking.criteria.iter().find(|criterion| criterion.name == name).cloned();
    let (Some(theirs), Some(ours)) = (of(slides), of(ours)) else { return name.to_owned() };
    let other = |method| {
        let (here, there) = (ranked::grade(&ours, method)?, ranked::grade(&theirs, method)?);
        let is_other = (here - there).abs() > EQUAL;
        is_other.then(|| format!("{} {here} here and {there} there", label(&ranked::name(method))))
    };
    format!("`{name}` ({})", METHODS.into_iter().filter_map(other).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suitability::ranked::tests::as_printed;

    /// The slides' ranking with another grade of one criterion.
    fn otherwise(criterion: &str, method: &str, grade: f64) -> Ranking {
        let mut ranking = as_printed().paper;
        let it = ranking.criteria.iter_mut().find(|it| it.name == criterion).unwrap();
        let grades = it.grades.as_mut().unwrap();
        *grades = grades
            .iter()
            .map(|(name, old)| (name.to_owned(), if name == method { grade } else { *old }))
            .collect();
        ranking
    }

    #[test]
    fn the_utilities_are_those_of_the_ranking() {
        let slides = as_printed().paper;
        let ranked: Vec<f64> = slides.alternatives.iter().map(|one| one.utility).collect();
        let computed = utilities(&slides, &slides, &[]);
        assert!(
            ranked.iter().zip(&computed).all(|(one, other)| (one - other).abs() < EQUAL),
            "{ranked:?} {computed:?}"
        );
        assert!(is_their_order(&computed));
    }

    #[test]
    fn the_grade_that_changes_the_order_is_named() {
        let slides = as_printed().paper;
        let mut ours = otherwise("delay", "dex-aka", -20.0);
        let harmless = otherwise("cpu-ue", "eap-tls", -2.5);
        let place = |name: &str| ours.criteria.iter().position(|it| it.name == name).unwrap();
        let cpu_ue = place("cpu-ue");
        ours.criteria[cpu_ue] = harmless.criteria[cpu_ue].clone();
        assert_eq!(differing(&slides, &ours), ["delay", "cpu-ue"]);
        let told = why(&slides, &ours);
        assert!(told.contains("with the slides' grades of `delay` (DEX-AKA -20 here and "), "{told}");
        assert!(!told.contains("cpu-ue"), "{told}");
    }
}
