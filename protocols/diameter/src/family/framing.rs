//! Messages of Diameter in TCP streams: RFC 6733 §2.1 and §3.

use keytoll_family::Framing;

use crate::DIAMETER;
use crate::wire::message::MESSAGE_BYTES_MAX;

/// How messages are found.
pub(super) const FRAMING: Framing = Framing {
    name: "Diameter",
    protocol: DIAMETER,
    // RFC 6733 §2.1: in the clear and with TLS; IANA has another number for that.
    ports: &[3868, 5658, 5868],
    header_len: HEADER_LEN,
    sure_len: HEADER_LEN + AVP_HEADER_LEN,
    begins: begins_message,
    is_surely: is_surely_message,
    length: length_of,
};

/// RFC 6733 §3: version, length, flags, command.
const HEADER_LEN: usize = 20;
/// A longer message is none of ours: reading goes on at the next segment.
const LENGTH_MAX: usize = MESSAGE_BYTES_MAX;
const AVP_HEADER_LEN: usize = 8;
/// RFC 6733 §11.1.2, RFC 5719: below 256 are RADIUS codes; standards have come to about 350; from 8 388 608 on 3GPP and others.
const COMMANDS: [std::ops::Range<u32>; 2] = [257..400, 8_388_608..16_777_214];

/// On a port that anybody may use, only what nothing else looks like: a header, flags that may stand together, a command
/// that is one, and AVPs that fill the message as far as it is there.
fn is_surely_message(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>().filter(|_| begins_message(bytes)) else {
        return false;
    };
    let command = u24(&header[5..]);
    let [is_request, is_error, is_again] = [0x80, 0x20, 0x10].map(|flag| header[4] & flag != 0);
    // RFC 6733 §3: no error bit in a request, no answer is sent again.
    let flags_agree = if is_request { !is_error } else { !is_again };
    let is_command = COMMANDS.iter().any(|commands| commands.contains(&command));
    // RFC 6733 §5.3: as §5.4 and §5.5, commands of the base protocol itself.
    let is_base = matches!(command, 257 | 280 | 282);
    let has_no_application = header[8..12] == [0; 4];
    flags_agree && is_command && (!is_base || has_no_application) && avps_fit(bytes)
}

/// RFC 6733 §4.1:  Code(4) Flags(1) Length(3) [Vendor(4)] Data, padded to four bytes
fn avps_fit(message: &[u8]) -> bool {
    let (length, mut at) = (length_of(message), HEADER_LEN);
    while at < length {
        let Some(avp) = message.get(at..).and_then(<[u8]>::first_chunk::<AVP_HEADER_LEN>) else {
            return at > HEADER_LEN;
        };
        let vendor_len = if avp[4] & 0x80 == 0 { 0 } else { 4 };
        let avp_length = u24(&avp[5..]) as usize;
        if avp[4] & 0x1f != 0 || avp_length < AVP_HEADER_LEN + vendor_len {
            return false;
        }
        at += avp_length.next_multiple_of(4);
    }
    at == length && length > HEADER_LEN
}

/// RFC 6733 §3: version 1, a length of whole words, the lower four flags zero.
fn begins_message(bytes: &[u8]) -> bool {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return false };
    let length = length_of(header);
    header[0] == 1
        && (HEADER_LEN..=LENGTH_MAX).contains(&length)
        && length.is_multiple_of(4)
        && header[4] & 0x0f == 0
}

fn length_of(message: &[u8]) -> usize {
    u24(&message[1..]) as usize
}

fn u24(bytes: &[u8]) -> u32 {
    bytes[..3].iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}
