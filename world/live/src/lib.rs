//! The live world: the engines the simulator drives, on UDP sockets and the real clock.
//!
//! ```text
//!   socket 500  --thread--.                      .--> sockets
//!                          >--> Driver --> engine
//!   socket 4500 --thread--'    deadline, command '--> events
//! ```
//!
//! One thread drives one engine, as in the simulator; the others only wait for datagrams. What an engine wants to send
//! directly on IP (ESP without UDP encapsulation) is discarded and traced: raw sockets need privileges, and the NAT
//! port (RFC 3948) carries the same packets without. Nothing binds to an address that was not named.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is where sockets and the clock meet the engines"
)]

mod clock;
mod driver;
mod sockets;

pub use clock::{Clock, os_seed};
pub use driver::Driver;
pub use sockets::{BindError, Sockets};
