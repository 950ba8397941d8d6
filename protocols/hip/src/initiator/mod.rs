//! What an initiator waits for: R1, then R2. RFC 7401 §6.6, §6.8, §6.10.
//!
//! ```text
//!   I1Sent --R1--> I2Sent --R2--> Established
//!                         '--R2 with a challenge--> AwaitsCard      (diet exchange with AKA)
//! ```

mod base;
pub(crate) mod diet;
mod i1;
pub(crate) mod i2;
pub(crate) mod r1;

pub(crate) use i1::{I1Sent, start};
pub(crate) use i2::I2Sent;

use crate::event::Reason;
use crate::protection::Doubt;

/// Why a packet leads nowhere.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Refusal {
    /// It is not believed, or not understood.
    Discard(Doubt),
    /// We cannot go on, as far as this packet says; another may say otherwise, unless this one is proved.
    Fail(Reason),
}

impl From<Doubt> for Refusal {
    fn from(doubt: Doubt) -> Self {
        Self::Discard(doubt)
    }
}

impl From<keytoll_net::wire::DecodeError> for Refusal {
    fn from(error: keytoll_net::wire::DecodeError) -> Self {
        Self::Discard(error.field)
    }
}
