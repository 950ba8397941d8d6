//! Rekeying an IKE SA, on the requesting side. Read RFC 7296 §1.3.2, §2.8, §2.18 first.

use keytoll_crypto_api::KeyPair;
use keytoll_crypto_api::algorithm::Group;
use keytoll_engine::Few;

use super::super::endpoint::{Env, Move};
use super::super::event::{Event, Reason, SaId};
use super::super::inbound::Inbound;
use super::super::keys::{IkeKeys, Nonces, Role};
use super::super::proposal;
use super::super::protect::Protection;
use super::super::sa::{Core, Sa, State};
use super::super::window::{Requests, Responses};
use super::child_request::agree;
use super::collision::LowestNonce;
use super::not_replaced::Asked;
use super::{Established, Pending, Task, Turn, decided_at};
use crate::number::{ExchangeType, NotifyType, ProtocolId};
use crate::peers::Removal;
use crate::phase;
use crate::wire::{KeyExchange, Nonce, Payload, Spi};

/// A requested IKE SA that is to replace this one.
#[derive(Debug)]
pub(super) struct IkeRequest {
    spi: u64,
    nonce: [u8; 32],
    pair: KeyPair,
    /// The peer has rekeyed the SA meanwhile: our SPI of its successor, and the nonce that decides.
    pub(super) rival: Option<(u64, LowestNonce)>,
}

impl Established {
    pub(super) fn request_rekey(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        if let Some(group) = self.protection.keys().suite().group {
            self.send_rekey(group, core, env);
        }
    }

    /// SA, Ni, KEi.
    fn send_rekey(&mut self, group: Group, core: &mut Core, env: &mut Env<'_, '_>) {
        env.cx.crypto.enter(phase::CREATE_CHILD);
        let connection = core.connection(env);
        let pair = env.cx.crypto.generate(group, &mut env.shared.rng);
        let request =
            IkeRequest { spi: env.shared.fresh_spi(), nonce: env.shared.rng.bytes(), pair, rival: None };
        core.request(
            ExchangeType::CREATE_CHILD_SA,
            |m| {
                m.security_association(&proposal::propose(
                    ProtocolId::IKE,
                    Spi::Ike(request.spi),
                    &connection.suites,
                ));
                m.push(&Payload::Nonce(Nonce { data: &request.nonce }));
                m.push(&Payload::KeyExchange(KeyExchange::new(group, &request.pair.public)));
            },
            &mut self.protection,
            env,
        );
        self.pending = Some(Pending::RekeyIke(Box::new(request)));
    }

