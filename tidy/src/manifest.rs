//! What a `Cargo.toml` says, as far as the rules ask.

use std::path::Path;

use toml::{Table, Value};

use crate::{files, root, shown, text};

/// One crate's manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The file, relative to the root.
    pub path: String,
    /// The package's name.
    pub package: String,
    /// What it depends on in every build; development dependencies are not in here.
    pub dependencies: Vec<String>,
    /// Whether it inherits the workspace's lints.
    pub inherits_lints: bool,
}

impl Manifest {
    /// Reads one manifest; none for a file without `[package]`, or for a package that is a workspace of its own.
    pub fn read(path: &str, text: &str) -> Result<Option<Self>, String> {
        let table: Table = text.parse().map_err(|why| format!("{path}: {why}"))?;
        let Some(package) =
            table.get("package").and_then(|package| package.get("name")).and_then(Value::as_str)
        else {
            return Ok(None);
        };
        if table.contains_key("workspace") {
            return Ok(None);
        }
        let lints = table.get("lints").and_then(|lints| lints.get("workspace"));
        Ok(Some(Self {
            path: path.to_owned(),
            package: package.to_owned(),
            dependencies: dependencies(&table),
            inherits_lints: lints.and_then(Value::as_bool) == Some(true),
        }))
    }
}

/// `[dependencies]`, `[build-dependencies]` and those of every `[target.'…']`, by the name of the package.
fn dependencies(table: &Table) -> Vec<String> {
    let targets = table.get("target").and_then(Value::as_table).into_iter().flat_map(|all| all.values());
    let places = std::iter::once(table).chain(targets.filter_map(Value::as_table));
    let sections =
        places.flat_map(|place| ["dependencies", "build-dependencies"].map(|name| place.get(name)));
    sections
        .flatten()
        .filter_map(Value::as_table)
        .flatten()
        .map(|(name, how)| package_name(name, how))
        .collect()
}

/// A renamed dependency counts under its real name.
fn package_name(name: &str, how: &Value) -> String {
    how.get("package").and_then(Value::as_str).unwrap_or(name).to_owned()
}

/// The manifests of all crates of the workspace.
pub fn all() -> Result<Vec<Manifest>, String> {
    let paths = files(&root(), "toml").into_iter().filter(|path| is_manifest(path));
    let read = paths.map(|path| Manifest::read(&shown(&path), &text(&path)?));
    read.filter_map(Result::transpose).collect()
}

fn is_manifest(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "Cargo.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_wherever_they_stand_and_under_their_real_name() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\nc = { package = \"real-c\", version = \"1\" }\n\
                    [dev-dependencies]\nd = \"1\"\n[target.'cfg(unix)'.dependencies]\ne = \"1\"\n\
                    [lints]\nworkspace = true\n";
        let manifest = Manifest::read("a/Cargo.toml", text).unwrap().unwrap();
        assert_eq!(manifest.dependencies, ["b", "real-c", "e"]);
        assert!(manifest.inherits_lints);
    }

    #[test]
    fn a_workspace_root_is_no_crate_and_nonsense_is_an_error() {
        assert_eq!(Manifest::read("Cargo.toml", "[workspace]\n"), Ok(None));
        assert_eq!(Manifest::read("a/Cargo.toml", "[package]\nname = \"a\"\n[workspace]\n"), Ok(None));
        assert!(Manifest::read("x", "[package").unwrap_err().starts_with("x: "));
    }
}
