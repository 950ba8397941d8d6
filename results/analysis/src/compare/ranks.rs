//! Mann and Whitney's test, and the probability of superiority. Read Mann & Whitney, Annals of Mathematical Statistics 18 (1947)
//! 50; Vargha & Delaney, Journal of Educational and Behavioral Statistics 25 (2000) 101.

use std::f64::consts::SQRT_2;

use super::ranked::Ranked;

/// How two groups of values rank among each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RankSum {
    /// How likely a value of the second group is greater than one of the first, ties counting half.
    pub(super) superiority: f64,
    /// Two-sided probability of such a difference if both are of one distribution.
    pub(super) p: f64,
}

/// Groups with more pairs than this have the normal approximation.
const EXACT_PAIRS_MAX: u64 = 2500;

/// The rank, from 1, of the lower end of the 95 % interval among all n·m differences of two groups; `None` where even the least is not certain.
pub(super) fn interval_rank95(n: usize, m: usize) -> Option<u64> {
    let mut below = 0.0;
    let rank = shares(n, m).into_iter().take_while(|share| {
        below += *share;
        below <= 0.025
    });
    Some(rank.count() as u64).filter(|rank| *rank > 0)
}

/// Ranks two groups that both have values.
pub(super) fn rank_sum(a: &Ranked, b: &Ranked) -> RankSum {
    let (u, ties) = u_statistic(a, b);
    let pairs = a.n() as f64 * b.n() as f64;
    let p = match ties.is_empty() && a.n().saturating_mul(b.n()) <= EXACT_PAIRS_MAX {
        true => exact_p(u, a.n() as usize, b.n() as usize),
        false => normal_p(u, a.n() as f64, b.n() as f64, &ties),
    };
    RankSum { superiority: u / pairs, p }
}

/// U of the second group, and how many values each tie has.
fn u_statistic(a: &Ranked, b: &Ranked) -> (f64, Vec<f64>) {
    let of_a = a.counts().map(|(value, count)| (value, count as f64, 0.0));
    let mut all: Vec<_> = of_a.chain(b.counts().map(|(value, count)| (value, 0.0, count as f64))).collect();
    all.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let (mut u, mut ties, mut below) = (0.0, Vec::new(), 0.0);
    for tied in all.chunk_by(|one, other| one.0 == other.0) {
        let of_a: f64 = tied.iter().map(|(_, of_a, _)| of_a).sum();
        let of_b: f64 = tied.iter().map(|(.., of_b)| of_b).sum();
        u += of_b * (below + of_a / 2.0);
        below += of_a;
        if of_a + of_b > 1.0 {
            ties.push(of_a + of_b);
        }
    }
    (u, ties)
}

/// The normal approximation with corrections for ties and continuity (Siegel & Castellan 1988 §6.4).
fn normal_p(u: f64, n: f64, m: f64, ties: &[f64]) -> f64 {
    let all = n + m;
    let tied: f64 = ties.iter().map(|count| count.powi(3) - count).sum();
    let variance = n * m / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    libm::erfc(z / SQRT_2)
}

/// Of all orders of the values, the share whose U is as far from the middle. Without ties every order is as likely.
fn exact_p(u: f64, n: usize, m: usize) -> f64 {
    let shares = shares(n, m);
    let least = u.min((n * m) as f64 - u) as usize;
    (2.0 * shares[..=least].iter().sum::<f64>()).min(1.0)
}

