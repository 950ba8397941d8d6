//! What a meter has counted in all, by the places of a price table: what a node tells of itself, and what it would cost elsewhere.

use super::prices::{Place, Prices};

/// How often each operation ran, and over how many bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work(Box<[Amount]>);

/// Of one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// How often.
    pub count: u64,
    /// Bytes worked on in all.
    pub bytes: u64,
}

impl Default for Work {
    fn default() -> Self {
        Self(vec![Amount::default(); Place::COUNT].into_boxed_slice())
    }
}

impl Work {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.amounts().next().is_none()
    }

    /// Adds to an operation.
    pub fn add(&mut self, place: Place, amount: Amount) {
        let sum = &mut self.0[place.index()];
        sum.count = sum.count.saturating_add(amount.count);
        sum.bytes = sum.bytes.saturating_add(amount.bytes);
    }

    /// What was counted, in the order of tables.
    pub fn amounts(&self) -> impl Iterator<Item = (Place, Amount)> + '_ {
        let each = Place::all().zip(self.0.iter().copied());
        each.filter(|(_, amount)| *amount != Amount::default())
    }

    /// What has been added since an earlier time; none if less was counted in all than then.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let added = self.0.iter().zip(&before.0).map(|(now, before)| now.since(*before));
        added.collect::<Option<_>>().map(Self)
    }

    /// What it costs by a table, in picoseconds; none if the table does not list one of the operations.
    pub fn ps(&self, prices: &Prices) -> Option<u64> {
        let mut each = self.amounts().map(|(place, amount)| prices.ps_of(place, amount));
        each.try_fold(0, |sum: u64, ps| Some(sum.saturating_add(ps?)))
    }
}

impl Amount {
    fn since(self, before: Self) -> Option<Self> {
        let count = self.count.checked_sub(before.count)?;
        Some(Self { count, bytes: self.bytes.checked_sub(before.bytes)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(amounts: &[(&str, &str, u64, u64)]) -> Work {
        let mut work = Work::default();
        for &(operation, algorithm, count, bytes) in amounts {
            work.add(Place::named(operation, algorithm).unwrap(), Amount { count, bytes });
        }
        work
    }

    #[test]
    fn what_was_added_since_is_a_difference_and_nothing_goes_back() {
        let before = work(&[("hash", "sha1", 2, 100), ("agree", "x25519", 1, 32)]);
        let now = work(&[("hash", "sha1", 5, 400), ("agree", "x25519", 1, 32), ("prf", "prfmd5", 1, 7)]);
        assert_eq!(now.since(&before), Some(work(&[("hash", "sha1", 3, 300), ("prf", "prfmd5", 1, 7)])));
        assert_eq!(now.since(&now), Some(Work::default()));
        assert_eq!((before.since(&now), Work::default().since(&before)), (None, None));
        let fewer_bytes =
            work(&[("hash", "sha1", 6, 399), ("agree", "x25519", 1, 32), ("prf", "prfmd5", 1, 7)]);
        assert_eq!(fewer_bytes.since(&now), None);
    }

    #[test]
    fn work_costs_what_its_operations_cost_one_by_one() {
        let prices =
            Prices::new([("hash", "sha1", 50.0, 0.48), ("encrypt-traffic", "aes128gcm16", 30.0, 0.07)]);
        let prices = prices.unwrap();
        let counted = work(&[("hash", "sha1", 3, 300), ("encrypt-traffic", "aes128gcm16", 2, 2800)]);
        let (hashes_ps, packets_ps) = (3 * 50_000 + 300 * 480, 2 * 30_000 + 2800 * 70);
        assert_eq!(counted.ps(&prices), Some(hashes_ps + packets_ps));
        let unlisted = work(&[("hash", "sha1", 3, 300), ("encrypt", "aes128gcm16", 9, 9)]);
        assert_eq!(unlisted.ps(&prices), None);
        let endless = work(&[("hash", "sha1", u64::MAX, u64::MAX), ("encrypt-traffic", "aes128gcm16", 1, 1)]);
        assert_eq!(endless.ps(&prices), Some(u64::MAX));
    }
}
