//! From a [`Case`] to a [`Ranking`].

use std::thread;

use keytoll_analysis::{Named, Summary};
use keytoll_document::DocumentError;

use crate::acceptability::{Draws, Weights};
use crate::case::Case;
use crate::file::{Criteria, Criterion, Grading};
use crate::graded::{Basis, Doubt, Leaf, Valued};
use crate::methods::{METHODS, Matrix, Method, Prepared, order, ranks};
use crate::outcome::{
    Accepted, Change, Changed, Drawn, DrawnFrom, FORMAT, Measurements, OfExpert, OfExperts, Order, Point,
    Ranked, Ranking, Reversal, Sensitivity, TornadoBar, Unrounded, Weight,
};
use crate::resampling::{Authentications, Resamples};
use crate::sensitivity::{Crossing, Decision, Sweep};
use crate::tornado::{Bar, Input, tornado};
use crate::weighed::{Chosen, Opinion, Residual, Weighed, opinions, weighed};

#[cfg(doc)]
use crate::acceptability::DRAWS_AT_ONCE;

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
    let unread = Authentications::Unread("there are no single authentications of it".to_owned());
    Case::new(criteria, summary)?.rank(&unread, options, &|| {})
}

impl Case<'_> {
    /// Ranks the alternatives. `done` is called after every [`DRAWS_AT_ONCE`] draws of either kind of weights.
    ///
    /// # Errors
    /// When the weights cannot be used.
    pub fn rank(
        &self,
        authentications: &Authentications,
        options: &Options,
        done: &(dyn Fn() + Sync),
    ) -> Result<Ranking, DocumentError> {
        let weighed = weighed(&self.criteria, &options.weights)?;
        let (resamples, unread) = match self.resamples(authentications, options.seed) {
            Ok(resamples) => (resamples, None),
            Err(why) => (Resamples::default(), Some(why)),
        };
        let leaves = self.leaves(&resamples)?;
        let steps: Matrix = leaves.iter().map(Leaf::steps).collect();
        let grades = options.method.prepare(&steps);
        let hierarchy = &self.criteria.hierarchy;
        let decision = Decision { hierarchy, weights: &weighed.weights, grades: &grades };
        let utilities = decision.utilities();
        let (criteria, weighed) = (&*self.criteria, &weighed);
        let sheet = Sheet {
            case: self,
            criteria,
            options,
            weighed,
            leaves: &leaves,
            decision,
            utilities,
            unread,
            done,
        };
        Ok(sheet.ranking())
    }
}

/// Everything a ranking is written from.
struct Sheet<'a> {
    case: &'a Case<'a>,
    criteria: &'a Criteria,
    options: &'a Options,
    weighed: &'a Weighed,
    leaves: &'a [Leaf],
    decision: Decision<'a>,
    utilities: Vec<f64>,
    /// Why nothing was resampled.
    unread: Option<String>,
    done: &'a (dyn Fn() + Sync),
}

impl Sheet<'_> {
    fn ranking(&self) -> Ranking {
        let summary = self.case.summary;
        let sweeps = self.decision.sweeps();
        Ranking {
            format: FORMAT,
            run: summary.title.clone(),
            complete: summary.complete,
            criteria_title: self.criteria.title.clone(),
            criteria_source: self.criteria.source.clone(),
            method: self.options.method.name.to_owned(),
            about: self.options.method.about.to_owned(),
            alternatives: self.alternatives(),
            lead: self.lead(),
            notes: Vec::new(),
            criteria: self.weights(),
            opinions: opinions(self.criteria).iter().map(|opinion| self.of_experts(opinion)).collect(),
            unrounded: self.unrounded(),
            methods: METHODS.iter().map(|method| self.by_method(method)).collect(),
            nearest_reversal: self.nearest(&sweeps, |_| true),
            nearest_other_winner: self.nearest_other_winner(&sweeps),
            sensitivity: sweeps.iter().map(|sweep| self.sensitivity(sweep)).collect(),
            draws: self.options.draws,
            measurements: self.measurements(),
            seed: self.options.seed.to_string(),
            acceptability: self.acceptability(),
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

    fn alternatives(&self) -> Vec<Ranked> {
        let (ranks, scores) = (ranks(&self.utilities), self.options.method.scores(&self.utilities));
        let ranked = |place: usize| Ranked {
            rank: ranks[place],
            name: self.name(place),
            method: self.criteria.alternatives[place].method.clone(),
            variant: self.case.variants[place].clone(),
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
                drawn_from: leaf.and_then(drawn_from),
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
            same: &self.case.same(),
            seed: self.options.seed,
            count: self.options.draws,
            done: self.done,
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

    /// Both kinds of weights at the same time.
    fn acceptability(&self) -> Vec<Drawn> {
        thread::scope(|scope| {
            let drawn = [Weights::Near, Weights::Any].map(|weights| scope.spawn(move || self.drawn(weights)));
            drawn.map(|drawn| drawn.join().expect("arithmetic does not panic")).to_vec()
        })
    }

    /// How measured values were drawn; nothing if there are none.
    fn measurements(&self) -> Option<Measurements> {
        let is_measured = |criterion: &Criterion| matches!(criterion.grading, Some(Grading::Measured(..)));
        self.criteria.criteria.iter().any(is_measured).then(|| match &self.unread {
            None => Measurements::resampled(),
            Some(why) => Measurements::within_intervals(why),
        })
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

/// Where the values of a leaf are drawn from: resamples, if any of them is.
fn drawn_from(leaf: &Leaf) -> Option<DrawnFrom> {
    let Basis::Valued { values, .. } = &leaf.basis else { return None };
    let is_within = |value: &Valued| matches!(value.doubt, Doubt::Interval { .. });
    Some(match () {
        () if leaf.is_resampled() => DrawnFrom::Samples,
        () if values.iter().any(is_within) => DrawnFrom::Intervals,
        () => DrawnFrom::Nothing,
    })
}
