//! A comparison on the screen: for each measure the two medians, their ratio, and what follows in words.

use std::io::{self, Write};

use keytoll_analysis::comparable::shared_words;
use keytoll_analysis::compare::blocks::{TOLERANCE, Unit};
use keytoll_analysis::compare::{Breach, Comparison, Contrast, Figure, Pair, Verdict};
use keytoll_analysis::summary::Median;

use crate::layout::{Head, Line, WIDTH_MIN, table, wrapped};
use crate::number::{plain, ranged};

/// The longest line, however wide the screen is.
pub const WIDTH_MAX: usize = 100;

const HEAD: [Head<'static>; 7] = [
    ("", false),
    ("n", true),
    ("A", true),
    ("B", true),
    ("B ÷ A", true),
    ("p", true),
    ("B against A", false),
];

const FIGURES_HEAD: [Head<'static>; 5] =
    [("", false), ("A", true), ("B", true), ("B ÷ A", true), ("B against A", false)];

/// Writes a comparison for a screen of so many columns.
///
/// # Errors
/// When it cannot be written.
pub fn write(comparison: &Comparison, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let out = &mut out;
    breaches(&comparison.breaches, width, out)?;
    wrapped(&headline(comparison), width, out)?;
    if comparison.pairs.is_empty() {
        wrapped("There are no two rows to compare.", width, out)?;
    }
    for measure in measures(comparison) {
        writeln!(out, "\n{measure}")?;
        table(&HEAD, 1, &lines(comparison, measure), width, out)?;
    }
    figures(comparison, width, out)?;
    failures(comparison, width, out)?;
    writeln!(out)?;
    let alone = comparison.alone.iter().map(|it| format!("Only in {}: {}.", it.run, it.row));
    let all = alone.chain(comparison.notes.iter().cloned()).chain(legends(comparison));
    all.into_iter().try_for_each(|note| wrapped(&note, width, out))
}

/// What the tables mean.
pub(crate) fn legends(comparison: &Comparison) -> impl Iterator<Item = String> {
    let has_figures = comparison.pairs.iter().any(|pair| !pair.figures.is_empty());
    let is_cpu = |it: &Contrast| it.measure.starts_with("cpu_us.");
    let has_cpu = comparison.pairs.iter().any(|pair| pair.contrasts.iter().any(is_cpu));
    let is_by_runs = |it: &Contrast| it.unit == Unit::Run;
    let runs = comparison.pairs.iter().flat_map(|pair| &pair.contrasts).find(|it| is_by_runs(it)).map(|it| {
        let [a, b] = it.units_count;
        format!(
            "A has {a} runs and B {b}. CPU times, and delays of runs with different seeds, are compared run by run: B ÷ A is the ratio of geometric \
             means of the runs, its interval and p are Welch's. Differences below {} % do not count.",
            TOLERANCE * 100.0
        )
    });
    let cpu = (has_cpu && runs.is_none()).then(|| {
        format!(
            "CPU times: B ÷ A compares the fastest authentication of each block, not the medians in A and B. CPU times, and delays that \
             contain them, are judged by blocks of authentications at full speed of the machine. Differences below {} % do not count.",
            TOLERANCE * 100.0
        )
    });
    let legends = [Some(LEGEND.to_owned()), cpu, runs, has_figures.then(|| FIGURES_LEGEND.to_owned())];
    legends.into_iter().flatten()
}

const FIGURES_LEGEND: &str = "Populations: delays from the intended start, of the attempts that succeeded. Points of delays have bootstrap intervals, shares \
                              those of Donner and Zou. Intervals of populations are too narrow, because attempts in one queue are not \
                              independent: compare several seeds before you trust a small change. Values that exist once, like \
                              utilisation, have no interval.";

const LEGEND: &str = "n: authentications, of A and of B if they differ. Medians, and their ratio with its 95 % bootstrap interval. p: Mann and Whitney's test, two-sided, \
                      after Holm's correction for all rows of the measure; from 0.05 on, the two cannot be told apart. “in 90 % of \
                      pairs”: of all pairs of an authentication of A and one of B, or of a block or run of each, ties counting half.";

pub(crate) fn headline(comparison: &Comparison) -> String {
    let Comparison { a, b, .. } = comparison;
    match () {
        () if comparison.is_of_rows() => format!("{a}: its rows against each other"),
        () if a == b => format!("{a} against itself: A and B are the same run"),
        () => format!("A: {a}; B: {b}"),
    }
}

/// The measures in order of first appearance.
pub(crate) fn measures(comparison: &Comparison) -> Vec<&str> {
    let mut measures: Vec<&str> = Vec::new();
    for contrast in comparison.pairs.iter().flat_map(|pair| &pair.contrasts) {
        if !measures.contains(&contrast.measure.as_str()) {
            measures.push(&contrast.measure);
        }
    }
    measures
}

/// The pairs over one network below its name, and the row with which they are compared where that is another one.
fn lines(comparison: &Comparison, measure: &str) -> Vec<Line> {
    let (mut lines, mut before) = (Vec::new(), None);
    let rows = comparison.pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
    let shared = shared_words(rows.map(|row| row.subject().variant));
    for pair in &comparison.pairs {
        let Some(contrast) = pair.contrasts.iter().find(|contrast| contrast.measure == measure) else {
            continue;
        };
        let heading = heading(pair, comparison.is_of_rows(), &shared);
        if before.as_ref() != Some(&heading) {
            lines.push(Line::Text(heading.clone()));
            before = Some(heading);
        }
        lines.push(Line::Cells(cells(&pair.b.subject().without(&shared), contrast)));
    }
    lines
}

fn heading(pair: &Pair, is_one_run: bool, shared: &[&str]) -> String {
    let Pair { a, b, .. } = pair;
    let base = match () {
        () if is_one_run => format!("; A: {}", a.subject().without(shared)),
        () if is_of_others(pair) => format!("; A: {a}"),
        () => String::new(),
    };
    let common = shared.iter().map(|word| format!(", {word}"));
    let topology = if b.topology.is_empty() { String::new() } else { format!(", {}", b.topology) };
    format!("{}{topology}{}{base}", b.network, common.collect::<String>())
}

/// Whether the rows have different names, as those of a load and of whatever it is compared with may have.
fn is_of_others(Pair { a, b, .. }: &Pair) -> bool {
    a.to_string() != b.to_string()
}

/// The numbers of populations, pair by pair.
fn figures(comparison: &Comparison, width: usize, out: &mut impl Write) -> io::Result<()> {
    let told = comparison.pairs.iter().filter(|pair| !pair.figures.is_empty());
    let mut lines = Vec::new();
    for pair in told {
        lines.push(Line::Text(pair_name(pair)));
        lines.extend(pair.figures.iter().map(|it| Line::Cells(figure_cells(it))));
    }
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nPopulations")?;
    table(&FIGURES_HEAD, 1, &lines, width, out)
}

/// `ikev2-psk, lte, raw`, or both rows if they differ.
pub(crate) fn pair_name(pair: &Pair) -> String {
    let Pair { a, b, .. } = pair;
    if is_of_others(pair) { format!("{b} against {a}") } else { b.to_string() }
}

fn figure_cells(it: &Figure) -> Vec<String> {
    let verdict = it.verdict.map_or("", of_values);
    vec![
        format!("  {}", it.measure),
        plain(it.value_a),
        plain(it.value_b),
        ratio_of_figure(it),
        verdict.to_owned(),
    ]
}

pub(crate) fn ratio_of_figure(it: &Figure) -> String {
    let median = |value| Median { value, interval: it.ratio_ci95_low.zip(it.ratio_ci95_high) };
    match (it.ratio, it.ratio_ci95_low) {
        (Some(value), _) => ranged(median(value)),
        (None, Some(low)) => format!("≥ {}", plain(low)),
        (None, None) => "–".to_owned(),
    }
}

/// What follows for a number, in words.
pub(crate) const fn of_values(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Equal => "equal",
        Verdict::Identical => "the same values",
        Verdict::NotToldApart => "cannot be told apart",
        Verdict::Less => "less",
        Verdict::More => "more",
        Verdict::CannotBeJudged => "cannot be judged",
    }
}

