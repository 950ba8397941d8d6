//! Values in ascending order, each once with how many there are: those of single authentications, or the counts of a histogram.

use crate::stats::{Interval, Welford, median_rank95};

/// Values by rank.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ranked {
    /// A value, and how many are not above it.
    steps: Vec<(f64, u64)>,
}

impl Ranked {
    /// Single values.
    pub(super) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Self::counted(sorted.into_iter().map(|value| (value, 1)))
    }

    /// Values in ascending order, each with its count.
    pub(super) fn counted(counts: impl IntoIterator<Item = (f64, u64)>) -> Self {
        let mut ranked = Self::default();
        for (value, count) in counts {
            // The counts may be somebody else's.
            let up_to = ranked.n().saturating_add(count);
            match ranked.steps.last_mut() {
                Some(last) if last.0.total_cmp(&value).is_eq() => last.1 = up_to,
                _ => ranked.steps.push((value, up_to)),
            }
        }
        ranked
    }

    /// How many values there are.
    pub(super) fn n(&self) -> u64 {
        self.steps.last().map_or(0, |(_, up_to)| *up_to)
    }

    /// The value at a rank, from 0 on; beyond the last one it is the greatest.
    pub(super) fn at(&self, rank: u64) -> f64 {
        let place = self.steps.partition_point(|(_, up_to)| *up_to <= rank).min(self.steps.len() - 1);
        self.steps[place].0
    }

    /// The values with their counts.
    pub(super) fn counts(&self) -> impl Iterator<Item = (f64, u64)> {
        let before = std::iter::once(0).chain(self.steps.iter().map(|(_, up_to)| *up_to));
        self.steps.iter().zip(before).map(|((value, up_to), before)| (*value, up_to - before))
    }

    /// Whether all values are the same.
    pub(super) fn is_one_value(&self) -> bool {
        self.steps.len() == 1
    }

    /// Mean and spread.
    pub(super) fn moments(&self) -> Welford {
        let mut moments = Welford::default();
        self.counts().for_each(|(value, count)| moments.add_many(value, count));
        moments
    }

    /// The distribution-free 95 % interval of the median; `None` below six values.
    pub(super) fn median_interval95(&self) -> Option<Interval> {
        let rank = median_rank95(self.n())?;
        Some(Interval { low: self.at(rank - 1), high: self.at(self.n() - rank) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_found_by_rank_however_they_came() {
        let ranked = Ranked::of(&[3.0, 1.0, 2.0, 2.0]);
        assert_eq!(ranked, Ranked::counted([(1.0, 1), (2.0, 2), (3.0, 1)]));
        assert_eq!([0, 1, 2, 3, 9].map(|rank| ranked.at(rank)), [1.0, 2.0, 2.0, 3.0, 3.0]);
        assert_eq!((ranked.n(), ranked.is_one_value(), Ranked::default().n()), (4, false, 0));
        assert_eq!(ranked.counts().collect::<Vec<_>>(), [(1.0, 1), (2.0, 2), (3.0, 1)]);
    }

    proptest! {
        #[test]
        fn moments_and_the_interval_are_those_of_the_single_values(values in prop::collection::vec(0_u32..9, 1..60)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let (ranked, mut single) = (Ranked::of(&values), Welford::default());
            values.iter().for_each(|value| single.add(*value));
            let moments = ranked.moments();
            prop_assert!((moments.mean().unwrap() - single.mean().unwrap()).abs() < 1e-9);
            let spread = |of: &Welford| of.stddev().unwrap_or(0.0);
            prop_assert!((spread(&moments) - spread(&single)).abs() < 1e-9);
            prop_assert_eq!(ranked.median_interval95(), crate::stats::median95(values).unwrap().1);
        }
    }
}
