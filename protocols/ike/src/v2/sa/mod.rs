//! One IKE SA: its states, and what the endpoint may ask of it whatever its state is. What all states share is in [`core`], the
//! dispatch of messages to the current state in [`messages`], that of deadlines in [`timers`].

mod core;
mod messages;
mod timers;

use std::time::Duration;

use keytoll_engine::Time;

pub(super) use self::core::{Core, Index};
pub(super) use self::timers::lingers_until;
use super::endpoint::Env;
use super::established::{Closing, Established, Task};
use super::event::{Eap, Reason};
use super::initiator::{AuthSent, EapConversation, EapFinal, SaInitSent};
use super::pool::Lease;
use super::protect::Protection;
use super::responder::{AwaitingAuth, FinalAuth, Relay};
use crate::half_open::Place;
use crate::lent::Lent;
use crate::wire::Identity;

/// An IKE SA, from its first message to its last.
#[derive(Debug)]
pub(super) struct Sa {
    pub(super) core: Core,
    pub(super) state: State,
    /// The time for which the endpoint's timer is set.
    pub(super) armed: Option<Time>,
    /// Its place in the endpoint's table of half-open SAs.
    pub(super) half_open: Option<Box<Place>>,
}

/// How long an owner may take to answer an EAP packet before the peer counts as silent.
const OWNER_MAX: Duration = Duration::from_secs(10);

/// The state of an SA, named after what was sent or is awaited.
#[derive(Debug)]
pub(super) enum State {
    /// Initiator: the answer to IKE_SA_INIT.
    SaInitSent(Box<SaInitSent>),
    /// Initiator: the answer to IKE_AUTH.
    AuthSent(Box<AuthSent>),
    /// Initiator: the owner's next EAP packet.
    EapAwaitsOwner(Box<EapConversation>),
    /// Initiator: the responder's next EAP packet.
    EapAwaitsPeer(Box<EapConversation>),
    /// Initiator: the responder's AUTH after EAP.
    EapFinalSent(Box<EapFinal>),
    /// Responder: the IKE_AUTH request.
    AwaitingAuth(Box<AwaitingAuth>),
    /// Responder: the owner's next EAP packet.
    RelayAwaitsOwner(Box<Relay>),
    /// Responder: the initiator's next EAP packet.
    RelayAwaitsPeer(Box<Relay>),
    /// Responder: the initiator's AUTH after EAP.
    AwaitingFinalAuth(Box<FinalAuth>),
    /// Both: anything.
    Established(Box<Established>),
    /// Both: the answer to our last request.
    Closing(Box<Closing>),
    /// Closed; a retransmitted last request still gets its response.
    Lingering(Time),
    /// To be forgotten.
    Gone,
}

impl State {
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Gone)
    }

    /// Whether we are about to set it up, and have not authenticated the responder.
    pub(super) const fn is_attempt(&self) -> bool {
        matches!(
            self,
            Self::SaInitSent(_)
                | Self::AuthSent(_)
                | Self::EapAwaitsOwner(_)
                | Self::EapAwaitsPeer(_)
                | Self::EapFinalSent(_)
        )
    }

    /// The EAP conversation that a responder relays.
    fn relay(&self) -> Option<&Relay> {
        match self {
            Self::RelayAwaitsOwner(wait) | Self::RelayAwaitsPeer(wait) => Some(wait),
            Self::AwaitingFinalAuth(wait) => Some(&wait.relay),
            _ => None,
        }
    }

    /// The identity that the peer claims, as long as it is unauthenticated.
    pub(super) fn claimed(&self) -> Option<&Identity> {
        match self {
            Self::EapAwaitsOwner(wait) | Self::EapAwaitsPeer(wait) => Some(wait.responder()),
            Self::EapFinalSent(wait) => Some(wait.responder()),
            _ => self.relay().map(Relay::claimed),
        }
    }

    /// The current keys; a responder computes them when the first protected message arrives.
    fn protection(&mut self, core: &Core, env: &mut Env<'_, '_>) -> Option<&Protection> {
        match self {
            Self::AuthSent(wait) => Some(&wait.protection),
            Self::EapAwaitsOwner(wait) | Self::EapAwaitsPeer(wait) => Some(wait.protection()),
            Self::EapFinalSent(wait) => Some(wait.protection()),
            Self::AwaitingAuth(wait) => wait.protection(core, env),
            Self::RelayAwaitsOwner(wait) | Self::RelayAwaitsPeer(wait) => Some(&wait.protection),
            Self::AwaitingFinalAuth(wait) => Some(&wait.relay.protection),
            Self::Established(sa) => Some(&sa.protection),
            Self::Closing(wait) => Some(&wait.protection),
            Self::SaInitSent(_) | Self::Lingering(_) | Self::Gone => None,
        }
    }
}

