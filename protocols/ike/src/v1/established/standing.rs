//! The relation of an ISAKMP SA to others with the same peer, and whether its owner knows of it.
//! Read RFC 2409 §5.4 (the last message of aggressive mode has no answer), RFC 2408 §5.15 (DELETE) first.
//!
//! ```text
//!   initiator   Unconfirmed --the peer has it--> TakingOver --2 s--> Announced, with the children of the old SA
//!                    '--the peer has it, no old SA--> Announced
//!   responder   Undecided --no other SA with the peer, or a quick mode--> Announced
//!                    '--DELETE of another SA, or 5 s--> Announced, with the children of the other SA
//! ```
//!
//! A new phase 1 is the only way to rekey an ISAKMP SA, and nothing in it shows that it replaces another one. The initiator
//! knows; the responder infers it from what the peer does next.

use std::time::Duration;

use keytoll_engine::Time;

use super::super::doubt::end_as_told;
use super::super::endpoint::Env;
use super::super::replacement::Action;
use super::super::sa::{Core, State};
use super::child::Child;
use super::{Established, Handover};
use crate::event::{self, Event, Reason};

/// A new SA that may replace another one is reported to the owner after this time: a peer that reauthenticates closes the old
/// SA as soon as it knows that we have the new one, a peer that wants an additional SA starts a quick mode.
const ANNOUNCEMENT_WAIT: Duration = Duration::from_secs(5);

/// An SA waits so long before it replaces another one: strongSwan moves the children after completing the new phase 1, in a
/// separate thread, and an earlier DELETE of the old SA would close them.
const TAKE_OVER_WAIT: Duration = Duration::from_secs(2);

/// The relation of an ISAKMP SA to others, which are identified by our cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Initiator: the peer may not have it yet. Once it has, it replaces this one.
    Unconfirmed { replaces: Option<u64> },
    /// Initiator: the peer has it. It replaces `old` at that time.
    TakingOver { old: u64, at: Time },
    /// Responder: waits until then for what shows whether it replaces another SA.
    Undecided { until: Time },
    /// The owner knows of it, and of the last SA that it replaced.
    Announced { replaced: Option<u64> },
}

impl Standing {
    /// The SA that it is to replace, but has not replaced yet.
    const fn replaces(self) -> Option<u64> {
        match self {
            Self::Unconfirmed { replaces } => replaces,
            Self::TakingOver { old, .. } => Some(old),
            Self::Undecided { .. } | Self::Announced { .. } => None,
        }
    }

    /// When it is decided without the peer.
    pub(super) const fn decided_at(self) -> Option<Time> {
        match self {
            Self::TakingOver { at, .. } | Self::Undecided { until: at } => Some(at),
            Self::Unconfirmed { .. } | Self::Announced { .. } => None,
        }
    }
}

impl Established {
    /// The SA that it is to replace, but has not replaced yet.
    pub(in crate::v1) const fn replaces(&self) -> Option<u64> {
        self.standing.replaces()
    }

    /// Whether the owner does not know of it.
    pub(in crate::v1) const fn is_unannounced(&self) -> bool {
        !matches!(self.standing, Standing::Announced { .. })
    }

    /// Whether this is the last SA that it replaced.
    pub(in crate::v1) fn has_replaced(&self, old: u64) -> bool {
        self.standing == Standing::Announced { replaced: Some(old) }
    }

    /// Whether it is about to replace this SA, and the peer knows that.
    pub(in crate::v1) fn is_replacing(&self, old: u64, core: &Core) -> bool {
        matches!(self.standing, Standing::TakingOver { old: it, .. } if it == old) && !core.is_unconfirmed()
    }

    /// Whether we have only just initiated it, and it has no children yet.
    pub(in crate::v1) fn is_spare(&self, now: Time) -> bool {
        self.is_childless() && !self.is_unannounced() && now.since(self.since) < ANNOUNCEMENT_WAIT
    }

    /// Phase 1 is complete: takes all steps that need no message of the peer.
    pub(super) fn settle(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        match self.standing {
            Standing::Unconfirmed { replaces: None } if core.is_unconfirmed() => {
                self.request_confirmation(core, env);
            }
            Standing::Unconfirmed { replaces: None } => self.stand_alone(core, env),
            // The answer confirms that the peer has it, too.
            Standing::Unconfirmed { .. } if core.is_unconfirmed() && self.extensions.dpd => {
                self.probe(core, env);
            }
            Standing::Unconfirmed { .. } => self.is_confirmed(core, env),
            _ => {
                let peer = env.shared.peer(core, &self.peer);
                env.shared.actions.push_back(Action::Announce { new: core.cookie, peer });
            }
        }
    }

