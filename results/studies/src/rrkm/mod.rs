//! A thesis on Round-Robin Key Management, chapter 4: what RRKM costs beside shared key authentication of IEEE 802.11 and beside EAP-TLS,
//! and, since nobody should use WEP any more, beside WPA2 and WPA3. `reference/protocols.md` §3 explains what of RRKM is
//! reconstructed.

mod algorithms;
mod cells;
#[cfg(test)]
mod example;
mod findings;
mod measured;
mod notes;
mod published;
mod tables;

use keytoll_trace::primitive::Timings;

use crate::Processors;
use crate::{CellWant, Scenario, Sheet, Study, Wants};
use measured::Measured;

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "rrkm",
    title: "RRKM beside IEEE 802.11, EAP-TLS, WPA2 and WPA3: operations, delay, bytes and new keys",
    source: SOURCE,
    scenario: Scenario { name: "rrkm", text: include_str!("../../../../scenarios/studies/rrkm.toml") },
    wants: Wants {
        rsa_rc4_sha1: OPERATIONS,
        cells: &CELLS,
        processors: &[Processors::Host],
        ..Wants::NOTHING
    },
    tables: |material| tables::tables(Measured(material)),
    findings: |material| findings::findings(Measured(material)),
    notes: |material| notes::notes(Measured(material)),
};

/// The paper.
const SOURCE: &str = "a thesis on Round-Robin Key Management (RRKM) for IEEE 802.11, whose author and year are not in the text we have: chapter 4, \
     OpenSSL 0.9.7b on a Pentium 4 Mobile at 2 GHz, and a MIPS at 125 MHz";

/// Its Table 4-1 alone, which needs only primitives.
pub fn sheet(timings: &Timings) -> Sheet {
    Sheet {
        title: "RSA, RC4 and SHA-1 over 114 bytes, 10 000 times each".to_owned(),
        source: SOURCE.to_owned(),
        tables: vec![algorithms::table(timings)],
        findings: algorithms::findings(timings),
        notes: algorithms::notes(timings),
        provenance: None,
    }
}

/// The paper's day of a hundred stations, which change their keys every minute; and the same for a few minutes with EAP-TLS, and with
/// WPA2, where the access point gives the group a new key.
const CELLS: [CellWant; 3] = [
    CellWant { method: RRKM.method, periods: 1440, is_charged: true, ..A_FEW_MINUTES },
    CellWant { method: EAP_TLS.method, ..A_FEW_MINUTES },
    CellWant { method: WPA2_PSK.method, ..A_FEW_MINUTES },
];
const A_FEW_MINUTES: CellWant = CellWant {
    method: "",
    stations: 100,
    periods: 10,
    periods_per_sample: 15,
    period_s: 60,
    is_charged: false,
};

/// What RRKM hashes with WEP-40, in bytes: key, number of the period, address.
pub const HASHED_BYTES: usize = 5 + 4 + 6;

/// Length of the input of Table 4-1, in bytes.
pub const BYTES: usize = 114;
/// How often its operations ran.
pub const OPERATIONS: u64 = 10_000;

/// A method of the paper, or a newer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Method {
    /// The paper's name, if it has one.
    label: &'static str,
    /// The catalogue's.
    method: &'static str,
}

const IEEE_802_11: Method = Method { label: "IEEE 802.11", method: "wep-shared-key" };
const RRKM: Method = Method { label: "RRKM", method: "rrkm" };
const EAP_TLS: Method = Method { label: "EAP-TLS", method: "dot1x-eap-tls" };

const WPA2_PSK: Method = Method { label: "WPA2-PSK", method: "wpa2-psk" };

/// Every method: the paper's in its order, then those of today.
const METHODS: [Method; 7] = [
    IEEE_802_11,
    RRKM,
    EAP_TLS,
    WPA2_PSK,
    Method { label: "WPA3-SAE", method: "wpa3-sae" },
    Method { label: "WPA2-EAP-TLS", method: "wpa2-eap-tls" },
    Method { label: "WPA3-EAP-TLS", method: "wpa3-eap-tls" },
];

/// The sides of an authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    AccessPoint,
    Station,
}

impl Side {
    const ALL: [Self; 2] = [Self::AccessPoint, Self::Station];

    /// The node.
    const fn node(self) -> &'static str {
        match self {
            Self::AccessPoint => "ap",
            Self::Station => "ue",
        }
    }

    /// Its name in the paper.
    const fn name(self) -> &'static str {
        match self {
            Self::AccessPoint => "AP",
            Self::Station => "STA",
        }
    }
}

/// How fast the processors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speed {
    /// As the scenario has them: the paper's MIPS.
    Mips,
    /// This machine's.
    Host,
}

impl Speed {
    const ALL: [Self; 2] = [Self::Mips, Self::Host];
}

/// Kinds of operations, as the paper's Table 4-2 has them, and what it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Wep,
    Hash,
    RsaPublic,
    RsaPrivate,
    Hmac,
    DiffieHellman,
    Curve,
    Aes,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Wep,
        Self::Hash,
        Self::RsaPublic,
        Self::RsaPrivate,
        Self::Hmac,
        Self::DiffieHellman,
        Self::Curve,
        Self::Aes,
    ];

    /// The kind of an operation; `None` for one that none of these methods has.
    fn of(operation: &str) -> Option<Self> {
        match operation {
            "stream" => Some(Self::Wep),
            "hash" | "compress" => Some(Self::Hash),
            "verify" | "rsa-encrypt" => Some(Self::RsaPublic),
            "sign" | "rsa-decrypt" => Some(Self::RsaPrivate),
            "prf" | "mac" | "verify-mac" => Some(Self::Hmac),
            "generate" | "agree" => Some(Self::DiffieHellman),
            "encrypt" | "decrypt" | "wrap" | "unwrap" | "block" => Some(Self::Aes),
            name => name.starts_with("ec-").then_some(Self::Curve),
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Wep => "WEP (RC4)",
            Self::Hash => "hash",
            Self::RsaPublic => "RSA, public key",
            Self::RsaPrivate => "RSA, private key",
            Self::Hmac => "HMAC, PRF",
            Self::DiffieHellman => "Diffie-Hellman",
            Self::Curve => "elliptic curve",
            Self::Aes => "AES",
        }
    }

    /// Whether it takes a key pair, or as long.
    const fn is_public_key(self) -> bool {
        matches!(self, Self::RsaPublic | Self::RsaPrivate | Self::DiffieHellman | Self::Curve)
    }
}
