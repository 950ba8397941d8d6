//! EAP methods in the files of devices and AAA servers, and the TLS inside some of them.

use super::Placed;
use super::connection::{CertificatePlan, RootsPlan, certificate, roots};
use super::files::Files;
use crate::catalogue::{EAP_METHODS, EapMethod};
use crate::diagnostic::ScenarioError;
use crate::plan::{Tls, TlsVersion};
use crate::resolve::values::{eap_fragment, tls_version};
use crate::tree::{Item, Table};

/// How PEAP uses cryptobinding, which proves that the tunnel and the inner method have the same peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cryptobinding {
    /// Nothing.
    Off,
    /// Use it if the peer does.
    Optional,
    /// Insist.
    Required,
}

impl Cryptobinding {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Off, Self::Optional, Self::Required];

    /// The name in node files.
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
    /// The trust anchors.
    pub roots: Option<RootsPlan>,
    /// Device: the expected name in the server's certificate.
    pub server_name: Option<String>,
    /// The versions spoken, from and to.
    pub versions: (TlsVersion, TlsVersion),
    /// The length of EAP-TLS fragments in bytes.
    pub fragment_bytes: u16,
    /// Whether TLS sessions may be resumed.
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

/// One method, or several in order of preference.
pub(super) fn methods(item: &Item) -> Result<Vec<&'static EapMethod>, ScenarioError> {
    item.some_elements("method")?.iter().map(method).collect()
}

fn method(item: &Item) -> Result<&'static EapMethod, ScenarioError> {
    item.pick("EAP method", &EAP_METHODS.iter().collect::<Vec<_>>(), |method| method.name)
}

/// `[tls]`, required for methods with TLS.
pub(super) fn tls(
    document: &Table,
    methods: &[&EapMethod],
    files: &mut Files,
) -> Result<Option<Placed<TlsPlan>>, ScenarioError> {
    let Some(item) = document.get("tls") else {
        let needs = methods.iter().find(|method| method.has_tls);
        return needs.map_or(Ok(None), |method| {
            let message = format!("EAP method `{}` needs a table `[tls]`", method.name);
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
