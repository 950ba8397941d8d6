//! What can be wrong on purpose, so that one can see and measure what each failure costs.

use super::facet::{CARD, EAP, Facet, PASSWORD, SERVER_CERTIFICATE, SHARED_KEY, USIM};
use super::{Entry, Method};

/// One thing that is wrong in every authentication of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The device has another shared key than the gateway.
    WrongPsk,
    /// The device has another password than the AAA server.
    WrongPassword,
    /// The device's card has another key than the subscriber database.
    WrongSimKey,
    /// The card has seen higher sequence numbers than the subscriber database knows of.
    SqnOutOfRange,
    /// The device agrees to no method that the AAA server proposes.
    NoCommonMethod,
    /// The certificate shown to the device is past its date.
    ExpiredCertificate,
    /// The certificate shown to the device is on its issuer's revocation list.
    RevokedCertificate,
    /// The certificate shown to the device comes from an authority that it does not know.
    UnknownCa,
    /// The certificate shown to the device is somebody else's.
    WrongName,
    /// Gateway and AAA server do not share their secret.
    RadiusWrongSecret,
    /// The AAA server does not know the gateway.
    RadiusUnknownClient,
    /// The AAA server never answers.
    AaaSilent,
    /// The HSS never answers.
    HssDown,
    /// The HSS does not know the subscriber.
    UnknownSubscriber,
    /// Nobody looks at the checksums of UDP: what a link damages reaches the engines.
    ChecksumsIgnored,
}

impl Fault {
    /// Every fault, in the order of the catalogue.
    pub const ALL: [Self; 15] = [
        Self::WrongPsk,
        Self::WrongPassword,
        Self::WrongSimKey,
        Self::SqnOutOfRange,
        Self::NoCommonMethod,
        Self::ExpiredCertificate,
        Self::RevokedCertificate,
        Self::UnknownCa,
        Self::WrongName,
        Self::RadiusWrongSecret,
        Self::RadiusUnknownClient,
        Self::AaaSilent,
        Self::HssDown,
        Self::UnknownSubscriber,
        Self::ChecksumsIgnored,
    ];

    /// The name used in scenarios and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrongPsk => "wrong-psk",
            Self::WrongPassword => "wrong-password",
            Self::WrongSimKey => "wrong-sim-key",
            Self::SqnOutOfRange => "sqn-out-of-range",
            Self::NoCommonMethod => "no-common-method",
            Self::ExpiredCertificate => "expired-certificate",
            Self::RevokedCertificate => "revoked-certificate",
            Self::UnknownCa => "unknown-ca",
            Self::WrongName => "wrong-name",
            Self::RadiusWrongSecret => "radius-wrong-secret",
            Self::RadiusUnknownClient => "radius-unknown-client",
            Self::AaaSilent => "aaa-silent",
            Self::HssDown => "hss-down",
            Self::UnknownSubscriber => "unknown-subscriber",
            Self::ChecksumsIgnored => "checksums-ignored",
        }
    }

    /// Whether it makes a difference to a method.
    pub fn concerns(self, method: &Method) -> bool {
        self.needs().is_none_or(|facet| method.has(facet))
    }

    /// Whether no authentication can succeed. After a resynchronisation of sequence numbers one can, and after a
    /// damaged message was repeated.
    pub const fn is_fatal(self) -> bool {
        !matches!(self, Self::SqnOutOfRange | Self::ChecksumsIgnored)
    }

    /// Whether it is in the certificate that is shown to the device.
    pub fn is_of_certificate(self) -> bool {
        self.needs() == Some(&SERVER_CERTIFICATE)
    }

    /// Whether it is a wrong key, with which null crypto agrees as with every other.
    pub const fn is_wrong_key(self) -> bool {
        matches!(self, Self::WrongPsk | Self::WrongPassword | Self::WrongSimKey | Self::RadiusWrongSecret)
    }

    /// What a method must have for it to mean something; none: nothing but messages.
    pub(crate) fn needs(self) -> Option<&'static Facet> {
        match self {
            Self::WrongPsk => Some(&SHARED_KEY),
            Self::WrongPassword => Some(&PASSWORD),
            Self::WrongSimKey | Self::HssDown | Self::UnknownSubscriber => Some(&CARD),
            Self::SqnOutOfRange => Some(&USIM),
            Self::ExpiredCertificate | Self::RevokedCertificate | Self::UnknownCa | Self::WrongName => {
                Some(&SERVER_CERTIFICATE)
            }
            Self::NoCommonMethod | Self::RadiusWrongSecret | Self::RadiusUnknownClient | Self::AaaSilent => {
                Some(&EAP)
            }
            Self::ChecksumsIgnored => None,
        }
    }

    const fn summary(self) -> &'static str {
        match self {
            Self::WrongPsk => "the device has another shared key than the other side",
            Self::WrongPassword => "the device has another password than the AAA server",
            Self::WrongSimKey => "the card has another key than the subscriber database",
            Self::SqnOutOfRange => "the card is ahead of the database: succeeds after resynchronisation",
            Self::NoCommonMethod => "the device refuses every EAP method that is proposed",
            Self::ExpiredCertificate => "the certificate shown to the device is past its date",
            Self::RevokedCertificate => {
                "the certificate shown to the device is on its issuer's revocation list"
            }
            Self::UnknownCa => "the device does not know who issued the certificate it is shown",
            Self::WrongName => "the certificate shown to the device is somebody else's",
            Self::RadiusWrongSecret => {
                "the AAA server and its client, gateway or access point, do not share their secret"
            }
            Self::RadiusUnknownClient => "the AAA server does not know its client, gateway or access point",
            Self::AaaSilent => "nothing reaches the AAA server",
            Self::HssDown => "nothing reaches the HSS",
            Self::UnknownSubscriber => "the HSS does not know the subscriber",
            Self::ChecksumsIgnored => "what a link damages (`corrupt`) reaches both ends",
        }
    }

    const fn source(self) -> &'static str {
        match self {
            Self::WrongPsk => "RFC 7296 §2.15",
            Self::WrongPassword => "RFC 3748 §4.2",
            Self::WrongSimKey => "RFC 4186 §6.3, RFC 4187 §6.3",
            Self::SqnOutOfRange => "RFC 4187 §3, TS 33.102 §6.3.5",
            Self::NoCommonMethod => "RFC 3748 §5.3.1",
            Self::ExpiredCertificate | Self::UnknownCa => "RFC 5280 §6.1",
            Self::RevokedCertificate => "RFC 5280 §6.3",
            Self::WrongName => "RFC 4945 §5.1, RFC 5216 §5.2",
            Self::RadiusWrongSecret => "RFC 3579 §3.2",
            Self::RadiusUnknownClient => "RFC 2865 §3",
            Self::AaaSilent => "RFC 5080 §2.2.1",
            Self::HssDown => "RFC 6733 §5.5",
            Self::UnknownSubscriber => "TS 29.273 §8.1.2.1.2",
            Self::ChecksumsIgnored => "RFC 768",
        }
    }

    /// How the list shows it.
    pub(super) fn entry(self) -> Entry {
        Entry {
            name: self.name().to_owned(),
            summary: self.summary().to_owned(),
            source: self.source().to_owned(),
            standing: "",
        }
    }
}
