//! What a node's computation costs in virtual time: the door through which measured CPU time enters the simulation.

use std::time::Duration;

use keytoll_engine::Datagram;
use keytoll_engine::trace::Fact;

use crate::NodeIndex;

/// What a host is about to handle.
#[derive(Debug, Clone, Copy)]
pub enum Stimulus<'a> {
    /// A datagram arrived.
    Packet(&'a Datagram),
    /// Somebody wants something of it.
    Command,
    /// Its deadline has come.
    Tick,
}

/// Says how long a node is busy with one input.
pub trait Meter<C> {
    /// Called just before the host takes an input; `crypto` is the node's provider.
    fn begin(&mut self, node: NodeIndex, crypto: &C, stimulus: Stimulus<'_>);

    /// Called when the host has nothing more to say, with the facts it noted; gives the time the node is busy, in virtual
    /// time.
    fn end(&mut self, node: NodeIndex, crypto: &C, noted: &[Fact]) -> Duration;
}

/// Computation costs nothing: the deterministic meter.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Free;

impl<C> Meter<C> for Free {
    fn begin(&mut self, _node: NodeIndex, _crypto: &C, _stimulus: Stimulus<'_>) {}

    fn end(&mut self, _node: NodeIndex, _crypto: &C, _noted: &[Fact]) -> Duration {
        Duration::ZERO
    }
}
