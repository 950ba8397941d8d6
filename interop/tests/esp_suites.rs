//! Every algorithm of ESP between keytoll and strongSwan, under both versions of IKE and in both directions: the cells of the
//! fourth table of `RESULTS.md`.

use keytoll_interop::chain::Outcome;
use keytoll_interop::esp::{Suite, Way};
use keytoll_interop::{esp_rows, esp_tests, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");

/// What is known to come of it, does, and the capture of IKEv1 tells so.
fn check(suite: Suite, way: Way) {
    let outcome = suite.outcome(way);
    if matches!(outcome, Outcome::NotOffered(_)) {
        return;
    }
    let Some(lab) = lab_or_skip() else { return };
    outcome.check(suite.run(way, &lab, PROGRAM), &lab);
    suite.judge(way, &lab, PROGRAM);
}

mod v2_keytoll_device {
    use super::*;
    esp_rows!(esp_tests(Way::ALL[0], check));
}

mod v2_charon_device {
    use super::*;
    esp_rows!(esp_tests(Way::ALL[1], check));
}

mod v1_keytoll_device {
    use super::*;
    esp_rows!(esp_tests(Way::ALL[2], check));
}

mod v1_charon_device {
    use super::*;
    esp_rows!(esp_tests(Way::ALL[3], check));
}
