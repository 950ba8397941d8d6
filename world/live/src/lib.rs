//! The live world: the engines the simulator drives, on UDP, TCP and raw IP sockets and the real clock.
//!
//! ```text
//!   sockets --batches--> Driver --> engine
//!      ^  deadline, command '         |
//!      '---------- datagrams <--------+--> events
//! ```
//!
//! One thread does everything: it waits for datagrams, the engine's deadline and the [`Waker`], in one system call. A
//! protocol directly on IP has a raw socket where one was asked for ([`Sockets::on_ip`]), which takes a privilege; ESP has none,
//! because UDP port 4500 (RFC 3948) carries the same packets without one, and what an engine sends for which there is no socket is
//! discarded and traced. Stations below IP speak through packet sockets ([`Sockets::on_links`]). Nothing binds to an address that was not named. A [`Tap`] sees everything that passes.
//!
//! Engines speak datagrams; those whose transport is TCP are messages of a stream here, one stream a peer ([`Streaming`]).
//! What an engine hears of streams is when one is lost, and whom it leads to if it is secured ([`keytoll_engine::channel::Secure`]). An [`Emulator`] puts the sim's links in front of the sockets.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is where sockets and the clock meet the engines"
)]

mod bind;
mod capture;
mod clock;
mod driver;
mod emulator;
mod guard;
mod inbox;
pub mod interface;
mod joined;
mod link;
mod memory;
mod raw;
mod route;
mod segments;
mod sockets;
mod streams;
mod tap;
mod udp;
mod wake;
mod wakes;

pub use bind::BindError;
pub use capture::{Beside, Capture, Captured};
pub use clock::Clock;
pub use driver::Driver;
pub use emulator::{Emulator, Path};
pub use guard::Panics;
pub use interface::{Interface, InterfaceError};
pub use link::{LinkError, OnLink};
pub use memory::{CORE_DUMPS, forbid_core_dumps, small_pages};
pub use raw::OnIp;
pub use route::{is_closed, local_towards};
pub use sockets::Sockets;
pub use streams::{MessageLength, Streaming};
pub use tap::{NoTap, Seen, Tap};
pub use udp::Recognise;
pub use wake::Waker;
pub use wakes::{PAUSES_US, WakeClass, WakeSums, Wakes};
