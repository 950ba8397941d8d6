//! Two IKEv2 endpoints in virtual time: [`bench`] carries their datagrams, [`ladder`] draws the messages, [`books`] tracks the
//! SAs reported by their events, [`conversation`] has sequences of commands, and [`lab`] their configurations.
//! Read RFC 7296 §1.2–§1.4 for what the ladders mean.

pub(crate) mod bench;
pub(crate) mod books;
pub(crate) mod conversation;
pub(crate) mod lab;
pub(crate) mod ladder;
pub(crate) mod mistaken;
pub(crate) mod mutants;
pub(crate) mod responder;
pub(crate) mod responder_v1;
pub(crate) mod storm;

pub(crate) use bench::{Bench, Fault, Side, Weather};
pub(crate) use ladder::check;
