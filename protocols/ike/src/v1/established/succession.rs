//! Which child takes whose place when several quick modes are about the same traffic. IKEv1 has no rule for that; with these
//! both sides see the same order, whatever is lost or late. Read RFC 2409 §5.5 first.

use super::super::endpoint::Env;
use super::super::sa::Core;
use super::child::{Agreed, Child, Traffic};
use super::{Established, Exchange, Wait};

impl Established {
    /// A child has come before older ones that were to take the same place: whoever asked for it had seen them, and replaces
    /// them. They are not to replace it when they are confirmed at last.
    pub(super) fn outdate(&mut self, traffic: Traffic, at: usize) {
        for exchange in &mut self.exchanges[..at] {
            if let Wait::Answer(older) | Wait::Connected(_, older) = &mut exchange.wait
                && older.agreed.traffic == traffic
                && older.agreed.rekeys.is_some()
            {
                older.is_outdated = true;
            }
        }
    }

    /// The child that this traffic goes through.
    pub(super) fn current(&self, traffic: &Traffic) -> Option<usize> {
        self.children.iter().position(|child| child.traffic() == traffic && !child.is_replaced())
    }

    /// Both are replacing the same child: the initiator of the ISAKMP SA has its answer first, and by then the other one
    /// wants no more.
    // IKEv1 has no rule. With this one both see the same order: one after the other.
    pub(super) fn goes_first(&self, rekeys: Option<u32>, core: &Core) -> bool {
        rekeys.is_some() && core.role.is_initiator() && self.is_asking(rekeys)
    }

    /// Whether we have asked for what is to replace this child.
    fn is_asking(&self, rekeys: Option<u32>) -> bool {
        self.exchanges.iter().any(|it| matches!(&it.wait, Wait::Offer(offer) if offer.rekeys() == rekeys))
    }

    /// Whether this child is about to be replaced, by us or by the peer.
    pub(super) fn is_being_replaced(&self, spi: u32) -> bool {
        let is_answered = |exchange: &Exchange| match &exchange.wait {
            Wait::Answer(answer) | Wait::Connected(_, answer) => answer.agreed.rekeys == Some(spi),
            _ => false,
        };
        self.is_asking(Some(spi)) || self.exchanges.iter().any(is_answered)
    }

    /// The child it takes the place of; if another one has done so meanwhile, that one: it has come later for both sides.
    pub(super) fn predecessor(&self, new: &Agreed) -> Option<usize> {
        let spi = new.rekeys?;
        let named = |child: &Child| child.inbound_spi() == spi && !child.is_replaced();
        self.children.iter().position(named).or_else(|| self.current(&new.traffic))
    }

    /// What we have asked for came from the peer: it is not asked for again. The peer may have answered.
    pub(super) fn withdraw(&mut self, replaced: u32, env: &Env<'_, '_>) {
        let until = env.now() + env.shared.config.retransmission.total();
        for exchange in &mut self.exchanges {
            exchange.wait = match std::mem::replace(&mut exchange.wait, Wait::Probe) {
                Wait::Offer(offer) if offer.rekeys() == Some(replaced) => {
                    exchange.sent.settle();
                    Wait::Withdrawn(until, offer)
                }
                wait => wait,
            };
        }
    }
}
