//! Bodies of management frames, 802.11-2020 §9.3.3. A file each, or for a few that have one layout.

pub mod action;
pub mod association;
pub mod authentication;
pub mod beacon;
pub mod farewell;

use keytoll_net::wire::{DecodeError, Reader, Writer};

pub use action::{Action, FtAction, SaQuery};
pub use association::{AssociationRequest, AssociationResponse};
pub use authentication::Authentication;
pub use beacon::Beacon;
pub use farewell::Farewell;

use super::element::Elements;

/// 802.11-2020 table 9-1: subtypes of management frames.
pub mod subtype {
    /// A station asks to associate.
    pub const ASSOCIATION_REQUEST: u8 = 0;
    /// The answer.
    pub const ASSOCIATION_RESPONSE: u8 = 1;
    /// A station asks to move its association.
    pub const REASSOCIATION_REQUEST: u8 = 2;
    /// The answer.
    pub const REASSOCIATION_RESPONSE: u8 = 3;
    /// A station looks for networks.
    pub const PROBE_REQUEST: u8 = 4;
    /// The answer.
    pub const PROBE_RESPONSE: u8 = 5;
    /// A network announces itself.
    pub const BEACON: u8 = 8;
    /// An association ends.
    pub const DISASSOCIATION: u8 = 10;
    /// Authentication.
    pub const AUTHENTICATION: u8 = 11;
    /// An authentication ends.
    pub const DEAUTHENTICATION: u8 = 12;
    /// Anything else, by category.
    pub const ACTION: u8 = 13;
    /// The same without an acknowledgement.
    pub const ACTION_NO_ACK: u8 = 14;
}

/// The body of a management frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Management<'a> {
    /// A station asks to associate, or to move its association from another access point.
    AssociationRequest(AssociationRequest<'a>),
    /// The answer.
    AssociationResponse(AssociationResponse<'a>),
    /// A station looks for networks.
    ProbeRequest(Elements<'a>),
    /// A network announces itself, by itself or when it is asked.
    Beacon(Beacon<'a>),
    /// A message of an authentication.
    Authentication(Authentication<'a>),
    /// An association ends.
    Disassociation(Farewell<'a>),
    /// An authentication ends.
    Deauthentication(Farewell<'a>),
    /// Anything else, by category.
    Action(Action<'a>),
    /// A body that has no type here.
    Other {
        /// The subtype of the frame.
        subtype: u8,
        /// All of it.
        body: &'a [u8],
    },
}

impl<'a> Management<'a> {
    /// Reads the body of a frame that is not encrypted, or was decrypted.
    ///
    /// # Errors
    /// If it is cut short.
    pub fn read(kind: u8, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(body);
        let r = &mut r;
        Ok(match kind {
            subtype::ASSOCIATION_REQUEST => Self::AssociationRequest(AssociationRequest::read(r, false)?),
            subtype::REASSOCIATION_REQUEST => Self::AssociationRequest(AssociationRequest::read(r, true)?),
            subtype::ASSOCIATION_RESPONSE => Self::AssociationResponse(AssociationResponse::read(r, false)?),
            subtype::REASSOCIATION_RESPONSE => Self::AssociationResponse(AssociationResponse::read(r, true)?),
            subtype::PROBE_REQUEST => Self::ProbeRequest(Elements::read(r)?),
            subtype::PROBE_RESPONSE => Self::Beacon(Beacon::read(r, true)?),
            subtype::BEACON => Self::Beacon(Beacon::read(r, false)?),
            subtype::AUTHENTICATION => Self::Authentication(Authentication::read(r)?),
            subtype::DISASSOCIATION => Self::Disassociation(Farewell::read(r)?),
            subtype::DEAUTHENTICATION => Self::Deauthentication(Farewell::read(r)?),
            subtype::ACTION => Self::Action(Action::read(r)?),
            other => Self::Other { subtype: other, body: r.rest() },
        })
    }

    /// The subtype of its frame.
    pub const fn subtype(&self) -> u8 {
        match self {
            Self::AssociationRequest(request) if request.current_ap.is_some() => {
                subtype::REASSOCIATION_REQUEST
            }
            Self::AssociationRequest(_) => subtype::ASSOCIATION_REQUEST,
            Self::AssociationResponse(response) if response.reassociation => subtype::REASSOCIATION_RESPONSE,
            Self::AssociationResponse(_) => subtype::ASSOCIATION_RESPONSE,
            Self::ProbeRequest(_) => subtype::PROBE_REQUEST,
            Self::Beacon(beacon) if beacon.is_response => subtype::PROBE_RESPONSE,
            Self::Beacon(_) => subtype::BEACON,
            Self::Authentication(_) => subtype::AUTHENTICATION,
            Self::Disassociation(_) => subtype::DISASSOCIATION,
            Self::Deauthentication(_) => subtype::DEAUTHENTICATION,
            Self::Action(_) => subtype::ACTION,
            Self::Other { subtype, .. } => *subtype,
        }
    }

    /// Writes the body.
    pub fn write(&self, w: &mut Writer) {
        match self {
            Self::AssociationRequest(request) => request.write(w),
            Self::AssociationResponse(response) => response.write(w),
            Self::ProbeRequest(elements) => elements.write(w),
            Self::Beacon(beacon) => beacon.write(w),
            Self::Authentication(authentication) => authentication.write(w),
            Self::Disassociation(farewell) | Self::Deauthentication(farewell) => farewell.write(w),
            Self::Action(action) => action.write(w),
            Self::Other { body, .. } => w.bytes(body),
        }
    }

    /// The body as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        self.write(&mut w);
        w.finish()
    }
}

#[cfg(test)]
pub(super) mod testing {
    use proptest::prelude::*;

    use super::Management;
    use crate::frame::element::{Element, ElementId, Elements};

    /// A body is read as it was written, and never when a fixed field is cut short.
    pub(super) fn check(body: &Management<'_>, fixed_len: usize) {
        let bytes = body.to_bytes();
        assert_eq!(Management::read(body.subtype(), &bytes).as_ref(), Ok(body));
        for cut in 0..fixed_len {
            assert!(Management::read(body.subtype(), &bytes[..cut]).is_err(), "{cut}");
        }
    }

    pub(super) fn bodies() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
        proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..5)
    }

    pub(super) fn elements(bodies: &[(u8, Vec<u8>)]) -> Elements<'_> {
        Elements(bodies.iter().map(|(id, body)| Element { id: ElementId(*id), body }).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(kind in 0_u8..16, bytes: Vec<u8>) {
            if let Ok(body) = Management::read(kind, &bytes) {
                prop_assert_eq!(body.subtype(), kind);
                prop_assert_eq!(body.to_bytes(), bytes);
            }
        }
    }
}
