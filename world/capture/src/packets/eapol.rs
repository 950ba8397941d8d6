//! EAPOL PDUs as they passed on a LAN: IEEE 802.1X-2020 §11.1 (addresses), §11.3 (header). They are below IP: stations have
//! MAC addresses, and may say everything to a group address.

use std::fmt;

use super::{Cut, Origin};
use crate::dissect::eapol::packet_type;

/// A MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// IEEE 802 §8.2.2: the first bit on the wire tells groups, such as 01:80:c2:00:00:03 of 802.1X, from stations.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, last] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{last:02x}")
    }
}

/// A PDU in its frame, with the padding of a short frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lan<'a> {
    pub(super) from: Mac,
    /// None where the link layer of the capture does not keep it.
    pub(super) to: Option<Mac>,
    pub(super) pdu: &'a [u8],
    /// As in [`super::link::Network`].
    pub(super) direction: u32,
}

/// An EAPOL PDU as it passed the point of capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Eapol {
    /// When it was captured, in nanoseconds.
    pub at_ns: u64,
    /// Its frame.
    pub frame: u64,
    /// Who sent it.
    pub from: Mac,
    /// To whom, perhaps a group; none where the capture does not keep it.
    pub to: Option<Mac>,
    /// Header and body, padding left out.
    pub bytes: Vec<u8>,
    /// Bytes of header and body on the wire.
    pub wire_bytes: u32,
    /// Not all of the bytes are there.
    pub cut: Option<Cut>,
    /// What the file says about it.
    pub comment: Option<String>,
}

/// IEEE 802.1X-2020 §11.3:  Protocol Version(1) Packet Type(1) Packet Body Length(2)
const HEADER_LEN: usize = 4;
/// IEEE 802.1X-2020 table 11-3: what has a greater number is MACsec's key agreement and announcements, which are no part of
/// an authentication.
const EAPOL_KEY: u8 = 3;

impl Lan<'_> {
    /// The PDU, or what it is if that is of no use here.
    pub(super) fn take(&self, origin: Origin, cut: Option<Cut>) -> Result<Eapol, String> {
        let header = self.pdu.first_chunk::<HEADER_LEN>();
        let &[_, kind, l0, l1] = header.ok_or_else(|| "EAPOL header cut short".to_owned())?;
        if kind > EAPOL_KEY {
            return Err(packet_type(kind).map_or_else(|| format!("EAPOL packet type {kind}"), str::to_owned));
        }
        let length = HEADER_LEN + usize::from(u16::from_be_bytes([l0, l1]));
        let Origin { at_ns, frame, comment, .. } = origin;
        Ok(Eapol {
            at_ns,
            frame,
            from: self.from,
            to: self.to,
            bytes: self.pdu[..length.min(self.pdu.len())].to_vec(),
            wire_bytes: u32::try_from(length).unwrap_or(u32::MAX),
            cut: cut.filter(|_| length > self.pdu.len()),
            comment,
        })
    }
}
