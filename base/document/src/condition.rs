//! When something counts as failed: one grammar for all verbs with `--fail-if`.
//!
//! ```text
//!   delay.p99 > 300 ms       a field, where it has several values a point of them; a sign; a quantity
//!   delay_ms.p95 > +10 %     or a change from a baseline, in percent and with its sign
//! ```
//!
//! [`Condition::read`] reads the text; [`Condition::resolve`] knows which fields there are, and whether there is a baseline. A
//! field is known by its name with its unit, `delay_ms`, and without, `delay`.

use std::fmt;
use std::str::FromStr;

use crate::nearest;
use crate::quantity::{self, Kind};

/// A condition as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    name: String,
    sign: Sign,
    limit: String,
}

/// Which values meet a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sign {
    /// Values above the limit do; otherwise those below.
    pub is_above: bool,
    /// The limit itself does, too.
    pub is_inclusive: bool,
}

/// A point of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The smallest value.
    Min,
    /// The mean.
    Mean,
    /// The largest value.
    Max,
    /// What this share of all values does not exceed, in thousandths of a percent.
    Percentile(u32),
}

/// The points, by name.
const POINTS: [(&str, Point); 11] = [
    ("min", Point::Min),
    ("mean", Point::Mean),
    ("p5", Point::Percentile(5_000)),
    ("p50", Point::Percentile(50_000)),
    ("p75", Point::Percentile(75_000)),
    ("p90", Point::Percentile(90_000)),
    ("p95", Point::Percentile(95_000)),
    ("p99", Point::Percentile(99_000)),
    ("p99.9", Point::Percentile(99_900)),
    ("p99.99", Point::Percentile(99_990)),
    ("max", Point::Max),
];

/// The unit of a limit, which is a whole number of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Parts per billion.
    Share,
    /// How many.
    Count,
    /// Thousandths in a second.
    PerSecond,
    /// Thousandths of a number that counts nothing.
    Ratio,
}

/// All of something, in parts per billion.
const WHOLE: u64 = 1_000_000_000;

/// Ends of names, with the unit that they tell, and how much of it one is. What ends otherwise is a count.
const ENDS: [(&str, Unit, f64); 6] = [
    ("_ms", Unit::Time, 1e6),
    ("_us", Unit::Time, 1e3),
    ("_per_s", Unit::PerSecond, 1e3),
    ("_s", Unit::Time, 1e9),
    ("_share", Unit::Share, 1e9),
    ("_ratio", Unit::Ratio, 1e3),
];

/// Something that can be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name, with its unit where it has one: `delay_ms`, `cpu_us.gw`, `failed_share`.
    pub name: String,
    /// The same without the unit.
    stem: String,
    unit: Unit,
    /// How much of the unit one is.
    scale: f64,
    has_points: bool,
}

impl Field {
    /// A field with one value. Its name tells its unit.
    pub fn one(name: &str) -> Self {
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        let found =
            ENDS.iter().find_map(|(end, unit, scale)| Some((first.strip_suffix(end)?, *unit, *scale)));
        let (stem, unit, scale) = found.unwrap_or((first, Unit::Count, 1.0));
        let stem = rest.map_or_else(|| stem.to_owned(), |rest| format!("{stem}.{rest}"));
        Self { name: name.to_owned(), stem, unit, scale, has_points: false }
    }

    /// A field with many values, of which one point is compared.
    pub fn many(name: &str) -> Self {
        Self { has_points: true, ..Self::one(name) }
    }

    /// A value of it, in the unit of its name, in that of a limit.
    pub fn scaled(&self, value: f64) -> f64 {
        value * self.scale
    }

    /// A value of it, in the unit of its name, as people read it.
    pub fn shown(&self, value: f64) -> String {
        self.unit.shown(self.scaled(value).round() as u64)
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.stem == name
    }
}

/// With what a field is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// A value in a unit.
    Value(Unit, u64),
    /// A change from the baseline, in percent of it.
    Change(f64),
}

