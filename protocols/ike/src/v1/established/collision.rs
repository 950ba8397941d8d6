//! Which child takes whose place when several quick modes are about the same traffic. IKEv1 has no rule for that; with these
//! both sides see the same order, whatever is lost or late. Read RFC 2409 §5.5 first.

use super::super::endpoint::Env;
use super::super::sa::Core;
use super::Established;
use super::child::{Agreed, Child, Place, Traffic};
use super::exchange::{Exchange, Wait};
use super::quick::Asking;
use crate::event::{Event, Reason};

impl Established {
    /// A child has come before older ones that were to take the same place: whoever asked for it had seen them, and replaces
    /// them. They are not to replace it when they are confirmed at last.
    pub(super) fn outdate(&mut self, traffic: Traffic, at: usize) {
        for exchange in &mut self.exchanges[..at] {
            if let Some(place) = exchange.wait.place_for(&traffic)
                && let Place::Of(spi) = *place
            {
                *place = Place::Lost(spi);
            }
        }
    }

    /// The child that this traffic goes through.
    fn current(&self, traffic: &Traffic) -> Option<usize> {
        self.children.iter().position(|child| child.traffic() == traffic && !child.is_replaced())
    }

    /// What an offer for this traffic is to replace; the peer may have closed it before it confirmed that it replaces it.
    pub(super) fn to_replace(&self, traffic: &Traffic) -> Option<u32> {
        let answered = |exchange: &Exchange| match &exchange.wait {
            Wait::Confirmation(wait) if wait.answer.agreed.traffic == *traffic => {
                wait.answer.agreed.place.rekeys()
            }
            _ => None,
        };
        let current = self.current(traffic).map(|at| self.children[at].inbound_spi());
        current.or_else(|| self.exchanges.iter().find_map(answered))
    }

    /// Both are replacing what this traffic goes through: the initiator of the ISAKMP SA has its answer first, and by then the
    /// other one wants no more.
    // IKEv1 has no rule. With this one both see the same order: one after the other.
    pub(super) fn goes_first(&self, traffic: &Traffic, core: &Core) -> bool {
        core.role.is_initiator() && self.exchanges.iter().any(|exchange| exchange.wait.asks_for(traffic))
    }

    /// Whether what this traffic goes through is about to be replaced, by us or by the peer.
    pub(super) fn is_being_replaced(&self, traffic: &Traffic) -> bool {
        self.exchanges.iter().any(|it| it.wait.asks_for(traffic) || it.wait.has_answered(traffic))
    }

    /// The child it takes the place of; if another one has done so meanwhile, that one: it has come later for both sides.
    pub(super) fn predecessor(&self, new: &Agreed) -> Option<usize> {
        let spi = new.place.rekeys()?;
        let named = |child: &Child| child.inbound_spi() == spi && !child.is_replaced();
        self.children.iter().position(named).or_else(|| self.current(&new.traffic))
    }

    /// What took the same traffic before the child that receives on this SPI.
    pub(super) fn predecessors(&mut self, spi: u32) -> impl Iterator<Item = &mut Child> {
        let at = self.children.iter().position(|child| child.inbound_spi() == spi).unwrap_or(0);
        let traffic = self.children.get(at).map(|child| *child.traffic());
        let replaced = self.children[..at].iter_mut().filter(|child| child.is_replaced());
        replaced.filter(move |child| traffic == Some(*child.traffic()))
    }

    /// Children that nobody replaces, and those that the peer has only to confirm.
    pub(super) fn children_to_be(&self) -> usize {
        let is_new = |exchange: &&Exchange| exchange.wait.promises_a_child();
        let current = self.children.iter().filter(|child| !child.is_replaced()).count();
        current + self.exchanges.iter().filter(is_new).count()
    }

    /// Whether there are so many that we ask for no more now, not even in another one's place.
    // Whoever makes us ask again and again, by small lifetimes say, has no more of them than by asking itself.
    pub(super) fn has_too_many(&mut self, rekeys: Option<u32>, core: &Core, env: &mut Env<'_, '_>) -> bool {
        if self.children.len() < env.shared.config.children_max.saturating_mul(2) {
            return false;
        }
        env.discard("too many child SAs");
        if let Some(child) = self.children.iter_mut().find(|child| Some(child.inbound_spi()) == rekeys) {
            child.is_not_replaced(env.now());
        } else {
            env.emit(Event::ChildFailed(core.id(), Reason::NoProposalChosen));
        }
        true
    }

    /// What we have asked for came from the peer: it is not asked for again. The peer may have answered.
    pub(super) fn withdraw(&mut self, traffic: &Traffic, env: &Env<'_, '_>) {
        let until = env.now() + env.shared.config.retransmission.total();
        for exchange in &mut self.exchanges {
            if !exchange.wait.asks_for(traffic) {
                continue;
            }
            if let Wait::Answer(wait) = &mut exchange.wait {
                wait.asking = Asking::Withdrawn { until };
            }
        }
    }

    /// An answer to an older offer would come after one to the offer that we are about to make; the peer sees it before.
    pub(super) fn forget_withdrawn(&mut self, traffic: &Traffic) {
        let is_older = |wait: &Wait| matches!(wait, Wait::Answer(wait) if wait.is_withdrawn() && wait.offer.traffic == *traffic);
        self.exchanges.retain(|exchange| !is_older(&exchange.wait));
    }
}

impl Wait {
    /// For the answer to our offer to replace what this traffic goes through.
    fn asks_for(&self, traffic: &Traffic) -> bool {
        self.asking().is_some_and(|offer| offer.traffic == *traffic && offer.rekeys().is_some())
    }

    /// For the end of a quick mode of the peer's that replaces it.
    fn has_answered(&self, traffic: &Traffic) -> bool {
        let agreed = self.agreed().map(|answer| &answer.agreed);
        agreed.is_some_and(|agreed| agreed.traffic == *traffic && matches!(agreed.place, Place::Of(_)))
    }

    /// Whether a child that takes nobody's place comes up if the peer goes on.
    pub(super) fn promises_a_child(&self) -> bool {
        self.agreed().is_some_and(|answer| answer.agreed.place == Place::New)
    }

    /// Whose place that takes which both sides have agreed on for this traffic.
    fn place_for(&mut self, traffic: &Traffic) -> Option<&mut Place> {
        let answer = match self {
            Self::Confirmation(wait) => &mut wait.answer,
            Self::Connected(wait) => &mut wait.answer,
            _ => return None,
        };
        (answer.agreed.traffic == *traffic).then_some(&mut answer.agreed.place)
    }
}
