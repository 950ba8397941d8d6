//! The live world: the nodes of a row run in processes of their own, on real sockets and the real clock; some may be foreign
//! daemons.
//!
//! ```text
//!   launcher --asks, one JSON line each--> keytoll node (ue), keytoll node (gw), ...
//!       |   <-------------- tells -------
//!       '--starts, watches--> foreign daemons: charon, FreeRADIUS, hostapd
//!   every process logs lines by CLOCK_MONOTONIC --> files --merge--> the row's trace and costs
//! ```
//!
//! The launcher does not measure our own nodes: each reads the CPU clock of its thread, its heap and its crypto costs. For
//! foreign daemons it reads /proc, and our node at the other end of the link records their packets.

#![allow(
    clippy::disallowed_methods,
    reason = "a live run waits for other processes, which takes real time; no engine is in here"
)]

mod capture;
mod foreign;
mod launcher;
mod line;
mod links;
mod merge;
mod message;
mod node;
mod process;
mod standing;
mod testbed;

pub use keytoll_daemons::Usage;
pub use launcher::{refuse, run};
pub use node::serve;
pub use standing::{Standing, version_of};
pub use testbed::LiveError;
