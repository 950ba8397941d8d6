//! The simulator with toy hosts: the arithmetic of links, the queues of nodes, and determinism.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../no_crypto/mod.rs"]
mod no_crypto;

mod air;
mod comings;
mod determinism;
mod grid;
mod links;
mod nodes;
mod passing;
mod toy;
