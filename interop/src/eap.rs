//! What is tried in EAP: a method, and for those inside TLS its version. [`eap_rows!`] is the one list of them; the
//! arguments of `keytoll-live-peer`, the tests of every chain of peers and the table in `RESULTS.md` follow it.

use std::fmt;
use std::str::FromStr;

/// The user's identity, in IKE and in EAP.
pub const USER: &str = "ue@lab";
/// The user's password, unless a case wants a wrong one.
pub const PASSWORD: &str = "lab-eap-password";
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
}

impl Login {
    /// With the right password, and the identity of IKE.
    pub const fn new(method: Method) -> Self {
        Self { method, proposed: method, password: PASSWORD, asks_identity: false }
    }
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
    /// EAP-TLS, both sides with certificates.
    Tls(Version),
    /// EAP-TTLS, and what goes on inside.
    Ttls(Inside, Version),
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
            #[allow(unused_imports, reason = "rows without TLS need neither")]
            use $crate::eap::{Inside, Version};
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
            Self::Md5 | Self::MschapV2 | Self::Gtc => None,
            Self::Tls(version) | Self::Ttls(_, version) => Some(version),
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
            Self::Tls(version) => write!(f, "EAP-TLS, {version}"),
            Self::Ttls(inside, version) => write!(f, "TTLS with {inside}, {version}"),
        }
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
