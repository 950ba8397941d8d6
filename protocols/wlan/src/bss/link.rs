//! An association as both sides use it: frames to the peer and from it, under the keys that there are.

use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Ctx, Datagram};

use super::security::is_robust;
use super::{Air, Heard, NotTaken, Protection, discard, protected, told};
use crate::MacAddr;
use crate::eapol::pdu;
use crate::frame::header::{Addresses, Header};
use crate::frame::{Flags, Management, ManagementHeader};

/// An association with one peer.
#[derive(Debug)]
pub(crate) struct Link {
    /// The other side.
    pub(crate) peer: MacAddr,
    /// The access point's address, which is one of both.
    bssid: MacAddr,
    pub(crate) keys: Protection,
    /// Whether management frames are protected once there are keys.
    protects_management: bool,
    /// Whether packets are carried.
    pub(crate) is_member: bool,
}

impl Link {
    /// Without keys; `is_member` where none are needed.
    pub(crate) fn new((peer, bssid): (MacAddr, MacAddr), protects_management: bool, is_member: bool) -> Self {
        Self { peer, bssid, keys: Protection::default(), protects_management, is_member }
    }

    /// Whether management frames have the protection that was agreed on, and with it IGTKs.
    pub(crate) const fn protects_management(&self) -> bool {
        self.protects_management
    }

    /// Whether robust management frames are protected now.
    pub(crate) const fn is_robust_now(&self) -> bool {
        self.protects_management && self.keys.is_there()
    }

    fn addresses(&self, own: MacAddr) -> Addresses {
        if self.peer == self.bssid {
            Addresses::ToAccessPoint { bssid: self.bssid, source: own, destination: self.bssid }
        } else {
            Addresses::FromAccessPoint { destination: self.peer, bssid: self.bssid, source: self.bssid }
        }
    }

    /// A data frame to the peer, under our key if there is one.
    pub(crate) fn send(
        &mut self,
        mut body: Vec<u8>,
        protocol: Protocol,
        air: &mut Air,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        let mut header = air.data(self.addresses(air.own));
        if self.keys.is_there() {
            header.flags = protected(header.flags);
            if let Err(why) = self.keys.seal(&Header::Data(header), &mut body, cx.crypto)? {
                discard(protocol, &why, cx);
                return None;
            }
        }
        Some(air.frame(Header::Data(header), &body, protocol))
    }

    /// What a data frame of the peer carries.
    pub(crate) fn heard(
        &mut self,
        header: &Header,
        is_to_group: bool,
        body: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<Heard, NotTaken> {
        let mut body = body.to_vec();
        if header.is_protected() {
            self.keys.open(is_to_group, header, &mut body, cx)?;
        }
        match Heard::read(body)?.ok_or(NotTaken::Unknown)? {
            // 802.11-2020 §12.6.14: packets pass once there are keys, EAPOL before.
            Heard::Packet(_) if !self.is_member => Err(NotTaken::Unprotected),
            Heard::Packet(_) if self.keys.is_there() && !header.is_protected() => Err(NotTaken::Unprotected),
            // EAPOL to a group is nobody's.
            Heard::Eapol(_) if is_to_group => Err(NotTaken::Unknown),
            // 802.11-2020 §12.6.14, §12.7.6.4: of what comes in the clear, only EAPOL-Key frames have a MIC, and message 3 may
            // come again so.
            Heard::Eapol(pdu)
                if self.keys.is_of_handshake() && !header.is_protected() && !pdu::is_key(&pdu) =>
            {
                Err(NotTaken::Unprotected)
            }
            heard => Ok(heard),
        }
    }

    // 802.11-2020 §11.13, §12.2.7: with protection, robust management frames without it are ignored once there are keys.
    /// The body of a management frame of the peer.
    pub(crate) fn open_management(
        &mut self,
        header: &ManagementHeader,
        body: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<Vec<u8>, NotTaken> {
        let mut body = body.to_vec();
        let whole = Header::Management(*header);
        let is_to_group = header.destination[0] & 1 == 1;
        let has_to_be = self.is_robust_now() && is_robust(header.subtype);
        match (header.flags.has(Flags::PROTECTED), has_to_be, is_to_group) {
            (false, false, _) => {}
            (true, true, false) => self.keys.open(false, &whole, &mut body, cx)?,
            (false, true, true) => self.keys.check(&whole, &mut body, cx.crypto)?,
            _ => return Err(NotTaken::Unprotected),
        }
        Ok(body)
    }

    /// A robust management frame to the peer, protected as agreed.
    pub(crate) fn manage(
        &mut self,
        body: &Management<'_>,
        air: &mut Air,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        let (peer, bssid) = (self.peer, self.bssid);
        if !self.is_robust_now() {
            return Some(air.manage((peer, bssid), body, false, cx.trace));
        }
        let mut header = air.management(body.subtype(), peer, bssid);
        header.flags = protected(header.flags);
        let mut bytes = body.to_bytes();
        self.keys.seal(&Header::Management(header), &mut bytes, cx.crypto)?.ok()?;
        cx.trace.record(Fact::Sent(told(body, bytes.len())));
        Some(air.frame(Header::Management(header), &bytes, Protocol::MANAGEMENT))
    }
}
