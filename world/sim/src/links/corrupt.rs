//! Datagrams that arrive with a flipped bit. The UDP or TCP checksum detects it and the receiver drops them, unless the
//! direction disables checksums (RFC 768; RFC 9293 §3.1).

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::Fate;

use super::{Direction, Effect, Impairment, Kind, Passage};

/// Its random stream.
const STREAM: &str = "corrupt";

/// The kind of impairment.
pub(super) const KIND: Kind = Kind {
    by_key: Some(("corrupt", |direction, chances| {
        let [chance] = *chances else { return None };
        direction.corrupt = chance;
        Some(())
    })),
    make,
};

fn make(direction: &Direction, stream: &dyn Fn(&str) -> Rng) -> Option<Effect> {
    let probability = direction.corrupt;
    (probability > 0.0).then(|| Effect::Corrupt(Corrupting { probability, rng: stream(STREAM) }))
}

pub(crate) struct Corrupting {
    probability: f64,
    rng: Rng,
}

impl Impairment for Corrupting {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        let hit = (0..passage.on_wire.packets).filter(|_| self.rng.chance(self.probability)).count();
        if hit > 0 && !passage.payload.is_empty() {
            flip(passage.payload, self.rng.below(passage.payload.len() as u64 * 8));
            passage.fate = Fate::Corrupted;
        }
    }

    fn stream(&mut self) -> Option<&mut Rng> {
        Some(&mut self.rng)
    }

    fn renew(&mut self, stream: &dyn Fn(&str) -> Rng) {
        self.rng = stream(STREAM);
    }
}

fn flip(payload: &mut [u8], bit: u64) {
    payload[(bit / 8) as usize] ^= 1 << (bit % 8);
}
