//! PDUs of a LAN, below IP. Stations have MAC addresses, and may send everything to a group address.

use keytoll_engine::Datagram;
use keytoll_family::{Cut, LinkSeal, OnLan, Passed};
use keytoll_net::Addr;

use super::Origin;
use crate::passage;

/// A PDU in its frame, with the padding of a short frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lan<'a> {
    pub(super) ether_type: u16,
    /// `None` if the link layer has no such addresses.
    pub(super) from: Option<[u8; 6]>,
    /// `None` if the link layer of the capture does not record it.
    pub(super) to: Option<[u8; 6]>,
    pub(super) pdu: &'a [u8],
    /// As in [`super::link::Network`].
    pub(super) direction: u32,
    pub(super) seal: LinkSeal,
}

impl Lan<'_> {
    /// The PDU of a family, or its kind if it is of no interest.
    pub(super) fn take(&self, known: &OnLan, origin: Origin, cut: Option<Cut>) -> Result<Passed, String> {
        let from = self.from.ok_or_else(|| format!("{} of a link without addresses", known.name))?;
        let length = (known.length)(self.pdu)?;
        let Origin { at_ns, frame, comment, .. } = origin;
        let (from, to) = (Addr::Mac(from), Addr::Mac(self.to.unwrap_or(from)));
        let bytes = self.pdu[..length.min(self.pdu.len())].to_vec();
        Ok(Passed {
            first_ns: at_ns,
            at_ns,
            frame,
            packets: 1,
            wire_bytes: u32::try_from(length).unwrap_or(u32::MAX),
            datagram: Datagram { protocol: known.protocol, from, to, bytes },
            is_receiver_known: self.to.is_some(),
            seal: self.seal,
            cut: cut.filter(|_| length > self.pdu.len()),
            fate: comment.as_deref().and_then(passage::fate),
        })
    }
}
