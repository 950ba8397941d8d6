//! Device and gateway of HIP: an endpoint, the SAs that it negotiates, and with AKA a card or a connection to the HSS.
//!
//! ```text
//!   Device:   Echo --> no SA? --> hip::Endpoint.Initiate --> ChildUp --> esp --> echo reply
//!   Gateway:                      hip::Endpoint (responder) ---------> esp --> answers echoes
//!                                      '--VectorWanted--> diameter::Client --> HSS
//! ```

mod card;
mod device;
mod gateway;
mod journey;
mod usage;
mod vectors;

use std::net::IpAddr;

use keytoll_engine::Ctx;
use keytoll_engine::trace::Fact;
use keytoll_esp::selector::Addresses;
use keytoll_hip::Hit;
use keytoll_hip::event::{AssociationId, ChildSa, Command, Established, Event, Reason};
use keytoll_hosts::described::{Described, Details, Fields, Value};
use keytoll_hosts::event::{self, Failure, Naming};
use keytoll_hosts::{Child, Order, Selector, SessionId};

pub use card::Card;
pub use device::{Device, DeviceConfig};
pub use gateway::{Gateway, GatewayConfig};
pub use journey::Journey;
pub use vectors::Hss;

/// Associations are numbered.
const NAMING: Naming =
    Naming { field: "association", old_field: "old_association", text: |session| session.0.to_string() };

const fn session(association: AssociationId) -> SessionId {
    SessionId(association.0)
}

/// HIP's command for an order; none if it does not concern HIP. An association has one pair of SAs, which is rekeyed as a whole.
const fn command(order: &Order) -> Option<Command> {
    Some(match *order {
        Order::Close(session) => Command::Close(AssociationId(session.0)),
        Order::Rekey(session) | Order::RekeyChild(session, _) => Command::Rekey(AssociationId(session.0)),
        _ => return None,
    })
}

/// The milestone for an event of HIP; none if it stays inside the host.
fn milestone(event: Event) -> Option<event::Event> {
    Some(match event {
        Event::Established(established) => event::Event::Established(event::Established {
            session: session(established.association),
            address: None,
            authenticated_for: None,
            details: Details::of(Box::new(Up(*established))),
        }),
        Event::ChildUp(association, child) => event::Event::ChildUp(describe(association, &child)),
        Event::ChildRekeyed { association, old, new } => {
            event::Event::ChildRekeyed { old, new: describe(association, &new) }
        }
        Event::ChildDown(_, spi) => event::Event::ChildDown(spi),
        Event::Closed(association, why) => {
            event::Event::Closed { session: session(association), why: reason(why) }
        }
        Event::Failed(association, why) => event::Event::Failed(Box::new(Failure {
            session: Some(session(association)),
            why: reason(why),
            likely: None,
            peer: None,
        })),
        Event::SubscriberProved(association, subscriber) => {
            event::Event::SubscriberProved { session: session(association), subscriber }
        }
        Event::Readdressed(..)
        | Event::PeerMoved(..)
        | Event::Notified(..)
        | Event::CloseEnded(..)
        | Event::VectorWanted { .. }
        | Event::Challenged(..) => return None,
    })
}

const fn reason(why: Reason) -> event::Reason {
    event::Reason { name: why.name(), detail: None, is_hearsay: why.is_hearsay() }
}

/// Leaves the fact that an association failed or was closed.
fn record_end(event: &Event, cx: &mut Ctx<'_>) {
    match event {
        Event::Failed(_, why) if why.is_hearsay() => {
            cx.trace.record(Fact::Refused { why: why.name().into() });
        }
        Event::Failed(_, why) => cx.trace.record(Fact::Failed { why: why.name().into() }),
        Event::Closed(_, why) => cx.trace.record(Fact::Closed { why: why.name().into() }),
        _ => {}
    }
}

/// A host's address inside the SAs: its HIT.
fn inner(hit: Hit) -> IpAddr {
    IpAddr::from(hit.0)
}

fn describe(association: AssociationId, child: &ChildSa) -> Child {
    let host = |hit| Selector::of(Addresses::one(inner(hit)));
    Child {
        session: session(association),
        inbound_spi: child.pair.inbound_spi,
        outbound_spi: child.pair.outbound_spi,
        suite: child.pair.suite,
        local: Some(host(child.local)),
        remote: Some(host(child.remote)),
        encapsulated: child.remote_at.udp_port().is_some(),
    }
}

/// An association that came up, described.
#[derive(Debug)]
struct Up(Established);

impl Described for Up {
    fn fields(&self) -> Fields {
        let Established { local, peer, remote, .. } = &self.0;
        Fields::new()
            .with("peer", Value::shown(peer))
            .with("remote", Value::shown(remote))
            .with("identity", Value::shown(local))
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let Established { local, peer, remote, .. } = &self.0;
        vec![("peer", format!("{peer} at {remote}")), ("our HIT", local.to_string())]
    }
}
