//! Experts and what they compared. Criteria are compared within their group only.

use keytoll_document::tree::{Item, Table};
use keytoll_document::{DocumentError, Spot, choice};

use super::{Criterion, GAMMAS, Standing, name, standing, words};
use crate::experts::{Comparison, FitError, Judge, fit};
use crate::hierarchy::Hierarchy;

/// More experts than anybody asks.
const EXPERTS_MAX: usize = 1000;

/// An expert; comparisons are between indices of criteria.
#[derive(Debug, Clone)]
pub struct Expert {
    /// The name.
    pub name: String,
    /// What was said.
    pub judge: Judge,
    /// How well it is founded.
    pub standing: Standing,
    /// Where it is from.
    pub source: String,
    /// Where it stands.
    pub spot: Spot,
}

impl Expert {
    /// The judgements within a group of criteria, which are then counted from its first.
    pub fn within(&self, group: &[usize]) -> Option<Judge> {
        let place = |criterion: usize| group.iter().position(|&one| one == criterion);
        let inside = |it: &Comparison| {
            Some(Comparison { first: place(it.first)?, second: place(it.second)?, steps: it.steps })
        };
        let comparisons: Vec<_> = self.judge.comparisons.iter().filter_map(inside).collect();
        (!comparisons.is_empty()).then_some(Judge { comparisons, ..self.judge })
    }
}

pub(super) fn experts(
    document: &Table,
    criteria: &[Criterion],
    hierarchy: &Hierarchy,
) -> Result<Vec<Expert>, DocumentError> {
    if document.get("expert").is_none() {
        return Ok(Vec::new());
    }
    let mut experts: Vec<Expert> = Vec::new();
    for table in super::tables(document, "expert", EXPERTS_MAX)? {
        let taken: Vec<_> = experts.iter().map(|one| one.name.as_str()).collect();
        let expert = expert(table, &taken, criteria, hierarchy)?;
        experts.push(expert);
    }
    for group in hierarchy.groups() {
        check_connection(&experts, group, criteria)?;
    }
    Ok(experts)
}

/// Importances: nobody counts for nothing.
const IMPORTANCES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

fn expert(
    table: &Table,
    taken: &[&str],
    criteria: &[Criterion],
    hierarchy: &Hierarchy,
) -> Result<Expert, DocumentError> {
    table.only("an expert", &["name", "importance", "index", "compare", "standing", "source"])?;
    let name = name(table, "an expert", taken)?;
    let compared = table.need("compare", "an expert")?.some_elements("comparison")?;
    let comparisons = compared.iter().map(|item| comparison(item, criteria, hierarchy));
    let judge = Judge {
        importance: table.or("importance", 1.0, |item| item.number(&IMPORTANCES))?,
        gamma: table.or("index", 1.0, |item| item.number(&GAMMAS))?,
        comparisons: comparisons.collect::<Result<_, _>>()?,
    };
    let (standing, source) = (standing(table)?, words(table, "source")?);
    Ok(Expert { name, judge, standing, source, spot: table.spot.clone() })
}

/// Lootsma's scale ends at 8 steps; derived means of several experts are within it, too.
const STEPS: std::ops::RangeInclusive<f64> = -8.0..=8.0;

/// `["a", "b", 2]`.
fn comparison(
    item: &Item,
    criteria: &[Criterion],
    hierarchy: &Hierarchy,
) -> Result<Comparison, DocumentError> {
    let [first, second, steps] = item.elements() else {
        let message = "a comparison is two criteria and how many steps more important the first one is";
        return Err(item.spot.error(message, "not of this form").hint("like `[\"security\", \"delay\", 2]`"));
    };
    let named = |item: &Item| {
        let name = item.text("the name of a criterion")?;
        let names = || criteria.iter().map(|criterion| criterion.name.as_str()).collect::<Vec<_>>();
        let found = criteria.iter().position(|criterion| criterion.name == name);
        found.ok_or_else(|| {
            item.spot
                .error(format!("unknown criterion `{name}`"), "no such criterion")
                .hint(choice(name, &names()))
        })
    };
    let found = Comparison { first: named(first)?, second: named(second)?, steps: steps.number(&STEPS)? };
    if found.first == found.second {
        return Err(second.spot.error("a criterion is compared with itself", "the same again"));
    }
    if !hierarchy.siblings(found.first).contains(&found.second) {
        let message = format!(
            "`{}` and `{}` are not under the same criterion, so they are not weighed against each other",
            criteria[found.first].name, criteria[found.second].name
        );
        return Err(second.spot.error(message, "of another group"));
    }
    Ok(found)
}

/// Whether the comparisons within a group, if there are any, connect it.
fn check_connection(
    experts: &[Expert],
    group: &[usize],
    criteria: &[Criterion],
) -> Result<(), DocumentError> {
    let judging = experts.iter().filter_map(|expert| Some((expert, expert.within(group)?)));
    let (judging, judges): (Vec<_>, Vec<_>) = judging.unzip();
    let (Some(first), Err(FitError::Disconnected(parts))) = (judging.first(), fit(group.len(), &judges))
    else {
        return Ok(());
    };
    let list = |part: &Vec<usize>| {
        let names: Vec<_> = part.iter().map(|&one| format!("`{}`", criteria[group[one]].name)).collect();
        names.join(", ")
    };
    let cut_off: Vec<_> = parts[1..].iter().map(list).collect();
    let message = format!("no comparison connects {} with {}", list(&parts[0]), cut_off.join(", nor with "));
    let hint = "one more comparison of any expert for each of them is enough";
    Err(first.spot.error(message, "the comparisons begin here").hint(hint))
}
