//! Captures of a run: for every row `capture/NNN.pcapng`, and beside it `capture/NNN.keys`, a Wireshark profile that opens it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use keytoll_capture::remarks::Remarks;
use keytoll_capture::{KeyTables, Seen, Writer};
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};
use keytoll_sim::{Passing, Recorder};
use keytoll_trace::{Cost, Record, Revealed};

use crate::eap;
use crate::keeper::Keeper;
use crate::row::{RowEnd, row_seed};
use crate::run::{Keepers, RunError};

/// Keeps what other keepers keep, and captures.
#[derive(Debug)]
pub struct Captures<'a, K> {
    inner: &'a K,
    plan: &'a Plan,
    directory: PathBuf,
    samples_max: u32,
    taken: Mutex<Taken>,
}

/// What was captured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// Files, one a row.
    pub files: u32,
    /// IP packets in all of them.
    pub packets: u64,
    /// The length of all of them.
    pub bytes: u64,
    /// What Wireshark cannot decrypt of it.
    pub unreadable: BTreeSet<String>,
}

impl<'a, K> Captures<'a, K> {
    /// Captures the first authentications of every row into the directory `capture` of a run's directory.
    pub fn new(inner: &'a K, plan: &'a Plan, run: &Path, samples_max: u32) -> Result<Self, RunError> {
        let directory = run.join("capture");
        fs::create_dir_all(&directory)
            .map_err(|source| RunError::Write { path: directory.clone(), source })?;
        Ok(Self { inner, plan, directory, samples_max, taken: Mutex::default() })
    }

    /// Where the captures are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What was captured so far.
    pub fn taken(&self) -> Taken {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn open(&self, index: usize, row: &RowPlan) -> io::Result<Capture> {
        let path = self.directory.join(format!("{index:03}.pcapng"));
        let out = BufWriter::with_capacity(1 << 16, File::create(&path)?);
        let has_keys = self.plan.crypto != CryptoMode::Null;
        Ok(Capture {
            writer: Writer::new(out, &comment(self.plan, row))?,
            path,
            tables: has_keys.then(|| self.tables(index, row)).transpose()?,
            remarks: Remarks::default(),
            samples_max: self.samples_max,
            packets: 0,
            error: None,
        })
    }

    fn tables(&self, index: usize, row: &RowPlan) -> io::Result<KeyTables> {
        let mut tables = KeyTables::create(&self.directory.join(format!("{index:03}.keys")))?;
        if row.method.eap().is_some() {
            tables.share(&eap::secret(&row_seed(self.plan, row)))?;
        }
        Ok(tables)
    }

    fn close(&self, capture: Capture) -> io::Result<()> {
        if let Some(error) = capture.error {
            return Err(error);
        }
        capture.writer.finish()?;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.files += 1;
        taken.packets += capture.packets;
        taken.bytes += fs::metadata(&capture.path)?.len();
        taken.unreadable.extend(capture.tables.iter().flat_map(KeyTables::unreadable).map(str::to_owned));
        Ok(())
    }

    fn failed(&self) -> impl Fn(io::Error) -> RunError {
        |source| RunError::Write { path: self.directory.clone(), source }
    }
}

/// Which row of which run it is.
fn comment(plan: &Plan, row: &RowPlan) -> String {
    let variant = if row.variant.is_empty() { String::new() } else { format!(" {}", row.variant) };
    format!(
        "{}: {}{variant} over {}, topology {}, world {}, crypto {}, seed {}. Times are virtual and begin at 0; a packet is \
         seen where its sender hands it to the link, its comment says what becomes of it. TCP connections are open from \
         the start.",
        plan.title,
        row.method.name(),
        row.network.name,
        row.topology.name(),
        plan.world.name(),
        plan.crypto.name(),
        plan.seed
    )
}

impl<K: Keepers> Keepers for Captures<'_, K> {
    type Keeper = Capturing<K::Keeper>;

    fn begin(&self, index: usize, row: &RowPlan) -> Result<Self::Keeper, RunError> {
        let inner = self.inner.begin(index, row)?;
        Ok(Capturing { inner, capture: self.open(index, row).map_err(self.failed())? })
    }

    fn note(&self, index: usize, note: &str) {
        self.inner.note(index, note);
    }

    fn end(&self, index: usize, keeper: Self::Keeper, end: RowEnd) -> Result<(), RunError> {
        self.inner.end(index, keeper.inner, end)?;
        self.close(keeper.capture).map_err(self.failed())
    }
}

/// Captures one row, and keeps what another keeper keeps.
#[derive(Debug)]
pub struct Capturing<K> {
    inner: K,
    capture: Capture,
}

/// The capture of a row.
#[derive(Debug)]
struct Capture {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    /// None with null crypto, which leaves nothing to decrypt.
    tables: Option<KeyTables>,
    remarks: Remarks,
    samples_max: u32,
    packets: u64,
    /// The first one; nothing is written after it.
    error: Option<io::Error>,
}

impl Capture {
    fn pass(&mut self, passing: &Passing<'_>) -> io::Result<()> {
        let &Passing { at, from, sample, link, mtu_bytes, datagram, transit, fate } = passing;
        let comment = self.remarks.remark(from, sample, datagram.protocol, fate, transit);
        let (at_ns, link) = (at.as_nanos(), link.name());
        let seen = Seen { at_ns, mtu_bytes, comment: &comment, ..Seen::of(datagram, &link) };
        self.packets += self.writer.datagram(&seen)? as u64;
        Ok(())
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

impl<K: Keeper> Recorder for Capturing<K> {
    fn record(&mut self, record: Record) {
        self.capture.remarks.note(record.node, &record.fact);
        self.inner.record(record);
    }

    fn captures(&self, sample: u32) -> bool {
        sample < self.capture.samples_max && self.capture.error.is_none()
    }

    fn pass(&mut self, passing: &Passing<'_>) {
        let result = self.capture.pass(passing);
        self.capture.note(result);
    }

    fn reveal(&mut self, revealed: Revealed) {
        if let Some(tables) = &mut self.capture.tables {
            let result = tables.reveal(&revealed);
            self.capture.note(result);
        }
    }
}

impl<K: Keeper> Keeper for Capturing<K> {
    fn cost(&mut self, cost: Cost) {
        self.inner.cost(cost);
    }
}
