//! Two IKEv2 endpoints on a table, in virtual time: [`bench`] carries their datagrams, [`ladder`] draws what they say,
//! [`books`] knows which SAs their events leave them with, and [`lab`] has their configurations.
//! Read RFC 7296 §1.2–§1.4 for what the ladders mean.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(unused_imports, reason = "each test binary uses its own part")]

pub(crate) mod bench;
pub(crate) mod books;
pub(crate) mod lab;
pub(crate) mod ladder;
pub(crate) mod mutants;
pub(crate) mod responder;
pub(crate) mod storm;

pub(crate) use bench::{Bench, Fault, Side, Weather};
pub(crate) use books::Books;
pub(crate) use ladder::check;
