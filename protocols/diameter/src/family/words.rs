//! Diameter messages: RFC 6733 §3, §7.1; TS 29.272 §7 (S6a), TS 29.273 §8 (SWx).

use keytoll_family::words::printable;
use keytoll_family::{Content, Dissected, Part, unreadable};

use crate::number::{AvpCode, result};
use crate::wire::{Avps, Header, Message, message};
use crate::{names, result_of};

/// A Diameter message as its conversation sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diameter {
    /// The fixed part.
    pub header: Header,
    /// Session-Id.
    pub session: Option<String>,
    /// User-Name: the IMSI, where a HSS is asked.
    pub user: Option<String>,
    /// Result-Code or Experimental-Result-Code.
    pub result: Option<u32>,
}

impl Content for Diameter {}

pub(super) fn dissect(bytes: &[u8]) -> Dissected {
    let message = match Message::read(bytes) {
        Ok(message) => message,
        Err(error) => return unreadable("Diameter", &error),
    };
    let (header, avps) = (message.header, &message.avps);
    let text = |code| avps.get(code).map(printable);
    let diameter = Diameter {
        header,
        session: text(AvpCode::SESSION_ID),
        user: text(AvpCode::USER_NAME),
        result: result_of(avps),
    };
    let failure = diameter.result.filter(|code| !(2000..3000).contains(code)).map(result_name);
    Dissected {
        name: name(&header),
        parts: parts(&diameter, avps),
        failure,
        remarks: flags(&header),
        sent: super::message(bytes).ok(),
        content: Box::new(diameter),
    }
}

fn name(header: &Header) -> String {
    let name = names::abbreviation(header).map_or_else(
        || format!("command {} {}", header.command, if header.is_request() { "request" } else { "answer" }),
        |known| known.to_string(),
    );
    format!("{name} {:08x}", header.hop_by_hop)
}

fn parts(diameter: &Diameter, avps: &Avps<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut say = |name: &str, detail: Option<String>| {
        parts.extend(detail.map(|detail| Part::new(name, detail)));
    };
    say("User-Name", diameter.user.clone());
    say("Origin-Host", avps.get(AvpCode::ORIGIN_HOST).map(printable));
    say("Scheme", scheme(avps));
    say("vectors", vectors(avps));
    say("Result-Code", diameter.result.map(result_name));
    parts
}

fn scheme(avps: &Avps<'_>) -> Option<String> {
    let item = avps.group(AvpCode::SIP_AUTH_DATA_ITEM).ok()??;
    item.get(AvpCode::SIP_AUTHENTICATION_SCHEME).map(printable)
}

/// How many authentication vectors an answer brings.
fn vectors(avps: &Avps<'_>) -> Option<String> {
    let swx = avps.groups(AvpCode::SIP_AUTH_DATA_ITEM).flatten();
    let swx = swx.filter(|item| item.get(AvpCode::SIP_AUTHENTICATE).is_some()).count();
    let s6a = avps.group(AvpCode::AUTHENTICATION_INFO).ok().flatten();
    let s6a = s6a.map_or(0, |group| group.groups(AvpCode::E_UTRAN_VECTOR).count());
    Some(swx + s6a).filter(|count| *count > 0).map(|count| count.to_string())
}

fn result_name(code: u32) -> String {
    let name = match code {
        result::SUCCESS => "SUCCESS",
        result::COMMAND_UNSUPPORTED => "COMMAND_UNSUPPORTED",
        3002 => "UNABLE_TO_DELIVER",
        3003 => "REALM_NOT_SERVED",
        3004 => "TOO_BUSY",
        result::APPLICATION_UNSUPPORTED => "APPLICATION_UNSUPPORTED",
        result::UNKNOWN_PEER => "UNKNOWN_PEER",
        4001 => "AUTHENTICATION_REJECTED",
        result::AUTHENTICATION_DATA_UNAVAILABLE => "AUTHENTICATION_DATA_UNAVAILABLE",
        result::USER_UNKNOWN => "USER_UNKNOWN",
        5003 => "AUTHORIZATION_REJECTED",
        result::INVALID_AVP_VALUE => "INVALID_AVP_VALUE",
        5005 => "MISSING_AVP",
        5010 => "NO_COMMON_APPLICATION",
        result::UNABLE_TO_COMPLY => "UNABLE_TO_COMPLY",
        _ => return code.to_string(),
    };
    format!("{code} {name}")
}

fn flags(header: &Header) -> Vec<String> {
    let mut remarks = Vec::new();
    if header.flags & message::RETRANSMITTED != 0 {
        remarks.push("T flag: perhaps sent before".to_owned());
    }
    if header.flags & message::ERROR != 0 {
        remarks.push("E flag: a protocol error".to_owned());
    }
    remarks
}
