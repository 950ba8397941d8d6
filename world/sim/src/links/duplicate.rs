//! Datagrams that arrive twice, the second directly after the first.

use keytoll_crypto_api::Rng;

use super::{Direction, Effect, Impairment, Kind, Passage};

/// Its random stream.
const STREAM: &str = "duplicate";

/// The kind of impairment.
pub(super) const KIND: Kind = Kind {
    by_key: Some(("duplicate", |direction, chances| {
        let [chance] = *chances else { return None };
        direction.duplicate = chance;
        Some(())
    })),
    make,
};

fn make(direction: &Direction, stream: &dyn Fn(&str) -> Rng) -> Option<Effect> {
    let probability = direction.duplicate;
    (probability > 0.0).then(|| Effect::Duplicate(Duplicating { probability, rng: stream(STREAM) }))
}

pub(crate) struct Duplicating {
    probability: f64,
    rng: Rng,
}

impl Impairment for Duplicating {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        if self.rng.chance(self.probability) {
            passage.copy = Some(passage.payload.to_vec());
        }
    }

    fn stream(&mut self) -> Option<&mut Rng> {
        Some(&mut self.rng)
    }

    fn renew(&mut self, stream: &dyn Fn(&str) -> Rng) {
        self.rng = stream(STREAM);
    }
}