impl Sa {
    pub(super) fn new(core: Core, state: State) -> Box<Self> {
        Box::new(Self { core, state, armed: None, half_open: None })
    }

    pub(super) const fn spi(&self) -> u64 {
        self.core.local_spi
    }

    /// Marks it as half open with this place in the table.
    pub(super) fn half_open(mut self: Box<Self>, place: Place) -> Box<Self> {
        self.half_open = Some(Box::new(place));
        self
    }

    /// Whether it still counts as half open, which includes refused SAs that retransmit the refusal.
    pub(super) const fn keeps_its_place(&self) -> bool {
        self.is_half_open() || matches!(self.state, State::Lingering(_))
    }

    /// Until when it retransmits its last response, if it does nothing else.
    pub(super) const fn lingers_until(&self) -> Option<Time> {
        match self.state {
            State::Lingering(until) => Some(until),
            _ => None,
        }
    }

    /// Whether it waits for the answer to its DELETE.
    pub(super) const fn is_closing(&self) -> bool {
        matches!(self.state, State::Closing(_))
    }

    pub(super) const fn is_half_open(&self) -> bool {
        matches!(
            self.state,
            State::AwaitingAuth(_)
                | State::RelayAwaitsOwner(_)
                | State::RelayAwaitsPeer(_)
                | State::AwaitingFinalAuth(_)
        )
    }

    /// Records what must be cleaned up if it does not come back into the tables; returns its inner address.
    pub(super) fn lend(&self, lent: &mut Lent) -> Option<Lease> {
        let State::Established(sa) = &self.state else {
            lent.leaves(self.core.id(), self.half_open.as_deref().copied(), false, std::iter::empty());
            return None;
        };
        lent.leaves(self.core.id(), self.half_open.as_deref().copied(), sa.is_known(), sa.children());
        if !sa.is_known() {
            lent.is_nameless();
        }
        sa.lease()
    }

    /// Whether it is in use and waits for nothing.
    pub(super) fn is_idle(&self) -> bool {
        let State::Established(sa) = &self.state else { return false };
        let Core { requests, incoming, terms, .. } = &self.core;
        sa.is_idle()
            && !requests.is_busy()
            && incoming.is_none()
            && terms.is_none()
            && self.half_open.is_none()
    }

    /// The inbound SPIs of its children.
    pub(super) fn children(&self) -> impl Iterator<Item = u32> {
        let sa = if let State::Established(sa) = &self.state { Some(sa) } else { None };
        sa.into_iter().flat_map(|sa| sa.children())
    }

    /// Handles an EAP output of the owner.
    pub(super) fn on_eap(&mut self, eap: Eap, env: &mut Env<'_, '_>) {
        let core = &mut self.core;
        self.state = match self.state.take() {
            State::EapAwaitsOwner(wait) => wait.on_owner(eap, core, env),
            State::RelayAwaitsOwner(wait) => wait.on_owner(eap, core, env),
            state => {
                env.discard("no SA waits for EAP");
                state
            }
        };
    }

    /// The owner wants something.
    pub(super) fn on_task(&mut self, task: Task, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::Established(sa) => sa.on_task(task, &mut self.core, env),
            state => {
                env.discard("the SA is not established");
                state
            }
        };
    }

    /// When it last made progress, at most `now`.
    pub(super) fn went_on(&self, now: Time) -> Time {
        match self.state {
            // The owner, who asks others, must answer next.
            State::RelayAwaitsOwner(_) => now.min(self.core.heard + OWNER_MAX),
            _ => self.core.heard,
        }
    }

    /// It is half open and is evicted.
    pub(super) fn make_room(&mut self, env: &mut Env<'_, '_>) {
        env.discard("half-open SA made room");
        // The owner knows of it if it was asked for EAP.
        if self.state.relay().is_some() {
            self.times_out(env);
        }
        self.state = State::Gone;
    }

    /// Drops it in favour of another one; the peer need not be told.
    pub(super) fn forget(&mut self, env: &mut Env<'_, '_>) {
        self.state = match self.state.take() {
            State::Established(sa) => sa.lost(Reason::Replaced, &self.core, env),
            _ => State::Gone,
        };
    }
}
