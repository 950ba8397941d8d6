//! Keys of `[options]` without effect on any row. They are refused, for the user expects an effect.

use super::Setting;
use crate::diagnostic::ScenarioError;
use crate::families::setting;
use crate::plan::RowPlan;
use crate::tree::{Entry, Table};

/// Refuses the first key of a table of options without effect on any of these rows.
pub(crate) fn check(table: &Table, rows: &[RowPlan]) -> Result<(), ScenarioError> {
    let moves = |key: &str, row: &RowPlan| {
        setting(key).is_some_and(|setting| setting.moves(&row.options, row.method))
    };
    let is_idle = |entry: &&Entry| rows.iter().all(|row| !moves(&entry.key, row));
    table.entries.iter().find(is_idle).map_or(Ok(()), |entry| Err(refusal(entry, rows)))
}

fn refusal(entry: &Entry, rows: &[RowPlan]) -> ScenarioError {
    let key = entry.key.as_str();
    let setting = setting(key).expect("the keys were checked when they were read");
    let concerned = rows.iter().find(|row| setting.concerns(row.method));
    let (to, hint) = match concerned.and_then(|row| setting.unmet(&row.options, row.method)) {
        Some(why) => (why.to_owned(), "leave it out".to_owned()),
        None => (format!("to {}", methods(rows)), for_others(setting)),
    };
    entry.key_spot.error(format!("`{key}` means nothing {to}"), "makes no difference here").hint(hint)
}

/// The one method of some rows, or a word for several.
fn methods(rows: &[RowPlan]) -> String {
    let mut names: Vec<_> = rows.iter().map(|row| row.method.name()).collect();
    names.dedup();
    match names[..] {
        [only] => format!("`{only}`"),
        _ => "any of these methods".to_owned(),
    }
}

/// The methods that it affects.
fn for_others(setting: &Setting) -> String {
    format!("leave it out: it is for {}", crate::catalogue::options::entry(setting).effect)
}
