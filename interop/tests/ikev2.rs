//! Every suite and feature of IKEv2 between keytoll and strongSwan, in both directions: the cells of the second table of
//! `RESULTS.md`.

use keytoll_interop::chain::Outcome;
use keytoll_interop::ikev2::{Direction, Feature};
use keytoll_interop::{ike_rows, ike_tests, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

/// What is known to come of it, does.
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
    ike_rows!(ike_tests(Direction::KeytollDevice, check));
}

mod charon_device {
    use super::*;
    ike_rows!(ike_tests(Direction::CharonDevice, check));
}
