//! What a ranking says, as `keytoll rank --json` prints it. Fields are only ever added.

use keytoll_analysis::Named;
use schemars::JsonSchema;
use serde::Serialize;

use crate::acceptability::Weights;
use crate::file::Standing;
use crate::resampling::RESAMPLES;
use crate::weighed::Origin;

/// The format of [`Ranking`].
pub const FORMAT: u32 = 1;

/// A ranking of the methods of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ranking {
    /// The version of this interface.
    pub format: u32,
    /// The title of the run.
    pub run: String,
    /// False if the run was interrupted.
    pub complete: bool,
    /// The title of the criteria.
    pub criteria_title: String,
    /// Where the criteria are from.
    pub criteria_source: String,
    /// The method of ranking.
    pub method: String,
    /// What it does.
    pub about: String,
    /// The alternatives from the best to the worst.
    pub alternatives: Vec<Ranked>,
    /// By how much the utility of the best exceeds that of the second: for `mahp` and `wpm` in steps of the factor 2.
    #[serde(rename = "lead_utility")]
    pub lead: f64,
    /// Sentences on the order, such as on what makes it another one than a paper's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The criteria, those above before those below.
    pub criteria: Vec<Weight>,
    /// What the experts say, group by group.
    pub opinions: Vec<OfExperts>,
    /// The same ranking with fractions of grades.
    pub unrounded: Vec<Unrounded>,
    /// The order by every method of ranking.
    pub methods: Vec<Order>,
    /// What happens while the weight of a criterion goes from 0 to 1.
    pub sensitivity: Vec<Sensitivity>,
    /// The change of places that needs the least change of a weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest_reversal: Option<Reversal>,
    /// The change of the best that needs the least change of a weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest_other_winner: Option<Reversal>,
    /// Monte-Carlo draws for each kind of weights.
    pub draws: u32,
    /// Their seed as text, because JavaScript loses the low bits of 64-bit numbers.
    pub seed: String,
    /// How often an alternative has which rank.
    pub acceptability: Vec<Drawn>,
    /// How measured values are drawn; absent if none of the criteria is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurements: Option<Measurements>,
    /// The lead of the best over the second if one thing is otherwise, widest first.
    pub tornado: Vec<TornadoBar>,
}

/// How measured values are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measurements {
    /// From what.
    pub drawn_from: DrawnFrom,
    /// How often every row was resampled; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resamples: Option<u32>,
    /// The same as a sentence, which says why nothing was resampled.
    pub told: String,
}

/// From what values are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DrawnFrom {
    /// From resamples of the authentications.
    Samples,
    /// From the 95 % interval of each value.
    Intervals,
    /// From nothing: they stay as they are, for nothing says how uncertain they are.
    Nothing,
}

impl Measurements {
    pub(crate) fn resampled() -> Self {
        let told = format!(
            "Measured values are those of {RESAMPLES} resamples of each row's authentications (samples.csv)."
        );
        Self { drawn_from: DrawnFrom::Samples, resamples: Some(RESAMPLES as u32), told }
    }

    pub(crate) fn within_intervals(why: &str) -> Self {
        let told = format!(
            "Measured values are drawn from their 95 % intervals, and those without one stay as they are, for {why}."
        );
        Self { drawn_from: DrawnFrom::Intervals, resamples: None, told }
    }
}

/// An alternative in its place.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ranked {
    /// From 1; equal ones share it.
    pub rank: usize,
    /// Its name in the criteria.
    pub name: String,
    /// The method of the run.
    pub method: String,
    /// Its variant.
    pub variant: String,
    /// For `mahp` a share of 1; for the others see the method.
    pub score: f64,
    /// What it is ranked by; for `mahp` and `wpm` the weighted sum of steps.
    pub utility: f64,
}

