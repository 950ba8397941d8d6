//! What HIP is doing, in the books of a meter.

use keytoll_crypto_api::Phase;

/// I1 and R1: what a responder computes for strangers.
pub(crate) const R1: Phase = Phase::new(10, "r1");
/// I2: the puzzle, the key agreement, the initiator's proof.
pub(crate) const I2: Phase = Phase::new(20, "i2");
/// R2: the responder's proof.
pub(crate) const R2: Phase = Phase::new(30, "r2");
/// AKA inside a diet exchange.
pub(crate) const AKA: Phase = Phase::new(35, "aka");
/// UPDATE.
pub(crate) const UPDATE: Phase = Phase::new(40, "update");
/// CLOSE and CLOSE_ACK.
pub(crate) const CLOSE: Phase = Phase::new(50, "close");
