//! The responder: R1 for whoever asks, kept for nobody, and I2. RFC 7401 §6.7, §6.9; appendix A of it is what the puzzles here
//! are made after.
//!
//!   #I = RHASH-MAC(secret, HIT-I ‖ HIT-R ‖ the initiator's address ‖ generation)
//!
//! So a solution says itself whether the puzzle was ours, and for how long it counts. R1s, with their key pairs and signatures,
//! are made once for each identity, group and generation.

mod base;
pub(crate) mod diet;
mod i2;
mod origins;
mod r1;
mod rate;
mod solutions;

pub(crate) use origins::Origins;
pub(crate) use r1::Responder;
