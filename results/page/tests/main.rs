//! The page as a browser gets it: complete in itself, and whatever its texts are, nothing but text.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[cfg(feature = "svg")]
mod pictures;

use keytoll_page::{
    Block, Cell, Chart, Column, Criterion, Hop, Ladder, Page, Ranking, Rule, Section, Table, Weighed,
};
use proptest::prelude::*;
use serde_json::{Map, json};

fn written(page: &Page) -> String {
    let mut out = Vec::new();
    keytoll_page::write(page, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// One of everything, with the same text wherever there is one.
fn page(text: &str) -> Page {
    let pair = || vec![(text.to_owned(), text.to_owned())];
    let blocks = vec![
        Block::Text(text.to_owned()),
        Block::Note(text.to_owned()),
        Block::Meanings(pair()),
        Block::Code(text.to_owned()),
        Block::Details(text.to_owned(), vec![Block::Text(text.to_owned())]),
        Block::Table(table(text)),
        Block::Chart(chart(text)),
        Block::Ladder(ladder(text)),
        Block::Ranking(ranking(text)),
    ];
    let within = Section { id: text.to_owned(), title: text.to_owned(), ..Section::default() };
    Page {
        title: text.to_owned(),
        verdict: vec![text.to_owned()],
        facts: pair(),
        warnings: vec![text.to_owned()],
        sections: vec![Section {
            id: text.to_owned(),
            title: text.to_owned(),
            blocks,
            sections: vec![within],
        }],
    }
}

fn table(text: &str) -> Table {
    let text = || text.to_owned();
    Table {
        id: text(),
        caption: text(),
        columns: vec![Column { head: text(), unit: text(), meaning: text(), is_number: true }],
        lines: vec![vec![Cell { shown: text(), written: format!("{}.", text()), is_published: true }]],
    }
}

fn chart(text: &str) -> Chart {
    let text = || text.to_owned();
    let mut spec = Map::new();
    spec.insert(text(), json!({ text(): text() }));
    Chart {
        id: text(),
        title: text(),
        description: text(),
        note: text(),
        spec,
        columns: vec![text()],
        lines: vec![vec![json!(text())]],
        instead: text(),
    }
}

fn ladder(text: &str) -> Ladder {
    let text = || text.to_owned();
    let hop = Hop { to: 1, label: text(), bytes: 1, ..Hop::default() };
    Ladder { id: text(), title: text(), nodes: vec![text(), text()], hops: vec![hop], note: text() }
}

fn ranking(text: &str) -> Ranking {
    let text = || text.to_owned();
    Ranking {
        id: text(),
        title: text(),
        rule: Rule::Sum,
        criteria: vec![Criterion { name: text(), title: text(), under: None, weight: 1.0 }],
        alternatives: vec![Weighed { name: text(), steps: vec![Some(1.0)], score: 1.0 }],
        note: text(),
    }
}

/// The tags of a page in order, without their attributes, and without what is between the tags of its style and its script.
fn tags(html: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some(begin) = rest.find('<') {
        let name: String = rest[begin + 1..].chars().take_while(|letter| !" >\n".contains(*letter)).collect();
        rest = &rest[begin + 1..];
        if name == "script" || name == "style" {
            rest = &rest[rest.find(&format!("</{name}")).unwrap()..];
        }
        tags.push(name);
    }
    tags
}

/// Addresses that a browser would fetch are in attributes of these names.
const LOADING: [&str; 6] = [" src=", " srcset=", " data=", " action=", " poster=", "url("];

#[test]
fn nothing_is_loaded() {
    let html = written(&page("text"));
    let without_script = &html[..html.find("<script>").unwrap()];
    for attribute in LOADING {
        let found: Vec<&str> = without_script.split(attribute).skip(1).map(|after| &after[..20]).collect();
        assert!(found.iter().all(|after| after.starts_with("#fill-")), "{attribute} {found:?}");
    }
    assert!(!html.contains("<link") && !html.contains("<iframe") && !html.contains("@import"));
    let links = without_script.split("href=\"").skip(1).filter(|after| !after.starts_with('#'));
    assert_eq!(links.count(), 0);
}

#[test]
fn the_policy_allows_the_two_assets_and_nothing_else() {
    let html = written(&page("text"));
    let policy = html.split(r#"Content-Security-Policy" content=""#).nth(1).unwrap();
    let policy = &policy[..policy.find('"').unwrap()];
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert_eq!(policy.matches("'sha256-").count(), 2);
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert!(
        !html.split("<script>").next().unwrap().contains(" style=\""),
        "the policy refuses styles of elements"
    );
}

#[test]
fn a_page_without_anything_is_a_page() {
    let html = written(&Page::default());
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    let other = html.replacen("content=\"keytoll\"", "content=\"another program\"", 1);
    assert!(keytoll_page::is_page(html.as_bytes()) && !keytoll_page::is_page(other.as_bytes()));
    assert!(!html.contains("<nav") && !html.contains("<section"));
}

#[test]
fn the_frame_takes_less_than_a_megabyte() {
    let bytes = written(&Page::default()).len();
    assert!(bytes < 1_000_000, "{bytes} bytes");
}

#[test]
fn figures_can_be_read_without_a_script() {
    let html = written(&page("the figures"));
    let seen = html.split("<script").next().unwrap();
    assert!(seen.contains(r#"<div class="plot"><p>the figures</p></div>"#));
}

#[test]
fn a_cell_has_its_digits_beside_it() {
    let html = written(&page("12.4"));
    assert!(html.contains(r#"<th scope="row" class="n p" data-written="12.4.">12.4</th>"#));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the texts are, the page has the elements of a page whose texts are a word.
    #[test]
    fn texts_stay_texts(text in r#"[^\x00]{0,3}(<script>|</script>|<!--|-->|</style>|"|'|>|<img src=x onerror=y>|&lt;|\]\]>|[^\x00]){0,6}"#) {
        prop_assume!(!text.is_empty());
        prop_assert_eq!(tags(&written(&page(&text))), tags(&written(&page("a"))));
    }
}
