//! Table 4-1: RSA-1024, RC4 under a 64-bit key and SHA-1 over 114 bytes, 10 000 times each.

use keytoll_trace::primitive::Timings;

use super::{BYTES, OPERATIONS};
use crate::claim::Claim;
use crate::doubtful::{Doubtful, all};
use crate::{Figure, Finding, Line, Table, Verdict, published};
use keytoll_analysis::primitives::{PrimitiveCost, Primitives, summarise};

/// A line of the paper's table.
struct Published {
    label: &'static str,
    /// Ours, as the meter calls them.
    operation: &'static str,
    algorithm: &'static str,
    seconds: f64,
    ratio: f64,
}

const RC4: Published =
    Published { label: "RC4 encrypt", operation: "stream", algorithm: "rc4", seconds: 0.02, ratio: 1.0 };

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
    RC4,
    Published { label: "RC4 decrypt", ..RC4 },
    Published { label: "SHA-1 digest", operation: "hash", algorithm: "sha1", seconds: 0.025, ratio: 1.25 },
];

impl Published {
    fn cost<'a>(&self, measured: &'a Primitives) -> Option<&'a PrimitiveCost> {
        let found = |cost: &&PrimitiveCost| {
            (&*cost.operation, &*cost.algorithm) == (self.operation, self.algorithm)
                && cost.bytes.is_none_or(|bytes| bytes == BYTES as u64)
        };
        measured.primitives.iter().find(found)
    }
}