/// A condition whose field is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The name as it was written.
    written: String,
    /// The field.
    pub field: Field,
    /// The point of its values; none if it has one value.
    pub point: Option<Point>,
    /// The sign.
    pub sign: Sign,
    /// The limit.
    pub limit: Limit,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// With a sentence on what is wrong and what is allowed.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let like = "write it like `delay.p99 > 300ms`, with `>`, `>=`, `<` or `<=`";
        let at = text.find(['<', '>']).ok_or_else(|| format!("`{text}` compares nothing: {like}"))?;
        let (name, rest) = (text[..at].trim(), &text[at + 1..]);
        let (is_inclusive, limit) = rest.strip_prefix('=').map_or((false, rest), |limit| (true, limit));
        let limit = limit.trim();
        if name.is_empty() || limit.is_empty() {
            return Err(format!("`{text}` needs something to compare on both sides: {like}"));
        }
        let sign = Sign { is_above: text[at..].starts_with('>'), is_inclusive };
        Ok(Self { text: text.to_owned(), name: name.to_owned(), sign, limit: limit.to_owned() })
    }

    /// Finds the field, and reads the limit as one of it.
    ///
    /// # Errors
    /// With a sentence: there is no such field, the limit is none for it, nothing can ever meet it, or there is no baseline.
    pub fn resolve(&self, fields: &[Field], has_baseline: bool) -> Result<Resolved, String> {
        let (named, point) = self.named(fields);
        let named = named.ok_or_else(|| self.unknown(fields))?;
        let (field, limit) = self.limit(&named, has_baseline)?;
        let written = self.name.clone();
        let resolved = Resolved { written, field: field.clone(), point, sign: self.sign, limit };
        if resolved.is_possible() { Ok(resolved) } else { Err(format!("`{}` can never be so", self.text)) }
    }

    /// The fields of this name, one for each unit, and the point.
    fn named<'a>(&self, fields: &'a [Field]) -> (Option<Vec<&'a Field>>, Option<Point>) {
        let of = |name: &str, has_points: bool| {
            let called =
                fields.iter().filter(|field| field.has_points == has_points && field.is_called(name));
            Some(called.collect::<Vec<_>>()).filter(|found| !found.is_empty())
        };
        let with_point = POINTS.iter().find_map(|(name, point)| {
            let name = self.name.strip_suffix(name)?.strip_suffix('.')?;
            Some((of(name, true)?, *point))
        });
        match with_point {
            Some((fields, point)) => (Some(fields), Some(point)),
            None => (of(&self.name, false), None),
        }
    }

    /// The limit in the unit of the first field that has it.
    fn limit<'a>(&self, fields: &[&'a Field], has_baseline: bool) -> Result<(&'a Field, Limit), String> {
        if let Some(change) = self.change() {
            if !has_baseline {
                let Self { text, limit, .. } = self;
                return Err(format!(
                    "`{limit}` in `{text}` is a change, and there is nothing before to change from"
                ));
            }
            return Ok((fields[0], Limit::Change(change)));
        }
        let read = |field: &&'a Field| Ok((*field, Limit::Value(field.unit, field.unit.read(&self.limit)?)));
        let mut found = fields.iter().map(read).collect::<Vec<Result<_, String>>>();
        let place = found.iter().position(Result::is_ok).unwrap_or(0);
        let hint =
            if has_baseline && self.limit.ends_with('%') { "; a change has its sign, like +10%" } else { "" };
        found.swap_remove(place).map_err(|why| format!("`{}` in `{}`: {why}{hint}", self.limit, self.text))
    }

    /// The limit in percent, if it has a sign.
    fn change(&self) -> Option<f64> {
        let number = self.limit.strip_suffix('%').filter(|number| number.starts_with(['+', '-']))?;
        number.trim().parse().ok().filter(|percent: &f64| percent.is_finite())
    }

    fn unknown(&self, fields: &[Field]) -> String {
        let name = &self.name;
        if fields.iter().any(|field| field.has_points && field.stem == *name) {
            let points = POINTS.map(|(point, _)| format!(".{point}")).join(", ");
            return format!("`{name}` needs a point, like `{name}.p99`; allowed: {points}");
        }
        let with_point = |field: &Field| match field.has_points {
            true => POINTS.iter().map(|(point, _)| format!("{}.{point}", field.stem)).collect(),
            false => vec![field.stem.clone()],
        };
        let all: Vec<String> = fields.iter().flat_map(with_point).collect();
        let names: Vec<_> = all.iter().map(String::as_str).collect();
        let meant = nearest(&self.name, &names);
        let meant = meant.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
        format!("nothing measured is called `{}`{meant}; allowed: {}", self.name, allowed(fields))
    }
}

