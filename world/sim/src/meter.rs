//! What a node's computation costs in virtual time: the door through which measured CPU time enters the simulation.

use std::time::Duration;

use crate::NodeIndex;

/// Says how long a node is busy with one input.
pub trait Meter<C> {
    /// Called just before the host takes an input; `crypto` is the node's provider.
    fn begin(&mut self, node: NodeIndex, crypto: &C);

    /// Called when the host has nothing more to say; gives the time the node is busy, in virtual time.
    fn end(&mut self, node: NodeIndex, crypto: &C) -> Duration;
}

/// Computation costs nothing: the deterministic meter.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Free;

impl<C> Meter<C> for Free {
    fn begin(&mut self, _node: NodeIndex, _crypto: &C) {}

    fn end(&mut self, _node: NodeIndex, _crypto: &C) -> Duration {
        Duration::ZERO
    }
}
