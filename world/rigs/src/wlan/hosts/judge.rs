//! Who decides about stations that prove themselves with EAP: an AAA server behind RADIUS, or an EAP server inside the access
//! point. RFC 3748 §2.2, §2.3.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use keytoll_crypto_api::{Rng, Seed};
use keytoll_eap::{Accepted, Server, ServerConfig, ServerOutput, packet};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Addr, Ctx, Deadline, Input};
use keytoll_hosts::{AaaAccess, Authenticator, Carrier, Conversation, Eap, Wanted};
use keytoll_net::Host;
use keytoll_radius::number::AttributeType;
use keytoll_radius::wire::{Attribute, Attributes};
use keytoll_wlan::MacAddr;
use keytoll_wlan::bss::Ssid;
use keytoll_wlan::dot1x::EAP;

use super::{address, session};

/// A station's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port(pub(super) MacAddr);

impl Conversation for Port {
    fn number(self) -> u64 {
        session(self.0).0
    }

    fn of_number(number: u64) -> Self {
        Self(address(keytoll_hosts::SessionId(number)))
    }
}

/// Who decides.
#[derive(Debug)]
pub(crate) enum Judge {
    /// An AAA server.
    Radius(Box<Authenticator<Port>>),
    /// The access point itself.
    Inside(Box<Inside>),
}

/// An EAP server with a conversation for each port.
pub(crate) struct Inside {
    config: Arc<ServerConfig>,
    rng: Rng,
    servers: BTreeMap<Port, Server>,
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").field("conversations", &self.servers.len()).finish_non_exhaustive()
    }
}

impl Judge {
    /// An AAA server, over RADIUS, which hears of this network.
    pub(crate) fn over_radius(
        access: AaaAccess,
        carrier: Carrier,
        (bssid, ssid): (MacAddr, &Ssid),
        (seed, name): (&Seed, &str),
    ) -> Self {
        let authenticator = Authenticator::new(access, carrier, seed, name);
        Self::Radius(Box::new(authenticator.at(place(bssid, ssid))))
    }

    /// An EAP server inside.
    pub(crate) fn inside(config: Arc<ServerConfig>, rng: Rng) -> Self {
        Self::Inside(Box::new(Inside { config, rng, servers: BTreeMap::new() }))
    }

    /// How many conversations there are.
    pub(super) fn conversation_count(&self) -> usize {
        match self {
            Self::Radius(authenticator) => authenticator.session_count(),
            Self::Inside(inside) => inside.servers.len(),
        }
    }

    /// How many RADIUS requests have no answer yet.
    pub(super) fn outstanding(&self) -> usize {
        match self {
            Self::Radius(authenticator) => authenticator.outstanding(),
            Self::Inside(_) => 0,
        }
    }

    /// Begins a conversation with a station, instead of one that there may be.
    pub(super) fn begin(&mut self, port: Port, cx: &mut Ctx<'_>) -> Option<Wanted<Port>> {
        match self {
            Self::Radius(authenticator) => {
                authenticator.abandon(port, cx);
                authenticator.begin(port, &[], Host::Mac(port.0), cx)
            }
            Self::Inside(inside) => inside.begin(port, cx),
        }
    }

    /// The station has answered.
    pub(super) fn answered(&mut self, port: Port, eap: Vec<u8>, cx: &mut Ctx<'_>) -> Option<Wanted<Port>> {
        match self {
            Self::Radius(authenticator) => authenticator.answered(port, eap, cx),
            Self::Inside(inside) => inside.answered(port, &eap, cx),
        }
    }

    /// The station is a member.
    pub(super) fn established(&mut self, port: Port, cx: &mut Ctx<'_>) {
        if let Self::Radius(authenticator) = self {
            authenticator.established(port, cx);
        }
    }

    /// The station is no member any more, or did not become one.
    pub(super) fn forget(&mut self, port: Port, cx: &mut Ctx<'_>) {
        match self {
            Self::Radius(authenticator) => authenticator.forget(port, cx),
            Self::Inside(inside) => {
                inside.servers.remove(&port);
            }
        }
    }

