//! Charts: specifications of Vega-Lite with their data. Every kind of chart has one function here, so that all of a kind look alike.

use keytoll_analysis::composition::{OTHERS, REST};
use keytoll_analysis::summary::Median;
use keytoll_page::Chart;
use serde_json::{Map, Value, json};

use crate::number::{plain, ranged};

/// Beyond this ratio of the greatest to the least value the scale is logarithmic, lest the small ones vanish.
const LINEAR_MAX: f64 = 30.0;

/// What a chart has besides its data.
pub(super) struct Frame {
    /// Its anchor.
    pub(super) id: String,
    /// What it shows, with the unit.
    pub(super) title: String,
    /// n, the interval, how to read it.
    pub(super) note: String,
    /// The unit of its values.
    pub(super) unit: &'static str,
}

/// A median with its intervals.
pub(super) struct Spread {
    /// What it is of.
    pub(super) label: String,
    /// The median and its 95 % interval.
    pub(super) median: Median,
    /// 5th and 95th percentile.
    pub(super) spread: Option<(f64, f64)>,
    /// Over how many values.
    pub(super) n: u64,
    /// Whether it is from a publication.
    pub(super) is_published: bool,
}

/// A part of a bar, or a bar beside others.
pub(super) struct Bar {
    /// What the bar is of.
    pub(super) label: String,
    /// Which part.
    pub(super) part: String,
    /// Its length.
    pub(super) value: f64,
    /// The ends of its 95 % interval.
    pub(super) interval: Option<(f64, f64)>,
    /// Over how many values.
    pub(super) n: Option<u64>,
}

/// A specification.
pub(super) fn spec(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => unreachable!("a specification is an object, not {other}"),
    }
}

/// The rows of a chart from top to bottom, in the order of the data.
pub(super) fn of_rows() -> Value {
    json!({ "field": "row", "type": "nominal", "sort": null, "title": null })
}

/// Numbers along an axis.
pub(super) fn along(field: &str, title: &str, values: &[f64]) -> Value {
    let (scale, axis) = match is_wide(values) {
        true => (json!({ "type": "log" }), json!({ "values": decades(values), "labelOverlap": "greedy" })),
        false => (json!({ "zero": true }), json!({})),
    };
    json!({ "field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis })
}

/// The places of a logarithmic axis that have a number: powers of ten, and where these are few also 2 and 5 times as much.
fn decades(values: &[f64]) -> Vec<f64> {
    let (least, greatest) = ends(values);
    let (from, to) = (least.log10().floor() as i32, greatest.log10().ceil() as i32);
    let steps: &[f64] = if to - from <= DECADES_MAX { &[1.0, 2.0, 5.0] } else { &[1.0] };
    (from..=to).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power))).collect()
}

/// So many powers of ten have numbers in between.
const DECADES_MAX: i32 = 3;

/// The least and the greatest value.
fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

/// Whether values are too far apart for a linear scale.
pub(super) fn is_wide(values: &[f64]) -> bool {
    let (least, greatest) = ends(values);
    least > 0.0 && greatest > LINEAR_MAX * least
}

/// Names of columns.
pub(super) fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A name with the unit behind it, as CSV files have it.
pub(super) fn named(name: &str, unit: &str) -> String {
    let unit: String = unit.chars().filter_map(ascii).collect();
    if unit.is_empty() { name.to_owned() } else { format!("{name}_{unit}") }
}

fn ascii(letter: char) -> Option<char> {
    match letter {
        'µ' => Some('u'),
        '/' | ' ' => Some('_'),
        letter => letter.is_ascii_alphanumeric().then(|| letter.to_ascii_lowercase()),
    }
}