/// A criterion with its weight and grades.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Weight {
    /// Its name.
    pub name: String,
    /// What it means.
    pub title: String,
    /// The criterion above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
    /// Its weight within its group.
    pub weight: f64,
    /// Where that is from.
    pub origin: Origin,
    /// Its weight in all.
    pub share: f64,
    /// How well its numbers are founded.
    pub standing: Standing,
    /// Where they are from.
    pub source: String,
    /// What is measured; absent if grades are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// The unit of its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What its values are drawn from; absent if grades are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn_from: Option<DrawnFrom>,
    /// The value of each alternative; absent if grades are given.
    #[serde(rename = "value", skip_serializing_if = "Option::is_none")]
    pub values: Option<Named<f64>>,
    /// The grade of each alternative; absent if there are criteria under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grades: Option<Named<f64>>,
}

/// What experts say about the criteria of a group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfExperts {
    /// The criterion above; absent for the main ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
    /// The weights of all experts.
    pub weights: Named<f64>,
    /// Of those alone whose judgements are not derived or reconstructed; absent if all are.
    #[serde(rename = "printed_weights", skip_serializing_if = "Option::is_none")]
    pub printed: Option<Named<f64>>,
    /// The experts.
    pub experts: Vec<OfExpert>,
}

/// An expert.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OfExpert {
    /// The name.
    pub name: String,
    /// P_d.
    pub importance: f64,
    /// How well the judgements are founded.
    pub standing: Standing,
    /// Where they are from.
    pub source: String,
    /// Distance from the weights of all: root of the mean square, in steps.
    pub residual_steps: f64,
    /// What no weights at all can explain, in steps.
    pub contradiction_steps: f64,
}

/// An alternative with fractions of grades.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Unrounded {
    /// From 1.
    pub rank: usize,
    /// Its name.
    pub name: String,
    /// Its score.
    pub score: f64,
}

/// The order of a method of ranking.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Order {
    /// The method.
    pub method: String,
    /// The alternatives from the best to the worst.
    pub order: Vec<String>,
}

/// A change of places.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The weight of the criterion at which both are equal.
    #[serde(rename = "at_weight")]
    pub at: f64,
    /// Who is ahead for greater weights.
    pub above: String,
    /// Who is ahead for smaller ones.
    pub below: String,
}

/// A change of places by the weight of a criterion.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reversal {
    /// The criterion.
    pub criterion: String,
    /// Its weight within its group.
    pub weight: f64,
    /// The weight of the criterion at which both are equal.
    #[serde(rename = "at_weight")]
    pub at: f64,
    /// Who is ahead for greater weights.
    pub above: String,
    /// Who is ahead for smaller ones.
    pub below: String,
}

/// Sensitivity to the weight of a criterion within its group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sensitivity {
    /// The criterion.
    pub criterion: String,
    /// Its weight as it is.
    pub weight: f64,
    /// Every change of places, by weight.
    pub crossings: Vec<Change>,
    /// The least weight with which the best stays the best.
    #[serde(rename = "winner_keeps_from_weight")]
    pub winner_keeps_from: f64,
    /// The greatest.
    #[serde(rename = "winner_keeps_to_weight")]
    pub winner_keeps_to: f64,
    /// Scores along the way.
    pub curve: Vec<Point>,
}

/// Scores at a weight.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// The weight.
    pub weight: f64,
    /// The score of each alternative.
    pub scores: Named<f64>,
}

/// What was drawn with one kind of weights.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Drawn {
    /// `any`: uniform in every group; `near`: those of this ranking, each within half a gradation.
    pub weights: Weights,
    /// The alternatives from the best to the worst.
    pub alternatives: Vec<Accepted>,
}

/// How often an alternative has which rank.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Accepted {
    /// Its name.
    pub name: String,
    /// The part of the draws in which it has each rank, from the first.
    pub ranks: Vec<f64>,
    /// The mean weights within the groups of the draws in which it is the best; absent if it never is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub central_weights: Option<Named<f64>>,
}

/// A bar of a tornado diagram.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TornadoBar {
    /// The criterion.
    pub criterion: String,
    /// What is changed of it.
    pub input: Changed,
    /// The lead with one step less; negative if the second is then ahead.
    #[serde(rename = "less_utility")]
    pub less: f64,
    /// The lead with one step more.
    #[serde(rename = "more_utility")]
    pub more: f64,
}

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Changed {
    /// Its weight, by a gradation.
    Weight,
    /// The grade of the best by it, by a grade.
    Grade,
}
