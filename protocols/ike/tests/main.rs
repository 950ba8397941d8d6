//! All integration tests of this crate in one program, so that it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests: they may fail and say why"
)]

mod capture_files;
mod captures;
mod codec;
mod codec_v1;
mod collisions;
mod corpus;
mod exchanges;
mod greedy;
mod hostile;
mod hostile_responder;
mod lossy;
mod neighbours;
mod overheard_v1;
mod support;
mod v1;
mod v1_captures;
mod v1_fuzz;
mod v1_vectors;
mod vectors;
