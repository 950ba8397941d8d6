//! How arrivals are written: stages one after the other, a number at a time, or a file of times.

use std::fmt;
use std::time::Duration;

use super::{DEVICES, LENGTH_MAX, Rate};
use crate::quantity::{self, Kind};

/// When devices arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrivals {
    /// On a schedule, stage after stage; only the last one may have no end of its own.
    Stages(Vec<Stage>),
    /// So many authenticate at any time: when one has its outcome the next one begins.
    AtATime(u32),
    /// At the times of a CSV file, whose path is relative to the working directory; in a scenario it is relative to that file.
    Times(String),
}

/// A stage of arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// At equal distances; without an end until all devices have arrived.
    Constant(Rate, Option<Duration>),
    /// A Poisson process; without an end until all devices have arrived.
    Poisson(Rate, Option<Duration>),
    /// From one rate to the other.
    Ramp(Rate, Rate, Duration),
    /// So many at random moments of this time, all of them equally likely.
    Storm(u32, Duration),
    /// From the first rate, at the beginning of each period, to the second, in its middle, and back.
    Diurnal(Rate, Rate, Duration),
}

/// How arrivals are written.
pub(crate) const ABOUT: &[&str] = &[
    "constant RATE [for TIME]",
    "poisson RATE [for TIME]",
    "ramp RATE to RATE in TIME",
    "storm NUMBER in TIME",
    "diurnal RATE to RATE [in TIME]",
    "NUMBER at a time",
    "times FILE.csv",
    "LIST OF STAGES",
];

/// A day.
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Stage {
    /// Its length; `None` if it has no end of its own.
    pub const fn length(&self) -> Option<Duration> {
        match *self {
            Self::Constant(_, length) | Self::Poisson(_, length) => length,
            Self::Ramp(_, _, length) | Self::Storm(_, length) => Some(length),
            Self::Diurnal(..) => None,
        }
    }

    /// Its mean rate.
    fn mean_per_s(&self) -> f64 {
        match self {
            Self::Constant(rate, _) | Self::Poisson(rate, _) => rate.as_per_s(),
            Self::Ramp(from, to, _) | Self::Diurnal(from, to, _) => {
                f64::midpoint(from.as_per_s(), to.as_per_s())
            }
            Self::Storm(count, length) => f64::from(*count) / length.as_secs_f64(),
        }
    }

    /// About how many arrive in a stage that has an end.
    fn count(&self) -> Option<f64> {
        self.length().map(|length| self.mean_per_s() * length.as_secs_f64())
    }
}

/// Reads a text: a stage, a closed loop, or a file.
///
/// # Errors
/// With a sentence on what is wrong.
pub(crate) fn read(text: &str) -> Result<Arrivals, String> {
    let words: Vec<_> = text.split_whitespace().collect();
    match words[..] {
        [number, "at", "a", "time"] => count(number).map(Arrivals::AtATime),
        ["times", path] if is_csv(path) => Ok(Arrivals::Times(path.to_owned())),
        ["times", ..] => Err(format!("`{text}` names no file that ends in `.csv`")),
        _ => stage(text, &words).map(|stage| Arrivals::Stages(vec![stage])),
    }
}

fn is_csv(path: &str) -> bool {
    path.len() <= 4096 && std::path::Path::new(path).extension().is_some_and(|end| end == "csv")
}

