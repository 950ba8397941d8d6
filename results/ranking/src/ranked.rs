//! From criteria and a summary to a [`Ranking`].

use std::collections::BTreeSet;

use keytoll_analysis::comparable::{Setting, Subject, shared};
use keytoll_analysis::{Named, Summary};
use keytoll_document::DocumentError;

use crate::acceptability::{Draws, Weights};
use crate::file::{Alternative, Criteria, Criterion, Grading, Scale};
use crate::graded::{Basis, Leaf, Reference, Valued};
use crate::methods::{METHODS, Matrix, Method, Prepared, order, ranks};
use crate::outcome::{
    Accepted, Change, Changed, Drawn, FORMAT, OfExpert, OfExperts, Order, Point, Ranked, Ranking, Reversal,
    Sensitivity, TornadoBar, Unrounded, Weight,
};
use crate::sensitivity::{Crossing, Decision, Sweep};
use crate::tornado::{Bar, Input, tornado};
use crate::weighed::{Chosen, Opinion, Residual, Weighed, opinions, weighed};

/// How to rank.
#[derive(Debug, Clone)]
pub struct Options {
    /// The method of ranking.
    pub method: &'static Method,
    /// The weights.
    pub weights: Chosen,
    /// Monte-Carlo draws for each kind of weights, at least one.
    pub draws: u32,
    /// Their seed.
    pub seed: u64,
}

/// Points of a sensitivity curve, less one.
const CURVE_STEPS: u32 = 20;

/// Ranks the methods of a run.
///
/// # Errors
/// When the run lacks what the criteria need of it, or the weights cannot be used.
pub fn rank(criteria: &Criteria, summary: &Summary, options: &Options) -> Result<Ranking, DocumentError> {
    let of_run;
    let criteria = if criteria.alternatives.is_empty() {
        of_run = Criteria { alternatives: all(criteria, summary)?, ..criteria.clone() };
        &of_run
    } else {
        criteria
    };
    let weighed = weighed(criteria, &options.weights)?;
    let variants = variants(criteria, summary)?;
    let leaves = leaves(criteria, summary, &variants)?;
    let steps: Matrix = leaves.iter().map(Leaf::steps).collect();
    let grades = options.method.prepare(&steps);
    let decision = Decision { hierarchy: &criteria.hierarchy, weights: &weighed.weights, grades: &grades };
    let utilities = decision.utilities();
    let sheet = Sheet { criteria, options, weighed: &weighed, leaves: &leaves, decision, utilities };
    Ok(sheet.ranking(summary, &variants))
}

/// Every method of a run with every variant, for criteria that name no alternatives.
fn all(criteria: &Criteria, summary: &Summary) -> Result<Vec<Alternative>, DocumentError> {
    let spot = &criteria.criteria[0].spot;
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for row in &summary.rows {
        if !subjects.contains(&row.subject()) {
            subjects.push(row.subject());
        }
    }
    if subjects.len() < 2 {
        let message = "the run has one method in one variant, and one alternative alone cannot be ranked";
        return Err(spot.error(message, "ranks all of the run"));
    }
    let first = places(summary, subjects[0]);
    if let Some(other) = subjects.iter().find(|subject| places(summary, **subject) != first) {
        let message = format!("`{}` and `{other}` were not measured in the same settings", subjects[0]);
        let hint = "a file of your own with `[[alternative]]` says what is ranked, and `networks` over what";
        return Err(spot.error(message, "ranks all of the run").hint(hint));
    }
    let shared = shared(&summary.rows);
    let alternative = |subject: Subject<'_>| Alternative {
        name: subject.without(&shared),
        method: subject.method.to_owned(),
        variant: Some(subject.variant.0.to_owned()),
        spot: spot.clone(),
    };
    Ok(subjects.into_iter().map(alternative).collect())
}

/// Where a method was measured.
fn places<'a>(summary: &'a Summary, subject: Subject<'a>) -> BTreeSet<Setting<'a>> {
    let rows = summary.rows.iter().filter(|row| row.subject() == subject);
    rows.map(keytoll_analysis::summary::SummaryRow::setting).collect()
}

/// The variant of every alternative in the run.
fn variants(criteria: &Criteria, summary: &Summary) -> Result<Vec<String>, DocumentError> {
    criteria.alternatives.iter().map(|alternative| variant(alternative, summary)).collect()
}

