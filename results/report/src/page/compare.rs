//! A comparison as a page: for each measure the ratios with their intervals, and all figures as a table.

use keytoll_analysis::compare::{Comparison, Contrast, Figure, Pair, Verdict};
use keytoll_analysis::summary::Median;
use keytoll_page::{Block, Cell, Chart, Page, Section, Table};
use serde_json::{Value, json};

use super::anchor;
use super::figure::{columns, of_rows, spec};
use super::tables::{number, plain, text};
use crate::compare::{
    chance, headline, legends, measures, of_values, pair_name, ratio_of_figure, sentence, verdict,
};
use crate::number::{counted, known, plain as shortened, ranged};

/// The page of a comparison.
pub fn comparison(comparison: &Comparison) -> Page {
    let sections = measures(comparison).into_iter().map(|measure| of_measure(comparison, measure));
    let failures = failures(comparison);
    let last = [figures(comparison), failures, Some(method(comparison))].into_iter().flatten();
    Page {
        title: headline(comparison),
        verdict: verdicts(comparison),
        facts: Vec::new(),
        warnings: comparison
            .breaches
            .iter()
            .map(|breach| format!("Condition met: {}", sentence(breach)))
            .collect(),
        sections: sections.chain(last).collect(),
    }
}

/// How many of all comparisons could be told apart, and which differ most.
fn verdicts(comparison: &Comparison) -> Vec<String> {
    let all = || comparison.pairs.iter().flat_map(|pair| pair.contrasts.iter().map(move |it| (pair, it)));
    let differs = |(_, it): &(&Pair, &Contrast)| matches!(it.verdict, Verdict::Less | Verdict::More);
    let (n, told) = (all().count(), all().filter(differs).count());
    let far = |it: &Contrast| it.ratio.filter(|ratio| *ratio > 0.0).map_or(0.0, |ratio| ratio.ln().abs());
    let most = all().filter(differs).max_by(|one, other| far(one.1).total_cmp(&far(other.1)));
    let most = most.map(|(pair, it)| {
        let pair = label(comparison, pair);
        format!("{} of {pair} differs most: B is {} times A.", it.measure, ratio(it))
    });
    let told = format!("{told} of {} can be told apart.", counted(n as u64, "comparison"));
    if n == 0 {
        vec!["There are no two rows to compare.".to_owned()]
    } else {
        std::iter::once(told).chain(most).collect()
    }
}

fn ratio(it: &Contrast) -> String {
    median(it).map_or_else(|| known(None), ranged)
}

fn median(it: &Contrast) -> Option<Median> {
    Some(Median { value: it.ratio?, interval: it.ratio_ci95_low.zip(it.ratio_ci95_high) })
}

/// The pairs in which something was measured of both.
fn pairs<'a>(comparison: &'a Comparison, measure: &'a str) -> impl Iterator<Item = (&'a Pair, &'a Contrast)> {
    comparison.pairs.iter().filter_map(move |pair| {
        Some((pair, pair.contrasts.iter().find(|contrast| contrast.measure == measure)?))
    })
}

fn of_measure(comparison: &Comparison, measure: &str) -> Section {
    let chart = chart(comparison, measure).map(Block::Chart);
    let table = Block::Table(table(comparison, measure));
    Section {
        id: anchor(measure),
        title: measure.to_owned(),
        blocks: chart.into_iter().chain([table]).collect(),
        sections: Vec::new(),
    }
}

/// What a pair is about, and with which row it is compared where that is another one.
fn label(comparison: &Comparison, pair: &Pair) -> String {
    if comparison.is_of_rows() { format!("{} against {}", pair.b, pair.a.subject()) } else { pair_name(pair) }
}

