//! The weights within every group of criteria: those that the file states, those of its experts, or others by choice.

use keytoll_document::{DocumentError, choice};
use schemars::JsonSchema;
use serde::Serialize;

use crate::experts::{Judge, contradiction_steps, fit, residual_steps};
use crate::file::{Criteria, Expert, Standing};

/// Which weights are used where the file has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// What the file states; else its experts; else the importances of the criteria; else all alike.
    #[default]
    Preferred,
    /// All its experts, where they compared the criteria.
    Experts,
    /// Those of its experts whose judgements are not derived or reconstructed.
    Printed,
    /// All alike.
    Equal,
}

impl By {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Preferred, Self::Experts, Self::Printed, Self::Equal];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preferred => "file",
            Self::Experts => "experts",
            Self::Printed => "printed",
            Self::Equal => "equal",
        }
    }
}

/// The weights to use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chosen {
    /// Where from.
    pub by: By,
    /// Criteria with a weight of their own; the rest of their group shares what is left.
    pub given: Vec<(String, f64)>,
}

/// Where a weight is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The file states it.
    Stated,
    /// Experts compared the criteria.
    Experts,
    /// The importances of the criteria.
    Importance,
    /// Nobody said anything, or it was chosen: all of the group weigh the same.
    Equal,
    /// Given beside the file.
    Given,
}

/// Weights within the groups with their origins.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed {
    /// Of every criterion, within its group.
    pub weights: Vec<f64>,
    /// Where each is from.
    pub origins: Vec<Origin>,
}

/// What the experts say about a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Opinion {
    /// The group.
    pub group: Vec<usize>,
    /// The weights of all of them.
    pub weights: Vec<f64>,
    /// Of those alone whose judgements are given or printed, if there are others and they connect the group.
    pub printed: Option<Vec<f64>>,
    /// How far from it each is, by the expert's place in the file.
    pub residuals: Vec<Residual>,
}

/// How far an expert is from the group, and from himself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// The expert.
    pub expert: usize,
    /// From the weights of all: root of the mean square, in steps.
    pub of_group_steps: f64,
    /// What no weights at all can explain, in steps.
    pub of_itself_steps: f64,
}

/// How far stated weights may be from a sum of 1: they are printed with few digits.
const SUM_TOLERANCE: f64 = 0.005;

/// The weights of a file.
///
/// # Errors
/// Stated weights that are not complete or do not add up to 1, and given ones that name no criterion or are too many.
pub fn weighed(criteria: &Criteria, chosen: &Chosen) -> Result<Weighed, DocumentError> {
    check_choice(criteria, chosen.by)?;
    let count = criteria.criteria.len();
    let mut weighed = Weighed { weights: vec![1.0; count], origins: vec![Origin::Equal; count] };
    for group in criteria.hierarchy.groups() {
        let (weights, origin) = of_group(criteria, group, chosen.by)?;
        for (&criterion, weight) in group.iter().zip(weights) {
            weighed.weights[criterion] = weight;
            weighed.origins[criterion] = origin;
        }
        give(criteria, group, chosen, &mut weighed)?;
    }
    let known = |name: &String| criteria.criterion(name).is_some();
    let unknown = chosen.given.iter().find(|(name, _)| !known(name));
    unknown.map_or(Ok(weighed), |(name, _)| {
        let names: Vec<_> = criteria.criteria.iter().map(|criterion| criterion.name.as_str()).collect();
        Err(DocumentError::nowhere(format!("unknown criterion `{name}`")).hint(choice(name, &names)))
    })
}

/// Whether there is anybody whose weights are asked for.
fn check_choice(criteria: &Criteria, by: By) -> Result<(), DocumentError> {
    let missing = match by {
        By::Experts if criteria.experts.is_empty() => "no experts",
        By::Printed if !criteria.experts.iter().any(is_printed) => "no experts whose judgements are printed",
        _ => return Ok(()),
    };
    let message = format!("the criteria have {missing}, so there are no weights of theirs");
    Err(DocumentError::nowhere(message).hint("`--weights file` or `--weights equal`, or `NAME=WEIGHT`"))
}

fn is_printed(expert: &Expert) -> bool {
    matches!(expert.standing, Standing::Given | Standing::Printed)
}

fn of_group(criteria: &Criteria, group: &[usize], by: By) -> Result<(Vec<f64>, Origin), DocumentError> {
    let stated = stated(criteria, group)?.map(|weights| (weights, Origin::Stated));
    let by_importance = importance(criteria, group)?.map(|weights| (weights, Origin::Importance));
    let of_experts = |which: fn(&Expert) -> bool| {
        let weights = fit(group.len(), &judges(criteria, group, which)).ok()?;
        (group.len() > 1).then_some((weights, Origin::Experts))
    };
    let everybody: fn(&Expert) -> bool = |_| true;
    let equal = || (vec![1.0 / group.len() as f64; group.len()], Origin::Equal);
    let found = match by {
        By::Preferred => stated.or_else(|| of_experts(everybody)).or(by_importance),
        By::Experts => of_experts(everybody).or(stated).or(by_importance),
        By::Printed => of_experts(is_printed).or(stated).or(by_importance),
        By::Equal => None,
    };
    Ok(found.unwrap_or_else(equal))
}

