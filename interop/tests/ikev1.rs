//! Every suite and feature of IKEv1 between keytoll and strongSwan, in both directions: the cells of the third table of
//! `RESULTS.md`.

use keytoll_interop::ikev1::Feature;
use keytoll_interop::ikev2::Direction;
use keytoll_interop::{ikev1_rows, ikev1_tests, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

/// What is known to come of it, does, and the capture tells so.
fn check(direction: Direction, feature: Feature) {
    let outcome = feature.outcome(direction);
    let Some(lab) = lab_or_skip() else { return };
    outcome.check(feature.run(direction, &lab, PROGRAM), &lab);
    feature.judge(direction, &lab, PROGRAM);
}

mod keytoll_device {
    use super::*;
    ikev1_rows!(ikev1_tests(Direction::KeytollDevice, check));
}

mod charon_device {
    use super::*;
    ikev1_rows!(ikev1_tests(Direction::CharonDevice, check));
}
