//! Lost packets, individually or in bursts. A datagram is lost with any of its IP packets.

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::Fate;

use super::{Direction, Effect, Impairment, Kind, Passage};

/// The loss model of IP packets. All numbers are probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Loss {
    /// None does.
    #[default]
    None,
    /// Each by itself.
    Uniform(f64),
    /// In bursts: the Gilbert–Elliott model, as `netem loss gemodel p r 1-h 1-k`.
    GilbertElliott {
        /// Transition from the good state to the bad one, per packet (netem's p).
        to_bad: f64,
        /// Transition from the bad state to the good one, per packet (netem's r).
        to_good: f64,
        /// Loss in the bad state (netem's 1-h, by default 1).
        loss_in_bad: f64,
        /// Loss in the good state (netem's 1-k, by default 0).
        loss_in_good: f64,
    },
}

/// Its random stream.
const STREAM: &str = "loss";

/// The kind of impairment.
pub(super) const KIND: Kind = Kind {
    by_key: Some(("loss", |direction, chances| {
        direction.loss = match *chances {
            [uniform] => Loss::Uniform(uniform),
            [to_bad, to_good, loss_in_bad, loss_in_good] => {
                Loss::GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good }
            }
            _ => return None,
        };
        Some(())
    })),
    make,
};

fn make(direction: &Direction, stream: &dyn Fn(&str) -> Rng) -> Option<Effect> {
    match direction.loss {
        Loss::None | Loss::Uniform(0.0) => None,
        Loss::Uniform(probability) => {
            let rng = stream(STREAM);
            Some(Effect::Loss(Losing { to_bad: 0.0, to_good: 0.0, loss: [probability; 2], bad: false, rng }))
        }
        Loss::GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good } => {
            let rng = stream(STREAM);
            Some(Effect::Loss(Losing { to_bad, to_good, loss: [loss_in_good, loss_in_bad], bad: false, rng }))
        }
    }
}

/// Both models: uniform loss never leaves the good state.
pub(crate) struct Losing {
    to_bad: f64,
    to_good: f64,
    /// In the good state and in the bad state.
    loss: [f64; 2],
    bad: bool,
    rng: Rng,
}

impl Impairment for Losing {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        // There is a draw for every packet, even after a loss, because each changes the state.
        let lost = (0..passage.on_wire.packets).filter(|_| self.loses_a_packet()).count();
        if lost > 0 {
            passage.fate = Fate::Lost;
        }
    }

    fn knows(&mut self) -> Option<u64> {
        Some(self.rng.drawn() << 1 | u64::from(self.bad))
    }

    fn renew(&mut self, stream: &dyn Fn(&str) -> Rng) {
        (self.rng, self.bad) = (stream(STREAM), false);
    }

    fn recall(&mut self, known: u64) {
        self.rng.go_to(known >> 1);
        self.bad = known & 1 == 1;
    }
}

impl Losing {
    fn loses_a_packet(&mut self) -> bool {
        let turns = if self.bad { self.to_good } else { self.to_bad };
        self.bad ^= self.rng.chance(turns);
        self.rng.chance(self.loss[usize::from(self.bad)])
    }
}
