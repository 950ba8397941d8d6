//! Child SAs: offering, answering, narrowing, keying. Read RFC 7296 §1.3.1, §2.9 (traffic selectors), §2.17 (keys),
//! §2.19 (addresses) first.

use std::net::{IpAddr, Ipv4Addr};

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::algorithm::Group;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::sa::{SaKeys, SaPair};
use keytoll_net::Socket;

use super::config::{ChildConfig, Config, Mode};
use super::endpoint::{Env, Route};
use super::event::{ChildSa, Reason};
use super::inbound::Inbound;
use super::keys::{self, IkeKeys, Nonces, Role};
use super::proposal::{self, Chosen, Preference, without_groups};
use super::sa::Core;
use crate::number::{NotifyType, Numbered, ProtocolId};
use crate::refused::Acceptable;
use crate::spis::ProposedSpi;
use crate::wire::traffic_selector::SELECTORS_MAX;
use crate::wire::{
    Configuration, MessageBuilder, Notify, Payload, Proposal, Spi, TrafficSelector, TrafficSelectors,
};

/// The addresses that "dynamic" selectors stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    ours: IpAddr,
    /// `None`: the peer gets an inner address or nothing.
    theirs: Option<IpAddr>,
    /// The outer addresses, ours first.
    outer: (IpAddr, IpAddr),
}

impl Addresses {
    // RFC 7296 §2.23.1: the peer's traffic address is fixed when it authenticates; its current address may change.
    /// The outer addresses at the time of the first message.
    pub(super) fn outer(core: &Core, env: &Env<'_, '_>) -> Self {
        let outer = (core.route.local.ip, core.met_at);
        Self { ours: outer.0, theirs: env.shared.outer_address(core.connection_index(), core.met_at), outer }
    }

    /// We were assigned an address.
    pub(super) fn with_ours(self, assigned: Option<IpAddr>) -> Self {
        Self { ours: assigned.unwrap_or(self.ours), ..self }
    }

    /// We assigned the peer an address.
    pub(super) fn with_theirs(self, assigned: Option<IpAddr>) -> Self {
        Self { theirs: assigned.or(self.theirs), ..self }
    }

    /// Whether all this traffic is between the two hosts themselves, so that transport mode is possible.
    fn are_ends_of(self, local: &[TrafficSelector], remote: &[TrafficSelector]) -> bool {
        let only = |side: &[TrafficSelector], ip| side.iter().all(|one| (one.start(), one.end()) == (ip, ip));
        only(local, self.outer.0) && only(remote, self.outer.1)
    }
}

/// Configured selectors; if there are none, the "dynamic" one.
const fn selectors<'a>(
    configured: &'a [TrafficSelector],
    dynamic: &'a TrafficSelector,
) -> &'a [TrafficSelector] {
    if configured.is_empty() { std::slice::from_ref(dynamic) } else { configured }
}

/// A child SA we asked for.
#[derive(Debug)]
pub(super) struct Offer {
    spi: ProposedSpi,
    mode: Mode,
}

/// A negotiated child SA, without keys yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) inbound_spi: u32,
    pub(super) outbound_spi: u32,
    pub(super) suite: Suite,
    pub(super) mode: Mode,
    pub(super) local: Vec<TrafficSelector>,
    pub(super) remote: Vec<TrafficSelector>,
    /// Whether we initiated it: the keys of this direction come first (RFC 7296 §2.17).
    pub(super) ours: bool,
}

impl Offer {
    pub(super) const fn new(config: &ChildConfig, spi: ProposedSpi) -> Self {
        Self { spi, mode: config.mode }
    }

    /// SAi2, TSi, TSr of IKE_AUTH.
    pub(super) fn push(
        &self,
        m: &mut MessageBuilder,
        config: &ChildConfig,
        addresses: Addresses,
        wants_address: bool,
    ) {
        self.push_notify(m);
        m.security_association(&self.proposals(&without_groups(&config.suites)));
        self.push_selectors(m, config, addresses, wants_address);
    }