fn judges(criteria: &Criteria, group: &[usize], which: fn(&Expert) -> bool) -> Vec<Judge> {
    criteria.experts.iter().filter(|expert| which(expert)).filter_map(|expert| expert.within(group)).collect()
}

/// What the file states of every criterion of a group, or of none.
fn all_or_none(
    criteria: &Criteria,
    group: &[usize],
    key: &str,
    of: fn(&crate::file::Criterion) -> Option<f64>,
) -> Result<Option<Vec<f64>>, DocumentError> {
    let found: Vec<f64> = group.iter().filter_map(|&one| of(&criteria.criteria[one])).collect();
    let lacking = group.iter().map(|&one| &criteria.criteria[one]).find(|criterion| of(criterion).is_none());
    match lacking {
        None => Ok(Some(found)),
        Some(_) if found.is_empty() => Ok(None),
        Some(criterion) => {
            let name = &criterion.name;
            let message = format!("`{name}` has no `{key}`, and others beside it have one");
            Err(criterion.spot.error(message, "all of a group have one, or none"))
        }
    }
}

fn stated(criteria: &Criteria, group: &[usize]) -> Result<Option<Vec<f64>>, DocumentError> {
    let Some(weights) = all_or_none(criteria, group, "weight", |criterion| criterion.weight)? else {
        return Ok(None);
    };
    let sum: f64 = weights.iter().sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        let first = &criteria.criteria[group[0]];
        let message = format!("the weights beside `{}` add up to {}, not to 1", first.name, shown(sum));
        return Err(first.spot.error(message, "the first of them"));
    }
    Ok(Some(weights.iter().map(|weight| weight / sum).collect()))
}

/// Without the digits that addition adds.
fn shown(sum: f64) -> f64 {
    (sum * 1e6).round() / 1e6
}

fn importance(criteria: &Criteria, group: &[usize]) -> Result<Option<Vec<f64>>, DocumentError> {
    let steps = all_or_none(criteria, group, "importance", |criterion| criterion.importance)?;
    Ok(steps.map(|steps| {
        let powers: Vec<f64> = steps.iter().map(|steps| steps.exp2()).collect();
        let sum: f64 = powers.iter().sum();
        powers.iter().map(|power| power / sum).collect()
    }))
}

/// Replaces the given weights of a group and lets the rest share what is left.
fn give(
    criteria: &Criteria,
    group: &[usize],
    chosen: &Chosen,
    weighed: &mut Weighed,
) -> Result<(), DocumentError> {
    let given = |criterion: usize| {
        let name = &criteria.criteria[criterion].name;
        chosen.given.iter().rev().find(|(given, _)| given == name).map(|(_, weight)| *weight)
    };
    let sum: f64 = group.iter().filter_map(|&one| given(one)).sum();
    let rest: Vec<usize> = group.iter().copied().filter(|&one| given(one).is_none()).collect();
    if rest.len() == group.len() {
        return Ok(());
    }
    if sum > 1.0 + SUM_TOLERANCE || (rest.is_empty() && (sum - 1.0).abs() > SUM_TOLERANCE) {
        let message = format!("the given weights add up to {}, not to 1", shown(sum));
        let hint = "weights of criteria under the same one add up to 1; those without share what is left";
        return Err(DocumentError::nowhere(message).hint(hint));
    }
    let before: f64 = rest.iter().map(|&one| weighed.weights[one]).sum();
    for &criterion in group {
        let part = if before > 0.0 { weighed.weights[criterion] / before } else { 1.0 / rest.len() as f64 };
        weighed.weights[criterion] = given(criterion).unwrap_or((1.0 - sum).max(0.0) * part);
        if given(criterion).is_some() {
            weighed.origins[criterion] = Origin::Given;
        }
    }
    let sum: f64 = group.iter().map(|&one| weighed.weights[one]).sum();
    group.iter().for_each(|&one| weighed.weights[one] /= sum);
    Ok(())
}

/// What the experts say, group by group.
pub fn opinions(criteria: &Criteria) -> Vec<Opinion> {
    criteria.hierarchy.groups().iter().filter_map(|group| opinion(criteria, group)).collect()
}

fn opinion(criteria: &Criteria, group: &[usize]) -> Option<Opinion> {
    let everybody = judges(criteria, group, |_| true);
    let printed = judges(criteria, group, is_printed);
    let weights = fit(group.len(), &everybody).ok().filter(|_| !everybody.is_empty())?;
    let residual = |(place, expert): (usize, &Expert)| {
        let judge = expert.within(group)?;
        Some(Residual {
            expert: place,
            of_group_steps: residual_steps(&judge, &weights),
            of_itself_steps: contradiction_steps(group.len(), &judge),
        })
    };
    Some(Opinion {
        group: group.to_vec(),
        printed: (printed.len() < everybody.len()).then(|| fit(group.len(), &printed).ok()).flatten(),
        residuals: criteria.experts.iter().enumerate().filter_map(residual).collect(),
        weights,
    })
}
