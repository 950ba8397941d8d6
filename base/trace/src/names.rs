//! Numbers of the standards as people read them.

use crate::Message;
use crate::Protocol;

/// `IKE_SA_INIT request`, `Access-Challenge`, `MAR`, …
pub fn message(message: &Message) -> String {
    let (kind, direction) = (message.kind, if message.response { "response" } else { "request" });
    let named = match message.protocol {
        Protocol::Ike => return format!("{} {direction}", ike_exchange(kind)),
        Protocol::Radius => radius_code(kind),
        Protocol::Diameter => diameter_command(kind, message.response),
        // An EAP packet of either direction, a key of either side.
        Protocol::Wlan => return format!("{} {direction}", eapol_type(kind).unwrap_or("EAPOL")),
        _ => None,
    };
    named.map_or_else(|| format!("{} {kind} {direction}", message.protocol.name()), str::to_owned)
}

/// IKE exchange types, IANA registry "IKEv2 Exchange Types" and RFC 2408 §3.1 below 34.
pub const fn ike_exchange(number: u8) -> &'static str {
    match number {
        2 => "IDENTITY_PROTECTION",
        4 => "AGGRESSIVE",
        5 => "INFORMATIONAL_V1",
        32 => "QUICK_MODE",
        34 => "IKE_SA_INIT",
        35 => "IKE_AUTH",
        36 => "CREATE_CHILD_SA",
        37 => "INFORMATIONAL",
        43 => "IKE_INTERMEDIATE",
        _ => "EXCHANGE",
    }
}

/// IKE payload types as RFC 7296 §3.2 abbreviates them, and those of IKEv1 as RFC 2408 §3.1 and RFC 3947 do.
pub const fn ike_payload(number: u8) -> &'static str {
    match number {
        1 => "SA",
        4 => "KE",
        5 => "ID",
        6 => "CERT",
        7 => "CR",
        8 => "HASH",
        9 => "SIG",
        10 => "NONCE",
        11 => "N",
        12 => "D",
        13 => "VID",
        20 => "NAT-D",
        21 => "NAT-OA",
        33 => "SA",
        34 => "KE",
        35 => "IDi",
        36 => "IDr",
        37 => "CERT",
        38 => "CERTREQ",
        39 => "AUTH",
        40 => "Nonce",
        41 => "N",
        42 => "D",
        43 => "V",
        44 => "TSi",
        45 => "TSr",
        46 => "SK",
        47 => "CP",
        48 => "EAP",
        53 => "SKF",
        _ => "?",
    }
}

/// RADIUS codes, IANA registry "RADIUS Packet Type Codes".
pub const fn radius_code(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "Access-Request",
        2 => "Access-Accept",
        3 => "Access-Reject",
        4 => "Accounting-Request",
        5 => "Accounting-Response",
        11 => "Access-Challenge",
        12 => "Status-Server",
        _ => return None,
    })
}

/// RADIUS attributes, IANA registry "RADIUS Attribute Types".
pub const fn radius_attribute(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "User-Name",
        2 => "User-Password",
        4 => "NAS-IP-Address",
        5 => "NAS-Port",
        6 => "Service-Type",
        8 => "Framed-IP-Address",
        12 => "Framed-MTU",
        18 => "Reply-Message",
        24 => "State",
        25 => "Class",
        26 => "Vendor-Specific",
        27 => "Session-Timeout",
        30 => "Called-Station-Id",
        31 => "Calling-Station-Id",
        32 => "NAS-Identifier",
        33 => "Proxy-State",
        40 => "Acct-Status-Type",
        42 => "Acct-Input-Octets",
        43 => "Acct-Output-Octets",
        44 => "Acct-Session-Id",
        46 => "Acct-Session-Time",
        61 => "NAS-Port-Type",
        79 => "EAP-Message",
        80 => "Message-Authenticator",
        _ => return None,
    })
}

