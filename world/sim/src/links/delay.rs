//! Propagation delay with jitter, distributed as `netem delay D J distribution normal` but never below 0.

use std::time::Duration;

use keytoll_crypto_api::Rng;

use super::{Direction, Effect, Impairment, Kind, Passage, normal};

/// Its random stream.
const STREAM: &str = "delay";

/// The kind of impairment.
pub(super) const KIND: Kind = Kind { by_key: None, make };

fn make(direction: &Direction, stream: &dyn Fn(&str) -> Rng) -> Option<Effect> {
    if !direction.jitter.is_zero() {
        return Some(Effect::Jitter(Jittery {
            mean: direction.delay,
            deviation: direction.jitter,
            rng: stream(STREAM),
        }));
    }
    (!direction.delay.is_zero()).then(|| Effect::Delay(Constant(direction.delay)))
}

pub(crate) struct Constant(Duration);

impl Impairment for Constant {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        passage.arrives += self.0;
    }

    fn renew(&mut self, _stream: &dyn Fn(&str) -> Rng) {}
}

pub(crate) struct Jittery {
    mean: Duration,
    deviation: Duration,
    rng: Rng,
}

impl Impairment for Jittery {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        let draw = normal::draw(&mut self.rng);
        passage.arrives += self.delay(draw);
    }

    fn stream(&mut self) -> Option<&mut Rng> {
        Some(&mut self.rng)
    }

    fn renew(&mut self, stream: &dyn Fn(&str) -> Rng) {
        self.rng = stream(STREAM);
    }
}

impl Jittery {
    /// The delay at `draw` × 2⁻²⁴ standard deviations from the mean; never negative, and at most 584 years.
    fn delay(&self, draw: i64) -> Duration {
        let [mean, deviation] = [self.mean, self.deviation]
            .map(|time| i128::try_from(time.as_nanos()).unwrap_or(i128::from(u64::MAX)));
        let jitter = (deviation.min(i128::from(u64::MAX)) * i128::from(draw)) >> normal::FRACTION_BITS;
        let delay = (mean + jitter).clamp(0, i128::from(u64::MAX));
        Duration::from_nanos(u64::try_from(delay).expect("it was clamped to 64 bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_the_mean_and_so_many_deviations_but_never_negative() {
        let [mean, deviation] = [Duration::from_millis(10), Duration::from_millis(4)];
        let jittery = Jittery { mean, deviation, rng: Rng::named(1, "delay") };
        let one = 1_i64 << normal::FRACTION_BITS;
        assert_eq!(jittery.delay(0), mean);
        assert_eq!(jittery.delay(one / 2), Duration::from_millis(12));
        assert_eq!(jittery.delay(-2 * one), Duration::from_millis(2));
        assert_eq!(jittery.delay(-3 * one), Duration::ZERO);
        let forever = Jittery { mean: Duration::MAX, deviation: Duration::MAX, rng: Rng::named(1, "delay") };
        assert_eq!(forever.delay(one), Duration::from_nanos(u64::MAX));
    }
}
