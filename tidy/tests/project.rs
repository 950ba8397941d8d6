//! Rules for what is not Rust: the README's commands, the scenario files, the changelog.

use std::path::{Path, PathBuf};

use keytoll_tidy::{files, none, root, shown, text};

/// The lines inside fenced blocks of a Markdown text.
fn fenced(markdown: &str) -> Vec<&str> {
    let odd_parts = markdown.split("\n```").skip(1).step_by(2);
    odd_parts
        .flat_map(|block| block.lines().skip(1))
        .map(|line| line.trim_start_matches("$ ").trim())
        .collect()
}

fn is_run(command: &str) -> bool {
    command.starts_with("cargo run ")
        && command.split(" -- ").nth(1).is_some_and(|args| args.starts_with("run"))
}

#[test]
fn the_readme_shows_the_two_commands() {
    let readme = text(&root().join("README.md")).unwrap();
    let commands = fenced(&readme);
    assert!(
        commands.iter().any(|line| is_run(line)),
        "README.md must show `cargo run … -- run` in a fenced block"
    );
    assert!(
        commands.iter().any(|line| line.starts_with("cargo test --workspace")),
        "README.md must show `cargo test --workspace` in a fenced block"
    );
}

#[test]
fn every_scenario_says_what_it_shows() {
    let opens =
        |text: &str| text.lines().take_while(|line| line.starts_with('#')).any(|line| line.len() > 20);
    let scenarios = files(&root().join("scenarios"), "toml");
    let silent = scenarios.iter().filter(|path| !text(path).is_ok_and(|text| opens(&text)));
    none(
        &silent
            .map(|path| format!("{}: open with a paragraph on what it shows", shown(path)))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn the_papers_a_project_needs_are_there() {
    let needed =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
    let missing = needed.iter().filter(|name| !text(&root().join(name)).is_ok_and(|text| text.len() > 100));
    none(&missing.map(|name| format!("{name} is missing or next to empty")).collect::<Vec<_>>());
}

/// The crates of the workspace that have a test program `tests/main.rs`.
fn suites() -> Vec<PathBuf> {
    let tests = files(&root(), "rs").into_iter().filter(|path| path.ends_with("tests/main.rs"));
    tests.filter_map(|main| Some(main.parent()?.to_owned())).collect()
}

/// The files beside `tests/main.rs` that neither it nor the manifest names: cargo would leave them out without a word.
fn forgotten(tests: &Path) -> Vec<String> {
    let main = text(&tests.join("main.rs")).unwrap_or_default();
    let manifest = text(&tests.join("../Cargo.toml")).unwrap_or_default();
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let named = |name: &String| {
        main.contains(&format!("mod {name};")) || manifest.contains(&format!("name = \"{name}\"\n"))
    };
    let beside = files(tests, "rs").into_iter().filter(|path| path.parent() == Some(tests));
    beside.map(|path| stem(&path)).filter(|name| name != "main" && !named(name)).collect()
}

#[test]
fn every_file_of_tests_is_in_its_program() {
    let suites = suites();
    assert!(suites.len() >= 10, "only {} crates have tests/main.rs", suites.len());
    let complaints = suites.iter().flat_map(|tests| {
        forgotten(tests).into_iter().map(move |name| {
            format!("{}/main.rs: add `mod {name};`, or {name}.rs is never run", shown(tests))
        })
    });
    none(&complaints.collect::<Vec<_>>());
}

/// `Cargo.toml` excludes programs and documentation from tests, so they must not have any.
#[test]
fn code_that_is_built_without_tests_has_none() {
    let sources = files(&root(), "rs");
    let has = |path: &Path, is: fn(&str) -> bool| text(path).is_ok_and(|text| is(&text));
    let is_main = |path: &Path| path.ends_with("src/main.rs") || shown(path).contains("/src/bin/");
    let tested = sources.iter().filter(|path| is_main(path) && has(path, |text| text.contains("#[test]")));
    let complaints =
        tested.map(|path| format!("{}: `test = false` in Cargo.toml: it is never run", shown(path)));
    let documented = sources.iter().filter(|path| has(path, has_doctest));
    let doctests =
        documented.map(|path| format!("{}: `doctest = false` in Cargo.toml: write ```text", shown(path)));
    none(&complaints.chain(doctests).collect::<Vec<_>>());
}

/// Whether a doc comment has a block of code that names no other language than Rust.
fn has_doctest(text: &str) -> bool {
    let comments = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let mut fences = comments.filter_map(|comment| comment.trim().strip_prefix("```"));
    while let Some(language) = fences.next() {
        if language.is_empty() || language.starts_with("rust") {
            return true;
        }
        fences.next();
    }
    false
}

/// The commands that the gate and the long checks must run.
#[test]
fn both_tiers_of_ci_run_their_checks() {
    let steps = text(&root().join(".ci/steps.sh")).unwrap();
    let tier = |name: &str| text(&root().join(".ci").join(name)).unwrap() + &steps;
    let both = [
        "step cargo test --workspace",
        "step cargo fmt --all --check",
        "step cargo clippy --workspace --all-targets -- -D warnings",
        "step docs",
        "step pages",
        "step interop",
        "step fuzz/run.sh --all",
        "packaging/build.sh trial",
        "--bench yardstick",
    ];
    let long = [
        "KEYTOLL_SWEEP_SEEDS=60 KEYTOLL_LONG_CAPTURE=100000 cargo test --workspace",
        "step columnar",
        "step deny",
        "--features ossl",
    ];
    let lacks = |name: &'static str, commands: &[&'static str]| {
        let tier = tier(name);
        let missing = commands.iter().filter(|command| !tier.contains(*command)).copied();
        missing.map(|command| format!(".ci/{name} lacks `{command}`")).collect::<Vec<_>>()
    };
    let of_full: Vec<_> =
        both.into_iter().filter(|command| *command != "step cargo test --workspace").chain(long).collect();
    none(&[lacks("run", &both), lacks("full", &of_full)].concat());
}

/// Every package costs build time on every machine; a new dependency says in its commit what it saves.
#[test]
fn no_more_packages_are_locked_than_agreed() {
    let lock = text(&root().join("Cargo.lock")).unwrap();
    let count = lock.lines().filter(|line| *line == "[[package]]").count();
    assert!(
        (100..=PACKAGES_MAX).contains(&count),
        "{count} locked packages, {PACKAGES_MAX} at most: drop a dependency"
    );
}

/// Those of 2026-11-29, tests and optional features included.
const PACKAGES_MAX: usize = 370;

#[test]
fn the_rules_bite() {
    let commands =
        fenced("text\n```sh\n$ cargo run --release -- run\n```\ncargo test --workspace\n```\nlast\n```\n");
    assert_eq!(commands, ["cargo run --release -- run", "last"]);
    assert!(
        has_doctest("/// ```\n/// code\n/// ```\n")
            && !has_doctest("//! ```text\n//! ```\n/// ```text\n/// ```\n")
    );
    assert!(is_run(commands[0]) && !is_run("cargo run -- list") && !is_run("cargo runs"));
}
