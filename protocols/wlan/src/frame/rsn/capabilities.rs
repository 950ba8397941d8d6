//! RSN Capabilities, 802.11-2020 §9.4.2.24.4.

use crate::bits::bits;

/// Bits of an RSNE, the least significant octet first on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RsnCapabilities(pub u16);

bits!(RsnCapabilities);

impl RsnCapabilities {
    /// Preauthentication.
    pub const PREAUTHENTICATION: Self = Self(1 << 0);
    /// MFPR: frames of management have to be protected.
    pub const PROTECTION_REQUIRED: Self = Self(1 << 6);
    /// MFPC: frames of management can be protected.
    pub const PROTECTION_CAPABLE: Self = Self(1 << 7);
    /// Pairwise keys may have the indexes 0 and 1.
    pub const EXTENDED_KEY_ID: Self = Self(1 << 13);

    /// How many replay counters there are for a pairwise key: 1, 2, 4 or 16.
    pub const fn pairwise_replay_counters(self) -> u8 {
        [1, 2, 4, 16][(self.0 >> 2 & 3) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_standard() {
        let capabilities = RsnCapabilities(0x00cc);
        assert!(
            capabilities.has(RsnCapabilities::PROTECTION_CAPABLE.with(RsnCapabilities::PROTECTION_REQUIRED))
        );
        assert!(!capabilities.has(RsnCapabilities::EXTENDED_KEY_ID));
        assert_eq!(capabilities.pairwise_replay_counters(), 16);
    }
}
