//! `keytoll list`: the catalogue, with the source of every entry.

use std::process::ExitCode;

use keytoll_analysis::study::{STUDIES, Study};
use keytoll_scenario::catalogue::{Entry, List};
use miette::Report;
use serde_json::{Map, Value, json};

use crate::args::ListArgs;
use crate::screen;

/// The list that is not the catalogue's.
pub(crate) const STUDIES_LIST: &str = "studies";

/// Wider lists put their sources on lines of their own.
const WIDTH_MAX: usize = 110;

/// Prints one list or all.
pub(crate) fn list(args: &ListArgs) -> Result<ExitCode, Report> {
    let asked = |(list, _): &(&str, _)| args.list.as_deref().is_none_or(|name| name == *list);
    let lists = lists().filter(asked);
    if args.json {
        let lists = lists.map(|(name, entries)| (name.to_owned(), entries().iter().map(object).collect()));
        screen::print_json(&Value::Object(lists.collect::<Map<_, Value>>()))?;
    } else {
        let lists = lists.map(|(name, entries)| format!("{name}\n{}", text(&entries())));
        screen::print(&lists.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of a list and what is in it.
type Named = (&'static str, Box<dyn Fn() -> Vec<Entry>>);

/// Those of the catalogue, and the studies.
fn lists() -> impl Iterator<Item = Named> {
    let of_catalogue = |list: List| -> Named { (list.name(), Box::new(move || list.entries())) };
    let studies: Named = (STUDIES_LIST, Box::new(|| STUDIES.iter().map(entry).collect()));
    List::ALL.into_iter().map(of_catalogue).chain([studies])
}

fn entry(study: &Study) -> Entry {
    let (name, summary) = (study.name.to_owned(), study.title.to_owned());
    Entry { name, summary, source: study.source.to_owned(), standing: "" }
}

fn object(entry: &Entry) -> Value {
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "source": entry.source,
        "standing": entry.standing,
    })
}

fn text(entries: &[Entry]) -> String {
    let cells = |entry: &Entry| vec![entry.name.clone(), entry.standing.to_owned(), entry.summary.clone()];
    let with_source = |entry: &Entry| [cells(entry), vec![entry.source.clone()]].concat();
    let wide = screen::table(&entries.iter().map(with_source).collect::<Vec<_>>());
    if wide.lines().all(|line| line.chars().count() <= WIDTH_MAX) {
        return wide;
    }
    let narrow = screen::table(&entries.iter().map(cells).collect::<Vec<_>>());
    narrow.lines().zip(entries).map(|(line, entry)| format!("{line}\n      {}\n", entry.source)).collect()
}
