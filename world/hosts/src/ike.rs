//! IKE behind the common orders and events of hosts: maps orders to IKE's commands, and IKE's events to milestones.

use std::net::IpAddr;

use keytoll_engine::Few;
use keytoll_esp::PairConfig;
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::sad::Start;
use keytoll_esp::selector::{Addresses, Ports, Selector, Selectors};
use keytoll_ike::config::Mode;
use keytoll_ike::event::{ChildSa, Command, Established, Event, Reason, SaId};
use keytoll_ike::wire::{self, Identity, TrafficSelector};
use keytoll_ike::{Endpoint, Likely, RefusedProposal, Unproved};
use keytoll_net::Addr;
use keytoll_net::ip::protocol::ESP;

use crate::described::{Described, Details, Fields, Value};
use crate::event::{self, Child, Failure, Naming, SessionId};
use crate::host::Order;
use crate::ipsec;
use crate::keepalive::Keepalives;

/// IKE SAs are identified by our SPI.
pub(crate) const NAMING: Naming =
    Naming { field: "spi", old_field: "old_spi", text: |session| spi(session.0) };

fn spi(spi: u64) -> String {
    format!("{spi:016x}")
}

impl From<SaId> for SessionId {
    fn from(sa: SaId) -> Self {
        Self(sa.0)
    }
}

/// The IKE SA of a session.
pub(crate) const fn sa(session: SessionId) -> SaId {
    SaId(session.0)
}

/// The IKE command for an order; `None` if it does not concern IKE.
pub(crate) const fn command(order: &Order) -> Option<Command> {
    Some(match *order {
        Order::Drain => Command::Drain,
        Order::Close(session) => Command::Delete(sa(session)),
        Order::Rekey(session) => Command::RekeyIke(sa(session)),
        Order::Probe(session) => Command::Probe(sa(session)),
        Order::OpenChild(session) => Command::CreateChild(sa(session)),
        Order::RekeyChild(session, spi) => Command::RekeyChild(sa(session), spi),
        Order::CloseChild(session, spi) => Command::DeleteChild(sa(session), spi),
        Order::Echo { .. } | Order::Reauthenticate | Order::Traffic(_) | Order::TrafficEnd => return None,
    })
}

/// The milestone for an event of IKE; `None` if the event stays inside the host.
pub(crate) fn milestone(event: Event) -> Option<event::Event> {
    Some(match event {
        Event::Established(established) => event::Event::Established(event::Established {
            session: established.sa.into(),
            address: established.address,
            authenticated_for: established.auth_lifetime,
            details: Details::of(established),
        }),
        Event::Rekeyed { old, new } => event::Event::Rekeyed { old: old.into(), new: new.into() },
        Event::Closed(sa, why) => event::Event::Closed { session: sa.into(), why: reason(why) },
        Event::Failed(sa, why, peer) => event::Event::Failed(Box::new(failure(sa, why, peer))),
        Event::ChildFailed(sa, why) => event::Event::ChildFailed { session: sa.into(), why: reason(why) },
        Event::ProposalRefused(refused) => event::Event::ProposalRefused {
            remote: Addr::Udp(refused.remote),
            why: reason(Reason::NoProposalChosen),
            details: Details::of(refused),
        },
        Event::ChildUp(..)
        | Event::ChildRekeyed { .. }
        | Event::ChildDown(..)
        | Event::EapStart { .. }
        | Event::EapPacket(..)
        | Event::ReauthenticationDue(_) => return None,
    })
}

fn failure(sa: SaId, why: Reason, peer: Option<Box<Unproved>>) -> Failure {
    let likely = peer.as_ref().and_then(|peer| peer.likely).map(Likely::words);
    let peer = peer.map(|peer| Details::of(peer));
    Failure { session: Some(sa.into()), why: reason(why), likely, peer }
}

/// Converts a reason of IKE.
pub(crate) fn reason(why: Reason) -> event::Reason {
    let detail = match why {
        Reason::NoCommonSignature(clash) => Some(clash.to_string().into()),
        Reason::Syntax(what) => Some(what.into()),
        Reason::UnsupportedCritical(kind) => Some(kind.to_string().into()),
        _ => None,
    };
    event::Reason { name: why.name(), detail, is_hearsay: why.is_hearsay() }
}

