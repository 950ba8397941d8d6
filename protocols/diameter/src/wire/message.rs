//! Messages. Read RFC 6733 §3 first.
//!
//! ```text
//!   Version(1) Length(3) Flags(1: R P E T) Command(3) Application-Id(4) Hop-by-Hop(4) End-to-End(4) AVP(*)
//! ```

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::avp::{self, Avps, patch_u24, u24};
use crate::number::AvpCode;

/// Longest message accepted, in bytes: 32 vectors need a fifth of it.
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024;

/// The R flag: a request.
pub const REQUEST: u8 = 0x80;
/// The P flag: proxiable.
pub const PROXIABLE: u8 = 0x40;
/// The E flag: an answer with a protocol error.
pub const ERROR: u8 = 0x20;
/// The T flag: perhaps sent before.
pub const RETRANSMITTED: u8 = 0x10;

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 20;

/// The fixed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// R, P, E, T.
    pub flags: u8,
    /// The command code, 24 bits.
    pub command: u32,
    /// The application.
    pub application: u32,
    /// Matches an answer with its request on a connection.
    pub hop_by_hop: u32,
    /// Finds duplicates.
    pub end_to_end: u32,
}

impl Header {
    /// Command Flags(1) Command Code(3) Application-Id(4) Hop-by-Hop Identifier(4) End-to-End Identifier(4), RFC 6733 §3;
    /// Version and Message Length in front of them have been read.
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let flags = r.u8("Command Flags")?;
        let [a, b, c] = r.array("Command Code")?;
        Ok(Self {
            flags,
            command: u32::from_be_bytes([0, a, b, c]),
            application: r.u32("Application-Id")?,
            hop_by_hop: r.u32("Hop-by-Hop Identifier")?,
            end_to_end: r.u32("End-to-End Identifier")?,
        })
    }

    /// Whether it is a request.
    pub const fn is_request(&self) -> bool {
        self.flags & REQUEST != 0
    }

    /// The header of its answer (RFC 6733 §6.2).
    #[must_use]
    pub const fn answer(self) -> Self {
        Self { flags: self.flags & PROXIABLE, ..self }
    }

    /// The same with the E flag.
    #[must_use]
    pub const fn error(self) -> Self {
        Self { flags: self.flags | ERROR, ..self }
    }
}

/// A received message.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The fixed part.
    pub header: Header,
    /// The rest.
    pub avps: Avps<'a>,
}

impl<'a> Message<'a> {
    /// Reads a whole message.
    ///
    /// # Errors
    /// The header or an AVP is truncated, or a field has a value that RFC 6733 §3 does not allow.
    pub fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        read_length(&mut r, |length| length == bytes.len())?;
        let header = Header::read(&mut r)?;
        Ok(Self { header, avps: Avps::read(r)? })
    }
}

/// The length of a message with this beginning, for splitting a stream into messages (RFC 6733 §2.1). At least the header,
/// at most [`MESSAGE_BYTES_MAX`].
///
/// # Errors
/// The version is not 1, or the length is out of these bounds or no multiple of four.
pub fn length(start: [u8; 4]) -> Result<usize, DecodeError> {
    read_length(&mut Reader::new(&start), |_| true)
}

/// Version and Message Length, which must be generally valid and satisfy the caller.
fn read_length(r: &mut Reader<'_>, fits: impl FnOnce(usize) -> bool) -> Result<usize, DecodeError> {
    let start = *r;
    let version = r.u8("Version")?;
    if version != VERSION {
        return Err(start.error("Version", Problem::Value(version.into())));
    }
    let at_length = *r;
    let length = u24(r, "Message Length")?;
    // RFC 6733 §3: the header is included, and the length is a multiple of four.
    let possible = (HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&length) && length.is_multiple_of(4);
    if possible && fits(length) {
        return Ok(length);
    }
    Err(at_length.error("Message Length", Problem::Length(length as u64)))
}

