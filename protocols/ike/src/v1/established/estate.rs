//! What an ISAKMP SA leaves when it ends: IPsec SAs, and quick modes that were under way.
//! Read RFC 2408 §5.15, RFC 2409 §5.5 first.

use super::super::endpoint::Env;
use super::child::Child;
use super::{Established, Exchange, Wait};
use crate::event::{Event, Reason, SaId};

/// For the SA that takes its place; or it ends with it.
#[derive(Debug, Default)]
pub(in crate::v1) struct Estate {
    pub(in crate::v1) children: Vec<Child>,
    /// Our quick modes without an answer: each with the child that it was to replace, or for a new one.
    pub(super) offers: Vec<Option<u32>>,
    /// So many new children we had agreed to that the peer has not confirmed.
    answers: usize,
}

impl Estate {
    pub(super) fn of(sa: Established) -> Self {
        let offer = |exchange: &Exchange| match &exchange.wait {
            Wait::Offer(offer) => Some(offer.rekeys()),
            _ => None,
        };
        Self {
            offers: sa.exchanges.iter().filter_map(offer).collect(),
            answers: sa.exchanges.iter().filter(|exchange| exchange.wait.promises_a_child()).count(),
            children: sa.children,
        }
    }

    /// Nobody takes it: the owner hears of every child that will not come, of every one that goes, and of the SA.
    pub(in crate::v1) fn close(self, sa: SaId, reason: Reason, env: &mut Env<'_, '_>) {
        let offers = self.offers.iter().filter(|rekeys| rekeys.is_none()).count();
        (0..offers + self.answers).for_each(|_| env.emit(Event::ChildFailed(sa, reason)));
        for child in &self.children {
            env.emit(Event::ChildDown(sa, child.inbound_spi()));
        }
        env.emit(Event::Closed(sa, reason));
    }
}

impl Wait {
    /// Whether a child that takes nobody's place comes up if the peer goes on.
    fn promises_a_child(&self) -> bool {
        let (Self::Answer(answer) | Self::Connected(_, answer)) = self else { return false };
        answer.agreed.rekeys.is_none() && !answer.is_outdated
    }
}
