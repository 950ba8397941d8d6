//! A run without trace: every record is measured at once and dropped, so that memory does not grow with the run.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use keytoll_analysis::metrics::{Meter, Sample, Tally};
use keytoll_analysis::summary::summarise;
use keytoll_analysis::{Findings, RowFindings, Summary};
use keytoll_lab::{Cost, Directory, Keeper, Keepers, Manifest, Record, Recorder, RowEnd, RunError};
use keytoll_scenario::plan::{Plan, RowPlan};

use crate::version;

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

/// The measured rows of a run, by their place in the plan.
struct Tallies(Mutex<Vec<Option<Tally>>>);

impl Tallies {
    fn new(count: usize) -> Self {
        Self(Mutex::new((0..count).map(|_| None).collect()))
    }

    fn keep(&self, index: usize, meter: RowMeter) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(meter.0.finish());
    }

    /// The rows that were measured.
    fn findings(self, manifest: &Manifest) -> Vec<RowFindings> {
        let tallies = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let measured = manifest.rows.iter().cloned().zip(tallies);
        measured.filter_map(|(row, tally)| Some(RowFindings { row, tally: tally? })).collect()
    }
}

/// The rows of a run, measured or not yet.
pub(super) struct Rows<'a> {
    directory: &'a Directory,
    tallies: Tallies,
}

impl<'a> Rows<'a> {
    pub(super) fn new(directory: &'a Directory, count: usize) -> Self {
        Self { directory, tallies: Tallies::new(count) }
    }

    /// The findings of the measured rows.
    pub(super) fn findings(self) -> Findings {
        let manifest = self.directory.manifest();
        let rows = self.tallies.findings(&manifest);
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
        self.tallies.keep(index, keeper);
        self.directory.ended(index, end);
        Ok(())
    }
}

/// The rows of a run of which only the summary is kept.
struct SummaryAlone(Tallies);

impl Keepers for SummaryAlone {
    type Keeper = RowMeter;

    fn begin(&self, _index: usize, _row: &RowPlan) -> Result<RowMeter, RunError> {
        Ok(RowMeter(Meter::new(|_| {})))
    }

    fn end(&self, index: usize, keeper: RowMeter, _end: RowEnd) -> Result<(), RunError> {
        self.0.keep(index, keeper);
        Ok(())
    }
}

/// Runs a plan in the simulator and keeps its summary alone, which is not complete if the run was stopped.
pub(crate) fn summary(
    plan: &Plan,
    threads: usize,
    progress: &(dyn Fn() + Sync),
    stop: &AtomicBool,
) -> Result<Summary, RunError> {
    let keepers = SummaryAlone(Tallies::new(plan.rows.len()));
    let ends = keytoll_lab::run(plan, threads, &keepers, progress, stop)?;
    let mut manifest = keytoll_lab::manifest(plan, &version::program());
    manifest.complete = ends.iter().all(|end| end.is_some_and(|end| end.is_whole()));
    let rows = keepers.0.findings(&manifest);
    Ok(summarise(&manifest, rows.iter().map(|row| (&row.row, &row.tally))))
}
