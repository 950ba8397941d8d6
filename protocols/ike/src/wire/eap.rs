//! Extensible Authentication Protocol payload, RFC 7296 §3.16 and RFC 3748 §4.
//!
//!   Code(1) Identifier(1) Length(2) Data(Length - 4)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// A message of an EAP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eap<'a> {
    /// The whole EAP message, its header included.
    pub message: &'a [u8],
}

/// Bytes of the EAP header.
const HEADER_LEN: usize = 4;

impl<'a> Eap<'a> {
    // RFC 7296 §3.16: the EAP length is four less than the length of the encapsulating payload.
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut inside = *r;
        let message = r.rest();
        inside.skip(2, "EAP code and identifier")?;
        let at = inside;
        let length = inside.u16("EAP length")?;
        if usize::from(length) != message.len() || message.len() < HEADER_LEN {
            return Err(at.error("EAP length", Problem::Length(length.into())));
        }
        Ok(Self { message })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(self.message);
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
    fn an_eap_length_that_contradicts_the_payload_is_refused() {
        let bytes = [0, 0, 0, 9, 1, 7, 0, 6, 1];
        let error = read_chain(PayloadType::EAP, &mut Reader::new(&bytes)).unwrap_err();
        assert_eq!(error.to_string(), "EAP length at offset 6: length 6 does not fit");
    }

    proptest! {
        #[test]
        fn round_trip(code: u8, identifier: u8, data in proptest::collection::vec(any::<u8>(), 0..300)) {
            let [high, low] = u16::try_from(data.len() + 4).unwrap().to_be_bytes();
            let message = [&[code, identifier, high, low], &data[..]].concat();
            check_codec(&Payload::Eap(Eap { message: &message }));
        }
    }
}
