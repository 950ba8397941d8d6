//! Sources of scenarios: a file, a built-in one, or a text.

use std::path::Path;
use std::sync::Arc;

use keytoll_engine::trace::listing::MANIFEST;

use crate::catalogue::Method;
use crate::catalogue::scenarios::BUILTIN;
use crate::diagnostic::{ScenarioError, Text, choice};
use crate::node::NodeFile;
use crate::node::load::LoadFile;
use crate::overrides::Overrides;
use crate::plan::Plan;
use crate::{node, resolve, tree};

/// What its texts are, in error messages.
const NOUN: &str = "scenario";

/// The argument for standard input.
const STDIN: &str = "-";

/// The text of a scenario, not yet parsed.
#[derive(Debug, Clone)]
pub struct Source(Arc<Text>);

impl Source {
    /// A text; errors use the name.
    pub fn text(name: &str, text: &str) -> Self {
        Self(Arc::new(Text::new(name, text)))
    }

    /// A file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn file(path: &Path) -> Result<Self, ScenarioError> {
        Ok(Self(Arc::new(Text::file(path, NOUN)?)))
    }

    /// A built-in scenario.
    ///
    /// # Errors
    /// When there is none with this name.
    pub fn builtin(name: &str) -> Result<Self, ScenarioError> {
        let found = BUILTIN.iter().find(|builtin| builtin.name == name);
        let names = || BUILTIN.iter().map(|builtin| builtin.name).collect::<Vec<_>>();
        let unknown = || {
            let error = ScenarioError::nowhere(format!("unknown scenario `{name}`"));
            match Method::named(name) {
                Some(_) => error.hint(format!("`{name}` is a method: `--set methods={name}` selects it")),
                None => error.hint(format!("{}; or the path of a file", choice(name, &names()))),
            }
        };
        let builtin = found.ok_or_else(unknown)?;
        Ok(Self::text(&format!("scenarios/{name}.toml"), builtin.text))
    }

    /// The built-in scenario of this name, or else the file; `-` is standard input.
    ///
    /// # Errors
    /// When there is neither, or the file cannot be read.
    pub fn find(argument: &str) -> Result<Self, ScenarioError> {
        if argument == STDIN {
            return Ok(Self(Arc::new(Text::stdin(NOUN)?)));
        }
        let path = Path::new(argument);
        let is_path = path.exists() || argument.contains(['/', '\\', '.']);
        match Self::builtin(argument) {
            Err(_) if is_path => Self::file(path)
                .map_err(|error| advised(path, error, "`keytoll list scenarios` shows those built in")),
            found => found,
        }
    }

    /// Whether it is a node file, not a scenario.
    pub fn is_node(&self) -> bool {
        tree::document(&self.0)
            .map_or_else(|_| node::looks_like_node(&self.0.text), |read| node::is_node(&read))
    }

    /// Whether it is the file of a load.
    pub fn is_load(&self) -> bool {
        tree::document(&self.0).is_ok_and(|read| node::load::is_load(&read))
    }

    /// Reads and resolves a load file.
    ///
    /// # Errors
    /// When the file cannot be read or is not a valid load file.
    pub fn load_file(path: &Path) -> Result<LoadFile, ScenarioError> {
        let source = Self::file(path);
        source.map_err(|error| advised(path, error, "`scenarios/live` has examples of load files"))?.load()
    }

    /// Resolves a load file.
    ///
    /// # Errors
    /// When it is not a valid load file.
    pub fn load(&self) -> Result<LoadFile, ScenarioError> {
        node::load::read(&self.0)
    }

    /// Reads and resolves a node file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn node_file(path: &Path) -> Result<NodeFile, ScenarioError> {
        let source = Self::file(path);
        source.map_err(|error| advised(path, error, "`scenarios/live` has examples of node files"))?.node()
    }

    /// Resolves a node file.
    ///
    /// # Errors
    /// When it is not a valid node file.
    pub fn node(&self) -> Result<NodeFile, ScenarioError> {
        node::read(&self.0)
    }

    /// Resolves the plan, with some values replaced.
    ///
    /// # Errors
    /// When it is not a valid scenario.
    pub fn plan(&self, overrides: &Overrides) -> Result<Plan, ScenarioError> {
        let mut document = tree::document(&self.0)?;
        overrides.apply(&mut document)?;
        let plan = resolve::plan(&document, &self.0.name)?;
        Ok(Plan { title: overrides.retitled(plan.title), ..plan })
    }
}

/// Adds advice about a missing file, and about the directory of a run in its place.
fn advised(path: &Path, error: ScenarioError, hint: &str) -> ScenarioError {
    if path.join(MANIFEST).is_file() {
        let shown = path.display();
        return error.hint(format!("it has the results of a run; `keytoll report {shown}` shows them"));
    }
    if path.exists() { error } else { error.hint(hint) }
}
