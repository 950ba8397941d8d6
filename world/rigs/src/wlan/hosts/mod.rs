//! Station and access point as hosts: an engine of 802.11, EAP beside it, and users' packets over the association.
//!
//! ```text
//!   Station:      Echo --> no member? --> wlan::Station.Join ...... Joined --> frames --> echo reply
//!                                              '--EAP--> Supplicant
//!   Access point:                         wlan::AccessPoint ...... Joined --> frames --> answers echoes
//!                                              '--EAP--> Judge: RADIUS, or an EAP server inside
//! ```

mod access_point;
mod association;
mod cell;
mod journey;
mod judge;
mod network;
mod reason;
mod station;

use std::time::Duration;

use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Ctx, Time};
use keytoll_hosts::described::{Details, Fields, Value};
use keytoll_hosts::event::{self, Established, Naming};
use keytoll_hosts::ipsec::Delivered;
use keytoll_hosts::{Eap, Event, SessionId};
use keytoll_net::wire::DecodeError;
use keytoll_wlan::{MacAddr, dot1x};

pub(super) use access_point::{AccessPoint, AccessPointConfig};
pub(super) use cell::SILENCE_MAX;
pub(super) use journey::Journey;
pub(super) use judge::Judge;
pub(super) use station::{Station, StationConfig};

/// Associations are named by the address of the other side.
const NAMING: Naming = Naming {
    field: "association",
    old_field: "old_association",
    text: |session| keytoll_net::Addr::Mac(address(session)).to_string(),
};

/// The session with a peer.
const fn session(peer: MacAddr) -> SessionId {
    let [a, b, c, d, e, f] = peer;
    SessionId(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

/// The peer of a session.
const fn address(session: SessionId) -> MacAddr {
    let [_, _, a, b, c, d, e, f] = session.0.to_be_bytes();
    [a, b, c, d, e, f]
}

/// The event that a peer is associated and proved.
fn established(peer: MacAddr) -> Event {
    let fields = Fields::new().with("remote", Value::shown(keytoll_net::Addr::Mac(peer)));
    let details = Details::of(Box::new(fields));
    Event::Established(Established {
        session: session(peer),
        address: None,
        authenticated_for: None,
        details,
    })
}

/// The event that an association is over, with its fact.
fn closed(peer: MacAddr, why: event::Reason, cx: &mut Ctx<'_>) -> Event {
    cx.trace.record(Fact::Closed { why: why.name.into() });
    Event::Closed { session: session(peer), why }
}

/// A whole IP packet that a frame has carried; what is none is discarded.
fn whole(packet: Vec<u8>, cx: &mut Ctx<'_>) -> Option<Delivered> {
    let record = |why: DecodeError| {
        cx.trace.record(Fact::Discarded { protocol: Protocol::IP, why: why.to_string().into() });
    };
    Delivered::read(packet).map_err(record).ok()
}

/// What EAP tells the port.
fn to_port(eap: Eap) -> dot1x::Eap {
    match eap {
        Eap::Packet(packet) => dot1x::Eap::Packet(packet),
        Eap::Success { packet, msk, .. } => dot1x::Eap::Success { packet, msk },
        Eap::Failure { packet } => dot1x::Eap::Failure { packet },
    }
}

/// Something that happens again and again, or once after a while.
#[derive(Debug, Clone, Copy)]
struct Alarm {
    after: Duration,
    at: Option<Time>,
}

impl Alarm {
    const fn new(after: Duration) -> Self {
        Self { after, at: None }
    }

    /// It goes off that long after now.
    fn set(&mut self, now: Time) {
        self.at = Some(now + self.after);
    }

    const fn unset(&mut self) {
        self.at = None;
    }

    /// Whether it has gone off, which it does once.
    fn is_due(&mut self, now: Time) -> bool {
        self.at.take_if(|at| *at <= now).is_some()
    }
}
