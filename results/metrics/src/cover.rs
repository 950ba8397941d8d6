//! Disjoint time spans, so that overlapping nanoseconds are counted once.

/// A set of nanoseconds, as sorted spans that neither touch nor overlap.
#[derive(Debug, Clone, Default)]
pub(super) struct Cover {
    spans: Vec<(u64, u64)>,
}

impl Cover {
    /// Adds the nanoseconds from `start` until before `end` and returns how many of them are new.
    pub(super) fn add(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let first = self.spans.partition_point(|&(_, until)| until < start);
        let last = self.spans.partition_point(|&(from, _)| from <= end);
        let touched = &self.spans[first..last];
        let known: u64 = touched.iter().map(|&(from, until)| until - from).sum();
        let from = touched.first().map_or(start, |span| span.0.min(start));
        let until = touched.last().map_or(end, |span| span.1.max(end));
        self.spans.splice(first..last, [(from, until)]);
        until - from - known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn only_new_nanoseconds_count() {
        let mut cover = Cover::default();
        assert_eq!(cover.add(10, 20), 10);
        assert_eq!(cover.add(15, 25), 5);
        assert_eq!(cover.add(30, 40), 10);
        assert_eq!(cover.add(25, 30), 5);
        assert_eq!(cover.add(0, 50), 20);
        assert_eq!(cover.add(7, 7), 0);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(spans in prop::collection::vec((0u64..100, 0u64..100), 0..30)) {
            let mut cover = Cover::default();
            let mut set = BTreeSet::new();
            for (start, end) in spans {
                let before = set.len();
                set.extend(start..end.max(start));
                prop_assert_eq!(cover.add(start, end), (set.len() - before) as u64);
            }
        }
    }
}
