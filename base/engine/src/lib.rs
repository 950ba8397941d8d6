//! The vocabulary every protocol engine speaks, and the doors through which it meets the world.
//!
//! An [`Engine`] is a sans-I/O state machine: [`Input`]s go in, [`Output`]s come out, and
//! everything else it may know (time, crypto, a place to leave facts) is lent to it in a [`Ctx`] for the length of one
//! call. It reads no clock, opens no socket and asks no operating system for randomness.
//!
//! ```text
//!   Input::{Datagram, Command, Tick, …} --> handle(.., &mut Ctx) --> poll() --> Output::{Datagram, Event, …}
//!                                                               '--> deadline(): when it wants a Tick, and why
//! ```

pub mod channel;
pub mod datagram;
pub mod engine;
pub mod map;

pub use datagram::Datagram;
pub use engine::{Ctx, Deadline, Engine, Input, Output};
pub use keytoll_crypto_api::{Crypto, Rng, Seed};
pub use keytoll_net::{Addr, Socket, wire};
pub use keytoll_trace::{self as trace, Time};