/// How likely each value of U is, from 0 to n·m. The greatest value is one of the m with probability m ÷ (n + m), and is then above
/// all n: p(u; n, m) = m/(n+m) · p(u−n; n, m−1) + n/(n+m) · p(u; n−1, m).
fn shares(n: usize, m: usize) -> Vec<f64> {
    let mut of_fewer = vec![vec![1.0]; m + 1];
    for n in 1..=n {
        let mut row: Vec<Vec<f64>> = vec![vec![1.0]];
        for m in 1..=m {
            let at = |of: &[f64], u: Option<usize>| u.and_then(|u| of.get(u)).copied().unwrap_or(0.0);
            let (all, last) = ((n + m) as f64, &row[m - 1]);
            let share = |u: usize| {
                m as f64 / all * at(last, u.checked_sub(n)) + n as f64 / all * at(&of_fewer[m], Some(u))
            };
            let shares = (0..=n * m).map(share).collect();
            row.push(shares);
        }
        of_fewer = row;
    }
    of_fewer.swap_remove(m)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() <= 1e-9 * wanted.abs().max(1e-3)
    }

    /// `scipy.stats.mannwhitneyu(b, a)` of SciPy 1.17.1, two-sided; `exact` without ties, else asymptotic with continuity.
    #[test]
    fn as_scipy_has_it() {
        for (a, b, u, p) in SCIPY {
            let found = rank_sum(&Ranked::of(a), &Ranked::of(b));
            assert!(close(found.superiority * (a.len() * b.len()) as f64, *u), "{found:?}, not {u}");
            assert!(close(found.p, *p), "{found:?}, not {p}");
        }
    }

    const SCIPY: &[(&[f64], &[f64], f64, f64)] = &[
        (&[1.0, 2.0, 4.0, 8.0], &[3.0, 5.0, 9.0, 10.0, 11.0], 17.0, 0.1111111111111111),
        (
            &[10.001, 10.299, 9.726, 9.109, 9.545, 9.008, 10.06, 11.34, 9.508],
            &[11.38, 12.49, 12.357, 12.105, 11.07, 11.971, 12.695],
            62.0,
            0.00034965034965034965,
        ),
        (&[1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0], &[2.0, 3.0, 3.0, 4.0, 6.0, 7.0], 27.0, 0.42429336670410667),
        (
            &[
                3.145, 0.736, 0.348, 0.884, 0.075, 0.06, 1.224, 0.773, 2.196, 0.475, 0.521, 1.181, 0.527,
                0.022, 0.293, 1.014, 0.635, 1.397, 0.008, 0.904, 0.25, 0.356, 3.075, 1.404, 3.795, 1.748,
                2.243, 0.145, 0.303, 0.239, 1.148, 1.223, 0.127, 0.384, 1.068, 0.069, 0.098, 0.871, 1.874,
                2.696, 0.706, 1.306, 0.764, 0.937, 0.145, 2.495, 0.884, 0.875, 0.026, 1.085, 1.062, 1.064,
                0.569, 1.364, 1.574, 0.65, 0.351, 1.7, 0.673, 0.751,
            ],
            &[
                0.156, 0.343, 2.866, 1.019, 0.035, 1.857, 0.688, 4.133, 1.18, 1.367, 0.608, 0.027, 7.537,
                0.657, 2.898, 0.206, 3.838, 0.02, 1.202, 0.128, 0.26, 2.228, 3.709, 0.95, 2.037, 1.516,
                0.668, 3.123, 2.574, 0.478, 1.015, 1.608, 1.607, 0.116, 7.405, 0.006, 1.967, 1.798, 0.399,
                0.951, 0.521, 0.023, 1.13, 1.679, 1.608, 6.244, 0.236, 0.267, 0.818, 0.298,
            ],
            1705.5,
            0.21846256768336214,
        ),
    ];

    #[test]
    fn the_exact_shares_of_small_groups_are_counted_by_hand() {
        // Two and two: the six orders have U = 0, 1, 2, 2, 3, 4.
        let wanted = [1.0, 1.0, 2.0, 1.0, 1.0].map(|count| count / 6.0);
        assert!(shares(2, 2).iter().zip(wanted).all(|(found, wanted)| close(*found, wanted)));
    }

    /// Six and six: of 924 orders 1, 1, 2, 3, 5, 7, 11 have U = 0 … 6, so P(U ≤ 5) = 0.0206 and P(U ≤ 6) = 0.0325.
    #[test]
    fn the_interval_of_differences_begins_after_those_that_are_too_unlikely() {
        assert_eq!(interval_rank95(6, 6), Some(6));
        assert_eq!(interval_rank95(3, 3), None);
    }

    #[test]
    fn equal_values_differ_by_nothing() {
        let [eight, five] = [8, 5].map(|count| Ranked::counted([(3.0, count)]));
        assert_eq!(rank_sum(&eight, &five), RankSum { superiority: 0.5, p: 1.0 });
    }

    proptest! {
        #[test]
        fn both_ways_are_one_comparison(
            a in prop::collection::vec(0_u32..50, 1..30), b in prop::collection::vec(0_u32..50, 1..30),
        ) {
            let [a, b] = [a, b].map(|values| Ranked::of(&values.into_iter().map(f64::from).collect::<Vec<_>>()));
            let (there, back) = (rank_sum(&a, &b), rank_sum(&b, &a));
            prop_assert!((there.superiority + back.superiority - 1.0).abs() < 1e-12);
            prop_assert!((there.p - back.p).abs() < 1e-12 && (0.0..=1.0).contains(&there.p));
        }

        #[test]
        fn shares_are_symmetric_and_add_up(n in 1_usize..9, m in 1_usize..9) {
            let shares = shares(n, m);
            prop_assert_eq!(shares.len(), n * m + 1);
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(shares.iter().zip(shares.iter().rev()).all(|(one, other)| (one - other).abs() < 1e-12));
        }
    }
}
