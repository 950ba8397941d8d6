//! One trial of `interop-bench daemon`: every step is measured, and cryptography is a part of both daemons' CPU time.

use std::process::Command;

use keytoll_interop::lab_or_skip;
use serde_json::Value;

const BENCH: &str = env!("CARGO_BIN_EXE_interop-bench");

/// Start, connection, termination and stop.
const STEPS: usize = 4;

#[test]
fn a_trial_measures_each_step_of_keytoll_and_libreswan() {
    let Some(lab) = lab_or_skip() else { return };
    drop(lab);
    let run = Command::new(BENCH).args(["daemon", "--trials", "1", "--json"]).output();
    let run = run.expect("the benchmark was built with this test");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let series: Vec<Value> = serde_json::from_slice(&run.stdout).expect("a list of series");
    assert_eq!(series.len(), 4, "two programs with two kinds of authentication");
    for of_case in &series {
        let steps = of_case["trials"][0].as_array().expect("one trial");
        assert_eq!(steps.len(), STEPS);
        steps.iter().for_each(|step| check(step, of_case));
        // Connecting takes at least two Diffie-Hellman exponentiations at each end.
        let [crypto_ns, cpu_ns] = ["crypto_ns", "cpu_ns"].map(|of| number(&steps[1], of));
        assert!(crypto_ns > 100_000 && crypto_ns > cpu_ns / 10, "{of_case}");
    }
}

fn check(step: &Value, of_case: &Value) {
    let [wall_ns, cpu_ns, crypto_ns] = ["wall_ns", "cpu_ns", "crypto_ns"].map(|of| number(step, of));
    assert!(wall_ns > 0 && cpu_ns > 0 && crypto_ns < cpu_ns, "{of_case}");
}

fn number(step: &Value, of: &str) -> u64 {
    step[of].as_u64().unwrap_or_else(|| panic!("no {of} in {step}"))
}