fn variant(alternative: &Alternative, summary: &Summary) -> Result<String, DocumentError> {
    let Alternative { name, method, variant, spot } = alternative;
    let of_method = summary.rows.iter().filter(|row| row.method == *method);
    let mut found: Vec<&str> = of_method.map(|row| row.variant.as_str()).collect();
    found.sort_unstable();
    found.dedup();
    match (&found[..], variant) {
        ([], _) => {
            let message = format!("the run has no row of `{method}`, which is the alternative `{name}`");
            let hint = format!("it has {}", listed(summary.rows.iter().map(|row| row.method.as_str())));
            Err(spot.error(message, "not in the run").hint(hint))
        }
        (_, Some(variant)) if found.contains(&variant.as_str()) => Ok(variant.clone()),
        ([only], None) => Ok((*only).to_owned()),
        (_, Some(variant)) => {
            let message = format!("the run has no variant `{variant}` of `{method}`");
            Err(spot.error(message, "not in the run").hint(format!("it has {}", listed(found.into_iter()))))
        }
        (several, None) => {
            let message = format!("the run has {} variants of `{method}`", several.len());
            let hint = format!("say which with `variant`: {}", listed(found.into_iter()));
            Err(spot.error(message, "which one?").hint(hint))
        }
    }
}

/// Names, each once.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.dedup();
    if names.is_empty() { "no rows".to_owned() } else { names.join(", ") }
}

fn leaves(criteria: &Criteria, summary: &Summary, variants: &[String]) -> Result<Vec<Leaf>, DocumentError> {
    let graded =
        criteria.criteria.iter().filter_map(|criterion| Some((criterion, criterion.grading.as_ref()?)));
    let leaf = |(criterion, grading): (&Criterion, &Grading)| {
        Ok(Leaf { gamma: criterion.gamma, basis: basis(criteria, criterion, grading, summary, variants)? })
    };
    graded.map(leaf).collect()
}

fn basis(
    criteria: &Criteria,
    criterion: &Criterion,
    grading: &Grading,
    summary: &Summary,
    variants: &[String],
) -> Result<Basis, DocumentError> {
    let (values, scale) = match grading {
        Grading::Given(grades) => return Ok(Basis::Given(grades.clone())),
        Grading::Valued(values, scale) => {
            (values.iter().map(|&value| Valued { value, log2_stddev: 0.0 }).collect(), scale)
        }
        Grading::Measured(measurement, scale) => {
            let value = |(alternative, variant): (&Alternative, &String)| {
                let found = measurement.of(summary, &alternative.method, variant);
                found.map_err(|missing| {
                    let message = format!("`{}` cannot be graded: the run has {missing}", criterion.name);
                    criterion.spot.error(message, "not measured")
                })
            };
            let values = criteria.alternatives.iter().zip(variants).map(value);
            (values.collect::<Result<Vec<Valued>, _>>()?, scale)
        }
    };
    check_reference(criteria, criterion, &values, scale)?;
    Ok(Basis::Valued { values, rule: scale.rule.clone(), reference: scale.reference })
}

/// Nothing is a multiple of a reference that is 0 in this run.
fn check_reference(
    criteria: &Criteria,
    criterion: &Criterion,
    values: &[Valued],
    Scale { rule, reference }: &Scale,
) -> Result<(), DocumentError> {
    match *reference {
        Reference::Best if rule.best(&values.iter().map(|it| it.value).collect::<Vec<_>>()) <= 0.0 => {
            let name = &criterion.name;
            let message =
                format!("`{name}` cannot be graded: the best value is 0, and nothing is a multiple of it");
            Err(criterion
                .spot
                .error(message, "relative to 0")
                .hint("a number as `reference`, or `thresholds`"))
        }
        Reference::Alternative(place) if values[place].value <= 0.0 => {
            let (name, of) = (&criterion.name, &criteria.alternatives[place].name);
            let message = format!(
                "`{name}` cannot be graded: its reference `{of}` is 0, and nothing is a multiple of it"
            );
            let hint = "another alternative or a number as `reference`; CPU times are 0 without cryptography";
            Err(criterion.spot.error(message, "relative to 0").hint(hint))
        }
        _ => Ok(()),
    }
}

/// Everything a ranking is written from.
struct Sheet<'a> {
    criteria: &'a Criteria,
    options: &'a Options,
    weighed: &'a Weighed,
    leaves: &'a [Leaf],
    decision: Decision<'a>,
    utilities: Vec<f64>,
}

