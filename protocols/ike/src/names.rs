//! Names of IKE's messages and payloads in traces: those of the standards.

use keytoll_engine::trace::{Message, Name, Parts, Protocol};

use crate::number::{ExchangeType, PayloadType};
use crate::v1::number::{AGGRESSIVE, IDENTITY_PROTECTION, QUICK_MODE};

/// IKE, any version, with or without the non-ESP marker.
pub const IKE: Protocol = Protocol::new(&"ike");

/// Messages of IKEv1 that its standard numbers by phase: there are no requests and responses, and an exchange has one id.
const PHASE_1: Name = Name::new(&"P1");
const PHASE_2: Name = Name::new(&"P2");

/// A message of this exchange, whose contents are unknown yet.
pub fn message(exchange: ExchangeType, response: bool) -> Message {
    Message { series: series(exchange), response, ..Message::new(IKE, message_name(exchange, response)) }
}

const fn series(exchange: ExchangeType) -> Option<Name> {
    match exchange {
        IDENTITY_PROTECTION | AGGRESSIVE => Some(PHASE_1),
        QUICK_MODE => Some(PHASE_2),
        _ => None,
    }
}

/// Declares the exchanges: their names alone and in either direction.
macro_rules! exchanges {
    ($($number:literal = $name:literal),+; $other:literal) => {
        /// IANA registry "IKEv2 Exchange Types", and RFC 2408 §3.1 below 34.
        pub const fn exchange(exchange: ExchangeType) -> &'static str {
            match exchange.0 {
                $($number => $name,)+
                _ => $other,
            }
        }

        /// `IKE_SA_INIT request`
        pub const fn message_name(exchange: ExchangeType, response: bool) -> Name {
            match (exchange.0, response) {
                $(
                    ($number, false) => Name::new(&concat!($name, " request")),
                    ($number, true) => Name::new(&concat!($name, " response")),
                )+
                (_, false) => Name::new(&concat!($other, " request")),
                (_, true) => Name::new(&concat!($other, " response")),
            }
        }
    };
}

exchanges! {
    2 = "IDENTITY_PROTECTION",
    4 = "AGGRESSIVE",
    5 = "INFORMATIONAL_V1",
    32 = "QUICK_MODE",
    34 = "IKE_SA_INIT",
    35 = "IKE_AUTH",
    36 = "CREATE_CHILD_SA",
    37 = "INFORMATIONAL",
    43 = "IKE_INTERMEDIATE";
    "EXCHANGE"
}

/// Payload types as RFC 7296 §3.2 abbreviates them, and those of IKEv1 as RFC 2408 §3.1 and RFC 3947 do.
pub const fn payload(payload: PayloadType) -> Name {
    match payload.0 {
        1 | 33 => Name::new(&"SA"),
        4 | 34 => Name::new(&"KE"),
        5 => Name::new(&"ID"),
        6 | 37 => Name::new(&"CERT"),
        7 => Name::new(&"CR"),
        8 => Name::new(&"HASH"),
        9 => Name::new(&"SIG"),
        10 => Name::new(&"NONCE"),
        11 | 41 => Name::new(&"N"),
        12 | 42 => Name::new(&"D"),
        13 => Name::new(&"VID"),
        20 => Name::new(&"NAT-D"),
        21 => Name::new(&"NAT-OA"),
        35 => Name::new(&"IDi"),
        36 => Name::new(&"IDr"),
        38 => Name::new(&"CERTREQ"),
        39 => Name::new(&"AUTH"),
        40 => Name::new(&"Nonce"),
        43 => Name::new(&"V"),
        44 => Name::new(&"TSi"),
        45 => Name::new(&"TSr"),
        46 => Name::new(&"SK"),
        47 => Name::new(&"CP"),
        48 => Name::new(&"EAP"),
        53 => Name::new(&"SKF"),
        _ => UNKNOWN_PAYLOAD,
    }
}

/// A payload that has no name.
pub const UNKNOWN_PAYLOAD: Name = Name::new(&"?");

/// The payload types of a message in their order, those inside encryption included; more compact than names, because an SA
/// keeps its last response.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PayloadTypes {
    len: u8,
    types: [u8; Parts::MAX],
}

impl PayloadTypes {
    /// Appends a payload type; beyond [`Parts::MAX`] it is left out.
    pub(crate) fn push(&mut self, kind: PayloadType) {
        if let Some(slot) = self.types.get_mut(usize::from(self.len)) {
            *slot = kind.0;
            self.len += 1;
        }
    }

    /// The types, in order.
    pub fn iter(&self) -> impl Iterator<Item = PayloadType> {
        self.types.iter().take(self.len.into()).map(|&kind| PayloadType(kind))
    }

    /// Their names.
    pub fn parts(&self) -> Parts {
        self.iter().map(payload).collect()
    }
}

impl std::fmt::Debug for PayloadTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_have_their_own_names() {
        let check = |exchange, response, types: &[u8], said: &str| {
            let mut payloads = PayloadTypes::default();
            types.iter().for_each(|&kind| payloads.push(PayloadType(kind)));
            let message = message(ExchangeType(exchange), response);
            assert_eq!(format!("{} {}", message.name, payloads.parts()), said);
        };
        check(34, false, &[33, 34, 40], "IKE_SA_INIT request SA KE Nonce");
        check(2, true, &[4, 10, 20], "IDENTITY_PROTECTION response KE NONCE NAT-D");
        check(32, false, &[8], "QUICK_MODE request HASH");
        check(99, true, &[99], "EXCHANGE response ?");
    }

    #[test]
    fn phases_are_numbered_where_names_do_not_distinguish_messages() {
        let series = |exchange| message(exchange, false).series;
        assert_eq!([IDENTITY_PROTECTION, AGGRESSIVE].map(series), [Some(PHASE_1); 2]);
        assert_eq!(series(QUICK_MODE), Some(PHASE_2));
        assert_eq!([ExchangeType::IKE_AUTH, crate::v1::number::INFORMATIONAL].map(series), [None; 2]);
    }
}
