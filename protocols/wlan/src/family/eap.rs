//! What conversations need to know of the EAP packets in EAPOL: RFC 3748 §4, §5.1.

pub(super) use crate::dot1x::eap::Code;
use crate::dot1x::eap::{HEADER_LEN, Header};

/// RFC 3748 §5.1.
const IDENTITY: u8 = 1;

/// An EAP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Eap<'a> {
    pub(super) code: Code,
    pub(super) identifier: u8,
    /// The type of a request or response.
    kind: Option<u8>,
    /// What follows the type.
    pub(super) data: &'a [u8],
}

impl<'a> Eap<'a> {
    /// Reads a packet; nothing if it is none, or a request or response without a type.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (Header { code, identifier }, packet) = Header::read(bytes).ok()?;
        let body = packet.get(HEADER_LEN..)?;
        let (kind, data) = match code {
            Code::Request | Code::Response => body.split_first().map(|(kind, data)| (Some(*kind), data))?,
            Code::Success | Code::Failure => (None, body),
        };
        Some(Self { code, identifier, kind, data })
    }

    pub(super) fn is_identity(&self) -> bool {
        self.kind == Some(IDENTITY)
    }
}