fn stage(text: &str, words: &[&str]) -> Result<Stage, String> {
    match *words {
        ["constant", rate] => Ok(Stage::Constant(Rate::read_some(rate)?, None)),
        ["constant", rate, "for", ref length @ ..] => {
            Ok(Stage::Constant(Rate::read_some(rate)?, Some(time(length)?)))
        }
        ["poisson", rate] => Ok(Stage::Poisson(Rate::read_some(rate)?, None)),
        ["poisson", rate, "for", ref length @ ..] => {
            Ok(Stage::Poisson(Rate::read_some(rate)?, Some(time(length)?)))
        }
        ["ramp", from, "to", to, "in", ref length @ ..] => {
            let (from, to) = some_of(from, to)?;
            Ok(Stage::Ramp(from, to, time(length)?))
        }
        ["storm", number, "in", ref length @ ..] => Ok(Stage::Storm(count(number)?, time(length)?)),
        ["diurnal", from, "to", to] => some_of(from, to).map(|(from, to)| Stage::Diurnal(from, to, DAY)),
        ["diurnal", from, "to", to, "in", ref length @ ..] => {
            let (from, to) = some_of(from, to)?;
            Ok(Stage::Diurnal(from, to, time(length)?))
        }
        _ => Err(format!("`{text}` says not when devices arrive")),
    }
}

/// Two rates, of which one may be zero.
fn some_of(from: &str, to: &str) -> Result<(Rate, Rate), String> {
    match (Rate::read(from)?, Rate::read(to)?) {
        (Rate::ZERO, Rate::ZERO) => Err(format!("from `{from}` to `{to}` nobody arrives")),
        rates => Ok(rates),
    }
}

/// A number of devices.
fn count(text: &str) -> Result<u32, String> {
    let number = text.parse::<u64>().ok().filter(|number| DEVICES.contains(number));
    let number = number.and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| format!("`{text}` is no number from {} to {}", DEVICES.start(), DEVICES.end()))
}

/// A length of at least a millisecond and at most a week.
fn time(words: &[&str]) -> Result<Duration, String> {
    let text = words.join(" ");
    let nanos = quantity::read(Kind::Duration, &text).map_err(|error| format!("`{text}`: {error}"))?;
    let length = Duration::from_nanos(nanos);
    let is_fitting = (Duration::from_millis(1)..=LENGTH_MAX).contains(&length);
    if is_fitting { Ok(length) } else { Err(format!("`{text}` is not from 1 ms to a week")) }
}

impl Arrivals {
    /// Refuses arrivals that do not fit a number of devices, or take longer than a week.
    ///
    /// # Errors
    /// With a sentence on what is wrong.
    pub(crate) fn check(&self, devices: u32) -> Result<(), String> {
        match self {
            Self::Stages(stages) => check_stages(stages, devices),
            Self::AtATime(count) if *count > devices => {
                Err(format!("{count} at a time are more than the {devices} devices"))
            }
            Self::AtATime(_) | Self::Times(_) => Ok(()),
        }
    }
}

fn check_stages(stages: &[Stage], devices: u32) -> Result<(), String> {
    let endless = stages.iter().position(|stage| stage.length().is_none());
    if let Some(place) = endless.filter(|&place| place + 1 < stages.len()) {
        return Err(format!("`{}` has no end, and other stages follow", stages[place]));
    }
    let stormy: u64 = stages
        .iter()
        .map(|stage| if let Stage::Storm(count, _) = stage { u64::from(*count) } else { 0 })
        .sum();
    if stormy > devices.into() {
        return Err(format!("a storm of {stormy} is more than the {devices} devices"));
    }
    let is_random = stages.iter().any(|stage| matches!(stage, Stage::Poisson(..)));
    let arriving: f64 = stages.iter().filter_map(Stage::count).sum();
    if endless.is_none() && !is_random && arriving.ceil() + 0.5 < f64::from(devices) {
        return Err(format!("{arriving:.0} arrive, and there are {devices} devices"));
    }
    let bounded: f64 = stages.iter().filter_map(Stage::length).map(|length| length.as_secs_f64()).sum();
    let left = (f64::from(devices) - arriving).max(0.0);
    let last = endless.map_or(0.0, |place| left / stages[place].mean_per_s());
    if bounded + last > LENGTH_MAX.as_secs_f64() {
        return Err(format!("{devices} devices take more than a week to arrive"));
    }
    Ok(())
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = quantity::duration;
        let lasting = |length: Option<Duration>| {
            length.map_or_else(String::new, |length| format!(" for {}", text(length)))
        };
        match *self {
            Self::Constant(rate, length) => write!(f, "constant {rate}{}", lasting(length)),
            Self::Poisson(rate, length) => write!(f, "poisson {rate}{}", lasting(length)),
            Self::Ramp(from, to, length) => write!(f, "ramp {from} to {to} in {}", text(length)),
            Self::Storm(count, length) => write!(f, "storm {count} in {}", text(length)),
            Self::Diurnal(from, to, period) => write!(f, "diurnal {from} to {to} in {}", text(period)),
        }
    }
}

