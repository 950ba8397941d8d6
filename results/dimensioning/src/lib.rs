//! Sizing of gateways, AAA servers and HSSs: how many cores and bytes the devices of an operator need, from what was measured of
//! single authentications.
//!
//! ```text
//!   summary.json --> Work of each node ------.
//!                                             >--> Station: cores, utilisation, waits --> delay, head-room, what if …
//!   Question: devices, lifetimes, arrivals --'
//! ```
//!
//! * [`question`] is what an operator asks, and how many authentications a second that is.
//! * [`work`] is what an authentication takes of each node, on a processor of choice.
//! * [`station`] is a node as a queue, [`delay`] the delay of an authentication at several of them, [`storm`] a queue that grows.
//! * [`sized`] finds the cores; [`whatif`] asks the same again with something changed.
//! * `priced` is a node with messages that cost less under load, `daemon` one with the costs of a daemon.
//! * [`cookies`] is the additional round trip of a gateway with many half-open SAs.
//! * [`doubt`] is where numbers say less than they seem to, and [`outcome`] what it says.

pub mod cookies;
mod daemon;
pub mod delay;
pub mod doubt;
mod error;
mod loaded;
pub mod outcome;
mod priced;
pub mod question;
pub mod sized;
mod sound;
pub mod station;
pub mod storm;
pub mod whatif;
pub mod work;

pub use cookies::Cookies;
pub use daemon::DaemonAt;
pub use error::SizingError;
pub use outcome::Sizing;
pub use question::{Arrivals, Planned, Processor, Question, Run};
pub use sized::{assumptions, left_out, needed, size};
