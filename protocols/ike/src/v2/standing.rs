//! An endpoint at rest: of one that has nothing to do, only the SA in use is kept, and those that linger. Everything else follows
//! from its setup and its random stream, and is made again when something happens.

use std::sync::Arc;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Deadline, Time};

use super::endpoint::{Endpoint, Setup};
use super::event::SaId;
use super::sa::{Sa, lingers_until};
use crate::spis::Spis;

/// What is kept of an endpoint.
#[derive(Debug)]
pub(crate) struct Standing {
    sa: Option<Box<Sa>>,
    /// Closed SAs, the first to be forgotten first. Mostly there is none.
    #[expect(clippy::vec_box, reason = "they come from a table of boxes and go back to it")]
    lingering: Vec<Box<Sa>>,
    /// How much it has drawn.
    drawn: u64,
    /// When the SA in use needs a tick.
    due: Option<Deadline>,
}

impl Standing {
    /// The SA in use.
    pub(crate) fn sa(&self) -> Option<SaId> {
        self.sa.as_ref().map(|sa| sa.core.id())
    }

    /// When an SA needs a tick.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let forgotten = self.lingering.first().and_then(|sa| sa.lingers_until()).map(lingers_until);
        Deadline::earlier(self.due, forgotten)
    }

    /// Whether the SA in use needs a tick now.
    pub(crate) fn is_in_use_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due.at <= now)
    }

    /// Forgets the closed SAs that have lingered for long enough; whether there were any.
    pub(crate) fn forget(&mut self, now: Time) -> bool {
        let lingers_until = self.lingering.iter().map_while(|sa| sa.lingers_until());
        let over = lingers_until.take_while(|until| *until <= now).count();
        self.lingering.drain(..over);
        self.lingering.shrink_to_fit();
        over > 0
    }
}

impl Endpoint {
    /// Whether one SA at most is in use, others only linger, and there is nothing else to remember.
    pub(crate) fn can_stand(&self) -> bool {
        let shared = &self.shared;
        let are_idle = || self.known.keys().all(|(_, spi)| self.sas.get(spi).is_some_and(|sa| sa.is_idle()));
        let has_nothing_to_say =
            shared.out.is_empty() && shared.new_sas.is_empty() && shared.moves.is_empty();
        let is_no_responder =
            shared.peers.is_empty() && self.half_open.is_empty() && self.cookies.are_first();
        self.known.len() <= 1
            && self.sas.len() == self.known.len() + self.lingering.len()
            && shared.removals.is_empty()
            && !self.draining
            && has_nothing_to_say
            && is_no_responder
            && are_idle()
    }

    /// The SA in use, if there is one at most.
    pub(crate) fn in_use(&self) -> Option<SaId> {
        self.known.first().map(|((_, spi), ())| SaId(*spi))
    }

    /// Keeps only what cannot be made again; it [can](Self::can_stand) be.
    pub(crate) fn stand(mut self) -> Standing {
        let sa = self.known.pop_first().and_then(|((_, spi), ())| self.sas.remove(&spi));
        let due = sa.as_ref().and_then(|sa| sa.deadline(&self.shared));
        // No more memory than is needed, and mostly none.
        let mut lingering = Vec::with_capacity(self.lingering.len());
        lingering.extend(self.lingering.keys().filter_map(|(_, spi)| self.sas.remove(spi)));
        Standing { sa, lingering, drawn: self.shared.rng.drawn(), due }
    }

    /// The endpoint as it was. `rng` is its random stream from the beginning.
    pub(crate) fn resume(setup: &Arc<Setup>, rng: Rng, spis: Spis, standing: Standing) -> Self {
        let mut endpoint = Self::among(setup, rng, spis);
        endpoint.shared.rng.go_to(standing.drawn);
        if let Some(sa) = standing.sa {
            sa.children().for_each(|spi| endpoint.shared.spis.is_up(spi));
            endpoint.keep(sa);
        }
        standing.lingering.into_iter().for_each(|sa| endpoint.keep(sa));
        endpoint
    }
}
