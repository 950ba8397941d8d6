//! Writes a page with one of everything to standard output: what `web/test/` opens in a browser.

use std::io;

use keytoll_page::{
    Block, Cell, Chart, Column, Criterion, Hop, Ladder, Page, Ranking, Rule, Section, Table, Weighed,
};
use serde_json::{Map, Value, json};

fn main() -> io::Result<()> {
    keytoll_page::write(&page(), io::stdout().lock())
}

fn page() -> Page {
    Page {
        title: "Every way in, <compared> & weighed".to_owned(),
        verdict: vec![
            "The shared key is the fastest way in: 12.4 ms in the median, 3.1 times as fast as certificates."
                .to_owned(),
            "Nothing that was measured is slower than the network it runs over.".to_owned(),
        ],
        facts: pairs(&[
            ("run", "examples/page.rs"),
            ("seed", "7"),
            ("authentications", "1200"),
            ("processor", "bench"),
        ]),
        warnings: vec!["The run is not complete: this is what was measured of it.".to_owned()],
        sections: vec![
            texts(),
            section("delays", "Delays", delays()),
            section("tables", "Tables", vec![table()]),
            exchange(),
            weighing(),
        ],
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn section(id: &str, title: &str, blocks: Vec<Block>) -> Section {
    Section { id: id.to_owned(), title: title.to_owned(), blocks, sections: Vec::new() }
}

fn texts() -> Section {
    let details = Block::Details(
        "The scenario".to_owned(),
        vec![Block::Code("title = \"<one>\"\nseed = 7".to_owned())],
    );
    let blocks = vec![
        Block::Text("What is compared is \"quoted\" & <marked>; it must be read as it was written.".to_owned()),
        Block::Note("Each value is the median of 30 authentications; whiskers reach from the 5th to the 95th percentile.".to_owned()),
        Block::Meanings(pairs(&[("network", "time on links"), ("computation", "time of processors")])),
        details,
    ];
    Section {
        sections: vec![section("within", "A section within", vec![Block::Text("Text.".to_owned())])],
        ..section("about", "About", blocks)
    }
}

const METHODS: [&str; 6] = [
    "shared key",
    "certificate rsa2048",
    "certificate ecdsa-p256",
    "one-time password over a tunnel, chain=4,4 rekey_every=2s suite=aes256gcm16-prfsha512-ecp521",
    "subscriber module",
    "passphrase",
];

fn chart(id: &str, title: &str, spec: &Value, columns: &[&str], lines: Vec<Vec<Value>>) -> Block {
    let spec: Map<String, Value> = spec.as_object().cloned().unwrap_or_default();
    Block::Chart(Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        description: format!("{title}: the shared key is least with 12.4 ms, the tunnel greatest."),
        note: "n = 30 each; whiskers reach from the 5th to the 95th percentile.".to_owned(),
        spec,
        columns: columns.iter().map(|&name| name.to_owned()).collect(),
        lines,
        instead: "shared key 12.4 ms, certificate rsa2048 38.2 ms".to_owned(),
    })
}

fn delays() -> Vec<Block> {
    vec![bars(), curves(), small(), points()]
}

fn bars() -> Block {
    let spec = json!({
        "encoding": { "y": { "field": "method", "type": "nominal", "sort": null, "title": null } },
        "layer": [
            { "mark": "bar", "encoding": {
                "x": { "field": "ms", "type": "quantitative", "title": "ms", "stack": "zero" },
                "order": { "field": "place" },
                "color": { "field": "part", "type": "nominal", "scale": {
                    "domain": ["network", "computation", "waiting"], "range": ["@network-fill", "@computation-fill", "@waiting-fill"] } } } },
            { "transform": [{ "filter": "datum.part === 'network'" }], "mark": "rule", "encoding": {
                "x": { "field": "p5", "type": "quantitative" }, "x2": { "field": "p95" } } }
        ]
    });
    let columns = ["method", "part", "place", "ms", "p5", "p95"];
    let lines = METHODS.iter().enumerate().flat_map(|(at, method)| {
        let scale = 1.0 + at as f64;
        [("network", 8.0), ("computation", 3.0), ("waiting", 1.4)].into_iter().enumerate().map(
            move |(place, (part, ms))| {
                vec![
                    json!(method),
                    json!(part),
                    json!(place),
                    json!(ms * scale),
                    json!(11.0 * scale),
                    json!(15.0 * scale),
                ]
            },
        )
    });
    chart("delay-parts", "Delay of an authentication, median, ms", &spec, &columns, lines.collect())
}

fn curves() -> Block {
    let spec = json!({
        "mark": { "type": "line", "point": true },
        "encoding": {
            "x": { "field": "weight", "type": "quantitative", "title": "weight of delay" },
            "y": { "field": "score", "type": "quantitative" },
            "color": { "field": "method", "type": "nominal", "sort": null },
            "shape": { "field": "method", "type": "nominal", "sort": null },
            "strokeDash": { "field": "method", "type": "nominal", "sort": null }
        }
    });
    let line = |at: usize, step: u32| {
        let (weight, at) = (f64::from(step) / 10.0, at as f64);
        vec![json!(METHODS[at as usize]), json!(weight), json!(0.1 + 0.05 * at + weight * (0.2 - 0.08 * at))]
    };
    let lines = (0..5).flat_map(|at| (0..=10).map(move |step| line(at, step))).collect();
    chart("sensitivity", "Scores by the weight of delay", &spec, &["method", "weight", "score"], lines)
}

fn small() -> Block {
    let spec = json!({
        "facet": { "field": "network", "type": "nominal", "columns": 3, "title": null },
        "columns": 3,
        "spec": { "mark": "line", "height": 120, "encoding": {
            "x": { "field": "ms", "type": "quantitative" }, "y": { "field": "share", "type": "quantitative" } } }
    });
    let line = |network: &str, step: u32| {
        vec![json!(network), json!(step), json!(1.0 - (-f64::from(step) / 6.0).exp())]
    };
    let lines = ["lan", "wlan", "lte", "umts"]
        .into_iter()
        .flat_map(|network| (0..30).map(move |step| line(network, step)));
    chart(
        "distributions",
        "Distribution of the delay, by network",
        &spec,
        &["network", "ms", "share"],
        lines.collect(),
    )
}

fn points() -> Block {
    let spec = json!({
        "mark": { "type": "point" },
        "encoding": {
            "x": { "field": "ms", "type": "quantitative", "scale": { "type": "log" } },
            "y": { "field": "method", "type": "nominal", "sort": null, "title": null },
            "color": { "field": "from", "type": "nominal", "scale": { "domain": ["measured", "published"], "range": ["@measured", "@published"] } },
            "shape": { "field": "from", "type": "nominal", "scale": { "domain": ["measured", "published"], "range": ["circle", "diamond"] } }
        }
    });
    let lines = METHODS.iter().enumerate().flat_map(|(at, method)| {
        let ms = 12.4 * (1.0 + at as f64);
        [
            vec![json!(method), json!("measured"), json!(ms)],
            vec![json!(method), json!("published"), json!(ms * 1.3)],
        ]
    });
    chart(
        "published",
        "Measured beside published delays, ms",
        &spec,
        &["method", "from", "ms"],
        lines.collect(),
    )
}

fn column(head: &str, unit: &str, meaning: &str, is_number: bool) -> Column {
    Column { head: head.to_owned(), unit: unit.to_owned(), meaning: meaning.to_owned(), is_number }
}

fn cell(shown: &str, written: &str) -> Cell {
    Cell { shown: shown.to_owned(), written: written.to_owned(), is_published: false }
}

fn table() -> Block {
    let line = |at: usize| {
        let ms = 12.437 * ((at * 7) % 12 + 1) as f64;
        let paper = Cell { is_published: true, ..cell(&format!("{:.0}", ms * 1.3), &(ms * 1.3).to_string()) };
        let name = format!("{}{}", METHODS[at % 6], if at < 6 { "" } else { " again" });
        let within = if at.is_multiple_of(2) { "yes" } else { "no, \"quoted\"" };
        vec![
            cell(&name, &name),
            cell("30", "30"),
            cell(&format!("{ms:.1} (11.2 to 14.9)"), &ms.to_string()),
            if at == 3 { cell("", "") } else { paper },
            cell(within, within),
        ]
    };
    Block::Table(Table {
        id: "all-delays".to_owned(),
        caption: "Delays, with their intervals".to_owned(),
        columns: vec![
            column("method", "", "", false),
            column("n", "", "authentications that succeeded", true),
            column("delay", "ms", "median, with the 5th and the 95th percentile", true),
            column("paper", "ms", "what was published", true),
            column("within it", "", "whether the published value is in the interval", false),
        ],
        lines: (0..12).map(line).collect(),
    })
}

fn hop(from: usize, to: usize, sent_ms: f64, arrived_ms: Option<f64>, label: &str, bytes: u64) -> Hop {
    Hop {
        from,
        to,
        sent_ms,
        arrived_ms,
        label: label.to_owned(),
        bytes,
        is_repeated: label == "INIT request" && sent_ms > 50.0,
    }
}

fn exchange() -> Section {
    let ladder = Ladder {
        id: "ladder".to_owned(),
        title: "An authentication, message by message".to_owned(),
        nodes: ["device", "gateway", "server", "register"].map(str::to_owned).to_vec(),
        hops: vec![
            hop(0, 1, 0.0, None, "INIT request", 432),
            hop(0, 1, 500.0, Some(520.3), "INIT request", 432),
            hop(1, 0, 521.0, Some(541.2), "INIT response", 408),
            hop(0, 1, 542.0, Some(562.1), "AUTH request", 1210),
            hop(1, 2, 562.4, Some(570.0), "Access-Request", 220),
            hop(2, 3, 570.3, Some(572.0), "Multimedia-Auth-Request", 180),
            hop(3, 2, 572.4, Some(574.1), "Multimedia-Auth-Answer", 320),
            hop(2, 1, 574.6, Some(582.0), "Access-Accept", 260),
            hop(1, 0, 582.3, Some(602.4), "AUTH response", 1100),
        ],
        note: "The sample whose delay is the median.".to_owned(),
    };
    section("messages", "Messages", vec![Block::Ladder(ladder)])
}

/// Steps of the multiplicative AHP, whose score is checked in the page: a share of 2 to the weighted sum.
fn weighing() -> Section {
    let criterion = |name: &str, title: &str, under, weight| Criterion {
        name: name.to_owned(),
        title: title.to_owned(),
        under,
        weight,
    };
    let criteria = vec![
        criterion("delay", "how long it takes", None, 0.5),
        criterion("cost", "what it costs", None, 0.2),
        criterion("security", "how safe it is", None, 0.3),
        criterion("algorithms", "their strength", Some(2), 0.6),
        criterion("credentials", "how they are kept", Some(2), 0.4),
    ];
    let steps = [[3.0, 2.0, -2.0, -3.0], [1.0, 1.0, 2.0, 3.0], [-2.0, 0.0, 3.0, 2.0], [0.5, -1.0, 1.0, 3.0]];
    let shares = [0.5, 0.2, 0.3 * 0.6, 0.3 * 0.4];
    let power =
        |steps: &[f64; 4]| steps.iter().zip(shares).map(|(step, share)| step * share).sum::<f64>().exp2();
    let total: f64 = steps.iter().map(power).sum();
    let mut alternatives: Vec<Weighed> = METHODS
        .iter()
        .zip(&steps)
        .map(|(name, steps)| Weighed {
            name: (*name).to_owned(),
            steps: vec![Some(steps[0]), Some(steps[1]), None, Some(steps[2]), Some(steps[3])],
            score: power(steps) / total,
        })
        .collect();
    alternatives.sort_by(|one, other| other.score.total_cmp(&one.score));
    let ranking = Ranking {
        id: "ranking".to_owned(),
        title: "The methods, weighed".to_owned(),
        rule: Rule::Multiplicative,
        criteria,
        alternatives,
        note: "Weights of three experts; grades of what was measured.".to_owned(),
    };
    section("ranked", "Ranking", vec![Block::Ranking(ranking)])
}