    /// Sends something that the peer answers if it has the SA.
    fn request_confirmation(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        if core.connection(env).child.is_some() {
            self.offer(None, core, env);
        } else {
            self.probe(core, env);
        }
        // Nothing was sent that the peer could answer.
        if self.exchanges.is_empty() {
            self.announce(core, env);
        }
    }

    /// It replaces no SA: reports it to the owner, and negotiates a child.
    pub(in crate::v1) fn stand_alone(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        self.standing = Standing::Unconfirmed { replaces: None };
        self.announce(core, env);
        if core.connection(env).child.is_some() {
            self.offer(None, core, env);
        }
    }

    /// The peer has it.
    pub(super) fn is_confirmed(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        match self.standing.replaces() {
            Some(old) => self.standing = Standing::TakingOver { old, at: env.now() + TAKE_OVER_WAIT },
            None => self.announce(core, env),
        }
    }

    /// There is another SA with the peer, which it may replace.
    pub(in crate::v1) fn may_replace(&mut self, env: &Env<'_, '_>) {
        if let Standing::Undecided { until } = &mut self.standing {
            *until = env.now() + ANNOUNCEMENT_WAIT;
        }
    }

    /// The time is over in which the peer could have shown the purpose of the SA. As responder it replaces all earlier SAs:
    /// strongSwan 5.9.8 moves children to a new SA and never closes the old one.
    pub(super) fn decide(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let Standing::Undecided { .. } = self.standing else { return self.announce(core, env) };
        let peer = env.shared.peer(core, &self.peer);
        env.shared.actions.push_back(Action::Succeed { new: core.cookie, peer });
    }

    /// Reports it to the owner, if that has not happened yet; if it is replacing another SA, by doing so.
    pub(in crate::v1) fn announce(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        match self.standing {
            Standing::Announced { .. } => {}
            Standing::TakingOver { old, .. } => {
                let (new, peer) = (core.cookie, env.shared.peer(core, &self.peer));
                env.shared.actions.push_back(Action::TakeOver { old, new, peer });
            }
            Standing::Unconfirmed { .. } | Standing::Undecided { .. } => {
                self.standing = Standing::Announced { replaced: None };
                env.emit(Event::Established(Box::new(self.report(core))));
            }
        }
    }

    /// The report to the owner.
    fn report(&self, core: &Core) -> event::Established {
        event::Established {
            sa: core.id(),
            peer_spi: core.peer_cookie,
            connection: core.connection,
            initiator: core.role.is_initiator(),
            peer: Some(self.peer.clone()),
            claimed: self.peer.clone(),
            remote: core.route.remote,
            suite: *self.keys.suite(),
            auth_lifetime: Some(self.lifetime),
            address: None,
        }
    }

    /// It replaces another SA, as the owner was told, with its children; unanswered requests of the old SA are sent again.
    pub(in crate::v1) fn adopt(
        &mut self,
        old: u64,
        handover: Handover,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        self.standing = Standing::Announced { replaced: Some(old) };
        self.children.extend(handover.children);
        self.limit_children(core, env);
        for rekeys in handover.offers {
            match rekeys {
                Some(spi) => self.rekey_child(spi, core, env),
                None => self.offer(None, core, env),
            }
        }
    }

    /// Closes the oldest children of those that are too many, replaced ones first: an SA may have taken over those of several.
    fn limit_children(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let max = env.shared.config.children_max.saturating_mul(2);
        while self.children.len() > max {
            let replaced = self.children.iter().find(|child| child.is_replaced());
            let Some(spi) = replaced.or(self.children.first()).map(Child::inbound_spi) else { return };
            self.delete_child(spi, core, env);
        }
    }

    /// Reports its end, if the owner knows of it.
    pub(super) fn end(self, reason: Reason, core: &Core, env: &mut Env<'_, '_>) {
        if !self.is_unannounced() {
            Handover::of(self).close(core.id(), reason, env);
        }
    }

    /// The peer is dead or has closed it: nothing more is sent.
    pub(in crate::v1) fn lost(
        mut self: Box<Self>,
        reason: Reason,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        if core.is_unconfirmed() && self.is_unannounced() {
            return end_as_told(core, reason, Some(self.peer), env);
        }
        if let Standing::TakingOver { .. } = self.standing {
            env.discard("closed before it took a place");
            return State::Gone;
        }
        self.announce(core, env);
        self.end(reason, core, env);
        State::Gone
    }
}
