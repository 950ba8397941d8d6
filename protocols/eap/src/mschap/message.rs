//! EAP-MSCHAPv2's messages: draft-kamath-pppext-eap-mschapv2 §2, with the texts of RFC 2759 §5 and §6.
//!
//! Type-Data of all but the two short responses:  OpCode(1) MS-CHAPv2-ID(1) MS-Length(2) Data(*), where MS-Length
//! counts from the OpCode on.

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use super::{CHALLENGE_LEN, RESPONSE_LEN};

const CHALLENGE: u8 = 1;
const RESPONSE: u8 = 2;
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

/// Bytes of Value in a Response.
const RESPONSE_VALUE_LEN: u8 = 49;

/// What the server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// §2.1:  Value-Size(1) Challenge(16) Name(*)
    Challenge {
        /// MS-CHAPv2-ID.
        id: u8,
        /// The server's challenge.
        challenge: [u8; CHALLENGE_LEN],
        /// The server's name.
        name: &'a [u8],
    },
    /// §2.3:  Message(*), see [`proof_text`].
    Success {
        /// MS-CHAPv2-ID.
        id: u8,
        /// The text.
        text: &'a [u8],
    },
    /// §2.5:  Message(*), see [`Refusal`].
    Failure {
        /// MS-CHAPv2-ID.
        id: u8,
        /// The text.
        text: &'a [u8],
    },
}

/// What the peer sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response<'a> {
    /// §2.2:  Value-Size(1) Peer-Challenge(16) Reserved(8) NT-Response(24) Flags(1) Name(*)
    Proof {
        /// MS-CHAPv2-ID.
        id: u8,
        /// The peer's challenge.
        peer_challenge: [u8; CHALLENGE_LEN],
        /// The peer's proof.
        nt_response: [u8; RESPONSE_LEN],
        /// The user's name.
        name: &'a [u8],
    },
    /// §2.4: the OpCode alone.
    Success,
    /// §2.6: the OpCode alone.
    Failure,
}

impl<'a> Request<'a> {
    /// Reads type data.
    ///
    /// # Errors
    /// A field is truncated, or has a value that the draft does not allow.
    pub fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(data);
        let start = r;
        match r.u8("MSCHAPv2 OpCode")? {
            CHALLENGE => {
                let id = read_header(&mut r, data)?;
                read_value_size(&mut r, CHALLENGE_LEN as u8)?;
                Ok(Self::Challenge { id, challenge: r.array("MSCHAPv2 challenge")?, name: r.rest() })
            }
            SUCCESS => Ok(Self::Success { id: read_header(&mut r, data)?, text: r.rest() }),
            FAILURE => Ok(Self::Failure { id: read_header(&mut r, data)?, text: r.rest() }),
            other => Err(start.error("MSCHAPv2 OpCode", Problem::Value(other.into()))),
        }
    }

    /// Writes type data.
    pub fn write(&self) -> Vec<u8> {
        match *self {
            Self::Challenge { id, challenge, name } => {
                message(CHALLENGE, id, &[&[CHALLENGE_LEN as u8], &challenge, name])
            }
            Self::Success { id, text } => message(SUCCESS, id, &[text]),
            Self::Failure { id, text } => message(FAILURE, id, &[text]),
        }
    }
}

impl<'a> Response<'a> {
    /// Reads type data.
    ///
    /// # Errors
    /// A field is truncated, or has a value that the draft does not allow.
    pub fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(data);
        let start = r;
        match r.u8("MSCHAPv2 OpCode")? {
            RESPONSE => Self::read_proof(&mut r, data),
            // Some peers send more than the OpCode; like hostapd, FreeRADIUS and strongSwan we ignore it.
            SUCCESS => Ok(Self::Success),
            FAILURE => Ok(Self::Failure),
            other => Err(start.error("MSCHAPv2 OpCode", Problem::Value(other.into()))),
        }
    }

    fn read_proof(r: &mut Reader<'a>, data: &'a [u8]) -> Result<Self, DecodeError> {
        let id = read_header(r, data)?;
        read_value_size(r, RESPONSE_VALUE_LEN)?;
        let peer_challenge = r.array("MSCHAPv2 peer challenge")?;
        r.skip(8, "MSCHAPv2 reserved")?;
        let nt_response = r.array("MSCHAPv2 NT response")?;
        r.skip(1, "MSCHAPv2 flags")?;
        Ok(Self::Proof { id, peer_challenge, nt_response, name: r.rest() })
    }

    /// Writes type data.
    pub fn write(&self) -> Vec<u8> {
        match *self {
            Self::Proof { id, peer_challenge, nt_response, name } => {
                let value = [&[RESPONSE_VALUE_LEN][..], &peer_challenge, &[0; 8], &nt_response, &[0], name];
                message(RESPONSE, id, &value)
            }
            Self::Success => vec![SUCCESS],
            Self::Failure => vec![FAILURE],
        }
    }
}

