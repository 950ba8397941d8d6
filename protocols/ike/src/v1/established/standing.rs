//! Where an ISAKMP SA stands among those with the same peer, and whether its owner knows of it.
//! Read RFC 2409 §5.4 (the last message of aggressive mode has no answer), RFC 2408 §5.15 (DELETE) first.
//!
//! ```text
//!   initiator   Unconfirmed --the peer has it--> TakingOver --2 s--> Announced, with the children of the old SA
//!                    '--the peer has it, no old SA--> Announced
//!   responder   Undecided --no other SA with the peer, or a quick mode--> Announced
//!                    '--DELETE of another SA, or 5 s--> Announced, with the children of the other SA
//! ```
//!
//! A new phase 1 is the only way to new keys for an ISAKMP SA, and nothing in it says that it replaces another one. Who began it
//! knows; who answered learns it from what comes next.

use std::time::Duration;

use keytoll_engine::Time;

use super::super::doubt::end_as_told;
use super::super::endpoint::Env;
use super::super::replacement::Action;
use super::super::sa::{Core, State};
use super::{Established, Handover};
use crate::event::{self, Event, Reason};

/// So long the owner hears nothing of an SA that may replace another one: whoever authenticated again closes the old one as
/// soon as it knows that we have the new one, whoever wants one more SA begins a quick mode.
const ANNOUNCEMENT_WAIT: Duration = Duration::from_secs(5);

/// So long an SA waits before it replaces another one: strongSwan moves the children when it is done with the new phase 1, in
/// a thread of its own, and a DELETE of the old SA that is there first takes them with it.
const TAKE_OVER_WAIT: Duration = Duration::from_secs(2);

/// Where an ISAKMP SA stands; other SAs are named by the cookies that we chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Initiator: the peer may not have it yet. Once it has, it replaces this one.
    Unconfirmed { replaces: Option<u64> },
    /// Initiator: the peer has it. It replaces `old` then.
    TakingOver { old: u64, at: Time },
    /// Responder: whether it replaces another SA, what comes next tells, until then.
    Undecided { until: Time },
    /// The owner knows of it. The last SA that it has replaced.
    Announced { replaced: Option<u64> },
}

impl Standing {
    /// The SA that it is to replace, and has not yet.
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
    /// The SA that it is to replace, and has not yet.
    pub(in crate::v1) const fn replaces(&self) -> Option<u64> {
        self.standing.replaces()
    }

    /// Whether the owner does not know of it.
    pub(in crate::v1) const fn is_unannounced(&self) -> bool {
        !matches!(self.standing, Standing::Announced { .. })
    }

    /// Whether it has replaced this SA, as the last of those that it replaced.
    pub(in crate::v1) fn has_replaced(&self, old: u64) -> bool {
        self.standing == Standing::Announced { replaced: Some(old) }
    }

    /// Whether it is about to replace this SA, and the peer knows that.
    pub(in crate::v1) fn is_replacing(&self, old: u64, core: &Core) -> bool {
        matches!(self.standing, Standing::TakingOver { old: it, .. } if it == old) && !core.is_unconfirmed()
    }

    /// Whether we have only just begun it, and it has no children yet.
    pub(in crate::v1) fn is_spare(&self, now: Time) -> bool {
        self.is_childless() && !self.is_unannounced() && now.since(self.since) < ANNOUNCEMENT_WAIT
    }

    /// Phase 1 is over: goes on as far as that needs no word of the peer.
    pub(super) fn settle(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        match self.standing {
            Standing::Unconfirmed { replaces: None } if core.is_unconfirmed() => self.ask_for_word(core, env),
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
    fn ask_for_word(&mut self, core: &mut Core, env: &mut Env<'_, '_>) {
        if core.connection(env).child.is_some() {
            self.offer(None, core, env);
        } else {
            self.probe(core, env);
        }
        // Nothing was asked that the peer could answer.
        if self.exchanges.is_empty() {
            self.announce(core, env);
        }
    }

    /// It replaces none: the owner hears of it, and there will be a child.
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

    /// There is another SA with the peer: it may come in the place of that one.
    pub(in crate::v1) fn may_replace(&mut self, env: &Env<'_, '_>) {
        if let Standing::Undecided { until } = &mut self.standing {
            *until = env.now() + ANNOUNCEMENT_WAIT;
        }
    }

    /// The time is over in which the peer could have said what the SA is for. One that we answered replaces whatever there
    /// was: strongSwan 5.9.8 moves children to a new SA and never closes the old one.
    pub(super) fn decide(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        let Standing::Undecided { .. } = self.standing else { return self.announce(core, env) };
        let peer = env.shared.peer(core, &self.peer);
        env.shared.actions.push_back(Action::Succeed { new: core.cookie, peer });
    }

    /// Tells the owner of it, if nobody has: of one that is taking over, by doing so.
    pub(in crate::v1) fn announce(&mut self, core: &Core, env: &mut Env<'_, '_>) {
        match self.standing {
            Standing::Announced { .. } => {}
            Standing::TakingOver { old, .. } => {
                let (new, peer) = (core.cookie, env.shared.peer(core, &self.peer));
                env.shared.actions.push_back(Action::TakeOver { old, new, peer });
            }
            Standing::Unconfirmed { .. } | Standing::Undecided { .. } => {
                self.standing = Standing::Announced { replaced: None };
                env.emit(Event::Established(Box::new(self.news(core))));
            }
        }
    }

    /// What the owner hears of it.
    fn news(&self, core: &Core) -> event::Established {
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

    /// It replaces another SA, as the owner was told, with its children; what that one had asked for and not got is asked for
    /// again.
    pub(in crate::v1) fn adopt(
        &mut self,
        old: u64,
        handover: Handover,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) {
        self.standing = Standing::Announced { replaced: Some(old) };
        self.children.extend(handover.children);
        for rekeys in handover.offers {
            match rekeys {
                Some(spi) => self.rekey_child(spi, core, env),
                None => self.offer(None, core, env),
            }
        }
    }

    /// The owner, if it knows of the SA, hears of its end.
    pub(super) fn end(self, reason: Reason, core: &Core, env: &mut Env<'_, '_>) {
        if !self.is_unannounced() {
            Handover::of(self).close(core.id(), reason, env);
        }
    }

    /// The peer is dead or closed it: nothing more is said.
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
