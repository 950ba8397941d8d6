//! All the tests of this crate from outside in one binary: one linker run instead of one each.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod codec;
mod corpus;
mod responder;
