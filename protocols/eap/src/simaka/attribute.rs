//! Attributes on the wire. Read RFC 4186 §8.1 and §10, RFC 4187 §10, RFC 9048 §3.1, §3.2, §4 first.
//!
//! ```text
//!   Type(1) Length(1, in units of four bytes, these two included) Value(*)
//! ```
//!
//! Unknown types up to 127 must not be skipped; from 128 on they may.

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

/// One attribute, borrowing from the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute<'a> {
    /// AT_RAND: one or more challenges of 16 bytes.
    Rand(&'a [u8]),
    /// AT_AUTN.
    Autn([u8; 16]),
    /// AT_RES: 4 to 16 bytes.
    Res(&'a [u8]),
    /// AT_AUTS.
    Auts([u8; 14]),
    /// AT_PADDING: 2, 6 or 10 zeros after the header.
    Padding(usize),
    /// AT_NONCE_MT.
    NonceMt([u8; 16]),
    /// AT_PERMANENT_ID_REQ.
    PermanentIdReq,
    /// AT_MAC.
    Mac([u8; 16]),
    /// AT_NOTIFICATION.
    Notification(u16),
    /// AT_ANY_ID_REQ.
    AnyIdReq,
    /// AT_IDENTITY.
    Identity(&'a [u8]),
    /// AT_VERSION_LIST: two bytes per version.
    VersionList(&'a [u8]),
    /// AT_SELECTED_VERSION.
    SelectedVersion(u16),
    /// AT_FULLAUTH_ID_REQ.
    FullauthIdReq,
    /// AT_COUNTER.
    Counter(u16),
    /// AT_COUNTER_TOO_SMALL.
    CounterTooSmall,
    /// AT_NONCE_S.
    NonceS([u8; 16]),
    /// AT_CLIENT_ERROR_CODE.
    ClientErrorCode(u16),
    /// AT_KDF_INPUT: the access network's name.
    KdfInput(&'a [u8]),
    /// AT_KDF.
    Kdf(u16),
    /// AT_IV.
    Iv([u8; 16]),
    /// AT_ENCR_DATA: whole blocks of ciphertext.
    EncrData(&'a [u8]),
    /// AT_NEXT_PSEUDONYM.
    NextPseudonym(&'a [u8]),
    /// AT_NEXT_REAUTH_ID.
    NextReauthId(&'a [u8]),
    /// AT_CHECKCODE: empty or a digest.
    Checkcode(&'a [u8]),
    /// AT_RESULT_IND.
    ResultInd,
    /// AT_BIDDING: whether the server prefers EAP-AKA′.
    Bidding(bool),
    /// An unknown type from 128 on.
    Skipped(u8),
}

/// Attribute types (RFC 4186 §11, RFC 4187 §11, RFC 9048 §8).
pub mod kind {
    #![allow(missing_docs, reason = "the names are the standard's, AT_ left out")]
    pub const RAND: u8 = 1;
    pub const AUTN: u8 = 2;
    pub const RES: u8 = 3;
    pub const AUTS: u8 = 4;
    pub const PADDING: u8 = 6;
    pub const NONCE_MT: u8 = 7;
    pub const PERMANENT_ID_REQ: u8 = 10;
    pub const MAC: u8 = 11;
    pub const NOTIFICATION: u8 = 12;
    pub const ANY_ID_REQ: u8 = 13;
    pub const IDENTITY: u8 = 14;
    pub const VERSION_LIST: u8 = 15;
    pub const SELECTED_VERSION: u8 = 16;
    pub const FULLAUTH_ID_REQ: u8 = 17;
    pub const COUNTER: u8 = 19;
    pub const COUNTER_TOO_SMALL: u8 = 20;
    pub const NONCE_S: u8 = 21;
    pub const CLIENT_ERROR_CODE: u8 = 22;
    pub const KDF_INPUT: u8 = 23;
    pub const KDF: u8 = 24;
    pub const IV: u8 = 129;
    pub const ENCR_DATA: u8 = 130;
    pub const NEXT_PSEUDONYM: u8 = 132;
    pub const NEXT_REAUTH_ID: u8 = 133;
    pub const CHECKCODE: u8 = 134;
    pub const RESULT_IND: u8 = 135;
    pub const BIDDING: u8 = 136;
}

/// Types from here on may be skipped if unknown.
const SKIPPABLE: u8 = 128;

impl<'a> Attribute<'a> {
    /// Reads one attribute.
    ///
    /// # Errors
    /// The attribute is truncated, or its length does not fit its type.
    pub fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let start = *r;
        let kind = r.u8("attribute type")?;
        let words = r.u8("attribute length")?;
        if words == 0 {
            return Err(start.error("attribute length", Problem::Length(0)));
        }
        let mut value = r.sub(usize::from(words) * 4 - 2, "attribute value")?;
        let attribute = Self::value(kind, &mut value, &start)?;
        value.end("attribute value")?;
        Ok(attribute)
    }

    fn value(kind: u8, r: &mut Reader<'a>, start: &Reader<'a>) -> Result<Self, DecodeError> {
        match kind {
            kind::RAND => rands(r),
            kind::RES => res(r),
            kind::PADDING => padding(r),
            kind::ENCR_DATA => encr_data(r),
            kind::CHECKCODE => checkcode(r),
            kind::AUTN => Ok(Self::Autn(nonce(r, "AT_AUTN")?)),
            kind::AUTS => Ok(Self::Auts(r.array("AT_AUTS")?)),
            kind::NONCE_MT => Ok(Self::NonceMt(nonce(r, "AT_NONCE_MT")?)),
            kind::MAC => Ok(Self::Mac(nonce(r, "AT_MAC")?)),
            kind::NONCE_S => Ok(Self::NonceS(nonce(r, "AT_NONCE_S")?)),
            kind::IV => Ok(Self::Iv(nonce(r, "AT_IV")?)),
            kind::IDENTITY => Ok(Self::Identity(counted(r, "AT_IDENTITY")?)),
            kind::VERSION_LIST => versions(r),
            kind::KDF_INPUT => Ok(Self::KdfInput(counted(r, "AT_KDF_INPUT")?)),
            kind::NEXT_PSEUDONYM => Ok(Self::NextPseudonym(counted(r, "AT_NEXT_PSEUDONYM")?)),
            kind::NEXT_REAUTH_ID => Ok(Self::NextReauthId(counted(r, "AT_NEXT_REAUTH_ID")?)),
            _ => Self::word(kind, r, start),
        }
    }

    /// The attributes of one word, with a two-byte or reserved value.
    fn word(kind: u8, r: &mut Reader<'a>, start: &Reader<'a>) -> Result<Self, DecodeError> {
        let flag = |r: &mut Reader<'a>, attribute| r.skip(2, "reserved").map(|()| attribute);
        match kind {
            kind::PERMANENT_ID_REQ => flag(r, Self::PermanentIdReq),
            kind::ANY_ID_REQ => flag(r, Self::AnyIdReq),
            kind::FULLAUTH_ID_REQ => flag(r, Self::FullauthIdReq),
            kind::COUNTER_TOO_SMALL => flag(r, Self::CounterTooSmall),
            kind::RESULT_IND => flag(r, Self::ResultInd),
            kind::NOTIFICATION => Ok(Self::Notification(r.u16("AT_NOTIFICATION")?)),
            kind::SELECTED_VERSION => Ok(Self::SelectedVersion(r.u16("AT_SELECTED_VERSION")?)),
            kind::COUNTER => Ok(Self::Counter(r.u16("AT_COUNTER")?)),
            kind::CLIENT_ERROR_CODE => Ok(Self::ClientErrorCode(r.u16("AT_CLIENT_ERROR_CODE")?)),
            kind::KDF => Ok(Self::Kdf(r.u16("AT_KDF")?)),
            // RFC 9048 §4: the D bit is the first; the others are reserved.
            kind::BIDDING => Ok(Self::Bidding(r.u16("AT_BIDDING")? & 0x8000 != 0)),
            SKIPPABLE.. => {
                r.rest();
                Ok(Self::Skipped(kind))
            }
            // RFC 4186 §8.1: an unknown attribute that cannot be skipped makes the message invalid.
            _ => Err(start.error("non-skippable attribute", Problem::Value(kind.into()))),
        }
    }

    /// Its type.
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Rand(_) => kind::RAND,
            Self::Autn(_) => kind::AUTN,
            Self::Res(_) => kind::RES,
            Self::Auts(_) => kind::AUTS,
            Self::Padding(_) => kind::PADDING,
            Self::NonceMt(_) => kind::NONCE_MT,
            Self::PermanentIdReq => kind::PERMANENT_ID_REQ,
            Self::Mac(_) => kind::MAC,
            Self::Notification(_) => kind::NOTIFICATION,
            Self::AnyIdReq => kind::ANY_ID_REQ,
            Self::Identity(_) => kind::IDENTITY,
            Self::VersionList(_) => kind::VERSION_LIST,
            Self::SelectedVersion(_) => kind::SELECTED_VERSION,
            Self::FullauthIdReq => kind::FULLAUTH_ID_REQ,
            Self::Counter(_) => kind::COUNTER,
            Self::CounterTooSmall => kind::COUNTER_TOO_SMALL,
            Self::NonceS(_) => kind::NONCE_S,
            Self::ClientErrorCode(_) => kind::CLIENT_ERROR_CODE,
            Self::KdfInput(_) => kind::KDF_INPUT,
            Self::Kdf(_) => kind::KDF,
            Self::Iv(_) => kind::IV,
            Self::EncrData(_) => kind::ENCR_DATA,
            Self::NextPseudonym(_) => kind::NEXT_PSEUDONYM,
            Self::NextReauthId(_) => kind::NEXT_REAUTH_ID,
            Self::Checkcode(_) => kind::CHECKCODE,
            Self::ResultInd => kind::RESULT_IND,
            Self::Bidding(_) => kind::BIDDING,
            Self::Skipped(kind) => *kind,
        }
    }

    /// Writes it, padded to a whole number of words.
    ///
    /// # Panics
    /// If its value exceeds the 1018 bytes of an attribute; engines limit the values.
    pub fn write(&self, w: &mut Writer) {
        let start = w.len();
        w.u8(self.kind());
        w.u8(0);
        self.write_value(w);
        w.zeros((w.len() - start).next_multiple_of(4) - (w.len() - start));
        let words = u8::try_from((w.len() - start) / 4).expect("an attribute has at most 1020 bytes");
        w.patch_u8(start + 1, words);
    }

    fn write_value(&self, w: &mut Writer) {
        match *self {
            Self::Rand(value) | Self::EncrData(value) | Self::Checkcode(value) => reserved(w, value),
            Self::Autn(value)
            | Self::NonceMt(value)
            | Self::Mac(value)
            | Self::NonceS(value)
            | Self::Iv(value) => reserved(w, &value),
            Self::Res(value) => prefixed(w, value.len() * 8, value),
            Self::Auts(value) => w.bytes(&value),
            Self::Padding(zeros) => w.zeros(zeros),
            Self::Identity(value)
            | Self::VersionList(value)
            | Self::KdfInput(value)
            | Self::NextPseudonym(value)
            | Self::NextReauthId(value) => prefixed(w, value.len(), value),
            Self::Notification(value)
            | Self::SelectedVersion(value)
            | Self::Counter(value)
            | Self::ClientErrorCode(value)
            | Self::Kdf(value) => w.u16(value),
            Self::Bidding(prime) => w.u16(u16::from(prime) << 15),
            Self::PermanentIdReq
            | Self::AnyIdReq
            | Self::FullauthIdReq
            | Self::CounterTooSmall
            | Self::ResultInd
            | Self::Skipped(_) => w.u16(0),
        }
    }
}

fn reserved(w: &mut Writer, value: &[u8]) {
    w.u16(0);
    w.bytes(value);
}

fn prefixed(w: &mut Writer, len: usize, value: &[u8]) {
    w.u16(u16::try_from(len).expect("an attribute's value is short"));
    w.bytes(value);
}

/// RFC 4186 §10.9: Reserved(2) RAND(16)+
fn rands<'a>(r: &mut Reader<'a>) -> Result<Attribute<'a>, DecodeError> {
    r.skip(2, "AT_RAND reserved")?;
    if r.is_empty() || !r.len().is_multiple_of(16) {
        return Err(r.error("AT_RAND", Problem::Length(r.len() as u64)));
    }
    Ok(Attribute::Rand(r.rest()))
}

/// RFC 4187 §10.8: Length in bits(2) RES(4 to 16 bytes), padded
fn res<'a>(r: &mut Reader<'a>) -> Result<Attribute<'a>, DecodeError> {
    let bits = r.u16("AT_RES length")?;
    // TS 33.102 §6.3.7 allows any number of bits from 32 to 128; all algorithms in use produce whole bytes.
    if !(32..=128).contains(&bits) || bits % 8 != 0 {
        return Err(r.error("AT_RES length", Problem::Length(bits.into())));
    }
    let value = r.take(usize::from(bits / 8), "AT_RES")?;
    pad(r, "AT_RES padding")?;
    Ok(Attribute::Res(value))
}

/// RFC 4186 §10.12: zeros, 4, 8 or 12 bytes in all
fn padding<'a>(r: &mut Reader<'a>) -> Result<Attribute<'a>, DecodeError> {
    if r.len() > 10 {
        return Err(r.error("AT_PADDING", Problem::Length(r.len() as u64)));
    }
    let start = *r;
    let zeros = r.rest();
    // RFC 4186 §10.12: the pad bytes must be verified to be zero.
    match zeros.iter().find(|&&byte| byte != 0) {
        Some(&byte) => Err(start.error("AT_PADDING", Problem::Value(byte.into()))),
        None => Ok(Attribute::Padding(zeros.len())),
    }
}

