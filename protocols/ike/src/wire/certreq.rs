//! Certificate Request payload, RFC 7296 §3.7.
//!
//!   Encoding(1) Certification Authority(*)   for X.509: SHA-1 hashes of the trust anchors' SubjectPublicKeyInfo, 20 each

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::CertEncoding;

/// A request for certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateRequest<'a> {
    /// The requested kind of certificate.
    pub encoding: CertEncoding,
    authorities: &'a [u8],
}

/// Bytes of a SHA-1 hash.
const HASH_LEN: usize = 20;

impl<'a> CertificateRequest<'a> {
    /// Requests X.509 certificates under these trust anchors.
    pub fn x509(authorities: &'a [[u8; HASH_LEN]]) -> Self {
        Self { encoding: CertEncoding::X509_SIGNATURE, authorities: authorities.as_flattened() }
    }

    /// Hashes of the trust anchors' SubjectPublicKeyInfo; none for other encodings.
    pub fn authorities(&self) -> impl Iterator<Item = &'a [u8; HASH_LEN]> + use<'a> {
        let hashes = if Self::has_hashes(self.encoding) { self.authorities } else { &[] };
        hashes.as_chunks().0.iter()
    }

    const fn has_hashes(encoding: CertEncoding) -> bool {
        matches!(
            encoding,
            CertEncoding::X509_SIGNATURE
                | CertEncoding::HASH_AND_URL_X509
                | CertEncoding::HASH_AND_URL_X509_BUNDLE
        )
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let encoding = CertEncoding(r.u8("certificate encoding")?);
        let at = *r;
        let authorities = r.rest();
        if Self::has_hashes(encoding) && !authorities.len().is_multiple_of(HASH_LEN) {
            return Err(at.error("certification authority", Problem::Length(authorities.len() as u64)));
        }
        Ok(Self { encoding, authorities })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u8(self.encoding.0);
        w.bytes(self.authorities);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::PayloadType;
    use crate::wire::Payload;
    use crate::wire::payload::read_chain;
    use crate::wire::testing::check_codec;
    use proptest::prelude::*;

    #[test]
    fn half_a_hash_is_refused() {
        let bytes = [&[0, 0, 0, 24, 4][..], &[7; 19]].concat();
        let error = read_chain(PayloadType::CERTREQ, &mut Reader::new(&bytes)).unwrap_err();
        assert_eq!(error.to_string(), "certification authority at offset 5: length 19 does not fit");
    }

    proptest! {
        #[test]
        fn round_trip(hashes: Vec<[u8; HASH_LEN]>) {
            let request = CertificateRequest::x509(&hashes);
            prop_assert!(request.authorities().eq(&hashes));
            check_codec(&Payload::CertificateRequest(request));
        }
    }
}
