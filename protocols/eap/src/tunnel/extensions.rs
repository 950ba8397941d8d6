//! EAP Extensions, the message type that ends PEAPv0 inside its tunnel: draft-kamath-pppext-peapv0 §2,
//! \[MS-PEAP\] §2.2.4 (TLVs) and §2.2.8.1. Other documents call it EAP-TLV.

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::tunnel::binding::{BINDING_LEN, CryptoBinding};

/// \[MS-PEAP\] §2.2.4: M, a receiver that does not know the TLV must report it.
const MANDATORY: u16 = 0x8000;
/// \[MS-PEAP\] §2.2.4: the 14 bits of the type; the bit between them and M is reserved.
const KIND: u16 = 0x3fff;

/// \[MS-PEAP\] §2.2.8.1.2.
const RESULT: u16 = 3;
/// draft-josefsson-pppext-eap-tls-eap §4.3.4.
const NAK: u16 = 4;
/// \[MS-PEAP\] §2.2.8.1.1.
const CRYPTO_BINDING: u16 = 12;

/// Bytes of type and length in front of a value.
pub(crate) const HEADER_LEN: usize = 4;

/// One side's result of the whole conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// 1.
    Success,
    /// 2.
    Failure,
}

/// The type data of a message. \[MS-PEAP\] §2.2.4:  (M(1 bit) R(1 bit) TLV_Type(14 bits) Length(2) Value(*))*
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Result TLV.
    pub result: Option<Verdict>,
    /// Cryptobinding TLV.
    pub binding: Option<CryptoBinding>,
    /// The first unknown mandatory TLV.
    pub unknown: Option<u16>,
}

impl Extensions {
    /// A result, with a Cryptobinding TLV if there is one.
    pub const fn verdict(verdict: Verdict, binding: Option<CryptoBinding>) -> Self {
        Self { result: Some(verdict), binding, unknown: None }
    }

    /// Reads type data.
    ///
    /// # Errors
    /// A TLV is truncated, or its length does not fit.
    pub fn read(data: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(data);
        let mut extensions = Self::default();
        while !r.is_empty() {
            extensions.read_tlv(&mut r)?;
        }
        Ok(extensions)
    }

    fn read_tlv(&mut self, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        let (at, mut whole) = (*r, *r);
        let kind = r.u16("TLV type")?;
        let length = usize::from(r.u16("TLV length")?);
        let mut value = r.sub(length, "TLV value")?;
        match kind & KIND {
            RESULT => once(&mut self.result, read_verdict(&mut value)?, &at),
            CRYPTO_BINDING if length + HEADER_LEN == BINDING_LEN => {
                once(&mut self.binding, CryptoBinding::from(whole.array("Cryptobinding TLV")?), &at)
            }
            CRYPTO_BINDING => Err(at.error("Cryptobinding TLV", Problem::Length(length as u64))),
            other => {
                if kind & MANDATORY != 0 {
                    self.unknown.get_or_insert(other);
                }
                Ok(())
            }
        }
    }

    /// Writes type data; the Result TLV first, where FreeRADIUS expects it.
    pub fn write(&self) -> Vec<u8> {
        let mut w = Writer::default();
        if let Some(verdict) = self.result {
            w.u16(MANDATORY | RESULT);
            w.u16(2);
            w.u16(if verdict == Verdict::Success { 1 } else { 2 });
        }
        if let Some(binding) = &self.binding {
            w.bytes(binding.as_bytes());
        }
        w.finish()
    }
}

fn read_verdict(value: &mut Reader<'_>) -> Result<Verdict, DecodeError> {
    let at = *value;
    let verdict = match value.u16("TLV result")? {
        1 => Verdict::Success,
        2 => Verdict::Failure,
        other => return Err(at.error("TLV result", Problem::Value(other.into()))),
    };
    value.end("Result TLV")?;
    Ok(verdict)
}

fn once<T>(slot: &mut Option<T>, value: T, at: &Reader<'_>) -> Result<(), DecodeError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(at.error("TLV type", Problem::Repeated)),
    }
}

/// The answer to an unknown mandatory TLV. draft-josefsson-pppext-eap-tls-eap §4.3.4:  Vendor-Id(4) NAK-Type(2)
pub(crate) fn nak(kind: u16) -> Vec<u8> {
    let mut w = Writer::default();
    w.u16(MANDATORY | NAK);
    w.u16(6);
    w.u32(0);
    w.u16(kind);
    w.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    #[test]
    fn a_success_is_what_freeradius_sends() {
        let success = Extensions::verdict(Verdict::Success, None);
        assert_eq!(success.write(), [0x80, 3, 0, 2, 0, 1]);
        assert_eq!(Extensions::read(&[0x80, 3, 0, 2, 0, 1]), Ok(success));
        assert_eq!(Extensions::verdict(Verdict::Failure, None).write(), [0x80, 3, 0, 2, 0, 2]);
        assert_eq!(nak(7), [0x80, 4, 0, 6, 0, 0, 0, 0, 0, 7]);
    }

    #[test]
    fn truncated_extensions_are_refused() {
        let binding = [&[0, 12, 0, 56][..], &[7; 56]].concat();
        let whole = Extensions {
            result: Some(Verdict::Success),
            binding: Some(CryptoBinding::from(<[u8; BINDING_LEN]>::try_from(binding).unwrap())),
            unknown: None,
        };
        let bytes = whole.write();
        assert_eq!(Extensions::read(&bytes), Ok(whole));
        for len in (1..bytes.len()).filter(|len| *len != 6) {
            let error = Extensions::read(&bytes[..len]).unwrap_err();
            assert!(["TLV type", "TLV length", "TLV value"].contains(&error.field), "{len}: {error}");
        }
    }

    #[test]
    fn bad_fields_are_named() {
        let check = |bytes: &str, text| {
            assert_eq!(Extensions::read(&hex(bytes)).unwrap_err().to_string(), text);
        };
        check("8003 0002 0003", "TLV result at offset 4: value 3 is not allowed");
        check("8003 0003 000100", "Result TLV at offset 6: 1 bytes left over");
        check("8003 0001 00", "TLV result at offset 4: needs 2 bytes, 1 are left");
        check("8003 0002 0001 8003 0002 0002", "TLV type at offset 6: occurs twice");
        check("000c 0002 0000", "Cryptobinding TLV at offset 0: length 2 does not fit");
    }

    #[test]
    fn unknown_tlvs_matter_if_they_are_mandatory() {
        let read = |bytes: &str| Extensions::read(&hex(bytes)).unwrap();
        assert_eq!(read("0007 0001 ff 8003 0002 0001"), Extensions::verdict(Verdict::Success, None));
        assert_eq!(read("8007 0000 8008 0000").unknown, Some(7));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..150)) {
            if let Ok(extensions) = Extensions::read(&bytes) {
                let again = Extensions { unknown: None, ..extensions };
                prop_assert_eq!(Extensions::read(&again.write()), Ok(again));
            }
        }
    }
}
