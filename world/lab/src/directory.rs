//! The run directory: `manifest.json`, `trace/NNN.trace`, `costs/NNN.costs`, built under a temporary name beside its place and
//! renamed when the run has ended; see `place` for the names, and for what is refused.

mod place;

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keytoll_capture::keys;
use keytoll_rigs::FAMILIES;
use keytoll_scenario::catalogue::networks;
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};
use keytoll_trace::listing::{self, MANIFEST};
use keytoll_trace::manifest::{FORMAT, KIND, Manifest, ManifestRow};
use keytoll_trace::output;

use crate::costs::Costs;
use crate::keeper::Files;
use crate::pace::Pace;
use crate::provenance::{self, Program};
use crate::row::RowEnd;
use crate::run::{Keepers, RunError};
pub use place::PlaceError;
use place::{Earlier, Identity, Occupant, Place};

/// A run directory under construction.
#[derive(Debug)]
pub struct Directory {
    place: Place,
    /// Its temporary path.
    path: PathBuf,
    /// Its final path.
    home: PathBuf,
    /// The run to be removed when this one is complete: the one that existed when this one started.
    replaces: Option<Identity>,
    manifest: Mutex<Manifest>,
    /// The pace of each row that has ended. Slow rows are known only when all have ended.
    paces: Mutex<Vec<(usize, Pace)>>,
    /// Whether anything was measured.
    has_rows: AtomicBool,
}

/// A run at its final path.
#[derive(Debug)]
pub struct Published {
    /// Its directory.
    pub home: PathBuf,
    /// The path that its user named.
    pub place: PathBuf,
    /// Why the user's path does not lead to it; `None` if it does.
    pub hidden: Option<String>,
    /// The previous run, if it still exists.
    pub earlier: Option<PathBuf>,
    /// Files in the previous run that keytoll did not write, because of which it was not replaced.
    pub strangers: Vec<PathBuf>,
}

impl Published {
    /// The path to print.
    pub fn path(&self) -> &Path {
        if self.hidden.is_some() { &self.home } else { &self.place }
    }
}

impl Directory {
    /// Starts a run whose results are wanted at `path`. A previous run there is kept until this one has ended, and after that unless
    /// `replaces` is set, this run is complete, and no other run has taken the place meanwhile.
    ///
    /// # Errors
    /// When `path` exists and is not a run of keytoll, or when nothing can be written beside it.
    pub fn create(path: &Path, manifest: Manifest, replaces: bool) -> Result<Self, RunError> {
        Self::refuse(path)?;
        let place = Place::of(path)?;
        // If the place is itself a run, that run gets the number before ours when it is moved.
        let occupant = place.occupant()?;
        let leave = matches!(occupant, Occupant::Run(_));
        let replaces = occupant.earlier().filter(|_| replaces).map(|earlier| earlier.identity);
        let (path, home) = place.claim(leave)?;
        let (manifest, has_rows) = (Mutex::new(manifest), AtomicBool::new(false));
        let paces = Mutex::default();
        let directory = Self { place, path, home, replaces, manifest, paces, has_rows };
        directory.begin_files().inspect_err(|_| drop(directory.remove()))?;
        Ok(directory)
    }

    /// Checks whether a run can have this place, without changing anything.
    ///
    /// # Errors
    /// Those of [`Directory::create`].
    pub fn refuse(path: &Path) -> Result<(), RunError> {
        let place = Place::of(path)?;
        place.occupant()?;
        Ok(place.writable()?)
    }

    fn begin_files(&self) -> Result<(), RunError> {
        let folders: &[&str] = if self.lock().traced { &["trace", "costs"] } else { &[] };
        for name in folders {
            let path = self.path.join(name);
            fs::create_dir(&path).map_err(|source| RunError::Write { path, source })?;
        }
        self.write_manifest()
    }

    /// Its temporary path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The manifest so far.
    pub fn manifest(&self) -> Manifest {
        self.lock().clone()
    }

    /// Records the end of a row, and how much of it an interruption has left.
    pub fn ended(&self, index: usize, end: RowEnd) {
        self.has_rows.fetch_or(end.samples > 0, Ordering::Relaxed);
        let row = &mut self.lock().rows[index];
        row.notes.extend(end.stopped.then(|| row.shortfall(end.samples.into())).flatten());
        row.notes.extend(end.absence());
        self.paces.lock().unwrap_or_else(PoisonError::into_inner).push((index, end.pace));
    }

