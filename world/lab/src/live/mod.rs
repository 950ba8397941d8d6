//! The live world: the nodes of a row in processes of their own, on sockets and the real clock, some of them perhaps other
//! makers' programs.
//!
//! ```text
//!   parent: Troupe --asks, one JSON line each--> keytoll node (ue), keytoll node (gw), ...
//!              |   <-------------- tells -------
//!              '--starts, watches--> charon, FreeRADIUS, hostapd
//!   every process notes lines by CLOCK_MONOTONIC --> files --merge--> the row's trace and costs
//! ```
//!
//! The parent measures nothing of its own nodes: each reads the CPU clock of its thread, its heap and its crypto. Of other
//! makers' programs the parent reads /proc, and what they sent is seen by our node at the other end of the link.

#![allow(
    clippy::disallowed_methods,
    reason = "a live run waits for other processes, which takes real time; no engine is in here"
)]

mod foreign;
mod line;
mod links;
mod merge;
mod message;
mod node;
mod performance;
mod stage;
mod troupe;

pub use node::serve;
pub(crate) use performance::{refuse, run};
pub use stage::LiveError;