    /// One proposal per suite.
    pub(super) fn proposals(&self, suites: &[Suite]) -> Vec<Proposal> {
        proposal::propose(ProtocolId::ESP, Spi::Child(self.spi.get()), suites)
    }

    pub(super) fn push_notify(&self, m: &mut MessageBuilder) {
        if self.mode == Mode::Transport {
            m.push(&Payload::Notify(Notify::new(NotifyType::USE_TRANSPORT_MODE, &[])));
        }
    }

    /// RFC 7296 §2.19: an initiator that does not know its inner address yet requests any.
    pub(super) fn push_selectors(
        &self,
        m: &mut MessageBuilder,
        config: &ChildConfig,
        addresses: Addresses,
        wants_address: bool,
    ) {
        let theirs = addresses.theirs.unwrap_or(addresses.outer.1);
        let [ours, theirs] = [addresses.ours, theirs].map(TrafficSelector::host);
        let ours = if wants_address && config.local.is_empty() {
            &[TrafficSelector::ANY_IPV4, TrafficSelector::ANY_IPV6]
        } else {
            selectors(&config.local, &ours)
        };
        m.traffic_selectors(ours, selectors(&config.remote, &theirs));
    }

    /// Accepts the responder's SAr2, TSi, TSr in IKE_AUTH.
    pub(super) fn accept(
        &self,
        config: &ChildConfig,
        addresses: Addresses,
        inbound: &Inbound<'_>,
    ) -> Result<Agreed, Reason> {
        self.accept_suite(&without_groups(&config.suites), config, addresses, inbound)
    }

    /// Accepts the responder's answer to any offer made with these suites.
    pub(super) fn accept_suite(
        &self,
        suites: &[Suite],
        config: &ChildConfig,
        addresses: Addresses,
        inbound: &Inbound<'_>,
    ) -> Result<Agreed, Reason> {
        if inbound.sa().is_none()
            && let Some(error) = inbound.error()
        {
            return Err(Reason::Refused(error.0));
        }
        let chosen = proposal::accept(&inbound.need_sa()?, &self.proposals(suites));
        let Chosen { suite, spi: Spi::Child(outbound_spi), .. } =
            chosen.map_err(|_| Reason::NoProposalChosen)?
        else {
            return Err(Reason::Syntax("child SPI"));
        };
        let local = narrow(&inbound.need_ts_initiator()?, &config.local, Some(addresses.ours));
        let remote = narrow(&inbound.need_ts_responder()?, &config.remote, addresses.theirs);
        if local.is_empty() || remote.is_empty() {
            return Err(Reason::TrafficSelectors);
        }
        // RFC 7296 §1.3.1: a responder that does not repeat USE_TRANSPORT_MODE declined it.
        let transport = self.mode == Mode::Transport && inbound.says(NotifyType::USE_TRANSPORT_MODE);
        let mode = if transport { Mode::Transport } else { Mode::Tunnel };
        Ok(Agreed { inbound_spi: self.spi.get(), outbound_spi, suite, mode, local, remote, ours: true })
    }
}

/// RFC 7296 §2.9: the part of the offered traffic that our policy covers.
fn narrow(
    offered: &TrafficSelectors<'_>,
    configured: &[TrafficSelector],
    dynamic: Option<IpAddr>,
) -> Vec<TrafficSelector> {
    let dynamic = dynamic.map(TrafficSelector::host);
    let policy = if configured.is_empty() { dynamic.as_slice() } else { configured };
    // There is rarely more than one, and the result is kept as long as the SA.
    let mut narrowed = Vec::with_capacity(1);
    let pairs =
        offered.selectors().flat_map(|offer| policy.iter().filter_map(move |allowed| offer.narrow(allowed)));
    for both in pairs {
        // Selectors that do not fit in the answer must not be installed either.
        if narrowed.len() == SELECTORS_MAX {
            break;
        }
        if !narrowed.contains(&both) {
            narrowed.push(both);
        }
    }
    narrowed
}

/// An accepted child SA of the peer.
pub(super) struct Answer {
    pub(super) agreed: Agreed,
    proposal: Proposal,
    /// Held until there is an SA.
    _spi: ProposedSpi,
}

