//! Keys of the whole scenario without effect on any row. Their defaults may be written out.

use keytoll_crypto_api::algorithm::Group;
use keytoll_engine::trace::Node;

use crate::diagnostic::ScenarioError;
use crate::plan::{CpuProfile, Exponents, Plan, RowPlan};
use crate::tree::Table;

/// Refuses the first of them.
pub(super) fn check(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    suites(document, plan)?;
    exponents(document, plan)?;
    cpus(document, plan)
}

/// Suites need a method that offers some.
fn suites(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    match document.entry("suites") {
        Some(entry) if plan.rows.iter().all(|row| row.suites.is_empty()) => {
            let message = "`suites` means nothing to any of these methods".to_owned();
            Err(entry.key_spot.error(message, "makes no difference here").hint("leave it out"))
        }
        _ => Ok(()),
    }
}

/// Only MODP groups leave a choice.
fn exponents(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    let agrees = |row: &RowPlan| row.groups().any(Group::is_modp);
    match document.entry("exponents") {
        Some(entry) if plan.exponents != Exponents::Short && !plan.rows.iter().any(agrees) => {
            let message = "`exponents` means nothing without a MODP group".to_owned();
            let error = entry.key_spot.error(message, "makes no difference here");
            Err(error.hint("leave it out, or name a suite with a MODP group: `keytoll list suites`"))
        }
        _ => Ok(()),
    }
}

/// A processor needs a node that takes part.
fn cpus(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    let Some(item) = document.get("cpus") else { return Ok(()) };
    let table = item.table()?;
    let is_missing = |node: &Node| !plan.rows.iter().any(|row| row.method.nodes.contains(node));
    let is_chosen = |(_, cpu): &(&Node, &CpuProfile)| **cpu != CpuProfile::default();
    let mut idle = plan.cpus.iter().filter(is_chosen).filter(|(node, _)| is_missing(node));
    let Some(entry) = idle.find_map(|(node, _)| table.entry(node.name())) else { return Ok(()) };
    let message = format!("no row has the node `{}`", entry.key);
    let error = entry.key_spot.error(message, "makes no difference here");
    Err(error.hint("leave it out, or add a method that asks this node: `keytoll list methods`"))
}
