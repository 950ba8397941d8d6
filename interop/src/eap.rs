//! What is tried in EAP: a method, and for those inside TLS its version. [`eap_rows!`](crate::eap_rows) is the one list
//! of them; the node files of keytoll, the tests of every chain of peers and the table in `RESULTS.md` follow
//! it.

use std::fmt;
use std::str::FromStr;

pub use keytoll_eap::methods::peap::Binding;
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::identity::{Imsi, permanent};

/// The user's identity, in IKE and in EAP.
pub const USER: &str = "ue@lab";
/// The user's password, unless a case wants a wrong one.
pub const PASSWORD: &str = "lab-eap-password";
/// The subscriber of the methods with a card: 001 and 01 are the test network of TS 23.122.
pub const IMSI: &str = "001010000000001";
/// The subscriber's realm.
pub const REALM: &str = "lab";
/// K and OPc of TS 35.208 §4.3, set 19.
pub const CARD_KEY: u128 = 0x5122_2502_14c3_3e72_3a5d_d523_fc14_5fc0;
/// See [`CARD_KEY`].
pub const CARD_OPC: u128 = 0x981d_464c_7c52_eb6e_5036_2349_84ad_0bcf;
/// What RADIUS clients share with their server.
pub const RADIUS_SECRET: &str = "lab-radius-secret";

/// How the device proves itself to an AAA server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login {
    /// The only method it agrees to.
    pub method: Method,
    /// What the server proposes first.
    pub proposed: Method,
    /// What it believes to be its password.
    pub password: &'static str,
    /// Whether the gateway asks for the EAP identity; otherwise it passes on the one of IKE.
    pub asks_identity: bool,
    /// The highest sequence number that the device's card has seen.
    pub sqn: u64,
    /// Whether a conversation in TLS may continue an earlier one.
    pub resumption: bool,
    /// Whether the AAA server says in its Access-Accept whom it has proved; hostapd does not.
    pub names: bool,
}

impl Login {
    /// With the right password; the gateway asks for the identity only if that of IKE will not do.
    pub const fn new(method: Method) -> Self {
        let asks_identity = method.card().is_some();
        let (proposed, password, sqn) = (method, PASSWORD, 0);
        Self { method, proposed, password, asks_identity, sqn, resumption: false, names: true }
    }

    /// To an AAA server that does not say whom it has proved.
    #[must_use]
    pub const fn nameless(self) -> Self {
        Self { names: false, ..self }
    }

    /// Who the device says it is in EAP.
    pub fn user(&self) -> String {
        match self.method.card() {
            Some(flavour) => permanent(flavour, subscriber(), REALM),
            None => USER.into(),
        }
    }
}

/// Whom [`IMSI`] with EAP-AKA is, to an AAA server.
pub fn card() -> String {
    permanent(Flavour::Aka, subscriber(), REALM)
}

/// [`IMSI`] as the methods know it.
///
/// # Panics
/// Never: it is a good one.
pub fn subscriber() -> Imsi {
    Imsi::parse(IMSI).expect("a literal IMSI")
}

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// MD5-Challenge.
    Md5,
    /// EAP-MSCHAPv2.
    MschapV2,
    /// Generic Token Card, here the password itself.
    Gtc,
    /// EAP-SIM.
    Sim,
    /// EAP-AKA.
    Aka,
    /// EAP-AKA′.
    AkaPrime,
    /// EAP-TLS, both sides with certificates.
    Tls(Version),
    /// EAP-TTLS, and what goes on inside.
    Ttls(Inside, Version),
    /// PEAPv0 with EAP-MSCHAPv2, and what both sides want of Cryptobinding.
    Peap(Binding, Version),
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// What proves the user inside a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// The password itself, as an attribute.
    Pap,
    /// MS-CHAP-V2, as attributes.
    MschapV2,
    /// EAP with MD5-Challenge.
    EapMd5,
    /// EAP with MSCHAPv2.
    EapMschapV2,
}

