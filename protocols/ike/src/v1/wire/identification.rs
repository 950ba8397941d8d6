//! Identification payload, RFC 2407 §4.6.2.
//!
//!   ID Type(1) Protocol ID(1) Port(2) Identification Data(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::IdKind;
use crate::wire::Identity;

/// The identity of a peer (phase 1), or a traffic selector (phase 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identification<'a> {
    /// What kind of identity.
    pub kind: IdKind,
    /// The IP protocol; 0 is any.
    pub protocol: u8,
    /// The port; 0 is any.
    pub port: u16,
    /// The identity.
    pub data: &'a [u8],
}

impl<'a> Identification<'a> {
    /// RFC 2407 §4.6.2.4: a subnet of IPv4.
    pub const IPV4_SUBNET: IdKind = IdKind(4);
    /// RFC 2407 §4.6.2.6: a subnet of IPv6.
    pub const IPV6_SUBNET: IdKind = IdKind(6);
    /// RFC 2407 §4.6.2.8: a range of IPv4.
    pub const IPV4_RANGE: IdKind = IdKind(7);
    /// RFC 2407 §4.6.2.9: a range of IPv6.
    pub const IPV6_RANGE: IdKind = IdKind(8);

    /// The payload for an identity in phase 1.
    // RFC 2407 §4.6.2: in phase 1 protocol and port are zero, or UDP and 500.
    pub fn of(identity: &'a Identity) -> Self {
        Self { kind: identity.kind, protocol: 0, port: 0, data: &identity.data }
    }

    /// A copy that outlives the message.
    pub fn to_identity(&self) -> Identity {
        Identity { kind: self.kind, data: self.data.to_vec() }
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let kind = IdKind(r.u8("ID type")?);
        let protocol = r.u8("ID protocol")?;
        let port = r.u16("ID port")?;
        let at = *r;
        let data = r.rest();
        if Self::data_len(kind).is_some_and(|length| length != data.len()) {
            return Err(at.error("identification data", Problem::Length(data.len() as u64)));
        }
        Ok(Self { kind, protocol, port, data })
    }

    /// Length of the kinds of fixed length: addresses, subnets and ranges.
    const fn data_len(kind: IdKind) -> Option<usize> {
        match kind {
            IdKind::ID_IPV4_ADDR => Some(4),
            IdKind::ID_IPV6_ADDR => Some(16),
            Self::IPV4_SUBNET | Self::IPV4_RANGE => Some(8),
            Self::IPV6_SUBNET | Self::IPV6_RANGE => Some(32),
            _ => None,
        }
    }

    /// Writes the body of the payload, which HASH_I and HASH_R cover as well (RFC 2409 §5, IDii_b).
    pub fn write(&self, w: &mut Writer) {
        w.bytes(&[self.kind.0, self.protocol]);
        w.u16(self.port);
        w.bytes(self.data);
    }
}
