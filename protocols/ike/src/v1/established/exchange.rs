//! The exchanges under an ISAKMP SA: which message each awaits, until when, and what it retransmits.
//! Read RFC 2408 §5.1 (retransmission), RFC 2409 §5.5, §5.7 (message ids) first.

use keytoll_engine::{Deadline, Time};

use super::super::endpoint::Env;
use super::super::number::{INFORMATIONAL, QUICK_MODE};
use super::super::phase1::Step;
use super::super::sa::Core;
use super::super::transmission::{Due, Sent};
use super::Established;
use super::quick::{
    Answer, Asking, AwaitingAnswer, AwaitingConfirmation, AwaitingConnected, Confirmed, Offer, Refused,
};
use crate::config::Retransmission;
use crate::event::{Event, Reason};

/// An exchange that is incomplete, or whose last message may have to be retransmitted.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) id: u32,
    pub(super) wait: Wait,
}

/// What an exchange awaits.
#[derive(Debug)]
pub(super) enum Wait {
    /// Initiator of quick mode: message 2.
    Answer(Box<AwaitingAnswer>),
    /// Responder of quick mode: message 3.
    Confirmation(Box<AwaitingConfirmation>),
    /// Quick mode: CONNECTED, which the peer has requested with the commit bit.
    Connected(Box<AwaitingConnected>),
    /// Quick mode: only retransmissions of the message that our last one answers.
    Confirmed(Confirmed),
    /// Responder of quick mode: only retransmissions of the offer.
    Refused(Refused),
    /// R-U-THERE-ACK.
    Acknowledgement(Sent),
}

impl Wait {
    /// Our last message, which answers one of the peer's or is retransmitted until the next one arrives.
    fn sent(&mut self) -> Option<&mut Sent> {
        match self {
            Self::Answer(wait) => match &mut wait.asking {
                Asking::Repeated(sent) => Some(sent),
                Asking::Withdrawn { .. } => None,
            },
            Self::Confirmation(wait) => Some(&mut wait.sent),
            Self::Connected(wait) => Some(&mut wait.sent),
            Self::Confirmed(wait) => Some(&mut wait.sent),
            Self::Refused(wait) => Some(&mut wait.sent),
            Self::Acknowledgement(sent) => Some(sent),
        }
    }

    /// When our last message is retransmitted unprompted.
    fn repeated_at(&self) -> Option<Time> {
        match self {
            Self::Answer(wait) => match &wait.asking {
                Asking::Repeated(sent) => sent.deadline(),
                Asking::Withdrawn { .. } => None,
            },
            Self::Confirmation(wait) => wait.sent.deadline(),
            Self::Acknowledgement(sent) => sent.deadline(),
            Self::Connected(_) | Self::Confirmed(_) | Self::Refused(_) => None,
        }
    }

    /// Whether the peer owes us an answer.
    pub(super) fn is_repeated(&self) -> bool {
        self.repeated_at().is_some()
    }

    /// When the exchange is dropped.
    fn forgotten_at(&self) -> Option<Time> {
        match self {
            Self::Answer(wait) => match wait.asking {
                Asking::Repeated(_) => None,
                Asking::Withdrawn { until } => Some(until),
            },
            Self::Confirmed(wait) => Some(wait.until),
            Self::Refused(wait) => Some(wait.until),
            Self::Confirmation(_) | Self::Connected(_) | Self::Acknowledgement(_) => None,
        }
    }

    /// Our offer, if it is unanswered and not withdrawn.
    pub(super) fn asking(&self) -> Option<&Offer> {
        match self {
            Self::Answer(wait) if matches!(wait.asking, Asking::Repeated(_)) => Some(&wait.offer),
            _ => None,
        }
    }

    /// What was negotiated and awaits the peer's confirmation.
    pub(super) const fn agreed(&self) -> Option<&Answer> {
        match self {
            Self::Confirmation(wait) => Some(&wait.answer),
            Self::Connected(wait) => Some(&wait.answer),
            _ => None,
        }
    }

    /// Advances the retransmission timer.
    fn tick(&mut self, now: Time, timers: &Retransmission) -> Due {
        self.sent().map_or(Due::NotYet, |sent| sent.tick(now, timers))
    }
}

/// Exchanges that the peer has not answered in time.
#[derive(Default)]
struct Overdue {
    /// The only explanation of the silence is that the peer is dead.
    is_dead: bool,
    /// R-U-THERE is to be sent again.
    probe: bool,
    /// Our offers, each with the child that it was to replace.
    offers: Vec<Option<u32>>,
}

impl Exchange {
    pub(super) const fn is_probe(&self) -> bool {
        matches!(self.wait, Wait::Acknowledgement(_))
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        if let Wait::Connected(wait) = &self.wait {
            return Some(Deadline { at: wait.until, why: "CONNECTED" });
        }
        let forgotten = self.wait.forgotten_at().map(|at| Deadline { at, why: "quick mode is forgotten" });
        forgotten.or_else(|| self.wait.repeated_at().map(|at| Deadline { at, why: "ike retransmission" }))
    }

