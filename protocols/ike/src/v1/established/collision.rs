//! The order of children when several quick modes negotiate the same traffic. IKEv1 has no rule for that; with these rules
//! both sides see the same order, whatever is lost or delayed. Read RFC 2409 §5.5 first.

use super::super::endpoint::Env;
use super::super::sa::Core;
use super::Established;
use super::child::{Agreed, Child, Place, Traffic};
use super::exchange::{Exchange, Wait};
use super::quick::Asking;
use crate::event::{Event, Reason};

impl Established {
    /// A child was confirmed before older ones that were to replace the same child: its initiator had seen them, and replaces
    /// them. They must not replace it when they are confirmed later.
    pub(super) fn outdate(&mut self, traffic: Traffic, at: usize) {
        for exchange in &mut self.exchanges[..at] {
            if let Some(place) = exchange.wait.place_for(&traffic)
                && let Place::Of(spi) = *place
            {
                *place = Place::Lost(spi);
            }
        }
    }

    /// The child that carries this traffic.
    fn current(&self, traffic: &Traffic) -> Option<usize> {
        self.children.iter().position(|child| child.traffic() == traffic && !child.is_replaced())
    }

    /// The child that an offer for this traffic replaces; the peer may have closed it before it confirmed the replacement.
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

    /// Both sides are replacing the child of this traffic: the initiator of the ISAKMP SA gets its answer first, and the other
    /// side then withdraws its offer.
    // IKEv1 has no rule. With this one both sides see the same order.
    pub(super) fn goes_first(&self, traffic: &Traffic, core: &Core) -> bool {
        core.role.is_initiator() && self.exchanges.iter().any(|exchange| exchange.wait.asks_for(traffic))
    }

    /// Whether the child of this traffic is being replaced, by us or by the peer.
    pub(super) fn is_being_replaced(&self, traffic: &Traffic) -> bool {
        self.exchanges.iter().any(|it| it.wait.asks_for(traffic) || it.wait.has_answered(traffic))
    }

    /// The child that it replaces; if that was replaced meanwhile, its replacement, which is later for both sides.
    pub(super) fn predecessor(&self, new: &Agreed) -> Option<usize> {
        let spi = new.place.rekeys()?;
        let named = |child: &Child| child.inbound_spi() == spi && !child.is_replaced();
        self.children.iter().position(named).or_else(|| self.current(&new.traffic))
    }

    /// The children for the same traffic before the one with this inbound SPI.
    pub(super) fn predecessors(&mut self, spi: u32) -> impl Iterator<Item = &mut Child> {
        let at = self.children.iter().position(|child| child.inbound_spi() == spi).unwrap_or(0);
        let traffic = self.children.get(at).map(|child| *child.traffic());
        let replaced = self.children[..at].iter_mut().filter(|child| child.is_replaced());
        replaced.filter(move |child| traffic == Some(*child.traffic()))
    }

    /// The number of children that are not being replaced, including those that the peer only has to confirm.
    pub(super) fn children_to_be(&self) -> usize {
        let is_new = |exchange: &&Exchange| exchange.wait.promises_a_child();
        let current = self.children.iter().filter(|child| !child.is_replaced()).count();
        current + self.exchanges.iter().filter(is_new).count()
    }

    /// Whether the limit is reached, so that we do not request another child, not even as a replacement.
    // A peer that makes us rekey again and again, e.g. with short lifetimes, gets no more children than by its own requests.
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

    /// The peer offered the same as we did: our offer is not retransmitted. The peer may have answered it.
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

    /// An answer to an older offer would come after one to the offer that we are about to make; for the peer it comes before.
    pub(super) fn forget_withdrawn(&mut self, traffic: &Traffic) {
        let is_older = |wait: &Wait| matches!(wait, Wait::Answer(wait) if wait.is_withdrawn() && wait.offer.traffic == *traffic);
        self.exchanges.retain(|exchange| !is_older(&exchange.wait));
    }
}

impl Wait {
    /// Whether it awaits the answer to our offer to replace the child of this traffic.
    fn asks_for(&self, traffic: &Traffic) -> bool {
        self.asking().is_some_and(|offer| offer.traffic == *traffic && offer.rekeys().is_some())
    }

    /// Whether it awaits the end of the peer's quick mode that replaces it.
    fn has_answered(&self, traffic: &Traffic) -> bool {
        let agreed = self.agreed().map(|answer| &answer.agreed);
        agreed.is_some_and(|agreed| agreed.traffic == *traffic && matches!(agreed.place, Place::Of(_)))
    }

    /// Whether it leads to an additional child if the peer continues.
    pub(super) fn promises_a_child(&self) -> bool {
        self.agreed().is_some_and(|answer| answer.agreed.place == Place::New)
    }

    /// The place of what both sides have negotiated for this traffic.
    fn place_for(&mut self, traffic: &Traffic) -> Option<&mut Place> {
        let answer = match self {
            Self::Confirmation(wait) => &mut wait.answer,
            Self::Connected(wait) => &mut wait.answer,
            _ => return None,
        };
        (answer.agreed.traffic == *traffic).then_some(&mut answer.agreed.place)
    }
}
