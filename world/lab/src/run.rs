//! All rows of a plan in the simulator, in parallel, one thread each.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use keytoll_crypto::{Real, Unsupported};
use keytoll_crypto_api::suite::Suite;
use keytoll_native::clock;
use keytoll_rigs::Credentials;
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};

use crate::capture::Seized;
use crate::costs::{Costs, CostsError};
use crate::directory::PlaceError;
use crate::keeper::Keeper;
use crate::rehearsal;
use crate::row::{Row, RowEnd, Stop};

/// Where the rows of a run leave what happened.
pub trait Keepers: Sync {
    /// What keeps one row.
    type Keeper: Keeper;

    /// Begins a row.
    fn begin(&self, index: usize, row: &RowPlan) -> Result<Self::Keeper, RunError>;

    /// Something that a reader of a row must know; whoever keeps no rows for readers need not take it.
    fn note(&self, _index: usize, _note: &str) {}

    /// Where the nodes of a live run capture what passes their sockets, and of how many authentications.
    fn capturing(&self) -> Option<(&Path, u32)> {
        None
    }

    /// What a node of a live run has captured.
    fn captured(&self, _captured: Seized) {}

    /// A row has ended.
    fn end(&self, index: usize, keeper: Self::Keeper, end: RowEnd) -> Result<(), RunError>;
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file or directory of the run.
    #[error("cannot write `{path}`: {source}")]
    Write {
        /// Which one.
        path: std::path::PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The crypto library this keytoll was built with lacks an algorithm of a row.
    #[error("row {row} asks for {algorithm}, which this build cannot compute")]
    Unsupported {
        /// The method's name.
        row: &'static str,
        /// The algorithm's name.
        algorithm: &'static str,
    },
    /// The plan wants OpenSSL, and this build has none.
    #[error("`crypto = \"openssl\"` needs a keytoll built with `--features ossl`")]
    NoOpenSsl,
    /// A cost table that cannot be used.
    #[error(transparent)]
    Costs(#[from] CostsError),
    /// A cost table that lacks something.
    #[error("the cost table `{path}` has no `{operation} {algorithm}`, which {row} needs; calibrate again")]
    Unpriced {
        /// The table.
        path: std::path::PathBuf,
        /// The method's name.
        row: &'static str,
        /// The operation as the table would call it.
        operation: String,
        /// The algorithm.
        algorithm: String,
    },
    /// A world other than the simulator in which the run cannot begin or go on.
    #[error(transparent)]
    World(Box<dyn Error + Send + Sync>),
    /// The place where the run is to be.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The run has ended, and is still where it was built.
    #[error("the run is in `{path}`, and cannot be moved to `{home}`: {source}")]
    Unmoved {
        /// Where it is.
        path: std::path::PathBuf,
        /// Where it should be.
        home: std::path::PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// Runs every row of a plan in the simulator on up to `threads` threads; gives how each ended, in the order of the plan.
///
/// Rows are independent: each has its own hosts, links and random streams, and lives on one thread. With deterministic
/// crypto what it leaves behind does not depend on how many threads there are.
pub fn run<K: Keepers>(
    plan: &Plan,
    threads: usize,
    keepers: &K,
    progress: &(dyn Fn() + Sync),
    stop: &Stop,
) -> Result<Vec<Option<RowEnd>>, RunError> {
    refuse(plan)?;
    let costs = Costs::of(plan)?;
    let credentials = Credentials::prepare(plan);
    let core_hz = costs.as_ref().map_or_else(clock::core_hz, |costs| costs.core_hz);
    let work = Work {
        plan,
        credentials,
        costs,
        core_hz,
        keepers,
        progress,
        stop,
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        ends: Mutex::new(vec![None; plan.rows.len()]),
    };
    let threads = threads.clamp(1, plan.rows.len().max(1));
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.take_rows())).collect();
        handles.into_iter().try_for_each(|handle| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(work.ends.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Refuses a plan that cannot run here: algorithms that this build lacks, a cost table that is not there, is none or lacks
/// something. Nothing is written, and no key is made.
///
/// # Errors
/// Whatever [`run`] would fail with before its first authentication.
pub fn refuse(plan: &Plan) -> Result<(), RunError> {
    supported(plan)?;
    match Costs::of(plan)? {
        Some(costs) => rehearsal::priced(plan, &costs),
        None => Ok(()),
    }
}

/// Every algorithm of the plan must be there before the first row runs; null crypto pretends them all.
///
/// # Errors
/// The first one that this build lacks.
pub fn supported(plan: &Plan) -> Result<(), RunError> {
    let check: fn(&Suite) -> Result<(), Unsupported> = match plan.crypto {
        CryptoMode::Null | CryptoMode::Table => return Ok(()),
        CryptoMode::Real => Real::check,
        #[cfg(feature = "ossl")]
        CryptoMode::OpenSsl => keytoll_crypto::Ossl::check,
        #[cfg(not(feature = "ossl"))]
        CryptoMode::OpenSsl => return Err(RunError::NoOpenSsl),
    };
    let suites = plan.rows.iter().flat_map(|row| {
        row.suites.iter().chain(&row.esp_suites).map(move |suite| (row.method.name(), suite))
    });
    for (row, suite) in suites {
        check(suite).map_err(|lacking| RunError::Unsupported { row, algorithm: lacking.0 })?;
    }
    Ok(())
}

/// The table must have had a price for everything that a row did.
pub(crate) fn priced(costs: &Costs, row: &RowPlan, built: &Row) -> Result<(), RunError> {
    built.unpriced().map_or(Ok(()), |(operation, algorithm)| {
        let path = costs.path.clone();
        Err(RunError::Unpriced { path, row: row.method.name(), operation, algorithm })
    })
}

/// What the threads of a run share.
struct Work<'a, K> {
    plan: &'a Plan,
    credentials: Credentials,
    costs: Option<Costs>,
    core_hz: f64,
    keepers: &'a K,
    progress: &'a (dyn Fn() + Sync),
    stop: &'a Stop,
    next: AtomicUsize,
    failed: AtomicBool,
    ends: Mutex<Vec<Option<RowEnd>>>,
}

impl<K: Keepers> Work<'_, K> {
    /// Runs rows until none is left, the run is stopped, or another thread failed.
    fn take_rows(&self) -> Result<(), RunError> {
        while !self.stop.load(Ordering::Relaxed) && !self.failed.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = self.plan.rows.get(index) else { break };
            let result = self.run_row(index, row);
            if result.is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
            result?;
        }
        Ok(())
    }

    fn run_row(&self, index: usize, row: &RowPlan) -> Result<(), RunError> {
        let mut keeper = self.keepers.begin(index, row)?;
        let mut built = Row::new(self.plan, row, &self.credentials, self.core_hz);
        if let Some(costs) = &self.costs {
            built.charge(&costs.prices);
            self.keepers.note(index, &costs.origin);
        }
        let end = built.run(&mut keeper, self.progress, self.stop);
        self.costs.as_ref().map_or(Ok(()), |costs| priced(costs, row, &built))?;
        end.shortfalls().for_each(|why| self.keepers.note(index, &why));
        self.keepers.end(index, keeper, end)?;
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(end);
        Ok(())
    }
}
