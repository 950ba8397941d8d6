//! `population.json`: what a run with a population has counted. Summary, series and report are made of it.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::{Point, PopulationSummary};

/// What one population has come to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Account {
    /// The sums.
    pub summary: PopulationSummary,
    /// The series.
    pub points: Vec<Point>,
}

/// The populations of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Accounts {
    /// By the place of the row in the plan; `None` for a row that did not run.
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

    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or is none.
    pub fn read(input: impl Read) -> io::Result<Self> {
        Ok(serde_json::from_reader(io::BufReader::new(input))?)
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
        assert_eq!(Accounts::read(&text[..]).unwrap(), accounts);
        assert!(Accounts::read(&b"{"[..]).is_err());
    }
}
