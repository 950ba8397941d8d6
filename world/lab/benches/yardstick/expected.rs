//! What was measured before, and how far today's figures are from it.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

/// Figures by name.
pub(crate) type Figures = BTreeMap<String, u64>;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/yardstick/expected.json");

/// More than this is no accident.
const TOLERANCE_PERCENT: f64 = 3.0;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Expected {
    /// The compiler that made them: another one makes others.
    rustc: String,
    figures: Figures,
}

/// Prints the figures beside those expected, or writes them.
pub(crate) fn judge(figures: &Figures, write: bool) -> ExitCode {
    let rustc = rustc();
    if write {
        let expected = Expected { rustc, figures: figures.clone() };
        let text = serde_json::to_string_pretty(&expected).expect("names and numbers");
        fs::write(FILE, text + "\n").expect("the sources can be written");
        return ExitCode::SUCCESS;
    }
    let text = fs::read_to_string(FILE).expect("`-- --write` writes it");
    let expected: Expected = serde_json::from_str(&text).expect("`-- --write` writes it");
    println!("{:44}{:>14}{:>14}{:>9}", "", "expected", "now", "");
    let strayed =
        figures.iter().filter(|(name, now)| strays(name, **now, expected.figures.get(*name))).count();
    let gone = expected.figures.keys().filter(|name| !figures.contains_key(*name)).count();
    verdict(strayed + gone, &rustc, &expected.rustc)
}

/// Prints one figure; whether it is too far away.
fn strays(name: &str, now: u64, expected: Option<&u64>) -> bool {
    let Some(&expected) = expected else {
        println!("{name:44}{:>14}{now:>14}{:>9}", "-", "new");
        return true;
    };
    let percent = (now as f64 / expected as f64 - 1.0) * 100.0;
    println!("{name:44}{expected:>14}{now:>14}{percent:>+8.2}%");
    percent.abs() > TOLERANCE_PERCENT
}

fn verdict(strayed: usize, rustc: &str, expected: &str) -> ExitCode {
    if rustc != expected {
        println!("\nnothing is judged: this is {rustc}, and {expected} made the expected figures");
        return ExitCode::SUCCESS;
    }
    if strayed == 0 {
        println!("\nall within {TOLERANCE_PERCENT} %");
        return ExitCode::SUCCESS;
    }
    println!(
        "\n{strayed} beyond {TOLERANCE_PERCENT} %: mend it, or say why in a commit of what `-- --write` writes"
    );
    ExitCode::FAILURE
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output().expect("cargo has found rustc");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
