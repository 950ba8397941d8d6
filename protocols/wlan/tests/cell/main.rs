//! Stations and an access point that exchange frames: every kind of network, wrong keys, losses, floods and forgeries.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cell;
mod challenges;
mod costs;
mod forgeries;
mod losses;
mod networks;
mod returns;
mod roaming;
mod rounds;
