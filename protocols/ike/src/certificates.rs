//! Whether a certificate speaks for an identity, RFC 4945 §3.1.

use keytoll_engine::credentials::{AlternativeName, PeerCertificate};

use crate::number::IdKind;
use crate::wire::Identification;

/// RFC 4945 §3.1: the identity must be one the certificate speaks for.
pub(crate) fn owns(certificate: &PeerCertificate, id: &Identification<'_>) -> bool {
    if id.kind == IdKind::ID_DER_ASN1_DN {
        return certificate.subject == id.data;
    }
    certificate.alternatives.iter().any(|name| match name {
        AlternativeName::Dns(name) => {
            id.kind == IdKind::ID_FQDN && name.as_bytes().eq_ignore_ascii_case(id.data)
        }
        AlternativeName::Email(name) => {
            id.kind == IdKind::ID_RFC822_ADDR && name.as_bytes().eq_ignore_ascii_case(id.data)
        }
        AlternativeName::Ip(ip) => {
            matches!(id.kind, IdKind::ID_IPV4_ADDR | IdKind::ID_IPV6_ADDR) && ip == id.data
        }
    })
}
