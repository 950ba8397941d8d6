//! What is overlooked in peers that depart from RFC 7401 and RFC 7402; nothing by default.
//!
//! Each item is something that an implementation was seen to do, and has to be asked for by its name. Where both sides compute the
//! same, overlooking it means to do it, too: with a peer that keeps the rule it ends in a failed exchange.

use crate::hit::Hit;
use crate::keymat::HipKeys;
use crate::number::ParameterType;

/// What is overlooked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leniency {
    /// Parameters are not in ascending order of their types (RFC 7401 §5.2.1); but what a MAC or a signature covers is before it.
    pub any_order: bool,
    /// A puzzle hashes the responder's HIT before the initiator's (RFC 7401 §4.1.2 has it the other way round).
    pub swapped_puzzle: bool,
    /// In I2 and R2 the host with the greater HIT computes HIP_MAC with the second integrity key (RFC 7401 §6.5: the first).
    /// Encryption keys, and integrity keys of what follows, are as they should be.
    pub swapped_integrity_keys: bool,
    /// The signature of R2 has the type of HIP_SIGNATURE_2 (RFC 7401 §5.3.4: HIP_SIGNATURE).
    pub r2_with_signature_2: bool,
    /// R1 is sent without R1_COUNTER, which RFC 7401 §5.2.3 says it should have, to initiators that cannot repeat it.
    pub no_r1_counter: bool,
    /// Kij enters the keying material without the zeros that it begins with (RFC 7401 §6.5: of its full length).
    pub short_kij: bool,
}

impl Leniency {
    /// Nothing.
    pub const NONE: Self = Self {
        any_order: false,
        swapped_puzzle: false,
        swapped_integrity_keys: false,
        r2_with_signature_2: false,
        no_r1_counter: false,
        short_kij: false,
    };

    /// The HITs of initiator and responder in the order in which a puzzle hashes them.
    pub(crate) const fn hashed(self, initiator: Hit, responder: Hit) -> (Hit, Hit) {
        if self.swapped_puzzle { (responder, initiator) } else { (initiator, responder) }
    }

    /// The keys of I2 and R2 from those of the association, or the other way round.
    pub(crate) fn keys(self, mut keys: HipKeys) -> HipKeys {
        if self.swapped_integrity_keys {
            std::mem::swap(&mut keys.outbound.integrity, &mut keys.inbound.integrity);
        }
        keys
    }

    /// The type of R2's signature.
    pub(crate) const fn r2_signature(self) -> ParameterType {
        if self.r2_with_signature_2 { ParameterType::HIP_SIGNATURE_2 } else { ParameterType::HIP_SIGNATURE }
    }

    /// Kij as the keying material takes it.
    pub(crate) fn kij(self, shared: &[u8]) -> &[u8] {
        let zeros = shared.iter().take_while(|octet| **octet == 0).count();
        if self.short_kij { &shared[zeros..] } else { shared }
    }
}
