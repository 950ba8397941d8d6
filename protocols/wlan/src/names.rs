//! What traces call the messages, and what people call the suites.

use keytoll_engine::trace::{Message, Name, Protocol};

use crate::eapol::PacketType;
use crate::frame::management::subtype;
use crate::suite::{Akm, Cipher};

/// Management frames of 802.11, from their MAC header on.
pub const WLAN: Protocol = Protocol::MANAGEMENT;

/// 802.1X: EAPOL PDUs, whatever carries them.
pub const EAPOL: Protocol = Protocol::new(&"eapol");

/// Declares the packet types of EAPOL: their names alone and in either direction. An EAP packet has one of its own, and a key goes
/// from or to the authenticator.
macro_rules! packet_types {
    ($($number:pat => $name:literal),+) => {
        /// What a packet type is called, IEEE 802.1X-2020 table 11-3; none of an unknown one.
        pub const fn packet_type(packet_type: PacketType) -> Option<&'static str> {
            match packet_type.0 {
                $($number => Some($name),)+
                _ => None,
            }
        }

        const fn pdu_name(packet_type: PacketType, response: bool) -> Name {
            match (packet_type.0, response) {
                $(
                    ($number, false) => Name::new(&concat!($name, " request")),
                    ($number, true) => Name::new(&concat!($name, " response")),
                )+
                (_, false) => Name::new(&"EAPOL request"),
                (_, true) => Name::new(&"EAPOL response"),
            }
        }
    };
}

packet_types! {
    0 => "EAP-Packet",
    1 => "EAPOL-Start",
    2 => "EAPOL-Logoff",
    3 => "EAPOL-Key",
    4 => "EAPOL-Encapsulated-ASF-Alert",
    5 => "EAPOL-MKA",
    6 | 7 => "EAPOL-Announcement",
    8 => "EAPOL-Announcement-Req"
}

/// A PDU of this type and length, sent for the first time; `id` is the identifier of an EAP packet.
pub fn pdu(packet_type: PacketType, response: bool, id: u8, bytes: usize) -> Message {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    Message { response, id: id.into(), bytes, ..Message::new(EAPOL, pdu_name(packet_type, response)) }
}

/// A management frame of this kind and length, sent for the first time; `id` is the transaction sequence number of an
/// authentication.
pub fn management(subtype: u8, response: bool, id: u16, bytes: usize) -> Message {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let name = Name::new(frame_name(subtype));
    Message { response, id: id.into(), bytes, ..Message::new(WLAN, name) }
}

/// What a management frame is called, 802.11-2020 table 9-1.
pub const fn frame(subtype: u8) -> &'static str {
    frame_name(subtype)
}

const fn frame_name(subtype: u8) -> &'static &'static str {
    match subtype {
        subtype::ASSOCIATION_REQUEST => &"Association Request",
        subtype::ASSOCIATION_RESPONSE => &"Association Response",
        subtype::REASSOCIATION_REQUEST => &"Reassociation Request",
        subtype::REASSOCIATION_RESPONSE => &"Reassociation Response",
        subtype::PROBE_REQUEST => &"Probe Request",
        subtype::PROBE_RESPONSE => &"Probe Response",
        subtype::BEACON => &"Beacon",
        subtype::DISASSOCIATION => &"Disassociation",
        subtype::AUTHENTICATION => &"Authentication",
        subtype::DEAUTHENTICATION => &"Deauthentication",
        subtype::ACTION => &"Action",
        subtype::ACTION_NO_ACK => &"Action No Ack",
        _ => &"Management",
    }
}

/// What people call a cipher.
pub const fn cipher(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::Wep40 => "WEP-40",
        Cipher::Wep104 => "WEP-104",
        Cipher::Tkip => "TKIP",
        Cipher::Ccmp128 => "CCMP-128",
        Cipher::Ccmp256 => "CCMP-256",
        Cipher::Gcmp128 => "GCMP-128",
        Cipher::Gcmp256 => "GCMP-256",
        Cipher::BipCmac128 => "BIP-CMAC-128",
        Cipher::BipCmac256 => "BIP-CMAC-256",
        Cipher::BipGmac128 => "BIP-GMAC-128",
        Cipher::BipGmac256 => "BIP-GMAC-256",
    }
}

/// What an AKM is called in lists of methods.
pub const fn akm(akm: Akm) -> &'static str {
    match akm {
        Akm::Dot1x => "802.1x",
        Akm::Psk => "psk",
        Akm::FtDot1x => "ft-802.1x",
        Akm::FtPsk => "ft-psk",
        Akm::Dot1xSha256 => "802.1x-sha256",
        Akm::PskSha256 => "psk-sha256",
        Akm::Sae => "sae",
        Akm::FtSae => "ft-sae",
        Akm::SuiteB => "suite-b",
        Akm::SuiteB192 => "suite-b-192",
        Akm::FtDot1xSha384 => "ft-802.1x-sha384",
        Akm::Owe => "owe",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_named_with_their_direction() {
        assert_eq!(pdu(PacketType::KEY, true, 0, 99).name.as_str(), "EAPOL-Key response");
        let authentication = management(subtype::AUTHENTICATION, false, 1, 30);
        assert_eq!((authentication.name.as_str(), authentication.id), ("Authentication", 1));
        assert_eq!(packet_type(PacketType(99)), None);
    }
}