/// A few words about many values: who is least and who greatest.
fn described(values: &[(&str, f64)], unit: &str) -> String {
    let told = |value: Option<&(&str, f64)>, word: &str| {
        value.map(|(label, value)| format!("{word}: {label}, {} {unit}", plain(*value)))
    };
    let least = values.iter().min_by(|one, other| one.1.total_cmp(&other.1));
    let greatest = values.iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let all = [told(least, "least"), told(greatest, "greatest").filter(|_| values.len() > 1)];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Medians as points with their intervals, and whiskers for the percentiles; nothing without any.
pub(super) fn spreads(frame: Frame, all: &[Spread]) -> Option<Chart> {
    let Frame { id, title, note, unit } = frame;
    let ends = |it: &Spread| [Some(it.median.value), it.spread.map(|it| it.0), it.spread.map(|it| it.1)];
    let values: Vec<f64> = all.iter().flat_map(ends).flatten().collect();
    let labelled: Vec<_> = all.iter().map(|it| (it.label.as_str(), it.median.value)).collect();
    let told = all.iter().map(|it| format!("{} {} {unit}", it.label, ranged(it.median)));
    let names = ["median", "low", "high", "p5", "p95"].map(|name| named(name, unit));
    let fields: Vec<&str> =
        ["row", "source"].into_iter().chain(names.iter().map(String::as_str)).chain(["n"]).collect();
    (!all.is_empty()).then(|| Chart {
        id,
        description: format!("{title}: {}.", described(&labelled, unit)),
        title,
        note,
        spec: spec(of_spreads(&names, unit, &values)),
        columns: columns(&fields),
        lines: all.iter().map(spread_line).collect(),
        instead: told.collect::<Vec<_>>().join("; "),
    })
}

fn spread_line(it: &Spread) -> Vec<Value> {
    let (low, high) = it.median.interval.unzip();
    let (p5, p95) = it.spread.unzip();
    let source = source(it.is_published);
    vec![
        json!(it.label),
        json!(source),
        json!(it.median.value),
        json!(low),
        json!(high),
        json!(p5),
        json!(p95),
        json!(it.n),
    ]
}

/// The words of a legend that tells publications apart.
pub(super) const fn source(is_published: bool) -> &'static str {
    if is_published { "published" } else { "measured" }
}

/// The colours of measured and published values, in which all charts agree.
pub(super) fn of_sources(has_published: bool) -> Value {
    let legend = if has_published { json!({ "title": null }) } else { Value::Null };
    let scale = json!({ "domain": ["measured", "published"], "range": ["@measured", "@published"] });
    json!({ "field": "source", "type": "nominal", "scale": scale, "legend": legend })
}

fn of_spreads([median, low, high, p5, p95]: &[String; 5], unit: &str, values: &[f64]) -> Value {
    let x = |field: &str| along(field, unit, values);
    let tip = |field: &str| json!({ "field": field, "type": "quantitative" });
    let tips = json!([{ "field": "row" }, tip(median), tip(low), tip(high), tip(p5), tip(p95), tip("n")]);
    json!({
        "encoding": { "y": of_rows(), "color": of_sources(false), "tooltip": tips },
        "layer": [
            { "mark": { "type": "rule", "strokeWidth": 1 }, "encoding": { "x": x(p5), "x2": { "field": p95 } } },
            {
                "mark": { "type": "rule", "strokeWidth": 7, "opacity": 0.45 },
                "encoding": { "x": x(low), "x2": { "field": high } }
            },
            { "mark": { "type": "point", "filled": true, "opacity": 1, "size": 60 }, "encoding": { "x": x(median) } },
        ],
    })
}

/// Bars whose parts stand behind each other; nothing without any. `parts` are all that there may be, so that charts beside each other agree
/// on their colours.
pub(super) fn stacked(frame: Frame, bars: &[Bar], parts: &[String]) -> Option<Chart> {
    let value = named("value", frame.unit);
    let tips = json!([{ "field": "row" }, { "field": "part" }, { "field": value, "type": "quantitative" }]);
    let encoding = json!({
        "y": of_rows(),
        "x": { "field": value, "type": "quantitative", "title": frame.unit, "stack": "zero", "scale": whole(frame.unit) },
        "color": of_parts(parts),
        "order": { "field": "place", "type": "quantitative" },
        "tooltip": tips,
    });
    let spec = json!({ "mark": "bar", "encoding": encoding });
    of_bars(frame, &value, spec, bars, &sums(bars))
}