    pub(super) fn on_rekey_response(
        mut self: Box<Self>,
        request: &IkeRequest,
        inbound: &Inbound<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::CREATE_CHILD);
        if let Some(group) = self.corrected_group(request, inbound, core, env) {
            self.send_rekey(group, core, env);
            return State::Established(self);
        }
        match self.agreed_successor(request, inbound, core, env) {
            Ok((successor, lowest)) => self.succeed(request, successor, &lowest, core, env),
            Err(reason) => {
                match &request.rival {
                    // The peer's own attempt stands.
                    Some((spi, _)) => self.hand_over(*spi, core, env),
                    None => self.not_replaced(Asked::IkeSa, reason, core, env),
                }
                self.next(core, env)
            }
        }
    }

    /// The successor created by the peer, while the collision is undecided.
    pub(super) fn rival(&self) -> Option<u64> {
        match &self.pending {
            Some(Pending::RekeyIke(request)) => request.rival.as_ref().map(|(spi, _)| *spi),
            _ => None,
        }
    }

    /// RFC 7296 §1.3: INVALID_KE_PAYLOAD names the group to try.
    fn corrected_group(
        &self,
        request: &IkeRequest,
        inbound: &Inbound<'_>,
        core: &Core,
        env: &Env<'_, '_>,
    ) -> Option<Group> {
        let notify = inbound.notify(NotifyType::INVALID_KE_PAYLOAD).filter(|_| request.rival.is_none())?;
        let connection = core.connection(env);
        proposal::corrected_group(&notify, &connection.suites, request.pair.private.group)
    }

    /// The new SA, without children yet.
    fn agreed_successor(
        &self,
        request: &IkeRequest,
        inbound: &Inbound<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Result<(Box<Sa>, LowestNonce), Reason> {
        if let Some(error) = inbound.error() {
            return Err(Reason::Refused(error.0));
        }
        let connection = core.connection(env);
        let offered = proposal::propose(ProtocolId::IKE, Spi::Ike(request.spi), &connection.suites);
        let chosen = proposal::accept(&inbound.need_sa()?, &offered).map_err(|_| Reason::NoProposalChosen)?;
        let Spi::Ike(remote_spi) = chosen.spi else { return Err(Reason::Syntax("IKE SPI")) };
        let responder = inbound.need_nonce()?;
        let shared = agree(&request.pair, chosen.suite.group, inbound, env)?;
        let nonces = Nonces { initiator: &request.nonce, responder };
        let spis = (request.spi, remote_spi);
        let keys = self.protection.keys().rekeyed(env.cx.crypto, &chosen.suite, &shared, nonces, spis);
        keys.reveal(spis, env.cx.trace);
        Ok((
            self.successor(keys, Role::Initiator, spis, core, env),
            LowestNonce::of(&request.nonce, responder),
        ))
    }

    /// An SA with new keys and windows between the same peers.
    pub(super) fn successor(
        &self,
        keys: IkeKeys,
        us: Role,
        (initiator_spi, responder_spi): (u64, u64),
        core: &Core,
        env: &Env<'_, '_>,
    ) -> Box<Sa> {
        let (local_spi, remote_spi) =
            if us.is_initiator() { (initiator_spi, responder_spi) } else { (responder_spi, initiator_spi) };
        let successor = Core {
            local_spi,
            remote_spi,
            initiator: us.is_initiator(),
            requests: Requests::default(),
            responses: Responses::default(),
            incoming: None,
            heard: env.now(),
            terms: None,
            ..*core
        };
        let sa = Self {
            protection: Protection::new(keys, us),
            peer: super::Peer { lease: None, ..self.peer.clone() },
            children: Few::default(),
            tasks: super::Tasks::default(),
            pending: None,
            // If it never takes over, it is not kept for ever.
            reauthenticate_at: Some(decided_at(env)),
            rekey_at: None,
            turn: Turn::ToCome,
            predecessor: None,
        };
        Sa::new(successor, State::Established(Box::new(sa)))
    }

    /// RFC 7296 §2.8.2: of two successors the one with the lowest nonce is closed by the side that created it.
    fn succeed(
        mut self: Box<Self>,
        request: &IkeRequest,
        mut successor: Box<Sa>,
        lowest: &LowestNonce,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        match &request.rival {
            Some((rival, nonce)) if lowest.loses_to(nonce) => {
                let rival = *rival;
                successor.on_task(Task::Delete(Reason::Replaced), env);
                env.shared.new_sas.push(successor);
                self.hand_over(rival, core, env);
                self.next(core, env)
            }
            _ => {
                let spi = successor.spi();
                env.shared.new_sas.push(successor);
                self.hand_over(spi, core, env);
                self.delete(Reason::Replaced, core, env)
            }
        }
    }

    /// Moves everything of this SA to the one with our SPI `spi`.
    pub(super) fn hand_over(&mut self, spi: u64, core: &Core, env: &mut Env<'_, '_>) {
        self.turn = Turn::Over;
        self.rekey_at = None;
        let children = std::mem::take(&mut self.children);
        let peer = self.peer.clone();
        self.peer.lease = None;
        // The peer closes this one; if it does not, we do.
        let reauthenticate_at = self.reauthenticate_at.replace(decided_at(env));
        // Tasks of this SA pass to the successor, except rekeying, which is done.
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.retain(|task| *task != Task::RekeyIke);
        // A peer that rekeys repeatedly without closing the replaced SAs keeps at most two of the chain.
        env.shared.removals.extend(self.predecessor.take().map(|spi| Removal::Forget(spi.get())));
        if let Some(counted) = &peer.counted {
            env.shared.peers.renamed(counted, core.local_spi, spi);
        }
        env.shared.moves.push(Move {
            from: core.local_spi,
            to: spi,
            children,
            peer,
            reauthenticate_at,
            tasks,
        });
        env.emit(Event::Rekeyed { old: core.id(), new: SaId(spi) });
    }
}