/// Packet types of EAPOL, IEEE 802.1X-2020 table 11-3.
pub const fn eapol_type(number: u8) -> Option<&'static str> {
    Some(match number {
        0 => "EAP-Packet",
        1 => "EAPOL-Start",
        2 => "EAPOL-Logoff",
        3 => "EAPOL-Key",
        4 => "EAPOL-Encapsulated-ASF-Alert",
        5 => "EAPOL-MKA",
        6 | 7 => "EAPOL-Announcement",
        8 => "EAPOL-Announcement-Req",
        _ => return None,
    })
}

/// Diameter commands as their standards abbreviate them (RFC 6733 §3.1, TS 29.272 §7.1, TS 29.273 §8.2), from the low
/// byte of the command code, which is what a [`Message`] has room for.
pub const fn diameter_command(low_byte: u8, answer: bool) -> Option<&'static str> {
    const CAPABILITIES_EXCHANGE: u8 = 257_u16 as u8;
    const DEVICE_WATCHDOG: u8 = 280_u16 as u8;
    const DISCONNECT_PEER: u8 = 282_u16 as u8;
    const MULTIMEDIA_AUTH: u8 = 303_u16 as u8;
    const AUTHENTICATION_INFORMATION: u8 = 318_u16 as u8;
    Some(match (low_byte, answer) {
        (CAPABILITIES_EXCHANGE, false) => "CER",
        (CAPABILITIES_EXCHANGE, true) => "CEA",
        (DEVICE_WATCHDOG, false) => "DWR",
        (DEVICE_WATCHDOG, true) => "DWA",
        (DISCONNECT_PEER, false) => "DPR",
        (DISCONNECT_PEER, true) => "DPA",
        (MULTIMEDIA_AUTH, false) => "MAR",
        (MULTIMEDIA_AUTH, true) => "MAA",
        (AUTHENTICATION_INFORMATION, false) => "AIR",
        (AUTHENTICATION_INFORMATION, true) => "AIA",
        _ => return None,
    })
}

/// The payloads of a message, `SA KE Nonce N N`, or its attributes.
pub fn payloads(message: &Message) -> String {
    let name = |kind: u8| match message.protocol {
        Protocol::Ike => Some(ike_payload(kind)),
        Protocol::Radius => radius_attribute(kind),
        _ => None,
    };
    let kinds = message.payloads.as_slice().iter();
    let names = kinds.map(|&kind| name(kind).map_or_else(|| kind.to_string(), str::to_owned));
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Payloads;

    fn named(protocol: Protocol, kind: u8, response: bool, parts: &[u8]) -> String {
        let mut payloads = Payloads::default();
        parts.iter().for_each(|&part| payloads.push(part));
        let (id, bytes, retransmission, fragment) = (0, 100, false, 0);
        let of = Message { protocol, kind, response, id, bytes, retransmission, fragment, payloads };
        format!("{} {}", message(&of), super::payloads(&of)).trim_end().to_owned()
    }

    #[test]
    fn every_protocol_has_its_own_words() {
        assert_eq!(named(Protocol::Ike, 34, false, &[33, 34, 40]), "IKE_SA_INIT request SA KE Nonce");
        assert_eq!(
            named(Protocol::Ike, 2, true, &[4, 10, 20]),
            "IDENTITY_PROTECTION response KE NONCE NAT-D"
        );
        assert_eq!(named(Protocol::Ike, 32, false, &[8]), "QUICK_MODE request HASH");
        assert_eq!(
            named(Protocol::Radius, 11, true, &[79, 24, 80]),
            "Access-Challenge EAP-Message State Message-Authenticator"
        );
        let diameter = |code: u32, answer| named(Protocol::Diameter, code.to_be_bytes()[3], answer, &[]);
        assert_eq!([diameter(303, false), diameter(303, true)], ["MAR", "MAA"]);
        assert_eq!([257, 280, 282, 318].map(|code| diameter(code, false)), ["CER", "DWR", "DPR", "AIR"]);
    }

    #[test]
    fn numbers_without_a_name_stay_numbers() {
        assert_eq!(named(Protocol::Radius, 99, false, &[200]), "radius 99 request 200");
        assert_eq!(named(Protocol::Diameter, 99, true, &[]), "diameter 99 response");
        assert_eq!(named(Protocol::Hip, 1, false, &[]), "hip 1 request");
    }
}