/// Hands every row, as the name of a test and a [`Method`], to the macro `$each`, after `($more)`.
#[macro_export]
macro_rules! eap_rows {
    ($each:ident($($more:tt)*)) => {
        $each! { ($($more)*)
            md5: Md5,
            mschapv2: MschapV2,
            gtc: Gtc,
            sim: Sim,
            aka: Aka,
            aka_prime: AkaPrime,
            tls_1_2: Tls(Version::Tls12),
            tls_1_3: Tls(Version::Tls13),
            ttls_pap_1_2: Ttls(Inside::Pap, Version::Tls12),
            ttls_pap_1_3: Ttls(Inside::Pap, Version::Tls13),
            ttls_mschapv2_1_2: Ttls(Inside::MschapV2, Version::Tls12),
            ttls_mschapv2_1_3: Ttls(Inside::MschapV2, Version::Tls13),
            ttls_eap_md5_1_2: Ttls(Inside::EapMd5, Version::Tls12),
            ttls_eap_md5_1_3: Ttls(Inside::EapMd5, Version::Tls13),
            ttls_eap_mschapv2_1_2: Ttls(Inside::EapMschapV2, Version::Tls12),
            ttls_eap_mschapv2_1_3: Ttls(Inside::EapMschapV2, Version::Tls13),
            peap_unbound_1_2: Peap(Binding::Off, Version::Tls12),
            peap_unbound_1_3: Peap(Binding::Off, Version::Tls13),
            peap_1_2: Peap(Binding::Optional, Version::Tls12),
            peap_1_3: Peap(Binding::Optional, Version::Tls13),
            peap_bound_1_2: Peap(Binding::Required, Version::Tls12),
            peap_bound_1_3: Peap(Binding::Required, Version::Tls13),
        }
    };
}

macro_rules! as_constant {
    (() $($name:ident: $method:ident $(($($part:expr),*))?,)*) => {
        &[$(Method::$method $(($($part),*))?),*]
    };
}

/// One test for each row; each calls `$run` with its method.
#[macro_export]
macro_rules! eap_tests {
    (($run:expr) $($name:ident: $method:ident $(($($part:expr),*))?,)*) => { $(
        #[test]
        fn $name() {
            #[allow(unused_imports, reason = "rows without TLS need none of them")]
            use $crate::eap::{Binding, Inside, Version};
            ($run)($crate::eap::Method::$method $(($($part),*))?);
        }
    )* };
}

impl Method {
    /// All rows.
    pub const ALL: &[Self] = eap_rows!(as_constant());

    /// The version of TLS, if there is any.
    pub const fn tls(self) -> Option<Version> {
        match self {
            Self::Tls(version) | Self::Ttls(_, version) | Self::Peap(_, version) => Some(version),
            _ => None,
        }
    }

    /// How it uses the subscriber's card, if it does.
    pub const fn card(self) -> Option<Flavour> {
        match self {
            Self::Sim => Some(Flavour::Sim),
            Self::Aka => Some(Flavour::Aka),
            Self::AkaPrime => Some(Flavour::AkaPrime),
            _ => None,
        }
    }

    /// Whether it leaves a key that RADIUS carries to the gateway.
    pub const fn makes_key(self) -> bool {
        !matches!(self, Self::Md5 | Self::Gtc)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
        })
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pap => "PAP",
            Self::MschapV2 => "MSCHAPv2",
            Self::EapMd5 => "EAP-MD5",
            Self::EapMschapV2 => "EAP-MSCHAPv2",
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Md5 => f.write_str("MD5"),
            Self::MschapV2 => f.write_str("MSCHAPv2"),
            Self::Gtc => f.write_str("GTC"),
            Self::Sim => f.write_str("SIM"),
            Self::Aka => f.write_str("AKA"),
            Self::AkaPrime => f.write_str("AKA'"),
            Self::Tls(version) => write!(f, "EAP-TLS, {version}"),
            Self::Ttls(inside, version) => write!(f, "TTLS with {inside}, {version}"),
            Self::Peap(binding, version) => write!(f, "PEAP, Cryptobinding {}, {version}", wanted(*binding)),
        }
    }
}

const fn wanted(binding: Binding) -> &'static str {
    match binding {
        Binding::Off => "off",
        Binding::Optional => "optional",
        Binding::Required => "required",
    }
}

/// A text that names no method.
#[derive(Debug, thiserror::Error)]
#[error("no EAP method is called {0:?}")]
pub struct UnknownMethod(String);

impl FromStr for Method {
    type Err = UnknownMethod;

    /// What [`fmt::Display`] writes.
    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let found = Self::ALL.iter().copied().find(|method| method.to_string() == text);
        found.ok_or_else(|| UnknownMethod(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_name_of_its_own() {
        for &method in Method::ALL {
            assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
        }
        assert_eq!("EAP".parse::<Method>().unwrap_err().to_string(), "no EAP method is called \"EAP\"");
    }
}
