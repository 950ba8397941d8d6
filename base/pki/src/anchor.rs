//! One trusted certificate: as an authority if it is one, else only as itself. Read RFC 5280 §6.1.4 and RFC 5937 §3 first.

use keytoll_crypto_api::credentials::CertificateError;
use rustls_pki_types::{CertificateDer, TrustAnchor};
use webpki::anchor_from_trusted_cert;
use x509_parser::certificate::X509Certificate;

use crate::certificate;
use crate::trust::reason;

/// A trusted certificate.
pub(crate) struct Anchor {
    der: Vec<u8>,
    /// What it may sign; `None` if it is no authority.
    pub(crate) authority: Option<Powers>,
}

/// What an authority may sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Powers {
    /// How many intermediates may stand below it, self-issued ones not counted.
    pub(crate) path_length_max: Option<u32>,
    /// Whether it may sign revocation lists.
    pub(crate) signs_lists: bool,
}

impl Anchor {
    pub(crate) fn read(der: &[u8]) -> Result<Self, CertificateError> {
        let authority = powers(&certificate::parse(der)?)?;
        Ok(Self { der: der.to_vec(), authority })
    }

    /// Whether it is this certificate, byte for byte.
    pub(crate) fn is(&self, der: &[u8]) -> bool {
        self.der == der
    }

    /// Its name and key, for paths.
    pub(crate) fn trust_anchor(&self) -> Result<TrustAnchor<'static>, CertificateError> {
        let der = CertificateDer::from(self.der.as_slice());
        Ok(anchor_from_trusted_cert(&der).map_err(|error| reason(&error))?.to_owned())
    }
}

/// What a certificate may sign; `None` if nothing.
pub(crate) fn powers(certificate: &X509Certificate<'_>) -> Result<Option<Powers>, CertificateError> {
    let malformed = |_| CertificateError::Malformed;
    let constraints = certificate.basic_constraints().map_err(malformed)?;
    let usage = certificate.key_usage().map_err(malformed)?;
    // RFC 5280 §6.1.4: (k) an authority has cA in basicConstraints, for which version 1 has no room; (n) a KeyUsage, if there
    // is one, has keyCertSign.
    let Some(constraints) = constraints.filter(|constraints| constraints.value.ca) else { return Ok(None) };
    if usage.as_ref().is_some_and(|usage| !usage.value.key_cert_sign()) {
        return Ok(None);
    }
    Ok(Some(Powers {
        path_length_max: constraints.value.path_len_constraint,
        signs_lists: usage.is_none_or(|usage| usage.value.crl_sign()),
    }))
}
