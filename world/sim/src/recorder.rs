//! The interface that receives the records of a run and, on request, the datagrams on the links and the keys to decrypt them.

use std::time::Duration;

use keytoll_engine::trace::{Fate, Link, NoTrace, Node, Record, Revealed};
use keytoll_engine::{Datagram, Time};

use crate::NodeIndex;

/// A datagram as its sender passes it to a link.
#[derive(Debug, Clone, Copy)]
pub struct Passing<'a> {
    /// When.
    pub at: Time,
    /// The sender.
    pub from: Node,
    /// The authentication that it belongs to.
    pub sample: u32,
    /// The link.
    pub link: Link,
    /// Its longest IP packet, in bytes.
    pub mtu_bytes: u16,
    /// The datagram before any impairment.
    pub datagram: &'a Datagram,
    /// The time until it arrives or is lost.
    pub transit: Duration,
    /// Its fate.
    pub fate: Fate,
}

/// Receives the records of a run as they occur.
///
/// They come in order of [`Record::at_ns`], except that a node records [`keytoll_engine::trace::Fact::Triggered`] at the end
/// of the computation it starts, with the time at which the input arrived.
pub trait Recorder {
    /// Receives one record.
    fn record(&mut self, record: Record);

    /// Receives one record of a node; several nodes may have its name. What links record is not of one of them.
    fn record_of(&mut self, _node: NodeIndex, record: Record) {
        self.record(record);
    }

    /// Whether to call [`Recorder::pass`] and [`Recorder::reveal`]; asked again for every sample.
    fn captures(&self, _sample: u32) -> bool {
        false
    }

    /// Receives a datagram on a link, after its facts, of which [`keytoll_engine::trace::Fact::Carried`] is the last.
    fn pass(&mut self, _passing: &Passing<'_>) {}

    /// Receives keys that an engine reveals.
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
