//! How a criterion grades: grades of the file, values of the file, or what a run measured.

use keytoll_analysis::trace::Link;
use keytoll_document::quantity::Kind;
use keytoll_document::tree::{Item, Table, Value};
use keytoll_document::{DocumentError, choice};

use super::{Alternative, GAMMAS, Grading, Scale};
use crate::graded::Reference;
use crate::grading::{Relative, Rounding, Rule};
use crate::measured::{Links, MEASURES, Measure, Measurement, Over, Place};

/// Every key of it.
pub(super) const KEYS: &[&str] = &[
    "grades",
    "values",
    "measure",
    "node",
    "links",
    "other_than",
    "networks",
    "topologies",
    "over",
    "absent",
    "thresholds",
    "reference",
    "better_max",
    "worse_max",
    "index",
    "better",
    "rounding",
];

/// Grades are within these steps: 2^(γ·g) and its square are finite with the greatest γ, too.
const GRADES: std::ops::RangeInclusive<f64> = -20.0..=20.0;

/// Values are: no less than nothing, and finite.
const VALUES: std::ops::RangeInclusive<f64> = 0.0..=1e18;

/// Grades that a limit may allow.
const LIMIT_MAX: u64 = 20;

/// How the criterion grades, if it does.
pub(super) fn grading(table: &Table, alternatives: &[Alternative]) -> Result<Option<Grading>, DocumentError> {
    let ways = ["grades", "values", "measure"].map(|key| table.entry(key));
    match ways {
        [None, None, None] => unused(table, &KEYS[3..], "`grades`, `values` or `measure`").map(|()| None),
        [Some(grades), None, None] => {
            unused(table, &KEYS[1..], "values or a measurement, and here are grades")?;
            Ok(Some(Grading::Given(by_alternative(&grades.item, alternatives, &GRADES)?)))
        }
        [None, Some(values), None] => {
            unused(table, &KEYS[3..10], "a measurement, and here are values")?;
            let values = by_alternative(&values.item, alternatives, &VALUES)?;
            let scale = scale(table, None, alternatives)?;
            check_reference(table, &values, &scale)?;
            Ok(Some(Grading::Valued(values, scale)))
        }
        [None, None, Some(measure)] => {
            let measurement = measurement(table, &measure.item)?;
            let scale = scale(table, Some(measurement.measure), alternatives)?;
            Ok(Some(Grading::Measured(measurement, scale)))
        }
        [_, Some(second), _] | [_, _, Some(second)] => {
            let message = "a criterion has one of `grades`, `values` and `measure`";
            Err(second.key_spot.error(message, "one too many"))
        }
    }
}

/// Refuses keys that mean nothing without another.
fn unused(table: &Table, keys: &[&str], needs: &str) -> Result<(), DocumentError> {
    let found = keys.iter().find_map(|key| table.entry(key));
    found.map_or(Ok(()), |entry| {
        Err(entry.key_spot.error(format!("`{}` belongs to {needs}", entry.key), "means nothing here"))
    })
}

/// A number for every alternative, in their order.
fn by_alternative(
    item: &Item,
    alternatives: &[Alternative],
    range: &std::ops::RangeInclusive<f64>,
) -> Result<Vec<f64>, DocumentError> {
    if alternatives.is_empty() {
        let message = format!(
            "`{}` needs alternatives: without `[[alternative]]` they are those of the run",
            item.name
        );
        return Err(item.spot.error(message, "of whom?").hint("`measure` does without"));
    }
    let table = item.table()?;
    let names: Vec<&str> = alternatives.iter().map(|alternative| alternative.name.as_str()).collect();
    table.only(&format!("`{}`, which has a number for each alternative", item.name), &names)?;
    names.iter().map(|name| table.need(name, &format!("`{}`", item.name))?.number(range)).collect()
}

fn measurement(table: &Table, item: &Item) -> Result<Measurement, DocumentError> {
    let all: Vec<&'static Measure> = MEASURES.iter().collect();
    let measure = item.pick("measure", &all, |measure| measure.name)?;
    let nodes = match measure.place {
        Place::Node => nodes(table.need("node", &format!("`{}`", measure.name))?)?,
        _ => unused(table, &["node"], "what is measured at a node").map(|()| Vec::new())?,
    };
    if measure.place != Place::Links {
        unused(table, &["links", "other_than"], "what is counted on links")?;
    }
    let over = |item: &Item| item.pick("way to take several rows as one", &Over::ALL, Over::name);
    Ok(Measurement {
        measure,
        nodes,
        links: links(table)?,
        networks: names(table, "networks")?,
        topologies: names(table, "topologies")?,
        over: table.or("over", Over::Median, over)?,
        absent: table.or("absent", None, |item| item.number(&VALUES).map(Some))?,
    })
}

/// A node, or several of which a method has one.
fn nodes(item: &Item) -> Result<Vec<String>, DocumentError> {
    let text = |item: &Item| Ok(item.text("a node")?.to_owned());
    match &item.value {
        Value::Text(_) => Ok(vec![text(item)?]),
        _ => item.some_elements("node")?.iter().map(text).collect(),
    }
}

fn links(table: &Table) -> Result<Links, DocumentError> {
    match (table.entry("links"), table.entry("other_than")) {
        (Some(_), Some(second)) => {
            Err(second.key_spot.error("either `links` or `other_than`", "one too many"))
        }
        (Some(_), None) => Ok(Links::Only(links_of(table, "links")?)),
        _ => Ok(Links::OtherThan(links_of(table, "other_than")?)),
    }
}

