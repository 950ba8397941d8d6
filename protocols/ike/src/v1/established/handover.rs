//! What an ISAKMP SA leaves when it ends: IPsec SAs, and quick modes that were under way.
//! Read RFC 2408 §5.15, RFC 2409 §5.5 first.

use super::super::endpoint::Env;
use super::Established;
use super::child::Child;
use super::exchange::Exchange;
use crate::event::{Event, Reason, SaId};

/// For the SA that replaces it; without one it ends, too.
#[derive(Debug, Default)]
pub(in crate::v1) struct Handover {
    pub(in crate::v1) children: Vec<Child>,
    /// Our quick modes without an answer: each with the child that it was to replace, or for a new one.
    pub(super) offers: Vec<Option<u32>>,
    /// So many new children we had agreed to that the peer has not confirmed.
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
