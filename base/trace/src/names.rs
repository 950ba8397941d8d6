//! Numbers of the standards as people read them.

use crate::Message;
use crate::Protocol;

/// `IKE_SA_INIT request`, `INFORMATIONAL response`, …
pub fn message(message: &Message) -> String {
    let direction = if message.response { "response" } else { "request" };
    match message.protocol {
        Protocol::Ike => format!("{} {direction}", ike_exchange(message.kind)),
        other => format!("{} {} {direction}", other.name(), message.kind),
    }
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

/// IKEv2 payload types as RFC 7296 §3.2 abbreviates them.
pub const fn ike_payload(number: u8) -> &'static str {
    match number {
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

/// The payloads of a message, `SA KE Nonce N N`.
pub fn payloads(message: &Message) -> String {
    let names = message.payloads.as_slice().iter().map(|&kind| match message.protocol {
        Protocol::Ike => ike_payload(kind).to_owned(),
        _ => kind.to_string(),
    });
    names.collect::<Vec<_>>().join(" ")
}
