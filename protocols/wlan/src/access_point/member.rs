//! An associated station, as the access point knows it.

use std::time::Duration;

use keytoll_engine::{Ctx, Datagram, Deadline, Time};

use crate::MacAddr;
use crate::bss::{Air, Link};
use crate::frame::management::{Action, SaQuery};
use crate::frame::{Elements, Management};
use crate::handshake::{self, Terms};
use crate::keys::PmkR0;

/// dot11AssociationSAQueryMaximumTimeout: 802.11-2020 §11.13, 1000 time units.
const SA_QUERY_MAX: Duration = Duration::from_millis(1024);

/// An associated station.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) aid: u16,
    pub(super) link: Link,
    pub(super) terms: Option<Terms>,
    pub(super) handshake: Option<handshake::Authenticator>,
    /// The PMK-R0 with which it enters a mobility domain here, until it is a member.
    pub(super) root: Option<PmkR0>,
    /// The access point that it says it comes from, which is told once it is a member.
    pub(super) from: Option<MacAddr>,
    /// The time under which its handshake stands in the table of members.
    pub(super) timer: Option<Time>,
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

    /// Asks whether it still has its keys.
    pub(super) fn ask(&mut self, transaction: [u8; 2], air: &mut Air, cx: &mut Ctx<'_>) -> Option<Datagram> {
        self.query = Some(Query::begin(transaction, cx.now));
        let query = SaQuery { is_response: false, transaction, elements: Elements::default() };
        self.link.manage(&Management::Action(Action::SaQuery(query)), air, cx)
    }
}
