//! Why a conversation failed, by names for analysis. Read RFC 8446 §6.2 first.

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

/// Why a session failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Failure {
    /// The other side's chain leads to none of our trust anchors.
    #[error("unknown certificate authority")]
    UnknownAuthority,
    /// A certificate of the other side has expired.
    #[error("expired certificate")]
    Expired,
    /// A certificate of the other side is not valid yet.
    #[error("certificate not yet valid")]
    NotYetValid,
    /// A certificate of the other side is on its issuer's revocation list.
    #[error("revoked certificate")]
    Revoked,
    /// Revocation lists are required, and no valid one covers the other side's certificate.
    #[error("no revocation list")]
    NoRevocationList,
    /// The revocation list of a certificate's issuer has expired.
    #[error("expired revocation list")]
    RevocationListExpired,
    /// A signature in the handshake is invalid.
    #[error("bad signature")]
    BadSignature,
    /// The other side's certificate has a valid path and the wrong name.
    #[error("certificate for another name")]
    WrongName,
    /// The other side's certificate is malformed, badly signed, or not acceptable.
    #[error("bad certificate")]
    BadCertificate,
    /// The other side has no certificate, and we require one.
    #[error("no certificate")]
    NoCertificate,
    /// No version of TLS in common.
    #[error("no common version")]
    Version,
    /// The other side does not have the extended master secret (RFC 7627), without which keys of EAP are not safe: RFC 9427 §2.1.
    #[error("no extended master secret (RFC 7627)")]
    MasterSecret,
    /// No cipher suite, group or signature scheme in common, or another required extension is missing.
    #[error("no common parameters")]
    Parameters,
    /// A message that cannot be read.
    #[error("malformed message")]
    Malformed,
    /// An unexpected message, or one with forbidden contents.
    #[error("protocol violation")]
    Violation,
    /// A record that does not decrypt.
    #[error("bad record")]
    BadRecord,
    /// More bytes than anybody needs.
    #[error("too long")]
    TooLong,
    /// The other side sent this fatal alert.
    #[error("alert {0} received")]
    Alert(Alert),
    /// Called too early, or after the end.
    #[error("not possible now")]
    NotNow,
    /// An error of rustls without a counterpart here.
    #[error("internal error")]
    Internal,
}

impl Failure {
    /// A name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownAuthority => "TLS unknown authority",
            Self::Expired => "TLS certificate expired",
            Self::NotYetValid => "TLS certificate not yet valid",
            Self::Revoked => "TLS certificate revoked",
            Self::NoRevocationList => "TLS no revocation list",
            Self::RevocationListExpired => "TLS revocation list expired",
            Self::BadSignature => "TLS bad signature",
            Self::WrongName => "TLS wrong name",
            Self::BadCertificate => "TLS bad certificate",
            Self::NoCertificate => "TLS no certificate",
            Self::Version => "TLS no common version",
            Self::MasterSecret => "TLS no extended master secret (RFC 7627)",
            Self::Parameters => "TLS no common parameters",
            Self::Malformed => "TLS malformed message",
            Self::Violation => "TLS protocol violation",
            Self::BadRecord => "TLS bad record",
            Self::TooLong => "TLS too long",
            Self::Alert(alert) => alert.failure_name(),
            Self::NotNow => "TLS not possible now",
            Self::Internal => "TLS internal error",
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(why) => certificate(&why),
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::PeerIncompatible(why) => incompatible(&why),
            Error::InvalidMessage(_) => Self::Malformed,
            Error::InappropriateMessage { .. }
            | Error::InappropriateHandshakeMessage { .. }
            | Error::PeerMisbehaved(_) => Self::Violation,
            Error::DecryptError => Self::BadRecord,
            Error::PeerSentOversizedRecord => Self::TooLong,
            Error::AlertReceived(alert) => Self::Alert(Alert::from(alert)),
            Error::HandshakeNotComplete => Self::NotNow,
            _ => Self::Internal,
        }
    }
}

fn certificate(why: &CertificateError) -> Failure {
    match why {
        CertificateError::UnknownIssuer => Failure::UnknownAuthority,
        CertificateError::Expired => Failure::Expired,
        CertificateError::NotValidYet => Failure::NotYetValid,
        CertificateError::Revoked => Failure::Revoked,
        CertificateError::UnknownRevocationStatus => Failure::NoRevocationList,
        CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => {
            Failure::RevocationListExpired
        }
        CertificateError::BadSignature => Failure::BadSignature,
        CertificateError::NotValidForName => Failure::WrongName,
        _ => Failure::BadCertificate,
    }
}

fn incompatible(why: &PeerIncompatible) -> Failure {
    match why {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::SupportedVersionsExtensionRequired
        | PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled
        | PeerIncompatible::Tls13RequiredForQuic => Failure::Version,
        PeerIncompatible::ExtendedMasterSecretExtensionRequired => Failure::MasterSecret,
        _ => Failure::Parameters,
    }
}

