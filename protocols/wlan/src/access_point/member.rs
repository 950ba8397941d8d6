//! An associated station, as the access point knows it.

use std::time::Duration;

use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Ctx, Datagram, Deadline, Time};

use crate::MacAddr;
use crate::bss::{Air, Heard, NotTaken, Protection, discard, is_robust, protected, told};
use crate::frame::header::{Addresses, Header};
use crate::frame::management::{Action, SaQuery};
use crate::frame::{Elements, Flags, Management, ManagementHeader};
use crate::handshake::{self, Terms};

/// dot11AssociationSAQueryMaximumTimeout: 802.11-2020 §11.13, 1000 time units.
const SA_QUERY_MAX: Duration = Duration::from_millis(1024);

/// An associated station.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) aid: u16,
    pub(super) keys: Protection,
    pub(super) terms: Option<Terms>,
    pub(super) handshake: Option<handshake::Authenticator>,
    pub(super) protects_management: bool,
    pub(super) is_member: bool,
    /// When it associated.
    pub(super) since: Time,
    /// A query whether it still has its keys, since somebody has asked to associate under its address.
    pub(super) query: Option<Query>,
}

/// A query under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query {
    pub(super) transaction: [u8; 2],
    /// Until then it has to be answered.
    until: Time,
}

impl Query {
    pub(super) fn begin(transaction: [u8; 2], now: Time) -> Self {
        Self { transaction, until: now + SA_QUERY_MAX }
    }

    pub(super) fn is_over(&self, now: Time) -> bool {
        self.until <= now
    }
}

impl Member {
    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.handshake.as_ref().and_then(handshake::Authenticator::deadline)
    }

    /// A data frame to it, under its key if there is one.
    pub(super) fn send(
        &mut self,
        station: MacAddr,
        mut body: Vec<u8>,
        protocol: Protocol,
        air: &mut Air,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        let bssid = air.own;
        let mut header = air.data(Addresses::FromAccessPoint { destination: station, bssid, source: bssid });
        if self.keys.is_there() {
            header.flags = protected(header.flags);
            let bytes = Header::Data(header).to_bytes();
            if let Err(why) = self.keys.seal(&bytes, &mut body, cx.crypto)? {
                discard(protocol, &why, cx);
                return None;
            }
        }
        Some(air.frame(Header::Data(header), &body, protocol))
    }

    /// What a data frame of it carries.
    pub(super) fn heard(
        &mut self,
        header: &Header,
        body: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<Heard, NotTaken> {
        let mut body = body.to_vec();
        if header.is_protected() {
            cx.crypto.enter(super::DATA);
            self.keys.open(false, &header.to_bytes(), &mut body, cx.crypto)?;
        }
        match Heard::read(&body)?.ok_or(NotTaken::Unknown)? {
            Heard::Packet(_) if !self.is_member => Err(NotTaken::Unprotected),
            Heard::Packet(_) if self.keys.is_there() && !header.is_protected() => Err(NotTaken::Unprotected),
            heard => Ok(heard),
        }
    }

    /// The body of a management frame of it.
    pub(super) fn open_management(
        &mut self,
        header: &ManagementHeader,
        body: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<Vec<u8>, NotTaken> {
        let mut body = body.to_vec();
        let is_protected = header.flags.has(Flags::PROTECTED);
        let has_to_be = self.protects_management && self.keys.is_there() && is_robust(header.subtype);
        if is_protected != has_to_be {
            return Err(NotTaken::Unprotected);
        }
        if is_protected {
            self.keys.open(false, &Header::Management(*header).to_bytes(), &mut body, cx.crypto)?;
        }
        Ok(body)
    }

    /// A robust management frame to it, protected as agreed.
    pub(super) fn manage(
        &mut self,
        station: MacAddr,
        body: &Management<'_>,
        air: &mut Air,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        let bssid = air.own;
        if !(self.protects_management && self.keys.is_there()) {
            return Some(air.manage((station, bssid), body, false, cx.trace));
        }
        let mut header = air.management(body.subtype(), station, bssid);
        header.flags = protected(header.flags);
        let mut bytes = body.to_bytes();
        self.keys.seal(&Header::Management(header).to_bytes(), &mut bytes, cx.crypto)?.ok()?;
        cx.trace.record(Fact::Sent(told(body, bytes.len())));
        Some(air.frame(Header::Management(header), &bytes, Protocol::MANAGEMENT))
    }

    /// Asks whether it still has its keys.
    pub(super) fn ask(
        &mut self,
        station: MacAddr,
        transaction: [u8; 2],
        air: &mut Air,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        self.query = Some(Query::begin(transaction, cx.now));
        let query = SaQuery { is_response: false, transaction, elements: Elements::default() };
        self.manage(station, &Management::Action(Action::SaQuery(query)), air, cx)
    }
}