/// Converts a child SA.
pub(crate) fn child(sa: SaId, child: &ChildSa) -> Child {
    let first = |side: &[TrafficSelector]| side.first().and_then(selector);
    Child {
        session: sa.into(),
        inbound_spi: child.pair.inbound_spi,
        outbound_spi: child.pair.outbound_spi,
        suite: child.pair.suite,
        local: first(&child.local),
        remote: first(&child.remote),
        encapsulated: child.encapsulation.is_some(),
    }
}

/// The configuration of IPsec for a child SA between two outer addresses.
pub(crate) fn pair(child: ChildSa, local: IpAddr, remote: IpAddr) -> PairConfig {
    let on_ip = |ip| Addr::Ip { ip, protocol: ESP };
    let path = match child.encapsulation {
        Some((local, remote)) => (Addr::Udp(local), Addr::Udp(remote)),
        None => (on_ip(local), on_ip(remote)),
    };
    let mode = match child.mode {
        Mode::Tunnel => keytoll_esp::Mode::Tunnel,
        Mode::Transport => keytoll_esp::Mode::Transport,
    };
    let selectors = Selectors { local: side(&child.local), remote: side(&child.remote) };
    PairConfig {
        follows_peer: child.encapsulation.is_some() && child.peer_may_move,
        lifetime: child.bytes_max.map_or(Lifetime::NONE, |bytes| Lifetime::NONE.within_bytes(bytes)),
        start: if child.peer_ready { Start::Now } else { Start::WhenHeard },
        ..ipsec::configured(child.pair, mode, selectors, path)
    }
}

/// The IKE command in response to an event of a pair of SAs.
pub(crate) fn for_pair(session: SessionId, event: &keytoll_esp::Event) -> Command {
    let sa = sa(session);
    match *event {
        keytoll_esp::Event::RekeyWanted(spi) => Command::RekeyChild(sa, spi),
        keytoll_esp::Event::Expired(spi) => Command::DeleteChild(sa, spi),
        keytoll_esp::Event::Heard(spi) => Command::ChildHeard(sa, spi),
    }
}

/// Source and destination of an IKE SA's messages, if NAT keepalives are needed because we are behind a NAT.
pub(crate) fn path_to_keep(ike: &Endpoint, sa: SaId) -> Option<(Addr, Addr)> {
    ike.path_to_keep(sa).map(|(local, remote)| (Addr::Udp(local), Addr::Udp(remote)))
}

/// Updates which sessions need NAT keepalives after an event of IKE.
pub(crate) fn keep(keepalives: &mut Keepalives, event: &Event, ike: &Endpoint) {
    match event {
        Event::Established(established) => {
            keepalives.keep(established.sa.into(), || path_to_keep(ike, established.sa));
        }
        Event::Rekeyed { old, new } => {
            keepalives.forget((*old).into());
            keepalives.keep((*new).into(), || path_to_keep(ike, *new));
        }
        Event::Closed(sa, _) => keepalives.forget((*sa).into()),
        _ => {}
    }
}

/// RFC 7296 §3.13.1: the selectors of one side.
fn side(selectors: &[TrafficSelector]) -> Few<Selector> {
    selectors.iter().filter_map(selector).collect()
}

/// RFC 7296 §3.13.1: a traffic selector is a selector of RFC 4301.
fn selector(selector: &TrafficSelector) -> Option<Selector> {
    let addresses = Addresses::new(selector.start(), selector.end())?;
    let ports = match selector.ports {
        wire::Ports::Range(first, last) => Ports::Range(first, last),
        wire::Ports::Opaque => Ports::Opaque,
    };
    Some(Selector { addresses, protocol: selector.protocol, ports })
}

impl Described for Established {
    fn fields(&self) -> Fields {
        let is_other = self.peer.as_ref() != Some(&self.claimed);
        Fields::new()
            .with("peer_spi", Value::Text(spi(self.peer_spi)))
            .with("peer", self.peer.as_ref().map(Value::shown))
            .with("claimed", is_other.then(|| Value::shown(&self.claimed)))
            .with("remote", Value::shown(self.remote))
            .with("suite", Value::shown(self.suite))
            .with("address", self.address.map(Value::shown))
            .with("auth_lifetime_s", self.auth_lifetime.map(|lifetime| Value::Number(lifetime.as_secs())))
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        vec![
            ("peer", format!("{} at {}", self.claimed, self.remote)),
            ("IKE suite", self.suite.to_string()),
            ("IKE SPIs", format!("{} {}", spi(self.sa.0), spi(self.peer_spi))),
        ]
    }

