//! Captures the packets of a node's sockets, with the keys that its engine reveals: `FILE` and, beside it, the profile
//! `FILE` with the extension `keys`.
//!
//! It is a [`Tap`] and also receives the trace; clones of [`Capture`] share one file. Headers of IP and UDP or TCP are generated
//! from the sockets' addresses: fragments and TCP's own segments are missing. Of a TLS stream it has the encrypted records, and the
//! profile has the keys.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keytoll_capture::remarks::Remarks;
use keytoll_capture::{KeyTables, Writer};
use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Node, Revealed, Trace};
use keytoll_family::Families;

use crate::{Clock, Seen, Tap};

/// The delay after which packets are visible to concurrent readers.
const FLUSH_AFTER: Duration = Duration::from_millis(200);
/// Remarks are per node, and here is only one.
const THIS_NODE: Node = Node::Ue;

/// A capture of a live node; clones write the same file.
#[derive(Debug, Clone)]
pub struct Capture(Arc<Mutex<Inner>>);

/// The results of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Datagrams, and messages on streams.
    pub datagrams: u64,
    /// Algorithms in it that Wireshark cannot decrypt.
    pub unreadable: Vec<String>,
}

#[derive(Debug)]
struct Inner {
    writer: Writer<BufWriter<File>>,
    tables: KeyTables,
    remarks: Remarks,
    interface: String,
    /// The offset from the clock's time to nanoseconds since 1970.
    offset_ns: u64,
    flushed: Time,
    datagrams: u64,
    paused: bool,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

impl Capture {
    /// Starts a capture of these families at an interface of this name; `comment` describes it.
    ///
    /// # Errors
    /// When the files cannot be created.
    pub fn create(
        families: Families,
        path: &Path,
        clock: &Clock,
        interface: &str,
        comment: &str,
    ) -> io::Result<Self> {
        let out = BufWriter::with_capacity(1 << 16, File::create(path)?);
        let offset_ns = offset_ns(clock);
        Ok(Self(Arc::new(Mutex::new(Inner {
            writer: Writer::new(out, &format!("{comment}; {HEADERS}"))?,
            tables: KeyTables::create(families, &path.with_extension("keys"))?,
            remarks: Remarks::default(),
            interface: interface.to_owned(),
            offset_ns,
            flushed: Time::ZERO,
            datagrams: 0,
            paused: false,
            error: None,
        }))))
    }

    /// Times are those of this clock from now on, which may have started after the capture.
    pub fn follow(&self, clock: &Clock) {
        self.lock().offset_ns = offset_ns(clock);
    }

    /// Pauses or resumes writing of packets and keys.
    pub fn pause(&self, paused: bool) {
        self.lock().paused = paused;
    }

    /// Writes the secret that RADIUS client and server share.
    pub fn share(&self, secret: &[u8]) {
        let mut inner = self.lock();
        let result = inner.tables.share(secret);
        inner.note(result);
    }

    /// Takes a fact of the engine; packets are named after the preceding facts about sent messages.
    pub fn record(&self, fact: &Fact) {
        self.lock().remarks.note(THIS_NODE, fact);
    }

    /// Takes keys that the engine reveals.
    pub fn reveal(&self, revealed: &Revealed) {
        let mut inner = self.lock();
        if !inner.paused {
            let result = inner.tables.reveal(revealed);
            inner.note(result);
        }
    }

    /// Flushes pending packets, for concurrent readers.
    pub fn flush(&self) {
        let mut inner = self.lock();
        let result = inner.writer.flush();
        inner.note(result);
    }

    /// A trace that passes everything to both `trace` and this capture.
    pub fn beside<'t>(&'t self, trace: &'t mut dyn Trace) -> Beside<'t> {
        Beside { capture: self, trace }
    }

    /// Flushes the capture and ends it.
    ///
    /// # Errors
    /// The first error since its start.
    pub fn finish(&self) -> io::Result<Captured> {
        let mut inner = self.lock();
        if let Some(error) = inner.error.take() {
            return Err(error);
        }
        inner.writer.flush()?;
        let unreadable = inner.tables.unreadable().map(str::to_owned).collect();
        Ok(Captured { datagrams: inner.datagrams, unreadable })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From a clock's time to nanoseconds since 1970.
fn offset_ns(clock: &Clock) -> u64 {
    let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    u64::try_from(unix_ns).unwrap_or(u64::MAX).saturating_sub(clock.now().as_nanos())
}

const HEADERS: &str = "headers of IP, UDP and TCP are made of the sockets' addresses";

impl Tap for Capture {
    fn sent(&mut self, seen: &Seen<'_>) {
        let mut inner = self.lock();
        let sealed = || "sealed".to_owned();
        let what = seen.protocol.map_or_else(sealed, |protocol| inner.remarks.name(THIS_NODE, protocol));
        inner.pass(seen, &format!("sent: {what}"));
    }

    fn received(&mut self, seen: &Seen<'_>) {
        self.lock().pass(seen, "received");
    }
}

impl Inner {
    fn pass(&mut self, seen: &Seen<'_>, comment: &str) {
        if self.error.is_none() && !self.paused {
            let result = self.write(seen, comment);
            self.note(result);
        }
    }

    fn write(&mut self, seen: &Seen<'_>, comment: &str) -> io::Result<()> {
        let &Seen { at, from, to, protocol, bytes } = seen;
        if let Some(protocol) = protocol {
            self.tables.name_ports(protocol, [from, to], bytes)?;
        }
        self.writer.datagram(&keytoll_capture::Seen {
            at_ns: self.offset_ns.saturating_add(at.as_nanos()),
            link: &self.interface,
            mtu_bytes: u16::MAX,
            from,
            to,
            bytes,
            comment,
        })?;
        self.datagrams += 1;
        if at >= self.flushed + FLUSH_AFTER {
            self.flushed = at;
            self.writer.flush()?;
        }
        Ok(())
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

/// A trace combined with a capture that wants keys.
pub struct Beside<'t> {
    capture: &'t Capture,
    trace: &'t mut dyn Trace,
}

impl Trace for Beside<'_> {
    fn record(&mut self, fact: Fact) {
        self.capture.record(&fact);
        self.trace.record(fact);
    }

    fn wants_keys(&self) -> bool {
        !self.capture.lock().paused || self.trace.wants_keys()
    }

    fn reveal(&mut self, revealed: Revealed) {
        self.capture.reveal(&revealed);
        if self.trace.wants_keys() {
            self.trace.reveal(revealed);
        }
    }
}

impl std::fmt::Debug for Beside<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Beside").finish_non_exhaustive()
    }
}
