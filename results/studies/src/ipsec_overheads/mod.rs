//! Paper 004: Shue, Shin, Gupta, Choi, "Analysis of IPSec Overheads for VPN Servers" (2005). Read its §4; what its tables
//! leave out, and where they are inconsistent, is in `reference/protocols.md` §4.
//!
//! Openswan 2.3.1dr3 on Pentium 4s of 1.66 and 1.8 GHz, 25 trials: IKEv1 main and aggressive mode with RSA signatures and
//! shared keys, and ESP in tunnel mode, with 3DES-192, AES-128 and AES-256 and HMAC-MD5.

mod findings;
mod measured;
mod notes;
mod published;
mod tables;
#[cfg(test)]
mod tests;

use crate::{ProfileWant, Scenario, Study, Wants};

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "ipsec-overheads",
    title: "What IKEv1 and ESP cost a VPN server, with cryptography and without",
    source: "C. Shue, Y. Shin, M. Gupta, J. Y. Choi: Analysis of IPSec Overheads for VPN Servers (2005)",
    scenario: Scenario {
        name: "ipsec-overheads",
        text: include_str!("../../../../scenarios/studies/ipsec-overheads.toml"),
    },
    wants: Wants { profile: Some(PROFILE), ..Wants::NOTHING },
    tables: tables::tables,
    findings: findings::findings,
    notes: notes::notes,
};

/// The three encryption algorithms, each with MD5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cipher {
    TripleDes192,
    Aes128,
    Aes256,
}

impl Cipher {
    const ALL: [Self; 3] = [Self::TripleDes192, Self::Aes128, Self::Aes256];

    /// Its name in the paper.
    const fn name(self) -> &'static str {
        match self {
            Self::TripleDes192 => "3DES192",
            Self::Aes128 => "AES128",
            Self::Aes256 => "AES256",
        }
    }

    /// The first word of its suites, and a hyphen.
    const fn prefix(self) -> &'static str {
        match self {
            Self::TripleDes192 => "3des-",
            Self::Aes128 => "aes128-",
            Self::Aes256 => "aes256-",
        }
    }

    const fn place(self) -> usize {
        self as usize
    }
}

/// The suites for ESP, in the order of [`Cipher::ALL`].
const ESP_SUITES: [&str; 3] = ["3des-md5", "aes128-md5", "aes256-md5"];

/// The paper's 25 trials twice, for 16 blocks of three or more.
const PROFILE: ProfileWant = ProfileWant { times: 2, esp_suites: &ESP_SUITES };

/// The modes and authentications of phase 1 that the paper measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    MainRsa,
    MainPsk,
    AggressiveRsa,
}

impl Way {
    const ALL: [Self; 3] = [Self::MainRsa, Self::MainPsk, Self::AggressiveRsa];

    /// The method in the scenario.
    const fn method(self) -> &'static str {
        match self {
            Self::MainRsa => "ikev1-main-rsa",
            Self::MainPsk => "ikev1-main-psk",
            Self::AggressiveRsa => "ikev1-aggressive-rsa",
        }
    }

    /// In words.
    const fn name(self) -> &'static str {
        match self {
            Self::MainRsa => "main mode, signatures",
            Self::MainPsk => "main mode, shared key",
            Self::AggressiveRsa => "aggressive mode, signatures",
        }
    }
}
