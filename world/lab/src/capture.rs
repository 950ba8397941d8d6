//! Captures of a run: for every row `capture/NNN.pcapng`, with a Wireshark profile `capture/NNN.keys` that decrypts it. In a live
//! run every node of ours captures its own sockets: `capture/NNN.gw.pcapng`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use keytoll_capture::remarks::Remarks;
use keytoll_capture::{KeyTables, Seen, Writer};
use keytoll_rigs::{self as rigs, FAMILIES};
use keytoll_scenario::plan::{Plan, RowPlan, WorldKind};
use keytoll_sim::{Passing, Recorder};
use keytoll_trace::{Cost, Record, Revealed};
use serde::{Deserialize, Serialize};

use crate::keeper::Keeper;
use crate::row::RowEnd;
use crate::run::{Keepers, RunError};

/// Forwards records to another keeper, and captures.
#[derive(Debug)]
pub struct Captures<'a, K> {
    inner: &'a K,
    plan: &'a Plan,
    directory: PathBuf,
    samples_max: u32,
    taken: Mutex<Taken>,
}

/// The captures of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// The files: one per row, or in a live run one per node of ours.
    pub files: BTreeSet<PathBuf>,
    /// IP packets in all files; in a live run datagrams.
    pub packets: u64,
    /// The length of all of them.
    pub bytes: u64,
    /// Protocols in it that Wireshark cannot decrypt.
    pub unreadable: BTreeSet<String>,
}

impl<'a, K> Captures<'a, K> {
    /// Captures the first authentications of every row into the directory `capture` of a run's directory.
    ///
    /// # Errors
    /// When the directory cannot be created.
    pub fn new(inner: &'a K, plan: &'a Plan, run: &Path, samples_max: u32) -> Result<Self, RunError> {
        let directory = run.join("capture");
        fs::create_dir_all(&directory)
            .map_err(|source| RunError::Write { path: directory.clone(), source })?;
        Ok(Self { inner, plan, directory, samples_max, taken: Mutex::default() })
    }

    /// The captures so far.
    pub fn taken(&self) -> Taken {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A capture of the simulator's links; the nodes of a live run capture themselves.
    fn open(&self, index: usize, row: &RowPlan) -> io::Result<Option<Capture>> {
        if self.plan.world == WorldKind::Live {
            return Ok(None);
        }
        let path = self.directory.join(format!("{index:03}.pcapng"));
        let out = BufWriter::with_capacity(1 << 16, File::create_new(&path)?);
        let has_keys = self.plan.crypto.computes();
        Ok(Some(Capture {
            writer: Writer::new(out, &format!("{}. {VIRTUAL}", title(self.plan, row)))?,
            path,
            tables: has_keys.then(|| self.tables(index, row)).transpose()?,
            remarks: Remarks::default(),
            samples_max: self.samples_max,
            packets: 0,
            error: None,
        }))
    }

    fn tables(&self, index: usize, row: &RowPlan) -> io::Result<KeyTables> {
        let mut tables = KeyTables::create(FAMILIES, &self.directory.join(format!("{index:03}.keys")))?;
        for shared in rigs::shared_secrets(row, &self.plan.seed_of(row)) {
            tables.share(&shared.secret)?;
        }
        Ok(tables)
    }

    fn close(&self, capture: Capture) -> io::Result<()> {
        if let Some(error) = capture.error {
            return Err(error);
        }
        capture.writer.finish()?;
        self.add(Seized {
            packets: capture.packets,
            bytes: fs::metadata(&capture.path)?.len(),
            unreadable: capture.tables.iter().flat_map(KeyTables::unreadable).map(str::to_owned).collect(),
            path: capture.path,
        });
        Ok(())
    }

    fn add(&self, seized: Seized) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.packets += seized.packets;
        taken.bytes += seized.bytes;
        taken.unreadable.extend(seized.unreadable);
        taken.files.insert(seized.path);
    }

    fn failed(&self) -> impl Fn(io::Error) -> RunError {
        |source| RunError::Write { path: self.directory.clone(), source }
    }
}

/// The row and the run, for the reader of a capture.
pub fn title(plan: &Plan, row: &RowPlan) -> String {
    let variant = if row.variant.is_empty() { String::new() } else { format!(" {}", row.variant) };
    format!(
        "{}: {}{variant} over {}, topology {}, world {}, crypto {}, seed {}",
        plan.title,
        row.method.name(),
        row.network.name,
        row.topology.name(),
        plan.world.name(),
        plan.crypto.name(),
        plan.seed
    )
}

/// Note for the reader of a simulated capture.
const VIRTUAL: &str = "Times are virtual; a packet is seen where its sender hands it to the link, and its comment says what \
                       becomes of it. TCP connections are open from the start.";

impl<K: Keepers> Keepers for Captures<'_, K> {
    type Keeper = Capturing<K::Keeper>;

    fn begin(&self, index: usize, row: &RowPlan) -> Result<Self::Keeper, RunError> {
        let inner = self.inner.begin(index, row)?;
        Ok(Capturing { inner, capture: self.open(index, row).map_err(self.failed())? })
    }

    fn capturing(&self) -> Option<(&Path, u32)> {
        Some((&self.directory, self.samples_max))
    }

    fn captured(&self, seized: Seized) {
        self.add(seized);
    }

    fn note(&self, index: usize, note: &str) {
        self.inner.note(index, note);
    }

    fn end(&self, index: usize, keeper: Self::Keeper, end: RowEnd) -> Result<(), RunError> {
        self.inner.end(index, keeper.inner, end)?;
        keeper.capture.map_or(Ok(()), |capture| self.close(capture)).map_err(self.failed())
    }
}

/// Captures one row, and forwards its records to another keeper.
#[derive(Debug)]
pub struct Capturing<K> {
    inner: K,
    capture: Option<Capture>,
}

/// The capture of a row.
#[derive(Debug)]
struct Capture {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    /// `None` with null crypto, which encrypts nothing.
    tables: Option<KeyTables>,
    remarks: Remarks,
    samples_max: u32,
    packets: u64,
    /// The first error; nothing is written after it.
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
        if let Some(capture) = &mut self.capture {
            capture.remarks.note(record.node, &record.fact);
        }
        self.inner.record(record);
    }

    fn captures(&self, sample: u32) -> bool {
        self.capture.as_ref().is_some_and(|capture| sample < capture.samples_max && capture.error.is_none())
    }

    fn pass(&mut self, passing: &Passing<'_>) {
        if let Some(capture) = &mut self.capture {
            let result = capture.pass(passing);
            capture.note(result);
        }
    }

    fn reveal(&mut self, revealed: Revealed) {
        if let Some(capture) = &mut self.capture {
            let result = capture.tables.as_mut().map_or(Ok(()), |tables| tables.reveal(&revealed));
            capture.note(result);
        }
    }
}

impl<K: Keeper> Keeper for Capturing<K> {
    fn cost(&mut self, cost: Cost) {
        self.inner.cost(cost);
    }

    fn has_failed(&self) -> bool {
        self.inner.has_failed()
    }
}

/// One finished capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seized {
    /// The file.
    pub path: PathBuf,
    /// IP packets in it, in a live run datagrams.
    pub packets: u64,
    /// Its length.
    pub bytes: u64,
    /// Protocols in it that Wireshark cannot decrypt.
    pub unreadable: Vec<String>,
}
