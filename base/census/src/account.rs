//! `population.json`: what a run with a population has counted. Summary, series and report are made of it.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::{Point, PopulationSummary, bounded};

/// What one population has come to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Account {
    /// The sums.
    pub summary: PopulationSummary,
    /// The series.
    pub points: Vec<Point>,
    /// Delays of those that succeeded, from the intended start: lengths in microseconds, ascending, to a thousandth, each with how
    /// many were as long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays_us: Vec<[u64; 2]>,
}

/// Rows of a run at most.
const ROWS_MAX: usize = 10_000;

/// The populations of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Accounts {
    /// By the place of the row in the plan; `None` for a row that did not run.
    #[serde(deserialize_with = "bounded::at_most::<_, _, ROWS_MAX>")]
    pub rows: Vec<Option<Account>>,
}

impl Accounts {
    /// Writes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut out, self)?;
        writeln!(out)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is none, or has more rows or nodes than any run.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_has_written() {
        let mut census = crate::Census::new();
        census.add_node("gw", 1);
        census.offered(std::time::Duration::from_millis(1234));
        census.established(std::time::Duration::ZERO, std::time::Duration::from_millis(1500));
        let accounts = Accounts { rows: vec![None, Some(census.account())] };
        let mut text = Vec::new();
        accounts.write(&mut text).unwrap();
        assert_eq!(Accounts::parse(std::str::from_utf8(&text).unwrap()).unwrap(), accounts);
        assert!(Accounts::parse("{").is_err());
    }

    #[test]
    fn what_no_run_has_so_many_of_is_refused() {
        let rows = |count: usize| format!("{{\"rows\":[{}]}}", vec!["null"; count].join(","));
        assert!(Accounts::parse(&rows(ROWS_MAX)).is_ok());
        let refused = |text: &str| Accounts::parse(text).unwrap_err().to_string();
        assert!(refused(&rows(ROWS_MAX + 1)).starts_with("a list of more than 10000 at line 1"));

        let mut census = crate::Census::new();
        (0..=crate::series::NODES_MAX).for_each(|number| census.add_node(&format!("gw{number}"), 1));
        census.offered(std::time::Duration::ZERO);
        let text = serde_json::to_string(&Accounts { rows: vec![Some(census.account())] }).unwrap();
        assert!(refused(&text).starts_with("a list of more than 80 at line 1"), "{}", refused(&text));
    }
}
