//! Every feature between keytoll and ryke, in both directions: the cells of its table in `RESULTS.md`.

use keytoll_interop::chain::Outcome;
use keytoll_interop::ryke::{Direction, Feature, lab_or_skip};
use keytoll_interop::{ryke_rows, ryke_tests};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

/// The outcome is the known one.
fn check(direction: Direction, feature: Feature) {
    let outcome = feature.outcome(direction);
    if matches!(outcome, Outcome::NotOffered(_)) {
        return;
    }
    let Some(lab) = lab_or_skip() else { return };
    outcome.check(feature.run(direction, &lab, PROGRAM), &lab);
}

mod keytoll_device {
    use super::*;
    ryke_rows!(ryke_tests(Direction::KeytollDevice, check));
}

mod ryke_device {
    use super::*;
    ryke_rows!(ryke_tests(Direction::RykeDevice, check));
}
