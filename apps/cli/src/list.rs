//! `keytoll list`: the catalogue, with the source of every entry.

use std::collections::BTreeMap;
use std::process::ExitCode;

use keytoll_analysis::study::{STUDIES, Study};
use keytoll_scenario::catalogue::{Entry, List};
use miette::Report;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::ListArgs;
use crate::schema::{Published, SCHEMAS};
use crate::screen;

/// The lists that are not the catalogue's.
pub(crate) const STUDIES_LIST: &str = "studies";
pub(crate) const SCHEMAS_LIST: &str = "schemas";

/// Wider lists put their sources on lines of their own.
const WIDTH_MAX: usize = 110;

/// Prints one list or all.
pub(crate) fn list(args: &ListArgs) -> Result<ExitCode, Report> {
    let asked = |(list, _): &(&str, _)| args.list.as_deref().is_none_or(|name| name == *list);
    let lists = lists().filter(asked);
    if args.json {
        let lists = lists.map(|(name, entries)| (name, entries().into_iter().map(Listed::from).collect()));
        screen::print_json(&Lists(lists.collect()))?;
    } else {
        let lists = lists.map(|(name, entries)| format!("{name}\n{}", text(&entries())));
        screen::print(&lists.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of a list and what is in it.
type Named = (&'static str, Box<dyn Fn() -> Vec<Entry>>);

/// Those of the catalogue, the studies, and the schemas.
fn lists() -> impl Iterator<Item = Named> {
    let of_catalogue = |list: List| -> Named { (list.name(), Box::new(move || list.entries())) };
    let studies: Named = (STUDIES_LIST, Box::new(|| STUDIES.iter().map(entry).collect()));
    let schemas: Named = (SCHEMAS_LIST, Box::new(|| SCHEMAS.iter().map(of_schema).collect()));
    List::ALL.into_iter().map(of_catalogue).chain([studies, schemas])
}

fn of_schema(schema: &Published) -> Entry {
    let (name, summary) = (schema.name.to_owned(), schema.about.to_owned());
    Entry { name, summary, source: schema.printed_by.to_owned(), standing: "" }
}

fn entry(study: &Study) -> Entry {
    let (name, summary) = (study.name.to_owned(), study.title.to_owned());
    Entry { name, summary, source: study.source.to_owned(), standing: "" }
}

/// What scenarios, and some verbs, can name: each list by its name. Fields are only ever added.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Lists(BTreeMap<&'static str, Vec<Listed>>);

/// One name.
#[derive(Serialize, JsonSchema)]
struct Listed {
    /// The name.
    name: String,
    /// What it is.
    summary: String,
    /// Where it is from.
    source: String,
    /// `weak` or `broken`; of a network, how well its numbers are founded; empty if there is nothing to say.
    standing: &'static str,
}

impl From<Entry> for Listed {
    fn from(Entry { name, summary, source, standing }: Entry) -> Self {
        Self { name, summary, source, standing }
    }
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
