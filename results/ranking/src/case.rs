//! A case to decide: criteria and the run that they rank, checked, so that nothing but weights can be wrong later.

use std::borrow::Cow;
use std::collections::BTreeSet;

use keytoll_analysis::Summary;
use keytoll_analysis::comparable::{Setting, Subject, listed, shared};
use keytoll_analysis::summary::SummaryRow;
use keytoll_document::DocumentError;

use crate::file::{ALTERNATIVES_MAX, Alternative, Criteria, Criterion, Grading, MEASURED, Scale};
use crate::graded::{Basis, Doubt, Leaf, Reference, Valued};
use crate::measured::Measurement;
use crate::resampling::{Authentications, Estimate, Resamples};

/// Rows that are resampled at most: more would take longer than anybody waits, and more memory than there is.
const RESAMPLED_MAX: usize = 1000;

/// What is ranked by what.
#[derive(Debug)]
pub struct Case<'a> {
    /// The criteria, which have alternatives.
    pub(crate) criteria: Cow<'a, Criteria>,
    /// The run.
    pub(crate) summary: &'a Summary,
    /// The variant of each alternative.
    pub(crate) variants: Vec<String>,
}

impl<'a> Case<'a> {
    /// Looks up in the run what the criteria need of it.
    ///
    /// # Errors
    /// The run lacks something, or has too many methods.
    pub fn new(criteria: &'a Criteria, summary: &'a Summary) -> Result<Self, DocumentError> {
        let criteria = if criteria.alternatives.is_empty() {
            Cow::Owned(Criteria { alternatives: all(criteria, summary)?, ..criteria.clone() })
        } else {
            Cow::Borrowed(criteria)
        };
        let variants = variants(&criteria, summary)?;
        let case = Self { criteria, summary, variants };
        case.leaves(&Resamples::default())?;
        Ok(case)
    }

    /// What [`Authentications::read`] has to read; nothing if nothing is measured of single authentications.
    pub fn estimates(&self) -> Vec<Estimate> {
        let mut estimates = Vec::new();
        for estimate in self.measurements().flat_map(Measurement::estimates) {
            if !estimates.contains(&estimate) {
                estimates.push(estimate);
            }
        }
        estimates
    }

    fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        self.criteria.criteria.iter().filter_map(|criterion| match &criterion.grading {
            Some(Grading::Measured(measurement, _)) => Some(measurement),
            _ => None,
        })
    }

    /// The rows of the alternatives.
    fn ranked(&self) -> impl Iterator<Item = &SummaryRow> {
        let subjects: BTreeSet<(&str, &str)> = self.subjects().collect();
        let rows = self.summary.rows.iter();
        rows.filter(move |row| subjects.contains(&(row.method.as_str(), row.variant.as_str())))
    }

    /// Method and variant of each alternative.
    fn subjects(&self) -> impl Iterator<Item = (&str, &str)> {
        let alternatives = self.criteria.alternatives.iter().zip(&self.variants);
        alternatives.map(|(alternative, variant)| (alternative.method.as_str(), variant.as_str()))
    }

    /// For each alternative the first one that is the same method and variant.
    pub(crate) fn same(&self) -> Vec<usize> {
        let subjects: Vec<_> = self.subjects().collect();
        let first = |subject| subjects.iter().position(|other| other == subject).unwrap_or_default();
        subjects.iter().map(first).collect()
    }

    /// Resamples the rows of the alternatives, or says why it does not.
    pub(crate) fn resamples(
        &self,
        authentications: &Authentications,
        seed: u64,
    ) -> Result<Resamples, String> {
        match authentications {
            Authentications::Unread(why) => Err(why.clone()),
            Authentications::Read(_) if self.ranked().count() > RESAMPLED_MAX => {
                Err(format!("the run has more than {RESAMPLED_MAX} rows"))
            }
            Authentications::Read(read) => {
                let names = self.ranked().map(SummaryRow::name);
                Ok(Resamples::new(read, &self.estimates(), names, seed))
            }
        }
    }

    /// The criteria at the bottom with their grades.
    pub(crate) fn leaves(&self, resamples: &Resamples) -> Result<Vec<Leaf>, DocumentError> {
        let criteria = self.criteria.criteria.iter();
        let graded = criteria.filter_map(|criterion| Some((criterion, criterion.grading.as_ref()?)));
        let leaf = |(criterion, grading): (&Criterion, &Grading)| {
            Ok(Leaf { gamma: criterion.gamma, basis: self.basis(criterion, grading, resamples)? })
        };
        graded.map(leaf).collect()
    }

    fn basis(
        &self,
        criterion: &Criterion,
        grading: &Grading,
        resamples: &Resamples,
    ) -> Result<Basis, DocumentError> {
        let (values, scale) = match grading {
            Grading::Given(grades) => return Ok(Basis::Given(grades.clone())),
            Grading::Valued(values, scale) => {
                (values.iter().map(|&value| Valued { value, doubt: Doubt::None }).collect(), scale)
            }
            Grading::Measured(measurement, scale) => {
                let value = |(method, variant)| {
                    let found = measurement.of(self.summary, method, variant, resamples);
                    found.map_err(|missing| {
                        let message = format!("`{}` cannot be graded: the run has {missing}", criterion.name);
                        criterion.spot.error(message, "not measured")
                    })
                };
                (self.subjects().map(value).collect::<Result<Vec<Valued>, _>>()?, scale)
            }
        };
        check_reference(&self.criteria, criterion, &values, scale)?;
        Ok(Basis::Valued { values, rule: scale.rule.clone(), reference: scale.reference })
    }
}

/// Every method of a run with every variant, for criteria that name no alternatives.
fn all(criteria: &Criteria, summary: &Summary) -> Result<Vec<Alternative>, DocumentError> {
    let spot = &criteria.criteria[0].spot;
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for row in &summary.rows {
        if !subjects.contains(&row.subject()) {
            subjects.push(row.subject());
        }
        if subjects.len() > ALTERNATIVES_MAX {
            let message = format!(
                "the run has more than {ALTERNATIVES_MAX} methods with their variants, and no more are ranked"
            );
            return Err(spot.error(message, "ranks all of the run").hint(OWN));
        }
    }
    if subjects.len() < 2 {
        let message = "the run has one method in one variant, and one alternative alone cannot be ranked";
        return Err(spot.error(message, "ranks all of the run"));
    }
    let first = places(summary, subjects[0]);
    if let Some(other) = subjects.iter().find(|subject| places(summary, **subject) != first) {
        let message = format!("`{}` and `{other}` were not measured in the same settings", subjects[0]);
        let hint = format!("{OWN}, and `networks` over what");
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

/// What ranks some of a run.
const OWN: &str = "a file of your own with `[[alternative]]` says what is ranked";

/// Where a method was measured.
fn places<'a>(summary: &'a Summary, subject: Subject<'a>) -> BTreeSet<Setting<'a>> {
    let rows = summary.rows.iter().filter(|row| row.subject() == subject);
    rows.map(SummaryRow::setting).collect()
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
            let names = listed(summary.rows.iter().map(|row| row.method.as_str()));
            let hint = format!("it has {names}; the built-in criteria `{MEASURED}` rank any run");
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
