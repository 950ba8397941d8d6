//! Every integration test of this crate as one program, so that it is linked once.

mod capture;
mod chain;
mod driver;
mod emulator;
mod hosts;
mod interface;
mod memory;
mod pair;
mod radius_streams;
mod secured;
mod streams;
