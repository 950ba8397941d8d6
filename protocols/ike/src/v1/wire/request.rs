//! Certificate Request payload, RFC 2408 §3.10.
//!
//!   Certificate Type(1) Certificate Authority(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::number::CertEncoding;

/// A request for certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateRequest<'a> {
    /// The kind of certificate.
    pub encoding: CertEncoding,
    /// The DER Name of an authority; empty: any.
    pub authority: &'a [u8],
}

impl<'a> CertificateRequest<'a> {
    // RFC 2408 §3.10: if no specific authority is requested, the field should not be included.
    /// X.509 certificates of any authority.
    pub const ANY: Self = Self { encoding: CertEncoding::X509_SIGNATURE, authority: &[] };

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { encoding: CertEncoding(r.u8("certificate type")?), authority: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.u8(self.encoding.0);
        w.bytes(self.authority);
    }
}
