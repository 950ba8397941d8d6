//! Every integration test of this crate as one program, so that it is linked once.

mod chains;
mod common;
mod files;
