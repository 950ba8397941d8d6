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
/// dot11AssociationSAQueryRetryTimeout: 201 time units.
const SA_QUERY_AGAIN: Duration = Duration::from_micros(201 * 1024);
/// How long a query that nobody has answered lets somebody associate anew.
const SA_QUERY_LAPSE: Duration = Duration::from_secs(5);

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
    /// The identifier of its first request; each request after it has the next one.
    first: u16,
    sent: u16,
    again_at: Time,
    /// Until then it has to be answered.
    until: Time,
}

impl Query {
    fn begin(first: u16, now: Time) -> Self {
        Self { first, sent: 0, again_at: now, until: now + SA_QUERY_MAX }
    }

    pub(super) fn is_over(&self, now: Time) -> bool {
        self.until <= now
    }

    /// How long it may still be answered.
    pub(super) fn left(&self, now: Time) -> Duration {
        self.until.since(now)
    }

    /// Whether this is the identifier of one of its requests.
    pub(super) fn is_answered_by(&self, transaction: [u8; 2]) -> bool {
        u16::from_le_bytes(transaction).wrapping_sub(self.first) < self.sent
    }

    fn lapses_at(&self) -> Time {
        self.until + SA_QUERY_LAPSE
    }

    /// When it asks again, or is forgotten.
    fn deadline(&self) -> Deadline {
        if self.again_at < self.until {
            Deadline { at: self.again_at, why: "SA Query retransmission" }
        } else {
            Deadline { at: self.lapses_at(), why: "end of an SA Query" }
        }
    }

    /// The identifier of the request that is due.
    fn request(&mut self, now: Time) -> Option<[u8; 2]> {
        if self.again_at > now || self.is_over(now) {
            return None;
        }
        let transaction = self.first.wrapping_add(self.sent).to_le_bytes();
        (self.sent, self.again_at) = (self.sent + 1, now + SA_QUERY_AGAIN);
        Some(transaction)
    }
}

impl Member {
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let of_handshake = self.handshake.as_ref().and_then(handshake::Authenticator::deadline);
        Deadline::earlier(of_handshake, self.query.as_ref().map(Query::deadline))
    }

    /// Asks from now on whether it still has its keys.
    pub(super) fn ask(&mut self, first: [u8; 2], air: &mut Air, cx: &mut Ctx<'_>) -> Option<Datagram> {
        self.query = Some(Query::begin(u16::from_le_bytes(first), cx.now));
        self.ask_again(air, cx)
    }

    // 802.11-2020 §11.13: the request goes out again, with the next identifier, until it is answered or its time is over.
    /// Asks again if that is due, and forgets a query that was over long ago.
    pub(super) fn ask_again(&mut self, air: &mut Air, cx: &mut Ctx<'_>) -> Option<Datagram> {
        self.query = self.query.filter(|query| query.lapses_at() > cx.now);
        let transaction = self.query.as_mut()?.request(cx.now)?;
        let query = SaQuery { is_response: false, transaction, elements: Elements::default() };
        self.link.manage(&Management::Action(Action::SaQuery(query)), air, cx)
    }
}
