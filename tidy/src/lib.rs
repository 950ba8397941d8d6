//! Tests about the code itself: what a reviewer would otherwise have to say again and again. This library reads the
//! project's own files; the rules are in `tests/`, each with the reason in its failure text.

pub mod manifest;
pub mod source;

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The root of the workspace.
///
/// # Panics
/// When this crate is not one level below it.
pub fn root() -> PathBuf {
    let tidy = Path::new(env!("CARGO_MANIFEST_DIR"));
    tidy.parent().expect("tidy/ is one level below the root").to_owned()
}

/// Every file below `dir` with this extension, sorted; build output and hidden folders are left out.
pub fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut found: Vec<_> = entries.flatten().flat_map(|entry| below(&entry.path(), extension)).collect();
    found.sort();
    found
}

fn below(path: &Path, extension: &str) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() && name != "target" && name != "runs" && !name.starts_with('.') {
        return files(path, extension);
    }
    path.extension().filter(|found| *found == extension).map(|_| path.to_owned()).into_iter().collect()
}

/// A path as it is spoken of: relative to the root.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The text of a file that must be there.
pub fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| format!("{}: {why}", shown(path)))
}

/// Fails with all complaints at once, so that one run shows everything there is to do.
///
/// # Panics
/// If there are complaints.
#[track_caller]
pub fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