/// The names of the parts in order of appearance.
pub(super) fn parts_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for name in names {
        if parts.iter().all(|known| known != name) {
            parts.push(name.to_owned());
        }
    }
    parts
}

/// Parts that have the same colour in every chart; others get theirs in order of appearance.
const COLOURS: [(&str, &str); 8] = [
    ("network", "@network-fill"),
    ("computation", "@computation-fill"),
    ("waiting", "@waiting-fill"),
    ("crypto", "@crypto-fill"),
    ("operations", "@crypto-fill"),
    (REST, "@rest-fill"),
    (OTHERS, "@series-8-fill"),
    ("not established", "@lost-fill"),
];

fn of_parts(parts: &[String]) -> Value {
    let mut others = (1..=SERIES_MAX).cycle();
    let colour = |part: &String| match COLOURS.iter().find(|(name, _)| name == part) {
        Some((_, colour)) => (*colour).to_owned(),
        None => format!("@series-{}-fill", others.next().unwrap_or(1)),
    };
    let range: Vec<String> = parts.iter().map(colour).collect();
    let scale = json!({ "domain": parts, "range": range });
    json!({ "field": "part", "type": "nominal", "title": null, "scale": scale })
}

/// How many colours there are for what has none of its own.
pub(super) const SERIES_MAX: usize = 8;

/// The scale of bars: shares end at the whole.
fn whole(unit: &str) -> Value {
    if unit == "%" { json!({ "domain": [0, 100] }) } else { json!({ "zero": true }) }
}

/// The whole length of each bar.
fn sums(bars: &[Bar]) -> Vec<(&str, f64)> {
    let mut sums: Vec<(&str, f64)> = Vec::new();
    for bar in bars {
        match sums.iter_mut().find(|(label, _)| *label == bar.label) {
            Some((_, sum)) => *sum += bar.value,
            None => sums.push((&bar.label, bar.value)),
        }
    }
    sums
}

/// Bars of the same label beside each other, with their intervals; nothing without any.
pub(super) fn grouped(frame: Frame, bars: &[Bar]) -> Option<Chart> {
    let offset = json!({ "field": "part", "type": "nominal", "sort": null });
    with_intervals(frame, bars, Some(offset))
}

/// A bar for each label, coloured by part, with its interval; nothing without any.
pub(super) fn single(frame: Frame, bars: &[Bar]) -> Option<Chart> {
    with_intervals(frame, bars, None)
}

fn with_intervals(frame: Frame, bars: &[Bar], offset: Option<Value>) -> Option<Chart> {
    let [value, low, high] = ["value", "low", "high"].map(|name| named(name, frame.unit));
    let parts = parts_of(bars.iter().map(|bar| bar.part.as_str()));
    let x = |field: &str| json!({ "field": field, "type": "quantitative", "title": frame.unit, "scale": whole(frame.unit) });
    let tip = |field: &str| json!({ "field": field, "type": "quantitative" });
    let tips = json!([{ "field": "row" }, { "field": "part" }, tip(&value), tip(&low), tip(&high), tip("n")]);
    let mut encoding = spec(json!({ "y": of_rows(), "tooltip": tips }));
    let bars_of_a_row = if offset.is_some() { parts.len().max(1) } else { 1 };
    encoding.extend(offset.map(|offset| ("yOffset".to_owned(), offset)));
    let layer = json!([
        { "mark": "bar", "encoding": { "x": x(&value), "color": of_parts(&parts) } },
        { "mark": "rule", "encoding": { "x": x(&low), "x2": { "field": high } } },
    ]);
    let height =
        json!({ "step": if bars_of_a_row > 1 { 14 * bars_of_a_row + 8 } else { 26 }, "for": "position" });
    let spec = json!({ "height": height, "encoding": encoding, "layer": layer });
    let labels: Vec<String> = bars.iter().map(|bar| format!("{}, {}", bar.label, bar.part)).collect();
    let values: Vec<_> = labels.iter().map(String::as_str).zip(bars.iter().map(|bar| bar.value)).collect();
    of_bars(frame, &value, spec, bars, &values)
}

