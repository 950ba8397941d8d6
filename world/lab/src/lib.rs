//! From a plan to its facts: builds the hosts of every row, runs them in the simulator, writes the trace.
//!
//! ```text
//!   Plan --> credentials (keys, certificates, once) --> row 0 --> trace/000.trace, costs/000.costs
//!                                                  '--> row 1 --> ...        rows in parallel, a thread each
//! ```
//!
//! A row stays on one thread from its first allocation to its last fact, so that its heap and CPU time can be attributed.

pub mod capture;
mod cell;
mod costs;
pub mod directory;
mod gauge;
pub mod keeper;
mod node_heap;
mod once;
mod pace;
mod packets;
mod population;
mod profile;
mod provenance;
mod provider;
mod rehearsal;
mod row;
mod run;
#[cfg(test)]
mod secrets;
mod steps;
mod traffic;
mod turns;

pub use capture::{Captures, Seized, Taken};
pub use cell::{CellPlan, CellRun, Counted, Frames, cell};
pub use costs::{CostsError, daemon_costs, message_price, prices};
pub use directory::{Directory, PlaceError, Published, manifest};
pub use keeper::{Discard, Keeper, Memory};
pub use keytoll_rigs::Credentials;
pub use keytoll_sim::Recorder;
pub use keytoll_trace::manifest::Manifest;
pub use keytoll_trace::{Cost, Record};
pub use packets::{PACKET_BYTES, PacketProfiler, Packets, Way};
pub use population::{PopulationEnd, Steps, populate, steps};
pub use profile::{Profile, Subject, profile};
pub use provenance::{Program, end, libraries, library, machine};
pub use provider::metered;
pub use rehearsal::{Room, Work, free_bytes, rehearse, rehearse_memory};
pub use row::{ECHO_BYTES, ECHO_PATIENCE, Row, RowEnd, Stop, WARM_UP, Watcher};
pub use run::{Keepers, RunError, refuse, run, supported};
pub use turns::blocks;
