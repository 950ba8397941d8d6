//! Weights from experts' gradations: logarithmic least squares over any comparisons that connect the criteria.
//!
//! F. A. Lootsma, "Scale sensitivity in the Multiplicative AHP and SMART", Journal of Multi-Criteria Decision Analysis 2 (1993): an
//! expert d says by how many steps δ one criterion is more important than another, a step is the factor 2^γ_d, and the group's
//! weights c minimise Σ_d P_d Σ_pairs (γ_d δ − log2 c_j + log2 c_k)². Complete comparisons then give geometric means, a star gives
//! what it says, and any others whatever fits best.

/// One judgement: `first` is `steps` more important than `second`, less if negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Index of a criterion.
    pub first: usize,
    /// Index of another.
    pub second: usize,
    /// Gradations, usually whole.
    pub steps: f64,
}

/// The judgements of one expert.
#[derive(Debug, Clone, PartialEq)]
pub struct Judge {
    /// P_d, positive.
    pub importance: f64,
    /// γ_d: a step is the factor 2^γ_d; positive.
    pub gamma: f64,
    /// Any number of them.
    pub comparisons: Vec<Comparison>,
}

/// Why there are no weights.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// The comparisons fall into groups between which there is none; the groups of two and more first.
    #[error("the comparisons do not connect all criteria")]
    Disconnected(Vec<Vec<usize>>),
}

/// Logarithms to the base 2 of the weights, up to a constant.
type Logs = Vec<f64>;

/// The weights of `count` criteria, which add up to 1.
///
/// # Errors
/// When the comparisons of all judges together do not connect the criteria.
pub fn fit(count: usize, judges: &[Judge]) -> Result<Vec<f64>, FitError> {
    let groups = groups(count, judges);
    if groups.len() > 1 {
        return Err(FitError::Disconnected(groups));
    }
    Ok(normalised(&logs(count, judges)))
}

/// How far the weights are from what a judge said: the root of the mean square, in this judge's steps; 0 without comparisons.
pub fn residual_steps(judge: &Judge, weights: &[f64]) -> f64 {
    let logs: Logs = weights.iter().map(|weight| weight.log2()).collect();
    off(judge, &logs)
}

/// How far a judge's comparisons are from each other: what no weights at all can explain, in this judge's steps.
pub fn contradiction_steps(count: usize, judge: &Judge) -> f64 {
    off(judge, &logs(count, std::slice::from_ref(judge)))
}

fn off(judge: &Judge, logs: &[f64]) -> f64 {
    let square = |it: &Comparison| (it.steps - (logs[it.first] - logs[it.second]) / judge.gamma).powi(2);
    let squares: f64 = judge.comparisons.iter().map(square).sum();
    (squares / judge.comparisons.len().max(1) as f64).sqrt()
}

