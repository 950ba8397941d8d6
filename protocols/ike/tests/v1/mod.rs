//! Every exchange between two peers of IKEv1, drawn as ladders, and faults in transit.
//! Read RFC 2409 §5, RFC 2408 §5, RFC 3706 and RFC 3947 first.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a test: it may fail and say why"
)]

pub(crate) mod configs;
mod crowds;
mod hostile;
mod lossy;
mod phase1;
mod quick;
mod storm;
mod unproved;
