//! Outstanding requests, and their retransmission. Read RFC 5080 §2.2.1 first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::Time;
use keytoll_net::Host;

use super::config::Retransmission;
use super::event::ConversationId;
use super::identifiers::{Service, Slot};
use crate::wire::{Authenticator, Sealed};

/// What a response is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The Access-Request of a conversation.
    Access(ConversationId),
    /// The Accounting-Request of a conversation.
    Accounting(ConversationId),
    /// Nothing: the identifier is not reused until the server cannot answer any more.
    Abandoned,
}

/// An outstanding request.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) awaited: Awaited,
    pub(super) authenticator: Authenticator,
    pub(super) request: Sealed,
    /// None of a report, which no peer asks for.
    peer: Option<Peer>,
    pub(super) first_sent_at: Time,
    sent: u32,
    wait: Duration,
    due: Time,
}

/// The result of an exchange's timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Send the request again.
    Again,
    /// Nobody will answer.
    GiveUp,
}

impl Exchange {
    fn due(&self, timers: &Retransmission, now: Time) -> Due {
        let overdue = now.since(self.first_sent_at) >= timers.duration_max;
        if overdue || self.sent >= timers.count_max { Due::GiveUp } else { Due::Again }
    }

    /// The next wait, limited by MRD; abandoned requests are not retransmitted.
    fn schedule(&mut self, now: Time, timers: &Retransmission) {
        let end = self.first_sent_at + timers.duration_max;
        let silent = self.awaited == Awaited::Abandoned;
        self.due = if silent { end } else { end.min(now + self.wait) };
    }
}

/// All exchanges, by slot and by the time when they are due.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    table: BTreeMap<Slot, Exchange>,
    timers: BTreeSet<(Time, Slot)>,
    /// The outstanding Access-Request of each conversation.
    asking: BTreeMap<ConversationId, Slot>,
    /// The number of requests for each peer, abandoned ones included.
    of_peer: BTreeMap<Peer, usize>,
}

/// The peer that requests are for: an address, of IPv6 its first 64 bits, because a host has all addresses of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Peer(Host);

impl From<Host> for Peer {
    fn from(host: Host) -> Self {
        match host {
            Host::Ip(IpAddr::V6(address)) => {
                Self(Host::Ip(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()))
            }
            Host::Ip(IpAddr::V4(_)) | Host::Mac(_) => Self(host),
        }
    }
}

/// A request to be sent for the first time.
pub(super) struct Fresh {
    pub(super) slot: Slot,
    pub(super) peer: Option<Peer>,
    pub(super) awaited: Awaited,
    pub(super) authenticator: Authenticator,
    pub(super) request: Sealed,
}

impl Exchanges {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// How many are for this peer.
    pub(super) fn count_for(&self, peer: Peer) -> usize {
        self.of_peer.get(&peer).copied().unwrap_or_default()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Exchange> {
        self.table.get(&slot)
    }

    pub(super) fn insert(&mut self, fresh: Fresh, timers: &Retransmission, now: Time, rng: &mut Rng) {
        let Fresh { slot, peer, awaited, authenticator, request } = fresh;
        let wait = timers.first(rng);
        let mut exchange =
            Exchange { awaited, authenticator, request, peer, first_sent_at: now, sent: 1, wait, due: now };
        peer.into_iter().for_each(|peer| *self.of_peer.entry(peer).or_default() += 1);
        exchange.schedule(now, timers);
        self.timers.insert((exchange.due, slot));
        if let Awaited::Access(conversation) = awaited {
            self.asking.insert(conversation, slot);
        }
        self.table.insert(slot, exchange);
    }

    /// Those with an identifier of this service and port.
    pub(super) fn on(&self, service: Service, port: u16) -> Vec<Slot> {
        let slot = |identifier| Slot { service, port, identifier };
        self.table.range(slot(0)..=slot(u8::MAX)).map(|(slot, _)| *slot).collect()
    }

    /// Removes an exchange that is answered or given up.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<Exchange> {
        let exchange = self.table.remove(&slot)?;
        self.timers.remove(&(exchange.due, slot));
        if let Awaited::Access(conversation) = exchange.awaited {
            self.asking.remove(&conversation);
        }
        exchange.peer.into_iter().for_each(|peer| self.release(peer));
        Some(exchange)
    }

    fn release(&mut self, peer: Peer) {
        if let Some(count) = self.of_peer.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.of_peer.remove(&peer);
            }
        }
    }

    // RFC 5080 §2.2.2: an identifier is not reused before its request was answered or has timed out.
    /// Abandons a request: it is not retransmitted, and its identifier is free when it times out.
    pub(super) fn abandon(&mut self, conversation: ConversationId, timers: &Retransmission) {
        let Some(slot) = self.asking.remove(&conversation) else { return };
        let exchange = self.table.get_mut(&slot).expect("`asking` names exchanges in the table");
        self.timers.remove(&(exchange.due, slot));
        exchange.awaited = Awaited::Abandoned;
        exchange.schedule(exchange.first_sent_at, timers);
        self.timers.insert((exchange.due, slot));
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// The next exchange that is due, and what to do with it.
    pub(super) fn next_due(&self, timers: &Retransmission, now: Time) -> Option<(Slot, Due)> {
        let (at, slot) = *self.timers.first()?;
        (at <= now).then(|| (slot, self.table[&slot].due(timers, now)))
    }

    /// Counts a retransmission and returns the request to retransmit.
    pub(super) fn again(&mut self, slot: Slot, timers: &Retransmission, now: Time, rng: &mut Rng) -> &Sealed {
        let exchange = self.table.get_mut(&slot).expect("only exchanges that are due are repeated");
        self.timers.remove(&(exchange.due, slot));
        exchange.sent += 1;
        exchange.wait = timers.next(exchange.wait, rng);
        exchange.schedule(now, timers);
        self.timers.insert((exchange.due, slot));
        &exchange.request
    }
}