impl Sheet<'_> {
    fn ranking(&self, summary: &Summary, variants: &[String]) -> Ranking {
        let sweeps = self.decision.sweeps();
        Ranking {
            format: FORMAT,
            run: summary.title.clone(),
            complete: summary.complete,
            criteria_title: self.criteria.title.clone(),
            criteria_source: self.criteria.source.clone(),
            method: self.options.method.name.to_owned(),
            about: self.options.method.about.to_owned(),
            alternatives: self.alternatives(variants),
            lead: self.lead(),
            criteria: self.weights(),
            opinions: opinions(self.criteria).iter().map(|opinion| self.of_experts(opinion)).collect(),
            unrounded: self.unrounded(),
            methods: METHODS.iter().map(|method| self.by_method(method)).collect(),
            nearest_reversal: self.nearest(&sweeps, |_| true),
            nearest_other_winner: self.nearest_other_winner(&sweeps),
            sensitivity: sweeps.iter().map(|sweep| self.sensitivity(sweep)).collect(),
            draws: self.options.draws,
            seed: self.options.seed.to_string(),
            acceptability: [Weights::Near, Weights::Any].map(|weights| self.drawn(weights)).to_vec(),
            tornado: self.tornado(),
        }
    }

    fn name(&self, alternative: usize) -> String {
        self.criteria.alternatives[alternative].name.clone()
    }

    fn criterion(&self, place: usize) -> String {
        self.criteria.criteria[place].name.clone()
    }

    /// Numbers by alternative, in the order of the file.
    fn by_alternative(&self, numbers: &[f64]) -> Named<f64> {
        numbers.iter().enumerate().map(|(place, &number)| (self.name(place), number)).collect()
    }

    fn alternatives(&self, variants: &[String]) -> Vec<Ranked> {
        let (ranks, scores) = (ranks(&self.utilities), self.options.method.scores(&self.utilities));
        let ranked = |place: usize| Ranked {
            rank: ranks[place],
            name: self.name(place),
            method: self.criteria.alternatives[place].method.clone(),
            variant: variants[place].clone(),
            score: scores[place],
            utility: self.utilities[place],
        };
        order(&self.utilities).into_iter().map(ranked).collect()
    }

    /// There are two alternatives at least.
    fn lead(&self) -> f64 {
        match order(&self.utilities)[..] {
            [best, second, ..] => self.utilities[best] - self.utilities[second],
            _ => 0.0,
        }
    }

    fn weights(&self) -> Vec<Weight> {
        let shares = self.criteria.hierarchy.shares(&self.weighed.weights);
        let mut leaves = self.leaves.iter();
        let nodes = self.criteria.hierarchy.nodes().iter().enumerate();
        let weight = |(place, node): (usize, &crate::hierarchy::Node)| {
            let criterion = &self.criteria.criteria[place];
            let leaf = if node.is_leaf { leaves.next() } else { None };
            let (measure, unit) = described(criterion).unzip();
            Weight {
                name: criterion.name.clone(),
                title: criterion.title.clone(),
                under: node.parent.map(|parent| self.criterion(parent)),
                weight: self.weighed.weights[place],
                origin: self.weighed.origins[place],
                share: shares[place],
                standing: criterion.standing,
                source: criterion.source.clone(),
                measure,
                unit,
                values: leaf.and_then(values).map(|values| self.by_alternative(&values)),
                grades: leaf.map(|leaf| self.by_alternative(&leaf.grades())),
            }
        };
        nodes.map(weight).collect()
    }

    fn of_experts(&self, opinion: &Opinion) -> OfExperts {
        let named = |weights: &[f64]| {
            opinion
                .group
                .iter()
                .zip(weights)
                .map(|(&place, &weight)| (self.criterion(place), weight))
                .collect()
        };
        let parent = self.criteria.hierarchy.nodes()[opinion.group[0]].parent;
        let expert = |residual: &Residual| {
            let expert = &self.criteria.experts[residual.expert];
            OfExpert {
                name: expert.name.clone(),
                importance: expert.judge.importance,
                standing: expert.standing,
                source: expert.source.clone(),
                residual_steps: residual.of_group_steps,
                contradiction_steps: residual.of_itself_steps,
            }
        };
        OfExperts {
            under: parent.map(|parent| self.criterion(parent)),
            weights: named(&opinion.weights),
            printed: opinion.printed.as_deref().map(named),
            experts: opinion.residuals.iter().map(expert).collect(),
        }
    }

    fn utilities_of(&self, grades: &Prepared) -> Vec<f64> {
        Decision { grades, ..self.decision }.utilities()
    }

    fn unrounded(&self) -> Vec<Unrounded> {
        let steps: Matrix = self.leaves.iter().map(|leaf| leaf.unrounded().steps()).collect();
        let utilities = self.utilities_of(&self.options.method.prepare(&steps));
        let (ranks, scores) = (ranks(&utilities), self.options.method.scores(&utilities));
        let one =
            |place: usize| Unrounded { rank: ranks[place], name: self.name(place), score: scores[place] };
        order(&utilities).into_iter().map(one).collect()
    }

    fn by_method(&self, method: &Method) -> Order {
        let steps: Matrix = self.leaves.iter().map(Leaf::steps).collect();
        let utilities = self.utilities_of(&method.prepare(&steps));
        let order = order(&utilities).into_iter().map(|place| self.name(place)).collect();
        Order { method: method.name.to_owned(), order }
    }

    fn sensitivity(&self, sweep: &Sweep) -> Sensitivity {
        let point = |step: u32| {
            let weight = f64::from(step) / f64::from(CURVE_STEPS);
            let utilities = self.decision.utilities_at(sweep.node, weight);
            Point { weight, scores: self.by_alternative(&self.options.method.scores(&utilities)) }
        };
        let change = |crossing: &Crossing| Change {
            at: crossing.at,
            above: self.name(crossing.above),
            below: self.name(crossing.below),
        };
        Sensitivity {
            criterion: self.criterion(sweep.node),
            weight: sweep.weight,
            crossings: sweep.crossings.iter().map(change).collect(),
            winner_keeps_from: sweep.winner_keeps.0,
            winner_keeps_to: sweep.winner_keeps.1,
            curve: (0..=CURVE_STEPS).map(point).collect(),
        }
    }

    /// The nearest of some changes of places over all criteria.
    fn nearest(&self, sweeps: &[Sweep], which: impl Fn(&Crossing) -> bool) -> Option<Reversal> {
        let of_sweep = |sweep: &Sweep| {
            let crossings = sweep.crossings.iter().copied().filter(&which);
            crossings.map(|crossing| (sweep.node, sweep.weight, crossing)).collect::<Vec<_>>()
        };
        let distance = |(_, weight, crossing): &(usize, f64, Crossing)| (crossing.at - weight).abs();
        let all = sweeps.iter().flat_map(of_sweep);
        let nearest = all.min_by(|one, other| distance(one).total_cmp(&distance(other)));
        nearest.map(|(node, weight, crossing)| Reversal {
            criterion: self.criterion(node),
            weight,
            at: crossing.at,
            above: self.name(crossing.above),
            below: self.name(crossing.below),
        })
    }

    /// Any change of the best with another is one of these.
    fn nearest_other_winner(&self, sweeps: &[Sweep]) -> Option<Reversal> {
        let best = order(&self.utilities).first().copied();
        self.nearest(sweeps, |crossing| Some(crossing.above) == best || Some(crossing.below) == best)
    }

    fn drawn(&self, weights: Weights) -> Drawn {
        let draws = Draws {
            hierarchy: &self.criteria.hierarchy,
            weights: &self.weighed.weights,
            leaves: self.leaves,
            method: self.options.method,
            seed: self.options.seed,
            count: self.options.draws,
        };
        let found = draws.acceptability(weights);
        let named = |weights: &Vec<f64>| {
            weights.iter().enumerate().map(|(place, &weight)| (self.criterion(place), weight)).collect()
        };
        let accepted = |place: usize| Accepted {
            name: self.name(place),
            ranks: found[place].ranks.clone(),
            central_weights: found[place].central_weights.as_ref().map(named),
        };
        Drawn { weights, alternatives: order(&self.utilities).into_iter().map(accepted).collect() }
    }

    fn tornado(&self) -> Vec<TornadoBar> {
        let (hierarchy, weights) = (&self.criteria.hierarchy, &self.weighed.weights);
        let bar = |Bar { input, less, more }: Bar| {
            let (place, input) = match input {
                Input::Weight(place) => (place, Changed::Weight),
                Input::Grade(place) => (place, Changed::Grade),
            };
            TornadoBar { criterion: self.criterion(place), input, less, more }
        };
        tornado(hierarchy, weights, self.leaves, self.options.method).into_iter().map(bar).collect()
    }
}

/// What a criterion measures, and the unit.
fn described(criterion: &Criterion) -> Option<(String, String)> {
    let Some(Grading::Measured(measurement, _)) = &criterion.grading else { return None };
    Some((measurement.described(), measurement.measure.unit.to_owned()))
}

fn values(leaf: &Leaf) -> Option<Vec<f64>> {
    let Basis::Valued { values, .. } = &leaf.basis else { return None };
    Some(values.iter().map(|value| value.value).collect())
}