    /// Retransmits our last message if it is due; false if the exchange is over.
    fn tick(
        &mut self,
        last: Option<&Sent>,
        overdue: &mut Overdue,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> bool {
        if self.wait.forgotten_at().is_some_and(|at| at <= env.now()) {
            return false;
        }
        let due = self.wait.tick(env.now(), &env.shared.config.retransmission);
        match due {
            Due::NotYet => {}
            Due::Again => self.repeat(last, overdue, core, env),
            Due::GiveUp => self.give_up(overdue, core, env),
        }
        due != Due::GiveUp
    }

    fn repeat(&mut self, last: Option<&Sent>, overdue: &mut Overdue, core: &Core, env: &mut Env<'_, '_>) {
        if let Some(last) = last {
            env.transmit(core.route, &last.packet, true);
        }
        if self.is_probe() {
            overdue.probe = true;
        } else if let Some(sent) = self.wait.sent() {
            env.transmit(core.route, &sent.packet, true);
        }
    }

    fn give_up(&self, overdue: &mut Overdue, core: &Core, env: &mut Env<'_, '_>) {
        match (self.wait.asking(), self.wait.agreed()) {
            (Some(offer), _) => overdue.offers.push(offer.rekeys()),
            // RFC 2409 §5.5: an initiator that never confirms has no SA, but may be alive.
            (_, Some(answer)) if answer.is_outdated() => {}
            (_, Some(_)) => env.emit(Event::ChildFailed(core.id(), Reason::Timeout)),
            (None, None) => overdue.is_dead = true,
        }
    }
}

impl Established {
    /// Handles a message of a known exchange.
    pub(super) fn on_known(&mut self, at: usize, step: &Step<'_>, core: &mut Core, env: &mut Env<'_, '_>) {
        let wait = &mut self.exchanges[at].wait;
        if let Some(sent) = wait.sent().filter(|sent| sent.answers(step.fingerprint)) {
            let is_repeated = repeat(sent, core, env);
            if let Wait::Confirmed(Confirmed { spi, .. }) = *wait
                && is_repeated
            {
                let given_up = env.now() + env.shared.config.retransmission.total();
                // The peer has closed what came before that one, or asks for its own last message.
                self.predecessors(spi).last().into_iter().for_each(|child| child.is_in_use(given_up));
            }
            return;
        }
        let Exchange { id, wait } = self.exchanges.remove(at);
        let next = match (wait, step.header.exchange) {
            (Wait::Answer(wait), QUICK_MODE) => wait.on_message(self, step, core, env),
            (Wait::Confirmation(wait), QUICK_MODE) => wait.on_message(at, self, step, core, env),
            // RFC 2408 §3.1: the notification has the message id of its quick mode.
            (Wait::Connected(wait), INFORMATIONAL) => Some(wait.on_message(at, self, step, core, env)),
            (wait, QUICK_MODE) => {
                env.discard("unexpected message");
                Some(wait)
            }
            (wait, _) => {
                env.discard("unexpected exchange");
                Some(wait)
            }
        };
        // Reinserted in its place: the order determines which child replaces which.
        next.into_iter().for_each(|wait| self.exchanges.insert(at, Exchange { id, wait }));
    }

    /// Handles a message of an exchange that is over: only R-U-THERE is answered again.
    pub(super) fn on_used_id(&mut self, step: &Step<'_>, core: &Core, env: &mut Env<'_, '_>) {
        match self.liveness.answer_to(step) {
            Some(sent) => drop(repeat(sent, core, env)),
            None => env.discard("message id used before"),
        }
    }

    /// Retransmits and drops exchanges; true if the peer is dead.
    pub(super) fn tick_exchanges(&mut self, core: &Core, env: &mut Env<'_, '_>) -> bool {
        // The last message of aggressive mode is ours, and is not confirmed: it may be lost.
        let may_be_lost = core.role.is_initiator() && self.children.is_empty();
        let last = core.last.as_ref().filter(|_| may_be_lost);
        let mut overdue = Overdue::default();
        self.exchanges.retain_mut(|exchange| exchange.tick(last, &mut overdue, core, env));
        if !overdue.offers.is_empty() && !overdue.is_dead {
            let offers = overdue.offers.into_iter();
            offers.for_each(|rekeys| self.offer_failed(rekeys, Reason::Timeout, core, env));
            overdue.is_dead = !self.may_live(core);
            if !overdue.is_dead {
                self.probe(core, env);
            }
        }
        if overdue.probe && !overdue.is_dead {
            self.probe_again(core, env);
        }
        if self.exchanges.is_empty() {
            self.exchanges.shrink_to_fit();
        }
        overdue.is_dead
    }

    /// A peer that leaves an offer unanswered may be alive if it supports DPD. A peer that has never sent anything under this SA
    /// does not know of it.
    const fn may_live(&self, core: &Core) -> bool {
        self.extensions.dpd && core.last.is_none()
    }
}

/// The message that it answers was retransmitted: whether to retransmit the answer.
fn repeat(sent: &mut Sent, core: &Core, env: &mut Env<'_, '_>) -> bool {
    let is_due = sent.demand();
    if is_due {
        env.transmit(core.route, &sent.packet, true);
    } else {
        env.discard("answered often enough");
    }
    is_due
}