/// The paper's table with our measurements beside it.
pub(super) fn table(timings: &Timings) -> Table {
    let measured = summarise(timings);
    let line = |published: &Published| {
        let cost = published.cost(&measured);
        let ratio = both(&measured, published, &RC4).map(|[one, rc4]| one.per(rc4).into());
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
    Table {
        title: "Table 4-1: run time of 10 000 operations in ms, and its ratio to RC4's".to_owned(),
        unit: "ms".to_owned(),
        columns: ["measured", "÷ RC4", "paper", "÷ RC4"].map(str::to_owned).to_vec(),
        lines: PUBLISHED.iter().map(line).collect(),
    }
}

/// What the paper says about it.
pub(super) fn findings(timings: &Timings) -> Vec<Finding> {
    let measured = summarise(timings);
    vec![rsa_is_heavy(&measured), rsa_is_thousands_of_rc4(&measured)]
}

/// The medians of a line and of another one.
fn both(measured: &Primitives, of: &Published, other: &Published) -> Option<[Doubtful; 2]> {
    Some([of.cost(measured)?.median().into(), other.cost(measured)?.median().into()])
}

fn rsa_is_heavy(measured: &Primitives) -> Finding {
    let [public, private, rc4, _, sha1] = &PUBLISHED;
    let pairs = [(private, public), (public, sha1), (public, rc4)];
    let known = pairs.into_iter().filter_map(|(slow, fast)| both(measured, slow, fast));
    let cases: Vec<Option<bool>> = known.map(|[slow, fast]| slow.exceeds(fast)).collect();
    let evidence = [public, private, rc4, sha1].into_iter().filter_map(|line| {
        Some(Doubtful::from(line.cost(measured)?.median()).times(1e-3).evidence(line.label, "µs"))
    });
    let claim = Claim {
        name: "rsa-is-heavy",
        claim: "RSA is a heavy load, with the private key most of all; RC4 and SHA-1 cost next to nothing.",
        source: "§4.1, §4.3, Table 4-1",
        taken_as: "decryption takes longer than encryption, and that longer than RC4 and than SHA-1, the 95 % intervals of the medians apart",
    };
    let cases = if cases.len() == pairs.len() { vec![all(cases)] } else { Vec::new() };
    claim.judged(Verdict::of_doubtful(&cases), evidence.collect())
}

fn rsa_is_thousands_of_rc4(measured: &Primitives) -> Finding {
    let [_, private, rc4, ..] = &PUBLISHED;
    let ratio = both(measured, private, rc4).map(|[slow, fast]| slow.per(fast));
    let case = ratio.map(|ratio| (ratio.is_at_least(1000.0), ratio.evidence("RSA decrypt ÷ RC4", "")));
    Claim {
        name: "rsa-is-thousands-of-rc4",
        claim: "The cost ratio could be thousands times over RC4.",
        source: "§4.3, Table 4-1",
        taken_as: "a decryption takes at least a thousand times as long as RC4",
    }
    .of_cases(case)
}

/// Of 10 000 operations.
fn milliseconds(cost: &PrimitiveCost) -> Figure {
    let of_all = |ns: f64| ns * OPERATIONS as f64 / 1e6;
    Figure::of_median(cost.median().times(of_all(1.0)))
}

fn printed(value: f64) -> Figure {
    published::Published::printed(value, "Table 4-1").into()
}

/// Notes for readers of it.
pub(super) fn notes(timings: &Timings) -> Vec<String> {
    let library = &timings.library;
    vec![
        format!(
            "Table 4-1 is measured with {library} on this machine: the median, times 10 000. RSA is PKCS #1 v1.5 with a key of 1024 bits, the public key parsed for \
             every message; RC4 sets up its 64-bit key for every message and is the same operation both ways. RSA-1024 is \
             weak, RC4 and SHA-1 are broken: they are measured, never offered."
        ),
        "The paper's ratios rest on RC4 times of two digits: 0.02 s may be anything from 0.015 to 0.025 s."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timed::{timing, timings};

    #[test]
    fn ours_stands_beside_the_paper() {
        let table = table(&timings(vec![
            timing("rsa-encrypt", "rsa1024", None, &[4_000.0, 4_000.0, 4_000.0, 6_000.0, 6_000.0, 6_000.0]),
            timing("stream", "rc4", Some(15), &[100.0; 6]),
            timing("stream", "rc4", Some(114), &[500.0; 6]),
        ]));
        let cells = |line: usize| {
            let cells = &table.lines[line].cells;
            cells.iter().map(|cell| cell.as_ref().map(|figure| figure.value)).collect::<Vec<_>>()
        };
        assert_eq!(cells(0), [Some(50.0), Some(10.0), Some(8460.0), Some(423.0)]);
        assert_eq!(cells(1), [None, None, Some(159_950.0), Some(7997.5)]);
        assert_eq!(cells(3), [Some(5.0), Some(1.0), Some(20.0), Some(1.0)]);
    }

    #[test]
    fn the_papers_times_make_its_claims_true_and_ours_need_not() {
        let of = |private_ns: f64| {
            let of = |operation, algorithm, bytes, ns| timing(operation, algorithm, bytes, &[ns; 6]);
            timings(vec![
                of("rsa-encrypt", "rsa1024", None, 846_000.0),
                of("rsa-decrypt", "rsa1024", None, private_ns),
                of("stream", "rc4", Some(114), 2000.0),
                of("hash", "sha1", Some(114), 2500.0),
            ])
        };
        let verdicts =
            |timings: &Timings| findings(timings).into_iter().map(|it| it.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(&of(15_995_000.0)), [Verdict::Holds, Verdict::Holds]);
        assert_eq!(verdicts(&of(1_000_000.0)), [Verdict::Holds, Verdict::DoesNotHold]);
        assert_eq!(verdicts(&of(500_000.0)), [Verdict::DoesNotHold; 2]);
        assert_eq!(verdicts(&timings(Vec::new())), [Verdict::CannotBeJudged; 2]);
    }

    /// The printed numbers are consistent.
    #[test]
    fn published_ratios_follow_from_published_times() {
        for line in &PUBLISHED {
            assert!((line.seconds / 0.02 - line.ratio).abs() < 1e-9, "{}", line.label);
        }
    }
}