/// MS-CHAPv2-ID and MS-Length.
fn read_header(r: &mut Reader<'_>, data: &[u8]) -> Result<u8, DecodeError> {
    let id = r.u8("MSCHAPv2 id")?;
    let at = *r;
    let length = r.u16("MSCHAPv2 length")?;
    let fits = usize::from(length) == data.len();
    fits.then_some(id).ok_or(at.error("MSCHAPv2 length", Problem::Length(length.into())))
}

fn read_value_size(r: &mut Reader<'_>, expected: u8) -> Result<(), DecodeError> {
    let at = *r;
    let size = r.u8("MSCHAPv2 value size")?;
    let fits = size == expected;
    fits.then_some(()).ok_or(at.error("MSCHAPv2 value size", Problem::Length(size.into())))
}

fn message(op_code: u8, id: u8, parts: &[&[u8]]) -> Vec<u8> {
    let len = 4 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut w = Writer::with_capacity(len);
    w.u8(op_code);
    w.u8(id);
    w.u16(u16::try_from(len).expect("names and texts are far shorter than 64 KiB"));
    parts.iter().for_each(|part| w.bytes(part));
    w.finish()
}

/// The text of a Success request. RFC 2759 §5: "S=" and the authenticator response in 40 capital hexadecimal digits.
pub fn proof_text(authenticator_response: &[u8]) -> Vec<u8> {
    format!("S={} M=OK", hexadecimal(authenticator_response)).into_bytes()
}

/// The authenticator response in a Success request, if there is one.
pub fn read_proof_text(text: &[u8]) -> Option<[u8; 20]> {
    from_hexadecimal(text.strip_prefix(b"S=")?.get(..40)?)
}

/// The text of a Failure request. RFC 2759 §6:  E=eee R=r C=(32 hexadecimal digits) V=3 M=text
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The error.
    pub error: u32,
    /// The challenge for a retry; `None` if there is none.
    pub retry: Option<[u8; CHALLENGE_LEN]>,
}

impl Refusal {
    /// RFC 2759 §6: the account may not be used at this time.
    pub const RESTRICTED_LOGON_HOURS: u32 = 646;
    /// The account is disabled.
    pub const ACCOUNT_DISABLED: u32 = 647;
    /// The password has expired.
    pub const PASSWORD_EXPIRED: u32 = 648;
    /// The account may not be used by dial-in.
    pub const NO_DIALIN_PERMISSION: u32 = 649;
    /// Name or password are wrong.
    pub const AUTHENTICATION_FAILURE: u32 = 691;

