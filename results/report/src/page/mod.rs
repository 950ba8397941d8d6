//! Findings as pages: what [`keytoll_page`] writes as HTML. A file here is a section, or a part of all of them.
//!
//! * [`run`] is the page of a run, `group` a section for each setting of it; `delay`, `cpu`, `links`, `memory`, `messages`, `traffic`,
//!   `moves` are within it.
//! * `study`, `load`, `population`, `failures`, `ranking`, `sizing` are about the run as a whole, and so is `method`, the last one.
//! * `figure` makes charts, `tables` makes tables of columns.
//!
//! Nothing is computed here: every number is of the findings, of a ranking or of a sizing.

mod compare;
mod cpu;
mod delay;
mod failures;
mod figure;
mod links;
mod load;
mod memory;
mod messages;
mod method;
mod moves;
mod packets;
mod pictures;
mod population;
mod profile;
mod ranking;
mod rows;
mod sizing;
mod study;
mod tables;
mod traffic;
mod verdict;

use std::path::Path;

use keytoll_analysis::Findings;
use keytoll_dimensioning::Planned;

use crate::number::counted;
use crate::provenance::{self, seed};
use crate::words;
use rows::Rows;

pub use compare::comparison;
pub use packets::packets;
pub use pictures::{CAN_DRAW, Picture, count, pictures};
pub use population::nobody_back;
pub use profile::profiles;
pub use study::study;

/// Writes a page as HTML; and what a page of others, such as of a capture, is made of.
pub use keytoll_page::{Block, Hop, Ladder, Page, Section, is_page, write};

/// What a page tells of the plan of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfPlan {
    /// Processors and cookies of its rows.
    pub planned: Planned,
    /// Why nobody can be back from the loss of a gateway.
    pub nobody_back: Option<String>,
}

/// The page of a run; its directory, if there is one, has the single authentications.
pub fn run(findings: &Findings, of_plan: &OfPlan, directory: Option<&Path>) -> Page {
    let summary = &findings.summary;
    Page {
        title: summary.title.clone(),
        verdict: verdict::sentences(findings),
        facts: facts(findings),
        warnings: words::unfinished(summary)
            .into_iter()
            .chain(nobody_back(findings, of_plan))
            .chain(load::hints(findings))
            .collect(),
        sections: sections(findings, of_plan, directory),
    }
}

/// What was run, when and on what.
fn facts(findings: &Findings) -> Vec<(String, String)> {
    let summary = &findings.summary;
    let n: u64 = summary.rows.iter().map(|row| row.n).fold(0, u64::saturating_add);
    let measured = format!("{}, {}", counted(n, "authentication"), seed(summary));
    let first = ("measured".to_owned(), measured);
    std::iter::once(first).chain(provenance::facts(&findings.manifest.provenance)).collect()
}

/// All sections of a run, in the order of the page.
fn sections(findings: &Findings, of_plan: &OfPlan, directory: Option<&Path>) -> Vec<Section> {
    let account = findings.study.as_ref().map(study);
    let groups = Rows::groups(findings).iter().map(group).collect::<Vec<_>>();
    let last = [
        failures::section(findings),
        ranking::section(findings, directory),
        sizing::section(findings, &of_plan.planned),
        Some(method::section(findings)),
    ];
    let load = population::sections(findings);
    account
        .into_iter()
        .chain(load::section(findings))
        .chain(groups)
        .chain(load)
        .chain(last.into_iter().flatten())
        .collect()
}

/// Everything that was measured in one setting.
fn group(rows: &Rows<'_>) -> Section {
    let sections = [
        population::counts(rows),
        delay::section(rows),
        cpu::section(rows),
        links::section(rows),
        memory::section(rows),
        messages::section(rows),
        traffic::section(rows),
        moves::section(rows),
    ];
    Section {
        id: rows.id.clone(),
        title: rows.heading.clone(),
        blocks: about(rows).into_iter().map(Block::Note).collect(),
        sections: sections.into_iter().flatten().collect(),
    }
}