    /// Marks the run as complete.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub fn complete(&self) -> Result<(), RunError> {
        self.lock().complete = true;
        self.end_manifest()
    }

    /// Saves the manifest of an incomplete run, from which it can be measured.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub fn incomplete(&self) -> Result<(), RunError> {
        self.end_manifest()
    }

    fn end_manifest(&self) -> Result<(), RunError> {
        let paces = std::mem::take(&mut *self.paces.lock().unwrap_or_else(PoisonError::into_inner));
        for (index, pace) in paces {
            self.lock().rows[index].notes.extend(pace.note());
        }
        provenance::end(&mut self.lock().provenance);
        self.write_manifest()
    }

    /// Moves the run to its final path and redirects the link to it, unless an incomplete run would hide a complete one.
    ///
    /// # Errors
    /// When the run cannot be moved; it then keeps its temporary path.
    pub fn publish(self) -> Result<Published, RunError> {
        self.seal()?;
        let failed = |source| RunError::Unmoved { path: self.path.clone(), home: self.home.clone(), source };
        let _locked = self.place.lock().map_err(failed)?;
        fs::rename(&self.path, &self.home).map_err(failed)?;
        let (home, place) = (self.home.clone(), self.place.path());
        let mut published = Published { home, place, hidden: None, earlier: None, strangers: Vec::new() };
        published.hidden = self.show(&mut published).err();
        Ok(published)
    }

    /// Ends a failed run: returns the path of its measurements, or removes it if there are none.
    pub fn give_up(self) -> Option<PathBuf> {
        if !self.has_rows.load(Ordering::Relaxed) {
            // A directory that cannot be removed has a name that explains it.
            let _ = self.remove();
            return None;
        }
        let unfinished = self.path.clone();
        Some(self.publish().map_or(unfinished, |published| published.home))
    }

    /// Redirects the link to the new run, and removes the previous one on request; or returns why not.
    fn show(&self, published: &mut Published) -> Result<(), String> {
        let occupant = self.place.occupant().map_err(|error| error.to_string())?;
        let is_real = matches!(occupant, Occupant::Run(_));
        let mut earlier = occupant.earlier();
        published.earlier = earlier.as_ref().map(|earlier| earlier.path.clone());
        if earlier.as_ref().is_some_and(Earlier::is_whole) && !self.lock().complete {
            return Err("this run is not complete, and the one that is there is".to_owned());
        }
        if let Some(earlier) = earlier.as_mut().filter(|_| is_real) {
            earlier.path = self.place.set_aside(&self.home).map_err(|error| error.to_string())?;
        }
        self.place.lead_to(&self.home).map_err(|error| error.to_string())?;
        let Some(earlier) = earlier else { return Ok(()) };
        if self.may_replace(&earlier) {
            published.strangers = replace(&earlier).unwrap_or_default();
        }
        published.earlier = Some(earlier.path).filter(|path| path.exists());
        if let Some(path) = published.earlier.as_ref().filter(|_| is_real) {
            self.relocate(path, path);
        }
        Ok(())
    }

    /// Whether the previous run may be removed: it is the expected one and no load, which has no plan, unless this one is, too; and this one is
    /// complete and on the disk.
    fn may_replace(&self, earlier: &Earlier) -> bool {
        let manifest = self.lock();
        let is_settled = || listing::settle(&self.home, &manifest.files).and_then(|()| self.place.settle());
        let is_load = |manifest: &Manifest| manifest.plan.is_empty();
        let is_alike =
            earlier.manifest.as_ref().is_some_and(|earlier| is_load(earlier) == is_load(&manifest));
        self.replaces.as_ref() == Some(&earlier.identity)
            && is_alike
            && manifest.complete
            && is_settled().is_ok()
    }

    /// Writes the lengths of all files into the manifest.
    fn seal(&self) -> Result<(), RunError> {
        self.relocate(&self.path, &self.home);
        let files = listing::list(&self.path);
        self.lock().files = files.map_err(|source| RunError::Write { path: self.path.clone(), source })?;
        self.write_manifest()
    }

    /// Updates the paths in the Wireshark profiles of a run that moves from `path` to `home`. A profile that cannot be updated
    /// decrypts the rest.
    fn relocate(&self, path: &Path, home: &Path) {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        if !fs::symlink_metadata(path.join("capture")).is_ok_and(|found| found.is_dir()) {
            return;
        }
        for entry in fs::read_dir(path.join("capture")).into_iter().flatten().flatten() {
            if Path::new(&entry.file_name()).extension() == Some("keys".as_ref()) {
                let _ =
                    keys::relocate(FAMILIES, &entry.path(), &home.join("capture").join(entry.file_name()));
            }
        }
    }

    /// Removes the directory.
    fn remove(&self) -> io::Result<()> {
        listing::remove_unfinished(&self.path)
    }

    fn lock(&self) -> MutexGuard<'_, Manifest> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_manifest(&self) -> Result<(), RunError> {
        let path = self.path.join(MANIFEST);
        output::replace_in_run(&path, |out| self.lock().write(out))
            .map_err(|source| RunError::Write { path, source })
    }
}

