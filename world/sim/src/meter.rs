//! What a node's computation costs in virtual time: the door through which measured CPU time enters the simulation.

use std::time::Duration;

use crate::NodeIndex;

/// Says how long a node is busy with one input.
pub trait Meter {
    /// Called just before the host takes an input.
    fn begin(&mut self, node: NodeIndex);

    /// Called when the host has nothing more to say; gives the time the node is busy, in virtual time.
    fn end(&mut self, node: NodeIndex) -> Duration;
}

/// Computation costs nothing: the deterministic meter.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Free;

impl Meter for Free {
    fn begin(&mut self, _node: NodeIndex) {}

    fn end(&mut self, _node: NodeIndex) -> Duration {
        Duration::ZERO
    }
}
