//! The fate of a packet on its link, as a part of the packet's comment in a capture: written and parsed only here.
//!
//! ```text
//!   , arrives after 12.5ms
//!   , LOST after 12.5ms
//!   , DROPPED: the queue is full
//! ```

use std::fmt;
use std::time::Duration;

use keytoll_trace::Fate;

/// The words for each fate, in the order of the search: some contain others. All but the last are followed by the transit
/// time.
const WORDS: [(Fate, &str); 5] = [
    (Fate::Duplicate, ", a copy that the link made, arrives after "),
    (Fate::Corrupted, ", CORRUPTED on its way, arrives after "),
    (Fate::Lost, ", LOST after "),
    (Fate::Delivered, ", arrives after "),
    (Fate::QueueFull, ", DROPPED: the queue is full"),
];

/// The fate of a packet, to be appended to its comment.
#[derive(Debug, Clone, Copy)]
pub struct Passage {
    /// The fate.
    pub fate: Fate,
    /// The transit time; irrelevant if the queue dropped it.
    pub transit: Duration,
}

impl fmt::Display for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, words) = WORDS.iter().find(|(fate, _)| *fate == self.fate).expect("every fate has words");
        f.write_str(words)?;
        if self.fate == Fate::QueueFull { Ok(()) } else { write_time(self.transit, f) }
    }
}

/// The fate and transit time of a packet; `None` if its comment is not ours.
pub fn fate(comment: &str) -> Option<(Fate, Duration)> {
    WORDS.iter().find_map(|(fate, words)| {
        let (_, rest) = comment.rsplit_once(words)?;
        let transit = if *fate == Fate::QueueFull { Duration::ZERO } else { time(rest.split(',').next()?)? };
        Some((*fate, transit))
    })
}

/// Units of time, the longest first, with the decimal places of a nanosecond in each.
const UNITS: [(&str, u32); 4] = [("s", 9), ("ms", 6), ("µs", 3), ("ns", 0)];

/// Writes a time exactly, in the longest unit in which it is at least one: `1.25ms`.
fn write_time(time: Duration, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let ns = time.as_nanos();
    let fits = |(_, places): &&(&str, u32)| ns >= 10_u128.pow(*places);
    let (unit, places) = UNITS.iter().find(fits).unwrap_or(&UNITS[UNITS.len() - 1]);
    let unit_ns = 10_u128.pow(*places);
    write!(f, "{}", ns / unit_ns)?;
    if !ns.is_multiple_of(unit_ns) {
        let fraction = format!("{:0width$}", ns % unit_ns, width = *places as usize);
        write!(f, ".{}", fraction.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}

/// Parses the output of [`write_time`].
fn time(text: &str) -> Option<Duration> {
    let unit_at = text.find(|char: char| !char.is_ascii_digit() && char != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (_, places) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let width = *places as usize;
    let ns = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let fraction = format!("{fraction:0<width$}");
    let whole_ns = ns(whole)?.checked_mul(10_u64.pow(*places))?;
    Some(Duration::from_nanos(whole_ns.checked_add(ns(fraction.get(..width)?)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FATES: [Fate; 5] = [Fate::Delivered, Fate::Lost, Fate::Corrupted, Fate::Duplicate, Fate::QueueFull];

    #[test]
    fn a_passage_is_parsed_as_written() {
        let times = [0, 7, 999, 12_000, 1_234_567, 59_999_999_999, 60_000_000_000];
        for fate in FATES {
            for transit in times.map(Duration::from_nanos) {
                let said = format!("authentication 3, ike{}", Passage { fate, transit });
                let expected = if fate == Fate::QueueFull { Duration::ZERO } else { transit };
                assert_eq!(super::fate(&said), Some((fate, expected)), "{said}");
                assert_eq!(super::fate(&format!("{said}, packet 1 of 3")), Some((fate, expected)));
            }
        }
    }

    #[test]
    fn times_keep_their_format() {
        let written = |ns| {
            let transit = Duration::from_nanos(ns);
            Passage { fate: Fate::Lost, transit }.to_string()
        };
        let times = [(0, "0ns"), (999, "999ns"), (12_500, "12.5µs"), (1_234_567, "1.234567ms")];
        let longer =
            [(12_000_000, "12ms"), (59_999_999_999, "59.999999999s"), (1_000_000_001, "1.000000001s")];
        for (ns, text) in times.into_iter().chain(longer) {
            assert_eq!(written(ns), format!(", LOST after {text}"));
        }
    }

    #[test]
    fn other_comments_have_no_fate() {
        for other in [
            "",
            "arrives",
            "x, arrives after lunch",
            "x, LOST after 1.2.3ms",
            "x, arrives after 99999999999999999999s",
        ] {
            assert_eq!(fate(other), None, "{other}");
        }
    }
}
