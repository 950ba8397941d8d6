//! What packets cost a host that answers an echo request: with IPsec around them, stage by stage, and without.

use std::borrow::Cow;

/// One echo request that was processed twice: as a whole, and stage by stage, which takes longer. In ticks of the cycle
/// counter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PacketCost {
    /// The block of the run in which it was measured, from 0.
    pub block: u32,
    /// From the packet on the wire to the request; 0 without IPsec.
    pub inbound_ticks: u64,
    /// From the request to the answer.
    pub echo_ticks: u64,
    /// From the answer to the packet on the wire; 0 without IPsec.
    pub outbound_ticks: u64,
    /// The stages of the way in, in the order in which they ended; one may be there twice.
    pub inbound: Vec<StageCost>,
    /// The stages of the way out, likewise.
    pub outbound: Vec<StageCost>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageCost {
    /// Its name, e.g. `replay check`.
    pub stage: Cow<'static, str>,
    /// Without what reading the clock takes.
    pub ticks: u64,
}
