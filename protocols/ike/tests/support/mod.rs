//! Two IKEv2 endpoints on a table, in virtual time: [`bench`] carries their datagrams, [`ladder`] draws what they say,
//! [`books`] knows which SAs their events leave them with, [`conversation`] has what they may talk about, and [`lab`] their
//! configurations.
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
