//! A run without trace: every record is measured as it comes and forgotten, so memory does not grow with the run.

use std::sync::{Mutex, PoisonError};

use keytoll_analysis::metrics::{Meter, Sample, Tally};
use keytoll_analysis::{Findings, RowFindings};
use keytoll_lab::{Cost, Keeper, Keepers, Manifest, Record, Recorder, RowEnd, RunError};
use keytoll_scenario::plan::{Plan, RowPlan};

/// What takes samples that nobody keeps one by one.
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
pub(super) struct Rows {
    manifest: Mutex<Manifest>,
    tallies: Mutex<Vec<Option<Tally>>>,
}

impl Rows {
    pub(super) fn new(plan: &Plan) -> Self {
        let tallies = plan.rows.iter().map(|_| None).collect();
        Self { manifest: Mutex::new(keytoll_lab::manifest(plan)), tallies: Mutex::new(tallies) }
    }

    /// The findings of the rows that were measured.
    pub(super) fn findings(self, complete: bool) -> Findings {
        let manifest = self.manifest.into_inner().unwrap_or_else(PoisonError::into_inner);
        let manifest = Manifest { complete, ..manifest };
        let tallies = self.tallies.into_inner().unwrap_or_else(PoisonError::into_inner);
        let measured = manifest.rows.iter().cloned().zip(tallies);
        let rows = measured.filter_map(|(row, tally)| Some(RowFindings { row, tally: tally? })).collect();
        Findings::new(manifest, rows)
    }
}

impl Keepers for Rows {
    type Keeper = RowMeter;

    fn begin(&self, _index: usize, _row: &RowPlan) -> Result<RowMeter, RunError> {
        Ok(RowMeter(Meter::new(|_| {})))
    }

    fn note(&self, index: usize, note: &str) {
        let mut manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        manifest.rows[index].notes.push(note.to_owned());
    }

    fn end(&self, index: usize, keeper: RowMeter, _end: RowEnd) -> Result<(), RunError> {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies[index] = Some(keeper.0.finish());
        Ok(())
    }
}
