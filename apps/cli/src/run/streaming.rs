//! A run without trace: every record is measured at once and dropped, so that memory does not grow with the run.

use std::sync::{Mutex, PoisonError};

use keytoll_analysis::metrics::{Meter, Sample, Tally};
use keytoll_analysis::{Findings, RowFindings};
use keytoll_lab::{Cost, Directory, Keeper, Keepers, Record, Recorder, RowEnd, RunError};
use keytoll_scenario::plan::RowPlan;

/// A consumer of samples that are not kept.
type Forget = fn(&Sample);

/// Measures one row.
pub(super) struct RowMeter(Meter<Forget>);

impl Recorder for RowMeter {
    fn record(&mut self, record: Record) {
        self.0.record(record);
    }
}

impl Keeper for RowMeter {
    fn cost(&mut self, cost: Cost) {
        self.0.cost(cost);
    }
}

/// The rows of a run, measured or not yet.
pub(super) struct Rows<'a> {
    directory: &'a Directory,
    tallies: Mutex<Vec<Option<Tally>>>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(directory: &'a Directory, count: usize) -> Self {
        Self { directory, tallies: Mutex::new((0..count).map(|_| None).collect()) }
    }

    /// The findings of the measured rows.
    pub(super) fn findings(self) -> Findings {
        let manifest = self.directory.manifest();
        let tallies = self.tallies.into_inner().unwrap_or_else(PoisonError::into_inner);
        let measured = manifest.rows.iter().cloned().zip(tallies);
        let rows = measured.filter_map(|(row, tally)| Some(RowFindings { row, tally: tally? })).collect();
        Findings::new(manifest, rows)
    }
}

impl Keepers for Rows<'_> {
    type Keeper = RowMeter;

    fn begin(&self, _index: usize, _row: &RowPlan) -> Result<RowMeter, RunError> {
        Ok(RowMeter(Meter::new(|_| {})))
    }

    fn note(&self, index: usize, note: &str) {
        self.directory.note(index, note);
    }

    fn end(&self, index: usize, keeper: RowMeter, end: RowEnd) -> Result<(), RunError> {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies[index] = Some(keeper.0.finish());
        self.directory.ended(index, end);
        Ok(())
    }
}
