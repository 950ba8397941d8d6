//! Authentication payload, RFC 7296 §3.8, RFC 7427 §3.
//!
//!   Auth Method(1) Reserved(3) Authentication Data(*)

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::number::AuthMethod;

/// The proof of identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authentication<'a> {
    /// The authentication method.
    pub method: AuthMethod,
    /// A MIC or a signature; with [`AuthMethod::DIGITAL_SIGNATURE`] the algorithm comes first.
    pub data: &'a [u8],
}

impl<'a> Authentication<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let method = AuthMethod(r.u8("auth method")?);
        r.skip(3, "AUTH reserved")?;
        Ok(Self { method, data: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(&[self.method.0, 0, 0, 0]);
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
        let auth = Authentication { method: AuthMethod::SHARED_KEY_MIC, data: &[9] };
        assert_eq!(with_generic_header(&Payload::Authentication(auth)), [0, 0, 0, 9, 2, 0, 0, 0, 9]);
    }

    proptest! {
        #[test]
        fn round_trip(method: u8, data: Vec<u8>) {
            check_codec(&Payload::Authentication(Authentication { method: AuthMethod(method), data: &data }));
        }
    }
}
