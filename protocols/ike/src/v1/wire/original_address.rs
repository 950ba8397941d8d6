//! NAT Original Address payload, RFC 3947 §5.2.
//!
//!   ID Type(1) Reserved(3) Address(4|16)

use std::net::IpAddr;

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::IdKind;

/// The address a peer had before a NAT changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginalAddress(pub IpAddr);

impl OriginalAddress {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = *r;
        let kind = IdKind(r.u8("original address type")?);
        r.skip(3, "original address reserved")?;
        match kind {
            IdKind::ID_IPV4_ADDR => Ok(Self(r.array::<4>("original address")?.into())),
            IdKind::ID_IPV6_ADDR => Ok(Self(r.array::<16>("original address")?.into())),
            _ => Err(at.error("original address type", Problem::Value(kind.0.into()))),
        }
    }

    pub(super) fn write(self, w: &mut Writer) {
        match self.0 {
            IpAddr::V4(ip) => {
                w.bytes(&[IdKind::ID_IPV4_ADDR.0, 0, 0, 0]);
                w.bytes(&ip.octets());
            }
            IpAddr::V6(ip) => {
                w.bytes(&[IdKind::ID_IPV6_ADDR.0, 0, 0, 0]);
                w.bytes(&ip.octets());
            }
        }
    }
}
