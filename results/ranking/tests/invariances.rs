//! What the multiplicative AHP promises, for any weights and grades.

use keytoll_ranking::methods::{METHODS, Matrix, Method, order, ranks};
use proptest::prelude::*;

fn utilities(weights: &[f64], steps: &Matrix) -> Vec<f64> {
    METHODS[0].prepare(steps).utilities(weights)
}

fn scores(method: &Method, weights: &[f64], steps: &Matrix) -> Vec<f64> {
    method.scores(&method.prepare(steps).utilities(weights))
}

/// Weights that add up to 1, and whole grades within a few steps.
fn problem() -> impl Strategy<Value = (Vec<f64>, Matrix)> {
    (1_usize..6, 2_usize..7).prop_flat_map(|(leaves, alternatives)| {
        let grades = prop::collection::vec(-3_i8..=4, alternatives);
        let grades = grades.prop_map(|grades| grades.into_iter().map(f64::from).collect());
        (weights(leaves), prop::collection::vec(grades, leaves))
    })
}

fn weights(count: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.01..1.0_f64, count).prop_map(|weights| {
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    })
}

proptest! {
    #[test]
    fn another_scale_of_the_index_keeps_the_order((weights, steps) in problem(), gamma in 0.1..4.0_f64) {
        let scaled = steps.iter().map(|row| row.iter().map(|step| gamma * step).collect()).collect();
        prop_assert_eq!(ranks(&utilities(&weights, &steps)), ranks(&utilities(&weights, &scaled)));
    }

    #[test]
    fn a_constant_added_to_all_grades_of_a_criterion_keeps_the_scores(
        (weights, steps) in problem(),
        added in -5.0..5.0_f64,
        at in any::<prop::sample::Index>(),
    ) {
        let mut moved = steps.clone();
        moved[at.index(steps.len())].iter_mut().for_each(|step| *step += added);
        for (one, other) in scores(&METHODS[0], &weights, &steps).iter().zip(scores(&METHODS[0], &weights, &moved)) {
            prop_assert!((one - other).abs() < 1e-12);
        }
    }

    #[test]
    fn an_alternative_less_keeps_the_order_and_the_relations_of_the_others(
        (weights, steps) in problem(),
        at in any::<prop::sample::Index>(),
    ) {
        let dropped = at.index(steps[0].len());
        let mut fewer = steps.clone();
        fewer.iter_mut().for_each(|row| _ = row.remove(dropped));
        let (all, left) = (utilities(&weights, &steps), utilities(&weights, &fewer));
        let others: Vec<f64> = (0..all.len()).filter(|&one| one != dropped).map(|one| all[one]).collect();
        prop_assert_eq!(ranks(&others), ranks(&left));
        let (all, left) = (scores(&METHODS[0], &weights, &steps), scores(&METHODS[0], &weights, &fewer));
        let others: Vec<f64> = (0..all.len()).filter(|&one| one != dropped).map(|one| all[one]).collect();
        for (one, other) in others.windows(2).zip(left.windows(2)) {
            prop_assert!((one[0] / one[1] - other[0] / other[1]).abs() < 1e-9 * one[0] / one[1]);
        }
    }

    /// The idea of scikit-criteria's `RankClonesChecker`: a copy of an alternative takes its place beside it, and nobody else's.
    #[test]
    fn a_clone_shares_the_rank_and_changes_no_others_order(
        (weights, steps) in problem(),
        at in any::<prop::sample::Index>(),
    ) {
        let cloned = at.index(steps[0].len());
        let mut more = steps.clone();
        more.iter_mut().for_each(|row| row.push(row[cloned]));
        for method in METHODS.iter().filter(|method| method.name != "topsis") {
            let before = method.prepare(&steps).utilities(&weights);
            let mut after = method.prepare(&more).utilities(&weights);
            let all = ranks(&after);
            prop_assert_eq!(all[cloned], all[before.len()], "{}", method.name);
            after.pop();
            prop_assert_eq!(ranks(&before), ranks(&after), "{}", method.name);
        }
    }

    #[test]
    fn who_is_better_by_everything_is_ahead_with_every_method((weights, steps) in problem(), lead in 0.5..2.0_f64) {
        let mut more = steps.clone();
        for row in &mut more {
            let best = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.push(best + lead);
        }
        for method in METHODS {
            let utilities = method.prepare(&more).utilities(&weights);
            prop_assert_eq!(order(&utilities)[0], steps[0].len(), "{}", method.name);
        }
    }

    #[test]
    fn scores_keep_the_order_of_the_utilities((weights, steps) in problem()) {
        for method in METHODS {
            let utilities = method.prepare(&steps).utilities(&weights);
            prop_assert_eq!(ranks(&utilities), ranks(&method.scores(&utilities)), "{}", method.name);
        }
        let sum: f64 = scores(&METHODS[0], &weights, &steps).iter().sum();
        prop_assert!((sum - 1.0).abs() < 1e-12);
    }
}