/// Why a child SA is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// An error notification.
    Notify(NotifyType),
    /// Use another group (RFC 7296 §1.3).
    Group(Group),
    /// The request is not well formed.
    Syntax(&'static str),
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Syntax(what) => Self::Syntax(what),
            _ => Self::Notify(NotifyType::NO_PROPOSAL_CHOSEN),
        }
    }
}

impl Answer {
    /// Chooses among the peer's proposals.
    pub(super) fn choose(
        inbound: &Inbound<'_>,
        suites: &[Suite],
        config: &ChildConfig,
        (addresses, from): (Addresses, Socket),
        env: &mut Env<'_, '_>,
    ) -> Result<Self, Refusal> {
        let (spi, sa) = (env.shared.fresh_child_spi(), inbound.need_sa()?);
        let Some(chosen) = proposal::select(&sa, ProtocolId::ESP, suites, Preference::Initiator) else {
            env.refuse_proposal(from, &sa, Acceptable::suites(suites));
            return Err(Refusal::Notify(NotifyType::NO_PROPOSAL_CHOSEN));
        };
        let Spi::Child(outbound_spi) = chosen.spi else { return Err(Refusal::Syntax("child SPI")) };
        // The peer is the exchange's initiator: TSi is its side.
        let remote = narrow(&inbound.need_ts_initiator()?, &config.remote, addresses.theirs);
        let local = narrow(&inbound.need_ts_responder()?, &config.local, Some(addresses.ours));
        if remote.is_empty() && addresses.theirs.is_none() {
            // RFC 7296 §3.10.1: its traffic has no address, and it did not ask for an address of the pool.
            return Err(Refusal::Notify(NotifyType::FAILED_CP_REQUIRED));
        }
        if local.is_empty() || remote.is_empty() {
            return Err(Refusal::Notify(NotifyType::TS_UNACCEPTABLE));
        }
        // RFC 4301 §4.1: transport mode is between two hosts. For other traffic the answer is a tunnel, as RFC 7296 §1.3.1
        // permits: behind the hosts' own headers packets of others could not be distinguished.
        let transport = config.mode == Mode::Transport
            && inbound.says(NotifyType::USE_TRANSPORT_MODE)
            && addresses.are_ends_of(&local, &remote);
        let agreed = Agreed {
            inbound_spi: spi.get(),
            outbound_spi,
            suite: chosen.suite,
            mode: if transport { Mode::Transport } else { Mode::Tunnel },
            local,
            remote,
            ours: false,
        };
        Ok(Self { agreed, proposal: chosen.answer(Spi::Child(spi.get())), _spi: spi })
    }

    pub(super) fn push_sa(&self, m: &mut MessageBuilder) {
        if self.agreed.mode == Mode::Transport {
            m.push(&Payload::Notify(Notify::new(NotifyType::USE_TRANSPORT_MODE, &[])));
        }
        m.security_association(std::slice::from_ref(&self.proposal));
    }

    pub(super) fn push_selectors(&self, m: &mut MessageBuilder) {
        m.traffic_selectors(&self.agreed.remote, &self.agreed.local);
    }
}

