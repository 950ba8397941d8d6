//! The payloads of a received message, looked up by meaning. RFC 7296 §2.5 (critical bit), §3.2.

use crate::number::{NotifyType, PayloadType};
use crate::wire::{
    Authentication, Certificate, Configuration, Delete, Eap, Identification, KeyExchange, Notify, Payload,
    SecurityAssociation, TrafficSelectors,
};

use super::event::Reason;

/// Payloads of one message: those that may occur once occur at most once, and none is unknown and critical.
#[derive(Debug)]
pub(super) struct Inbound<'a>(Vec<Payload<'a>>);

/// Defines the look-up of an optional payload that may occur once, and of a mandatory one.
macro_rules! single {
    ($maybe:ident, $must:ident, $variant:ident, $kind:ty, $name:literal) => {
        pub(super) fn $maybe(&self) -> Option<$kind> {
            self.0.iter().find_map(|payload| match payload {
                Payload::$variant(found) => Some(*found),
                _ => None,
            })
        }

        pub(super) fn $must(&self) -> Result<$kind, Reason> {
            self.$maybe().ok_or(Reason::Syntax(concat!($name, " is missing")))
        }
    };
}

/// Defines the iteration over payloads that may occur several times.
macro_rules! many {
    ($name:ident, $variant:ident, $kind:ty) => {
        pub(super) fn $name(&self) -> impl Iterator<Item = $kind> {
            self.0.iter().filter_map(|payload| match payload {
                Payload::$variant(found) => Some(*found),
                _ => None,
            })
        }
    };
}

impl<'a> Inbound<'a> {
    /// Checks the rules that apply to every message.
    pub(super) fn new(payloads: Vec<Payload<'a>>) -> Result<Self, Reason> {
        let mut seen = 0_u64;
        for payload in &payloads {
            match payload {
                // RFC 7296 §2.5: an unknown payload is skipped unless its critical bit is set.
                Payload::Unknown(unknown) if unknown.critical => {
                    return Err(Reason::UnsupportedCritical(unknown.kind.0));
                }
                Payload::Unknown(_) => {}
                known if occurs_once(known.kind()) => {
                    let bit = 1 << (known.kind().0 & 63);
                    if seen & bit != 0 {
                        return Err(Reason::Syntax("a payload occurs twice"));
                    }
                    seen |= bit;
                }
                _ => {}
            }
        }
        Ok(Self(payloads))
    }

    single!(sa, need_sa, SecurityAssociation, SecurityAssociation<'a>, "SA");
    single!(ke, need_ke, KeyExchange, KeyExchange<'a>, "KE");
    single!(id_initiator, need_id_initiator, IdInitiator, Identification<'a>, "IDi");
    single!(id_responder, need_id_responder, IdResponder, Identification<'a>, "IDr");
    single!(auth, need_auth, Authentication, Authentication<'a>, "AUTH");
    single!(ts_initiator, need_ts_initiator, SelectorsInitiator, TrafficSelectors<'a>, "TSi");
    single!(ts_responder, need_ts_responder, SelectorsResponder, TrafficSelectors<'a>, "TSr");
    single!(eap, need_eap, Eap, Eap<'a>, "EAP");
    many!(configurations, Configuration, Configuration<'a>);
    many!(certificates, Certificate, Certificate<'a>);
    many!(notifies, Notify, Notify<'a>);
    many!(deletes, Delete, Delete<'a>);

    /// The nonce.
    pub(super) fn need_nonce(&self) -> Result<&'a [u8], Reason> {
        let found = self.0.iter().find_map(|payload| match payload {
            Payload::Nonce(nonce) => Some(nonce.data),
            _ => None,
        });
        found.ok_or(Reason::Syntax("Nonce is missing"))
    }

    /// The Configuration payload.
    pub(super) fn configuration(&self) -> Option<Configuration<'a>> {
        self.configurations().next()
    }

    /// The first notification of a kind.
    pub(super) fn notify(&self, kind: NotifyType) -> Option<Notify<'a>> {
        self.notifies().find(|notify| notify.kind == kind)
    }

    /// Whether there is a notification of a type.
    pub(super) fn says(&self, kind: NotifyType) -> bool {
        self.notify(kind).is_some()
    }

    /// The first error notification.
    pub(super) fn error(&self) -> Option<NotifyType> {
        self.notifies().map(|notify| notify.kind).find(|kind| kind.is_error())
    }
}

/// Payloads that a message contains at most once.
const fn occurs_once(kind: PayloadType) -> bool {
    matches!(
        kind,
        PayloadType::SA
            | PayloadType::KE
            | PayloadType::ID_I
            | PayloadType::ID_R
            | PayloadType::AUTH
            | PayloadType::NONCE
            | PayloadType::TS_I
            | PayloadType::TS_R
            | PayloadType::CP
            | PayloadType::EAP
    )
}
