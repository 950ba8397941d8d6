//! The two engines against each other, and each against an attacker.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod exchanges;
mod guessing;
mod hostile;
mod streams;
mod support;
