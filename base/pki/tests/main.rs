//! Every integration test of this crate as one program, so that it is linked once.

mod authorities;
mod chains;
mod common;
mod files;
mod revocation;
