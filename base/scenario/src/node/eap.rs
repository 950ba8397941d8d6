//! EAP methods and the TLS inside some of them, as devices and AAA servers name them.

use super::Placed;
use super::connection::{CertificatePlan, RootsPlan, certificate, roots};
use super::files::Files;
use crate::diagnostic::ScenarioError;
use crate::plan::{Tls, TlsVersion};
use crate::resolve::values::{eap_fragment, tls_version};
use crate::tree::{Item, Table};

/// An EAP method, with what goes on inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EapMethod {
    /// MD5-Challenge (RFC 3748 §5.4).
    Md5,
    /// MSCHAPv2 (RFC 2759).
    MschapV2,
    /// Generic Token Card (RFC 3748 §5.6), the password itself.
    Gtc,
    /// EAP-SIM (RFC 4186).
    Sim,
    /// EAP-AKA (RFC 4187).
    Aka,
    /// EAP-AKA′ (RFC 9048).
    AkaPrime,
    /// EAP-TLS (RFC 5216, RFC 9190).
    Tls,
    /// TTLS (RFC 5281) with the password as an attribute.
    TtlsPap,
    /// TTLS with MS-CHAP-V2 as attributes.
    TtlsMschapV2,
    /// TTLS with EAP-MD5.
    TtlsMd5,
    /// TTLS with EAP-MSCHAPv2.
    TtlsEapMschapV2,
    /// PEAPv0 (\[MS-PEAP\]) with EAP-MSCHAPv2.
    PeapMschapV2,
}

impl EapMethod {
    /// Every method.
    pub const ALL: [Self; 12] = [
        Self::Md5,
        Self::MschapV2,
        Self::Gtc,
        Self::Sim,
        Self::Aka,
        Self::AkaPrime,
        Self::Tls,
        Self::TtlsPap,
        Self::TtlsMschapV2,
        Self::TtlsMd5,
        Self::TtlsEapMschapV2,
        Self::PeapMschapV2,
    ];

    /// As node files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::MschapV2 => "mschapv2",
            Self::Gtc => "gtc",
            Self::Sim => "sim",
            Self::Aka => "aka",
            Self::AkaPrime => "aka-prime",
            Self::Tls => "tls",
            Self::TtlsPap => "ttls-pap",
            Self::TtlsMschapV2 => "ttls-mschapv2",
            Self::TtlsMd5 => "ttls-md5",
            Self::TtlsEapMschapV2 => "ttls-eap-mschapv2",
            Self::PeapMschapV2 => "peap-mschapv2",
        }
    }

    /// Whether a card proves the subscriber.
    pub const fn has_card(self) -> bool {
        matches!(self, Self::Sim | Self::Aka | Self::AkaPrime)
    }

    /// Whether TLS is part of it.
    pub const fn has_tls(self) -> bool {
        matches!(self, Self::Tls) || self.has_tunnel()
    }

    /// Whether TLS protects another proof.
    pub const fn has_tunnel(self) -> bool {
        matches!(
            self,
            Self::TtlsPap | Self::TtlsMschapV2 | Self::TtlsMd5 | Self::TtlsEapMschapV2 | Self::PeapMschapV2
        )
    }

    // RFC 5998 §4: mutual authentication, keys, and nothing to guess a password by.
    /// Whether it is safe where nothing but itself proves who the other side is.
    pub const fn proves_server(self) -> bool {
        self.has_card() || self.has_tls()
    }

    /// Whether a password proves the user.
    pub const fn has_password(self) -> bool {
        !self.has_card() && !matches!(self, Self::Tls)
    }
}

/// What PEAP does about the peers of its tunnel and of the method inside being the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cryptobinding {
    /// Nothing.
    Off,
    /// Prove it if the other side does.
    Optional,
    /// Insist.
    Required,
}

impl Cryptobinding {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Off, Self::Optional, Self::Required];

    /// As node files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

/// `[tls]`: TLS inside EAP.
#[derive(Debug, Clone)]
pub struct TlsPlan {
    /// Our certificate and key.
    pub credential: Option<CertificatePlan>,
    /// Whose certificates we believe.
    pub roots: Option<RootsPlan>,
    /// Device: the name in the server's certificate.
    pub server_name: Option<String>,
    /// The versions spoken, from and to.
    pub versions: (TlsVersion, TlsVersion),
    /// TLS messages travel in pieces of so many bytes.
    pub fragment_bytes: u16,
    /// Whether a conversation may continue an earlier one.
    pub resumption: bool,
    /// Of PEAP.
    pub cryptobinding: Cryptobinding,
}

const KEYS: &[&str] = &[
    "certificate",
    "key",
    "roots",
    "crls",
    "server_name",
    "versions",
    "fragment",
    "resumption",
    "cryptobinding",
];

/// One method or several, in order.
pub(super) fn methods(item: &Item) -> Result<Vec<EapMethod>, ScenarioError> {
    item.some_elements("method")?.iter().map(method).collect()
}

fn method(item: &Item) -> Result<EapMethod, ScenarioError> {
    item.pick("EAP method", &EapMethod::ALL, EapMethod::name)
}

/// `[tls]`, which must be there for methods with TLS.
pub(super) fn tls(
    document: &Table,
    methods: &[EapMethod],
    files: &mut Files,
) -> Result<Option<Placed<TlsPlan>>, ScenarioError> {
    let Some(item) = document.get("tls") else {
        let needs = methods.iter().find(|method| method.has_tls());
        return needs.map_or(Ok(None), |method| {
            let message = format!("EAP method `{}` needs a table `[tls]`", method.name());
            Err(document.spot.error(message, "`[tls]` is missing"))
        });
    };
    read(item.table()?, files).map(|plan| Some(Placed::new(plan, item)))
}

fn read(table: &Table, files: &mut Files) -> Result<TlsPlan, ScenarioError> {
    table.only("`tls`", KEYS)?;
    let default = Tls::default();
    Ok(TlsPlan {
        credential: if table.get("certificate").or(table.get("key")).is_some() {
            Some(certificate(table, files)?)
        } else {
            None
        },
        roots: roots(table, files)?,
        server_name: table
            .or("server_name", None, |item| item.text("a name").map(|name| Some(name.into())))?,
        versions: table.or("versions", (TlsVersion::Tls12, TlsVersion::Tls13), versions)?,
        fragment_bytes: table.or("fragment", default.fragment_bytes, eap_fragment)?,
        resumption: table.or("resumption", default.resumption, Item::boolean)?,
        cryptobinding: table.or("cryptobinding", Cryptobinding::Optional, |item| {
            item.pick("way of cryptobinding", &Cryptobinding::ALL, Cryptobinding::name)
        })?,
    })
}

/// One version, or both.
pub(super) fn versions(item: &Item) -> Result<(TlsVersion, TlsVersion), ScenarioError> {
    let versions = item.some_elements("version")?.iter().map(tls_version).collect::<Result<Vec<_>, _>>()?;
    let has = |version| versions.contains(&version);
    Ok(match (has(TlsVersion::Tls12), has(TlsVersion::Tls13)) {
        (true, true) => (TlsVersion::Tls12, TlsVersion::Tls13),
        (true, false) => (TlsVersion::Tls12, TlsVersion::Tls12),
        _ => (TlsVersion::Tls13, TlsVersion::Tls13),
    })
}
