//! Propagation delay with jitter, distributed as `netem delay D J distribution normal` but never below 0.

use std::time::Duration;

use keytoll_engine::Rng;

use super::{Direction, Impairment, Passage};

pub(crate) fn make(direction: &Direction, stream: &dyn Fn(&str) -> Rng) -> Option<Box<dyn Impairment>> {
    if !direction.jitter.is_zero() {
        return Some(Box::new(Jittery {
            mean: direction.delay,
            deviation: direction.jitter,
            rng: stream("delay"),
        }));
    }
    (!direction.delay.is_zero()).then(|| Box::new(Constant(direction.delay)) as _)
}

struct Constant(Duration);

impl Impairment for Constant {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        passage.arrives += self.0;
    }
}

struct Jittery {
    mean: Duration,
    deviation: Duration,
    rng: Rng,
}

impl Impairment for Jittery {
    fn apply(&mut self, passage: &mut Passage<'_>) {
        let seconds = self.mean.as_secs_f64() + self.deviation.as_secs_f64() * self.rng.normal();
        passage.arrives += Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
    }
}
