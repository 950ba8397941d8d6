//! Captures of a live run: the packets of the sockets of each node of ours, `capture/NNN.gw.pcapng`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use keytoll_lab::Seized;
use keytoll_lab::capture::title;
use keytoll_live::{Beside, Clock};
use keytoll_rigs::{self as rigs, FAMILIES};
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_trace::{Node, Trace};

/// The capture of one node of a live run.
pub(crate) struct NodeCapture {
    capture: keytoll_live::Capture,
    path: PathBuf,
    samples_max: u32,
}

impl NodeCapture {
    /// Creates the capture of a node in a row; nothing is written during the warm-up.
    pub(crate) fn create(
        directory: &Path,
        (plan, row, index): (&Plan, &RowPlan, usize),
        node: Node,
        clock: &Clock,
    ) -> io::Result<Self> {
        let path = directory.join(format!("{index:03}.{}.pcapng", node.name()));
        let comment = format!("{}, the sockets of {}", title(plan, row), node.name());
        let capture = keytoll_live::Capture::create(FAMILIES, &path, clock, node.name(), &comment)?;
        capture.pause(true);
        let secrets = rigs::shared_secrets(row, &plan.seed_of(row));
        for shared in secrets.iter().filter(|shared| [shared.link.0, shared.link.1].contains(&node)) {
            capture.share(&shared.secret);
        }
        Ok(Self { capture, path, samples_max: u32::MAX })
    }

    /// Limits it to the first authentications.
    pub(crate) fn of_samples(self, samples_max: u32) -> Self {
        Self { samples_max, ..self }
    }

    /// The tap for datagrams.
    pub(crate) fn tap(&self) -> keytoll_live::Capture {
        self.capture.clone()
    }

    /// A trace that passes everything to both `trace` and the capture.
    pub(crate) fn beside<'t>(&'t self, trace: &'t mut dyn Trace) -> Beside<'t> {
        self.capture.beside(trace)
    }

    /// Assigns the following packets to this authentication; `None`: to the warm-up.
    pub(crate) fn begin(&self, sample: Option<u32>) {
        self.capture.pause(sample.is_none_or(|sample| sample >= self.samples_max));
    }

    /// The row is over.
    pub(crate) fn finish(&self) -> io::Result<Seized> {
        let keytoll_live::Captured { datagrams, unreadable } = self.capture.finish()?;
        let (path, bytes) = (self.path.clone(), fs::metadata(&self.path)?.len());
        Ok(Seized { path, packets: datagrams, bytes, unreadable })
    }
}