/// What is true of all rows: their common options, and the abbreviations.
fn about(rows: &Rows<'_>) -> Vec<String> {
    let shared = (!rows.shared.is_empty()).then(|| format!("In all rows: {}.", rows.shared.join(", ")));
    shared.into_iter().chain(words::of_rows(rows.summaries())).collect()
}

/// An anchor: lower-case letters, digits and hyphens.
fn anchor(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter.to_ascii_lowercase() {
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '-',
    });
    let all: String = letters.collect();
    all.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use keytoll_analysis::summary::{StepsSummary, SummaryRow};
    use keytoll_analysis::{Named, Summary};
    use keytoll_page::{Cell, Chart, Table};

    use super::*;
    use crate::example;

    /// All blocks of a page, those within others included.
    fn blocks(page: &Page) -> Vec<&Block> {
        let mut blocks = Vec::new();
        page.sections.iter().for_each(|section| gather(section, &mut blocks));
        blocks
    }

    fn gather<'a>(section: &'a Section, into: &mut Vec<&'a Block>) {
        section.blocks.iter().for_each(|block| gather_block(block, into));
        section.sections.iter().for_each(|section| gather(section, into));
    }

    fn gather_block<'a>(block: &'a Block, into: &mut Vec<&'a Block>) {
        into.push(block);
        if let Block::Details(_, inner) = block {
            inner.iter().for_each(|block| gather_block(block, into));
        }
    }

    /// The charts of a page.
    pub(crate) fn charts(page: &Page) -> impl Iterator<Item = &Chart> {
        blocks(page)
            .into_iter()
            .filter_map(|block| if let Block::Chart(chart) = block { Some(chart) } else { None })
    }

    fn tables(page: &Page) -> impl Iterator<Item = &Table> {
        blocks(page)
            .into_iter()
            .filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None })
    }

    fn ladders(page: &Page) -> Vec<&Ladder> {
        let mut ladders = Vec::new();
        for block in blocks(page) {
            if let Block::Ladder(ladder) = block {
                ladders.push(ladder);
            }
        }
        ladders
    }

    /// The page as it is written, without what it brings along.
    pub(crate) fn text_of(page: &Page) -> String {
        let mut out = Vec::new();
        write(page, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (_, body) = text.split_once("<body").unwrap();
        body.split("<footer").next().unwrap().to_owned()
    }

    fn page() -> Page {
        run(&example::findings(), &OfPlan::default(), None)
    }

    fn page_of_a_study() -> Page {
        let study = Some(crate::study::tests::account());
        run(&Findings { study, ..example::findings() }, &OfPlan::default(), None)
    }

    /// A run of one method in so many variants.
    fn many(count: u32) -> Findings {
        let example = example::findings();
        let (row, found) = (&example.summary.rows[1], &example.rows[1]);
        let step = StepsSummary { per_authentication: 2.0, busy_ns: 1e6, busy_ns_stddev: None, n: 8 };
        let steps: Named<StepsSummary> = [("gw".to_owned(), step)].into_iter().collect();
        let variant = |number| SummaryRow {
            variant: format!("chain={number:03}"),
            steps: steps.clone(),
            ..row.clone()
        };
        let rows = (0..count).map(variant).collect();
        let summary = Summary { rows, ..example.summary.clone() };
        Findings { summary, rows: vec![found.clone(); count as usize], ..example }
    }

    #[test]
    fn every_anchor_is_unique_and_every_line_fits_its_columns() {
        for page in [page(), page_of_a_study()] {
            let mut seen = BTreeSet::new();
            let mut ids: Vec<&str> = charts(&page).map(|chart| chart.id.as_str()).collect();
            ids.extend(tables(&page).map(|table| table.id.as_str()));
            ids.extend(ladders(&page).iter().map(|ladder| ladder.id.as_str()));
            let mut sections: Vec<&Section> = page.sections.iter().collect();
            while let Some(section) = sections.pop() {
                ids.push(&section.id);
                sections.extend(&section.sections);
            }
            for id in ids {
                assert!(seen.insert(id.to_owned()), "{id} is there twice");
                assert!(id.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-'), "{id}");
            }
            assert!(
                charts(&page).all(|chart| chart.lines.iter().all(|line| line.len() == chart.columns.len()))
            );
            assert!(
                tables(&page).all(|table| table.lines.iter().all(|line| line.len() == table.columns.len()))
            );
        }
    }

    /// Fields of a specification that its data does not have would be drawn as nothing.
    #[test]
    fn every_field_of_a_chart_is_a_column_of_its_data() {
        fn fields(value: &serde_json::Value, into: &mut Vec<String>) {
            match value {
                serde_json::Value::Object(map) => {
                    map.iter().for_each(|(key, inner)| match (key.as_str(), inner) {
                        ("field", serde_json::Value::String(name)) => into.push(name.clone()),
                        _ => fields(inner, into),
                    });
                }
                serde_json::Value::Array(all) => all.iter().for_each(|inner| fields(inner, into)),
                _ => {}
            }
        }
        for page in [page(), page_of_a_study()] {
            for chart in charts(&page) {
                let mut named = Vec::new();
                fields(&serde_json::Value::Object(chart.spec.clone()), &mut named);
                assert!(!named.is_empty(), "{}", chart.id);
                for name in named {
                    assert!(chart.columns.contains(&name), "{} has no {name}", chart.id);
                }
            }
        }
    }

    #[test]
    fn the_charts_and_ladders_of_an_example() {
        let page = page();
        let group = "wifi-11g-raw-sim-real-crypto";
        let of = |id: &str| charts(&page).find(|chart| chart.id == format!("{group}-{id}")).unwrap();
        // Two rows; one of each has waited for a lost packet, three were established.
        assert_eq!(of("delay-medians").lines.len(), 2);
        assert_eq!(of("delay-distribution").lines.len(), 2 * (3 + 2));
        assert_eq!(of("delay-parts").lines.len(), 2 * 3);
        assert_eq!(of("cpu-gw").lines.len(), 2 * 2, "an operation and the rest");
        assert_eq!(of("bytes-ue-gw").lines.len(), 2 * 2);
        let ladders = ladders(&page);
        assert_eq!(ladders.len(), 4);
        let first = ladders[0];
        assert_eq!((first.nodes.join(" "), first.hops.len()), ("ue gw".to_owned(), 4));
        assert_eq!((first.hops[0].label.as_str(), first.hops[0].bytes), ("IKE_SA_INIT request", 348));
        assert!(first.note.contains("Authentication 0, the first that was established"), "{}", first.note);
    }

    #[test]
    fn the_verdict_of_an_example() {
        assert_eq!(
            page().verdict,
            [
                "Over wifi-11g: ikev2-psk (12.28 ms) and ikev2-rsa2048 chain=4,4 (27 ms), the least and the greatest median delay, cannot be \
                 told apart. Over umts-r99-64: ikev2-psk (1200 ms) and ikev2-rsa2048 chain=4,4 (2011 ms), the least and the greatest median \
                 delay, cannot be told apart.",
                "Most CPU time is taken by ikev2-rsa2048 chain=4,4 (12003 µs on average at all nodes, 50 % of it at gw), least by ikev2-psk \
                 (303 µs on average at all nodes, 50 % of it at gw).",
                "4 of 16 authentications did not succeed, most of all with ikev2-psk: gw: AUTHENTICATION_FAILED (1 of 4). 4 waited until a \
                 lost message was sent again.",
            ]
        );
    }

    #[test]
    fn failures_have_their_cost() {
        let page = page();
        let table = tables(&page).find(|table| table.id == "failures-table").unwrap();
        let shown: Vec<&str> = table.lines[0].iter().map(|cell: &Cell| cell.shown.as_str()).collect();
        assert_eq!(shown[..5], ["ikev2-psk", "wifi-11g", "gw: AUTHENTICATION_FAILED", "1", "4"]);
        assert_eq!((shown[6], shown[7]), ("4", "1392"));
    }

    #[test]
    fn the_ranking_is_by_what_was_measured_where_the_papers_methods_are_not() {
        let page = page();
        let ranking = blocks(&page)
            .into_iter()
            .find_map(|block| if let Block::Ranking(it) = block { Some(it) } else { None });
        let ranking = ranking.unwrap();
        assert_eq!((ranking.criteria.len(), ranking.alternatives.len()), (6, 2));
        let utilities = ranking.alternatives.iter().map(|it| {
            let weighted = it
                .steps
                .iter()
                .zip(&ranking.criteria)
                .map(|(step, criterion)| step.unwrap() * criterion.weight);
            weighted.sum::<f64>().exp2()
        });
        let utilities: Vec<f64> = utilities.collect();
        for (utility, alternative) in utilities.iter().zip(&ranking.alternatives) {
            assert!((utility / utilities.iter().sum::<f64>() - alternative.score).abs() < 1e-12);
        }
        assert!(ranking.note.contains("an example"), "{}", ranking.note);
    }

    #[test]
    fn a_run_of_too_many_methods_is_not_ranked_and_says_so() {
        let page = run(&many(101), &OfPlan::default(), None);
        let section = page.sections.iter().find(|section| section.id == "ranking").unwrap();
        let [Block::Note(note)] = &section.blocks[..] else { panic!("{:?}", section.blocks) };
        let why = "These rows are not ranked: the run has more than 100 methods with their variants, and no more are ranked.";
        assert!(note.starts_with(why) && note.contains("--criteria FILE"), "{note}");
    }

    /// What has more than the colours is told, with the number and where the rest is.
    #[test]
    fn no_method_vanishes_from_a_chart_in_silence() {
        let many = many(17);
        let page = run(&many, &OfPlan::default(), None);
        let charts: Vec<&Chart> = charts(&page).collect();
        let note = |id: &str| {
            let chart = charts.iter().find(|chart| chart.id.starts_with(id));
            chart.unwrap_or_else(|| panic!("no {id}")).note.as_str()
        };
        for (id, told) in [
            ("ranking-delay", "Drawn are the first 8 of 17: the changes of places of all are in the table"),
            ("ranking-near", "Of 17 ranks the last are one part: `keytoll rank --json` has each"),
            ("sizing-gw", "Drawn are the 8 of 17 that need most; all are in the table"),
        ] {
            assert!(note(id).contains(told), "{}", note(id));
        }
        let mut silent = many.clone();
        silent.summary.rows[3].cpu = Named::default();
        let page = text_of(&run(&silent, &OfPlan::default(), None));
        let (_, told) = page.split_once("Not sized: ").expect("a row without CPU times is not sized");
        assert!(told.split('<').next().unwrap().contains("chain=003 over "), "{told}");

        let labels: Vec<&str> = many.summary.rows.iter().map(|row| row.variant.as_str()).collect();
        for chart in charts.iter().filter(|chart| !chart.note.contains(" of 17")) {
            let first = chart.columns.iter().position(|name| name == "row");
            let Some(place) = first else { continue };
            let has = |label: &&str| {
                chart.lines.iter().any(|line| line[place].as_str().is_some_and(|row| row.contains(*label)))
            };
            let missing: Vec<_> = labels.iter().filter(|label| !has(label)).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", chart.id);
        }
    }

    #[test]
    fn a_study_comes_with_its_verdicts_charts_and_tables() {
        let (page, without) = (text_of(&page_of_a_study()), text_of(&page()));
        for text in ["holds in part", "&gt; 100 derived", "≈ 100 reconstructed", "12.35 [11.67, 13.02]"] {
            assert!(page.contains(text) && !without.contains(text), "{text}");
        }
        assert!(page.contains("&lt;compared&gt;") && !page.contains("<compared>"));
    }

    #[test]
    fn the_page_loads_nothing_and_the_plan_is_escaped() {
        let page = text_of(&page());
        for word in ["<script src", "@import", "url(http", "<link", "<img"] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("example &lt;one&gt;") && !page.contains("<one>"));
    }

    #[test]
    fn abbreviations_are_explained_and_figures_have_their_provenance() {
        let page = text_of(&page());
        for text in [
            "ue: the device (user equipment)",
            "0.1.0 (1b27e3e1c1f1-dirty)",
            "keytoll run &lt;one&gt;.toml",
            "0.25, 0.50, 0.75",
            "bench",
            "not noted",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }
}
