//! Running keytoll, and a folder of a test with a run in it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn keytoll(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
    command.args(arguments).current_dir(root).env_remove("COLUMNS").output().unwrap()
}

/// A folder with a run, which is removed in the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn of(name: &str, verb: &[&str]) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-export-{name}-{}", std::process::id()));
        let scratch = Self(path);
        let done = keytoll(&[verb, &["--out", &scratch.text("run")]].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        scratch
    }

    pub(crate) fn run(name: &str, more: &[&str]) -> Self {
        Self::of(name, &[&["run", "quickstart", "--samples", "2", "--crypto", "null"], more].concat())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

/// A command line that is refused with this sentence.
pub(crate) fn refused(arguments: &[&str], sentence: &str, code: i32) {
    let Output { status, stdout, stderr } = keytoll(arguments);
    let told = String::from_utf8(stderr).unwrap();
    let words: Vec<&str> = told.split_whitespace().filter(|word| *word != "│" && *word != "×").collect();
    assert!(stdout.is_empty() && words.join(" ").contains(sentence), "{told}");
    assert_eq!(status.code(), Some(code), "{told}");
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
