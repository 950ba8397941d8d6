//! What is tried in EAP: a method of the catalogue, and for those inside TLS its version. [`eap_rows!`](crate::eap_rows) is the
//! one list of what is tried; the tests of every chain of peers and the table in `RESULTS.md` follow it. What a method is called
//! in node files and by foreign daemons, the catalogue says.

use std::fmt;

pub use keytoll_eap::methods::peap::Binding;
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::identity::{Imsi, permanent};
use keytoll_scenario::catalogue::EapMethod;
use keytoll_scenario::catalogue::eap::Proof;

use crate::lab::Node;

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
    /// Where the EAP server is: the AAA server, or the gateway itself.
    pub server: Node,
}

impl Login {
    /// With the right password; the gateway asks for the identity only if that of IKE will not do.
    pub fn new(method: Method) -> Self {
        let asks_identity = method.card().is_some();
        let (proposed, password, sqn) = (method, PASSWORD, 0);
        let (resumption, names, server) = (false, true, Node::Aaa);
        Self { method, proposed, password, asks_identity, sqn, resumption, names, server }
    }

    /// To an EAP server of the gateway's own.
    #[must_use]
    pub const fn at_gateway(self) -> Self {
        Self { server: Node::Gw, ..self }
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

/// A method, and how it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// What the catalogue says of it.
    pub eap: &'static EapMethod,
    /// The version of TLS, if there is any.
    pub tls: Option<Version>,
    /// PEAP: what both sides want of Cryptobinding.
    pub binding: Option<Binding>,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// Hands every row, as the name of a test and a [`Method`], to the macro `$each`, after `($more)`.
#[macro_export]
macro_rules! eap_rows {
    ($each:ident($($more:tt)*)) => {
        $each! { ($($more)*)
            md5: plain("md5"),
            mschapv2: plain("mschapv2"),
            gtc: plain("gtc"),
            sim: plain("sim"),
            aka: plain("aka"),
            aka_prime: plain("aka-prime"),
            tls_1_2: over(Version::Tls12, "tls"),
            tls_1_3: over(Version::Tls13, "tls"),
            ttls_pap_1_2: over(Version::Tls12, "ttls-pap"),
            ttls_pap_1_3: over(Version::Tls13, "ttls-pap"),
            ttls_mschapv2_1_2: over(Version::Tls12, "ttls-mschapv2"),
            ttls_mschapv2_1_3: over(Version::Tls13, "ttls-mschapv2"),
            ttls_eap_md5_1_2: over(Version::Tls12, "ttls-md5"),
            ttls_eap_md5_1_3: over(Version::Tls13, "ttls-md5"),
            ttls_eap_mschapv2_1_2: over(Version::Tls12, "ttls-eap-mschapv2"),
            ttls_eap_mschapv2_1_3: over(Version::Tls13, "ttls-eap-mschapv2"),
            peap_unbound_1_2: bound(Binding::Off, Version::Tls12, "peap-mschapv2"),
            peap_unbound_1_3: bound(Binding::Off, Version::Tls13, "peap-mschapv2"),
            peap_1_2: bound(Binding::Optional, Version::Tls12, "peap-mschapv2"),
            peap_1_3: bound(Binding::Optional, Version::Tls13, "peap-mschapv2"),
            peap_bound_1_2: bound(Binding::Required, Version::Tls12, "peap-mschapv2"),
            peap_bound_1_3: bound(Binding::Required, Version::Tls13, "peap-mschapv2"),
            peap_gtc_1_2: bound(Binding::Optional, Version::Tls12, "peap-gtc"),
            peap_gtc_1_3: bound(Binding::Optional, Version::Tls13, "peap-gtc"),
        }
    };
}

macro_rules! as_list {
    (() $($name:ident: $way:ident($($part:expr),*),)*) => {
        vec![$(Method::$way($($part),*)),*]
    };
}

/// One test for each row; each calls `$run` with its method.
#[macro_export]
macro_rules! eap_tests {
    (($run:expr) $($name:ident: $way:ident($($part:expr),*),)*) => { $(
        #[test]
        fn $name() {
            #[allow(unused_imports, reason = "rows without TLS need none of them")]
            use $crate::eap::{Binding, Version};
            ($run)($crate::eap::Method::$way($($part),*));
        }
    )* };
}

impl Method {
    /// All rows.
    pub fn all() -> Vec<Self> {
        eap_rows!(as_list())
    }

    /// A method without TLS.
    ///
    /// # Panics
    /// If the catalogue has none of this name.
    pub fn plain(name: &str) -> Self {
        let eap = EapMethod::named(name).unwrap_or_else(|| panic!("there is no EAP method {name}"));
        Self { eap, tls: None, binding: None }
    }

    /// A method inside TLS.
    ///
    /// # Panics
    /// As [`Method::plain`].
    pub fn over(version: Version, name: &str) -> Self {
        Self { tls: Some(version), ..Self::plain(name) }
    }

    /// A method inside PEAP.
    ///
    /// # Panics
    /// As [`Method::plain`].
    pub fn bound(binding: Binding, version: Version, name: &str) -> Self {
        Self { binding: Some(binding), ..Self::over(version, name) }
    }

    /// Whether a certificate proves the device.
    pub fn has_certificate(self) -> bool {
        self.eap.proof == Proof::Certificate
    }

    /// How it uses the subscriber's card, if it does.
    pub fn card(self) -> Option<Flavour> {
        match self.eap.name {
            "sim" => Some(Flavour::Sim),
            "aka" => Some(Flavour::Aka),
            "aka-prime" => Some(Flavour::AkaPrime),
            _ => None,
        }
    }

    /// Whether it leaves a key that RADIUS carries to the gateway.
    pub fn makes_key(self) -> bool {
        !matches!(self.eap.name, "md5" | "gtc")
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

/// `EAP-MD5`, `EAP-TTLS with PAP, TLS 1.2`, `PEAP with GTC, Cryptobinding optional, TLS 1.3`
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.eap.title)?;
        if let Some(binding) = self.binding {
            write!(f, ", Cryptobinding {}", wanted(binding))?;
        }
        self.tls.map_or(Ok(()), |version| write!(f, ", {version}"))
    }
}

const fn wanted(binding: Binding) -> &'static str {
    match binding {
        Binding::Off => "off",
        Binding::Optional => "optional",
        Binding::Required => "required",
    }
}

#[cfg(test)]
mod tests {
    use keytoll_scenario::catalogue::EAP_METHODS;

    use super::*;

    #[test]
    fn every_method_of_the_catalogue_is_tried() {
        let rows = Method::all();
        for eap in EAP_METHODS {
            let tried: Vec<_> = rows.iter().filter(|row| row.eap == eap).collect();
            assert!(!tried.is_empty(), "no row tries {eap:?}");
            assert!(tried.iter().all(|row| row.tls.is_some() == eap.has_tls), "{tried:?}");
            assert!(tried.iter().all(|row| row.card().is_some() == eap.has_card()), "{tried:?}");
        }
    }

    #[test]
    fn every_row_has_a_title_of_its_own() {
        let mut titles: Vec<_> = Method::all().iter().map(ToString::to_string).collect();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), Method::all().len());
    }
}
