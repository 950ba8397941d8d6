//! Options of TLS inside EAP.

use keytoll_crypto_api::algorithm::KeyKind;

use super::{BOOLEAN, Setting, field, quoted};
use crate::catalogue::facet::TLS;
use crate::quantity;
use crate::resolve::values::{eap_fragment, tls_version};
use crate::tree::Item;

/// TLS inside EAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tls {
    /// The version that both sides support.
    pub version: TlsVersion,
    /// The kind of the keys in the certificates of both sides; for IKE the method determines it.
    pub key: KeyKind,
    /// The longest EAP packet in bytes; longer TLS messages are fragmented (RFC 5216 §2.1.5).
    pub fragment_bytes: u16,
    /// Whether later authentications of a row resume the first one's session (RFC 5216 §2.1.2, RFC 9190 §2.1.3).
    pub resumption: bool,
}

impl Tls {
    /// Kinds of keys in deployed certificates for TLS.
    pub const KEYS: [KeyKind; 3] = [KeyKind::Rsa2048, KeyKind::Rsa3072, KeyKind::EcdsaP256];
}

impl Default for Tls {
    /// What current software offers first; 1024 bytes is FreeRADIUS' `fragment_size`.
    fn default() -> Self {
        Self { version: TlsVersion::Tls13, key: KeyKind::Rsa2048, fragment_bytes: 1024, resumption: false }
    }
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl TlsVersion {
    /// Both versions.
    pub const ALL: [Self; 2] = [Self::Tls12, Self::Tls13];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        }
    }
}

/// Every key, in the order in which it is printed.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting::new(
        "tls",
        &["1.2", "1.3"],
        "version of TLS inside EAP",
        field!(options.tls.version, tls_version, |version| quoted(version.name())),
    )
    .of(&TLS),
    Setting::new(
        "tls_key",
        &["rsa2048", "rsa3072", "ecdsa-p256"],
        "kind of key in the certificates of TLS",
        field!(options.tls.key, |item| item.pick("kind of key", &Tls::KEYS, KeyKind::name), |kind| quoted(
            kind.name()
        )),
    )
    .of(&TLS),
    Setting::new(
        "eap_fragment",
        &["256 B to 3500 B"],
        "longest EAP packet with a fragment of TLS",
        field!(options.tls.fragment_bytes, eap_fragment, |bytes| quoted(&quantity::size((*bytes).into()))),
    )
    .of(&TLS),
    Setting::new(
        "resumption",
        BOOLEAN,
        "sessions of TLS are resumed",
        field!(options.tls.resumption, Item::boolean, ToString::to_string),
    )
    .of(&TLS),
];
