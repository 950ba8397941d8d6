//! SA payloads as text in strongSwan's notation: each transform is a suite. RFC 2408 §3.5, §3.6.

use super::number::AuthenticationMethod;
use super::proposal::{Phase1Transform, Phase2Transform};
use super::wire::SecurityAssociation;
use crate::number::ProtocolId;

/// At most so many transforms are shown; the others are counted.
const TRANSFORMS_SHOWN: usize = 3;

/// The suites of an SA payload: `aes128-prfsha1-modp1024 or …`, `ESP aes128-sha1 SPI 0x…`.
pub fn transforms(sa: &SecurityAssociation<'_>) -> String {
    let suites = suites(sa);
    match child_of(sa) {
        Some((_, spi)) => format!("{suites} SPI {spi:#010x}"),
        None => suites,
    }
}

/// The protocol and SPI that an SA payload is for; `None` for an ISAKMP SA.
fn child_of(sa: &SecurityAssociation<'_>) -> Option<(ProtocolId, u32)> {
    let first = sa.proposals().next()?;
    Some((first.protocol, first.child_spi()?)).filter(|(protocol, _)| *protocol != ProtocolId::IKE)
}

/// The same without the SPI: `ESP aes128-sha1`.
pub fn suites(sa: &SecurityAssociation<'_>) -> String {
    let suites = sa.proposals().flat_map(|proposal| {
        let is_ike = proposal.protocol == ProtocolId::IKE;
        proposal.transforms().map(move |transform| {
            let suite = if is_ike {
                Phase1Transform::read(&transform).map(|transform| transform.to_suite())
            } else {
                Phase2Transform::read(&transform).map(|transform| transform.to_suite())
            };
            suite.map_or_else(|| format!("transform {}", transform.id), |suite| suite.to_string())
        })
    });
    let mut words = suites.clone().take(TRANSFORMS_SHOWN).collect::<Vec<_>>().join(" or ");
    let more = suites.count().saturating_sub(TRANSFORMS_SHOWN);
    if more > 0 {
        words += &format!(" or {more} more");
    }
    match child_of(sa) {
        Some((protocol, _)) => format!("{protocol} {words}"),
        None => words,
    }
}

/// The same, in phase 1 with the offered authentication methods.
pub fn offer(sa: &SecurityAssociation<'_>) -> String {
    let ours = sa.proposals().filter(|proposal| proposal.protocol == ProtocolId::IKE);
    let understood =
        ours.flat_map(|proposal| proposal.transforms()).filter_map(|one| Phase1Transform::read(&one));
    let mut methods: Vec<AuthenticationMethod> = understood.map(|transform| transform.method).collect();
    methods.sort_unstable();
    methods.dedup();
    let methods = methods.iter().take(TRANSFORMS_SHOWN).map(ToString::to_string).collect::<Vec<_>>();
    if methods.is_empty() { transforms(sa) } else { format!("{} by {}", transforms(sa), methods.join(", ")) }
}