    fn document(&self) -> Fields {
        Fields::new()
            .with("peer", self.peer.as_ref().map(Value::shown))
            .with("remote", Value::shown(self.remote))
            .with("ike_suite", Value::shown(self.suite))
            .with("ike_spis", Value::List([self.sa.0, self.peer_spi].map(spi).into()))
            .with("address", self.address.map(Value::shown))
            .with("auth_lifetime_s", self.auth_lifetime.map(|lifetime| Value::Number(lifetime.as_secs())))
    }
}

impl Described for Unproved {
    fn fields(&self) -> Fields {
        Fields::new()
            .with("remote", Value::shown(self.remote))
            .with("claimed", self.claimed.as_ref().map(claimed))
    }
}

impl Described for RefusedProposal {
    fn fields(&self) -> Fields {
        Fields::new()
            .with("offered", Value::shown(&self.offered))
            .with("acceptable", Value::shown(&self.acceptable))
    }
}

/// An identity as claimed by a peer that is not authenticated: any text of any length.
fn claimed(identity: &Identity) -> Value {
    const CHARS_MAX: usize = 256;
    let mut text = identity.to_string();
    if let Some((end, _)) = text.char_indices().nth(CHARS_MAX) {
        text.truncate(end);
        text.push('…');
    }
    Value::Text(text)
}

#[cfg(test)]
mod tests {
    use keytoll_ike::number::IdKind;
    use keytoll_net::Socket;

    use super::*;

    fn failed(why: Reason, peer: Option<Unproved>) -> Failure {
        match milestone(Event::Failed(SaId(1), why, peer.map(Box::new))) {
            Some(event::Event::Failed(failure)) => *failure,
            other => panic!("{other:?}"),
        }
    }

    /// An unauthenticated peer may claim any name.
    #[test]
    fn an_unauthenticated_peer_is_described_by_escaped_text() {
        let name = Identity::new(IdKind::ID_FQDN, b"x\n2026 INFO keytoll: accepted user=boss");
        let remote = Socket::new([192, 0, 2, 7].into(), 500);
        let peer = Unproved { remote, claimed: Some(name), likely: Some(Likely::KeysDiffer) };
        let failure = failed(Reason::AuthenticationFailed, Some(peer));
        assert_eq!(
            (failure.why.name, failure.likely),
            ("AUTHENTICATION_FAILED", Some("the pre-shared keys differ"))
        );
        let fields = failure.peer.expect("somebody").fields();
        assert_eq!(fields.get("remote").and_then(Value::text), Some("192.0.2.7:500"));
        let claimed_text = fields.get("claimed").and_then(Value::text).expect("a name");
        assert!(claimed_text.starts_with("fqdn:#780a"), "{claimed_text}");
        let long = claimed(&Identity::new(IdKind::ID_FQDN, "é".repeat(5000).as_bytes()));
        assert_eq!(long.text().map(|text| text.chars().count()), Some(257));
        assert_eq!(failed(Reason::Internal, None).peer, None);
    }

    /// Every reason of IKE keeps its name.
    #[test]
    fn reasons_keep_their_names() {
        for why in [
            Reason::Timeout,
            Reason::Syntax("KE group"),
            Reason::UnsupportedCritical(77),
            Reason::Refused(24),
        ] {
            let told = reason(why);
            assert_eq!((told.to_string(), told.is_hearsay), (why.to_string(), why.is_hearsay()));
        }
        assert_eq!(reason(Reason::Timeout), event::Reason::TIMEOUT);
    }

    /// A selector is written as IKE writes it.
    #[test]
    fn selectors_read_the_same_in_ike_and_in_esp() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let prefix = |text, length| TrafficSelector::prefix(address(text), length);
        let range = |first, last| TrafficSelector::range(address(first), address(last)).expect("a range");
        let host = prefix("192.0.2.1", 32);
        for ike in [
            host,
            TrafficSelector::ANY_IPV4,
            TrafficSelector::ANY_IPV6,
            prefix("10.0.0.0", 8),
            prefix("2001:db8::", 32),
            prefix("2001:db8::1", 128),
            range("10.0.0.1", "10.0.0.5"),
            range("10.0.0.0", "10.0.0.7"),
            range("2001:db8::1", "2001:db8::2"),
            host.only(6, wire::Ports::Range(80, 80)),
            host.only(17, wire::Ports::Opaque),
            host.only(1, wire::Ports::Range(0x0800, 0x0900)),
            host.only(47, wire::Ports::ANY),
            host.only(0, wire::Ports::Range(1, 2)),
        ] {
            assert_eq!(selector(&ike).map(|selector| selector.to_string()), Some(ike.to_string()));
        }
    }
}
