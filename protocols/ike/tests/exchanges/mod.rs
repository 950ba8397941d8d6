//! Every exchange between two peers, and every way it can be refused, drawn as ladders.
//! Read RFC 7296 §1.2–§1.4, §2.6–§2.9, §2.15, §2.19, §2.21 and §2.23, RFC 4478, RFC 6023, RFC 7383 and RFC 7427 first.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a test: it may fail and say why"
)]

mod certificates;
mod children;
mod eap;
mod endings;
mod initial;
mod many;
mod nat;
mod refusals;
mod rekeying;
mod unproved;
