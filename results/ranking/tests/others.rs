//! The same numbers as other people's code: `reference/reference.json`, which `reference/make.py` made with pyDecision,
//! scikit-criteria and ahpy of the versions that it names.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use keytoll_ranking::experts::{Comparison, Judge, fit};
use keytoll_ranking::methods::{Matrix, Method, ranks};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/reference.json")).unwrap()
}

fn cases(name: &str) -> Vec<Value> {
    let cases = reference()[name].as_array().unwrap().clone();
    assert!(cases.len() > 5, "{name}");
    cases
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Matrix {
    value.as_array().unwrap().iter().map(numbers).collect()
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (one, other) in found.iter().zip(expected) {
        assert!((one - other).abs() < within, "{found:?} is not {expected:?}");
    }
}

fn utilities(method: &str, case: &Value) -> Vec<f64> {
    let method = Method::named(method).unwrap();
    method.prepare(&matrix(&case["grades"])).utilities(&numbers(&case["weights"]))
}

#[test]
fn smart_is_the_logarithm_of_the_multiplicative_ahp() {
    for case in cases("decisions") {
        // Lootsma's SMART grades from 4 upwards.
        let smart: Vec<f64> = numbers(&case["smart"]).iter().map(|utility| utility - 4.0).collect();
        close(&utilities("mahp", &case), &smart, 1e-9);
        assert_eq!(ranks(&utilities("mahp", &case)), ranks(&smart));
    }
}

#[test]
fn the_weighted_product_is_that_of_scikit_criteria() {
    for case in cases("decisions") {
        let found = utilities("wpm", &case);
        let log10: Vec<f64> = found.iter().map(|utility| utility * 2_f64.log10()).collect();
        close(&log10, &numbers(&case["wpm_scores"]), 1e-9);
        let expected: Vec<usize> = numbers(&case["wpm_ranks"]).iter().map(|rank| *rank as usize).collect();
        // scikit-criteria gives equal alternatives ranks without a gap; there are none here.
        assert_eq!(ranks(&found), expected);
        assert_eq!(ranks(&utilities("mahp", &case)), expected);
    }
}

#[test]
fn weighted_sum_and_topsis_are_those_of_scikit_criteria() {
    for case in cases("decisions") {
        close(&utilities("wsm", &case), &numbers(&case["wsm_scores"]), 1e-9);
        close(&utilities("topsis", &case), &numbers(&case["topsis_scores"]), 1e-9);
    }
}

fn weights(steps: &Matrix) -> Vec<f64> {
    let pairs =
        (0..steps.len()).flat_map(|first| (first + 1..steps.len()).map(move |second| (first, second)));
    let comparison =
        |(first, second): (usize, usize)| Comparison { first, second, steps: steps[first][second] };
    let judge = Judge { importance: 1.0, gamma: 1.0, comparisons: pairs.map(comparison).collect() };
    fit(steps.len(), &[judge]).unwrap()
}

#[test]
fn weights_are_the_geometric_means_of_pydecision_and_of_ahpy_where_it_has_them() {
    for case in cases("gradations") {
        let found = weights(&matrix(&case["steps"]));
        close(&found, &numbers(&case["geometric"]), 1e-9);
        if found.len() == 3 || case["consistent"] == true {
            close(&found, &numbers(&case["ahpy"]), 1e-6);
        }
    }
}