impl Arrivals {
    /// Whether devices wait for each other, so that nobody asks for a rate and no start is late.
    pub const fn is_closed_loop(&self) -> bool {
        matches!(self, Self::AtATime(_))
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stages(stages) => {
                let stages: Vec<_> = stages.iter().map(ToString::to_string).collect();
                f.write_str(&stages.join(", then "))
            }
            Self::AtATime(count) => write!(f, "{count} at a time"),
            Self::Times(path) => write!(f, "times {path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arrivals_print_as_they_are_read() {
        for text in [
            "constant 500/s",
            "constant 500/s for 60 s",
            "poisson 2.5/min",
            "ramp 10/s to 500/s in 60 s",
            "storm 50000 in 10 s",
            "diurnal 1/s to 20/s in 3600 s",
            "20 at a time",
            "times storm.csv",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(read("diurnal 1/s to 2/s"), read("diurnal 1/s to 2/s in 24 h"));
    }

    #[test]
    fn mistakes_are_told_in_a_sentence() {
        for (text, told) in [
            ("", "`` says not when devices arrive"),
            ("constant", "`constant` says not when devices arrive"),
            ("constant 500", "`500` is no rate, like `500/s`, `30/min` or `1.5/h`"),
            ("constant 0/s", "at `0/s` nobody arrives"),
            ("poisson 1/s for ever", "`ever`: no decimal number at its start"),
            ("ramp 0/s to 0/s in 1 s", "from `0/s` to `0/s` nobody arrives"),
            ("storm 0 in 10 s", "`0` is no number from 1 to 2000000"),
            ("storm 5 in 0 s", "`0 s` is not from 1 ms to a week"),
            ("storm 5 in 200 h", "`200 h` is not from 1 ms to a week"),
            ("times storm.txt", "`times storm.txt` names no file that ends in `.csv`"),
        ] {
            assert_eq!((text, read(text).unwrap_err().as_str()), (text, told));
        }
    }

    #[test]
    fn arrivals_have_to_fit_the_devices() {
        let check = |texts: &[&str], devices| {
            let stages =
                texts.iter().map(|text| stage(text, &text.split_whitespace().collect::<Vec<_>>()).unwrap());
            Arrivals::Stages(stages.collect()).check(devices)
        };
        assert_eq!(check(&["ramp 0/s to 500/s in 60 s", "constant 500/s"], 2_000_000), Ok(()));
        assert_eq!(check(&["storm 50000 in 10 s"], 50_000), Ok(()));
        let wrong = [
            check(&["constant 500/s", "storm 5 in 1 s"], 10),
            check(&["storm 50000 in 10 s"], 10),
            check(&["constant 5/s for 2 s"], 11),
            check(&["constant 1/h"], 1000),
            Arrivals::AtATime(20).check(19),
        ];
        assert!(wrong.iter().all(Result::is_err), "{wrong:?}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(constant|poisson|ramp|storm|diurnal|times|[0-9]{1,9}|/s|/min|/h| |to|in|for|s|at a time|\\.csv|.){0,12}") {
            if let Ok(arrivals) = read(&text) {
                prop_assert_eq!(read(&arrivals.to_string()), Ok(arrivals));
            }
        }
    }
}