fn normalised(logs: &[f64]) -> Vec<f64> {
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logs.iter().map(|log| (log - greatest).exp2()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

/// The criteria in groups that comparisons connect, larger groups first.
fn groups(count: usize, judges: &[Judge]) -> Vec<Vec<usize>> {
    let mut of: Vec<usize> = (0..count).collect();
    for comparison in judges.iter().flat_map(|judge| &judge.comparisons) {
        let (keep, drop) = (of[comparison.first], of[comparison.second]);
        of.iter_mut().filter(|group| **group == drop).for_each(|group| *group = keep);
    }
    let members = |group: usize| (0..count).filter(|&one| of[one] == group).collect::<Vec<_>>();
    let mut groups: Vec<_> = (0..count).map(members).filter(|members| !members.is_empty()).collect();
    groups.sort_by_key(|members| (std::cmp::Reverse(members.len()), members[0]));
    groups
}

/// The normal equations L·y = b, where L is the Laplacian of the comparisons. Each group gets the level 0 for its first member.
fn logs(count: usize, judges: &[Judge]) -> Logs {
    let mut equations = vec![vec![0.0; count + 1]; count];
    for judge in judges {
        for &Comparison { first, second, steps } in &judge.comparisons {
            let (weight, log) = (judge.importance, judge.importance * judge.gamma * steps);
            equations[first][first] += weight;
            equations[second][second] += weight;
            equations[first][second] -= weight;
            equations[second][first] -= weight;
            equations[first][count] += log;
            equations[second][count] -= log;
        }
    }
    for group in groups(count, judges) {
        let level = &mut equations[group[0]];
        level.fill(0.0);
        level[group[0]] = 1.0;
    }
    solve(equations)
}

/// Gauss–Jordan with the greatest pivot; the right side is the last column.
fn solve(mut rows: Vec<Vec<f64>>) -> Logs {
    let count = rows.len();
    for column in 0..count {
        let magnitude = |row: &usize| rows[*row][column].abs();
        let pivot = (column..count).max_by(|one, other| magnitude(one).total_cmp(&magnitude(other)));
        rows.swap(column, pivot.unwrap_or(column));
        let pivot = rows[column].clone();
        for row in (0..count).filter(|row| *row != column) {
            let factor = rows[row][column] / pivot[column];
            rows[row].iter_mut().zip(&pivot).for_each(|(cell, of_pivot)| *cell -= factor * of_pivot);
        }
    }
    (0..count).map(|row| rows[row][count] / rows[row][row]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(comparisons: &[(usize, usize, f64)]) -> Judge {
        let comparison = |&(first, second, steps): &_| Comparison { first, second, steps };
        Judge { importance: 1.0, gamma: 1.0, comparisons: comparisons.iter().map(comparison).collect() }
    }

    fn star(steps: [f64; 3]) -> Judge {
        judge(&[(0, 1, steps[0]), (0, 2, steps[1]), (0, 3, steps[2])])
    }

    #[track_caller]
    fn close(found: &[f64], expected: &[f64], within: f64) {
        assert_eq!(found.len(), expected.len());
        for (one, other) in found.iter().zip(expected) {
            assert!((one - other).abs() < within, "{found:?} is not {expected:?}");
        }
    }

    /// What the slides of Faigl et al. print: security against performance, deployment and extra functions.
    const PRINTED: [[f64; 3]; 4] = [[-1.0, -2.0, 1.0], [0.0, -2.0, 0.0], [-1.0, -2.0, 0.0], [1.0, 0.0, -1.0]];

    #[test]
    fn the_papers_weights_come_out_of_the_derived_totals_of_seven_experts() {
        // 4, 1 and 4 steps in all, over seven experts of the same importance.
        let mut judges: Vec<_> = PRINTED.map(star).into();
        judges.push(Judge { importance: 3.0, ..star([5.0 / 3.0, 7.0 / 3.0, 4.0 / 3.0]) });
        let weights = fit(4, &judges).unwrap();
        let powers = [0.0, -4.0, -1.0, -4.0].map(|total: f64| (total / 7.0).exp2());
        close(&weights, &powers.map(|power| power / powers.iter().sum::<f64>()), 1e-12);
        close(&weights, &[0.3075, 0.207, 0.2785, 0.207], 5e-5);
        // Whole gradations of three experts that have the same sums: a synthetic example.
        judges.pop();
        judges.extend([[2.0, 2.0, 1.0], [2.0, 3.0, 2.0], [1.0, 2.0, 1.0]].map(star));
        close(&fit(4, &judges).unwrap(), &weights, 1e-12);
    }

    #[test]
    fn the_four_printed_experts_alone_give_other_weights() {
        let weights = fit(4, &PRINTED.map(star)).unwrap();
        close(&weights, &[0.1662, 0.1976, 0.4700, 0.1662], 5e-5);
    }

    #[test]
    fn complete_comparisons_give_geometric_means() {
        // Saaty's example in powers of two: rows of the matrix 1, 2, 8; 1/2, 1, 4; 1/8, 1/4, 1 are consistent.
        let weights = fit(3, &[judge(&[(0, 1, 1.0), (0, 2, 3.0), (1, 2, 2.0)])]).unwrap();
        close(&weights, &[8.0 / 13.0, 4.0 / 13.0, 1.0 / 13.0], 1e-12);
        let contradicting = judge(&[(0, 1, 1.0), (1, 2, 1.0), (0, 2, -1.0)]);
        let weights = fit(3, std::slice::from_ref(&contradicting)).unwrap();
        // Geometric means of the rows: (1·2·½)^⅓, (½·1·2)^⅓, (2·½·1)^⅓.
        close(&weights, &[1.0 / 3.0; 3], 1e-12);
        assert!((contradiction_steps(3, &contradicting) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_expert_differs_from_the_group_and_not_from_himself() {
        let judges = [judge(&[(0, 1, 2.0)]), judge(&[(0, 1, 0.0)])];
        let weights = fit(2, &judges).unwrap();
        close(&weights, &[2.0 / 3.0, 1.0 / 3.0], 1e-12);
        for judge in &judges {
            assert!((residual_steps(judge, &weights) - 1.0).abs() < 1e-12);
            assert!(contradiction_steps(2, judge) < 1e-12);
        }
    }

    #[test]
    fn importance_and_progression_count() {
        let slow = Judge { gamma: 0.5, importance: 3.0, ..judge(&[(0, 1, 4.0)]) };
        let weights = fit(2, &[slow, judge(&[(0, 1, -2.0)])]).unwrap();
        // (3 · 2 − 1 · 2) ÷ 4 = 1 step of factor 2.
        close(&weights, &[2.0 / 3.0, 1.0 / 3.0], 1e-12);
    }

    #[test]
    fn criteria_that_nobody_compares_are_cut_off() {
        let error = fit(5, &[judge(&[(0, 3, 1.0), (3, 1, 1.0), (2, 4, 0.0)])]).unwrap_err();
        assert_eq!(error, FitError::Disconnected(vec![vec![0, 1, 3], vec![2, 4]]));
        assert_eq!(fit(2, &[]), Err(FitError::Disconnected(vec![vec![0], vec![1]])));
        assert_eq!(fit(1, &[]), Ok(vec![1.0]));
    }
}