/// Names of links; one that no run can have would count nothing, and look like the best.
fn links_of(table: &Table, key: &str) -> Result<Vec<String>, DocumentError> {
    let Some(item) = table.get(key) else { return Ok(Vec::new()) };
    let known: Vec<String> = Link::all().map(Link::name).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let name = |item: &Item| match item.text("the name of a link")? {
        text if known.contains(&text) => Ok(text.to_owned()),
        text => Err(item.spot.unknown("link", text, &known)),
    };
    item.some_elements("link")?.iter().map(name).collect()
}

/// Strings; none if the key is missing.
fn names(table: &Table, key: &str) -> Result<Vec<String>, DocumentError> {
    let Some(item) = table.get(key) else { return Ok(Vec::new()) };
    let text = |item: &Item| Ok(item.text("a string")?.to_owned());
    item.some_elements("name")?.iter().map(text).collect()
}

fn scale(
    table: &Table,
    measure: Option<&Measure>,
    alternatives: &[Alternative],
) -> Result<Scale, DocumentError> {
    match (table.entry("thresholds"), table.entry("reference")) {
        (Some(thresholds), None) => {
            let relative = ["better_max", "worse_max", "index", "better", "rounding"];
            unused(table, &relative, "grades relative to a `reference`")?;
            let rule = Rule::Thresholds(limits(&thresholds.item, measure)?);
            Ok(Scale { rule, reference: Reference::None })
        }
        (None, Some(reference)) => Ok(Scale {
            rule: Rule::Relative(relative(table)?),
            reference: self::reference(&reference.item, measure, alternatives)?,
        }),
        (Some(_), Some(second)) => {
            Err(second.key_spot.error("either `thresholds` or a `reference`", "one too many"))
        }
        (None, None) => {
            let message = "values without a rule by which they become grades";
            let hint = "`thresholds`, from the best grade to the worst, or a `reference`";
            Err(table.spot.error(message, "no rule").hint(hint))
        }
    }
}

/// Rising limits.
fn limits(item: &Item, measure: Option<&Measure>) -> Result<Vec<f64>, DocumentError> {
    let elements = item.some_elements("threshold")?;
    let limits = elements.iter().map(|item| value(item, measure)).collect::<Result<Vec<_>, _>>()?;
    let falling = (1..limits.len()).find(|&place| limits[place] <= limits[place - 1]);
    falling.map_or(Ok(limits), |place| {
        let message = "thresholds rise from the best grade to the worst";
        Err(elements[place].spot.error(message, "not greater than the one before"))
    })
}

/// A number in the unit of the measure, or a quantity with its unit.
fn value(item: &Item, measure: Option<&Measure>) -> Result<f64, DocumentError> {
    match (&item.value, measure.and_then(|measure| measure.quantity)) {
        (Value::Text(_), Some((kind, per_unit))) => {
            Ok(item.quantity(kind, 0..=QUANTITY_MAX)? as f64 / per_unit)
        }
        _ => item.number(&VALUES),
    }
}

/// The greatest quantity, in nanoseconds or bytes: exact as a floating-point number.
const QUANTITY_MAX: u64 = 1 << 53;

/// What quantities of a measure are written in, and how many of its base units a unit of the measure has.
pub(crate) const MILLISECONDS: (Kind, f64) = (Kind::Duration, 1e6);
/// Nanoseconds.
pub(crate) const NANOSECONDS: (Kind, f64) = (Kind::Duration, 1.0);
/// Bytes.
pub(crate) const BYTES: (Kind, f64) = (Kind::Size, 1.0);

fn relative(table: &Table) -> Result<Relative, DocumentError> {
    let limit = |key| {
        let grades = table.need(key, "grades relative to a reference")?.integer(0..=LIMIT_MAX)?;
        Ok::<_, DocumentError>(u32::try_from(grades).unwrap_or(u32::MAX))
    };
    let better = |item: &Item| item.pick("direction", &["lower", "higher"], |name| name);
    let rounding = |item: &Item| item.pick("rounding", &Rounding::ALL, Rounding::name);
    Ok(Relative {
        gamma: table.or("index", 1.0, |item| item.number(&GAMMAS))?,
        better_max: limit("better_max")?,
        worse_max: limit("worse_max")?,
        more_is_better: table.or("better", "lower", better)? == "higher",
        rounding: table.or("rounding", Rounding::Nearest, rounding)?,
    })
}

/// The reference that is the best value, whoever has it.
const BEST: &str = "best";

/// An alternative, the best of all, or a positive value.
fn reference(
    item: &Item,
    measure: Option<&Measure>,
    alternatives: &[Alternative],
) -> Result<Reference, DocumentError> {
    if let Value::Text(text) = &item.value {
        let found = alternatives.iter().position(|alternative| alternative.name == *text);
        if let Some(found) = found {
            return Ok(Reference::Alternative(found));
        }
        if text == BEST {
            return Ok(Reference::Best);
        }
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            let names: Vec<_> = alternatives.iter().map(|alternative| alternative.name.as_str()).collect();
            let message = format!("unknown alternative `{text}`");
            return Err(item.spot.error(message, "no such alternative").hint(choice(text, &names)));
        }
    }
    let number = value(item, measure)?;
    if number > 0.0 {
        return Ok(Reference::Number(number));
    }
    Err(item.spot.error("a reference of 0: nothing is a multiple of it", "must be more than 0"))
}

/// Values of the file cannot be relative to one that is 0.
fn check_reference(
    table: &Table,
    values: &[f64],
    Scale { rule, reference }: &Scale,
) -> Result<(), DocumentError> {
    match (reference, table.get("reference")) {
        (Reference::Alternative(_) | Reference::Best, Some(item)) if reference.of(values, rule) <= 0.0 => {
            let message = "the value of the reference is 0: nothing is a multiple of it";
            Err(item.spot.error(message, "its value must be more than 0"))
        }
        _ => Ok(()),
    }
}
