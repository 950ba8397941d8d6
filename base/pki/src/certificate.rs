//! The parts of a certificate that an engine needs. Read RFC 5280 §4.1, §4.2.1.6 and RFC 4945 §5.1.3 first.

use keytoll_crypto_api::credentials::{AlternativeName, CertificateError, PeerCertificate};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

use crate::{der, distinguished_name};

/// RSA keys outside these bounds are refused: shorter ones are broken, longer ones cost the verifier too much.
pub(crate) const RSA_BITS: std::ops::RangeInclusive<usize> = 1024..=8192;

/// Extracts key and names from a certificate, without trusting it.
///
/// # Errors
/// `Malformed` for anything but exactly one certificate; `NotAcceptable` for a key that may not sign for IKE.
pub fn describe(certificate: &[u8]) -> Result<PeerCertificate, CertificateError> {
    let certificate = parse(certificate)?;
    check_key(&certificate)?;
    Ok(PeerCertificate {
        spki: certificate.public_key().raw.to_vec(),
        subject: certificate.subject().as_raw().to_vec(),
        subject_text: distinguished_name::text(certificate.subject()).unwrap_or_default(),
        alternatives: alternatives(&certificate)?,
    })
}

/// Parses exactly one certificate.
pub(crate) fn parse(certificate: &[u8]) -> Result<X509Certificate<'_>, CertificateError> {
    match X509Certificate::from_der(certificate) {
        Ok((&[], certificate)) => Ok(certificate),
        _ => Err(CertificateError::Malformed),
    }
}

fn check_key(certificate: &X509Certificate<'_>) -> Result<(), CertificateError> {
    let usage = certificate.key_usage().map_err(|_| CertificateError::Malformed)?;
    // RFC 4945 §5.1.3.2: a KeyUsage without digitalSignature and nonRepudiation forbids signing for IKE.
    if usage.is_some_and(|usage| !usage.value.digital_signature() && !usage.value.non_repudiation()) {
        return Err(CertificateError::NotAcceptable);
    }
    match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) if !RSA_BITS.contains(&der::bit_length(key.modulus)) => {
            Err(CertificateError::NotAcceptable)
        }
        Ok(_) => Ok(()),
        Err(_) => Err(CertificateError::Malformed),
    }
}

fn alternatives(certificate: &X509Certificate<'_>) -> Result<Vec<AlternativeName>, CertificateError> {
    let extension = certificate.subject_alternative_name().map_err(|_| CertificateError::Malformed)?;
    let names = extension.map(|extension| extension.value.general_names.as_slice());
    Ok(names.unwrap_or_default().iter().filter_map(alternative).collect())
}

/// The name, if IKE has an identity type for it.
fn alternative(name: &GeneralName<'_>) -> Option<AlternativeName> {
    match name {
        GeneralName::DNSName(name) => Some(AlternativeName::Dns((*name).to_owned())),
        GeneralName::RFC822Name(name) => Some(AlternativeName::Email((*name).to_owned())),
        GeneralName::IPAddress(bytes) if matches!(bytes.len(), 4 | 16) => {
            Some(AlternativeName::Ip(bytes.to_vec()))
        }
        _ => None,
    }
}
