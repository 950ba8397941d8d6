//! Every suite and feature between keytoll and libreswan, in both directions: the cells of its table in `RESULTS.md`.

use keytoll_interop::chain::Outcome;
use keytoll_interop::libreswan::{Direction, Feature};
use keytoll_interop::{lab_or_skip, libreswan_rows, libreswan_tests};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

/// What is known to come of it, does, and the capture of IKEv1 tells so.
fn check(direction: Direction, feature: Feature) {
    let outcome = feature.outcome(direction);
    if matches!(outcome, Outcome::NotOffered(_)) {
        return;
    }
    let Some(lab) = lab_or_skip() else { return };
    outcome.check(feature.run(direction, &lab, PROGRAM), &lab);
    feature.judge(direction, &lab, PROGRAM);
}

mod keytoll_device {
    use super::*;
    libreswan_rows!(libreswan_tests(Direction::KeytollDevice, check));
}

mod libreswan_device {
    use super::*;
    libreswan_rows!(libreswan_tests(Direction::LibreswanDevice, check));
}
