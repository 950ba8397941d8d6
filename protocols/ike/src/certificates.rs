//! Matching of certificates and identities, RFC 4945 §3.1.

use keytoll_crypto_api::credentials::{AlternativeName, PeerCertificate};

use crate::number::IdKind;
use crate::wire::{Identification, Identity};

/// RFC 4945 §3.1: whether the certificate contains the identity.
pub(crate) fn owns(certificate: &PeerCertificate, id: &Identification<'_>) -> bool {
    if id.kind == IdKind::ID_DER_ASN1_DN {
        return Identity::distinguished_name(&certificate.subject) == id.to_identity();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A configured distinguished name matches whatever string types the certificate uses.
    #[test]
    fn a_distinguished_name_is_the_certificate_s_in_every_type_of_string() {
        let name: Identity = "asn1dn:O=laboratory, CN=gw".parse().unwrap();
        let mut subject = name.data.clone();
        subject.iter_mut().filter(|octet| **octet == 0x0c).for_each(|tag| *tag = 0x13);
        assert_ne!(subject, name.data);
        let certificate = |subject| PeerCertificate {
            spki: Vec::new(),
            subject,
            subject_text: String::new(),
            alternatives: Vec::new(),
        };
        assert!(owns(&certificate(subject), &name.as_payload()));
        let other: Identity = "asn1dn:O=laboratory, CN=gw2".parse().unwrap();
        assert!(!owns(&certificate(other.data), &name.as_payload()));
    }

    /// A certificate covers the names in it, each kind of name for its own kind of identity, and nothing else.
    #[test]
    fn a_certificate_speaks_for_its_own_names_only() {
        let certificate = PeerCertificate {
            spki: Vec::new(),
            subject: b"subject".to_vec(),
            subject_text: String::new(),
            alternatives: vec![
                AlternativeName::Dns("gw.example.org".into()),
                AlternativeName::Email("ue@example.org".into()),
                AlternativeName::Ip(vec![192, 0, 2, 1]),
                AlternativeName::Ip(vec![0x20; 16]),
            ],
        };
        let (dns, email, v4, v6, dn) = (
            IdKind::ID_FQDN,
            IdKind::ID_RFC822_ADDR,
            IdKind::ID_IPV4_ADDR,
            IdKind::ID_IPV6_ADDR,
            IdKind::ID_DER_ASN1_DN,
        );
        let own = [
            (dns, &b"gw.example.org"[..]),
            (dns, b"GW.Example.ORG"),
            (email, b"ue@example.org"),
            (email, b"UE@example.org"),
            (v4, &[192, 0, 2, 1]),
            (v6, &[0x20; 16]),
            (dn, b"subject"),
        ];
        let kinds = [dns, email, v4, v6, dn, IdKind::ID_KEY_ID];
        for data in [
            &b"gw.example.org"[..],
            b"GW.Example.ORG",
            b"ue@example.org",
            b"UE@example.org",
            &[192, 0, 2, 1],
            &[0x20; 16],
            b"subject",
            b"Subject",
            b"other",
            b"",
        ] {
            for kind in kinds {
                // An address matches whatever its kind is called: its length tells IPv4 from IPv6.
                let is_address = matches!(kind, IdKind::ID_IPV4_ADDR | IdKind::ID_IPV6_ADDR)
                    && [4, 16].contains(&data.len())
                    && (data == [192, 0, 2, 1] || data == [0x20; 16]);
                let expected = own.contains(&(kind, data)) || is_address;
                assert_eq!(owns(&certificate, &Identification { kind, data }), expected, "{kind:?} {data:?}");
            }
        }
    }
}
