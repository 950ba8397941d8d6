//! `keytoll list`: the catalogue, with the source of every entry.

use std::process::ExitCode;

use keytoll_scenario::catalogue::{Entry, List};
use miette::Report;
use serde_json::{Map, Value, json};

use crate::args::ListArgs;
use crate::screen;

/// Wider lists put their sources on lines of their own.
const WIDTH_MAX: usize = 110;

/// Prints one list or all.
pub(crate) fn list(args: &ListArgs) -> Result<ExitCode, Report> {
    let asked = |list: &List| args.list.as_deref().is_none_or(|name| name == list.name());
    let lists = List::ALL.into_iter().filter(asked);
    if args.json {
        let lists = lists.map(|list| (list.name().to_owned(), list.entries().iter().map(object).collect()));
        screen::print_json(&Value::Object(lists.collect::<Map<_, Value>>()))?;
    } else {
        let lists = lists.map(|list| format!("{}\n{}", list.name(), text(&list.entries())));
        screen::print(&lists.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
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
