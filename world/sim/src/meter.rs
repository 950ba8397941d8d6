//! The cost of a node's computation in virtual time: the interface through which measured CPU time enters the simulation.

use std::time::Duration;

use keytoll_engine::Datagram;
use keytoll_engine::trace::Fact;

use crate::NodeIndex;

/// The kind of input that a host is about to handle.
#[derive(Debug, Clone, Copy)]
pub enum Stimulus<'a> {
    /// A datagram arrived.
    Packet(&'a Datagram),
    /// A command.
    Command,
    /// A deadline.
    Tick,
}

/// What a node did before an input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Before {
    /// How long it had nothing to do when the input reached it; none if it was busy, and the input has waited.
    pub idle: Option<Duration>,
    /// The share of time in which its cores have been busy lately, from 0 to 1.
    pub utilisation: f64,
}

/// Decides how long a node is busy with one input.
pub trait Meter<C> {
    /// Called just before the host takes an input; `crypto` is the node's provider. Returns how long it takes the node to wake up, in
    /// virtual time: a core is taken, but does not compute.
    fn begin(&mut self, node: NodeIndex, crypto: &mut C, stimulus: Stimulus<'_>, before: Before) -> Duration;

    /// Called when the host's outputs are drained, with the facts it recorded; returns how long the node is busy, in virtual
    /// time.
    fn end(&mut self, node: NodeIndex, crypto: &mut C, noted: &[Fact]) -> Duration;

    /// How long the node waits in this input, such as for a store, in virtual time: a core is taken, but does not compute.
    fn waits(&self) -> Duration {
        Duration::ZERO
    }

    /// How much of its computation the node needs after its outputs have left.
    fn after_outputs(&self) -> Duration {
        Duration::ZERO
    }
}

/// Computation costs no time: the deterministic meter.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Free;

impl<C> Meter<C> for Free {
    fn begin(&mut self, _: NodeIndex, _: &mut C, _: Stimulus<'_>, _: Before) -> Duration {
        Duration::ZERO
    }

    fn end(&mut self, _node: NodeIndex, _crypto: &mut C, _noted: &[Fact]) -> Duration {
        Duration::ZERO
    }
}
