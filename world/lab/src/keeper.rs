//! Destinations of a row's records: files, memory, or none.

use std::io::{self, Write};

use keytoll_sim::Recorder;
use keytoll_trace::{Cost, Record, file};

/// Receives all records of a row.
pub trait Keeper: Recorder {
    /// Keeps a cost.
    fn cost(&mut self, cost: Cost);

    /// Whether something could not be kept, so that the row need not go on; never by default.
    fn has_failed(&self) -> bool {
        false
    }
}

/// Keeps nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Discard;

impl Recorder for Discard {
    fn record(&mut self, _record: Record) {}
}

impl Keeper for Discard {
    fn cost(&mut self, _cost: Cost) {}
}

/// Keeps everything in memory.
#[derive(Debug, Default)]
pub struct Memory {
    /// The facts.
    pub records: Vec<Record>,
    /// The costs.
    pub costs: Vec<Cost>,
}

impl Recorder for Memory {
    fn record(&mut self, record: Record) {
        self.records.push(record);
    }
}

impl Keeper for Memory {
    fn cost(&mut self, cost: Cost) {
        self.costs.push(cost);
    }
}

/// Writes both streams as files; the first error is kept and ends the row.
pub struct Files<W: Write> {
    records: file::Writer<Record, W>,
    costs: file::Writer<Cost, W>,
    error: Option<io::Error>,
}

impl<W: Write> Files<W> {
    /// Begins both files.
    ///
    /// # Errors
    /// When a header cannot be written.
    pub fn new(records: W, costs: W) -> io::Result<Self> {
        Ok(Self { records: file::Writer::new(records)?, costs: file::Writer::new(costs)?, error: None })
    }

    /// Flushes both files.
    ///
    /// # Errors
    /// The first error of any write.
    pub fn finish(self) -> io::Result<()> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.records.finish()?;
        self.costs.finish()?;
        Ok(())
    }
}

impl<W: Write> Recorder for Files<W> {
    fn record(&mut self, record: Record) {
        if self.error.is_none() {
            self.error = self.records.write(&record).err();
        }
    }
}

impl<W: Write> Keeper for Files<W> {
    fn cost(&mut self, cost: Cost) {
        if self.error.is_none() {
            self.error = self.costs.write(&cost).err();
        }
    }

    fn has_failed(&self) -> bool {
        self.error.is_some()
    }
}