/// The fields, those with points first.
fn allowed(fields: &[Field]) -> String {
    let of = |has_points: bool| {
        let mut stems: Vec<&str> = Vec::new();
        for field in fields.iter().filter(|field| field.has_points == has_points) {
            if !stems.contains(&field.stem.as_str()) {
                stems.push(&field.stem);
            }
        }
        stems.join(", ")
    };
    let points = POINTS.map(|(name, _)| format!(".{name}")).join(", ");
    match (of(true), of(false)) {
        (many, one) if many.is_empty() => one,
        (many, one) if one.is_empty() => format!("{many} with {points}"),
        (many, one) => format!("{many} with {points}; and {one}"),
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text)
    }
}

impl Sign {
    /// Whether a value meets a limit.
    pub fn is_met(self, value: f64, limit: f64) -> bool {
        let is_beyond = if self.is_above { value > limit } else { value < limit };
        is_beyond || self.is_inclusive && value.total_cmp(&limit).is_eq()
    }
}

impl Resolved {
    /// Whether any value can meet it: nothing is less than none, and no share is more than the whole.
    fn is_possible(&self) -> bool {
        let Limit::Value(unit, limit) = self.limit else { return true };
        let most = if unit == Unit::Share { WHOLE } else { u64::MAX };
        let furthest = if self.sign.is_above { most } else { 0 };
        self.sign.is_met(furthest as f64, limit as f64) && limit <= most
    }
}

impl Unit {
    fn read(self, text: &str) -> Result<u64, String> {
        let like = |kind: Kind, text: &str, like: &str| {
            quantity::read(kind, text).map_err(|error| format!("{error}, expected one like {like}"))
        };
        // Thousandths, by way of the reader of decimal numbers.
        let thousandths = |text: &str, example: &str| like(Kind::Frequency, &format!("{text} kHz"), example);
        match self {
            Self::Time => like(Kind::Duration, text, "300ms"),
            Self::Share => like(Kind::Probability, text, "1 %"),
            Self::Count => text.parse().map_err(|_| "no whole number".to_owned()),
            Self::PerSecond => {
                let number = text.strip_suffix("/s").ok_or("no rate, expected one like 450/s")?;
                thousandths(number.trim(), "450/s")
            }
            Self::Ratio => thousandths(text, "1.25"),
        }
    }

    /// A value of it, with its unit.
    pub fn shown(self, value: u64) -> String {
        match self {
            Self::Time => quantity::print(Kind::Duration, value),
            Self::Share => quantity::print(Kind::Probability, value),
            Self::Count => value.to_string(),
            Self::PerSecond => format!("{}/s", of_thousandths(value)),
            Self::Ratio => of_thousandths(value),
        }
    }
}

