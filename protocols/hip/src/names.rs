//! What traces call HIP's packets and their parameters: the names of the standards.

use keytoll_engine::trace::{Message, Name, Protocol};

use crate::number::{PacketType, ParameterType};

/// HIP, directly on IP or in UDP.
pub const HIP: Protocol = Protocol::new(&"hip");

const UNKNOWN_PACKET: Name = Name::new(&"HIP packet");
const UNKNOWN_PARAMETER: Name = Name::new(&"?");

/// A packet of this type, of which nothing else is known yet.
pub fn message(packet_type: PacketType, response: bool) -> Message {
    let name = packet_type.name().map_or(UNKNOWN_PACKET, Name::new);
    Message { response, ..Message::new(HIP, name) }
}

/// `PUZZLE`, `HIP_MAC`, …
pub fn parameter(kind: ParameterType) -> Name {
    kind.name().map_or(UNKNOWN_PARAMETER, Name::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_standards() {
        let named = PacketType::ALL.map(|packet_type| message(packet_type, false).name.as_str());
        assert_eq!(named, ["I1", "R1", "I2", "R2", "UPDATE", "NOTIFY", "CLOSE", "CLOSE_ACK"]);
        assert_eq!(message(PacketType(99), true).name.as_str(), "HIP packet");
        assert_eq!(parameter(ParameterType::ESP_INFO).as_str(), "ESP_INFO");
        assert_eq!(parameter(ParameterType(7)).as_str(), "?");
    }
}
