//! The contract of every protocol engine: its inputs and outputs, and the context through which it meets the world.
//!
//! An [`Engine`] is a sans-I/O state machine: [`Input`]s go in, [`Output`]s come out. Everything else that it needs (time,
//! cryptography, a trace for facts) is lent to it in a [`Ctx`] for the length of one call. It reads no clock, opens no socket
//! and asks no operating system for randomness.
//!
//! ```text
//!   Input::{Datagram, Command, Tick, …} --> handle(.., &mut Ctx) --> poll() --> Output::{Datagram, Event, …}
//!                                                               '--> deadline(): when it needs a Tick, and why
//! ```

pub mod channel;
pub mod datagram;
pub mod engine;
pub mod few;
pub mod map;
pub mod sa;
pub mod sorted;

pub use datagram::Datagram;
pub use engine::{Ctx, Deadline, Engine, Input, Output};
pub use few::Few;
pub use keytoll_crypto_api::{Crypto, Rng, Seed};
pub use keytoll_net::{Addr, Socket, wire};
pub use keytoll_trace::{self as trace, Time};
pub use sorted::Sorted;
