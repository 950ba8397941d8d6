//! How long the searches for primes were that the built-in scenarios and the tests begin again and again.
//!
//! A seed gives the same candidates on every machine, and a search rejects most of them only after an exponentiation. `searches.bin` has the length of every search of the built-in scenarios (with their seeds) and of the tests, so that only the last candidate
//! has to be tested. The result is the same with and without the file: the last candidate passes the same tests, and a search that is
//! not in the file, such as one of the operating system's random bytes, tests every candidate.
//!
//! After a change of seeds or of the search: `base/native/record-searches.sh`.

/// Records of [`RECORD_LEN`] bytes, sorted: the name of a search, and how many candidates it rejected.
static KNOWN: &[u8] = include_bytes!("searches.bin");

/// The first 8 bytes of the first candidate, and its length: keys of several lengths are made of the same stream.
const NAME_LEN: usize = 10;

const RECORD_LEN: usize = NAME_LEN + 2;

/// A search, by its name.
pub(super) struct Search([u8; NAME_LEN]);

impl Search {
    /// The search that begins with this candidate, as it was drawn.
    pub(super) fn of(first: &[u8]) -> Self {
        let [a, b, c, d, e, f, g, h] = *first.first_chunk().expect("primes have more than 64 bits");
        let [high, low] = u16::try_from(first.len()).expect("primes have at most 2048 bits").to_be_bytes();
        Self([a, b, c, d, e, f, g, h, high, low])
    }

    /// How many candidates are known to be rejected.
    pub(super) fn rejected(&self) -> u16 {
        let (records, _) = KNOWN.as_chunks::<RECORD_LEN>();
        let found = records.binary_search_by(|record| record[..NAME_LEN].cmp(&self.0));
        found.map_or(0, |at| u16::from_be_bytes([records[at][NAME_LEN], records[at][NAME_LEN + 1]]))
    }

    /// Appends the search to the file that the variable KEYTOLL_SEARCHES names.
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

    /// Nothing is recorded in this build.
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