    /// Processes a datagram if it is for RADIUS; whether it was.
    pub(super) fn arrived(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) -> bool {
        match self {
            Self::Radius(authenticator) if authenticator.owns(to) => {
                authenticator.handle(Input::Datagram { from, to, bytes }, cx);
                true
            }
            Self::Radius(_) | Self::Inside(_) => false,
        }
    }

    pub(super) fn tick(&mut self, cx: &mut Ctx<'_>) {
        if let Self::Radius(authenticator) = self {
            authenticator.handle(Input::Tick, cx);
        }
    }

    /// The next thing to be done.
    pub(super) fn poll(&mut self, cx: &mut Ctx<'_>) -> Option<Wanted<Port>> {
        match self {
            Self::Radius(authenticator) => authenticator.poll(cx),
            Self::Inside(_) => None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Radius(authenticator) => authenticator.deadline(),
            Self::Inside(_) => None,
        }
    }
}

/// RFC 2865 §5.6: Framed.
const FRAMED: u32 = 2;
/// RFC 3580 §3.13: Wireless - IEEE 802.11.
const WIRELESS_802_11: u32 = 19;

// RFC 3580 §3.1, §3.13, §3.20: the service, the kind of port, and the access point's address with the network's name.
/// What an access point says of itself.
fn place(bssid: MacAddr, ssid: &Ssid) -> Attributes {
    let mut place = Attributes::new();
    place.push_u32(AttributeType::SERVICE_TYPE, FRAMED);
    place.push_u32(AttributeType::NAS_PORT_TYPE, WIRELESS_802_11);
    let called = [keytoll_net::hyphenated(bssid).as_bytes(), b":", ssid.octets()].concat();
    place.extend(Attribute::new(AttributeType::CALLED_STATION_ID, &called));
    place
}

impl Inside {
    fn begin(&mut self, port: Port, cx: &mut Ctx<'_>) -> Option<Wanted<Port>> {
        cx.crypto.enter(EAP);
        let mut server = Server::new(Arc::clone(&self.config));
        let output = server.begin(None, &mut self.rng, cx);
        self.servers.insert(port, server);
        self.settle(port, output, cx)
    }

    fn answered(&mut self, port: Port, eap: &[u8], cx: &mut Ctx<'_>) -> Option<Wanted<Port>> {
        cx.crypto.enter(EAP);
        let output = self.servers.get_mut(&port)?.step(eap, &mut self.rng, cx);
        self.settle(port, output, cx)
    }

    fn settle(&mut self, port: Port, output: ServerOutput, cx: &mut Ctx<'_>) -> Option<Wanted<Port>> {
        let eap = match output {
            ServerOutput::Send(packet) => return Some(Wanted::Tell(port, Eap::Packet(packet))),
            // RFC 3748 §4.2: who forges a packet must not end a conversation.
            ServerOutput::Ignored => return None,
            ServerOutput::Success(accepted) => {
                self.servers.get_mut(&port).into_iter().for_each(Server::admit);
                let Accepted { packet, keys, identity, .. } = accepted;
                Eap::Success { packet, msk: keys.msk, identity: Some(identity) }
            }
            ServerOutput::Failure { packet, reason } => {
                cx.trace.record(Fact::Failed { why: reason.0.into() });
                Eap::Failure { packet }
            }
            // There is no HSS to ask; scenarios with cards inside an access point are refused.
            ServerOutput::Ask(_) => {
                let identifier = self.servers.get(&port).map_or(0, Server::identifier);
                Eap::Failure { packet: packet::failure(identifier) }
            }
        };
        self.servers.remove(&port);
        Some(Wanted::Tell(port, eap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_point_says_what_it_is() {
        let said = place([2, 0, 0, 0, 0, 1], &Ssid::new("lab").unwrap());
        let called = said.get(AttributeType::CALLED_STATION_ID);
        assert_eq!(called, Some(&b"02-00-00-00-00-01:lab"[..]));
        let numbers =
            [AttributeType::SERVICE_TYPE, AttributeType::NAS_PORT_TYPE].map(|kind| said.get_u32(kind));
        assert_eq!(numbers, [Some(2), Some(19)]);
    }
}
