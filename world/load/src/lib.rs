//! Load on real targets: devices that begin when a schedule wants them to, whatever becomes of those before (an open loop). Delays
//! count from the intended start, so that a slow target cannot hide behind a generator that waits for it.
//!
//! ```text
//!   schedule --> Caller (an engine: when to begin, to give up, to leave) --> Callers of hosts: the protocol
//!                  '--> Tally --a second each--> run(): all workers together --> Watch (terminal, files), Outcome
//!   a worker: one thread, one keytoll_live::Driver, few sockets
//! ```
//!
//! The generator measures itself: how late starts were, and its own CPU. A second in which it was late or busy says so.

mod account;
mod agenda;
mod caller;
mod discards;
mod limits;
mod run;
mod starts;
mod tally;
pub mod target;
mod worker;

pub use account::account;
pub use caller::{Caller, Course, NO_DEVICE, Order, Stay, TOO_LATE, Visits};
pub use discards::Discards;
pub use limits::{LimitError, check as check_limits};
pub use run::{Build, Load, Outcome, Refused, Second, Totals, Watch, Worker, run};
pub use starts::{Starts, Times};
pub use tally::{Counts, LATE_MAX, Tally};
