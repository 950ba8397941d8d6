//! Tests of pictures that are drawn without a browser, in builds with the feature `svg`.

use keytoll_page::Chart;
use keytoll_page::pictures::Painter;
use serde_json::json;

use super::{chart, ladder, ranking};

/// A chart with a fill pattern, a name that needs a line break, and a title that needs escaping.
fn drawable(colour: &str) -> Chart {
    let spec = json!({
        "mark": "bar",
        "encoding": {
            "y": { "field": "name", "type": "nominal", "sort": null },
            "x": { "field": "ms", "type": "quantitative" },
            "color": { "value": colour }
        }
    });
    let long = "a name that is so long that it must be broken into lines that are not longer than others";
    Chart {
        spec: spec.as_object().unwrap().clone(),
        columns: vec!["name".to_owned(), "ms".to_owned()],
        lines: vec![vec![json!(long), json!(12.5)], vec![json!("short"), json!(3)]],
        ..chart("one < two")
    }
}

#[test]
fn a_chart_is_drawn_without_a_browser() {
    let painter = Painter::new().unwrap();
    let svg = painter.chart(&drawable("@computation-fill")).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"), "{svg}");
    assert!(svg.contains("one &lt; two") && svg.contains("a name that is so long"), "{svg}");
    assert!(svg.contains(r##"<pattern id="fill-computation""##) && svg.contains("url(#fill-computation)"));
    assert!(!svg.contains("var(--") && !svg.contains("longer than others a"), "{svg}");
    assert_eq!(svg, painter.chart(&drawable("@computation-fill")).unwrap(), "the same each time");
}

#[test]
fn a_ladder_and_a_ranking_are_drawn_without_a_browser() {
    let painter = Painter::new().unwrap();
    let svg = painter.ladder(&ladder("a < b")).unwrap();
    assert!(svg.contains("a &#60; b") && svg.contains("1 B"), "{svg}");
    let svg = painter.ranking(&ranking("best")).unwrap();
    assert!(svg.contains("Weights: best 100 %."), "{svg}");
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let painter = Painter::new().unwrap();
    let error = painter.chart(&drawable("@no-such-colour")).unwrap_err().to_string();
    assert_eq!(error, "the picture cannot be drawn: no colour is named @no-such-colour");
    painter.chart(&drawable("@network")).unwrap();
}
