//! A profile on the screen and as JSON: the operations of a node message by message, its totals, and its cost without
//! cryptography. It is at most 100 columns wide and readable without colour; every number has its unit and its interval.

use std::io::{self, Write};

use keytoll_analysis::profile::{
    Cell, Column, Estimate, Line as Operation, NodeTotal, Profile, Sides, Skeleton,
};

use crate::layout::{Head, Line, WIDTH_MIN, table, wrapped};
use crate::number::{counted, plain, ranged};
use crate::words;

/// The longest line, however wide the screen is.
pub const WIDTH_MAX: usize = 100;

/// Writes a profile as JSON: indented, with a final newline.
///
/// # Errors
/// When it cannot be written.
pub fn write_json(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, profile)?;
    writeln!(out)
}

/// Writes a profile for a screen of so many columns.
///
/// # Errors
/// When it cannot be written.
pub fn write(profile: &Profile, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    wrapped(&headline(profile), width, &mut out)?;
    words::of_profile(profile).map_or(Ok(()), |words| wrapped(&words, width, &mut out))?;
    match &profile.columns[..] {
        [column] => alone(profile, column, width, &mut out)?,
        _ => side_by_side(profile, width, &mut out)?,
    }
    others(profile, width, &mut out)?;
    skeletons(profile, width, &mut out)?;
    writeln!(out)?;
    profile.notes.iter().try_for_each(|note| wrapped(note, width, &mut out))
}

pub(crate) fn headline(profile: &Profile) -> String {
    let Profile { method, node, network, columns, .. } = profile;
    let n: u64 = columns.iter().map(|column| column.n).sum();
    let n = counted(n, "authentication");
    format!("{method}: what an authentication costs {node}, operation by operation; {n}, {network}")
}

/// The suite with its mark.
pub(crate) fn suite(column: &Column) -> String {
    match column.mark.as_str() {
        "" => column.suite.clone(),
        mark => format!("{} ({mark})", column.suite),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn kilocycles(cycles: f64) -> String {
    plain(cycles / 1e3)
}

/// The unit of times: milliseconds if the node takes many of them, microseconds otherwise.
struct Unit {
    name: &'static str,
    per_ms: f64,
}

impl Unit {
    fn of(profile: &Profile) -> Self {
        let nodes = profile.columns.iter().flat_map(|column| &column.nodes);
        match nodes.map(|node| node.total_ms.p50).fold(0.0, f64::max) {
            longest if longest >= MANY_MS => Self { name: "ms", per_ms: 1.0 },
            _ => Self { name: "µs", per_ms: 1e3 },
        }
    }

    fn estimate(&self, ms: &Estimate) -> String {
        ranged(ms.median().times(self.per_ms))
    }
}

const MANY_MS: f64 = 100.0;

/// One suite: a single table.
fn alone(profile: &Profile, column: &Column, width: usize, out: &mut impl Write) -> io::Result<()> {
    let unit = Unit::of(profile);
    writeln!(out)?;
    wrapped(&suite(column), width, out)?;
    let head: [Head<'_>; 6] = [
        ("operation", false),
        ("algorithm", false),
        ("times", true),
        (unit.name, true),
        ("kcycles", true),
        ("share", true),
    ];
    let cells = profile.lines.iter().filter_map(|line| Some((line, line.cells.first()?.as_ref()?)));
    let operations = cells.map(|(line, cell)| {
        let words = [format!("  {}", operation(line)), cell.algorithm.clone()];
        let numbers =
            [plain(cell.count), unit.estimate(&cell.ms), kilocycles(cell.cycles), percent(cell.share)];
        (line.message.as_str(), Line::Cells(words.into_iter().chain(numbers).collect()))
    });
    let of_node = |node: &NodeTotal, (label, ms): (&str, &Estimate)| {
        let part = ms.p50 / node.total_ms.p50;
        let numbers = [unit.estimate(ms), kilocycles(node.total_cycles * part), percent(part)];
        Line::Cells([label, "", ""].map(str::to_owned).into_iter().chain(numbers).collect())
    };
    let totals = column.node(&profile.node).into_iter();
    let totals = totals.flat_map(|node| TOTALS.map(|(label, of)| of_node(node, (label, of(node)))));
    table(&head, 1, &under_messages(operations).chain(totals).collect::<Vec<_>>(), width, out)
}

/// The operation and its purpose.
pub(crate) fn operation(line: &Operation) -> String {
    match line.purpose.as_str() {
        "" => line.operation.clone(),
        purpose => format!("{}: {purpose}", line.operation),
    }
}

/// The lines, grouped under the message they belong to.
fn under_messages<'a>(lines: impl Iterator<Item = (&'a str, Line)>) -> impl Iterator<Item = Line> {
    let mut above = "";
    lines.flat_map(move |(message, line)| {
        let is_next = message != std::mem::replace(&mut above, message);
        is_next.then(|| Line::Text(message.to_owned())).into_iter().chain([line])
    })
}