/// RFC 4186 §10.12: Reserved(2) ciphertext(16 × n)
fn encr_data<'a>(r: &mut Reader<'a>) -> Result<Attribute<'a>, DecodeError> {
    r.skip(2, "AT_ENCR_DATA reserved")?;
    if r.is_empty() || !r.len().is_multiple_of(16) {
        return Err(r.error("AT_ENCR_DATA", Problem::Length(r.len() as u64)));
    }
    Ok(Attribute::EncrData(r.rest()))
}

/// RFC 4187 §10.13: Reserved(2) digest(0, 20 or 32)
fn checkcode<'a>(r: &mut Reader<'a>) -> Result<Attribute<'a>, DecodeError> {
    r.skip(2, "AT_CHECKCODE reserved")?;
    match r.len() {
        0 | 20 | 32 => Ok(Attribute::Checkcode(r.rest())),
        len => Err(r.error("AT_CHECKCODE", Problem::Length(len as u64))),
    }
}

/// RFC 4186 §10.2: Length in bytes(2) Version(2)+, padded
fn versions<'a>(r: &mut Reader<'a>) -> Result<Attribute<'a>, DecodeError> {
    let list = counted(r, "AT_VERSION_LIST")?;
    if list.is_empty() || !list.len().is_multiple_of(2) {
        return Err(r.error("AT_VERSION_LIST", Problem::Length(list.len() as u64)));
    }
    Ok(Attribute::VersionList(list))
}

