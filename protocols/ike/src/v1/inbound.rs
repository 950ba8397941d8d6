//! The payloads of a received message, looked up by meaning.

use super::wire::payload::Located;
use super::wire::{Delete, Identification, Notify, Payload, SecurityAssociation};
use crate::event::Reason;
use crate::number::{NotifyType, PayloadType};
use crate::v1::number::payload;
use crate::wire::{Certificate, DecodeError};

/// Payloads of one message: those that may occur once occur at most once.
#[derive(Debug)]
pub(super) struct Inbound<'a>(Vec<Located<'a>>);

/// Defines the iteration over payloads of a kind.
macro_rules! many {
    ($name:ident, $variant:ident, $kind:ty) => {
        pub(super) fn $name(&self) -> impl Iterator<Item = $kind> {
            self.0.iter().filter_map(|located| match located.payload {
                Payload::$variant(found) => Some(found),
                _ => None,
            })
        }
    };
}

impl<'a> Inbound<'a> {
    /// Checks the rules that apply to every message.
    pub(super) fn new(payloads: Result<Vec<Located<'a>>, DecodeError>) -> Result<Self, Reason> {
        let payloads = payloads.map_err(|error| Reason::Syntax(error.field))?;
        let mut seen = 0_u32;
        for kind in payloads.iter().map(|located| located.payload.kind()).filter(|kind| occurs_once(*kind)) {
            let bit = 1 << (kind.0 & 31);
            if seen & bit != 0 {
                return Err(Reason::Syntax("a payload occurs twice"));
            }
            seen |= bit;
        }
        Ok(Self(payloads))
    }

    many!(associations, SecurityAssociation, SecurityAssociation<'a>);
    many!(key_exchanges, KeyExchange, &'a [u8]);
    many!(nonces, Nonce, &'a [u8]);
    many!(identities, Identification, Identification<'a>);
    many!(certificates, Certificate, Certificate<'a>);
    many!(hashes, Hash, &'a [u8]);
    many!(signatures, Signature, &'a [u8]);
    many!(notifies, Notify, Notify<'a>);
    many!(deletes, Delete, Delete<'a>);
    many!(vendor_ids, VendorId, &'a [u8]);
    many!(nat_detections, NatDetection, &'a [u8]);

    /// The SA payload and its body.
    pub(super) fn need_sa(&self) -> Result<(SecurityAssociation<'a>, &'a [u8]), Reason> {
        let found = self.0.iter().find(|located| located.payload.kind() == payload::SA);
        let sa = self.associations().next().ok_or(Reason::Syntax("SA is missing"))?;
        Ok((sa, found.map_or(&[], |located| located.body)))
    }

    pub(super) fn need_ke(&self) -> Result<&'a [u8], Reason> {
        self.key_exchanges().next().ok_or(Reason::Syntax("KE is missing"))
    }

    pub(super) fn need_nonce(&self) -> Result<&'a [u8], Reason> {
        self.nonces().next().ok_or(Reason::Syntax("NONCE is missing"))
    }

    /// The ID payload and its body.
    pub(super) fn need_id(&self) -> Result<(Identification<'a>, &'a [u8]), Reason> {
        let found = self.0.iter().find(|located| located.payload.kind() == payload::ID);
        let id = self.identities().next().ok_or(Reason::Syntax("ID is missing"))?;
        Ok((id, found.map_or(&[], |located| located.body)))
    }

    /// The leading HASH payload, and the range of bytes that it covers (RFC 2409 §5.5).
    pub(super) fn leading_hash(&self) -> Option<(&'a [u8], std::ops::Range<usize>)> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        match first.payload {
            Payload::Hash(hash) => Some((hash, first.end..last.end)),
            _ => None,
        }
    }

    /// The first notification of a kind.
    pub(super) fn notify(&self, kind: NotifyType) -> Option<Notify<'a>> {
        self.notifies().find(|notify| notify.kind == kind)
    }

    /// The first error notification.
    pub(super) fn error(&self) -> Option<NotifyType> {
        self.notifies().map(|notify| notify.kind).find(|kind| kind.is_error())
    }
}

/// Payloads that a message contains at most once.
const fn occurs_once(kind: PayloadType) -> bool {
    matches!(kind, payload::SA | payload::KE | payload::HASH | payload::SIG | payload::NONCE)
}
