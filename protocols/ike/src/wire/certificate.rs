//! Certificate payload, RFC 7296 §3.6.
//!
//!   Encoding(1) Certificate Data(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::number::CertEncoding;

/// A certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate<'a> {
    /// The encoding of the data.
    pub encoding: CertEncoding,
    /// The certificate, DER for [`CertEncoding::X509_SIGNATURE`].
    pub data: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// A DER certificate that signs.
    pub const fn x509(der: &'a [u8]) -> Self {
        Self { encoding: CertEncoding::X509_SIGNATURE, data: der }
    }

    pub(crate) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let encoding = CertEncoding(r.u8("certificate encoding")?);
        Ok(Self { encoding, data: r.rest() })
    }

    pub(crate) fn write(&self, w: &mut Writer) {
        w.u8(self.encoding.0);
        w.bytes(self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;
    use crate::wire::testing::{check_codec, with_generic_header};
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let payload = Payload::Certificate(Certificate::x509(&[0x30, 0]));
        assert_eq!(with_generic_header(&payload), [0, 0, 0, 7, 4, 0x30, 0]);
    }

    proptest! {
        #[test]
        fn round_trip(encoding: u8, data: Vec<u8>) {
            check_codec(&Payload::Certificate(Certificate { encoding: CertEncoding(encoding), data: &data }));
        }
    }
}
