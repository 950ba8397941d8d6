//! Phase 1 of the initiator.

mod aggressive;
mod main;

use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::KeyPair;
use keytoll_crypto_api::algorithm::Group;
use keytoll_crypto_api::suite::Suite;
use keytoll_net::Socket;

use super::auth;
use super::doubt::fail;
use super::endpoint::Env;
use super::inbound::Inbound;
use super::number::AuthenticationMethod;
use super::phase1::{Extensions, Terms, wishes};
use super::proposal::{self, Phase1Transform};
use super::sa::{Core, Replaced, Sa};
use super::selectors::can_offer;
use super::transmission::Reflection;
use crate::config::{Connection, Phase1};
use crate::event::{Reason, SaId};
use crate::nat::Nat;
use crate::number::ProtocolId;
use crate::phase;
use crate::role::Role;
use crate::route::Route;
use crate::wire::Identity;

pub(super) use aggressive::Introduced;
pub(super) use main::{IdentitySent, KeysSent, Offered};

/// Starts an ISAKMP SA, with terms of its own if there are any. An error if there is no such connection, or if IKEv1 can offer nothing for it; the latter failure has
/// an SA id.
pub(super) fn start(
    connection: usize,
    terms: Option<Arc<Connection>>,
    local: IpAddr,
    remote: IpAddr,
    env: &mut Env<'_, '_>,
) -> Result<Box<Sa>, Option<SaId>> {
    let config = &env.shared.config;
    let (local, remote) = (Socket::new(local, config.port), Socket::new(remote, config.responder_ports().0));
    begin((connection, terms), Route { local, remote, marked: false }, None, env)
}

/// Starts an ISAKMP SA that replaces another one with its peer; errors as for [`start`].
// RFC 3947 §4: behind a NAT everything continues on port 4500, and to the port that the NAT has assigned to the peer.
pub(super) fn replace(old: &Core, peer: &Identity, env: &mut Env<'_, '_>) -> Result<Box<Sa>, Option<SaId>> {
    let wanted = (old.connection, old.terms.clone());
    if old.nat.found() {
        return begin(wanted, old.route, Some((old, peer)), env);
    }
    let config = &env.shared.config;
    let local = old.route.local.at_port(config.port);
    let remote = old.route.remote.at_port(config.responder_ports().0);
    begin(wanted, Route { local, remote, marked: false }, Some((old, peer)), env)
}

fn begin(
    (connection, terms): (usize, Option<Arc<Connection>>),
    route: Route,
    old: Option<(&Core, &Identity)>,
    env: &mut Env<'_, '_>,
) -> Result<Box<Sa>, Option<SaId>> {
    let config = &env.shared.config;
    if config.connections.get(connection).is_none_or(|connection| connection.version.is_v2()) {
        env.discard("no such connection");
        return Err(None);
    }
    let mut core = Core {
        cookie: env.shared.fresh_cookie(),
        peer_cookie: 0,
        role: Role::Initiator,
        route,
        met_at: route.remote.ip,
        connection,
        terms,
        is_of_peer: old.is_some_and(|(old, _)| old.is_of_peer),
        counted: None,
        nat: Nat::default(),
        last: None,
        refusal: None,
        replaces: old.map(|(old, peer)| Replaced { cookie: old.cookie, peer: peer.clone() }),
        begun: env.now(),
        receives_since: None,
        reflection: Reflection::default(),
    };
    let wanted = core.connection(env);
    // Children of a replaced SA move over unchanged; none is offered.
    if old.is_none() && wanted.child.as_ref().is_some_and(|child| !can_offer(child)) {
        fail(&core, Reason::TrafficSelectors, env);
        return Err(Some(core.id()));
    }
    let Some(offer) = Offer::new(&wanted) else {
        fail(&core, Reason::NoProposalChosen, env);
        return Err(Some(core.id()));
    };
    let state = match wishes(&wanted).phase1 {
        Phase1::Main => main::begin(offer, &mut core, env),
        Phase1::Aggressive => aggressive::begin(offer, &wanted, &mut core, env),
    };
    Ok(Sa::new(core, state))
}

/// What we offer.
#[derive(Debug)]
struct Offer {
    suites: Vec<Suite>,
    method: AuthenticationMethod,
    /// SAi_b.
    sa_body: Vec<u8>,
}

impl Offer {
    /// `None` if IKEv1 supports nothing that the connection requires.
    fn new(connection: &Connection) -> Option<Self> {
        let method = auth::method(connection)?;
        let wishes = wishes(connection);
        let named = connection.suites.iter().copied().filter(proposal::can_negotiate);
        let mut suites: Vec<Suite> = named.collect();
        let group = suites.first()?.group;
        // RFC 2409 §5.2: in aggressive mode the group cannot be negotiated: the public value is in the first message.
        suites.retain(|suite| wishes.phase1 == Phase1::Main || suite.group == group);
        let proposal = proposal::propose(&suites, method, wishes.lifetime);
        Some(Self { suites, method, sa_body: proposal::sa_body(&proposal) })
    }

    fn group(&self) -> Group {
        self.suites.first().and_then(|suite| suite.group).expect("there is an offer, and it has a group")
    }

    /// The responder's choice.
    fn chosen(&self, connection: &Connection, inbound: &Inbound<'_>) -> Result<Terms, Reason> {
        let (sa, _) = inbound.need_sa()?;
        let (_, transform) = proposal::answered(&sa, ProtocolId::IKE).ok_or(Reason::NoProposalChosen)?;
        let chosen = Phase1Transform::read(&transform).filter(|chosen| chosen.method == self.method);
        let chosen = chosen.ok_or(Reason::NoProposalChosen)?;
        let suite = chosen.suite(&self.suites).ok_or(Reason::NoProposalChosen)?;
        let ours = wishes(connection).lifetime;
        Ok(Terms {
            suite,
            method: self.method,
            lifetime: chosen.lifetime.map_or(ours, |theirs| theirs.min(ours)),
            tells_lifetime: false,
            sa_body: self.sa_body.clone(),
            peer: Extensions::read(inbound),
        })
    }
}

fn generate(group: Group, env: &mut Env<'_, '_>) -> KeyPair {
    env.cx.crypto.enter(phase::SA_INIT);
    env.cx.crypto.generate(group, &mut env.shared.rng)
}