fn chart(comparison: &Comparison, measure: &str) -> Option<Chart> {
    let line = |(pair, it): (&Pair, &Contrast)| {
        let Median { value, interval } = median(it)?;
        let (low, high) = interval.unzip();
        Some(vec![
            json!(label(comparison, pair)),
            json!(value),
            json!(low),
            json!(high),
            json!(told(it.verdict)),
        ])
    };
    let lines: Vec<Vec<Value>> = pairs(comparison, measure).filter_map(line).collect();
    let told =
        pairs(comparison, measure).map(|(pair, it)| format!("{} {}", label(comparison, pair), ratio(it)));
    let instead = told.collect::<Vec<_>>().join("; ");
    let title = format!("{measure}: median of B over that of A");
    (!lines.is_empty()).then(|| Chart {
        id: format!("{}-ratio", anchor(measure)),
        description: format!("{title}: {instead}."),
        title,
        note: "Lines: 95 % bootstrap intervals. At 1 both are equal. The scale is logarithmic.".to_owned(),
        spec: spec(of_ratios()),
        columns: columns(&["row", "ratio", "low", "high", "verdict"]),
        lines,
        instead,
    })
}

/// The words of the legend.
const fn told(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Equal | Verdict::Identical | Verdict::NotToldApart => "cannot be told apart",
        Verdict::CannotBeJudged => "cannot be judged",
        Verdict::Less => "B is less",
        Verdict::More => "B is more",
    }
}

fn of_ratios() -> Value {
    let x = |field: &str| json!({ "field": field, "type": "quantitative", "title": "B ÷ A", "scale": { "type": "log", "zero": false } });
    let scale = json!({
        "domain": ["B is less", "B is more", "cannot be told apart"],
        "range": ["@series-3", "@series-2", "@faint"],
    });
    json!({
        "encoding": {
            "y": of_rows(),
            "color": { "field": "verdict", "type": "nominal", "title": null, "scale": scale },
            "tooltip": [
                { "field": "row" }, { "field": "verdict" }, { "field": "ratio", "type": "quantitative", "format": ".3f" },
                { "field": "low", "type": "quantitative", "format": ".3f" },
                { "field": "high", "type": "quantitative", "format": ".3f" },
            ],
        },
        "layer": [
            { "mark": { "type": "rule", "strokeWidth": 2 }, "encoding": { "x": x("low"), "x2": { "field": "high" } } },
            { "mark": { "type": "point", "size": 60 }, "encoding": { "x": x("ratio") } },
        ],
    })
}

fn table(comparison: &Comparison, measure: &str) -> Table {
    let columns = [
        ("row", "", ""),
        ("A", "1", "median, in brackets its distribution-free 95 % interval"),
        ("B", "1", "the same of the other"),
        ("n of A", "authentications", ""),
        ("n of B", "authentications", ""),
        (
            "B ÷ A",
            "times",
            "ratio of the medians, of CPU times that of the fastest of each block, with its 95 % interval",
        ),
        ("p", "1", "Mann and Whitney's test, two-sided, after Holm's correction for all rows of the measure"),
        ("B against A", "", ""),
    ];
    let line = |(pair, it): (&Pair, &Contrast)| -> Vec<Cell> {
        let sides = [&it.a, &it.b].map(|side| {
            let interval = side.value_p50_ci95_low.zip(side.value_p50_ci95_high);
            number(ranged(Median { value: side.value_p50, interval }), side.value_p50)
        });
        let counts = [it.a.n, it.b.n].map(|n| number(n.to_string(), n as f64));
        let ratio = it.ratio.map_or_else(|| text("–"), |value| number(ratio(it), value));
        let p = it.p_value_holm.map_or_else(|| text("–"), |p| number(chance(p), p));
        let last = [ratio, p, text(&verdict(it))];
        std::iter::once(text(&label(comparison, pair))).chain(sides).chain(counts).chain(last).collect()
    };
    Table {
        id: format!("{}-table", anchor(measure)),
        caption: format!("{measure}: medians, and whether they can be told apart"),
        columns: columns.map(|(head, unit, meaning)| plain(head, unit, meaning)).to_vec(),
        lines: pairs(comparison, measure).map(line).collect(),
    }
}

