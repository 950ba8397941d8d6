//! What a port knows of EAP: the header of a packet, RFC 3748 §4, and what EAP tells the port.
//!
//!   Code(1) Identifier(1) Length(2) Data(*)

use keytoll_crypto_api::Secret;
use keytoll_net::wire::{DecodeError, Problem, Reader};

/// What EAP tells the port that carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eap {
    /// Carry this packet to the other side.
    Packet(Vec<u8>),
    /// EAP succeeded.
    Success {
        /// From an authenticator the EAP-Success packet to carry; from a supplicant empty.
        packet: Vec<u8>,
        /// The MSK, if the method derived one.
        msk: Option<Secret>,
    },
    /// EAP failed.
    Failure {
        /// From an authenticator the EAP-Failure packet to carry; from a supplicant empty.
        packet: Vec<u8>,
    },
}

/// RFC 3748 §4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Request,
    Response,
    Success,
    Failure,
}

/// The header of an EAP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) code: Code,
    pub(crate) identifier: u8,
}

impl Header {
    /// The header, and the packet without what follows it.
    // RFC 3748 §4: octets outside the range of the Length field are ignored; a packet shorter than that is discarded.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let mut r = Reader::new(bytes);
        let at = r;
        let code = match r.u8("EAP code")? {
            1 => Code::Request,
            2 => Code::Response,
            3 => Code::Success,
            4 => Code::Failure,
            other => return Err(at.error("EAP code", Problem::Value(other.into()))),
        };
        let identifier = r.u8("EAP identifier")?;
        let at = r;
        let len = r.u16("EAP length")?;
        match bytes.get(..len.into()) {
            Some(packet) if packet.len() >= HEADER_LEN => Ok((Self { code, identifier }, packet)),
            _ => Err(at.error("EAP length", Problem::Length(len.into()))),
        }
    }
}

pub(crate) const HEADER_LEN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_cut_off_and_what_is_too_short_is_named() {
        let (header, packet) = Header::read(&[2, 7, 0, 5, 1, 0, 0]).unwrap();
        assert_eq!((header, packet), (Header { code: Code::Response, identifier: 7 }, &[2, 7, 0, 5, 1][..]));
        for (bytes, why) in [
            (&[2, 7, 0, 5][..], "EAP length at offset 2: length 5 does not fit"),
            (&[2, 7, 0, 3], "EAP length at offset 2: length 3 does not fit"),
            (&[2, 7, 0], "EAP length at offset 2: needs 2 bytes, 1 are left"),
            (&[9, 7, 0, 4], "EAP code at offset 0: value 9 is not allowed"),
        ] {
            assert_eq!(Header::read(bytes).unwrap_err().to_string(), why);
        }
    }
}