fn cells(label: &str, contrast: &Contrast) -> Vec<String> {
    let ratio = contrast
        .ratio
        .map(|value| Median { value, interval: contrast.ratio_ci95_low.zip(contrast.ratio_ci95_high) });
    vec![
        format!("  {label}"),
        if contrast.a.n == contrast.b.n {
            contrast.a.n.to_string()
        } else {
            format!("{}, {}", contrast.a.n, contrast.b.n)
        },
        plain(contrast.a.value_p50),
        plain(contrast.b.value_p50),
        ratio.map_or_else(|| "–".to_owned(), ranged),
        contrast.p_value_holm.map_or_else(|| "–".to_owned(), chance),
        verdict(contrast),
    ]
}

pub(crate) fn chance(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

pub(crate) fn verdict(contrast: &Contrast) -> String {
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    match contrast.verdict {
        it @ (Verdict::Equal | Verdict::Identical | Verdict::NotToldApart | Verdict::CannotBeJudged) => {
            of_values(it).to_owned()
        }
        Verdict::Less => format!("less, in {} % of pairs", percent(1.0 - contrast.superiority_share)),
        Verdict::More => format!("more, in {} % of pairs", percent(contrast.superiority_share)),
    }
}

fn failures(comparison: &Comparison, width: usize, out: &mut impl Write) -> io::Result<()> {
    let failed: Vec<&Pair> = comparison.pairs.iter().filter(|pair| pair.failures != [0, 0]).collect();
    if failed.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nNot established")?;
    failed.into_iter().try_for_each(|pair| {
        let [of_a, of_b] = [0, 1].map(|side| format!("{} of {}", pair.failures[side], pair.n[side]));
        wrapped(&format!("  {}: A {of_a}, B {of_b}", pair_name(pair)), width, out)
    })
}

fn breaches(breaches: &[Breach], width: usize, out: &mut impl Write) -> io::Result<()> {
    if breaches.is_empty() {
        return Ok(());
    }
    wrapped("FAILED: conditions that are met, or cannot be judged", width, out)?;
    breaches.iter().try_for_each(|breach| wrapped(&format!("  {}", sentence(breach)), width, out))?;
    writeln!(out)
}

/// `delay_ms.p95 > +10%: ikev2-psk, wifi-11g, raw: 14.2 [11.9, 16.0] %`.
pub fn sentence(breach: &Breach) -> String {
    let interval = breach.percent_ci95_low.zip(breach.percent_ci95_high);
    let percent = |value| format!("{} %", ranged(Median { value, interval }));
    let found = breach.percent.map(percent).or_else(|| breach.measured.clone()).unwrap_or_default();
    let [a, b] = &breach.rows;
    let rows = if a == b || breach.percent.is_none() { b.clone() } else { format!("{b} against {a}") };
    format!("{}: {rows}: {found}", breach.condition)
}

#[cfg(test)]
pub(crate) mod tests {
    use keytoll_analysis::compare::{Alone, RowName, Side};

    use super::*;

    fn name(method: &str) -> RowName {
        let [network, topology, world, crypto] = ["wifi-11g", "raw", "sim", "real"].map(str::to_owned);
        RowName { method: method.to_owned(), variant: String::new(), network, topology, world, crypto }
    }

    fn contrast(measure: &str, ratio: f64, p_value_holm: f64, verdict: Verdict) -> Contrast {
        let side = |value_p50: f64| Side {
            n: 30,
            value_p50,
            value_p50_ci95_low: Some(value_p50 * 0.95),
            value_p50_ci95_high: Some(value_p50 * 1.1),
        };
        Contrast {
            measure: measure.to_owned(),
            a: side(12.0),
            b: side(12.0 * ratio),
            ratio: Some(ratio),
            ratio_ci95_low: Some(ratio * 0.97),
            ratio_ci95_high: Some(ratio * 1.03),
            p_value: Some(p_value_holm / 2.0),
            p_value_holm: Some(p_value_holm),
            superiority_share: if ratio > 1.0 { 0.914 } else { 0.07 },
            unit: Unit::Authentication,
            units_count: [30, 30],
            verdict,
        }
    }

    pub(crate) fn example() -> Comparison {
        let pair = |method: &str, contrasts: Vec<Contrast>, failures| Pair {
            a: name(method),
            b: name(method),
            n: [30, 30],
            failures,
            contrasts,
            figures: Vec::new(),
        };
        let psk = vec![
            contrast("cpu_us.gw", 0.8, 0.000_02, Verdict::Less),
            contrast("delay_ms", 1.12, 0.004, Verdict::More),
        ];
        let rsa = vec![contrast("delay_ms", 1.01, 0.61, Verdict::NotToldApart)];
        Comparison {
            format: 1,
            a: "runs/before".to_owned(),
            b: "runs/after".to_owned(),
            pairs: vec![pair("ikev2-psk", psk, [0, 0]), pair("ikev2-rsa2048", rsa, [0, 3])],
            alone: vec![Alone { run: "runs/after".to_owned(), row: name("hip-bex").to_string() }],
            notes: vec!["They ran on different machines: one and another.".to_owned()],
            breaches: vec![Breach {
                condition: "delay_ms.p95 > +10%".to_owned(),
                rows: [name("ikev2-psk").to_string(), name("ikev2-psk").to_string()],
                percent: Some(14.2),
                percent_ci95_low: Some(11.9),
                percent_ci95_high: Some(16.0),
                measured: None,
            }],
        }
    }

    fn shown(comparison: &Comparison, width: usize) -> String {
        let mut out = Vec::new();
        write(comparison, width, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn two_runs() {
        insta::assert_snapshot!(shown(&example(), 100));
    }

    /// Two populations.
    pub(crate) fn counted() -> Comparison {
        let figure = |measure: &str, [a, b]: [f64; 2], interval: Option<[f64; 2]>, verdict| Figure {
            measure: measure.to_owned(),
            value_a: a,
            value_b: b,
            ratio: Some(b / a),
            ratio_ci95_low: interval.map(|[low, _]| low),
            ratio_ci95_high: interval.map(|[_, high]| high),
            verdict,
        };
        let figures = vec![
            figure("delay_ms.p99", [120.0, 150.0], Some([1.22, 1.28]), Some(Verdict::More)),
            figure("established_share", [0.99, 0.98], Some([0.97, 1.01]), Some(Verdict::NotToldApart)),
            figure("utilisation_share.gw", [0.5, 0.55], None, None),
        ];
        let mut comparison = Comparison { alone: Vec::new(), breaches: Vec::new(), ..example() };
        comparison.pairs.truncate(1);
        comparison.pairs[0].figures = figures;
        comparison
    }

    #[test]
    fn two_populations() {
        insta::assert_snapshot!(shown(&counted(), 100));
    }

    /// A load against a simulation of something else.
    pub(crate) fn of_others() -> Comparison {
        let mut comparison = counted();
        let pair = &mut comparison.pairs[0];
        pair.failures = [0, 3];
        pair.b = RowName {
            network: "127.0.0.1:1812".to_owned(),
            topology: String::new(),
            ..name("RADIUS mschapv2")
        };
        comparison
    }

    #[test]
    fn a_row_is_not_shown_under_the_place_of_another() {
        let text = shown(&of_others(), 100);
        let both = "RADIUS mschapv2, 127.0.0.1:1812 against ikev2-psk, wifi-11g, raw";
        for told in [
            "\n127.0.0.1:1812; A: ikev2-psk, wifi-11g, raw\n  RADIUS mschapv2  30",
            &format!("\n  {both}: A 0 of 30, B 3 of 30"),
        ] {
            assert!(text.contains(told), "{told}: {text}");
        }
        assert!(!text.contains("\nwifi-11g, raw\n"), "{text}");
    }

    #[test]
    fn a_narrow_screen_is_kept() {
        for width in [80, 60, WIDTH_MIN] {
            let text = shown(&example(), width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        }
    }

    #[test]
    fn rows_of_one_run_are_told_against_which_one() {
        let mut comparison = Comparison { b: "runs/before".to_owned(), ..example() };
        comparison.pairs[1].a = name("ikev2-psk");
        let text = shown(&comparison, 100);
        assert!(
            text.contains("its rows against each other") && text.contains("wifi-11g, raw; A: ikev2-psk\n"),
            "{text}"
        );
        let itself = shown(&Comparison { b: "runs/before".to_owned(), ..example() }, 100);
        assert!(itself.contains("\nruns/before against itself: A and B are the same run\n"), "{itself}");
        let nothing = shown(&Comparison { pairs: Vec::new(), ..example() }, 80);
        assert!(nothing.contains("no two rows"), "{nothing}");
    }
}