fn of_thousandths(value: u64) -> String {
    if value.is_multiple_of(1000) {
        (value / 1000).to_string()
    } else {
        format!("{}.{:03}", value / 1000, value % 1000)
    }
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = match self.limit {
            Limit::Value(unit, value) => unit.shown(value),
            Limit::Change(percent) => format!("{percent:+} %"),
        };
        write!(f, "{} {} {limit}", self.written, self.sign)
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_above { ">" } else { "<" })?;
        f.write_str(if self.is_inclusive { "=" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Vec<Field> {
        let one = ["failed", "failed_share", "rate_per_s", "amplification_ratio", "utilisation_share.gw"];
        ["delay_ms", "cpu_us.gw"].map(Field::many).into_iter().chain(one.map(Field::one)).collect()
    }

    fn read(text: &str, has_baseline: bool) -> Result<Resolved, String> {
        Condition::read(text)?.resolve(&fields(), has_baseline)
    }

    #[test]
    fn conditions_are_read_and_printed() {
        for (text, name, printed) in [
            ("delay.p99 > 300ms", "delay_ms", "delay.p99 > 300 ms"),
            ("delay_ms.p99.9>=1 ms", "delay_ms", "delay_ms.p99.9 >= 1 ms"),
            (" cpu_us.gw.p95 > +10% ", "cpu_us.gw", "cpu_us.gw.p95 > +10 %"),
            ("delay_ms.mean<-2.5 %", "delay_ms", "delay_ms.mean < -2.5 %"),
            ("failed > 0", "failed", "failed > 0"),
            ("failed>1.5%", "failed_share", "failed > 1.5 %"),
            ("utilisation.gw <= 80 %", "utilisation_share.gw", "utilisation.gw <= 80 %"),
            ("rate < 450.5/s", "rate_per_s", "rate < 450.500/s"),
            ("amplification > 1.25", "amplification_ratio", "amplification > 1.250"),
        ] {
            let found = read(text, true).unwrap();
            assert_eq!((found.field.name.as_str(), found.to_string().as_str()), (name, printed));
            assert_eq!(read(printed, true), Ok(found));
        }
    }

    #[test]
    fn a_value_meets_a_condition_or_not() {
        let met = |text: &str, value: f64| {
            let found = read(text, false).unwrap();
            let Limit::Value(_, limit) = found.limit else { panic!("no change") };
            found.sign.is_met(found.field.scaled(value), limit as f64)
        };
        assert!(met("failed > 0", 1.0) && !met("failed > 0", 0.0) && met("failed >= 1", 1.0));
        assert!(met("rate < 450/s", 449.999) && !met("rate < 450/s", 450.0));
        assert!(met("delay.p50 > 2 ms", 2.1) && met("cpu.gw.p50 > 2 ms", 2001.0));
    }

    #[test]
    fn mistakes_are_told_in_a_sentence() {
        for (text, told) in [
            ("delay.p99", "`delay.p99` compares nothing"),
            ("> 10%", "`> 10%` needs something to compare on both sides"),
            ("delay.p98 > 1s", "nothing measured is called `delay.p98` (did you mean `delay.p9"),
            ("delay > 1s", "`delay` needs a point, like `delay.p99`"),
            ("failed.p50 > 1", "nothing measured is called `failed.p50`"),
            (
                "delay.p99 > 300",
                "`300` in `delay.p99 > 300`: no unit after the number, expected one like 300ms",
            ),
            ("delay.p99 > inf%", "`inf%` in `delay.p99 > inf%`: no decimal number at its start"),
            ("delay.p99 > +inf%", "`+inf%` in `delay.p99 > +inf%`: no decimal number at its start"),
            ("delay.p99 > 10%", "`10%` in `delay.p99 > 10%`: unknown unit `%`, expected one like 300ms"),
            ("delay.p99 > +10%", "`+10%` in `delay.p99 > +10%` is a change, and there is nothing before"),
            ("failed > many", "`many` in `failed > many`: no whole number"),
            ("failed > 101%", "`failed > 101%` can never be so"),
            ("failed > 100 %", "`failed > 100 %` can never be so"),
            ("failed < 0", "`failed < 0` can never be so"),
            ("rate < 450", "`450` in `rate < 450`: no rate, expected one like 450/s"),
        ] {
            let error = read(text, false).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }
}
