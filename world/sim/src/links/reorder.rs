//! Datagrams that arrive out of order.

use std::time::Duration;

use keytoll_crypto_api::Rng;

use super::{Direction, Effect, Impairment, Kind, Passage};

/// Reordered datagrams leave the queue order: they neither wait for earlier ones (which jitter may have delayed), nor do later
/// ones wait for them, and they are delayed by `extra_delay`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reorder {
    /// The probability that a datagram is reordered.
    pub probability: f64,
    /// Additional delay of such a datagram. With 0 it can only overtake, not be overtaken.
    pub extra_delay: Duration,
}

/// Its random stream.
const STREAM: &str = "reorder";

/// The kind of impairment.
pub(super) const KIND: Kind = Kind {
    by_key: Some(("reorder", |direction, chances| {
        let [probability] = *chances else { return None };
        // The delay of the link, so that others can overtake.
        let extra_delay = direction.delay.max(Duration::from_millis(1));
        direction.reorder = Some(Reorder { probability, extra_delay });
        Some(())
    })),
    make,
};

fn make(direction: &Direction, stream: &dyn Fn(&str) -> Rng) -> Option<Effect> {
    let reorder = direction.reorder.filter(|reorder| reorder.probability > 0.0)?;
    Some(Effect::Reorder(Reordering { reorder, rng: stream(STREAM) }))
}

pub(crate) struct Reordering {
    reorder: Reorder,
    rng: Rng,
}

impl Impairment for Reordering {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        if self.rng.chance(self.reorder.probability) {
            passage.in_order = false;
            passage.arrives += self.reorder.extra_delay;
        }
    }

    fn stream(&mut self) -> Option<&mut Rng> {
        Some(&mut self.rng)
    }

    fn renew(&mut self, stream: &dyn Fn(&str) -> Rng) {
        self.rng = stream(STREAM);
    }
}
