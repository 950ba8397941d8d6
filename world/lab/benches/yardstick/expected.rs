//! What was measured before, and how far today's figures are from it.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

/// Figures by name.
pub(crate) type Figures = BTreeMap<String, u64>;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/yardstick/expected.json");

/// How far a figure may be from the committed one, in percent.
pub(crate) struct Limits {
    /// The least change; none if a figure may fall as it likes.
    least: Option<f64>,
    /// The greatest change of work without cryptography.
    null: f64,
    /// The greatest change of work with cryptography.
    real: f64,
}

impl Limits {
    /// The profile of the committed figures, `dist`: more than this is no accident.
    pub(crate) const SAME_BUILD: Self = Self { least: Some(-3.0), null: 3.0, real: 3.0 };
    /// The profile `release`, which gives up optimization for build time.
    pub(crate) const FASTER_BUILD: Self = Self { least: None, null: 15.0, real: 6.0 };

    fn allow(&self, name: &str, percent: f64) -> bool {
        let most = if name.contains("real") { self.real } else { self.null };
        self.least.is_none_or(|least| percent >= least) && percent <= most
    }
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Expected {
    /// The compiler that made them: another one makes others.
    rustc: String,
    figures: Figures,
}

/// Commits the figures.
pub(crate) fn write(figures: Figures) -> ExitCode {
    let text =
        serde_json::to_string_pretty(&Expected { rustc: rustc(), figures }).expect("names and numbers");
    fs::write(FILE, text + "\n").expect("the sources can be written");
    ExitCode::SUCCESS
}

/// Prints the figures next to the committed ones; fails if one is beyond its limit.
pub(crate) fn judge(figures: &Figures, limits: &Limits) -> ExitCode {
    let rustc = rustc();
    let text = fs::read_to_string(FILE).expect("`-- --write` writes it");
    let expected: Expected = serde_json::from_str(&text).expect("`-- --write` writes it");
    println!("{:44}{:>14}{:>14}{:>9}", "", "committed", "now", "");
    let beyond = figures
        .iter()
        .filter(|(name, now)| is_beyond(limits, name, **now, expected.figures.get(*name)))
        .count();
    let gone = expected.figures.keys().filter(|name| !figures.contains_key(*name)).count();
    verdict(limits, beyond + gone, &rustc, &expected.rustc)
}

/// Prints one figure; whether it is beyond its limit.
fn is_beyond(limits: &Limits, name: &str, now: u64, expected: Option<&u64>) -> bool {
    let Some(&expected) = expected else {
        println!("{name:44}{:>14}{now:>14}{:>9}", "-", "new");
        return true;
    };
    let percent = (now as f64 / expected as f64 - 1.0) * 100.0;
    println!("{name:44}{expected:>14}{now:>14}{percent:>+8.2}%");
    !limits.allow(name, percent)
}

fn verdict(limits: &Limits, beyond: usize, rustc: &str, expected: &str) -> ExitCode {
    let Limits { null, real, .. } = limits;
    if rustc != expected {
        println!("\nno verdict: this is {rustc}, the committed figures are of {expected}");
        return ExitCode::SUCCESS;
    }
    if beyond == 0 {
        println!("\nall within {null} %, and {real} % with cryptography");
        return ExitCode::SUCCESS;
    }
    println!(
        "\n{beyond} beyond {null} %, or {real} % with cryptography: fix the cause, or commit new figures (`-- --write`) with the reason"
    );
    ExitCode::FAILURE
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output().expect("cargo has found rustc");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
