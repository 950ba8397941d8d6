//! `keytoll list`: the catalogue, with the source of every entry.

use std::collections::BTreeMap;
use std::process::ExitCode;

use keytoll_ranking::Criteria;
use keytoll_ranking::file::{BUILTIN, Builtin};
use keytoll_scenario::catalogue::options::{self, OptionEntry};
use keytoll_scenario::catalogue::{Entry, List};
use keytoll_studies::{STUDIES, Study};
use miette::Report;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::ListArgs;
use crate::schema::{Published, SCHEMAS};
use crate::screen;

/// The name of the list of studies, which is not part of the catalogue.
pub(crate) const STUDIES_LIST: &str = "studies";
pub(crate) const CRITERIA_LIST: &str = "criteria";
pub(crate) const SCHEMAS_LIST: &str = "schemas";
pub(crate) const OPTIONS_LIST: &str = "options";

/// Prints one list or all.
pub(crate) fn list(args: &ListArgs) -> Result<ExitCode, Report> {
    let asked = |(list, _): &(&str, _)| args.list.as_deref().is_none_or(|name| name == *list);
    let lists = lists().filter(asked);
    if args.json {
        let lists = lists.map(|(name, entries)| (name, entries()));
        screen::print_json(&Lists(lists.collect()))?;
    } else {
        let lists = lists.map(|(name, entries)| format!("{name}\n{}", text(&entries())));
        screen::print(&lists.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of a list and its entries.
type Named = (&'static str, Box<dyn Fn() -> Vec<Listed>>);

/// The lists of the catalogue, the options, the studies, the criteria, and the schemas.
fn lists() -> impl Iterator<Item = Named> {
    let entries = |list: List| move || list.entries().into_iter().map(Listed::from).collect();
    let of_catalogue = move |list: List| -> Named { (list.name(), Box::new(entries(list))) };
    let options: Named = (OPTIONS_LIST, Box::new(|| options::all().into_iter().map(Listed::from).collect()));
    let studies: Named = (STUDIES_LIST, Box::new(|| STUDIES.iter().map(Listed::from).collect()));
    let criteria: Named = (CRITERIA_LIST, Box::new(|| BUILTIN.iter().map(Listed::from).collect()));
    let schemas: Named = (SCHEMAS_LIST, Box::new(|| SCHEMAS.iter().map(Listed::from).collect()));
    List::ALL.into_iter().map(of_catalogue).chain([options, studies, criteria, schemas])
}

impl From<&Published> for Listed {
    fn from(schema: &Published) -> Self {
        let (name, summary) = (schema.name.to_owned(), schema.about.to_owned());
        Self { name, summary, source: schema.printed_by.to_owned(), standing: "", option: None }
    }
}

impl From<&Study> for Listed {
    fn from(study: &Study) -> Self {
        let (name, summary) = (study.name.to_owned(), study.title.to_owned());
        Self { name, summary, source: study.source.to_owned(), standing: "", option: None }
    }
}

impl From<&Builtin> for Listed {
    fn from(builtin: &Builtin) -> Self {
        let criteria = Criteria::find(builtin.name).expect("a test reads all criteria that are compiled in");
        let (name, summary) = (builtin.name.to_owned(), criteria.title);
        Self { name, summary, source: criteria.source, standing: "", option: None }
    }
}

impl From<OptionEntry> for Listed {
    fn from(entry: OptionEntry) -> Self {
        let OptionEntry { name, path, summary, values, default, methods, effect } = entry;
        Self {
            name: name.to_owned(),
            summary: summary.to_owned(),
            source: format!("--set {path}=VALUE"),
            standing: "",
            option: Some(Of { values, default, methods, effect }),
        }
    }
}

/// The names that scenarios and some verbs accept, list by list. Fields are only ever added.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Lists(BTreeMap<&'static str, Vec<Listed>>);

/// One name.
#[derive(Serialize, JsonSchema)]
struct Listed {
    /// The name.
    name: String,
    /// A description.
    summary: String,
    /// The source.
    source: String,
    /// `weak` or `broken`; for a network, how well its parameters are founded; empty otherwise.
    standing: &'static str,
    /// For an option: its values and methods.
    #[serde(flatten)]
    option: Option<Of>,
}

/// Members that only options have.
#[derive(Serialize, JsonSchema)]
struct Of {
    /// Its possible values: literal words, ranges with ` to `, and forms in capitals.
    values: &'static [&'static str],
    /// Its default.
    default: String,
    /// The methods that it affects.
    methods: Vec<&'static str>,
    #[serde(skip)]
    effect: String,
}

impl From<Entry> for Listed {
    fn from(Entry { name, summary, source, standing }: Entry) -> Self {
        Self { name, summary, source, standing, option: None }
    }
}

fn text(entries: &[Listed]) -> String {
    let with_origin = |entry: &Listed| [cells(entry), vec![origin(entry)]].concat();
    let wide = screen::rows(&entries.iter().map(with_origin).collect::<Vec<_>>());
    if wide.iter().all(|row| row.lines().count() == 1) {
        return wide.concat();
    }
    let narrow = screen::rows(&entries.iter().map(cells).collect::<Vec<_>>());
    let lines =
        narrow.iter().zip(entries).map(|(row, entry)| format!("{row}{}", screen::below(&origin(entry))));
    lines.collect()
}

fn cells(Listed { name, summary, standing, .. }: &Listed) -> Vec<String> {
    vec![name.clone(), (*standing).to_owned(), summary.clone()]
}

/// The source; for an option its values, its default, and the methods that it affects.
fn origin(entry: &Listed) -> String {
    match &entry.option {
        Some(Of { values, default, effect, .. }) => {
            format!("{}; default {default}; {effect}", values.join(" | "))
        }
        None => entry.source.clone(),
    }
}
