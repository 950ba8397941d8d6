//! Known lengths of prime searches, so that keys of the built-in scenarios and of the tests are generated faster.
//!
//! A seed gives the same candidates on every machine, and a search rejects many of them only after an exponentiation. `searches.bin` has the
//! number of rejected candidates of each search that the tests and the built-in scenarios (with their seeds) repeat, if it is at least ten:
//! such a search skips these candidates and tests only the last one. The file does not change the result: the last candidate passes the
//! same tests, and a search that is not in the file, such as one with random bytes of the operating system, tests every candidate.
//!
//! Run `base/native/record-searches.sh` after a change of seeds or of the search.

/// Sorted records of [`RECORD_LEN`] bytes: the name of a search, and the number of candidates that it rejected.
static KNOWN: &[u8] = include_bytes!("searches.bin");

/// The first 8 bytes of the first candidate, and its length in 2 bytes, because keys of different lengths can use the same stream.
const NAME_LEN: usize = 10;

const RECORD_LEN: usize = NAME_LEN + 2;

/// A search, by its name.
pub(super) struct Search([u8; NAME_LEN]);

impl Search {
    /// The search that begins with these random bytes, before it sets any bits of them.
    pub(super) fn of(first: &[u8]) -> Self {
        let [a, b, c, d, e, f, g, h] = *first.first_chunk().expect("primes have more than 64 bits");
        let [high, low] = u16::try_from(first.len()).expect("primes have at most 2048 bits").to_be_bytes();
        Self([a, b, c, d, e, f, g, h, high, low])
    }

    /// The number of candidates that this search is known to reject; 0 if it is unknown.
    pub(super) fn rejected(&self) -> u16 {
        let (records, _) = KNOWN.as_chunks::<RECORD_LEN>();
        let found = records.binary_search_by(|record| record[..NAME_LEN].cmp(&self.0));
        found.map_or(0, |at| u16::from_be_bytes([records[at][NAME_LEN], records[at][NAME_LEN + 1]]))
    }

    /// Appends the search to the file that the environment variable `KEYTOLL_SEARCHES` names.
    #[cfg(feature = "record-searches")]
    pub(super) fn ended(&self, rejected: u16) {
        use std::io::Write;
        let Some(path) = std::env::var_os("KEYTOLL_SEARCHES") else { return };
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let name: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{name}{rejected:04x}\n");
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the file for searches can be written");
    }

    /// Does nothing: only builds with the feature `record-searches` record searches.
    #[cfg(not(feature = "record-searches"))]
    pub(super) fn ended(&self, _: u16) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_sorted_and_unique() {
        let (records, rest) = KNOWN.as_chunks::<RECORD_LEN>();
        assert!(rest.is_empty() && records.len() > 50, "{} records", records.len());
        assert!(records.is_sorted_by(|a, b| a[..NAME_LEN] < b[..NAME_LEN]));
    }

    #[test]
    fn an_unknown_search_has_no_rejected_candidates() {
        assert_eq!(Search::of(&[0; 64]).rejected(), 0);
    }
}
