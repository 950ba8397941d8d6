//! AVPs. Read RFC 6733 §4.1 to §4.4 first.
//!
//! ```text
//!   Code(4) Flags(1: V M P) Length(3) [Vendor-Id(4)] Data(*) padding to four bytes
//! ```

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::AvpCode;

/// Maximum number of AVPs in one message or group.
pub const AVPS_MAX: usize = 128;

const FLAG_VENDOR: u8 = 0x80;
const FLAG_MANDATORY: u8 = 0x40;
const HEADER_BYTES: usize = 8;

/// One AVP, borrowing from the message.
#[derive(Debug, Clone, Copy)]
struct Avp<'a> {
    vendor: Option<u32>,
    code: u32,
    data: Reader<'a>,
}

/// The AVPs of a message or of a group.
#[derive(Debug, Clone)]
pub struct Avps<'a> {
    list: Vec<Avp<'a>>,
    /// Their position, for errors about missing ones.
    start: Reader<'a>,
}

impl<'a> Avps<'a> {
    /// Reads to the end.
    ///
    /// # Errors
    /// An AVP is truncated, its length does not fit, or there are too many.
    pub fn read(mut r: Reader<'a>) -> Result<Self, DecodeError> {
        let (start, mut list) = (r, Vec::new());
        while !r.is_empty() {
            if list.len() == AVPS_MAX {
                return Err(r.error("AVP", Problem::Trailing { left: r.len() }));
            }
            list.push(read_avp(&mut r)?);
        }
        Ok(Self { list, start })
    }

    /// The data of the first AVP of this code.
    pub fn get(&self, code: AvpCode) -> Option<&'a [u8]> {
        self.find(code).map(|mut data| data.rest())
    }

    /// As [`Self::get`], with an error if it is missing.
    ///
    /// # Errors
    /// No AVP has this code.
    pub fn need(&self, code: AvpCode) -> Result<&'a [u8], DecodeError> {
        self.get(code).ok_or(self.start.error(code.name, Problem::Missing))
    }

    /// Exactly N bytes.
    ///
    /// # Errors
    /// No AVP has this code, or its data have another length.
    pub fn array<const N: usize>(&self, code: AvpCode) -> Result<[u8; N], DecodeError> {
        let data = self.find(code).ok_or(self.start.error(code.name, Problem::Missing))?;
        let bytes = data.clone().rest();
        bytes.try_into().map_err(|_| data.error(code.name, Problem::Length(bytes.len() as u64)))
    }

    /// All of them as they came.
    pub fn bytes(&self) -> &'a [u8] {
        { self.start }.rest()
    }

    /// An Unsigned32 or Enumerated, if it is there.
    ///
    /// # Errors
    /// The data are not four bytes.
    pub fn u32(&self, code: AvpCode) -> Result<Option<u32>, DecodeError> {
        match self.find(code) {
            None => Ok(None),
            Some(_) => Ok(Some(u32::from_be_bytes(self.array(code)?))),
        }
    }

    /// Text, which must be UTF-8.
    ///
    /// # Errors
    /// No AVP has this code, or its data are not UTF-8.
    pub fn text(&self, code: AvpCode) -> Result<&'a str, DecodeError> {
        let data = self.need(code)?;
        std::str::from_utf8(data).map_err(|_| self.start.error(code.name, Problem::Value(0)))
    }

    /// The AVPs inside the first group of this code.
    ///
    /// # Errors
    /// An AVP inside is truncated.
    pub fn group(&self, code: AvpCode) -> Result<Option<Self>, DecodeError> {
        self.find(code).map(Self::read).transpose()
    }

    /// The AVPs inside every group of this code.
    pub fn groups(&self, code: AvpCode) -> impl Iterator<Item = Result<Self, DecodeError>> {
        self.all(code).map(Self::read)
    }

    fn find(&self, code: AvpCode) -> Option<Reader<'a>> {
        self.all(code).next()
    }

    fn all(&self, code: AvpCode) -> impl Iterator<Item = Reader<'a>> {
        let wanted = move |avp: &&Avp<'a>| avp.code == code.code && avp.vendor == code.vendor;
        self.list.iter().filter(wanted).map(|avp| avp.data)
    }
}

fn read_avp<'a>(r: &mut Reader<'a>) -> Result<Avp<'a>, DecodeError> {
    let code = r.u32("AVP Code")?;
    let flags = r.u8("AVP Flags")?;
    let at_length = *r;
    let length = u24(r, "AVP Length")?;
    let vendor = if flags & FLAG_VENDOR == 0 { None } else { Some(r.u32("AVP Vendor-Id")?) };
    let header = HEADER_BYTES + if vendor.is_some() { 4 } else { 0 };
    let Some(len) = length.checked_sub(header) else {
        return Err(at_length.error("AVP Length", Problem::Length(length as u64)));
    };
    let data = r.sub(len, "AVP Data")?;
    r.skip(length.next_multiple_of(4) - length, "AVP padding")?;
    Ok(Avp { vendor, code, data })
}

/// Three bytes, network order.
pub(super) fn u24(r: &mut Reader<'_>, field: &'static str) -> Result<usize, DecodeError> {
    let [a, b, c] = r.array(field)?;
    Ok(usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c))
}

/// Overwrites three bytes written before.
pub(super) fn patch_u24(w: &mut Writer, at: usize, value: usize) {
    let [.., a, b, c] = value.to_be_bytes();
    [a, b, c].iter().enumerate().for_each(|(i, &byte)| w.patch_u8(at + i, byte));
}

/// Appends an AVP whose data are written by `fill`.
pub(super) fn write(w: &mut Writer, code: AvpCode, fill: impl FnOnce(&mut Writer)) {
    let start = w.len();
    w.u32(code.code);
    w.u8(FLAG_MANDATORY | if code.vendor.is_some() { FLAG_VENDOR } else { 0 });
    w.bytes(&[0; 3]);
    if let Some(vendor) = code.vendor {
        w.u32(vendor);
    }
    fill(w);
    let length = w.len() - start;
    patch_u24(w, start + 5, length);
    w.zeros(length.next_multiple_of(4) - length);
}