/// The numbers of populations.
fn figures(comparison: &Comparison) -> Option<Section> {
    let columns =
        [("row", ""), ("number", ""), ("A", "1"), ("B", "1"), ("B ÷ A", "times"), ("B against A", "")];
    let line = |pair: &Pair, it: &Figure| {
        let values = [it.value_a, it.value_b].map(|value| number(shortened(value), value));
        let ratio = it.ratio.map_or_else(|| text("–"), |value| number(ratio_of_figure(it), value));
        let verdict = text(it.verdict.map_or("", of_values));
        let names = [text(&pair_name(pair)), text(&it.measure)];
        names.into_iter().chain(values).chain([ratio, verdict]).collect()
    };
    let all = comparison.pairs.iter().flat_map(|pair| pair.figures.iter().map(move |it| (pair, it)));
    let lines: Vec<Vec<Cell>> = all.map(|(pair, it)| line(pair, it)).collect();
    (!lines.is_empty()).then(|| Section {
        id: "populations".to_owned(),
        title: "Populations".to_owned(),
        blocks: vec![Block::Table(Table {
            id: "populations-table".to_owned(),
            caption: "Numbers of the populations, and whether they can be told apart".to_owned(),
            columns: columns.map(|(head, unit)| plain(head, unit, "")).to_vec(),
            lines,
        })],
        sections: Vec::new(),
    })
}

fn failures(comparison: &Comparison) -> Option<Section> {
    let failed = comparison.pairs.iter().filter(|pair| pair.failures != [0, 0]);
    let line = |pair: &Pair| {
        let sides = [0, 1].map(|side| {
            number(format!("{} of {}", pair.failures[side], pair.n[side]), pair.failures[side] as f64)
        });
        std::iter::once(text(&label(comparison, pair))).chain(sides).collect()
    };
    let lines: Vec<Vec<Cell>> = failed.map(line).collect();
    let table = |lines| Table {
        id: "failures-table".to_owned(),
        caption: "Authentications that were not established".to_owned(),
        columns: [("row", ""), ("A", "authentications"), ("B", "authentications")]
            .map(|(head, unit)| plain(head, unit, ""))
            .to_vec(),
        lines,
    };
    (!lines.is_empty()).then(|| Section {
        id: "failures".to_owned(),
        title: "Not established".to_owned(),
        blocks: vec![Block::Table(table(lines))],
        sections: Vec::new(),
    })
}

fn method(comparison: &Comparison) -> Section {
    let alone = comparison.alone.iter().map(|it| format!("Only in {}: {}.", it.run, it.row));
    let notes = alone.chain(comparison.notes.iter().cloned()).chain(legends(comparison));
    Section {
        id: "method".to_owned(),
        title: "Method and limits".to_owned(),
        blocks: notes.map(Block::Note).collect(),
        sections: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::{counted as populations, example, of_others};
    use crate::page::tests::{charts, text_of};

    #[test]
    fn numbers_of_populations_are_a_table() {
        let text = text_of(&comparison(&populations()));
        for told in ["delay_ms.p99", "1.250 [1.220, 1.280]", "utilisation_share.gw", "cannot be told apart"] {
            assert!(text.contains(told), "{told}: {text}");
        }
    }

    #[test]
    fn both_rows_are_named_where_they_differ() {
        let page = comparison(&of_others());
        let both = "RADIUS mschapv2, 127.0.0.1:1812 against ikev2-psk, wifi-11g, raw";
        let delay = charts(&page).find(|chart| chart.id == "delay-ms-ratio").unwrap();
        assert_eq!(delay.lines[0][0], json!(both));
        assert!(page.verdict[1].starts_with(&format!("cpu_us.gw of {both} differs")), "{:?}", page.verdict);
    }

    #[test]
    fn what_differs_is_told_and_what_may_be_chance_has_no_colour() {
        let page = comparison(&example());
        assert_eq!(page.verdict[0], "2 of 3 comparisons can be told apart.");
        assert!(page.verdict[1].starts_with("cpu_us.gw of ikev2-psk"), "{:?}", page.verdict);
        let delay = charts(&page).find(|chart| chart.id == "delay-ms-ratio").unwrap();
        let verdicts: Vec<&Value> = delay.lines.iter().map(|line| &line[4]).collect();
        assert_eq!(verdicts, [&json!("B is more"), &json!("cannot be told apart")]);
        let text = text_of(&page);
        for told in ["3 of 30", "Only in runs/after", "Condition met: delay_ms.p95", "&lt; 0.001"] {
            assert!(text.contains(told), "{told}: {text}");
        }
    }
}