fn of_bars(frame: Frame, value: &str, drawn: Value, bars: &[Bar], told: &[(&str, f64)]) -> Option<Chart> {
    let Frame { id, title, note, unit } = frame;
    let [low, high] = ["low", "high"].map(|name| named(name, unit));
    let line = |(place, bar): (usize, &Bar)| {
        let (low, high) = bar.interval.unzip();
        vec![
            json!(bar.label),
            json!(bar.part),
            json!(bar.value),
            json!(low),
            json!(high),
            json!(bar.n),
            json!(place),
        ]
    };
    let shown = told.iter().map(|(label, value)| format!("{label} {} {unit}", plain(*value)));
    bars.iter().any(|bar| bar.value > 0.0).then(|| Chart {
        id,
        description: format!("{title}: {}.", described(told, unit)),
        title,
        note,
        spec: spec(drawn),
        columns: columns(&["row", "part", value, &low, &high, "n", "place"]),
        lines: bars.iter().enumerate().map(line).collect(),
        instead: shown.collect::<Vec<_>>().join("; "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame { id: "a".into(), title: "Delay, ms".into(), note: "n = 3".into(), unit: "ms" }
    }

    fn spread(label: &str, value: f64) -> Spread {
        let median = Median { value, interval: Some((value * 0.9, value * 1.1)) };
        Spread {
            label: label.into(),
            median,
            spread: Some((value * 0.5, value * 2.0)),
            n: 3,
            is_published: false,
        }
    }

    #[test]
    fn far_values_have_a_logarithmic_scale() {
        let scale = |values: &[f64]| along("x", "ms", values)["scale"].clone();
        assert_eq!(scale(&[1.0, 29.0]), json!({ "zero": true }));
        assert_eq!(scale(&[1.0, 4000.0]), json!({ "type": "log" }));
        assert_eq!(scale(&[0.0, 4000.0]), json!({ "zero": true }));
        assert_eq!(along("x", "ms", &[3.0, 700.0])["axis"]["values"][4], json!(20.0));
        assert_eq!(along("x", "ms", &[3.0, 7e5])["axis"]["values"][4], json!(10_000.0));
    }

    #[test]
    fn a_chart_has_its_data_in_words_too() {
        let chart = spreads(frame(), &[spread("one", 2.0), spread("two", 4.0)]).unwrap();
        assert_eq!(chart.columns[2], "median_ms");
        assert_eq!(chart.lines[1][2], json!(4.0));
        assert_eq!(chart.description, "Delay, ms: least: one, 2 ms; greatest: two, 4 ms.");
        assert!(chart.instead.starts_with("one 2.00 [1.80, 2.20] ms; two"), "{}", chart.instead);
        assert!(spreads(frame(), &[]).is_none() && stacked(frame(), &[], &[]).is_none());
    }

    #[test]
    fn parts_add_up_in_words() {
        let bar = |part: &str, value| Bar {
            label: "one".into(),
            part: part.into(),
            value,
            interval: None,
            n: None,
        };
        let parts = ["a", "b"].map(str::to_owned);
        let chart = stacked(frame(), &[bar("a", 2.0), bar("b", 3.5)], &parts).unwrap();
        assert_eq!((chart.instead.as_str(), chart.lines.len()), ("one 5.50 ms", 2));
    }

    #[test]
    fn units_are_in_the_names_of_columns() {
        assert_eq!(
            [named("value", "µs"), named("value", "Mbit/s"), named("n", "")],
            ["value_us", "value_mbit_s", "n"]
        );
    }
}