/// A message, or a group inside one, being written.
#[derive(Debug)]
pub struct Builder(Writer);

impl Builder {
    /// A message that begins with this header.
    pub fn new(header: Header) -> Self {
        let mut w = Writer::with_capacity(256);
        w.u32(u32::from(VERSION) << 24);
        w.u32(u32::from(header.flags) << 24 | header.command & 0x00ff_ffff);
        w.u32(header.application);
        w.u32(header.hop_by_hop);
        w.u32(header.end_to_end);
        Self(w)
    }

    /// Appends an AVP.
    #[must_use]
    pub fn with(mut self, code: AvpCode, data: &[u8]) -> Self {
        avp::write(&mut self.0, code, |w| w.bytes(data));
        self
    }

    /// Appends an Unsigned32 or Enumerated.
    #[must_use]
    pub fn with_u32(self, code: AvpCode, value: u32) -> Self {
        self.with(code, &value.to_be_bytes())
    }

    /// Appends a group.
    #[must_use]
    pub fn with_group(mut self, code: AvpCode, fill: impl FnOnce(Self) -> Self) -> Self {
        let outer = &mut self.0;
        avp::write(outer, code, |w| *w = fill(Self(std::mem::take(w))).0);
        self
    }

    /// The finished message.
    pub fn finish(mut self) -> Vec<u8> {
        let length = self.0.len();
        patch_u24(&mut self.0, 1, length);
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::number::{application, command};

    const HEADER: Header = Header {
        flags: REQUEST | PROXIABLE,
        command: command::MULTIMEDIA_AUTH,
        application: application::SWX,
        hop_by_hop: 0x0102_0304,
        end_to_end: 0x0506_0708,
    };

    fn example() -> Vec<u8> {
        Builder::new(HEADER)
            .with(AvpCode::USER_NAME, b"00101")
            .with_group(AvpCode::SIP_AUTH_DATA_ITEM, |item| {
                item.with_u32(AvpCode::SIP_ITEM_NUMBER, 7).with(AvpCode::SIP_AUTHENTICATE, &[9; 3])
            })
            .finish()
    }

    #[test]
    fn a_message_is_laid_out_as_rfc_6733_draws_it() {
        let expected: &[u8] = &[
            1, 0, 0, 80, 0xc0, 0, 1, 47, 1, 0, 0, 0x31, 1, 2, 3, 4, 5, 6, 7, 8, // header
            0, 0, 0, 1, 0x40, 0, 0, 13, b'0', b'0', b'1', b'0', b'1', 0, 0, 0, // User-Name
            0, 0, 2, 100, 0xc0, 0, 0, 44, 0, 0, 0x28, 0xaf, // SIP-Auth-Data-Item
            0, 0, 2, 101, 0xc0, 0, 0, 16, 0, 0, 0x28, 0xaf, 0, 0, 0, 7, // SIP-Item-Number
            0, 0, 2, 97, 0xc0, 0, 0, 15, 0, 0, 0x28, 0xaf, 9, 9, 9, 0, // SIP-Authenticate
        ];
        assert_eq!(example(), expected);
        let message = Message::read(expected).unwrap();
        assert_eq!(message.header, HEADER);
        assert_eq!(message.avps.text(AvpCode::USER_NAME), Ok("00101"));
        let item = message.avps.group(AvpCode::SIP_AUTH_DATA_ITEM).unwrap().unwrap();
        assert_eq!(item.u32(AvpCode::SIP_ITEM_NUMBER), Ok(Some(7)));
        assert_eq!(item.get(AvpCode::SIP_AUTHENTICATE), Some(&[9; 3][..]));
    }

    #[test]
    fn every_cut_is_refused() {
        let whole = example();
        for len in 0..whole.len() {
            assert!(Message::read(&whole[..len]).is_err(), "{len} bytes, Length as it was");
            let mut cut = whole[..len].to_vec();
            if len > 3 {
                cut[1..4].copy_from_slice(&[0, 0, u8::try_from(len).unwrap()]);
                // After the header and after a whole AVP the shorter message is valid.
                assert_eq!(
                    Message::read(&cut).is_ok(),
                    [20, 36].contains(&len),
                    "{len} bytes, Length put right"
                );
            }
        }
    }

    fn refused(change: impl FnOnce(&mut Vec<u8>), why: &str) {
        let mut bytes = example();
        change(&mut bytes);
        assert_eq!(Message::read(&bytes).map(|_| ()).unwrap_err().to_string(), why);
    }

    #[test]
    fn invalid_fields_are_named() {
        refused(|bytes| bytes[0] = 2, "Version at offset 0: value 2 is not allowed");
        refused(|bytes| bytes[3] = 79, "Message Length at offset 1: length 79 does not fit");
        refused(|bytes| bytes[27] = 7, "AVP Length at offset 25: length 7 does not fit");
        refused(|bytes| bytes[26] = 9, "AVP Data at offset 28: needs 2309 bytes, 52 are left");
    }

    #[test]
    fn a_stream_is_split_by_the_header_and_invalid_ones_are_named() {
        let cut = |start: [u8; 4]| length(start).map_err(|error| error.to_string());
        assert_eq!(cut([1, 0, 0, 20]), Ok(20));
        assert_eq!(cut([1, 0, 0x80, 0]), Ok(MESSAGE_BYTES_MAX));
        let wrong = |why: &str| Err(format!("Message Length at offset 1: length {why} does not fit"));
        assert_eq!(cut([1, 0, 0, 16]), wrong("16"));
        assert_eq!(cut([1, 0, 0, 22]), wrong("22"));
        assert_eq!(cut([1, 0, 0x80, 4]), wrong("32772"));
        assert_eq!(cut([1, 0xff, 0xff, 0xfc]), wrong("16777212"));
        assert_eq!(cut(*b"GET "), Err("Version at offset 0: value 71 is not allowed".into()));
    }

    #[test]
    fn missing_or_wrongly_sized_avps_are_named() {
        let bytes = example();
        let message = Message::read(&bytes).unwrap();
        let missing = message.avps.need(AvpCode::RAND).unwrap_err();
        assert_eq!(missing.to_string(), "RAND at offset 20: is missing");
        let length = message.avps.array::<4>(AvpCode::USER_NAME).unwrap_err();
        assert_eq!(length.to_string(), "User-Name at offset 28: length 5 does not fit");
    }

    #[test]
    fn a_flood_of_avps_is_refused() {
        let flood = (0..200).fold(Builder::new(HEADER), |message, _| message.with(AvpCode::USER_NAME, b""));
        assert!(Message::read(&flood.finish()).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            command in 0..1_u32 << 24, flags: u8, ids: [u32; 3],
            data in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let [application, hop_by_hop, end_to_end] = ids;
            let header = Header { flags, command, application, hop_by_hop, end_to_end };
            let bytes = Builder::new(header)
                .with_group(AvpCode::AUTHENTICATION_INFO, |group| group.with(AvpCode::KASME, &data))
                .with(AvpCode::SESSION_ID, &data)
                .finish();
            let message = Message::read(&bytes).unwrap();
            prop_assert_eq!(message.header, header);
            prop_assert_eq!(message.avps.get(AvpCode::SESSION_ID), Some(&data[..]));
            let group = message.avps.group(AvpCode::AUTHENTICATION_INFO).unwrap().unwrap();
            prop_assert_eq!(group.get(AvpCode::KASME), Some(&data[..]));
        }

        #[test]
        fn arbitrary_bytes_never_panic(tail in proptest::collection::vec(any::<u8>(), 0..120)) {
            let mut bytes = [&[1, 0, 0, 0][..], &tail].concat();
            bytes[3] = u8::try_from(bytes.len()).unwrap();
            let _ = Message::read(&bytes);
            let _ = Message::read(&tail);
        }
    }
}
