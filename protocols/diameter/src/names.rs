//! Names of Diameter messages in traces: the abbreviations of RFC 6733 §3.1, TS 29.272 §7.1 and TS 29.273 §8.2.

use keytoll_engine::trace::{Message, Name, Protocol};

use crate::number::command;
use crate::wire::Header;

/// Diameter.
pub const DIAMETER: Protocol = Protocol::new(&"diameter");

/// The message with this header and of this length, sent for the first time.
pub fn message(header: &Header, bytes: usize) -> Message {
    let unknown = if header.is_request() { UNKNOWN_REQUEST } else { UNKNOWN_ANSWER };
    Message {
        response: !header.is_request(),
        id: header.hop_by_hop,
        bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        ..Message::new(DIAMETER, abbreviation(header).unwrap_or(unknown))
    }
}

const UNKNOWN_REQUEST: Name = Name::new(&"Diameter request");
const UNKNOWN_ANSWER: Name = Name::new(&"Diameter answer");

/// `MAR`, `MAA`, …
pub const fn abbreviation(header: &Header) -> Option<Name> {
    Some(match (header.command, header.is_request()) {
        (command::CAPABILITIES_EXCHANGE, true) => Name::new(&"CER"),
        (command::CAPABILITIES_EXCHANGE, false) => Name::new(&"CEA"),
        (command::DEVICE_WATCHDOG, true) => Name::new(&"DWR"),
        (command::DEVICE_WATCHDOG, false) => Name::new(&"DWA"),
        (command::DISCONNECT_PEER, true) => Name::new(&"DPR"),
        (command::DISCONNECT_PEER, false) => Name::new(&"DPA"),
        (command::MULTIMEDIA_AUTH, true) => Name::new(&"MAR"),
        (command::MULTIMEDIA_AUTH, false) => Name::new(&"MAA"),
        (command::AUTHENTICATION_INFORMATION, true) => Name::new(&"AIR"),
        (command::AUTHENTICATION_INFORMATION, false) => Name::new(&"AIA"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::REQUEST;

    #[test]
    fn requests_and_answers_are_distinguished_and_commands_have_24_bits() {
        let named = |command, flags| {
            let header = Header { flags, command, application: 0, hop_by_hop: 7, end_to_end: 9 };
            message(&header, 20).name.as_str()
        };
        assert_eq!([named(303, REQUEST), named(303, 0)], ["MAR", "MAA"]);
        assert_eq!([257, 280, 282, 318].map(|command| named(command, REQUEST)), ["CER", "DWR", "DPR", "AIR"]);
        // The low byte of 303 with another high byte.
        assert_eq!([named(0x022F, REQUEST), named(99, 0)], ["Diameter request", "Diameter answer"]);
    }
}
