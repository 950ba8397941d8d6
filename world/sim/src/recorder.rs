//! Where the records of a run go, and for whom wants them what the links carry and the keys to read it.

use std::time::Duration;

use keytoll_engine::trace::{Fate, Link, NoTrace, Node, Record, Revealed};
use keytoll_engine::{Datagram, Time};

/// A datagram as its sender hands it to a link.
#[derive(Debug, Clone, Copy)]
pub struct Passing<'a> {
    /// When.
    pub at: Time,
    /// The sender.
    pub from: Node,
    /// The authentication it belongs to.
    pub sample: u32,
    /// The link.
    pub link: Link,
    /// Its longest IP packet, in bytes.
    pub mtu_bytes: u16,
    /// The datagram, before anything happens to it.
    pub datagram: &'a Datagram,
    /// From now until it arrives, or is lost.
    pub transit: Duration,
    /// What becomes of it.
    pub fate: Fate,
}

/// Takes the records of a run as they come.
///
/// They come in order of [`Record::at_ns`], save that a node notes [`keytoll_engine::trace::Fact::Triggered`] when the
/// computation it starts has ended, with the moment at which it was asked for.
pub trait Recorder {
    /// Keeps one record.
    fn record(&mut self, record: Record);

    /// Whether it wants [`Recorder::pass`] and [`Recorder::reveal`]; asked again for every sample.
    fn captures(&self, _sample: u32) -> bool {
        false
    }

    /// Sees a datagram on a link. Its facts have come before, the [`keytoll_engine::trace::Fact::Carried`] of it last.
    fn pass(&mut self, _passing: &Passing<'_>) {}

    /// Takes keys that an engine reveals.
    fn reveal(&mut self, _revealed: Revealed) {}
}

impl Recorder for Vec<Record> {
    fn record(&mut self, record: Record) {
        self.push(record);
    }
}

impl Recorder for NoTrace {
    fn record(&mut self, _record: Record) {}
}
