//! What a run leaves behind: the facts an authentication went through, and what they cost.
//!
//! Two streams, because one must be reproducible and the other is measured:
//!
//! * [`Record`]s of [`Fact`]s in virtual time. Same plan, same seed, deterministic crypto: the same bytes.
//! * [`Cost`]s: CPU, heap and crypto operations as this machine spent them. Never the same twice.
//!
//! [`mod@file`] writes and reads both, versioned; [`listing`] says which files a run has, and [`output`] puts files into
//! their places whole; [`regular`] opens what others may have put there. Nothing here knows a protocol: engines bring the
//! names of their messages along ([`name`]), and a file holds each once ([`mod@stored`]).

pub mod cost;
pub mod cost_table;
pub mod fact;
pub mod file;
pub mod listing;
pub mod manifest;
pub mod name;
pub mod output;
mod packet;
pub mod primitive;
pub mod provenance;
pub mod regular;
pub mod revealed;
pub mod stored;
mod time;
pub mod traffic;
pub mod utc;

pub use cost::{
    BlockCost, Cost, ForeignCost, MoveCost, OperationCost, Part, SampleCost, StackCost, StepCost,
    StepOperation, Stimulus, TrafficCost,
};
pub use fact::{Fact, Fate, Link, Message, Node, Record};
pub use name::{Name, Parts, Protocol};
pub use packet::{PacketCost, StageCost};
pub use revealed::Revealed;
pub use time::Time;
pub use traffic::{Spread, Traffic};

/// Where engines leave facts; the driver adds time, node and sample.
pub trait Trace {
    /// Notes one fact.
    fn record(&mut self, fact: Fact);

    /// Whether somebody wants to read what is encrypted; engines then call [`Trace::reveal`] for every key.
    fn wants_keys(&self) -> bool {
        false
    }

    /// Takes keys of an SA or session; only called if [`Trace::wants_keys`].
    fn reveal(&mut self, _revealed: Revealed) {}
}

/// A trace that keeps nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoTrace;

impl Trace for NoTrace {
    fn record(&mut self, _fact: Fact) {}
}

impl Trace for Vec<Fact> {
    fn record(&mut self, fact: Fact) {
        self.push(fact);
    }
}
