//! The exchanges under an ISAKMP SA: which message each waits for, until when, and what is repeated.
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

/// An exchange that is not over, or may have to be repeated.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) id: u32,
    pub(super) wait: Wait,
}

/// What an exchange waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// Initiator of quick mode: message 2.
    Answer(Box<AwaitingAnswer>),
    /// Responder of quick mode: message 3.
    Confirmation(Box<AwaitingConfirmation>),
    /// Quick mode: CONNECTED, for which the peer has asked us to wait.
    Connected(Box<AwaitingConnected>),
    /// Quick mode: nothing but repetitions of what our last message answers.
    Confirmed(Confirmed),
    /// Responder of quick mode: nothing but repetitions of the offer.
    Refused(Refused),
    /// R-U-THERE-ACK.
    Acknowledgement(Sent),
}

impl Wait {
    /// Our last message, which answers one of the peer's or is repeated until the next one comes.
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

    /// When our last message is repeated unasked.
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

    /// When nothing more can come of it.
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

    /// Our offer, if it has no answer yet and we still want one.
    pub(super) fn asking(&self) -> Option<&Offer> {
        match self {
            Self::Answer(wait) if matches!(wait.asking, Asking::Repeated(_)) => Some(&wait.offer),
            _ => None,
        }
    }

    /// What both sides have agreed on and the peer has not confirmed.
    pub(super) const fn agreed(&self) -> Option<&Answer> {
        match self {
            Self::Confirmation(wait) => Some(&wait.answer),
            Self::Connected(wait) => Some(&wait.answer),
            _ => None,
        }
    }

    /// Moves the retransmission timer on.
    fn tick(&mut self, now: Time, timers: &Retransmission) -> Due {
        self.sent().map_or(Due::NotYet, |sent| sent.tick(now, timers))
    }
}

/// What the peer has left unanswered for too long.
#[derive(Default)]
struct Overdue {
    /// Nothing explains the silence but that the peer is dead.
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

    /// Repeats our last message if it is time; false if nothing more comes of the exchange.
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
            // RFC 2409 §5.5: an initiator that never confirms has no SA, and may be alive.
            (_, Some(answer)) if answer.is_outdated() => {}
            (_, Some(_)) => env.emit(Event::ChildFailed(core.id(), Reason::Timeout)),
            (None, None) => overdue.is_dead = true,
        }
    }
}

impl Established {
    /// A message of an exchange that we know.
    pub(super) fn on_known(&mut self, at: usize, step: &Step<'_>, core: &mut Core, env: &mut Env<'_, '_>) {
        let wait = &mut self.exchanges[at].wait;
        if let Some(sent) = wait.sent().filter(|sent| sent.answers(step.fingerprint)) {
            let is_repeated = repeat(sent, core, env);
            if let Wait::Confirmed(Confirmed { spi, .. }) = *wait
                && is_repeated
            {
                let given_up = env.now() + env.shared.config.retransmission.total();
                self.predecessors(spi).for_each(|child| child.is_in_use(given_up));
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
        // In its place again: the order tells which child replaces which.
        next.into_iter().for_each(|wait| self.exchanges.insert(at, Exchange { id, wait }));
    }

    /// A message of an exchange that is over: only R-U-THERE is answered again, and nothing else comes of it.
    pub(super) fn on_used_id(&mut self, step: &Step<'_>, core: &Core, env: &mut Env<'_, '_>) {
        match self.liveness.answer_to(step) {
            Some(sent) => drop(repeat(sent, core, env)),
            None => env.discard("message id used before"),
        }
    }

    /// Repeats and forgets; true if the peer is dead.
    pub(super) fn tick_exchanges(&mut self, core: &Core, env: &mut Env<'_, '_>) -> bool {
        // The last message of aggressive mode is ours, and nobody confirms it: it may be what was lost.
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

    /// A peer that leaves an offer unanswered may live, if it can be asked. Whoever has never said anything under this SA
    /// does not know of it.
    const fn may_live(&self, core: &Core) -> bool {
        self.extensions.dpd && core.last.is_none()
    }
}

/// What it answers came again: whether it goes out again.
fn repeat(sent: &mut Sent, core: &Core, env: &mut Env<'_, '_>) -> bool {
    let is_due = sent.demand();
    if is_due {
        env.transmit(core.route, &sent.packet, true);
    } else {
        env.discard("answered often enough");
    }
    is_due
}