/// Removes a run if every file is as keytoll wrote it; otherwise returns the others, and removes nothing.
fn replace(earlier: &Earlier) -> io::Result<Vec<PathBuf>> {
    let files = match &earlier.manifest {
        Some(manifest) if manifest.is_sealed() => &manifest.files,
        _ => return Ok(Vec::new()),
    };
    let strangers = listing::strangers(&earlier.path, files)?;
    if strangers.is_empty() {
        listing::remove(&earlier.path, files)?;
    }
    Ok(strangers)
}

impl Keepers for Directory {
    type Keeper = Files<BufWriter<File>>;

    fn begin(&self, index: usize, _row: &RowPlan) -> Result<Self::Keeper, RunError> {
        let (trace, costs) = {
            let manifest = self.lock();
            let row = &manifest.rows[index];
            (self.path.join(&row.trace), self.path.join(&row.costs))
        };
        let open = |path: PathBuf| match File::create_new(&path) {
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
        self.ended(index, end);
        Ok(())
    }
}

/// The manifest of a plan that this program is about to run.
pub fn manifest(plan: &Plan, program: &Program) -> Manifest {
    let notes = Costs::notes(plan);
    Manifest {
        kind: KIND.to_owned(),
        format: FORMAT,
        provenance: program.running(plan),
        title: plan.title.clone(),
        study: plan.study.clone(),
        seed: plan.seed.to_string(),
        plan: plan.to_toml(),
        complete: false,
        traced: plan.population.is_none(),
        files: Vec::new(),
        rows: plan
            .rows
            .iter()
            .enumerate()
            .map(|(index, row)| manifest_row(plan, index, row, &notes))
            .collect(),
    }
}

fn manifest_row(plan: &Plan, index: usize, row: &RowPlan, of_costs: &[String]) -> ManifestRow {
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
        samples_planned: plan.population.as_ref().map_or(plan.samples, |population| population.devices),
        trace: format!("trace/{index:03}.trace"),
        costs: format!("costs/{index:03}.costs"),
        notes: standing
            .into_iter()
            .chain(networks::note(&row.network))
            .chain(heap)
            .chain(of_costs.iter().cloned())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use keytoll_trace::manifest::Machine;
    use keytoll_trace::provenance::Provenance;

    use super::*;
    use crate::pace::tests::SLOW;

    /// A run of no rows and two files.
    fn begun(place: &Path, replaces: bool) -> Directory {
        let manifest = Manifest {
            kind: KIND.to_owned(),
            format: FORMAT,
            provenance: Provenance::of("", Machine::default()),
            title: String::new(),
            study: None,
            seed: String::new(),
            plan: String::new(),
            complete: false,
            traced: true,
            rows: Vec::new(),
            files: Vec::new(),
        };
        let directory = Directory::create(place, manifest, replaces).unwrap();
        for file in ["trace/000.trace", "costs/000.costs"] {
            fs::write(directory.path.join(file), "facts").unwrap();
        }
        directory.complete().unwrap();
        directory
    }

    /// After a power failure the new run must be on the disk if the previous one is gone.
    #[test]
    fn the_previous_run_is_removed_only_after_the_new_one_is_on_the_disk() {
        let scratch = std::env::temp_dir().join(format!("keytoll-settle-{}", std::process::id()));
        let place = scratch.join("run");
        let first = begun(&place, false).publish().unwrap().home;
        let second = begun(&place, true);
        second.seal().unwrap();
        fs::rename(&second.path, &second.home).unwrap();
        fs::write(second.home.join("trace/000.trace"), "").unwrap();
        let home = second.home.clone();
        let mut published =
            Published { home, place: place.clone(), hidden: None, earlier: None, strangers: Vec::new() };
        second.show(&mut published).unwrap();
        assert!(published.earlier.as_ref() == Some(&first) && first.join("trace/000.trace").exists());
        fs::write(second.home.join("trace/000.trace"), "facts").unwrap();
        let third = begun(&place, true).publish().unwrap();
        assert!(third.earlier.is_none() && !second.home.exists() && first.exists());
        fs::remove_dir_all(&scratch).unwrap();
    }

    /// A run that is set aside would leave the link without its target.
    #[test]
    fn the_run_that_a_link_leads_to_is_no_place() {
        let scratch = std::env::temp_dir().join(format!("keytoll-target-{}", std::process::id()));
        let place = scratch.join("run");
        let first = begun(&place, false).publish().unwrap().home;
        let refused = Directory::refuse(&first).unwrap_err().to_string();
        assert!(
            refused.contains("/run.1` is the run that `") && refused.ends_with("/run` leads to"),
            "{refused}"
        );
        begun(&place, false).publish().unwrap();
        assert!(Directory::refuse(&first).is_ok(), "an earlier run");
        fs::remove_dir_all(&scratch).unwrap();
    }

    /// `keytoll run --force` in the place of a load keeps the load, which it cannot repeat.
    #[test]
    fn a_load_is_not_replaced_by_a_run() {
        let scratch = std::env::temp_dir().join(format!("keytoll-load-{}", std::process::id()));
        let place = scratch.join("run");
        let of_plan = |plan: &str| {
            let directory = begun(&place, true);
            directory.lock().plan = plan.to_owned();
            directory.publish().unwrap().home
        };
        let (load, run) = (of_plan(""), of_plan("samples = 1"));
        assert!(load.exists(), "a load");
        let other = of_plan("samples = 2");
        assert!(load.exists() && !run.exists() && other.exists(), "a run");
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn a_preempted_thread_is_reported() {
        let end = RowEnd { samples: 30, smoothed: 2, away_ns: 1_000, charged_ns: 3_000, ..RowEnd::default() };
        let note = "disturbed, for the driver lost the CPU meanwhile, which is not charged: 2 of 30, 25 % of the time";
        assert_eq!(end.absence().as_deref(), Some(note));
        assert_eq!(RowEnd::default().absence(), None);
    }

    #[test]
    fn the_manifest_says_how_much_of_a_row_an_interruption_has_left() {
        let scratch = std::env::temp_dir().join(format!("keytoll-stopped-{}", std::process::id()));
        let plan =
            keytoll_scenario::parse("two", "methods = 'ikev2-psk'\nnetworks = ['lte', 'dsl']").unwrap();
        let program = Program { commit: None, build: "debug".to_owned(), command: Vec::new() };
        let directory = Directory::create(&scratch.join("run"), manifest(&plan, &program), false).unwrap();
        directory.ended(0, RowEnd { samples: 3, stopped: true, ..RowEnd::default() });
        directory.ended(1, RowEnd { samples: plan.samples, stopped: true, ..RowEnd::default() });
        let notes = directory.manifest().rows.into_iter().map(|row| row.notes);
        let note = format!("3 of {} authentications were measured: this row is not complete", plan.samples);
        assert_eq!(notes.collect::<Vec<_>>(), [vec![note], vec![]]);
        fs::remove_dir_all(&scratch).unwrap();
    }

    /// The first row can be compared only when others have been measured.
    #[test]
    fn a_row_that_was_slow_from_the_start_is_reported_at_the_end() {
        let scratch = std::env::temp_dir().join(format!("keytoll-pace-{}", std::process::id()));
        let plan =
            keytoll_scenario::parse("two", "methods = 'ikev2-psk'\nnetworks = ['lte', 'dsl']").unwrap();
        let program = Program { commit: None, build: "debug".to_owned(), command: Vec::new() };
        let directory = Directory::create(&scratch.join("run"), manifest(&plan, &program), false).unwrap();
        directory.ended(0, RowEnd { samples: 1, pace: SLOW, ..RowEnd::default() });
        let mut usual = Pace::default();
        usual.look();
        directory.ended(1, RowEnd { samples: 1, pace: usual, ..RowEnd::default() });
        directory.complete().unwrap();
        let notes = directory.manifest().rows.into_iter().map(|row| row.notes).collect::<Vec<_>>();
        assert!(notes[0].len() == 1 && notes[0][0].starts_with("slowed down"), "{notes:?}");
        fs::remove_dir_all(&scratch).unwrap();
    }
}
