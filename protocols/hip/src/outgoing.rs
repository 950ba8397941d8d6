//! Packets on their way out: what is sent, between which addresses, and when it is sent again.

use std::time::Duration;

use keytoll_engine::trace::{Message, Parts};
use keytoll_engine::{Datagram, Time};
use keytoll_net::Addr;

use crate::config::Retransmission;
use crate::encapsulation::encapsulated;
use crate::endpoint::Env;
use crate::hit::Hit;
use crate::names::{self, HIP};
use crate::number::{NotifyType, PacketType, ParameterType};
use crate::wire::Builder;
use crate::wire::builder::put_checksum;
use crate::wire::update::Notification;

/// Between which addresses packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) local: Addr,
    pub(crate) remote: Addr,
}

/// A packet with what a trace says of it. Its checksum is that of the addresses it is sent between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) packet_type: PacketType,
    pub(crate) parts: Parts,
    pub(crate) response: bool,
    pub(crate) id: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Outgoing {
    /// The fact that it is sent.
    pub(crate) fn fact(&self, retransmission: bool) -> Message {
        Message {
            id: self.id,
            bytes: u32::try_from(self.bytes.len()).unwrap_or(u32::MAX),
            retransmission,
            parts: self.parts,
            ..names::message(self.packet_type, self.response)
        }
    }

    // RFC 9028 §5.1: in UDP the checksum is zero, for NATs change the addresses that it covers and do not know it.
    /// As it goes between these addresses.
    pub(crate) fn datagram(self, route: Route) -> Datagram {
        let mut bytes = self.bytes;
        match (route.local.ip(), route.remote.ip()) {
            (Some(from), Some(to)) if route.remote.udp_port().is_none() => {
                put_checksum(&mut bytes, (from, to));
            }
            _ => bytes = encapsulated(&bytes),
        }
        Datagram { protocol: HIP, from: route.local, to: route.remote, bytes }
    }
}

/// Tells a host something that it must not believe.
pub(crate) fn notify((from, to): (Hit, Hit), kind: NotifyType, route: Route, env: &mut Env<'_, '_>) {
    let mut builder = Builder::new(PacketType::NOTIFY, from, to);
    let notification = Notification { kind, data: &[] };
    builder.parameter(ParameterType::NOTIFICATION, |w| notification.write(w));
    env.transmit_once(route, builder.outgoing(true, 0));
}

/// When a packet without answer is sent again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retry {
    sent: u32,
    at: Time,
    /// When it is given up, whatever is heard meanwhile.
    until: Time,
    /// It was put off since it was sent last.
    is_postponed: bool,
}

/// What the timer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    NotYet,
    Again,
    GiveUp,
}

impl Retry {
    /// Of a packet that is sent now for the first time.
    pub(crate) fn begin(now: Time, timers: &Retransmission) -> Self {
        Self { sent: 1, at: now + timers.wait(1), until: now + timers.total(), is_postponed: false }
    }

    /// When to look again.
    pub(crate) const fn at(&self) -> Time {
        self.at
    }

    /// What is due now; a packet that is to be sent again counts as sent.
    pub(crate) fn due(&mut self, now: Time, timers: &Retransmission) -> Due {
        if now < self.at {
            return Due::NotYet;
        }
        if self.sent > timers.tries || now >= self.until {
            return Due::GiveUp;
        }
        self.sent += 1;
        self.at = self.until.min(now + timers.wait(self.sent));
        self.is_postponed = false;
        Due::Again
    }

    /// Puts the next time off until so long from now: once after each time that it was sent, and never beyond the end.
    pub(crate) fn postpone(&mut self, now: Time, wait: Duration) {
        if !self.is_postponed {
            self.is_postponed = true;
            self.at = self.until.min(self.at.max(now + wait));
        }
    }

    /// Ends no later than another one, whose place it takes.
    pub(crate) fn ends_with(&mut self, other: &Self) {
        self.until = self.until.min(other.until);
        self.at = self.at.min(self.until);
    }
}
