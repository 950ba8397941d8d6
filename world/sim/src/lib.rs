//! The deterministic network simulator: virtual time, an event queue, links and busy nodes. It knows no protocol.
//!
//! ```text
//!   command ──┐
//!   tick ─────┤    ┌────────────── node ──────────────┐      ┌────────── link ───────────┐
//!   datagram ─┴──▶ │ waits for a core ─▶ handle, poll │ ───▶ │ rate, loss, delay, …      │ ──▶ the other node
//!                  └──────── busy: Meter ─────────────┘      └───────────────────────────┘
//! ```
//!
//! A [`World`] owns hosts (any [`keytoll_engine::Engine`]), each with its crypto provider, and the links between them.
//! [`World::run_until`] steps from one host event to the next. Outputs leave a node when the computation that caused them
//! ends. With the [`Free`] meter that is at once, and the same seed gives the same records, byte for byte.

mod air;
mod links;
mod meter;
mod net;
mod node;
mod queue;
mod recorder;
mod routes;
mod slab;
mod world;

pub use air::Air;
pub use links::loss::Loss;
pub use links::reorder::Reorder;
pub use links::{Carriage, Channel, Direction, LinkConfig, WRONG_CHECKSUM};
pub use meter::{Before, Free, Meter, Stimulus};
pub use node::{NodeConfig, NodeIndex, ProviderIndex, QueueUse};
pub use recorder::{Passing, Recorder};
pub use world::{Limits, NODE_QUEUE_FULL, World};
