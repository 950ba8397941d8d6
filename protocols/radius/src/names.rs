//! Names of RADIUS packets and attributes in traces: IANA registries "RADIUS Packet Type Codes" and "RADIUS Attribute
//! Types".

use keytoll_engine::trace::{Message, Name, Protocol};

use crate::number::{AttributeType, Code};

/// RADIUS.
pub const RADIUS: Protocol = Protocol::new(&"radius");

/// A packet with these attributes, sent for the first time.
pub fn message(
    code: Code,
    identifier: u8,
    bytes: usize,
    attributes: impl Iterator<Item = AttributeType>,
) -> Message {
    Message {
        response: code.is_response(),
        accounting: matches!(code, Code::ACCOUNTING_REQUEST | Code::ACCOUNTING_RESPONSE),
        id: identifier.into(),
        bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        parts: attributes.map(part).collect(),
        ..Message::new(RADIUS, packet(code).unwrap_or(UNKNOWN_PACKET))
    }
}

const UNKNOWN_PACKET: Name = Name::new(&"RADIUS packet");

/// The name of a packet of this code in RFC 2865, RFC 2866 and RFC 5176.
pub const fn packet(code: Code) -> Option<Name> {
    Some(match code.0 {
        1 => Name::new(&"Access-Request"),
        2 => Name::new(&"Access-Accept"),
        3 => Name::new(&"Access-Reject"),
        4 => Name::new(&"Accounting-Request"),
        5 => Name::new(&"Accounting-Response"),
        11 => Name::new(&"Access-Challenge"),
        12 => Name::new(&"Status-Server"),
        13 => Name::new(&"Status-Client"),
        40 => Name::new(&"Disconnect-Request"),
        41 => Name::new(&"Disconnect-ACK"),
        42 => Name::new(&"Disconnect-NAK"),
        43 => Name::new(&"CoA-Request"),
        44 => Name::new(&"CoA-ACK"),
        45 => Name::new(&"CoA-NAK"),
        _ => return None,
    })
}

/// The name of an attribute in the standards.
#[inline]
pub const fn attribute(kind: AttributeType) -> Option<Name> {
    Some(match kind.0 {
        1 => Name::new(&"User-Name"),
        2 => Name::new(&"User-Password"),
        3 => Name::new(&"CHAP-Password"),
        4 => Name::new(&"NAS-IP-Address"),
        5 => Name::new(&"NAS-Port"),
        6 => Name::new(&"Service-Type"),
        8 => Name::new(&"Framed-IP-Address"),
        12 => Name::new(&"Framed-MTU"),
        18 => Name::new(&"Reply-Message"),
        24 => Name::new(&"State"),
        25 => Name::new(&"Class"),
        26 => Name::new(&"Vendor-Specific"),
        27 => Name::new(&"Session-Timeout"),
        30 => Name::new(&"Called-Station-Id"),
        31 => Name::new(&"Calling-Station-Id"),
        32 => Name::new(&"NAS-Identifier"),
        33 => Name::new(&"Proxy-State"),
        40 => Name::new(&"Acct-Status-Type"),
        42 => Name::new(&"Acct-Input-Octets"),
        43 => Name::new(&"Acct-Output-Octets"),
        44 => Name::new(&"Acct-Session-Id"),
        46 => Name::new(&"Acct-Session-Time"),
        60 => Name::new(&"CHAP-Challenge"),
        61 => Name::new(&"NAS-Port-Type"),
        79 => Name::new(&"EAP-Message"),
        80 => Name::new(&"Message-Authenticator"),
        _ => return None,
    })
}

/// The name of an attribute in a message; its number if it has no name.
fn part(kind: AttributeType) -> Name {
    attribute(kind).unwrap_or(Name::new(&NUMERALS[usize::from(kind.0)]))
}

#[rustfmt::skip]
static NUMERALS: [&str; 256] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18",
    "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33", "34", "35",
    "36", "37", "38", "39", "40", "41", "42", "43", "44", "45", "46", "47", "48", "49", "50", "51", "52",
    "53", "54", "55", "56", "57", "58", "59", "60", "61", "62", "63", "64", "65", "66", "67", "68", "69",
    "70", "71", "72", "73", "74", "75", "76", "77", "78", "79", "80", "81", "82", "83", "84", "85", "86",
    "87", "88", "89", "90", "91", "92", "93", "94", "95", "96", "97", "98", "99", "100", "101", "102",
    "103", "104", "105", "106", "107", "108", "109", "110", "111", "112", "113", "114", "115", "116",
    "117", "118", "119", "120", "121", "122", "123", "124", "125", "126", "127", "128", "129", "130",
    "131", "132", "133", "134", "135", "136", "137", "138", "139", "140", "141", "142", "143", "144",
    "145", "146", "147", "148", "149", "150", "151", "152", "153", "154", "155", "156", "157", "158",
    "159", "160", "161", "162", "163", "164", "165", "166", "167", "168", "169", "170", "171", "172",
    "173", "174", "175", "176", "177", "178", "179", "180", "181", "182", "183", "184", "185", "186",
    "187", "188", "189", "190", "191", "192", "193", "194", "195", "196", "197", "198", "199", "200",
    "201", "202", "203", "204", "205", "206", "207", "208", "209", "210", "211", "212", "213", "214",
    "215", "216", "217", "218", "219", "220", "221", "222", "223", "224", "225", "226", "227", "228",
    "229", "230", "231", "232", "233", "234", "235", "236", "237", "238", "239", "240", "241", "242",
    "243", "244", "245", "246", "247", "248", "249", "250", "251", "252", "253", "254", "255",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn named(code: u8, attributes: &[u8]) -> String {
        let attributes = attributes.iter().map(|&kind| AttributeType(kind));
        let message = message(Code(code), 0, 100, attributes);
        format!("{} {}", message.name, message.parts)
    }

    #[test]
    fn packets_have_the_names_of_the_standards_and_unknown_attributes_their_number() {
        assert_eq!(named(11, &[79, 24, 80]), "Access-Challenge EAP-Message State Message-Authenticator");
        assert_eq!(named(99, &[200, 0, 255]), "RADIUS packet 200 0 255");
    }

    #[test]
    fn accounting_is_no_part_of_an_authentication() {
        let accounting = |code| message(code, 0, 20, std::iter::empty()).accounting;
        let codes = [Code::ACCESS_REQUEST, Code::ACCOUNTING_REQUEST, Code::ACCOUNTING_RESPONSE];
        assert_eq!(codes.map(accounting), [false, true, true]);
    }
}
