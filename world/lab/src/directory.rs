//! The run directory: `manifest.json`, `trace/NNN.trace`, `costs/NNN.costs`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use keytoll_native::clock;
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};
use keytoll_trace::manifest::{FORMAT, Machine, Manifest, ManifestRow};

use crate::keeper::Files;
use crate::row::RowEnd;
use crate::run::{Keepers, RunError};

/// A run directory being filled.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    manifest: Mutex<Manifest>,
}

impl Directory {
    /// Makes the directory, in place of an older run of the same name; anything else in its place is an error.
    pub fn create(path: &Path, plan: &Plan) -> Result<Self, RunError> {
        let directory = Self { path: path.to_owned(), manifest: Mutex::new(manifest(plan)) };
        directory.clear()?;
        for name in ["trace", "costs"] {
            let path = path.join(name);
            fs::create_dir_all(&path).map_err(|source| RunError::Write { path, source })?;
        }
        directory.write_manifest()?;
        Ok(directory)
    }

    fn clear(&self) -> Result<(), RunError> {
        let failed = |source| RunError::Write { path: self.path.clone(), source };
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(failed)?,
        };
        if entries.count() == 0 {
            return Ok(());
        }
        if !self.path.join("manifest.json").is_file() {
            return Err(RunError::Occupied(self.path.clone()));
        }
        fs::remove_dir_all(&self.path).map_err(failed)
    }

    /// Says that the run went to its end.
    pub fn complete(&self) -> Result<(), RunError> {
        self.lock().complete = true;
        self.write_manifest()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Manifest> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_manifest(&self) -> Result<(), RunError> {
        let path = self.path.join("manifest.json");
        let written = File::create(&path).and_then(|file| {
            let mut out = BufWriter::new(file);
            self.lock().write(&mut out)?;
            out.flush()
        });
        written.map_err(|source| RunError::Write { path, source })
    }
}

impl Keepers for Directory {
    type Keeper = Files<BufWriter<File>>;

    fn begin(&self, index: usize, _row: &RowPlan) -> Result<Self::Keeper, RunError> {
        let (trace, costs) = {
            let manifest = self.lock();
            let row = &manifest.rows[index];
            (self.path.join(&row.trace), self.path.join(&row.costs))
        };
        let open = |path: PathBuf| match File::create(&path) {
            Ok(file) => Ok(BufWriter::with_capacity(1 << 16, file)),
            Err(source) => Err(RunError::Write { path, source }),
        };
        let failed = |source| RunError::Write { path: self.path.clone(), source };
        Files::new(open(trace)?, open(costs)?).map_err(failed)
    }

    fn note(&self, index: usize, note: &str) {
        self.lock().rows[index].notes.push(note.to_owned());
    }

    fn end(&self, index: usize, keeper: Self::Keeper, end: RowEnd) -> Result<(), RunError> {
        keeper.finish().map_err(|source| RunError::Write { path: self.path.clone(), source })?;
        if end.smoothed > 0 {
            self.lock().rows[index].notes.push(smoothing(end));
        }
        Ok(())
    }
}

/// What a reader must know of a row in which the thread lost its CPU.
fn smoothing(end: RowEnd) -> String {
    let RowEnd { smoothed, samples, .. } = end;
    format!(
        "the driver lost the CPU, and the step is charged the median of its kind: {smoothed} of {samples}"
    )
}

/// The table of contents of a plan that is about to run.
pub fn manifest(plan: &Plan) -> Manifest {
    Manifest {
        format: FORMAT,
        keytoll_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: plan.title.clone(),
        study: plan.study.clone(),
        seed: plan.seed.to_string(),
        machine: machine(),
        plan: plan.to_toml(),
        complete: false,
        rows: plan.rows.iter().enumerate().map(|(index, row)| manifest_row(plan, index, row)).collect(),
    }
}

/// The machine this runs on.
pub fn machine() -> Machine {
    Machine {
        cpu: clock::cpu_model(),
        kernel: clock::kernel(),
        cores: std::thread::available_parallelism()
            .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        ticks_hz: clock::ticks_hz(),
        core_hz: clock::core_hz(),
    }
}

fn manifest_row(plan: &Plan, index: usize, row: &RowPlan) -> ManifestRow {
    let mark = row.standing().mark();
    let standing = (!mark.is_empty()).then(|| format!("{mark} algorithms"));
    let heap = (plan.crypto == CryptoMode::OpenSsl).then(|| "OpenSSL's own heap is not counted".to_owned());
    ManifestRow {
        index: u32::try_from(index).expect("a plan has at most 10 000 rows"),
        method: row.method.name().to_owned(),
        variant: row.variant.clone(),
        network: row.network.name.clone(),
        topology: row.topology.name().to_owned(),
        world: plan.world.name().to_owned(),
        crypto: plan.crypto.name().to_owned(),
        samples_planned: plan.samples,
        trace: format!("trace/{index:03}.trace"),
        costs: format!("costs/{index:03}.costs"),
        notes: standing.into_iter().chain(heap).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_lost_its_cpu_is_told() {
        let end = RowEnd { samples: 30, smoothed: 2, ..RowEnd::default() };
        let note = "the driver lost the CPU, and the step is charged the median of its kind: 2 of 30";
        assert_eq!(smoothing(end), note);
    }
}