impl Agreed {
    /// RFC 7296 §2.17: derives the keys of both directions; those of the exchange's initiator come first.
    pub(super) fn keyed(
        self,
        ike: &IkeKeys,
        nonces: Nonces<'_>,
        shared: Option<&Secret>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> ChildSa {
        let shared = shared.map(|secret| &**secret);
        let keys = keys::ChildKeys::derive(env.cx.crypto, ike, &self.suite, shared, nonces);
        let of = |sender| SaKeys {
            encryption: keys.encryption(sender).into(),
            integrity: keys.integrity(sender).into(),
        };
        let us = if self.ours { Role::Initiator } else { Role::Responder };
        let child = ChildSa {
            pair: SaPair {
                inbound_spi: self.inbound_spi,
                outbound_spi: self.outbound_spi,
                suite: self.suite,
                inbound: of(us.peer()),
                outbound: of(us),
            },
            mode: self.mode,
            local: self.local,
            remote: self.remote,
            encapsulation: encapsulation(core, env),
            // RFC 7296 §2.23: a host behind a NAT, as a device may be, does not follow.
            peer_may_move: core.nat.there || !core.nat.detects && !core.initiator,
            peer_ready: self.ours,
            bytes_max: None,
        };
        child.reveal(core.route, env.cx.trace);
        child
    }
}

/// RFC 3948: with a NAT, ESP is encapsulated in UDP between the ports of IKE.
fn encapsulation(core: &Core, env: &Env<'_, '_>) -> Option<(Socket, Socket)> {
    let Route { local, remote, marked } = core.route;
    core.nat
        .found()
        .then(|| if marked { (local, remote) } else { beside_ike((local, remote), &env.shared.config) })
}

/// The ports of ESP for a peer that did not move IKE to port 4500, because it knows no NAT detection.
// RFC 3948 §2.2: at port 500 ESP cannot be distinguished from IKE. A peer at another port receives ESP at its source port.
fn beside_ike((local, remote): (Socket, Socket), config: &Config) -> (Socket, Socket) {
    let (ike_port, nat_port) = config.responder_ports();
    let remote = if remote.port == ike_port { remote.at_port(nat_port) } else { remote };
    (local.at_port(config.nat_port), remote)
}

/// The address that a CFG_REPLY assigns, IPv6 first; only valid host addresses.
pub(super) fn assigned_address(cp: &Configuration<'_>) -> Option<IpAddr> {
    use crate::number::AttributeType;
    let of = |kind| cp.attributes().find(move |attribute| attribute.kind == kind);
    let v6 = of(AttributeType::INTERNAL_IP6_ADDRESS).and_then(|attribute| attribute.ipv6());
    let v4 = of(AttributeType::INTERNAL_IP4_ADDRESS).and_then(|attribute| attribute.ipv4());
    let v6 = v6.map(|(address, _)| IpAddr::from(address));
    v6.or(v4.map(IpAddr::from)).filter(|address| {
        let is_broadcast = *address == IpAddr::V4(Ipv4Addr::BROADCAST);
        !(address.is_unspecified() || address.is_loopback() || address.is_multicast() || is_broadcast)
    })
}

impl Refusal {
    /// Adds the notification for the peer.
    pub(super) fn push(self, m: &mut MessageBuilder) {
        let group = match self {
            Self::Group(group) => group.number().to_be_bytes(),
            Self::Notify(_) | Self::Syntax(_) => [0; 2],
        };
        let notify = match self {
            Self::Notify(kind) => Notify::new(kind, &[]),
            Self::Group(_) => Notify::new(NotifyType::INVALID_KE_PAYLOAD, &group),
            Self::Syntax(_) => Notify::new(NotifyType::INVALID_SYNTAX, &[]),
        };
        m.push(&Payload::Notify(notify));
    }

    /// The reason for an event.
    pub(super) const fn reason(self) -> Reason {
        match self {
            Self::Notify(NotifyType::TS_UNACCEPTABLE) => Reason::TrafficSelectors,
            Self::Notify(kind) => Reason::Refused(kind.0),
            Self::Group(_) => Reason::Refused(NotifyType::INVALID_KE_PAYLOAD.0),
            Self::Syntax(what) => Reason::Syntax(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ESP at port 500 would look like IKE: our end is always 4500, and that of the peer unless it has a port of its own.
    #[test]
    fn without_nat_detection_esp_has_the_ports_that_are_made_for_it() {
        let (config, ip) = (Config::new(Vec::new()), IpAddr::from([192, 0, 2, 1]));
        let of = |remote| {
            let (local, remote) = beside_ike((Socket::new(ip, 500), Socket::new(ip, remote)), &config);
            (local.port, remote.port)
        };
        assert_eq!([of(500), of(52_022)], [(4500, 4500), (4500, 52_022)]);
        let moved = Config { port: 5000, nat_port: 5001, ..config };
        let ends = beside_ike((Socket::new(ip, 5000), Socket::new(ip, 5000)), &moved);
        assert_eq!((ends.0.port, ends.1.port), (5001, 5001));
    }
}