/// A line of totals: its label and its value.
pub(crate) type TotalsLine = (&'static str, fn(&NodeTotal) -> &Estimate);

/// The last lines of a table.
pub(crate) const TOTALS: [TotalsLine; 3] = [
    ("all operations", |node| &node.crypto_ms),
    ("the rest", |node| &node.rest_ms),
    ("the node", |node| &node.total_ms),
];

/// Several suites: times side by side as in paper 004's Table 1, then cycles and shares.
fn side_by_side(profile: &Profile, width: usize, out: &mut impl Write) -> io::Result<()> {
    let unit = Unit::of(profile);
    writeln!(out)?;
    for (place, column) in profile.columns.iter().enumerate() {
        wrapped(&format!("{}  {}", sign(place), suite(column)), width, out)?;
    }
    writeln!(out, "\nTime, {}", unit.name)?;
    suites_table(profile, |cell| unit.estimate(&cell.ms), |_, ms| unit.estimate(ms), width, out)?;
    writeln!(out)?;
    wrapped("Thousands of cycles, and the share of the node's time", width, out)?;
    let share = |cycles: f64, share: f64| format!("{} {:>7}", kilocycles(cycles), percent(share));
    let of_node = |node: &NodeTotal, ms: &Estimate| {
        let part = ms.p50 / node.total_ms.p50;
        share(node.total_cycles * part, part)
    };
    suites_table(profile, |cell| share(cell.cycles, cell.share), of_node, width, out)
}

/// The head of a suite's column.
fn sign(place: usize) -> String {
    format!("[{}]", place + 1)
}

fn suites_table(
    profile: &Profile,
    shown: impl Fn(&Cell) -> String,
    total: impl Fn(&NodeTotal, &Estimate) -> String,
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let names: Vec<String> = (0..profile.columns.len()).map(sign).collect();
    let fixed: [Head<'_>; 2] = [("operation", false), ("times", true)];
    let head: Vec<Head<'_>> =
        fixed.into_iter().chain(names.iter().map(|name| (name.as_str(), true))).collect();
    let none = || "–".to_owned();
    let operations = profile.lines.iter().map(|line| {
        let count = line.cells.iter().flatten().map(|cell| cell.count).fold(0.0, f64::max);
        let words = [format!("  {}", operation(line)), plain(count)];
        let cells = line.cells.iter().map(|cell| cell.as_ref().map_or_else(none, &shown));
        (line.message.as_str(), Line::Cells(words.into_iter().chain(cells).collect()))
    });
    let nodes: Vec<Option<&NodeTotal>> =
        profile.columns.iter().map(|column| column.node(&profile.node)).collect();
    let totals = TOTALS.into_iter().map(|(label, of)| {
        let words = [label, ""].map(str::to_owned);
        let cell = |node: &&NodeTotal| total(node, of(node));
        let cells = nodes.iter().map(|node| node.as_ref().map_or_else(none, cell));
        Line::Cells(words.into_iter().chain(cells).collect())
    });
    table(&head, fixed.len(), &under_messages(operations).chain(totals).collect::<Vec<_>>(), width, out)
}

/// The totals of every node, with the share of cryptography.
fn others(profile: &Profile, width: usize, out: &mut impl Write) -> io::Result<()> {
    let unit = Unit::of(profile);
    writeln!(out, "\nEvery node, {}", unit.name)?;
    let head: [Head<'_>; 5] =
        [("node", false), ("total", true), ("operations", true), ("rest", true), ("crypto share", true)];
    let line = |node: &NodeTotal| {
        let numbers = [&node.total_ms, &node.crypto_ms, &node.rest_ms].map(|ms| unit.estimate(ms));
        let name = std::iter::once(format!("  {}", node.node));
        Line::Cells(name.chain(numbers).chain([percent(node.crypto_share)]).collect())
    };
    let of_column = |column: &Column| {
        let nodes: Vec<Line> = column.nodes.iter().map(line).collect();
        std::iter::once(Line::Text(suite(column))).chain(nodes)
    };
    table(&head, 1, &profile.columns.iter().flat_map(of_column).collect::<Vec<_>>(), width, out)
}

/// Paper 004's Table 2, with the comparison of both methods.
fn skeletons(profile: &Profile, width: usize, out: &mut impl Write) -> io::Result<()> {
    let unit = Unit::of(profile);
    let measured: Vec<(usize, &Skeleton)> = (0..)
        .zip(&profile.columns)
        .filter_map(|(place, column)| Some((place, column.skeleton.as_ref()?)))
        .collect();
    if measured.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = measured.iter().map(|(place, _)| sign(*place)).collect();
    let names: Vec<&str> =
        if names.len() > 1 { names.iter().map(String::as_str).collect() } else { vec![""] };
    let head: Vec<Head<'_>> =
        std::iter::once(("", false)).chain(names.into_iter().map(|name| (name, true))).collect();
    let sides = [(profile.node.as_str(), node as fn(&Skeleton) -> &Sides), ("all nodes together", all)];
    for (whose, side) in sides {
        writeln!(out)?;
        wrapped(&format!("Full and skeleton at {whose}, {}", unit.name), width, out)?;
        let line = |(label, cell): &(&str, fn(&Unit, &Sides) -> String)| {
            let cells = measured.iter().map(|(_, skeleton)| cell(&unit, side(skeleton)));
            Line::Cells(std::iter::once((*label).to_owned()).chain(cells).collect())
        };
        table(&head, 1, &SIDES.iter().map(line).collect::<Vec<_>>(), width, out)?;
    }
    measured.iter().try_for_each(|(place, skeleton)| {
        differences(&suite(&profile.columns[*place]), skeleton, &unit, width, out)
    })
}

const fn node(skeleton: &Skeleton) -> &Sides {
    &skeleton.node
}

const fn all(skeleton: &Skeleton) -> &Sides {
    &skeleton.all
}

/// A line about full and skeleton: its label and its value.
type SidesLine = (&'static str, fn(&Unit, &Sides) -> String);

/// The lines of full and skeleton.
const SIDES: [SidesLine; 8] = [
    ("full", |unit, sides| unit.estimate(&sides.full_ms)),
    ("skeleton", |unit, sides| unit.estimate(&sides.skeleton_ms)),
    ("crypto by subtraction", |unit, sides| unit.estimate(&sides.by_subtraction_ms)),
    ("crypto by addition", |unit, sides| unit.estimate(&sides.by_addition_ms)),
    ("  addition more than subtraction by", |_, sides| format!("{:+.1} %", sides.difference * 100.0)),
    ("  within 10 %", |_, sides| if sides.agrees { "yes" } else { "no" }.to_owned()),
    ("null operations in the skeleton", |unit, sides| unit.estimate(&sides.skeleton_crypto_ms)),
    ("  share of the skeleton", |_, sides| format!("{:.2} %", sides.skeleton_crypto_share * 100.0)),
];

/// Where addition and subtraction differ.
fn differences(
    suite: &str,
    skeleton: &Skeleton,
    unit: &Unit,
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    if skeleton.node.agrees {
        return Ok(());
    }
    let title = format!(
        "Where they differ with {suite}: steps by what their operations leave unexplained, {}",
        unit.name
    );
    writeln!(out)?;
    wrapped(&title, width, out)?;
    let head: [Head<'_>; 4] =
        [("step", false), ("by subtraction", true), ("by addition", true), ("unexplained", true)];
    let lines = skeleton.contributions.iter().map(|step| {
        let numbers = [step.by_subtraction_ms, step.by_addition_ms, step.unexplained_ms()];
        let numbers = numbers.map(|ms| plain(ms * unit.per_ms));
        Line::Cells(std::iter::once(step.step.clone()).chain(numbers).collect())
    });
    table(&head, 1, &lines.collect::<Vec<_>>(), width, out)
}

#[cfg(test)]
pub(crate) mod tests {
    use keytoll_analysis::profile::Contribution;

    use super::*;

    fn median(p50: f64, half: f64) -> Estimate {
        let (low, high) = (Some(p50 - half), Some(p50 + half * 1.5));
        Estimate {
            p50,
            p50_ci95_low: low,
            p50_ci95_high: high,
            mean: p50 * 9.0,
            n: 25,
            ..Estimate::default()
        }
    }

    fn column(suite: &str, mark: &str, ms: f64) -> Column {
        let node = |name: &str, ms: f64| NodeTotal {
            node: name.into(),
            total_ms: median(ms, 0.0123),
            crypto_ms: median(ms * 0.6, 0.0045),
            rest_ms: median(ms * 0.4, 0.0091),
            crypto_share: 0.6,
            total_cycles: ms * 3e6,
        };
        let nodes = vec![node("ue", ms * 0.9), node("gw", ms)];
        Column { suite: suite.into(), mark: mark.into(), n: 25, nodes, skeleton: None }
    }

    fn skeleton(agrees: bool) -> Skeleton {
        let sides = Sides {
            full_ms: median(1.5, 0.02),
            skeleton_ms: median(0.04, 0.003),
            by_subtraction_ms: median(1.46, 0.02),
            by_addition_ms: median(1.2, 0.01),
            difference: 1.2 / 1.46 - 1.0,
            agrees,
            skeleton_crypto_ms: median(0.0003, 0.00001),
            skeleton_crypto_share: 0.0075,
        };
        let step = |step: &str, by_subtraction_ms, by_addition_ms| Contribution {
            step: step.into(),
            by_subtraction_ms,
            by_addition_ms,
        };
        let contributions =
            vec![step("IKE_AUTH request", 1.3, 1.05), step("IKE_SA_INIT request", 0.16, 0.15)];
        Skeleton { node: sides.clone(), all: sides, contributions }
    }

    fn profile(columns: Vec<Column>) -> Profile {
        let cell = |algorithm: &str, ms: f64| Cell {
            algorithm: algorithm.into(),
            count: 1.0,
            ms: median(ms, ms / 100.0),
            cycles: ms * 3e6,
            share: ms / 1.5,
        };
        let line = |message: &str, operation: &str, purpose: &str, cells: Vec<Option<Cell>>| Operation {
            message: message.into(),
            operation: operation.into(),
            purpose: purpose.into(),
            phase: "auth".into(),
            cells: cells.into_iter().take(columns.len()).collect(),
        };
        let both = |algorithm: &str, ms| vec![Some(cell(algorithm, ms)), Some(cell(algorithm, ms * 2.0))];
        Profile {
            format: 1,
            provenance: None,
            method: "ikev2-rsa2048".into(),
            node: "gw".into(),
            network: "loopback network, raw".into(),
            lines: vec![
                line("IKE_SA_INIT response", "D-H generation", "", both("x25519", 0.0083)),
                line("IKE_AUTH request", "signature check", "CERT", both("rsa2048-pkcs1-sha256", 0.0241)),
                line("IKE_AUTH request", "signature check", "AUTH", both("rsa2048-pkcs1-sha256", 0.0241)),
                line("IKE_AUTH response", "signature", "AUTH", both("rsa2048-pkcs1-sha256", 0.659)),
                line("IKE_AUTH response", "integrity value", "", vec![None, Some(cell("sha1", 0.0004))]),
            ],
            columns,
            notes: vec!["A note on how it was measured.".into()],
        }
    }

    /// One suite with its skeleton.
    pub(crate) fn with_skeleton() -> Profile {
        let column =
            Column { skeleton: Some(skeleton(false)), ..column("aes128gcm16-prfsha256-x25519", "", 1.1) };
        profile(vec![column])
    }

    /// One suite alone.
    pub(crate) fn without_skeleton() -> Profile {
        profile(vec![column("aes128gcm16-prfsha256-x25519", "", 1.1)])
    }

    fn shown(profile: &Profile) -> String {
        let mut out = Vec::new();
        write(profile, WIDTH_MAX, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_narrow_screen_is_kept() {
        let columns = || {
            vec![column("aes128gcm16-prfsha256-x25519", "", 1.1), column("3des-md5-modp1024", "broken", 2.2)]
        };
        for profile in [with_skeleton(), profile(columns())] {
            for width in [80, 60, WIDTH_MIN] {
                let mut out = Vec::new();
                write(&profile, width, &mut out).unwrap();
                let text = String::from_utf8(out).unwrap();
                assert!(
                    text.lines().all(|line| line.chars().count() <= width) && !text.contains('…'),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn one_suite_with_its_skeleton() {
        insta::assert_snapshot!(shown(&with_skeleton()));
    }

    #[test]
    fn suites_side_by_side() {
        let columns = vec![
            Column { skeleton: Some(skeleton(true)), ..column("aes128gcm16-prfsha256-x25519", "", 1.1) },
            Column { skeleton: Some(skeleton(true)), ..column("3des-md5-modp1024", "broken", 2.2) },
        ];
        insta::assert_snapshot!(shown(&profile(columns)));
    }

    #[test]
    fn long_times_are_in_milliseconds() {
        let shown = shown(&profile(vec![column("aes128-sha1-modp4096", "weak", 250.0)]));
        assert!(shown.contains("Every node, ms") && shown.contains("250.000 [249.988, 250.018]"), "{shown}");
    }

    #[test]
    fn json_reads_back() {
        let profile = profile(vec![Column { skeleton: Some(skeleton(true)), ..column("one", "", 1.1) }]);
        let mut out = Vec::new();
        write_json(&profile, &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<Profile>(&out).unwrap(), profile);
    }
}
