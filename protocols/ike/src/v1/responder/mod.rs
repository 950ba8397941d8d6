//! Phase 1 of the responder.

mod aggressive;
mod main;

use std::sync::Arc;

use super::auth;
use super::endpoint::Env;
use super::inbound::Inbound;
use super::number::{AuthenticationMethod, IDENTITY_PROTECTION};
use super::phase1::{Extensions, Step, Terms, wishes};
use super::proposal::{self, Choice, Phase1Transform};
use super::replacement::Action;
use super::sa::{Core, Sa};
use super::transmission::Reflection;
use crate::config::{Connection, Phase1};
use crate::event::{Event, Reason};
use crate::nat::Nat;
use crate::number::{NotifyType, ProtocolId};
use crate::refused::{Acceptable, Offered, RefusedProposal};
use crate::role::Role;
use crate::wire::Identity;

pub(super) use aggressive::AwaitingProof;
pub(super) use main::{AwaitingIdentity, AwaitingKeys};

/// Answers a first message; `None` if there is no SA for it.
pub(super) fn answer(step: &Step<'_>, env: &mut Env<'_, '_>) -> Option<Box<Sa>> {
    let inbound = match step.read() {
        Ok(inbound) => inbound,
        Err(reason) => {
            env.discard(reason.name());
            return None;
        }
    };
    let mut core = new_core(step, env);
    let begun = if step.header.exchange == IDENTITY_PROTECTION {
        main::begin(&inbound, step, &mut core, env)
    } else {
        aggressive::begin(&inbound, step, &mut core, env)
    };
    match begun {
        Ok(state) => Some(Sa::new(core, state)),
        Err(reason) => {
            env.discard(reason.name());
            if reason == Reason::NoProposalChosen {
                report_refusal(&inbound, step, env);
                refuse(step, env);
            }
            None
        }
    }
}

fn new_core(step: &Step<'_>, env: &mut Env<'_, '_>) -> Core {
    let mut reflection = Reflection::default();
    reflection.received(step.message.len());
    Core {
        cookie: env.shared.fresh_cookie(),
        peer_cookie: step.header.initiator_spi,
        role: Role::Responder,
        route: step.route,
        met_at: step.route.remote.ip,
        connection: 0,
        terms: None,
        is_of_peer: true,
        counted: None,
        nat: Nat::default(),
        last: None,
        refusal: None,
        replaces: None,
        begun: env.now(),
        receives_since: None,
        reflection,
    }
}

/// Reports to the owner that nothing in the offer is acceptable, and what would be.
fn report_refusal(inbound: &Inbound<'_>, step: &Step<'_>, env: &mut Env<'_, '_>) {
    let Ok((_, sa_body)) = inbound.need_sa() else { return };
    let (remote, is_main) = (step.route.remote, step.header.exchange == IDENTITY_PROTECTION);
    let phase1 = if is_main { Phase1::Main } else { Phase1::Aggressive };
    // RFC 2409 §5.4: in main mode a shared key is found by the address.
    let takes = |connection: &Connection, method| {
        let needs_key = is_main && method == AuthenticationMethod::PRE_SHARED_KEY;
        wishes(connection).phase1 == phase1
            && (!needs_key || auth::shared_key(connection, None, remote.ip).is_some())
    };
    let suites = env.shared.connections().filter_map(|(_, connection)| {
        let method = auth::method(connection).filter(|method| takes(connection, *method))?;
        Some(
            connection
                .suites
                .iter()
                .filter(|suite| proposal::can_negotiate(suite))
                .map(move |it| (*it, method)),
        )
    });
    let (offered, acceptable) = (Offered::v1(sa_body), Acceptable::phase1(suites.flatten()));
    env.emit(Event::ProposalRefused(Box::new(RefusedProposal { remote, offered, acceptable })));
}

/// RFC 2408 §5.4: sends NO-PROPOSAL-CHOSEN without keeping state.
fn refuse(step: &Step<'_>, env: &mut Env<'_, '_>) {
    let mut core = new_core(step, env);
    core.cookie = 0;
    super::phase1::tell_in_clear(&core, NotifyType::NO_PROPOSAL_CHOSEN, env);
}

/// Longer SA payloads are refused: this is enough for all the transforms that one proposal can number.
const SA_BYTES_MAX: usize = 16_384;

/// A transform of the initiator, and a connection that accepts it.
struct Chosen<'a> {
    choice: Choice<'a>,
    terms: Terms,
    index: usize,
    connection: Arc<Connection>,
}

/// The initiator's best transform that a connection accepts, among the connections that satisfy `fits`.
fn choose<'a>(
    inbound: &Inbound<'a>,
    phase1: Phase1,
    fits: impl Fn(&Connection) -> bool,
    env: &Env<'_, '_>,
) -> Result<Chosen<'a>, Reason> {
    let (sa, sa_body) = inbound.need_sa()?;
    // It is kept and searched for unauthenticated initiators.
    if sa_body.len() > SA_BYTES_MAX {
        return Err(Reason::Syntax("SA"));
    }
    let takes = |offered: &Phase1Transform, connection: &Connection| {
        let is_method = auth::method(connection) == Some(offered.method);
        is_method.then(|| offered.suite(&connection.suites)).flatten()
    };
    // Computed once, however many transforms a stranger offers.
    let is_meant = |connection: &Connection| wishes(connection).phase1 == phase1 && fits(connection);
    let meant: Vec<_> = env.shared.connections().filter(|(_, connection)| is_meant(connection)).collect();
    for choice in proposal::choices(&sa, ProtocolId::IKE) {
        let Some(offered) = Phase1Transform::read(&choice.1) else { continue };
        let found = meant.iter().find_map(|(index, connection)| {
            takes(&offered, connection).map(|suite| (suite, *index, Arc::clone(connection)))
        });
        if let Some((suite, index, connection)) = found {
            let ours = wishes(&connection).lifetime;
            // RFC 2407 §4.5.4: the shorter lifetime applies, and the initiator is told if it is ours.
            let lifetime = offered.lifetime.map_or(ours, |theirs| theirs.min(ours));
            let terms = Terms {
                suite,
                method: offered.method,
                lifetime,
                tells_lifetime: offered.lifetime.is_some_and(|theirs| lifetime < theirs),
                sa_body: sa_body.to_vec(),
                peer: Extensions::read(inbound),
            };
            return Ok(Chosen { choice, terms, index, connection });
        }
    }
    Err(Reason::NoProposalChosen)
}

impl Chosen<'_> {
    /// The body of the SA payload in the answer.
    fn sa_body(&self) -> Vec<u8> {
        proposal::sa_body(&proposal::answer(&self.choice, None))
    }
}

/// RFC 2407 §4.6.3.3: the initiator has no other SA with us; ours with it can be dropped.
fn initial_contact(peer: &Identity, inbound: &Inbound<'_>, core: &Core, env: &mut Env<'_, '_>) {
    if inbound.notify(NotifyType::IPSEC_INITIAL_CONTACT).is_some() {
        env.shared
            .actions
            .push_back(Action::InitialContact { new: core.cookie, peer: env.shared.peer(core, peer) });
    }
}
