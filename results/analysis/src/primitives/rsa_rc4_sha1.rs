//! Paper 001's Table 4-1: RSA-1024, RC4 under a 64-bit key and SHA-1 over 114 bytes, 10 000 times each.

use keytoll_trace::primitive::Timings;

use super::{PrimitiveCost, summarise};
use crate::study::{Basis, Figure, Line, Sheet, Table};

/// Length of the input in bytes.
pub const BYTES: usize = 114;
/// How often.
pub const OPERATIONS: u64 = 10_000;

/// A line of the paper's table.
struct Published {
    label: &'static str,
    /// Ours, as the meter calls them.
    operation: &'static str,
    algorithm: &'static str,
    seconds: f64,
    ratio: f64,
}

/// RC4 is the same operation in both directions, and so measured once.
const PUBLISHED: [Published; 5] = [
    Published {
        label: "RSA encrypt (public)",
        operation: "rsa-encrypt",
        algorithm: "rsa1024",
        seconds: 8.46,
        ratio: 423.0,
    },
    Published {
        label: "RSA decrypt (private)",
        operation: "rsa-decrypt",
        algorithm: "rsa1024",
        seconds: 159.95,
        ratio: 7997.5,
    },
    Published { label: "RC4 encrypt", operation: "stream", algorithm: "rc4", seconds: 0.02, ratio: 1.0 },
    Published { label: "RC4 decrypt", operation: "stream", algorithm: "rc4", seconds: 0.02, ratio: 1.0 },
    Published { label: "SHA-1 digest", operation: "hash", algorithm: "sha1", seconds: 0.025, ratio: 1.25 },
];

/// The paper's table with our measurements beside it.
pub fn sheet(timings: &Timings) -> Sheet {
    let measured = summarise(timings);
    let of = |line: &Published| {
        let found =
            |cost: &&PrimitiveCost| cost.operation == line.operation && cost.algorithm == line.algorithm;
        measured.primitives.iter().find(found)
    };
    let rc4_ns = of(&PUBLISHED[2]).map(|cost| cost.p50_ns);
    let line = |published: &Published| {
        let cost = of(published);
        let ratio = cost.zip(rc4_ns).map(|(cost, rc4_ns)| figure(cost.p50_ns / rc4_ns));
        Line {
            label: published.label.to_owned(),
            cells: vec![
                cost.map(milliseconds),
                ratio,
                Some(printed(published.seconds * 1000.0)),
                Some(printed(published.ratio)),
            ],
        }
    };
    Sheet {
        title: "RSA, RC4 and SHA-1 over 114 bytes, 10 000 times each".to_owned(),
        source: "a thesis on Round-Robin Key Management (RRKM) for IEEE 802.11, whose author and year are not in the text we have: \
                 §4.1, OpenSSL 0.9.7b on a Pentium 4 Mobile at 2 GHz".to_owned(),
        tables: vec![Table {
            title: "Table 4-1: run time of 10 000 operations in ms, and its ratio to RC4's".to_owned(),
            unit: "ms".to_owned(),
            columns: ["measured", "÷ RC4", "paper", "÷ RC4"].map(str::to_owned).to_vec(),
            lines: PUBLISHED.iter().map(line).collect(),
        }],
        findings: Vec::new(),
        notes: notes(&measured.library),
        provenance: None,
    }
}

/// Of 10 000 operations.
fn milliseconds(cost: &PrimitiveCost) -> Figure {
    let of_all = |ns: f64| ns * OPERATIONS as f64 / 1e6;
    Figure::of_median(cost.median().times(of_all(1.0)))
}

fn figure(value: f64) -> Figure {
    Figure::of_run(Basis::Measured, value, None)
}

fn printed(value: f64) -> Figure {
    let source = Some("Table 4-1".to_owned());
    Figure { value, low: None, high: None, bound: None, basis: Basis::Printed, source }
}

fn notes(library: &str) -> Vec<String> {
    vec![
        format!(
            "Measured with {library} on this machine: the median, times 10 000. RSA is PKCS #1 v1.5 with a key of 1024 bits, the public key parsed for \
             every message; RC4 sets up its 64-bit key for every message and is the same operation both ways. RSA-1024 is \
             weak, RC4 and SHA-1 are broken: they are measured, never offered."
        ),
        "The paper's ratios rest on RC4 times of two digits: 0.02 s may be anything from 0.015 to 0.025 s."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{timing, timings};
    use super::*;

    #[test]
    fn ours_stands_beside_the_paper() {
        let sheet = sheet(&timings(vec![
            timing("rsa-encrypt", "rsa1024", None, &[4_000.0, 6_000.0]),
            timing("stream", "rc4", Some(114), &[500.0, 500.0]),
        ]));
        let cells = |line: usize| {
            let cells = &sheet.tables[0].lines[line].cells;
            cells.iter().map(|cell| cell.as_ref().map(|figure| figure.value)).collect::<Vec<_>>()
        };
        assert_eq!(cells(0), [Some(50.0), Some(10.0), Some(8460.0), Some(423.0)]);
        assert_eq!(cells(1), [None, None, Some(159_950.0), Some(7997.5)]);
        assert_eq!(cells(3), [Some(5.0), Some(1.0), Some(20.0), Some(1.0)]);
    }

    /// The printed numbers are consistent.
    #[test]
    fn published_ratios_follow_from_published_times() {
        for line in &PUBLISHED {
            assert!((line.seconds / 0.02 - line.ratio).abs() < 1e-9, "{}", line.label);
        }
    }
}
