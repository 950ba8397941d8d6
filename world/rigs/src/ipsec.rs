//! IPsec settings of a plan, for every technology whose SAs use ESP.

use keytoll_esp::lifetime::{Lifetime, Limit};
use keytoll_hosts::SaLimits;
use keytoll_scenario::plan;

/// Converts the limits of child SAs.
pub(crate) fn sa_limits(limits: plan::SaLimits) -> SaLimits {
    let limit = |bytes: Option<u64>, packets: Option<u64>| Limit {
        bytes: bytes.unwrap_or(u64::MAX),
        packets: packets.unwrap_or(u64::MAX),
    };
    let lifetime = Lifetime {
        soft: limit(limits.rekey_bytes, limits.rekey_packets),
        hard: limit(limits.life_bytes, limits.life_packets),
    };
    SaLimits { lifetime, replay_window: limits.replay_window }
}
