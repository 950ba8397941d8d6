//! The log of a process: facts, and a digest of every datagram, from which the transit time is computed at the end.
//! Lines of an authentication stay in memory until the next one starts, so that writing them takes no measured time.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter};
use std::sync::{Arc, Mutex, PoisonError};

use keytoll_capture::observe::Observer;
use keytoll_engine::{Datagram, Time};
use keytoll_live::{Path, Seen, Tap};
use keytoll_net::OnWire;
use keytoll_rig::Layout;
use keytoll_rigs::FAMILIES;
use keytoll_trace::file::{Recorded, Writer};
use keytoll_trace::{Fact, Fate, Link, Node, stored};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) sample: u32,
    pub(super) at_ns: u64,
    /// The node where it happened, which may differ from the one that saw it.
    pub(super) node: Node,
    pub(super) what: What,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Something happened.
    Fact(Fact),
    /// A datagram with this digest was sent, according to the fact, which lacks the transit time.
    Sent(u64, Fact),
    /// A datagram with this digest was received.
    Received(u64),
}

stored!(struct Line { sample, at_ns, node, what });
stored!(enum What { 0 = Fact(fact), 1 = Sent(digest, fact), 2 = Received(digest) });

impl Recorded for Line {
    const MAGIC: &'static str = "keytoll lines";
}

/// The log of one node in one row.
#[derive(Clone)]
pub(super) struct Log(Arc<Mutex<Notes>>);

struct Notes {
    node: Node,
    sample: Option<u32>,
    lines: Vec<Line>,
    /// `None` when finished.
    file: Option<Writer<Line, BufWriter<File>>>,
    layout: Layout,
    observer: Observer,
    handled: u64,
    /// Emulated links, which record their own facts.
    emulated: Vec<Path>,
    /// The sender of the datagram in the emulator.
    sender: Option<Node>,
}

impl Log {
    /// An empty file of notes.
    pub(super) fn create(
        path: &std::path::Path,
        node: Node,
        layout: Layout,
        emulated: Vec<Path>,
    ) -> io::Result<Self> {
        let file = Some(Writer::new(BufWriter::new(File::create(path)?))?);
        let (observer, lines) = (Observer::new(FAMILIES), Vec::new());
        let notes =
            Notes { node, sample: None, lines, file, layout, observer, handled: 0, emulated, sender: None };
        Ok(Self(Arc::new(Mutex::new(notes))))
    }

    fn with<R>(&self, act: impl FnOnce(&mut Notes) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes pending lines, and assigns the following ones to this authentication.
    pub(super) fn begin(&self, sample: Option<u32>) -> io::Result<()> {
        self.with(|notes| {
            notes.sample = sample;
            // Messages without a nonce are the same octets in each authentication, and repeat nothing of the one before.
            notes.observer = Observer::new(FAMILIES);
            let Notes { lines, file, .. } = notes;
            let Some(file) = file else { return Ok(()) };
            lines.drain(..).try_for_each(|line| file.write(&line))
        })
    }

    /// Writes pending lines and ends the file.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.begin(None)?;
        match self.with(|notes| notes.file.take()) {
            Some(file) => file.finish().map(drop),
            None => Ok(()),
        }
    }

    /// The host takes something in.
    pub(super) fn handles(&self, is_packet: bool) {
        self.with(|notes| {
            notes.handled += u64::from(is_packet);
            notes.sender = None;
        });
    }

    /// How many datagrams the host has processed.
    pub(super) fn handled_count(&self) -> u64 {
        self.with(|notes| notes.handled)
    }

    /// A fact of the driver: those of the emulator belong to the sender.
    pub(super) fn driven(&self, at: Time, fact: Fact) {
        self.with(|notes| {
            let node = notes.sender.filter(|_| matches!(fact, Fact::Carried { .. })).unwrap_or(notes.node);
            notes.note(at, node, What::Fact(fact));
        });
    }

    /// Facts of this node at a moment.
    pub(super) fn facts(&self, at: Time, facts: impl Iterator<Item = Fact>) {
        self.with(|notes| facts.for_each(|fact| notes.note(at, notes.node, What::Fact(fact))));
    }
}

impl Notes {
    fn note(&mut self, at: Time, node: Node, what: What) {
        if let Some(sample) = self.sample {
            self.lines.push(Line { sample, at_ns: at.as_nanos(), node, what });
        }
    }

    /// The link to another node, and its MTU in bytes.
    fn link(&self, peer: Node) -> Option<(Link, u16)> {
        let link = Link::between(self.node, peer);
        self.layout.link(link).map(|spec| (link, spec.config.mtu_bytes))
    }

    fn sent(&mut self, seen: &Seen<'_>) {
        let is_emulated = |path: &Path| path.remote == Some(seen.to.host()) && path.outbound.is_some();
        if self.emulated.iter().any(is_emulated) {
            return;
        }
        let (Some(to), Some(datagram)) = (self.layout.owner(seen.to.host()), datagram(seen)) else {
            return;
        };
        let Some((link, mtu_bytes)) = self.link(to) else { return };
        if let Some(carried) = carried(&datagram, link, mtu_bytes) {
            self.note(seen.at, self.node, What::Sent(digest(&datagram), carried));
        }
    }

    /// Datagrams of our own nodes are in their logs; those of others are logged in their place.
    fn received(&mut self, seen: &Seen<'_>) {
        let (Some(from), Some(datagram)) = (self.layout.owner(seen.from.host()), datagram(seen)) else {
            return;
        };
        if !self.layout.is_foreign(from) {
            return self.note(seen.at, self.node, What::Received(digest(&datagram)));
        }
        let Some((link, mtu_bytes)) = self.link(from) else { return };
        let is_emulated = |path: &Path| path.remote == Some(seen.from.host()) && path.inbound.is_some();
        let is_emulated = self.emulated.iter().any(is_emulated);
        self.sender = is_emulated.then_some(from);
        for fact in self.observer.observe(&datagram, link, mtu_bytes) {
            if !is_emulated || matches!(fact, Fact::Sent(_)) {
                self.note(seen.at, from, What::Fact(fact));
            }
        }
    }
}

impl Tap for Log {
    fn sent(&mut self, seen: &Seen<'_>) {
        self.with(|notes| notes.sent(seen));
    }

    fn received(&mut self, seen: &Seen<'_>) {
        self.with(|notes| notes.received(seen));
    }
}

fn datagram(seen: &Seen<'_>) -> Option<Datagram> {
    let Seen { from, to, protocol, bytes, .. } = *seen;
    Some(Datagram { protocol: protocol?, from, to, bytes: bytes.to_vec() })
}

fn carried(datagram: &Datagram, link: Link, mtu_bytes: u16) -> Option<Fact> {
    let OnWire { packets, bytes } = OnWire::of(datagram.to, datagram.bytes.len(), mtu_bytes)?;
    let (protocol, transit_ns, fate) = (datagram.protocol, 0, Fate::Delivered);
    Some(Fact::Carried { link, protocol, packets, bytes, transit_ns, fate })
}

/// Identifies a datagram at both ends.
fn digest(datagram: &Datagram) -> u64 {
    let mut hasher = DefaultHasher::new();
    (datagram.from, datagram.to, &datagram.bytes).hash(&mut hasher);
    hasher.finish()
}