/// Declares the alerts once: number, name, and the name of the failure.
macro_rules! alerts {
    ($($variant:ident = $number:literal $name:literal),+ $(,)?) => {
        /// An alert, RFC 8446 §6; others are [`Alert::Other`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the names are those of RFC 8446 §6.2")]
        pub enum Alert { $($variant,)+ Other(u8) }

        impl Alert {
            /// The name in RFC 8446.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ Self::Other(_) => "unknown" }
            }

            const fn failure_name(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("TLS alert ", $name),)+
                    Self::Other(_) => "TLS alert unknown",
                }
            }
        }

        impl From<u8> for Alert {
            fn from(number: u8) -> Self {
                match number { $($number => Self::$variant,)+ other => Self::Other(other) }
            }
        }
    };
}

alerts! {
    CloseNotify = 0 "close_notify",
    UnexpectedMessage = 10 "unexpected_message",
    BadRecordMac = 20 "bad_record_mac",
    RecordOverflow = 22 "record_overflow",
    HandshakeFailure = 40 "handshake_failure",
    BadCertificate = 42 "bad_certificate",
    UnsupportedCertificate = 43 "unsupported_certificate",
    CertificateRevoked = 44 "certificate_revoked",
    CertificateExpired = 45 "certificate_expired",
    CertificateUnknown = 46 "certificate_unknown",
    IllegalParameter = 47 "illegal_parameter",
    UnknownCa = 48 "unknown_ca",
    AccessDenied = 49 "access_denied",
    DecodeError = 50 "decode_error",
    DecryptError = 51 "decrypt_error",
    ProtocolVersion = 70 "protocol_version",
    InsufficientSecurity = 71 "insufficient_security",
    InternalError = 80 "internal_error",
    UserCanceled = 90 "user_canceled",
    MissingExtension = 109 "missing_extension",
    UnsupportedExtension = 110 "unsupported_extension",
    UnrecognizedName = 112 "unrecognized_name",
    UnknownPskIdentity = 115 "unknown_psk_identity",
    CertificateRequired = 116 "certificate_required",
}

impl From<AlertDescription> for Alert {
    fn from(alert: AlertDescription) -> Self {
        Self::from(u8::from(alert))
    }
}

impl std::fmt::Display for Alert {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Other(number) => write!(f, "{number}"),
            named => f.pad(named.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustls::{InvalidMessage, PeerMisbehaved};

    use super::*;

    /// Analysis groups by these names, and operators act on them: each error of rustls has its own.
    #[test]
    fn every_error_has_a_name_of_its_own() {
        use CertificateError as Certificate;
        let invalid = Error::InvalidCertificate;
        let findings = [
            (invalid(Certificate::UnknownIssuer), Failure::UnknownAuthority, "TLS unknown authority"),
            (invalid(Certificate::Expired), Failure::Expired, "TLS certificate expired"),
            (invalid(Certificate::NotValidYet), Failure::NotYetValid, "TLS certificate not yet valid"),
            (invalid(Certificate::Revoked), Failure::Revoked, "TLS certificate revoked"),
            (
                invalid(Certificate::UnknownRevocationStatus),
                Failure::NoRevocationList,
                "TLS no revocation list",
            ),
            (
                invalid(Certificate::ExpiredRevocationList),
                Failure::RevocationListExpired,
                "TLS revocation list expired",
            ),
            (invalid(Certificate::BadSignature), Failure::BadSignature, "TLS bad signature"),
            (invalid(Certificate::NotValidForName), Failure::WrongName, "TLS wrong name"),
            (invalid(Certificate::BadEncoding), Failure::BadCertificate, "TLS bad certificate"),
            (Error::NoCertificatesPresented, Failure::NoCertificate, "TLS no certificate"),
            (
                Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered),
                Failure::Version,
                "TLS no common version",
            ),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                Failure::Parameters,
                "TLS no common parameters",
            ),
            (
                Error::PeerIncompatible(PeerIncompatible::ExtendedMasterSecretExtensionRequired),
                Failure::MasterSecret,
                "TLS no extended master secret (RFC 7627)",
            ),
            (
                Error::InvalidMessage(InvalidMessage::MissingKeyExchange),
                Failure::Malformed,
                "TLS malformed message",
            ),
            (
                Error::PeerMisbehaved(PeerMisbehaved::IllegalHelloRetryRequestWithEmptyCookie),
                Failure::Violation,
                "TLS protocol violation",
            ),
            (Error::DecryptError, Failure::BadRecord, "TLS bad record"),
            (Error::PeerSentOversizedRecord, Failure::TooLong, "TLS too long"),
            (
                Error::AlertReceived(AlertDescription::UnknownCA),
                Failure::Alert(Alert::UnknownCa),
                "TLS alert unknown_ca",
            ),
            (Error::HandshakeNotComplete, Failure::NotNow, "TLS not possible now"),
            (Error::EncryptError, Failure::Internal, "TLS internal error"),
        ];
        for (finding, failure, name) in findings {
            let found = Failure::from(finding.clone());
            assert_eq!((found, found.name()), (failure, name), "{finding}");
        }
    }

    #[test]
    fn an_alert_is_shown_by_its_name_or_its_number() {
        let shown = [Alert::from(48), Alert::from(200)].map(|alert| Failure::Alert(alert).to_string());
        assert_eq!(shown, ["alert unknown_ca received", "alert 200 received"]);
        assert_eq!(Failure::Alert(Alert::Other(200)).name(), "TLS alert unknown");
    }
}
