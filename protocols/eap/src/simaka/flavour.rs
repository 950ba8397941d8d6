//! The differences between EAP-SIM (RFC 4186), EAP-AKA (RFC 4187) and EAP-AKA′ (RFC 9048) that fit in a table.

use keytoll_crypto_api::algorithm::{Hash, Prf};

/// One of the three methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flavour {
    /// EAP-SIM: GSM triplets.
    Sim,
    /// EAP-AKA: UMTS quintuplets.
    Aka,
    /// EAP-AKA′: quintuplets whose keys are bound to the access network.
    AkaPrime,
}

impl Flavour {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Sim, Self::Aka, Self::AkaPrime];

    /// The EAP method type.
    pub const fn method_type(self) -> u8 {
        match self {
            Self::Sim => 18,
            Self::Aka => 23,
            Self::AkaPrime => 50,
        }
    }

    /// First characters of permanent, pseudonym and fast re-authentication user names (TS 23.003 §19.3.2 to §19.3.5).
    pub const fn prefixes(self) -> [char; 3] {
        match self {
            Self::Aka => ['0', '2', '4'],
            Self::Sim => ['1', '3', '5'],
            Self::AkaPrime => ['6', '7', '8'],
        }
    }

    /// The function of AT_MAC, truncated to 16 bytes (RFC 4186 §10.14, RFC 9048 §3.1).
    pub const fn mac(self) -> Prf {
        match self {
            Self::Sim | Self::Aka => Prf::HmacSha1,
            Self::AkaPrime => Prf::HmacSha256,
        }
    }

    /// The hash of AT_CHECKCODE (RFC 4187 §10.13, RFC 9048 §3.1).
    pub const fn checkcode(self) -> Hash {
        match self {
            Self::Sim | Self::Aka => Hash::Sha1,
            Self::AkaPrime => Hash::Sha256,
        }
    }

    /// Length of K_aut in bytes.
    pub const fn k_aut_len(self) -> usize {
        match self {
            Self::Sim | Self::Aka => 16,
            Self::AkaPrime => 32,
        }
    }

    /// The subtype of the message that requests an identity: SIM/Start, AKA-Identity.
    pub const fn identity_subtype(self) -> u8 {
        match self {
            Self::Sim => subtype::SIM_START,
            Self::Aka | Self::AkaPrime => subtype::AKA_IDENTITY,
        }
    }

    /// The subtype of the challenge message.
    pub const fn challenge_subtype(self) -> u8 {
        match self {
            Self::Sim => subtype::SIM_CHALLENGE,
            Self::Aka | Self::AkaPrime => subtype::AKA_CHALLENGE,
        }
    }
}

/// Subtypes (RFC 4186 §11, RFC 4187 §11).
pub mod subtype {
    /// AKA-Challenge.
    pub const AKA_CHALLENGE: u8 = 1;
    /// AKA-Authentication-Reject.
    pub const AKA_AUTHENTICATION_REJECT: u8 = 2;
    /// AKA-Synchronization-Failure.
    pub const AKA_SYNCHRONIZATION_FAILURE: u8 = 4;
    /// AKA-Identity.
    pub const AKA_IDENTITY: u8 = 5;
    /// SIM/Start.
    pub const SIM_START: u8 = 10;
    /// SIM/Challenge.
    pub const SIM_CHALLENGE: u8 = 11;
    /// Notification, of all three.
    pub const NOTIFICATION: u8 = 12;
    /// Re-authentication, of all three.
    pub const REAUTHENTICATION: u8 = 13;
    /// Client-Error, of all three.
    pub const CLIENT_ERROR: u8 = 14;
}
