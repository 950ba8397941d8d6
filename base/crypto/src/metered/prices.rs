//! The price of each operation where nothing is computed: a table measured elsewhere, in whole picoseconds, so that the
//! same operations cost the same on every machine.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use super::slot::Slot;
use super::work::Amount;

/// What operations cost.
#[derive(Clone)]
pub struct Prices {
    /// By index; the operations with traffic keys come second.
    each: Box<[Option<Price>]>,
}

/// `fixed + per_byte · bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Price {
    fixed_ps: u64,
    fs_per_byte: u64,
}

/// An operation that no meter knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{operation} {algorithm}` is no operation of this keytoll")]
pub struct UnknownOperation {
    /// The operation's name.
    pub operation: String,
    /// The algorithm's name.
    pub algorithm: String,
}

/// Suffix of the name of an operation with an expanded traffic key.
const TRAFFIC: &str = "-traffic";

impl Prices {
    /// Builds the table from operation, algorithm, fixed nanoseconds, and nanoseconds per byte.
    ///
    /// # Errors
    /// A name that is not listed or a price that is no sensible number.
    pub fn new<'a>(
        prices: impl IntoIterator<Item = (&'a str, &'a str, f64, f64)>,
    ) -> Result<Self, UnknownOperation> {
        let mut each = vec![None; Place::COUNT].into_boxed_slice();
        for (operation, algorithm, fixed_ns, ns_per_byte) in prices {
            let unknown =
                || UnknownOperation { operation: operation.to_owned(), algorithm: algorithm.to_owned() };
            let Place(index) = Place::named(operation, algorithm).ok_or_else(unknown)?;
            each[index] = Some(Price {
                fixed_ps: (fixed_ns * 1e3).round() as u64,
                fs_per_byte: (ns_per_byte * 1e6).round() as u64,
            });
        }
        Ok(Self { each })
    }

    /// A table in which every operation has the same price, whatever it works on.
    pub fn flat(ns: f64) -> Self {
        let price = Price { fixed_ps: (ns * 1e3).round() as u64, fs_per_byte: 0 };
        Self { each: vec![Some(price); Place::COUNT].into_boxed_slice() }
    }

    /// Picoseconds of one operation; `None` if it has no price.
    pub(super) fn ps(&self, place: Place, bytes: u64) -> Option<u64> {
        self.ps_of(place, Amount { count: 1, bytes })
    }

    /// Picoseconds of several operations over so many bytes together; `None` if they have no price.
    pub(super) fn ps_of(&self, place: Place, Amount { count, bytes }: Amount) -> Option<u64> {
        let Price { fixed_ps, fs_per_byte } = self.each[place.0]?;
        let of_bytes_ps = u128::from(fs_per_byte) * u128::from(bytes) / 1000;
        let of_bytes_ps = u64::try_from(of_bytes_ps).unwrap_or(u64::MAX);
        Some(fixed_ps.saturating_mul(count).saturating_add(of_bytes_ps))
    }
}

impl fmt::Debug for Prices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prices({})", self.each.iter().flatten().count())
    }
}

/// An operation with one algorithm, as tables tell them apart: those with an expanded traffic key are others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(usize);

/// Every place by its name. Keys that sign in one way have the place of the first way.
static PLACES: LazyLock<BTreeMap<String, Place>> = LazyLock::new(|| {
    let mut places = BTreeMap::new();
    for (place, (operation, algorithm)) in Place::all().zip(&*NAMES) {
        places.entry(format!("{operation} {algorithm}")).or_insert(place);
    }
    places
});

/// The names of all places, by index.
static NAMES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| names().collect());

impl Place {
    /// How many there are.
    pub(super) const COUNT: usize = 2 * Slot::COUNT;

    /// The place of an operation and an algorithm, in the table's spelling.
    pub fn named(operation: &str, algorithm: &str) -> Option<Self> {
        PLACES.get(&format!("{operation} {algorithm}")).copied()
    }

    /// Operation and algorithm in the table's spelling.
    pub fn name(self) -> (&'static str, &'static str) {
        let (operation, algorithm) = &NAMES[self.0];
        (operation, algorithm)
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).map(Self)
    }

    pub(super) const fn index(self) -> usize {
        self.0
    }

    /// The index of an operation whose key is expanded anew.
    pub(super) const fn of(slot: Slot) -> Self {
        Self(slot.index())
    }

    /// The index of an operation with a traffic key.
    pub(super) const fn of_traffic(slot: Slot) -> Self {
        Self(Slot::COUNT + slot.index())
    }
}

/// The names of all places, in their order.
fn names() -> impl Iterator<Item = (String, String)> {
    let with =
        |suffix| Slot::all().map(move |(operation, algorithm)| (format!("{operation}{suffix}"), algorithm));
    let all = with("").chain(with(TRAFFIC));
    all.map(|(operation, algorithm)| (operation, algorithm.name().into_owned()))
}

#[cfg(test)]
mod tests {
    use keytoll_crypto_api::algorithm::{Encryption, Hash, KeyKind, SignatureScheme};

    use super::*;

    #[test]
    fn an_operation_costs_its_fixed_part_and_its_bytes() {
        let prices =
            Prices::new([("hash", "sha1", 50.0, 0.48), ("encrypt-traffic", "aes128gcm16", 30.0, 0.07)]);
        let prices = prices.unwrap();
        assert_eq!(prices.ps(Place::of(Slot::hash(Hash::Sha1)), 100), Some(50_000 + 48_000));
        assert_eq!(prices.ps(Place::of(Slot::hash(Hash::Md5)), 100), None);
        let encrypt = Slot::encrypt(Encryption::Aes128Gcm16);
        assert_eq!(prices.ps(Place::of(encrypt), 1400), None, "a key that is set up anew has another price");
        assert_eq!(prices.ps(Place::of_traffic(encrypt), 1400), Some(30_000 + 98_000));
    }

    #[test]
    fn places_are_called_as_tables_call_them() {
        let name = |place: Place| {
            let (operation, algorithm) = place.name();
            format!("{operation} {algorithm}")
        };
        assert_eq!(name(Place::of(Slot::hash(Hash::Sha1))), "hash sha1");
        assert_eq!(name(Place::of_traffic(Slot::decrypt(Encryption::Null))), "decrypt-traffic null");
        let unknown = Prices::new([("hush", "sha1", 1.0, 0.0)]).unwrap_err();
        assert_eq!(unknown.to_string(), "`hush sha1` is no operation of this keytoll");
        let signs = Place::of(Slot::sign(KeyKind::Ed25519, SignatureScheme::Ed25519));
        assert_eq!(Place::named("sign", "ed25519").map(Place::index), Some(signs.index()));
    }
}