/// Reserved(2) value(16)
fn nonce(r: &mut Reader<'_>, field: &'static str) -> Result<[u8; 16], DecodeError> {
    r.skip(2, field)?;
    r.array(field)
}

/// Length in bytes(2) value, padded
fn counted<'a>(r: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], DecodeError> {
    let len = r.u16(field)?;
    let value = r.take(len.into(), field)?;
    pad(r, field)?;
    Ok(value)
}

/// Skips the padding of the last word: fewer than four bytes, ignored.
fn pad(r: &mut Reader<'_>, field: &'static str) -> Result<(), DecodeError> {
    if r.len() > 3 {
        return Err(r.error(field, Problem::Trailing { left: r.len() }));
    }
    r.rest();
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simaka::testing::bytes;

    fn written(attribute: &Attribute<'_>) -> Vec<u8> {
        let mut w = Writer::default();
        attribute.write(&mut w);
        w.finish()
    }

    fn read(bytes: &[u8]) -> Result<Attribute<'_>, DecodeError> {
        Attribute::read(&mut Reader::new(bytes))
    }

    fn every<'a>(nonce: [u8; 16], text: &'a [u8], blocks: &'a [u8], number: u16) -> Vec<Attribute<'a>> {
        let [auts @ .., _, _] = nonce;
        vec![
            Attribute::Rand(blocks),
            Attribute::Autn(nonce),
            Attribute::Res(&blocks[..usize::from(4 + number % 13)]),
            Attribute::Auts(auts),
            Attribute::Padding(usize::from(2 + number % 3 * 4)),
            Attribute::NonceMt(nonce),
            Attribute::PermanentIdReq,
            Attribute::Mac(nonce),
            Attribute::Notification(number),
            Attribute::AnyIdReq,
            Attribute::Identity(text),
            Attribute::VersionList(blocks),
            Attribute::SelectedVersion(number),
            Attribute::FullauthIdReq,
            Attribute::Counter(number),
            Attribute::CounterTooSmall,
            Attribute::NonceS(nonce),
            Attribute::ClientErrorCode(number),
            Attribute::KdfInput(text),
            Attribute::Kdf(number),
            Attribute::Iv(nonce),
            Attribute::EncrData(blocks),
            Attribute::NextPseudonym(text),
            Attribute::NextReauthId(text),
            Attribute::Checkcode(&[]),
            Attribute::Checkcode(&[7; 20]),
            Attribute::Checkcode(&[7; 32]),
            Attribute::ResultInd,
            Attribute::Bidding(number.is_multiple_of(2)),
            Attribute::Skipped(137 + number.to_le_bytes()[0] % 100),
        ]
    }

    proptest! {
        #[test]
        fn written_attributes_read_back(
            nonce: [u8; 16],
            text in proptest::collection::vec(any::<u8>(), 0..300),
            blocks in (1..8_usize, any::<u8>()).prop_map(|(n, byte)| vec![byte; n * 16]),
            number: u16,
        ) {
            for attribute in every(nonce, &text, &blocks, number) {
                let bytes = written(&attribute);
                prop_assert!(bytes.len().is_multiple_of(4));
                prop_assert_eq!(read(&bytes), Ok(attribute));
            }
        }

        #[test]
        fn cut_short_it_is_an_error(number: u16, keep in 0.0..1.0_f64) {
            for attribute in every([3; 16], b"user@realm", &[9; 48], number) {
                let bytes = written(&attribute);
                let cut = (bytes.len() as f64 * keep) as usize;
                prop_assert!(read(&bytes[..cut]).is_err(), "{:?} of {}", cut, bytes.len());
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = read(&bytes);
        }
    }

    fn refused(hex: &str, why: &str) {
        assert_eq!(read(&bytes(hex)).unwrap_err().to_string(), why);
    }

    #[test]
    fn contradictory_attributes_are_refused() {
        refused("0a00", "attribute length at offset 0: length 0 does not fit");
        refused("05010000", "non-skippable attribute at offset 0: value 5 is not allowed");
        refused("01010000", "AT_RAND at offset 4: length 0 does not fit");
        refused("0303002100000000000000ff", "AT_RES length at offset 4: length 33 does not fit");
        refused("030300200000000000000000", "AT_RES padding at offset 8: 4 bytes left over");
        refused("06010001", "AT_PADDING at offset 2: value 1 is not allowed");
        refused("0604000000000000000000000000000000", "AT_PADDING at offset 2: length 14 does not fit");
        refused("820200000000000000", "AT_ENCR_DATA at offset 4: length 4 does not fit");
    }
}
