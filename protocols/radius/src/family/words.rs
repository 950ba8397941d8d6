//! RADIUS packets: RFC 2865 §3 and §5, RFC 2866 §5, RFC 3579 §3.

use std::net::{IpAddr, Ipv4Addr};

use keytoll_family::words::{printable, short_hex};
use keytoll_family::{Content, Dissected, Part, PartKind, unreadable};
use keytoll_net::wire::Reader;

use super::message;
use crate::names;
use crate::number::{AcctStatus, AttributeType, Code, MICROSOFT};
use crate::wire::{Attribute, Authenticator, Packet, VendorSpecific, eap_message};

/// A RADIUS packet as its conversation sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Radius {
    /// What kind of packet.
    pub code: Code,
    /// Matches requests and responses.
    pub identifier: u8,
    /// Request or Response Authenticator.
    pub authenticator: Authenticator,
    /// The server's handle of the conversation.
    pub state: Option<Vec<u8>>,
    /// Who wants access.
    pub user: Option<String>,
    /// Where the user called from.
    pub calling: Option<String>,
    /// The NAS's name.
    pub nas: Option<String>,
    /// The session that is accounted.
    pub session: Option<Vec<u8>>,
    /// The EAP packet; empty for an EAP-Start.
    pub eap: Option<Vec<u8>>,
    /// The packet itself, to check its authenticator.
    pub bytes: Vec<u8>,
}

impl Content for Radius {}

impl Radius {
    /// Whether it asks something; what is not a response does.
    pub const fn is_request(&self) -> bool {
        !self.code.is_response() && !matches!(self.code.0, 41 | 42 | 44 | 45)
    }
}

pub(super) fn dissect(bytes: &[u8]) -> Dissected {
    let packet = match Packet::read(bytes) {
        Ok(packet) => packet,
        Err(error) => return unreadable("RADIUS", &error),
    };
    let mut remarks = Vec::new();
    let eap = eap_message::join(&packet.attributes).unwrap_or_else(|error| {
        remarks.push(format!("MALFORMED: {error}"));
        None
    });
    let value = |kind| packet.attributes.values(kind).next().map(|mut value| value.rest());
    let radius = Radius {
        code: packet.code,
        identifier: packet.identifier,
        authenticator: packet.authenticator,
        state: value(AttributeType::STATE).map(<[u8]>::to_vec),
        user: value(AttributeType::USER_NAME).map(printable),
        calling: value(AttributeType::CALLING_STATION_ID).map(printable),
        nas: value(AttributeType::NAS_IDENTIFIER).map(printable),
        session: value(AttributeType::ACCT_SESSION_ID).map(<[u8]>::to_vec),
        eap,
        bytes: packet.bytes().to_vec(),
    };
    Dissected {
        name: format!("{} {}", name(packet.code), packet.identifier),
        parts: parts(&packet),
        failure: (packet.code == Code::ACCESS_REJECT).then(|| "Access-Reject".to_owned()),
        remarks,
        sent: message(bytes).ok(),
        content: Box::new(radius),
    }
}

pub(super) fn name(code: Code) -> String {
    names::packet(code).map_or_else(|| format!("RADIUS code {}", code.0), |known| known.to_string())
}

/// The attributes in words; the pieces of one EAP packet are one.
fn parts(packet: &Packet<'_>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for attribute in packet.attributes.iter() {
        let part = part(&attribute);
        if attribute.kind() == AttributeType::EAP_MESSAGE
            && parts.last().is_some_and(|last| last.kind == PartKind::Carried)
        {
            continue;
        }
        parts.push(part);
    }
    parts
}

fn part(attribute: &Attribute<'_>) -> Part {
    let (kind, value) = (attribute.kind(), attribute.value());
    let number = || value.try_into().ok().map(u32::from_be_bytes);
    let name =
        names::attribute(kind).map_or_else(|| format!("attribute {}", kind.0), |known| known.to_string());
    match kind {
        AttributeType::EAP_MESSAGE => Part::carried("EAP", ""),
        AttributeType::USER_NAME
        | AttributeType::REPLY_MESSAGE
        | AttributeType::CALLED_STATION_ID
        | AttributeType::CALLING_STATION_ID
        | AttributeType::NAS_IDENTIFIER
        | AttributeType::ACCT_SESSION_ID => Part::new(name, printable(value)),
        AttributeType::STATE | AttributeType::CLASS => Part::new(name, short_hex(value)),
        AttributeType::NAS_IP_ADDRESS | AttributeType::FRAMED_IP_ADDRESS => {
            Part::new(name, ipv4(value).map(|ip| ip.to_string()).unwrap_or_default())
        }
        AttributeType::ACCT_STATUS_TYPE => Part::new(name, number().map(status).unwrap_or_default()),
        AttributeType::NAS_PORT
        | AttributeType::FRAMED_MTU
        | AttributeType::SESSION_TIMEOUT
        | AttributeType::ACCT_SESSION_TIME
        | AttributeType::ACCT_INPUT_OCTETS
        | AttributeType::ACCT_OUTPUT_OCTETS => {
            Part::new(name, number().map(|number| number.to_string()).unwrap_or_default())
        }
        AttributeType::VENDOR_SPECIFIC => Part::new("Vendor-Specific", vendor(value)),
        _ => Part::bare(name),
    }
}

fn ipv4(value: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(value).ok().map(|octets| Ipv4Addr::from(octets).into())
}

fn status(number: u32) -> String {
    AcctStatus::from_number(number).map_or_else(|| number.to_string(), |status| format!("{status:?}"))
}

/// RFC 2548 §2.4.2: the halves of the MSK are Microsoft's; their values are not shown.
fn vendor(value: &[u8]) -> String {
    let mut r = Reader::new(value);
    if let Ok(Some(microsoft)) = VendorSpecific::read(&mut r, MICROSOFT) {
        let names = microsoft.attributes.iter().map(|attribute| match attribute.kind().0 {
            16 => "MS-MPPE-Send-Key".to_owned(),
            17 => "MS-MPPE-Recv-Key".to_owned(),
            7 => "MS-MPPE-Encryption-Policy".to_owned(),
            8 => "MS-MPPE-Encryption-Types".to_owned(),
            other => format!("Microsoft {other}"),
        });
        return names.collect::<Vec<_>>().join(" ");
    }
    match value.first_chunk().map(|id| u32::from_be_bytes(*id)) {
        Some(9) => "Cisco".to_owned(),
        Some(10_415) => "3GPP".to_owned(),
        Some(vendor) => format!("vendor {vendor}"),
        None => String::new(),
    }
}
