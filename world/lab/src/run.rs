//! All rows of a plan in the simulator, in parallel, one thread each.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use keytoll_crypto::{Real, Unsupported};
use keytoll_crypto_api::suite::Suite;
use keytoll_native::clock;
use keytoll_rigs::{self as rigs, Credentials};
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};
use keytoll_scenario::population::{Population, TimesError};

use crate::capture::Seized;
use crate::costs::{Costs, CostsError};
use crate::directory::PlaceError;
use crate::keeper::Keeper;
use crate::once;
use crate::rehearsal;
use crate::row::{Row, RowEnd, Stop};
use crate::turns::{Open, in_turns, share};

/// The keepers of a run's rows.
pub trait Keepers: Sync {
    /// The keeper of one row.
    type Keeper: Keeper;

    /// Begins a row.
    fn begin(&self, index: usize, row: &RowPlan) -> Result<Self::Keeper, RunError>;

    /// Receives a note for the reader of a row; ignored by default.
    fn note(&self, _index: usize, _note: &str) {}

    /// Where the nodes of a live run write their captures, and of how many authentications.
    fn capturing(&self) -> Option<(&Path, u32)> {
        None
    }

    /// Receives the capture of a node of a live run.
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
        /// The path.
        path: std::path::PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The devices of a row never ask whether their gateway is there.
    #[error("`{key}` means nothing for `{row}`: its devices never ask whether their gateway is still there")]
    NoLiveness {
        /// The method's name.
        row: &'static str,
        /// The key of the population.
        key: &'static str,
    },
    /// The times of arrivals are missing or wrong.
    #[error(transparent)]
    Times(#[from] TimesError),
    /// This build lacks an algorithm of a row.
    #[error("row {row} asks for {algorithm}, which this build cannot compute")]
    Unsupported {
        /// The method's name.
        row: &'static str,
        /// The algorithm's name.
        algorithm: &'static str,
    },
    /// The plan requires OpenSSL, which this build lacks.
    #[error("`crypto = \"openssl\"` needs a keytoll built with `--features ossl`")]
    NoOpenSsl,
    /// A cost table that cannot be used.
    #[error(transparent)]
    Costs(#[from] CostsError),
    /// A cost table lacks an operation.
    #[error("the cost table `{path}` has no `{operation} {algorithm}`, which {row} needs; calibrate again")]
    Unpriced {
        /// The table.
        path: std::path::PathBuf,
        /// The method's name.
        row: &'static str,
        /// The operation in the syntax of the table.
        operation: String,
        /// The algorithm.
        algorithm: String,
    },
    /// The run cannot start or continue in a world other than the simulator.
    #[error(transparent)]
    World(Box<dyn Error + Send + Sync>),
    /// The directory of the run cannot be used.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The run has ended, but could not be moved from its temporary path.
    #[error("the run is in `{path}`, and cannot be moved to `{home}`: {source}")]
    Unmoved {
        /// The temporary path.
        path: std::path::PathBuf,
        /// The final path.
        home: std::path::PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// Runs every row of a plan in the simulator on up to `threads` threads; returns how each ended, in the order of the plan.
///
/// Rows are independent: each has its own hosts, links and random streams, and stays on one thread. With deterministic
/// crypto the results do not depend on the number of threads.
///
/// # Errors
/// When the plan cannot run here, or a record cannot be written.
pub fn run<K: Keepers>(
    plan: &Plan,
    threads: usize,
    keepers: &K,
    progress: &(dyn Fn() + Sync),
    stop: &Stop,
) -> Result<Vec<Option<RowEnd>>, RunError> {
    once::of_process();
    refuse(plan)?;
    let costs = Costs::of(plan)?;
    let credentials = Credentials::prepare(plan);
    let core_hz = costs.as_ref().map_or_else(clock::core_hz, |costs| costs.core_hz);
    let threads = threads.clamp(1, plan.rows.len().max(1));
    let work = &Work {
        plan,
        threads,
        credentials,
        costs,
        core_hz,
        keepers,
        progress,
        stop,
        next: AtomicUsize::new(0),
        halt: AtomicBool::new(false),
        ends: Mutex::new(vec![None; plan.rows.len()]),
    };
    thread::scope(|scope| {
        let handles: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work.take_rows(thread))).collect();
        handles.into_iter().try_for_each(|handle| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(work.ends.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

/// Refuses a plan that cannot run here: because this build lacks an algorithm, or the cost table is missing, invalid or incomplete.
/// Nothing is written, and no key is generated.
///
/// # Errors
/// Those of [`run`] before its first authentication.
pub fn refuse(plan: &Plan) -> Result<(), RunError> {
    supported(plan)?;
    if let Some(population) = &plan.population {
        populated(plan, population)?;
    }
    match Costs::of(plan)? {
        Some(costs) => rehearsal::priced(plan, &costs),
        None => Ok(()),
    }
}

/// Checks that the times of a population's arrivals are there, and that its devices can notice what they are meant to.
fn populated(plan: &Plan, population: &Population) -> Result<(), RunError> {
    let unaware = |row: &RowPlan| {
        let key = unaware_of(row, population)?;
        Some(RunError::NoLiveness { row: row.method.name(), key })
    };
    population.schedule(&plan.seed.into())?;
    plan.rows.iter().find_map(unaware).map_or(Ok(()), Err)
}

/// What a row's devices cannot notice although the population says so.
fn unaware_of(row: &RowPlan, population: &Population) -> Option<&'static str> {
    let keys =
        [("liveness", population.liveness.is_some()), ("gateway_lost", population.gateway_lost.is_some())];
    let asked = keys.into_iter().find(|(_, is_set)| *is_set)?;
    (!keytoll_rigs::asks_for_liveness(row)).then_some(asked.0)
}

/// Checks that this build has every algorithm of the plan; null crypto has all of them.
///
/// # Errors
/// The first missing algorithm.
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

/// Checks that the table had a price for every operation of a row.
pub(crate) fn priced(costs: &Costs, row: &RowPlan, built: &Row) -> Result<(), RunError> {
    built.unpriced().map_or(Ok(()), |(operation, algorithm)| {
        let path = costs.path.clone();
        Err(RunError::Unpriced { path, row: row.method.name(), operation, algorithm })
    })
}

/// The state shared by the threads of a run.
struct Work<'a, K> {
    plan: &'a Plan,
    threads: usize,
    credentials: Credentials,
    costs: Option<Costs>,
    core_hz: f64,
    keepers: &'a K,
    progress: &'a (dyn Fn() + Sync),
    stop: &'a Stop,
    next: AtomicUsize,
    /// Ends the rows under way: the run is stopped, or a row has failed.
    halt: AtomicBool,
    ends: Mutex<Vec<Option<RowEnd>>>,
}

impl<K: Keepers> Work<'_, K> {
    /// Runs rows until none remain, the run is stopped, or another thread failed.
    fn take_rows(&self, thread: usize) -> Result<(), RunError> {
        once::of_thread();
        if self.plan.crypto.computes() {
            return self.failing(self.measure_in_turns(thread));
        }
        while !self.stop.load(Ordering::Relaxed) && !self.halt.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = self.plan.rows.get(index) else { break };
            self.failing(self.run_row(index, row))?;
        }
        Ok(())
    }

    /// Ends the rows of all threads if one has failed.
    fn failing(&self, result: Result<(), RunError>) -> Result<(), RunError> {
        if result.is_err() {
            self.halt.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Measures rows with timed computation in turns.
    fn measure_in_turns(&self, thread: usize) -> Result<(), RunError> {
        self.halt.fetch_or(self.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        let rows = share(self.plan, thread, self.threads);
        let open = |index: usize, row: &RowPlan| {
            let mut keeper = self.keepers.begin(index, row)?;
            let mut row = Row::new(self.plan, row, &self.credentials, self.core_hz);
            row.begin(&mut keeper);
            Ok(Open { index, row, keeper, end: RowEnd::default() })
        };
        let close = |mut open: Open<K::Keeper>| {
            open.row.finish(&mut open.keeper);
            self.end_row(open.index, open.keeper, open.end)
        };
        in_turns::<K>(&rows, self.threads, open, close, &|| self.has_progressed(), &self.halt)
    }

    /// An authentication has ended.
    fn has_progressed(&self) {
        (self.progress)();
        self.halt.fetch_or(self.stop.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn end_row(&self, index: usize, keeper: K::Keeper, end: RowEnd) -> Result<(), RunError> {
        let slower = rigs::slower_signatures().filter(|_| self.plan.crypto == CryptoMode::Real);
        end.shortfalls().chain(slower).for_each(|why| self.keepers.note(index, &why));
        self.keepers.end(index, keeper, end)?;
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(end);
        Ok(())
    }

    fn run_row(&self, index: usize, row: &RowPlan) -> Result<(), RunError> {
        let mut keeper = self.keepers.begin(index, row)?;
        let mut built = Row::new(self.plan, row, &self.credentials, self.core_hz);
        if let Some(costs) = &self.costs {
            built.charge_costs(costs, row);
        }
        let end = built.run(&mut keeper, &|| self.has_progressed(), &self.halt);
        self.costs.as_ref().map_or(Ok(()), |costs| priced(costs, row, &built))?;
        self.end_row(index, keeper, end)
    }
}
