//! The version: output of `keytoll --version`, and part of a run's provenance.

use std::sync::LazyLock;

use keytoll_lab::{Program, libraries};
use keytoll_trace::provenance::shortened;

/// The commit of the sources, if they were built in their repository; `build.rs` finds it.
const COMMIT: Option<&str> = option_env!("KEYTOLL_COMMIT");

/// Cargo's profile by the name of its folder, such as `release`, `dist` or `debug`; `build.rs` finds it.
const BUILD: &str = env!("KEYTOLL_BUILD");

/// This program with its command line.
pub(crate) fn program() -> Program {
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    Program { commit: COMMIT.map(str::to_owned), build: BUILD.to_owned(), command }
}

/// The version and the commit, like `0.1.0 (1b27e3e1c1f1, dist build)`.
pub(crate) fn short() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let commit = COMMIT.map_or_else(|| "built outside its repository".to_owned(), shortened);
        format!("{} ({commit}, {BUILD} build)", env!("CARGO_PKG_VERSION"))
    });
    &TEXT
}

/// The same with the crypto libraries of this build.
pub(crate) fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let libraries = libraries().into_iter().map(|library| format!("\n{library}"));
        std::iter::once(short().to_owned()).chain(libraries).collect()
    });
    &TEXT
}
