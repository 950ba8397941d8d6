//! What an ISAKMP SA passes to its successor: IPsec SAs, and unfinished quick modes.
//! Read RFC 2408 §5.15, RFC 2409 §5.5 first.

use super::super::endpoint::Env;
use super::Established;
use super::child::Child;
use super::exchange::Exchange;
use crate::event::{Event, Reason, SaId};

/// The state for the SA that replaces it; without a successor it ends, too.
#[derive(Debug, Default)]
pub(in crate::v1) struct Handover {
    pub(in crate::v1) children: Vec<Child>,
    /// Our unanswered quick modes: each with the child that it was to replace, or `None` for a new one.
    pub(super) offers: Vec<Option<u32>>,
    /// The number of new children that we accepted and the peer has not confirmed.
    answers: usize,
}

impl Handover {
    pub(super) fn of(sa: Established) -> Self {
        let promises = |exchange: &&Exchange| exchange.wait.promises_a_child();
        Self {
            offers: sa.exchanges.iter().filter_map(|it| Some(it.wait.asking()?.rekeys())).collect(),
            answers: sa.exchanges.iter().filter(promises).count(),
            children: sa.children,
        }
    }

    /// Closes everything without a successor: reports failed children, closed children, and the SA.
    pub(in crate::v1) fn close(self, sa: SaId, reason: Reason, env: &mut Env<'_, '_>) {
        let offers = self.offers.iter().filter(|rekeys| rekeys.is_none()).count();
        (0..offers + self.answers).for_each(|_| env.emit(Event::ChildFailed(sa, reason)));
        for child in &self.children {
            env.emit(Event::ChildDown(sa, child.inbound_spi()));
        }
        env.emit(Event::Closed(sa, reason));
    }
}