    /// Reads the text; `None` if it contains no error. Other missing parts mean "no retry".
    pub fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let field = |name: &str| text.split(' ').find_map(|word| word.strip_prefix(name));
        let retry = if field("R=") == Some("1") { field("C=") } else { None };
        let retry = retry.and_then(|digits| from_hexadecimal(digits.as_bytes()));
        Some(Self { error: field("E=")?.parse().ok()?, retry })
    }

    /// Writes the text; without a retry the challenge is meaningless and zero.
    pub fn write(&self) -> Vec<u8> {
        let challenge = hexadecimal(&self.retry.unwrap_or_default());
        format!("E={} R={} C={challenge} V=3 M=", self.error, u8::from(self.retry.is_some())).into_bytes()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn from_hexadecimal<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? << 4 | low?).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    /// draft-kamath-pppext-eap-mschapv2 Appendix A uses RFC 2759's example in such messages.
    fn proof() -> Response<'static> {
        Response::Proof {
            id: 6,
            peer_challenge: hex("21402324255e262a28295f2b3a337c7e").try_into().unwrap(),
            nt_response: hex("82309ecd8d708b5ea08faa3981cd83544233114a3d85d6df").try_into().unwrap(),
            name: b"User",
        }
    }

    #[test]
    fn a_proof_is_laid_out_as_the_draft_draws_it() {
        let expected = "02 06 003a 31 21402324255e262a28295f2b3a337c7e 0000000000000000 \
            82309ecd8d708b5ea08faa3981cd83544233114a3d85d6df 00 55736572";
        assert_eq!(proof().write(), hex(expected));
    }

    #[test]
    fn truncated_messages_are_refused() {
        let data = proof().write();
        for len in 0..data.len() {
            assert!(Response::read(&data[..len]).is_err(), "{len} bytes");
        }
        let data = Request::Challenge { id: 6, challenge: [7; 16], name: b"gw" }.write();
        for len in 0..data.len() {
            assert!(Request::read(&data[..len]).is_err(), "{len} bytes");
        }
    }

    /// With corrected lengths, so that the fields themselves are reached.
    #[test]
    fn every_field_that_is_missing_is_named() {
        let check = |len: usize, field| {
            let mut data = proof().write();
            data.truncate(len);
            data[3] = len as u8;
            assert_eq!(Response::read(&data).unwrap_err().field, field, "{len} bytes");
        };
        check(4, "MSCHAPv2 value size");
        check(5, "MSCHAPv2 peer challenge");
        check(21, "MSCHAPv2 reserved");
        check(29, "MSCHAPv2 NT response");
        check(53, "MSCHAPv2 flags");
    }

    #[test]
    fn values_that_are_not_allowed_are_named() {
        let check = |at: usize, value: u8, text| {
            let mut data = proof().write();
            data[at] = value;
            assert_eq!(Response::read(&data).unwrap_err().to_string(), text);
        };
        check(0, 7, "MSCHAPv2 OpCode at offset 0: value 7 is not allowed");
        check(3, 57, "MSCHAPv2 length at offset 2: length 57 does not fit");
        check(4, 48, "MSCHAPv2 value size at offset 4: length 48 does not fit");
        assert_eq!(Request::read(&proof().write()).unwrap_err().field, "MSCHAPv2 OpCode");
    }

    #[test]
    fn texts_are_those_of_rfc_2759() {
        let proof = hex("407a5589115fd0d6209f510fe9c04566932cda56");
        assert_eq!(proof_text(&proof), b"S=407A5589115FD0D6209F510FE9C04566932CDA56 M=OK");
        assert_eq!(read_proof_text(&proof_text(&proof)).unwrap()[..], proof);
        assert_eq!(read_proof_text(b"S=407A5589115FD0D6209F510FE9C04566932CDA5"), None);
        assert_eq!(read_proof_text(b"407A5589115FD0D6209F510FE9C04566932CDA56"), None);
        assert_eq!(read_proof_text(b"S=+07A5589115FD0D6209F510FE9C04566932CDA56"), None);
    }

    #[test]
    fn refusals_are_read_as_far_as_they_go() {
        let check = |text: &[u8], expected| assert_eq!(Refusal::read(text), expected, "{text:?}");
        let challenge = [0xab; 16];
        let retry = Refusal { error: 691, retry: Some(challenge) };
        let text = "E=691 R=1 C=ABABABABABABABABABABABABABABABAB V=3 M=";
        assert_eq!(retry.write(), text.as_bytes());
        check(text.as_bytes(), Some(retry));
        check(b"E=691 R=0 C=ABABABABABABABABABABABABABABABAB V=3", Some(Refusal { error: 691, retry: None }));
        check(b"E=648 R=0", Some(Refusal { error: 648, retry: None }));
        check(b"E=691 R=1 C=AB", Some(Refusal { error: 691, retry: None }));
        check(b"R=1", None);
        check(b"E=many", None);
        check(b"\xff", None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            id: u8, challenge: [u8; 16], nt_response: [u8; 24], name in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let (name, text) = (&name[..], &name[..]);
            for request in [
                Request::Challenge { id, challenge, name },
                Request::Success { id, text },
                Request::Failure { id, text },
            ] {
                let data = request.write();
                prop_assert_eq!(Request::read(&data), Ok(request));
            }
            let proof = Response::Proof { id, peer_challenge: challenge, nt_response, name };
            for response in [proof, Response::Success, Response::Failure] {
                let data = response.write();
                prop_assert_eq!(Response::read(&data), Ok(response));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(request) = Request::read(&data) {
                prop_assert_eq!(request.write(), data);
            }
        }
    }
}
