//! Scenario files: what to run, over which networks, how often. Parses TOML into a resolved [`Plan`]. Node files describe one
//! node on real sockets.
//!
//! ```text
//!   Source::{file, builtin, text} --> plan(&Overrides) --> Plan, or a ScenarioError that shows the line
//!                                 '-> node() --> NodeFile, likewise
//! ```

mod advice;
pub mod catalogue;
mod diagnostic;
pub mod families;
pub mod node;
pub mod options;
mod overrides;
pub mod plan;
pub mod population;
mod print;
mod resolve;
mod source;

use std::path::Path;

pub use diagnostic::{ScenarioError, nearest};
pub use keytoll_document::quantity;
use keytoll_document::tree;
pub use node::{NodeFile, NodePlan};
pub use overrides::Overrides;
pub use plan::Plan;
pub use source::Source;

/// Reads a scenario file.
///
/// # Errors
/// When the file cannot be read or is not a valid scenario.
pub fn read(path: &Path) -> Result<Plan, ScenarioError> {
    Source::file(path)?.plan(&Overrides::default())
}

/// Reads a scenario from a text; errors call it `name`.
///
/// # Errors
/// When the text is not a valid scenario.
pub fn parse(name: &str, text: &str) -> Result<Plan, ScenarioError> {
    Source::text(name, text).plan(&Overrides::default())
}

/// Reads a built-in scenario.
///
/// # Errors
/// When there is none with this name.
pub fn builtin(name: &str) -> Result<Plan, ScenarioError> {
    Source::builtin(name)?.plan(&Overrides::default())
}
