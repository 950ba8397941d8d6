//! All integration tests of this crate in one program, so that it is linked once.

mod authorities;
mod chains;
mod common;
mod files;
mod revocation;
