//! Costs of primitives on the screen: a table for each kind, at most 120 columns wide, readable without colour.

use std::io::{self, Write};

use keytoll_analysis::primitives::{PrimitiveCost, Primitives};

use crate::layout::{Head, Line, WIDTH_MIN, table, wrapped};
use crate::number::{known, plain, ranged};

/// The longest line, however wide the screen is.
const WIDTH_MAX: usize = 120;

const HEAD: [Head<'_>; 13] = [
    ("", false),
    ("", false),
    ("bytes", true),
    ("n", true),
    ("batch", true),
    ("median µs", true),
    ("mean", true),
    ("min", true),
    ("max", true),
    ("stddev", true),
    ("kcycles", true),
    ("per second", true),
    ("MB/s", true),
];

/// Writes the tables for a screen of so many columns.
///
/// # Errors
/// When it cannot be written.
pub fn write(measured: &Primitives, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let Primitives { library, machine, primitives, .. } = measured;
    let ghz = machine.core_hz / 1e9;
    wrapped(&format!("{library} on {} at {ghz:.2} GHz", machine.cpu), width, &mut out)?;
    let mut rest = &primitives[..];
    while let Some(first) = rest.first() {
        let len = rest.iter().take_while(|cost| cost.family == first.family).count();
        family(&first.family, &rest[..len], width, &mut out)?;
        rest = &rest[len..];
    }
    writeln!(out)?;
    NOTES.iter().try_for_each(|note| wrapped(note, width, &mut out))
}

const NOTES: [&str; 3] = [
    "CPU time of one thread, after a warm-up: median of n measurements with its distribution-free 95 % interval; cycles and rates are of the median. No measurement \
     was left out, interrupted ones included: the maximum shows them.",
    "Operations too short for the clock are measured in batches; there minimum, maximum and deviation are of the means of batches.",
    "Keys are set up anew for every message, as IKE does, but for traffic, where they were before, as in ESP; cycles are CPU time at the frequency that the core was seen running at. \
     What is marked weak or broken is measured, never offered.",
];

fn family(name: &str, costs: &[PrimitiveCost], width: usize, out: &mut impl Write) -> io::Result<()> {
    let lines: Vec<Line> = costs.iter().map(|cost| Line::Cells(cells(cost))).collect();
    writeln!(out, "\n{name}")?;
    table(&HEAD, 3, &lines, width, out)
}

fn cells(cost: &PrimitiveCost) -> Vec<String> {
    let microseconds = |ns: f64| plain(ns / 1000.0);
    vec![
        format!("  {}", cost.operation),
        algorithm(cost),
        cost.bytes.map_or_else(String::new, |bytes| bytes.to_string()),
        cost.n.to_string(),
        if cost.batch > 1 { cost.batch.to_string() } else { String::new() },
        ranged(cost.median().times(1e-3)),
        microseconds(cost.mean_ns),
        microseconds(cost.min_ns),
        microseconds(cost.max_ns),
        known(cost.stddev_ns.map(|ns| ns / 1000.0)),
        plain(cost.cycles / 1000.0),
        format!("{:.0}", cost.operations_per_s),
        cost.bytes_per_s.map_or_else(String::new, |bytes| plain(bytes / 1e6)),
    ]
}

/// The algorithm with the length of its exponents and its mark.
fn algorithm(cost: &PrimitiveCost) -> String {
    let exponents = cost.exponents.as_ref().zip(cost.exponent_bits);
    let exponents = exponents.map(|(name, bits)| format!(" {name} {bits}"));
    let mark = Some(&cost.standing).filter(|mark| !mark.is_empty()).map(|mark| format!(" ({mark})"));
    format!("{}{}{}", cost.algorithm, exponents.unwrap_or_default(), mark.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use keytoll_analysis::primitives::FORMAT;
    use keytoll_analysis::trace::manifest::Machine;

    use super::*;

    fn cost(family: &str, operation: &str, algorithm: &str, mean_ns: f64) -> PrimitiveCost {
        PrimitiveCost {
            family: family.into(),
            operation: operation.into(),
            algorithm: algorithm.into(),
            exponents: None,
            exponent_bits: None,
            bytes: None,
            standing: String::new(),
            n: 300,
            batch: 1,
            p50_ns: mean_ns * 0.95,
            p50_ci95_low_ns: Some(mean_ns * 0.94),
            p50_ci95_high_ns: Some(mean_ns * 0.97),
            mean_ns,
            ci95_half_ns: Some(mean_ns / 100.0),
            min_ns: mean_ns * 0.9,
            max_ns: mean_ns * 1.4,
            stddev_ns: Some(mean_ns / 20.0),
            cycles: mean_ns * 4.0,
            operations_per_s: 1e9 / mean_ns,
            bytes_per_s: None,
        }
    }

    #[test]
    fn the_screen_of_an_example() {
        let short = PrimitiveCost {
            exponents: Some("short".into()),
            exponent_bits: Some(160),
            standing: "weak".into(),
            ..cost("groups", "generate", "modp1024", 44_000.0)
        };
        let hash = PrimitiveCost {
            bytes: Some(1400),
            batch: 75,
            bytes_per_s: Some(1.9e9),
            standing: "broken".into(),
            ..cost("hashes", "hash", "sha1", 700.0)
        };
        let measured = Primitives {
            format: FORMAT,
            provenance: None,
            keytoll_version: "0.1.0".into(),
            measured_unix_s: 1_800_000_000,
            machine: Machine {
                cpu: "A CPU".into(),
                kernel: "k".into(),
                cores: 2,
                ticks_hz: 2e9,
                core_hz: 4e9,
                ..Machine::default()
            },
            library: "AWS-LC 1.57.0".into(),
            primitives: vec![short, cost("groups", "agree", "x25519", 16_100.0), hash],
        };
        let shown = |width| {
            let mut out = Vec::new();
            write(&measured, width, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        for width in [WIDTH_MAX, 80, 60, WIDTH_MIN] {
            let text = shown(width);
            assert!(text.lines().all(|line| line.chars().count() <= width) && !text.contains('…'), "{text}");
        }
        insta::assert_snapshot!(shown(WIDTH_MAX));
    }
}
